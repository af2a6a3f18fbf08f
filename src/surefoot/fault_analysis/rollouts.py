"""Other decisions tried out in columns: thousands of runs that begin in states of a violating run.

In each of these states every alternative is taken once and followed by a plan: the policy itself, one pick
held, or picks that change now and then. What the environment does is drawn. A plan is good if all its runs
keep the property up to the horizon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.falsify.watch import compile_watched
from surefoot.fault_analysis.local_game import LocalGame
from surefoot.problem.environment import Environment
from surefoot.problem.meaning.decision import action_names
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Within
from surefoot.problem.semantics import State
from surefoot.simulate.batch.conditions import BatchConditions
from surefoot.simulate.batch.decision import NOBODY, BatchDecision, BatchPolicy, Uniform
from surefoot.simulate.batch.model import ENDED, BatchModel, Rows, make_batch_model
from surefoot.simulate.batch.numbers import RunNumbers
from surefoot.simulate.batch.state_columns import Names, columns_from_rows
from surefoot.term.columns import Column, Truths
from surefoot.verdict.fault import Alternative
from surefoot.work.budget import Budget

CHANGING = 40  # plans of picks that change now and then
CHANGES = 0.2  # of the steps
DRAWN = 8  # runs of a plan, if anything is left open
MOST_ROWS = 40_000
_POLICY = -1  # instead of a pick: whatever the policy does


@dataclass(slots=True)
class PlannedPolicy:
    """The policy of a batch with some picks given: places in `table`, or `_POLICY`."""

    inner: BatchPolicy
    environment: Environment
    table: tuple[Alternative, ...]
    picks: Rows
    even: bool = False
    made: list[Rows] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        return self.inner.names

    def decide(self, state: Names, own: Truths, count: int, uniform: Uniform) -> BatchDecision:
        found = self.inner.decide(state, own, count, uniform)
        given = self.picks != _POLICY
        if self.environment.controls:
            for control in self.environment.controls:
                values = np.array([float(a.controls[control.name]) for a in self.table])
                column = found.controls[control.name]
                found.controls[control.name] = np.where(given, values[self.picks], column)
            return found
        places = np.array([self.names.index(a.action) for a in self.table if a.action is not None])
        wanted = np.where(given, places[self.picks], NOBODY)
        ready = given & own[np.maximum(wanted, 0), np.arange(count)]
        actions = np.where(ready, wanted, found.actions)
        return replace(found, actions=actions, stalled=found.stalled & ~ready, lost=found.lost & ~ready)


@dataclass(frozen=True, slots=True)
class Rollout:
    """Of one state: the alternatives after which some plan is good, and how much was tried."""

    good: tuple[Alternative, ...]
    tried: int  # runs
    steps: int
    plans: dict[int, NDArray[np.int64]]  # by place in `good`: the picks of a good plan
    table: tuple[Alternative, ...]
    drawn: bool  # something was left open


@dataclass(slots=True)
class Trials:
    """What is made once for all states of a problem."""

    problem: Problem
    seed: int
    model: BatchModel = field(init=False)
    watched: BatchConditions = field(init=False)

    def __post_init__(self) -> None:
        self.model = make_batch_model(self.problem)
        self.watched = compile_watched(self.problem, self.model)

    def try_state(self, game: LocalGame, state: State, index: int, horizon: int, budget: Budget) -> Rollout:
        """All alternatives of one state of a run, followed by plans up to state number `horizon`."""
        table = self._alternatives(game, state)
        rng = np.random.default_rng((self.seed % 2**63, index))
        steps = horizon - index
        asked = self._run(table, self._plans(table, steps, rng), state, index, steps, 1, budget)
        if asked[1]:
            again = self._run(table, self._plans(table, steps, rng), state, index, steps, DRAWN, budget)
            return again[0]
        return asked[0]

    def _alternatives(self, game: LocalGame, state: State) -> tuple[Alternative, ...]:
        if self.problem.environment.controls:
            return tuple(Alternative(controls=values) for values in game.control_grid(state))
        assert self.problem.policy is not None
        return tuple(Alternative(a) for a in action_names(self.problem.policy, self.problem.environment))

    def _plans(self, table: Sequence[Alternative], steps: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """[plans, steps]: first picks and what follows."""
        count = len(table)
        rest = [np.full(steps, _POLICY)]
        rest += [np.full(steps, c) for c in range(min(count, 9))]
        changing = rng.integers(0, count, (CHANGING, steps))
        keep = rng.random((CHANGING, steps)) >= CHANGES
        keep[:, 0] = False
        last = np.maximum.accumulate(np.where(keep, 0, np.arange(steps)), axis=1)
        rest += list(np.take_along_axis(changing, last, axis=1))
        plans = np.array([plan for _ in range(count) for plan in rest])
        plans[:, 0] = np.repeat(np.arange(count), len(rest))
        return plans[: max(1, MOST_ROWS // max(1, DRAWN))]

    def _run(
        self,
        table: tuple[Alternative, ...],
        plans: NDArray[np.int64],
        state: State,
        index: int,
        steps: int,
        repeats: int,
        budget: Budget,
    ) -> tuple[Rollout, bool]:
        rows = np.repeat(plans, repeats, axis=0)
        count = len(rows)
        start = columns_from_rows([state], self.problem.environment)
        columns: dict[str, Column] = {n: np.repeat(c, count, axis=0) for n, c in start.items()}
        assert self.model.policy is not None
        planned = PlannedPolicy(self.model.policy, self.problem.environment, table, rows[:, 0])
        model = replace(self.model, policy=planned)  # type: ignore[arg-type]
        rng = np.random.default_rng((self.seed % 2**63, index, repeats))
        numbers = RunNumbers(count, rng, plain=repeats == 1)
        alive, failed, kept = (np.full(count, v, dtype=np.bool_) for v in (True, False, False))
        offered = np.ones(count, dtype=np.bool_)
        for step in range(steps + 1):
            if budget.is_spent():
                failed |= alive & ~kept
                break
            planned.picks = rows[:, step] if step < steps else np.full(count, _POLICY)
            numbers.step = step
            made = model.step(columns, count, numbers, by_probability=False)
            if step == 0 and not self.problem.environment.controls and made.decision is not None:
                names = np.array([planned.names.index(a.action or "") for a in table])
                offered = made.decision.actions == names[rows[:, 0]]
            self._judge(columns, made, count, index + step, alive, failed, kept)
            alive &= (made.transition != ENDED) & ~made.lost & ~failed & ~kept
            if not alive.any():
                break
            columns = {
                n: np.where(alive.reshape(-1, *(1,) * (c.ndim - 1)), c, columns[n])
                for n, c in made.state.items()
            }
        if isinstance(self.problem.property, Never):
            kept = ~failed
        fine = (kept & offered).reshape(len(plans), repeats).all(axis=1)
        good = sorted({int(p) for p in plans[fine, 0]})
        chosen = {place: plans[np.flatnonzero(fine & (plans[:, 0] == p))[0]] for place, p in enumerate(good)}
        tried = int(offered.sum())
        return (
            Rollout(tuple(table[p] for p in good), tried, steps, chosen, table, repeats > 1),
            numbers.asked,
        )

    def _judge(
        self,
        state: Names,
        made: Any,
        count: int,
        number: int,
        alive: Truths,
        failed: Truths,
        kept: Truths,
    ) -> None:
        """Which runs are decided in this state, before the step that leaves it."""
        seen = self.watched(state, made, count)
        holds = seen.columns[0] & ~seen.lost[0] & alive
        asked = self.problem.property
        if isinstance(asked, Never):
            if asked.steps is None or number <= asked.steps:
                failed |= holds
            failed |= alive & made.lost
            return
        first, last = (asked.after, asked.steps) if isinstance(asked, Within) else (0, number)
        if first <= number <= last:
            kept |= holds
