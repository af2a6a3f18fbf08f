"""Several violating runs as a table: where each starts, how long it is, and what it violates."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, NeverBefore, Recurs, Timed, Within
from surefoot.problem.semantics import names_in_state
from surefoot.reductions.discretise import discretise
from surefoot.report.run_table import format_number
from surefoot.report.violation.condition_parts import describe_decisive_parts, kinds_of_names
from surefoot.term.term import Term, free_names
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Trace

MOST_NAMES = 6  # variables of a start that are told
WIDEST = 10  # characters of a start value


def witness_rows(problem: Problem, runs: Sequence[Trace]) -> list[tuple[str, str, str, str]]:
    """Number, start, steps and what is violated, of each run."""
    executed = discretise(problem, continuous=True)
    names = _telling_names(problem, runs)
    return [
        (
            str(number),
            ", ".join(f"{n} = {_short_number(run.states[0][n])}" for n in names) or "the only start",
            str(len(run.moves)),
            describe_violation(executed, run),
        )
        for number, run in enumerate(runs, 1)
    ]


def _telling_names(problem: Problem, runs: Sequence[Trace]) -> list[str]:
    """All variables, or those in which the starts differ; those of the property first."""
    own = [v.name for v in problem.environment.variables]
    first = runs[0].states[0]
    many = len(own) > MOST_NAMES
    found = [n for n in own if not many or any(run.states[0][n] != first[n] for run in runs)]
    asked = problem.property
    asked = asked.asked if isinstance(asked, Timed) else asked
    condition: Term | None = getattr(asked, "bad", getattr(asked, "good", None))
    said = free_names(condition) if condition is not None else frozenset()
    return sorted(found, key=lambda n: (n not in said, own.index(n)))[:MOST_NAMES]


def _short_number(value: object) -> str:
    text = format_number(value)
    return text if len(text) <= WIDEST or isinstance(value, bool | int | tuple) else f"{float(value):.6g}"  # type: ignore[arg-type]


def describe_violation(executed: Problem, run: Trace) -> str:
    """What is violated by the last state, or by the run as a whole."""
    match executed.property:
        case Never(bad) | NeverBefore(bad):
            return _bad_by(executed, bad, run) or "bad at the end"
        case Within(_, steps):
            whole = len(run.moves) >= steps
            return f"not reached in {count_noun(steps, 'step')}" if whole else "ends before"
        case Eventually() | Recurs() if run.loop is not None:
            return f"returns to state {run.loop}"
        case _:
            return "ends before"


def _bad_by(executed: Problem, bad: Term, run: Trace) -> str:
    names = sorted(free_names(bad))
    kinds = kinds_of_names(executed, names)
    try:
        values = names_in_state(executed, run.states[-1], names)
    except InvalidProblem:
        return ""
    return describe_decisive_parts(bad, values, kinds, executed.environment.arithmetic)
