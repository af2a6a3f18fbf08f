"""What has to be shown so that a property holds along all runs (docs/certificates.md, section 9).

Each obligation is a query without solutions. `unrolled` looks at the runs from the initial states one length
after the other; `induction` at sequences of states from anywhere, and at the runs that are shorter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction

from ...kernel.asked_property import RunProperty
from ...kernel.query import ClaimedQuery, Formula
from ...kernel.strict_json import BadCertificate
from .argument import RunArgument
from .canonical_problem import CanonicalProblem
from .formula import form_comparison, formula_and, formula_or
from .invariant_parts import enumerate_part_queries
from .network_ranges import check_free_ranges
from .time_frame import TimeFrame
from .unroll import escape_formula, run_query, states_differ


@dataclass(frozen=True, slots=True, eq=False)
class RunObligation:
    name: str
    steps: int
    query: ClaimedQuery


def enumerate_obligations(problem: CanonicalProblem, argument: RunArgument) -> Iterator[RunObligation]:
    """First what justifies the aids of the argument, then what it says of the problem with their help.

    Raises `BadCertificate` where the argument does not fit the property.
    """
    check_free_ranges(problem, argument.free)
    for number, (low, high) in argument.free.outputs.items():
        said = {f"output[{number}]@0": Fraction(1)}
        outside = formula_or((form_comparison("<", said, {"": low}), form_comparison("<", {"": high}, said)))
        yield _from_anywhere(problem, f"range of output {number}", 0, (outside,))
    aided = replace(problem, free=argument.free)
    if argument.assuming is not None:
        never = argument.assuming.never
        lemma = replace(problem, property=RunProperty("never", never))
        for shown in enumerate_obligations(lemma, argument.assuming.argument):
            query = replace(shown.query, origin=f"assumed: {shown.query.origin}")
            yield RunObligation(f"assumed/{shown.name}", shown.steps, query)
        aided = replace(aided, never=never)
    if argument.different and (problem.property.kind != "never" or problem.property.steps is not None):
        raise BadCertificate("argument: only for `never` without a number of steps do simple paths suffice")
    kinds = {
        "unrolled": _unrolling_obligations,
        "induction": _induction_obligations,
        "closed": _closure_obligations,
        "parts": _part_obligations,
    }
    yield from kinds[argument.kind](aided, argument)


def _unrolling_obligations(problem: CanonicalProblem, argument: RunArgument) -> Iterator[RunObligation]:
    asked, last = problem.property, argument.steps
    if argument.good is not None or (asked.steps is not None and asked.steps != last):
        raise BadCertificate("argument: runs are unrolled to another length than the property asks for")
    bounded = asked.steps is not None
    for t in range(last + 1 if bounded else last):
        yield _from_start(problem, "violation", t, _violation_formulas(problem, t))
        if not bounded or t < last:
            escape = escape_formula(TimeFrame(problem, t))
            yield _from_start(problem, "escape", t, (*_pending_formulas(problem, t), escape))
    if not bounded:
        simple = _simple_path_formulas(problem, argument, last)
        yield _from_start(problem, "longer", last, (*_pending_formulas(problem, last), *simple))


def _induction_obligations(problem: CanonicalProblem, argument: RunArgument) -> Iterator[RunObligation]:
    asked, k = problem.property, argument.steps
    if asked.kind not in ("never", "recurs") or asked.steps is not None or k < 1:
        raise BadCertificate("argument: induction shows `never` without a number of steps, and `recurs`")
    if (asked.kind == "recurs") is (argument.good is None):
        raise BadCertificate("argument: `good` belongs to an induction for `recurs`")
    for t in range(k - 1):
        yield _from_start(problem, "violation", t, _violation_formulas(problem, t))
        yield _from_start(problem, "escape", t, (escape_formula(TimeFrame(problem, t)),))
    before = [TimeFrame(problem, t).condition(False) for t in range(k - 1)] if asked.kind == "never" else []
    simple = _simple_path_formulas(problem, argument, k - 1)
    yield _from_anywhere(
        problem, "step/violation", k - 1, (*before, *_violation_formulas(problem, k - 1), *simple)
    )
    yield _from_anywhere(
        problem, "step/escape", k - 1, (*before, escape_formula(TimeFrame(problem, k - 1)), *simple)
    )
    if argument.good is not None:
        none = tuple(TimeFrame(problem, t).condition(False) for t in range(argument.good))
        yield _from_anywhere(problem, "step/none good", argument.good - 1, none)


def _closure_obligations(problem: CanonicalProblem, argument: RunArgument) -> Iterator[RunObligation]:
    """No start is bad; from a state that is not, no step leads to one that is, or out of a range."""
    asked = problem.property
    if asked.kind != "never" or asked.steps is not None or argument.steps != 1:
        raise BadCertificate("argument: `closed` shows `never` without a number of steps; its own is 1")
    if argument.good is not None or argument.different:
        raise BadCertificate("argument: `closed` takes neither `good` nor `different`")
    yield _from_start(problem, "violation", 0, _violation_formulas(problem, 0))
    inside = TimeFrame(problem, 0).condition(False)
    yield _from_anywhere(problem, "step/violation", 1, (inside, *_violation_formulas(problem, 1)))
    yield _from_anywhere(problem, "step/escape", 0, (inside, escape_formula(TimeFrame(problem, 0))))


def _part_obligations(problem: CanonicalProblem, argument: RunArgument) -> Iterator[RunObligation]:
    """No run leaves some states, none of which is bad: shown for one part of them after the other."""
    if problem.property.kind != "never" or problem.property.steps is not None:
        raise BadCertificate("argument: `parts` shows `never` without a number of steps")
    for name, query in enumerate_part_queries(problem, argument.inside):
        yield RunObligation(name, 0, query)


def _violation_formulas(problem: CanonicalProblem, last: int) -> tuple[Formula, ...]:
    """A run of so many steps violates the property by where, or as what, it ends."""
    asked, end = problem.property, TimeFrame(problem, last)
    match asked.kind:
        case "never":
            return (end.condition(True),)
        case "within":
            missed = tuple(TimeFrame(problem, t).condition(False) for t in range(asked.after, last + 1))
            return missed if last == asked.steps else (*missed, end.may_end())
        case "eventually":
            return (*_pending_formulas(problem, last), end.may_end())
        case _:
            return (end.condition(False), end.may_end())


def _pending_formulas(problem: CanonicalProblem, last: int) -> tuple[Formula, ...]:
    """What is true of the runs that still matter: for `eventually`, no state was good so far."""
    if problem.property.kind != "eventually":
        return ()
    return tuple(TimeFrame(problem, t).condition(False) for t in range(last + 1))


def _simple_path_formulas(problem: CanonicalProblem, argument: RunArgument, last: int) -> tuple[Formula, ...]:
    """The states of a sequence that are not the same, as the argument has it."""
    if any(late > last for _, late in argument.different):
        raise BadCertificate("argument: different states at a time that is not looked at")
    return tuple(states_differ(TimeFrame(problem, i), TimeFrame(problem, j)) for i, j in argument.different)


def _lemma_formulas(problem: CanonicalProblem, steps: int) -> Iterator[Formula]:
    """What no run meets is met at no time."""
    return (TimeFrame(problem, t).condition_formula(problem.never, False) for t in range(steps + 1))


def _from_start(problem: CanonicalProblem, name: str, steps: int, what: tuple[Formula, ...]) -> RunObligation:
    parts = (TimeFrame(problem, 0).initial(), *what, *_lemma_formulas(problem, steps))
    return RunObligation(name, steps, run_query(problem, steps, parts, f"{name} after {steps} steps"))


def _from_anywhere(
    problem: CanonicalProblem, name: str, steps: int, parts: tuple[Formula, ...]
) -> RunObligation:
    whole = formula_and((*parts, *_lemma_formulas(problem, steps)))
    return RunObligation(name, steps, run_query(problem, steps, (whole,), f"{name}, {steps + 1} states"))


def describe_argument(problem: CanonicalProblem, argument: RunArgument) -> str:
    """Property and argument in words; what exactly the condition is stands in the certificate."""
    asked, how = problem.property, "every run is looked at"
    span = "" if asked.steps is None else f" in states {asked.after} to {asked.steps}"
    span += "" if asked.before in (None, False) else " before the goal"
    if argument.kind == "closed":
        how = "because no step leaves the other states"
    if argument.kind == "parts":
        how = "because no run leaves some states, none of which is bad"
    if argument.kind == "induction":
        how = f"by induction with k = {max(argument.steps, argument.good or 0)}"
    how += " over simple paths" if argument.different else ""
    how += " with an invariant that is shown as well" if argument.assuming is not None else ""
    inputs, outputs = len(argument.free.inputs), len(argument.free.outputs)
    if inputs or outputs:
        how += f" while {inputs} inputs and {outputs} outputs of the network may be anything in their ranges"
    return f"{asked.kind}{span}, {how}"
