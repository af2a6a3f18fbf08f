"""Many runs at once, with what is needed to make any of them again by the reference.

A run in columns is a suspicion. `rebuild_run` makes it again, state by state, with the semantics that replay
uses: where the reference decides otherwise than the columns did (the sum of a network in another order, a
sine), the run goes on as the reference says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

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
    """What every run did in a step: rows are runs."""

    transition: Rows
    outcomes: Rows
    chosen: dict[str, Column]


@dataclass(slots=True)
class BatchRuns:
    """Runs in step. `state` is where they are; `alive`: they go on; `ended`: nothing can happen any more."""

    model: BatchModel
    start: dict[str, Column]
    state: dict[str, Column]
    count: int
    alive: Truths
    ended: Truths
    lost: Truths
    steps: list[RecordedStep] = field(default_factory=list)

    def advance(self, uniform: Uniform, *, by_probability: bool = True) -> BatchStep:
        """One step of all runs that are alive; the others stay where they are."""
        made = self.model.step(self.state, self.count, uniform, by_probability=by_probability)
        self.steps.append(RecordedStep(made.transition, made.outcomes, made.chosen))
        stop = made.transition == ENDED
        self.ended |= self.alive & stop & ~made.lost
        self.lost |= self.alive & made.lost
        self.alive &= ~stop & ~made.lost
        moving = self.alive
        self.state = {
            name: column if moving.all() else _where(moving, column, self.state[name])
            for name, column in made.state.items()
        }
        return made


def _where(rows: Truths, new: Column, old: Column) -> Column:
    return np.where(rows.reshape(-1, *(1,) * (new.ndim - 1)), new, old)


def begin_runs(model: BatchModel, starts: Names) -> BatchRuns:
    count = len(next(iter(starts.values())))
    none = np.zeros(count, dtype=np.bool_)
    return BatchRuns(model, dict(starts), dict(starts), count, ~none, none.copy(), none.copy())


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
        yield made, state


def _other_moves(problem: Problem, state: State, wanted: Move) -> Iterator[tuple[State, Move]]:
    """What is permitted instead of a move that is not: with its outcomes and choices where they fit."""
    for transition in permitted_transitions(problem, state):
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
        if step.transition[row] == ENDED:
            break
        chosen = {name: column[row] for name, column in step.chosen.items()}
        found.append(runs.model.move(int(step.transition[row]), int(step.outcomes[row]), chosen))
    return found
