"""What keeps a run from staying in a recurrence set, as questions for a solver.

A recurrence set is a ring of regions. From every state of a region the environment can make the region's
step, whatever else the policy might do within its rounding error, and the step leads into the next region;
and no state of a region is good. Each question asks for a state of a region of which that is not so.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from surefoot.encode.expand import expand, expand_scalar, leaves, not_whole, opposite
from surefoot.encode.interval import Kinds, Scalar, known
from surefoot.encode.layout import at_step
from surefoot.encode.leap import Leap
from surefoot.encode.sort import is_float32
from surefoot.encode.system import System
from surefoot.encode.unroll import Encoded
from surefoot.problem.environment import Bool, Int
from surefoot.problem.property import Eventually, Recurs
from surefoot.problem.term import FALSE, TRUE, Term, Var, conjunction, disjunction, substitute
from surefoot.verdict.verdict import Region


def troubles(encoded: Encoded, region: Region, following: Region) -> Iterator[tuple[str, Term]]:
    """For states from anywhere (an encoding of 0 steps): what may be wrong with a region, and where."""
    system, kinds = encoded.system, _kinds(encoded.system)
    ways = [(when, leap) for when, leap in system.leaps if leap.transition == region.transition]
    taken = [(when, leap) for when, leap in ways if leap.outcomes == region.outcomes]
    if not taken:
        yield "blocked", TRUE
        return
    when, leap = taken[0]
    picks = dict(_picks(system, leap, region))
    unfit = (_outside(picks[n], system.chosen_kinds[n], kinds) for n in picks)
    after = {name: substitute(value, picks) for name, value in leap.after.items()}
    inside = expand_scalar(region.where, system.layout.scope)
    lands = substitute(expand_scalar(following.where, system.layout.scope), after)
    failing = (substitute(other.fails, picks) for _, other in ways)
    found = {
        "good": _good(encoded),
        "blocked": at_step(disjunction((opposite(system.orderly), opposite(when))), 0),
        "assumption": at_step(disjunction((*unfit, opposite(substitute(leap.possible, picks)))), 0),
        "outside": at_step(disjunction((*failing, opposite(lands))), 0),
    }
    for name, what in found.items():
        yield name, conjunction((at_step(inside, 0), what))


def _kinds(system: System) -> Kinds:
    return {**system.layout.kinds, **system.decision_kinds, **system.chosen_kinds}


def _good(encoded: Encoded) -> Term:
    match encoded.problem.property:
        case Eventually(good) | Recurs(good):
            return disjunction((encoded.condition(good, 0), encoded.undefined(good, 0)))
        case other:
            raise TypeError(f"no set of states refutes {type(other).__name__}")


def _picks(system: System, leap: Leap, region: Region) -> Iterator[tuple[str, Term]]:
    """For every scalar that the environment picks what the region says."""
    given: Mapping[str, Term] = dict(region.chosen)
    for name, _, tree in leap.chosen:
        values = leaves(expand(given[name], system.names))
        for own, value in zip(leaves(tree), values, strict=True):
            assert isinstance(own, Var)
            yield own.name, value


def _outside(value: Term, kind: Scalar, kinds: Kinds) -> Term:
    """The picked value is not one of this kind."""
    if isinstance(kind, Bool):
        return FALSE
    below = FALSE if kind.low is None else known(value < kind.low, kinds)
    above = FALSE if kind.high is None else known(value > kind.high, kinds)
    if isinstance(kind, Int):
        return disjunction((below, above, not_whole(value, kinds)))
    other = TRUE if kind.float32 and not is_float32(value, kinds) else FALSE
    return disjunction((below, above, other))
