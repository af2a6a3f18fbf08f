"""A run as a table: one row per state; of a history buffer only the value that is new in that state."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isfinite
from typing import Any

from surefoot.problem.meaning.decision import Decision
from surefoot.problem.meaning.transition import enabled_transitions
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State, policy_decision
from surefoot.problem.window import Window, windows_of
from surefoot.reductions.discretise import discretise
from surefoot.term.decimal_literals import show_number
from surefoot.term.number import bits_of, brief_number
from surefoot.verdict.verdict import Trace

WIDTH = 14
HUGE_BITS = 1000  # of numbers of thousands of digits Python makes no text, and of some no double


@dataclass(frozen=True, slots=True)
class RunTable:
    """`before`: each history buffer as it is in state 0, oldest value first."""

    names: tuple[str, ...]
    rows: tuple[dict[str, str], ...]
    windows: tuple[Window, ...]
    before: dict[str, tuple[str, ...]]
    rounded: bool  # some number is not shown as it is


def run_table(problem: Problem, trace: Trace) -> RunTable:
    """Variables, locations, network outputs and what the policy decides, state by state."""
    executed = discretise(problem, continuous=True)
    windows = windows_of(executed.environment)
    decisions = [policy_decision(executed, state) for state in trace.states]
    rows = [
        _state_row(executed, state, made, windows)
        for state, made in zip(trace.states, decisions, strict=True)
    ]
    if trace.times:
        rows = [{"time": show_moment(t), **row} for t, row in zip(trace.times, rows, strict=True)]
    for row, move in zip(rows, trace.moves, strict=False):
        taken = move.transition.label or "silent"
        if row.get("action", taken) != taken and not row["action"].startswith(f"{taken} "):
            row["taken"] = f"{taken} (the environment's own)"
    names = tuple(dict.fromkeys(name for row in rows for name in row))
    before = {w.name: tuple(format_number(trace.states[0][n]) for n in w.names) for w in windows}
    rounded = any(not _is_exact(value) for state in trace.states for value in state.values())
    outputs = [o for made in decisions if made is not None for o in made.outputs or ()]
    rounded |= any(Fraction(_format_output(o)) != Fraction(float(o)) for o in outputs if isfinite(o))
    return RunTable(names, tuple(rows), windows, before, rounded)


def first_and_last(trace: Trace, most: int, first: int) -> Trace:
    """The states that are listed of a run that has more than so many."""
    if len(trace.states) <= most:
        return trace
    last = most - first
    return Trace(
        (*trace.states[:first], *trace.states[-last:]),
        (*trace.moves[:first], *trace.moves[-last + 1 :]),
        trace.loop,
        times=(*trace.times[:first], *trace.times[-last:]) if trace.times else (),
    )


def _state_row(
    problem: Problem, state: State, made: Decision | None, windows: tuple[Window, ...]
) -> dict[str, str]:
    environment = problem.environment
    inside = {name for w in windows for name in w.names}
    row = {w.name: format_number(state[w.names[-1]]) for w in windows}
    row |= {v.name: format_number(state[v.name]) for v in environment.variables if v.name not in inside}
    for component in environment.components:
        if len(component.locations) > 1:
            row[component.name] = component.locations[state[f"@{component.name}"]]
    if made is None:
        return row
    row |= {f"output[{i}]": _format_output(o) for i, o in enumerate(made.outputs or ())}
    if list(made.controls.values()) != list(made.outputs or ()):
        row |= {name: format_number(value) for name, value in made.controls.items()}
    if made.actions:
        row["action"] = " or ".join(made.actions) if len(made.actions) < 4 else "sampled"
        row["action"] += " (not enabled: stalls)" if made.stalls else ""
    if any(c.edges for c in environment.components) and not enabled_transitions(
        environment, state, made.controls
    ):
        row["action"] = "none enabled: deadlock"
    return row


def _format_output(value: float) -> str:
    return f"{value:.7g}"


def _is_exact(value: Any) -> bool:
    """Is the text of `number` the number itself?"""
    if isinstance(value, tuple):
        return all(map(_is_exact, value))
    if isinstance(value, int | Fraction) and bits_of(value) > HUGE_BITS:
        return False
    if isinstance(value, bool | int):
        return True
    return not isfinite(value) or Fraction(format_number(value)) == Fraction(value)


def show_moment(time: Fraction) -> str:
    """A moment as a decimal; one that is too long for that is rounded."""
    exact = show_number(time)
    return exact if len(exact) <= WIDTH else f"{float(time):.10g}"


def format_number(value: Any) -> str:
    """A number short enough to read; the exact one is in the JSON."""
    if isinstance(value, int | Fraction) and bits_of(value) > HUGE_BITS:
        try:
            return f"{float(value):.10g}"
        except OverflowError:
            return brief_number(value)
    if isinstance(value, Fraction):
        return str(value) if len(str(value)) <= WIDTH else f"{float(value):.10g}"
    if isinstance(value, tuple):
        return "[" + ", ".join(format_number(v) for v in value) + "]"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.10g}" if isinstance(value, float) else str(value)
