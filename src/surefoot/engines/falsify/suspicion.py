"""Suspicious runs made again by the reference semantics, and shortened before they are shown."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

from surefoot.engines.falsify.watch import watched_condition
from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Environment
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Within
from surefoot.problem.semantics import Move, State, holds_in_state, is_initial, may_end
from surefoot.reductions.refutation.witness import refuting_prefix
from surefoot.simulate.batch.model import Rows
from surefoot.simulate.batch.runs import BatchRuns, moves_of_run, rebuild_run
from surefoot.simulate.starts import StartSamples
from surefoot.term.number import LongNumber, bits_of
from surefoot.verdict.verdict import Reason, Refused, Trace
from surefoot.work.budget import Budget

MOST_TRIED = 4  # suspicions of a step that are made again
MOST_BITS = 33_000  # of a fraction: longer ones take too long, and files have at most 10,000 digits
SHORT_DENOMINATORS = (100, 16, 1)
TOO_LONG = Refused(Reason.SPURIOUS, "its numbers become too long")

Origin: TypeAlias = Callable[[int], tuple[State, list[Move]]]  # of a run: its start, and moves before it


def origin_in(environment: Environment, starts: StartSamples) -> Origin:
    """Of runs that begin in starts."""
    return lambda row: (next(iter(starts.states(environment, [row]))), [])


def confirm_some(
    problem: Problem, runs: BatchRuns, origin: Origin, rows: Rows
) -> Generator[Trace | None, None, int]:
    """Those of the first suspicious runs that the reference confirms; None: it is still at work.

    Returned is how many of them need numbers that are too long.
    """
    long = 0
    for row in rows[:MOST_TRIED].tolist():
        start, before = origin(row)
        moves = before + moves_of_run(runs, row, len(runs.steps))
        found = yield from confirm_stepwise(problem, start, moves)
        if found == TOO_LONG:
            long += 1
            found = yield from _confirm_shortened(problem, start, moves)
        if isinstance(found, Trace):
            yield found
    return long


def _confirm_shortened(
    problem: Problem, start: State, moves: list[Move]
) -> Generator[None, None, Trace | Refused]:
    """A run that is near to it, from a start and with values of few digits: products make numbers longer."""
    for most in SHORT_DENOMINATORS:
        short = {name: _shorten(value, most) for name, value in start.items()}
        if not is_initial(problem.environment, short):
            continue
        near = [
            replace(move, chosen={name: _shorten(value, most) for name, value in move.chosen.items()})
            for move in moves
        ]
        found = yield from confirm_stepwise(problem, short, near)
        if isinstance(found, Trace):
            return found
    return TOO_LONG


def _shorten(value: Any, most: int) -> Any:
    if isinstance(value, tuple):
        return tuple(_shorten(v, most) for v in value)
    return value.limit_denominator(most) if isinstance(value, Fraction) else value


def confirm_run(problem: Problem, start: State, moves: list[Move], budget: Budget) -> Trace | Refused:
    """The run by the reference as far as it violates the property, or why it does not, in time."""
    working = confirm_stepwise(problem, start, moves)
    while True:
        try:
            next(working)
        except StopIteration as done:
            found: Trace | Refused = done.value
            return found
        if budget.is_spent():
            return Refused(Reason.TIMEOUT, "the time ended while it was made again")


def confirm_stepwise(
    problem: Problem, start: State, moves: list[Move]
) -> Generator[None, None, Trace | Refused]:
    """The same, state by state: who asks may go on later, since a step of the reference may take a while."""
    try:
        return (yield from _make_again(problem, start, moves))
    except LongNumber:
        return TOO_LONG


def _make_again(problem: Problem, start: State, moves: list[Move]) -> Generator[None, None, Trace | Refused]:
    states: list[State] = []
    made: list[Move] = []
    for move, state in rebuild_run(problem, start, moves):
        if _is_long(state):
            return TOO_LONG
        yield None
        states.append(state)
        if move is not None:
            made.append(move)
        if isinstance(problem.property, Never) and _is_bad(problem, state):
            return shorten_trace(problem, Trace(tuple(states), tuple(made)))
    if isinstance(problem.property, Never):
        return Refused(Reason.SPURIOUS, "no state of it is bad")
    run = Trace(tuple(states), tuple(made))
    try:
        if isinstance(problem.property, Within):
            return _missing_goal(problem, run, problem.property)
        found = refuting_prefix(problem, run)
        return shorten_trace(problem, found) if isinstance(found, Trace) else found
    except InvalidProblem as why:
        return Refused(Reason.SPURIOUS, str(why))


def _is_bad(problem: Problem, state: State) -> bool:
    """Where the condition has no value a run goes on all the same."""
    try:
        return holds_in_state(problem, state, watched_condition(problem))
    except InvalidProblem:
        return False


def _is_long(state: Mapping[str, Any]) -> bool:
    return any(isinstance(v, Fraction) and bits_of(v) > MOST_BITS for v in state.values())


def _missing_goal(problem: Problem, run: Trace, asked: Within) -> Trace | Refused:
    """The run up to the last step that counts, if nothing is good until then."""
    cut = Trace(run.states[: asked.steps + 1], run.moves[: asked.steps])
    for number, state in enumerate(cut.states[asked.after :], asked.after):
        if holds_in_state(problem, state, asked.good):
            return Refused(Reason.SPURIOUS, f"state {number} is good")
    if len(cut.moves) < asked.steps and not may_end(problem, cut.states[-1]):
        return Refused(Reason.SPURIOUS, "the run could go on")
    return cut


def shorten_trace(problem: Problem, trace: Trace) -> Trace:
    """Without what comes before the last start, and without ways round to a state that was met before."""
    stem = len(trace.states) - 1 if trace.loop is None else trace.loop
    first = next(n for n in range(stem, -1, -1) if n == 0 or is_initial(problem.environment, trace.states[n]))
    loop = None if trace.loop is None else trace.loop - first
    return _cut_rounds(replace(trace, states=trace.states[first:], moves=trace.moves[first:], loop=loop))


def _cut_rounds(trace: Trace) -> Trace:
    """Between two meetings of one state nothing is needed, outside the loop in which a run stays."""
    stem = len(trace.states) - 1 if trace.loop is None else trace.loop
    last = {_key(state): number for number, state in enumerate(trace.states[: stem + 1])}
    states, moves, number = [trace.states[0]], list[Move](), last[_key(trace.states[0])]
    while number < stem:
        moves.append(trace.moves[number])
        states.append(trace.states[number + 1])
        number = last[_key(trace.states[number + 1])]
    loop = None if trace.loop is None else len(states) - 1
    return replace(
        trace,
        states=(*states, *trace.states[stem + 1 :]),
        moves=(*moves, *trace.moves[stem:]),
        loop=loop,
    )


def _key(state: State) -> Hashable:
    return tuple(sorted(state.items()))
