"""From a solver's candidate to a true run that violates the property, or the reason why it is none.

The run is computed with the reference semantics. It need not be the whole candidate: the part up to the first
violation is returned. A loop counts only if the true run returns exactly to an earlier state.
"""

from __future__ import annotations

from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs
from surefoot.problem.semantics import enumerate_successors, holds_in_state, is_initial, may_end
from surefoot.query.bounds import declared_box
from surefoot.query.query import Assignment
from surefoot.reductions.concretise import concrete_runs
from surefoot.reductions.unroll import Unrolling
from surefoot.term.evaluate import Undefined
from surefoot.term.term import Term
from surefoot.verdict.verdict import Reason, Refused, Trace


def confirm_violation(encoded: Unrolling, model: Assignment) -> Trace | Refused:
    """The candidate as a true run that violates the property, or why it is none."""
    complaint = ""
    for run in concrete_runs(encoded.problem, encoded.invert(model)):
        found = run if isinstance(run, Refused) else refuting_prefix(encoded.problem, run)
        if isinstance(found, Trace):
            return found
        complaint = complaint or found.detail
    return Refused(Reason.SPURIOUS, complaint)


def refuting_prefix(problem: Problem, run: Trace) -> Trace | Refused:
    """The part of a run that violates the property. (`Within` is left to replay: the run is as asked.)"""
    try:
        match problem.property:
            case Never(bad):
                return _first_bad(problem, run, bad)
            case Eventually(good):
                return _find_lasso(problem, run, good, seen_matters=True)
            case Recurs(good):
                return _find_lasso(problem, run, good, seen_matters=False)
            case _:
                return run
    except Undefined as error:
        return Refused(Reason.SPURIOUS, str(error))


def _first_bad(problem: Problem, run: Trace, bad: Term) -> Trace | Refused:
    for number, state in enumerate(run.states):
        if holds_in_state(problem, state, bad):
            return Trace(run.states[: number + 1], run.moves[:number])
    return Refused(Reason.SPURIOUS, "its last state is not bad in float32")


def _find_lasso(problem: Problem, run: Trace, good: Term, *, seen_matters: bool) -> Trace | Refused:
    """The run up to its first return to a state since which nothing was good, or up to its end."""
    quiet_since = 0  # no state from this one on is good
    for number, state in enumerate(run.states):
        if holds_in_state(problem, state, good):
            if seen_matters:
                return Refused(Reason.SPURIOUS, f"state {number} is good")
            quiet_since = number + 1
        for earlier in range(quiet_since, number):
            if run.states[earlier] == state:
                return Trace(run.states[: number + 1], run.moves[:number], earlier)
    if quiet_since < len(run.states) and may_end(problem, run.states[-1]):
        return run
    return Refused(
        Reason.SPURIOUS,
        "the run neither ends nor returns exactly to an earlier state without passing a good one",
    )


def has_corner_start(encoded: Unrolling) -> bool:
    """Whether the state with all variables at their lower ends, or all at their upper ones, is initial."""
    box = declared_box(q for q in encoded.query.quantities if q.name.endswith("@0"))
    for ends in (tuple(box.values()), tuple((high, low) for low, high in box.values())):
        corner = {n: a if a is not None else b or 0 for n, (a, b) in zip(box, ends, strict=True)}
        try:
            if is_initial(encoded.problem.environment, encoded.invert(corner).initial):
                return True
        except (Undefined, OverflowError):
            continue
    return False


def undefined_after(encoded: Unrolling, model: Assignment) -> str:
    """What goes wrong in a next step of this run, as the reference semantics says it."""
    for run in concrete_runs(encoded.problem, encoded.invert(model)):
        if isinstance(run, Trace):
            try:
                for _ in enumerate_successors(encoded.problem, run.states[-1]):
                    pass
            except Undefined as error:
                return str(error)
            except Unsupported:
                break  # infinitely many choices: which of them goes wrong is not told
    return "a step may leave the range of a variable or of an array index"
