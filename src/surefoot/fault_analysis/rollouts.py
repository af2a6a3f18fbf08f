"""Other decisions tried out in columns: thousands of runs that begin in states of a violating run.

In each of these states every alternative is taken once and followed by a plan: the policy itself, one pick
held, or picks that change now and then. What the environment does is drawn. A plan is good if all its runs
keep the property up to the horizon.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.falsify.watch import compile_watched
from surefoot.fault_analysis.local_game import LocalGame
from surefoot.problem.environment import Environment
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

CHANGES = 0.2  # of the steps, where picks change now and then
DRAWN = 8  # runs of a plan, if anything is left open
ROWS, FEW_ROWS, LITTLE_TIME = 3_000, 600, 3.0  # runs at once; where there are fewer seconds left, so many
MOST_HELD = 9  # picks that are held
_POLICY, _ANY = -1, -2  # instead of a pick: whatever the policy does; any action that is enabled
_SAME = -3  # the first pick again


class OutOfTime(Exception):
    """The time ended before it was known."""


@dataclass(slots=True)
class PlannedPolicy:
    """The policy of a batch with some picks given: places in `table`, or `_POLICY`, or `_ANY`."""

    inner: BatchPolicy
    environment: Environment
    table: tuple[Alternative, ...]
    picks: Rows
    rng: np.random.Generator
    even: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return self.inner.names

    def decide(self, state: Names, own: Truths, count: int, uniform: Uniform) -> BatchDecision:
        if self.environment.controls:
            return self._decide_controls(state, own, count, uniform)
        actions = np.full(count, NOBODY)
        places = np.array([self.names.index(a.action or "") for a in self.table], dtype=np.int64)
        given = np.flatnonzero(self.picks >= 0)
        wanted = places[self.picks[given]]
        ready = own[wanted, given]
        actions[given[ready]] = wanted[ready]
        active = np.asarray(own.any(axis=0))
        free = np.flatnonzero((self.picks == _ANY) & active)
        if len(free):
            actions[free] = (self.rng.random((len(own), len(free))) * own[:, free]).argmax(axis=0)
        stalled, lost = (np.zeros(count, dtype=np.bool_) for _ in range(2))
        asked = np.flatnonzero((actions == NOBODY) & active)
        if len(asked):
            some = {name: column[asked] for name, column in state.items()}
            made = self.inner.decide(
                some, own[:, asked], len(asked), lambda slot, rows: uniform(slot, asked[rows])
            )
            actions[asked], stalled[asked], lost[asked] = made.actions, made.stalled, made.lost
        return BatchDecision(actions, stalled, lost)

    def _decide_controls(self, state: Names, own: Truths, count: int, uniform: Uniform) -> BatchDecision:
        found = self.inner.decide(state, own, count, uniform)
        given = self.picks >= 0
        for control in self.environment.controls:
            values = np.array([float(a.controls[control.name]) for a in self.table])
            column = found.controls[control.name]
            found.controls[control.name] = np.where(given, values[self.picks], column)
        return found


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
        """All alternatives of one state of a run, followed by plans up to state number `horizon`.

        Raises `OutOfTime`.
        """
        if self.problem.environment.controls:
            table = tuple(Alternative(controls=values) for values in game.control_grid(state))
        else:
            table = tuple(pick for pick, _ in game.options(state).picks)
        if not table:
            return Rollout((), 0, horizon - index, {}, (), False)
        rng, tried = np.random.default_rng((self.seed % 2**63, index)), 0
        for more in (False, True):
            repeats = 1
            plans = self._plans(table, horizon - index, repeats, rng, budget, more)
            found, drawn = self._run(table, plans, state, index, repeats, budget)
            if drawn and found.good:
                repeats = DRAWN
                plans = self._plans(table, horizon - index, repeats, rng, budget, more)
                found, _ = self._run(table, plans, state, index, repeats, budget)
            tried += found.tried
            if found.good:
                return found
        return replace(found, tried=tried)

    def _plans(
        self,
        table: tuple[Alternative, ...],
        steps: int,
        repeats: int,
        rng: np.random.Generator,
        budget: Budget,
        more: bool,
    ) -> NDArray[np.int64]:
        """[plans, steps]: first picks and what follows; `more`: not the policy or a pick that is held."""
        most = ROWS if budget.remaining() > LITTLE_TIME else FEW_ROWS
        count, each = len(table), max(3, most // (len(table) * repeats))
        rest: list[NDArray[np.int64]] = []
        if not more:
            rest += [np.full(steps, _POLICY), np.full(steps, _SAME)]
            rest += [np.full(steps, c) for c in range(count if count <= MOST_HELD else 0)]
            each = 0
        elif not self.problem.environment.controls:
            rest += [np.full(steps, _ANY) for _ in range(each // 4 + 1)]
        if (left := each - len(rest)) > 0:
            changing = rng.integers(0, count, (left, steps))
            keep = rng.random((left, steps)) >= CHANGES
            keep[:, 0] = False
            last = np.maximum.accumulate(np.where(keep, 0, np.arange(steps)), axis=1)
            rest += list(changing[np.arange(left)[:, None], last])
        plans = np.array([plan for _ in range(count) for plan in rest])
        plans[:, 0] = np.repeat(np.arange(count), len(rest))
        return np.where(plans == _SAME, plans[:, :1], plans)

    def _run(
        self,
        table: tuple[Alternative, ...],
        plans: NDArray[np.int64],
        state: State,
        index: int,
        repeats: int,
        budget: Budget,
    ) -> tuple[Rollout, bool]:
        rows = np.repeat(plans, repeats, axis=0)
        count, steps = rows.shape
        start = columns_from_rows([state], self.problem.environment)
        columns: dict[str, Column] = {n: np.repeat(c, count, axis=0) for n, c in start.items()}
        assert self.model.policy is not None
        rng = np.random.default_rng((self.seed % 2**63, index, repeats))
        planned = PlannedPolicy(self.model.policy, self.problem.environment, table, rows[:, 0], rng)
        model = replace(self.model, policy=planned)  # type: ignore[arg-type]
        numbers = RunNumbers(count, rng, plain=repeats == 1)
        alive, failed, kept = (np.full(count, v, dtype=np.bool_) for v in (True, False, False))
        offered = np.ones(count, dtype=np.bool_)
        for step in range(steps + 1):
            if budget.is_spent():
                raise OutOfTime
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
            Rollout(tuple(table[p] for p in good), tried, steps, chosen, table, numbers.asked),
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
