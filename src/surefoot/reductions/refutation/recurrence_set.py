"""What keeps a run from staying in a recurrence set, as questions for a solver.

A recurrence set is a ring of regions. From every state of a region the environment can make the region's
step, whatever else the policy might do within its rounding error, and the step leads into the next region;
and no state of a region is good. Each question asks for a state of a region of which that is not so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from surefoot.problem.property import Eventually, Recurs
from surefoot.reductions.expand import expand_scalar, expand_term, fractional_condition, tree_leaves
from surefoot.reductions.scalar_layout import at_step
from surefoot.reductions.transition_branch import TransitionBranch
from surefoot.reductions.transition_system import TransitionSystem
from surefoot.reductions.unroll import Unrolling
from surefoot.term.float32 import is_float32
from surefoot.term.interval import Kinds, Scalar, decide_by_bounds
from surefoot.term.term import FALSE, TRUE, Term, Var, conjunction_of, disjunction_of, negate_condition
from surefoot.term.traverse import substitute_names
from surefoot.term.value_types import Bool, Int
from surefoot.verdict.verdict import RecurrenceRegion


def recurrence_failures(
    encoded: Unrolling, region: RecurrenceRegion, following: RecurrenceRegion
) -> Iterator[tuple[str, Term]]:
    """For states from anywhere (an encoding of 0 steps): what may be wrong with a region, and where."""
    system, kinds = encoded.system, _all_scalar_types(encoded.system)
    ways = [(when, leap) for when, leap in system.leaps if leap.transition == region.transition]
    taken = [(when, leap) for when, leap in ways if leap.outcomes == region.outcomes]
    if not taken:
        yield "blocked", TRUE
        return
    when, leap = taken[0]
    picks = dict(_chosen_terms(system, leap, region))
    unfit = (_out_of_range(picks[n], system.chosen_kinds[n], kinds) for n in picks)
    after = {name: substitute_names(value, picks) for name, value in leap.after.items()}
    inside = expand_scalar(region.where, system.layout.scope)
    lands = substitute_names(expand_scalar(following.where, system.layout.scope), after)
    failing = (substitute_names(other.fails, picks) for _, other in ways)
    found = {
        "good": _good_condition(encoded),
        "blocked": at_step(disjunction_of((negate_condition(system.orderly), negate_condition(when))), 0),
        "assumption": at_step(
            disjunction_of((*unfit, negate_condition(substitute_names(leap.possible, picks)))), 0
        ),
        "outside": at_step(disjunction_of((*failing, negate_condition(lands))), 0),
    }
    for name, what in found.items():
        yield name, conjunction_of((at_step(inside, 0), what))


def _all_scalar_types(system: TransitionSystem) -> Kinds:
    return {**system.layout.kinds, **system.decision_kinds, **system.chosen_kinds}


def _good_condition(encoded: Unrolling) -> Term:
    match encoded.problem.property:
        case Eventually(good) | Recurs(good):
            return disjunction_of((encoded.condition_at(good, 0), encoded.undefined_at(good, 0)))
        case other:
            raise TypeError(f"no set of states refutes {type(other).__name__}")


def _chosen_terms(
    system: TransitionSystem, leap: TransitionBranch, region: RecurrenceRegion
) -> Iterator[tuple[str, Term]]:
    """For every scalar that the environment picks what the region says."""
    given: Mapping[str, Term] = dict(region.chosen)
    for name, _, tree in leap.chosen:
        values = tree_leaves(expand_term(given[name], system.names))
        for own, value in zip(tree_leaves(tree), values, strict=True):
            assert isinstance(own, Var)
            yield own.name, value


def _out_of_range(value: Term, kind: Scalar, kinds: Kinds) -> Term:
    """The picked value is not one of this kind."""
    if isinstance(kind, Bool):
        return FALSE
    below = FALSE if kind.low is None else decide_by_bounds(value < kind.low, kinds)
    above = FALSE if kind.high is None else decide_by_bounds(value > kind.high, kinds)
    if isinstance(kind, Int):
        return disjunction_of((below, above, fractional_condition(value, kinds)))
    other = TRUE if kind.float32 and not is_float32(value, kinds) else FALSE
    return disjunction_of((below, above, other))
