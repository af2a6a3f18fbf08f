"""Between which values the reward of a run surely is: nothing can be said about its mean without that.

With a limit on the number of steps the bounds of one step, from the declared ranges of the variables, are
enough. Without one there is no bound, however small the reward of a step, unless the user states it.
"""

from __future__ import annotations

from fractions import Fraction
from math import inf

from surefoot.errors import SurefootError
from surefoot.problem.environment import Environment
from surefoot.problem.property import Expected, counts_steps
from surefoot.reductions.expand import expand_scalar
from surefoot.reductions.scalar_layout import lay_out_scalars
from surefoot.solvers.sampling.empirical_bernstein import RewardRange
from surefoot.term.interval import Interval, is_infinite, term_interval
from surefoot.term.number import LARGEST_DOUBLE
from surefoot.term.term import Apply, Const, Op, Term, free_names
from surefoot.term.types import is_whole
from surefoot.term.value_types import Arithmetic


def reward_range(
    environment: Environment, asked: Expected, least: Fraction | None, most: Fraction | None
) -> RewardRange:
    """What the user states, and else what follows from the model."""
    low, high = (None, None) if asked.steps is None else _of_steps(environment, asked.reward, asked.steps)
    if asked.steps is None and counts_steps(asked.reward):
        low = Fraction(0)
    return RewardRange(low if least is None else least, high if most is None else most)


def never_falls(environment: Environment, reward: str | Term) -> bool:
    """Is it known that no step has a negative reward?"""
    if counts_steps(reward):
        return True
    try:
        return not _is_rounded(environment, reward) and _of_step(environment, reward)[0] >= 0
    except SurefootError:
        return False


def _of_steps(
    environment: Environment, reward: str | Term, steps: int
) -> tuple[Fraction | None, Fraction | None]:
    if counts_steps(reward):
        return Fraction(0), Fraction(steps)
    try:
        low, high = (_of_clipped if _is_rounded(environment, reward) else _of_step)(environment, reward)
    except SurefootError:  # arrays, choices and other things that intervals do not cover
        return None, None
    return (
        None if is_infinite(low) else Fraction(min(low, 0)) * steps,
        None if is_infinite(high) else Fraction(max(high, 0)) * steps,
    )


def _is_rounded(environment: Environment, reward: str | Term) -> bool:
    """May the reward of a step be another number than its term says?"""
    if environment.arithmetic is Arithmetic.EXACT:
        return False
    edges = [edge for component in environment.components for edge in component.edges]
    terms = (
        [t for edge in edges for o in edge.outcomes for name, t in o.rewards if name == reward]
        if isinstance(reward, str)
        else [reward]
    )
    kinds = {v.name: v.kind for v in environment.variables}
    return not all(
        _is_double(term) or (free_names(term) <= set(kinds) and is_whole(term, kinds)) for term in terms
    )


def _of_clipped(environment: Environment, reward: str | Term) -> Interval:
    """What limits say that a reward is clipped to: least and greatest numbers are never rounded."""
    edges = [edge for component in environment.components for edge in component.edges]
    if not isinstance(reward, str) or len(environment.components) > 1:
        return -inf, inf
    terms = [t for edge in edges for o in edge.outcomes for name, t in o.rewards if name == reward]
    each = [_clip_limits(term) for term in terms]
    return min((low for low, _ in each), default=0), max((high for _, high in each), default=0)


def _clip_limits(term: Term) -> Interval:
    """Of `max(low, min(high, …))`, in any order of these."""
    if isinstance(term, Const) and not isinstance(term.value, bool):
        written = Fraction(term.value)
        if abs(written) > LARGEST_DOUBLE:
            return -inf, inf
        meant = Fraction(float(written))
        return min(written, meant), max(written, meant)
    if not isinstance(term, Apply) or term.op not in (Op.MIN, Op.MAX):
        return -inf, inf
    each = [_clip_limits(part) for part in term.args]
    choose = min if term.op is Op.MIN else max
    return choose(low for low, _ in each), choose(high for _, high in each)


def _is_double(term: Term) -> bool:
    return isinstance(term, Const) and Fraction(term.value) == Fraction(float(term.value))


def _of_step(environment: Environment, reward: str | Term) -> Interval:
    """Of a state, or the sum over components of the most that a step of each can give."""
    layout = lay_out_scalars(environment, set())

    def bounds(terms: list[Term]) -> Interval:
        found = [term_interval(expand_scalar(term, layout.scope), layout.kinds) for term in terms]
        return sum(low for low, _ in found), sum(high for _, high in found)

    if not isinstance(reward, str):
        return bounds([reward])
    total: Interval = (0, 0)
    for component in environment.components:
        outcomes = [outcome for edge in component.edges for outcome in edge.outcomes]
        each = [bounds([term for name, term in o.rewards if name == reward]) for o in outcomes]
        low, high = min((low for low, _ in each), default=0), max((high for _, high in each), default=0)
        total = (total[0] + min(low, 0), total[1] + max(high, 0))
    return total
