"""Many runs at once, with what is needed to make any of them again by the reference.

A run in columns is a suspicion. `rebuild_run` makes it again, state by state, with the semantics that replay
uses: where the reference decides otherwise than the columns did (the sum of a network in another order, a
sine), the run goes on as the reference says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import (
    Move,
    NotAStep,
    State,
    apply_move,
    free_choices,
    permitted_transitions,
)
from surefoot.simulate.batch.decision import Uniform
from surefoot.simulate.batch.model import ENDED, BatchModel, BatchStep, Rows
from surefoot.simulate.batch.state_columns import Names
from surefoot.term.columns import Column, Truths


@dataclass(slots=True)
class RecordedStep:
    """What runs did in a step."""

    rows: Rows  # the numbers of these runs, in order
    transition: NDArray[np.int32]
    outcomes: NDArray[np.int32]
    chosen: dict[str, Column]


@dataclass(slots=True)
class BatchRuns:
    """Runs in step. `state` is where they are; `alive`: they go on; `ended`: nothing can happen any more.

    The rows of all columns but those of `start` are the runs with the numbers in `rows`.
    """

    model: BatchModel
    start: dict[str, Column]
    state: dict[str, Column]
    count: int
    alive: Truths
    ended: Truths
    lost: Truths
    rows: Rows
    steps: list[RecordedStep] = field(default_factory=list)

    def advance(self, uniform: Uniform, *, by_probability: bool = True) -> BatchStep:
        """One step of all runs that are alive; the others stay where they are."""
        made = self.model.step(self.state, self.count, uniform, by_probability=by_probability)
        outcomes = made.outcomes.astype(np.int32)
        self.steps.append(RecordedStep(self.rows, made.transition.astype(np.int32), outcomes, made.chosen))
        stop = made.transition == ENDED
        self.ended |= self.alive & stop & ~made.lost
        self.lost |= self.alive & made.lost
        self.alive &= ~stop & ~made.lost
        every = bool(self.alive.all())
        self.state = {
            name: column if every else _where(self.alive, column, self.state[name])
            for name, column in made.state.items()
        }
        return made

    def drop_dead(self) -> None:
        """Go on with the runs that are alive only."""
        kept = np.flatnonzero(self.alive)
        self.state = {name: column[kept] for name, column in self.state.items()}
        self.rows, self.count = self.rows[kept], len(kept)
        self.alive, self.ended, self.lost = self.alive[kept], self.ended[kept], self.lost[kept]


def _where(rows: Truths, new: Column, old: Column) -> Column:
    return np.where(rows.reshape(-1, *(1,) * (new.ndim - 1)), new, old)


def begin_runs(model: BatchModel, starts: Names) -> BatchRuns:
    count = len(next(iter(starts.values())))
    none = np.zeros(count, dtype=np.bool_)
    return BatchRuns(
        model, dict(starts), dict(starts), count, ~none, none.copy(), none.copy(), np.arange(count)
    )


def rebuild_run(problem: Problem, start: State, moves: Sequence[Move]) -> Iterator[tuple[Move | None, State]]:
    """The states of the run by the reference, each with the move that led to it, as long as there is one."""
    state = start
    yield None, state
    for move in moves:
        try:
            state, made = apply_move(problem, state, move), move
        except NotAStep:
            other = next(_other_moves(problem, state, move), None)
            if other is None:
                return
            state, made = other
        except InvalidProblem:  # something has no value
            return
        yield made, state


def _other_moves(problem: Problem, state: State, wanted: Move) -> Iterator[tuple[State, Move]]:
    """What is permitted instead of a move that is not: with its outcomes and choices where they fit."""
    try:
        permitted = permitted_transitions(problem, state)
    except InvalidProblem:
        return
    for transition in permitted:
        free = {c.name for c in free_choices(problem.environment, transition)}
        if free != set(wanted.chosen):
            continue
        edges = [problem.environment.components[c].edges[e] for c, e in transition.edges]
        fits = len(edges) == len(wanted.outcomes)
        picks = tuple(
            min(wanted.outcomes[i], len(edge.outcomes) - 1) if fits else 0 for i, edge in enumerate(edges)
        )
        move = Move(transition, picks, wanted.chosen)
        try:
            yield apply_move(problem, state, move), move
        except (NotAStep, InvalidProblem):
            continue


def moves_of_run(runs: BatchRuns, row: int, steps: int) -> list[Move]:
    """The first moves of a run; fewer if it ended before."""
    found = []
    for step in runs.steps[:steps]:
        place = int(np.searchsorted(step.rows, row))
        if place == len(step.rows) or step.rows[place] != row or step.transition[place] == ENDED:
            break
        chosen = {name: column[place] for name, column in step.chosen.items()}
        found.append(runs.model.move(int(step.transition[place]), int(step.outcomes[place]), chosen))
    return found
