"""What a property asks of a decision process: terms to look at in every state, limits, and the question.

Every path formula is `left U right` or its opposite: F b = true U b, G b = not F not b, X b = b after exactly
one step, a W b = not (not b U neither), a R b = not (not a U not b). Where the opposite is asked, least and
greatest change places and the answer is taken from 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from surefoot.compile import Explored
from surefoot.errors import Unsupported
from surefoot.problem.property import Bound, Expected, Optimise, Path, Probability
from surefoot.problem.term import TRUE, Const, Term
from surefoot.query.markov import Accumulate, Markov, Question, Until
from surefoot.solve.markov.unfold import Counter, Unfolded, unfold

STEPS = "steps"
_OPPOSITE: Mapping[Optimise, Optimise] = {"min": "max", "max": "min"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A probability or an expected reward in the form that is solved."""

    optimise: Optimise
    negated: bool
    left: Term
    right: Term
    steps: int | None
    after: int
    bounds: tuple[Bound, ...]  # on rewards
    reward: str | Term | None  # None: a probability is asked

    def labels(self) -> dict[str, Term]:
        return {"left": self.left, "right": self.right}

    def rewards(self) -> tuple[str, ...]:
        names = [b.reward for b in self.bounds if b.reward is not None]
        if isinstance(self.reward, str) and self.reward != STEPS:
            names.append(self.reward)
        return tuple(dict.fromkeys(names))

    def quantities(self) -> dict[str, Term]:
        return {} if self.reward is None or isinstance(self.reward, str) else {"reward": self.reward}


def asked(wanted: Probability | Expected, unresolved: Optimise) -> Asked:
    """`unresolved`: least or greatest, where the property does not say."""
    optimise: Optimise = wanted.optimise or unresolved
    if isinstance(wanted, Expected):
        if wanted.steps is not None and wanted.steps < 0:
            raise Unsupported("a negative number of steps")
        return Asked(optimise, False, TRUE, wanted.until, wanted.steps, 0, (), wanted.reward)
    left, right, negated = _until(wanted.path)
    steps, after, bounds = _limits(wanted.path)
    return Asked(
        _OPPOSITE[optimise] if negated else optimise, negated, left, right, steps, after, bounds, None
    )


def _until(path: Path) -> tuple[Term, Term, bool]:
    match path.operator:
        case "F" | "X":
            return TRUE, path.right, False
        case "U":
            return path.left, path.right, False
        case "G":
            return TRUE, ~path.right, True
        case "W":
            return ~path.right, ~path.right & ~path.left, True
        case "R":
            return ~path.left, ~path.right, True


def _limits(path: Path) -> tuple[int | None, int, tuple[Bound, ...]]:
    steps, after = (1, 1) if path.operator == "X" else (None, 0)
    rewards = tuple(b for b in path.bounds if b.reward not in (None, STEPS))
    for bound in path.bounds:
        low, high = _constant(bound.low), _constant(bound.high)
        if bound.reward in (None, STEPS):
            if steps is not None or high is None:
                raise Unsupported("bounds on steps other than one with an upper limit")
            steps = -((-high.numerator) // high.denominator) - 1 if bound.strict else int(high)
            after = 0 if low is None else -((-low.numerator) // low.denominator)
            if steps < 0:
                raise Unsupported("a bound on steps that nothing can meet")
        if path.operator == "W" and low is not None and low > 0:
            raise Unsupported("`W` with a lower bound")
    return steps, after, rewards


def _constant(term: Term | None) -> Fraction | None:
    match term:
        case None:
            return None
        case Const(bool()):
            raise Unsupported("a bound that is a truth value")
        case Const(value):
            return Fraction(value)
        case _:
            raise Unsupported("a bound that is not a constant")


@dataclass(frozen=True, slots=True, eq=False)
class Posed:
    """The process that matters, its question, and what its states are."""

    unfolded: Unfolded
    question: Question


def posed(explored: Explored, wanted: Asked, everywhere: bool) -> Posed:
    """`everywhere`: keep all states, also those that only matter as starts."""
    markov = explored.markov
    left, right = markov.labels["left"], markov.labels["right"]
    kinds = [_counter(markov, b) for b in wanted.bounds]

    def counted(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        found = np.ones(len(counts), dtype=np.bool_)
        for i, (_, low, dead) in enumerate(kinds):
            found &= (counts[:, i] >= low) & (dead is None or counts[:, i] < dead)
        return found

    def lost(counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        found = np.zeros(len(counts), dtype=np.bool_)
        for i, (_, _, dead) in enumerate(kinds):
            if dead is not None:
                found |= counts[:, i] >= dead
        return found

    def closed(states: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.bool_]:
        if everywhere:
            return np.zeros(len(states), dtype=np.bool_)
        if wanted.reward is not None:
            return right[states]
        if wanted.after:
            return lost(counts) | (~left[states] & ~right[states])
        return lost(counts) | (right[states] & counted(counts)) | ~left[states]

    if wanted.reward is not None:
        markov = _with_reward(explored, wanted.reward)
    unfolded = unfold(markov, tuple(k[0] for k in kinds), closed)
    gone = lost(unfolded.counts)
    goal = right[unfolded.state] & counted(unfolded.counts) & ~gone
    if wanted.reward is None:
        inside = left[unfolded.state] & ~gone
        question: Question = Until(wanted.optimise, inside, goal, wanted.steps, wanted.after)
    else:
        amounts = unfolded.markov.rewards["\0asked"]
        question = Accumulate(wanted.optimise, amounts, goal, wanted.steps)
    return Posed(unfolded, question)


def _with_reward(explored: Explored, reward: str | Term) -> Markov:
    """The process with the reward that is asked for under a name of its own."""
    markov = explored.markov
    if reward == STEPS:
        one = Fraction(1)
        values = markov.values if one in markov.values else (*markov.values, one)
        amounts = np.full(len(markov.targets), values.index(one), dtype=np.int32)
        return replace(markov, values=values, rewards={**markov.rewards, "\0asked": amounts})
    if isinstance(reward, str):
        return replace(markov, rewards={**markov.rewards, "\0asked": markov.rewards[reward]})
    of_state = explored.quantities["reward"]
    amounts = of_state[markov.owners()[markov.rows()]].astype(np.int32)
    return replace(markov, rewards={**markov.rewards, "\0asked": amounts})


def _counter(markov: Markov, bound: Bound) -> tuple[Counter, int, int | None]:
    """The counter, the least sum that is enough, and the sum from which on it is too much."""
    assert bound.reward is not None
    indices = markov.rewards[bound.reward]
    low, high = _constant(bound.low), _constant(bound.high)
    used = np.unique(indices)
    if any(markov.values[i] < 0 for i in used):
        raise Unsupported(f"a bound on `{bound.reward}`, which may be negative")
    grain = lcm(1, *(markov.values[i].denominator for i in used))
    least = 0 if low is None else -((-low * grain).__floor__())
    dead = None
    if high is not None:
        most = high * grain
        dead = -((-most).__floor__()) if bound.strict else most.__floor__() + 1
    table = np.zeros(len(markov.values), dtype=np.int64)
    limit = dead if dead is not None else max(least, 0)
    for i in used:
        table[i] = min(int(markov.values[i] * grain), limit + 1)
    return Counter(table[indices], limit), least, dead
