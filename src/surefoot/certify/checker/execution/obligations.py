"""What has to be shown so that a property holds along all runs (docs/certificates.md, section 9).

Each obligation is a query without solutions. `unrolled` looks at the runs from the initial states one length
after the other; `induction` at sequences of states from anywhere, and at the runs that are shorter.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..number import BadCertificate, integer, record
from ..query import Formula, Query
from .formula import all_of
from .problem import MOST_STEPS, Problem
from .state import Moment
from .unroll import escape, run_query

Last = Callable[[int], tuple[Formula, ...]]  # a condition about the runs of so many steps


@dataclass(frozen=True, slots=True)
class Argument:
    """`steps`: how far runs are unrolled, or k of an induction; `good`: states of which one must be good."""

    kind: str  # "unrolled" or "induction"
    steps: int
    good: int | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Obligation:
    name: str
    steps: int
    query: Query


def read_argument(data: object) -> Argument:
    entry = record(data, frozenset({"kind", "steps"}), frozenset({"good"}), "argument")
    if entry["kind"] not in ("unrolled", "induction"):
        raise BadCertificate("argument: neither `unrolled` nor `induction`")
    steps = integer(entry["steps"], 0, MOST_STEPS, "steps")
    good = integer(entry["good"], 1, MOST_STEPS, "good") if "good" in entry else None
    return Argument(entry["kind"], steps, good)


def obligations(problem: Problem, argument: Argument) -> list[Obligation]:
    """All that has to be shown; raises `BadCertificate` where the argument does not fit the property."""
    if argument.kind == "unrolled":
        return list(_unrolled(problem, argument))
    return list(_induction(problem, argument))


def _unrolled(problem: Problem, argument: Argument) -> Iterator[Obligation]:
    asked, last = problem.property, argument.steps
    if argument.good is not None or (asked.steps is not None and asked.steps != last):
        raise BadCertificate("argument: runs are unrolled to another length than the property asks for")
    bounded = asked.steps is not None
    for t in range(last + 1 if bounded else last):
        yield _from_start(problem, "violation", t, lambda t: _violation(problem, t))
        if not bounded or t < last:
            yield _from_start(problem, "escape", t, lambda t: (*_open(problem, t), escape(_at(problem, t))))
    if not bounded:
        yield _from_start(problem, "longer", last, lambda t: _open(problem, t))


def _induction(problem: Problem, argument: Argument) -> Iterator[Obligation]:
    asked, k = problem.property, argument.steps
    if asked.kind not in ("never", "recurs") or asked.steps is not None or k < 1:
        raise BadCertificate("argument: induction shows `never` without a number of steps, and `recurs`")
    if (asked.kind == "recurs") is (argument.good is None):
        raise BadCertificate("argument: `good` belongs to an induction for `recurs`")
    for t in range(k - 1):
        yield _from_start(problem, "violation", t, lambda t: _violation(problem, t))
        yield _from_start(problem, "escape", t, lambda t: (escape(_at(problem, t)),))
    before = [_at(problem, t).condition(False) for t in range(k - 1)] if asked.kind == "never" else []
    yield _anywhere(problem, "step/violation", k - 1, (*before, *_violation(problem, k - 1)))
    yield _anywhere(problem, "step/escape", k - 1, (*before, escape(_at(problem, k - 1))))
    if argument.good is not None:
        none = tuple(_at(problem, t).condition(False) for t in range(argument.good))
        yield _anywhere(problem, "step/none good", argument.good - 1, none)


def _at(problem: Problem, time: int) -> Moment:
    return Moment(problem, time)


def _violation(problem: Problem, last: int) -> tuple[Formula, ...]:
    """A run of so many steps violates the property by where, or as what, it ends."""
    asked, end = problem.property, _at(problem, last)
    match asked.kind:
        case "never":
            return (end.condition(True),)
        case "within":
            missed = tuple(_at(problem, t).condition(False) for t in range(asked.after, last + 1))
            return missed if last == asked.steps else (*missed, end.ended())
        case "eventually":
            return (*_open(problem, last), end.ended())
        case _:
            return (end.condition(False), end.ended())


def _open(problem: Problem, last: int) -> tuple[Formula, ...]:
    """What is true of the runs that still matter: for `eventually`, no state was good so far."""
    if problem.property.kind != "eventually":
        return ()
    return tuple(_at(problem, t).condition(False) for t in range(last + 1))


def _from_start(problem: Problem, name: str, steps: int, what: Last) -> Obligation:
    parts = (_at(problem, 0).initial(), *what(steps))
    return Obligation(name, steps, run_query(problem, steps, parts, f"{name} after {steps} steps"))


def _anywhere(problem: Problem, name: str, steps: int, parts: tuple[Formula, ...]) -> Obligation:
    return Obligation(name, steps, run_query(problem, steps, (all_of(parts),), f"{name}, {steps + 1} states"))


def described(problem: Problem, argument: Argument) -> str:
    """Property and argument in words; what exactly the condition is stands in the certificate."""
    asked, how = problem.property, "every run is looked at"
    span = "" if asked.steps is None else f" in states {asked.after} to {asked.steps}"
    if argument.kind == "induction":
        how = f"by induction with k = {max(argument.steps, argument.good or 0)}"
    return f"{asked.kind}{span}, {how}"
