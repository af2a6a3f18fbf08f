"""Simulation in columns: the same runs as those of the interpreter, thousands in step.

For problems that are not compiled: float64 environments, windows, discretised flows, whole numbers without
limits. Every run reads its own random words (`batch/run_words.py`), and every column has the bits of the
reference, so that run number r is the run that the interpreter makes. A run that columns cannot follow
(a value is undefined, several transitions are possible, 62 bits are not enough, a draw too close to call) is
made by the interpreter: for the message, or for the exact run.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from time import monotonic
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import Unsupported
from surefoot.problem.environment import Edge
from surefoot.problem.policy import Choose, NeuralPolicy, OraclePolicy, Policy, ProgramPolicy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import STEPS
from surefoot.simulate.batch.conditions import BatchConditions, compile_batch_conditions
from surefoot.simulate.batch.lawful_step import MOST_UNITS, DecidedRows, LawfulSteps, count_units
from surefoot.simulate.batch.model import BatchModel, BatchStep, Rows, make_batch_model
from surefoot.simulate.batch.run_words import RunWords
from surefoot.simulate.batch.state_columns import columns_from_rows, rows_from_columns
from surefoot.simulate.drawn_starts import DrawnStarts
from surefoot.simulate.interpreted_simulation import InterpretedSimulation
from surefoot.simulate.path_property import (
    DECISIONS,
    ENDED,
    FAILED,
    STALLED,
    SUCCEEDED,
    UNDECIDED,
    DecisionCounts,
    PathProperty,
    RunOutcomes,
    units_to_floats,
)
from surefoot.simulate.run_fate import (
    HOPE,
    LOST,
    MOST_FOLLOWING,
    OPEN,
    SURE,
    LookCredit,
    can_be_sure,
    can_settle,
)
from surefoot.term.closures import Row
from surefoot.term.columns import Column, Truths, compile_columns
from surefoot.term.reserved_names import output_index
from surefoot.term.term import TRUE, Const, Term, split_target
from surefoot.term.value_types import Arithmetic

LANES = 4096  # runs that are in step
_REFILL = 8  # one out of so many lanes is free: new runs begin
_NOT_FOLLOWED = -1
_LOOK_PRICE = 1000  # of looking at a state by the interpreter, in steps of a run in columns
_FIRST_LOOK = 16
_ORBIT_BYTES = 1 << 26  # of states that are remembered while a cycle is looked for


class ColumnObjection(Exception):
    """Why a problem is not simulated in columns."""


@dataclass(slots=True)
class _Lanes:
    """Runs under way, one row each. `anchor`: where a run was after `since` steps."""

    words: RunWords
    state: dict[str, Column]
    run: Rows  # places in the results
    steps: Rows
    low: Rows
    high: Rows
    look: Rows
    anchor: dict[str, Column]
    since: Rows

    def __len__(self) -> int:
        return len(self.run)

    def keep(self, rows: Rows) -> None:
        self.words.keep(rows)
        self.state = {n: c[rows] for n, c in self.state.items()}
        self.anchor = {n: c[rows] for n, c in self.anchor.items()}
        self.run, self.steps, self.look = self.run[rows], self.steps[rows], self.look[rows]
        self.low, self.high, self.since = self.low[rows], self.high[rows], self.since[rows]


@dataclass(slots=True)
class _Results:
    outcome: NDArray[np.int8]
    steps: Rows
    low: Rows
    high: Rows


class ColumnSimulation:
    """A problem in columns, ready to be simulated; `ColumnObjection` where it cannot be."""

    def __init__(
        self,
        problem: Problem,
        watched: PathProperty,
        max_steps: int,
        starts: Sequence[Row],
        *,
        uniform: bool,
        memo: bool,
        drawn: DrawnStarts | None = None,
    ) -> None:
        environment = problem.environment
        _check_policy(problem.policy)
        self.interpreted = InterpretedSimulation(
            problem, watched, max_steps, starts, uniform=uniform, memo=memo, drawn=drawn
        )
        self.problem, self.watched, self.max_steps = problem, watched, max_steps
        self.scale, self.step_limit = self.interpreted.scale, self.interpreted.step_limit
        try:
            self.model = make_batch_model(problem, exact=True)
            self.asked = _compile_asked(self.model, watched)
            named = str(watched.reward) if self.interpreted.named else None
            _check_exactness(self.model, self.asked, named)
        except Unsupported as why:
            raise ColumnObjection(str(why)) from None
        self.laws = LawfulSteps(self.model, self.interpreted.steps, uniform, named, self.scale)
        layout = self.interpreted.layout
        self.drawn = drawn
        self.starts = columns_from_rows([layout.state(row) for row in starts], environment)
        self.certain = not uniform and _is_certain(problem)
        self.settles = can_settle(watched)
        self.interpreted.credit = LookCredit(_LOOK_PRICE)
        self._counts = DecisionCounts()

    @property
    def counts(self) -> DecisionCounts:
        one, other = self._counts, self.interpreted.counts
        return DecisionCounts(one.decisions + other.decisions, one.evaluations + other.evaluations)

    def runs(self, seed: int, start: int | None, first: int, count: int, until: float = inf) -> RunOutcomes:
        """At `until`, by `monotonic`, runs under way are undecided, and those not yet begun are missing."""
        nothing = np.zeros(count, dtype=np.int64)
        found = _Results(
            np.full(count, _NOT_FOLLOWED, dtype=np.int8), nothing, nothing.copy(), nothing.copy()
        )
        lanes = self._no_lanes(seed, start)
        begun = 0
        while (begun < count or len(lanes)) and not (begun and monotonic() >= until):
            room = LANES - len(lanes)
            if begun < count and (room >= LANES // _REFILL or not len(lanes)):
                more = min(room, count - begun)
                self._begin(lanes, seed, start, first, begun, more)
                begun += more
            self._advance(lanes, found)
        self._settle(lanes, found, np.ones(len(lanes), dtype=np.bool_), UNDECIDED)
        low, high = (
            units_to_floats(found.low[:begun], self.scale, up=False),
            units_to_floats(found.high[:begun], self.scale, up=True),
        )
        for i in np.flatnonzero(found.outcome[:begun] == _NOT_FOLLOWED):
            if monotonic() >= until:
                found.outcome[i] = UNDECIDED
                continue
            one = self.interpreted.runs(seed, start, first + int(i), 1)
            found.outcome[i], found.steps[i] = one.outcome[0], one.steps[0]
            low[i], high[i] = one.reward_low[0], one.reward_high[0]
        return RunOutcomes(found.outcome[:begun], found.steps[:begun], low, high)

    def _no_lanes(self, seed: int, start: int | None) -> _Lanes:
        none = np.zeros(0, dtype=np.int64)
        empty = {n: c[:0] for n, c in self.starts.items()}
        words = RunWords(seed, 0 if start is None else start + 1)
        return _Lanes(words, empty, none, none, none, none, none, dict(empty), none)

    def _begin(self, lanes: _Lanes, seed: int, start: int | None, first: int, begun: int, count: int) -> None:
        before = len(lanes)
        places = np.arange(begun, begun + count)
        lanes.words.begin(places.astype(np.uint64) + np.uint64(first))
        rows = np.arange(before, before + count)
        if self.drawn is not None:
            fresh = self.drawn.columns(seed, first + begun, count)
        else:
            many = len(self.interpreted.starts)
            numbers = lanes.words.below(rows, many) if start is None else np.full(count, start)
            fresh = {n: c[numbers] for n, c in self.starts.items()}
        lanes.state = {n: np.concatenate([c, fresh[n]]) for n, c in lanes.state.items()}
        lanes.anchor = {n: np.concatenate([c, fresh[n]]) for n, c in lanes.anchor.items()}
        zero = np.zeros(count, dtype=np.int64)
        lanes.run = np.concatenate([lanes.run, places])
        lanes.steps, lanes.since = np.concatenate([lanes.steps, zero]), np.concatenate([lanes.since, zero])
        lanes.low, lanes.high = np.concatenate([lanes.low, zero]), np.concatenate([lanes.high, zero])
        lanes.look = np.concatenate([lanes.look, zero + _FIRST_LOOK])

    def _advance(self, lanes: _Lanes, found: _Results) -> None:
        """Every run is judged, and makes a step if it is not over."""
        decided = None
        if self.asked.facts:
            decided = self.laws.decide(lanes.state, len(lanes), lanes.words)
        right, left, amount, lost = self._judge(lanes, decided)
        over = self._end(lanes, found, right, left, lost)
        if decided is None and over.any():
            kept = np.flatnonzero(~over)
            lanes.keep(kept)
            right, over = right[kept], over[kept]
            amount = None if amount is None else amount[kept]
        if not len(lanes):
            return
        if decided is None:
            decided = self.laws.decide(lanes.state, len(lanes), lanes.words)
        step = self.laws.take(lanes.state, len(lanes), decided, lanes.words)
        asked = decided.asked & ~over
        decisions = int(asked.sum())
        self._counts = DecisionCounts(
            self._counts.decisions + decisions, self._counts.evaluations + decisions
        )
        stuck = ~step.moved & ~step.lost & ~over
        if stuck.any():
            self._end_stuck(lanes, found, stuck, right, decided)
        gone = over | step.lost | stuck
        gone |= self._gain(lanes, step.low, step.high, asked, amount)
        if self.settles and not self.certain:
            same = np.logical_and.reduce([_equal_rows(c, lanes.state[n]) for n, c in step.state.items()])
            lanes.look[same] = 0
        lanes.state = step.state
        lanes.steps += 1
        if gone.any():
            lanes.keep(np.flatnonzero(~gone))

    def _judge(
        self, lanes: _Lanes, decided: DecidedRows | None
    ) -> tuple[Truths, Truths, Column | None, Truths]:
        """`right`, `left`, what the state gives when it is left, and where one of them has no value."""
        count = len(lanes)
        if decided is None:
            none = np.zeros(count, dtype=np.bool_)
            decided = DecidedRows(none, none, None, none, none)
        values = self.asked(lanes.state, _as_batch_step(decided), count)
        (right, left, *amount), (right_lost, left_lost, *amount_lost) = values.columns, values.lost
        looked_at = np.ones(count, dtype=np.bool_) if self.watched.low else ~right
        lost = right_lost | (looked_at & left_lost) | decided.lost
        if amount:
            lost |= amount_lost[0] & ~right
        left = np.where(looked_at, left, True)
        return right, left, amount[0] if amount else None, lost

    def _end(self, lanes: _Lanes, found: _Results, right: Truths, left: Truths, lost: Truths) -> Truths:
        """Runs that are over in their states, with their outcomes."""
        watched, steps = self.watched, lanes.steps
        succeeded = right & (steps >= (watched.low or 0)) & ~lost
        failed = ~left & ~succeeded & ~lost
        if watched.high is not None:
            failed |= (steps >= watched.high) & ~succeeded & ~lost
        self._settle(lanes, found, succeeded, SUCCEEDED)
        self._settle(lanes, found, failed, FAILED)
        over = succeeded | failed | lost
        cut_off = (steps >= self.max_steps) & ~over
        if self.settles:
            over |= self._end_settled(lanes, found, over, cut_off)
        if cut_off.any():
            self._settle(lanes, found, cut_off & ~over, UNDECIDED)
            over |= cut_off
        return over

    def _settle(self, lanes: _Lanes, found: _Results, rows: Truths, outcome: int) -> None:
        if rows.any():
            places = lanes.run[rows]
            found.outcome[places], found.steps[places] = outcome, lanes.steps[rows]
            found.low[places], found.high[places] = lanes.low[rows], lanes.high[rows]

    def _settle_lost(self, lanes: _Lanes, found: _Results, rows: Truths) -> None:
        """They would go on without end."""
        places = lanes.run[rows]
        found.outcome[places], found.steps[places] = FAILED, self.step_limit
        found.low[places] = found.high[places] = 0

    def _end_settled(self, lanes: _Lanes, found: _Results, over: Truths, cut_off: Truths) -> Truths:
        """Runs whose answer cannot change any more (`run_fate.py`)."""
        ended = np.zeros(len(lanes), dtype=np.bool_)
        if self.certain:
            ended |= self._end_periodic(lanes, over)
            self._settle_lost(lanes, found, ended)
        open_rows = cut_off & ~ended
        fates = np.full(len(lanes), OPEN)
        if self.certain and not self.asked.facts:
            if open_rows.any():
                fates[open_rows] = self._follow_orbits(lanes, np.flatnonzero(open_rows))
        else:
            looks = ~over & (open_rows | (lanes.steps >= lanes.look))
            for row in np.flatnonzero(looks):
                fates[row] = self._look(lanes, int(row), bool(cut_off[row]))
        gone = fates == LOST
        self._settle_lost(lanes, found, gone)
        if can_be_sure(self.watched) and (sure := (fates == SURE) & cut_off).any():
            self._settle(lanes, found, sure, SUCCEEDED)
            ended |= sure
        return np.asarray(ended | gone)

    def _look(self, lanes: _Lanes, row: int, cut_off: bool) -> int:
        """The fate of a run's state by the interpreter, if it was found out or is worth while."""
        layout, interpreted = self.interpreted.layout, self.interpreted
        state = next(rows_from_columns(lanes.state, self.problem.environment, (row,)))
        here = layout.row(state)
        interpreted.credit.steps += int(lanes.steps[row])
        lanes.look[row] = 2 * max(_FIRST_LOOK, int(lanes.steps[row]))
        known = interpreted.fates.get(here)
        wanted = cut_off and (known is None or (known == HOPE and can_be_sure(self.watched)))
        if wanted or (known is None and not interpreted.credit.is_spent()):
            interpreted.forget()
            return interpreted.find_fate(here, not cut_off or not can_be_sure(self.watched))
        return OPEN if known is None else known

    def _end_periodic(self, lanes: _Lanes, over: Truths) -> Truths:
        """Certain runs that are where they were some steps ago, and have not been at `right` since."""
        steps = lanes.steps
        back = np.zeros(len(lanes), dtype=np.bool_)
        if not self.watched.low:
            back = ~over & (steps > lanes.since) & (steps - lanes.since <= MOST_FOLLOWING)
            for name, column in lanes.state.items():
                if not back.any():
                    break
                back &= _equal_rows(column, lanes.anchor[name])
        moved = steps >= 2 * lanes.since + 1
        if moved.any():
            lanes.anchor = {n: _put_rows(moved, lanes.state[n], c) for n, c in lanes.anchor.items()}
            lanes.since = np.where(moved, steps, lanes.since)
        return back

    def _follow_orbits(self, lanes: _Lanes, rows: Rows) -> NDArray[np.int64]:
        """The fates of states from which everything is certain: what follows is one sequence of states."""
        size = sum(c[:1].nbytes for c in lanes.state.values()) or 1
        some = max(1, _ORBIT_BYTES // (size * MOST_FOLLOWING))
        parts = [
            self._follow_some({n: c[rows[i : i + some]] for n, c in lanes.state.items()})
            for i in range(0, len(rows), some)
        ]
        return np.concatenate(parts)

    def _follow_some(self, state: dict[str, Column]) -> NDArray[np.int64]:
        count = len(next(iter(state.values())))
        fates = np.full(count, OPEN)
        alive = np.arange(count)
        past = {n: np.zeros((MOST_FOLLOWING, *c.shape), dtype=c.dtype) for n, c in state.items()}
        words = RunWords(0, 0)  # nothing is drawn
        for turn in range(MOST_FOLLOWING):
            for name, column in state.items():
                past[name][turn, alive] = column
            values = self.asked(state, _no_batch_step(len(alive)), len(alive))
            (right, left, *_), (right_lost, left_lost, *_) = values.columns, values.lost
            reached = right & ~right_lost
            fates[alive[reached]] = SURE
            decided = self.laws.decide(state, len(alive), words)
            step = self.laws.take(state, len(alive), decided, words)
            going = ~right & left & ~right_lost & ~left_lost & step.moved & ~step.lost
            if self.watched.reward is not None:
                going &= ~np.logical_or.reduce(values.lost)
            kept = np.flatnonzero(going)
            alive, state = alive[kept], {n: c[kept] for n, c in step.state.items()}
            if not len(alive):
                return fates
        back = np.ones((MOST_FOLLOWING, len(alive)), dtype=np.bool_)
        for name, column in state.items():
            same = past[name][:, alive] == column
            back &= same.reshape(*back.shape, -1).all(axis=2)
        fates[alive[back.any(axis=0)]] = LOST
        return fates

    def _end_stuck(
        self, lanes: _Lanes, found: _Results, stuck: Truths, right: Truths, decided: DecidedRows
    ) -> None:
        """Nothing can happen any more."""
        watched = self.watched
        stays = np.zeros(len(lanes), dtype=np.bool_)
        if watched.low is not None and (watched.high is None or watched.low <= watched.high):
            stays = stuck & right
        stalled = stuck & ~stays & decided.asked & decided.possible.any(axis=0)
        self._settle(lanes, found, stays, SUCCEEDED)
        found.steps[lanes.run[stays]] = watched.low or 0
        self._settle(lanes, found, stalled, STALLED)
        self._settle(lanes, found, stuck & ~stays & ~stalled, ENDED)

    def _gain(self, lanes: _Lanes, low: Rows, high: Rows, asked: Truths, amount: Column | None) -> Truths:
        """Count what the step gives; True where it is too much to count."""
        wanted, lost = self.watched.reward, np.zeros(len(lanes), dtype=np.bool_)
        if wanted is None:
            return lost
        if self.interpreted.named:
            pass
        elif isinstance(wanted, str):
            low = high = np.ones(len(lanes), dtype=np.int64) if wanted == STEPS else asked.astype(np.int64)
            if wanted not in (STEPS, DECISIONS):
                low = high = np.zeros(len(lanes), dtype=np.int64)
        else:
            assert amount is not None
            low, high, lost = count_units(amount, self.scale)
        lanes.low, lanes.high = lanes.low + low, lanes.high + high
        return lost | (np.maximum(np.abs(lanes.low), np.abs(lanes.high)) > MOST_UNITS)


def _compile_asked(model: BatchModel, watched: PathProperty) -> BatchConditions:
    """What is asked of a state: `right`, `left`, and what it gives if that is not counted by steps."""
    terms = [watched.right, watched.left]
    if watched.reward is not None and not isinstance(watched.reward, str):
        terms.append(watched.reward)
    found = compile_batch_conditions(model, terms)
    if any(output_index(name) is not None for name in found.facts):
        raise Unsupported("the property mentions outputs of the network")
    drawn = isinstance(model.problem.policy, NeuralPolicy) and model.problem.policy.choose is Choose.SAMPLE
    if found.facts and drawn:
        raise Unsupported("the property is about the decisions of a policy that draws")
    return found


def _as_batch_step(decided: DecidedRows) -> BatchStep:
    none: Any = np.zeros(0, dtype=np.int64)
    deadlocked = np.asarray(~decided.possible.any(axis=0)) if decided.possible.ndim > 1 else decided.lost
    return BatchStep({}, none, none, {}, decided.lost, deadlocked, decided.decision)


def _no_batch_step(count: int) -> BatchStep:
    none = np.zeros(count, dtype=np.bool_)
    return _as_batch_step(DecidedRows(none, none, None, none, none))


def _equal_rows(one: Column, other: Column) -> Truths:
    same = one == other
    return np.asarray(same if same.ndim == 1 else same.reshape(len(same), -1).all(axis=1))


def _put_rows(rows: Truths, new: Column, old: Column) -> Column:
    return np.where(rows.reshape(-1, *(1,) * (new.ndim - 1)), new, old)


def _check_policy(policy: Policy | None) -> None:
    """Drawn actions at the top only: a shield or a program would read another number of words."""
    if isinstance(policy, NeuralPolicy):
        names = policy.actions if policy.choose is Choose.SAMPLE else ()
        if isinstance(names, tuple) and len(set(names)) < len(names):
            raise ColumnObjection("two outputs of the network draw the same action")
        return
    for part in _parts_of_policy(policy):
        if isinstance(part, OraclePolicy):
            raise ColumnObjection("the policy is a Python function")
        if isinstance(part, NeuralPolicy) and part.choose is Choose.SAMPLE:
            raise ColumnObjection("a part of the policy draws its actions")


def _parts_of_policy(policy: Policy | None) -> list[Policy]:
    match policy:
        case None:
            return []
        case ProgramPolicy(branches):
            inner = [b.then for b in branches if not isinstance(b.then, str | tuple)]
            return [policy, *(p for part in inner for p in _parts_of_policy(part))]
        case ShieldedPolicy(one, _, other):
            return [policy, *_parts_of_policy(one), *_parts_of_policy(other)]
        case _:
            return [policy]


def _is_certain(problem: Problem) -> bool:
    """Has every state one successor at most?"""
    drawn = isinstance(problem.policy, NeuralPolicy) and problem.policy.choose is Choose.SAMPLE
    edges = [e for c in problem.environment.components for e in c.edges]
    return not drawn and all(len(e.outcomes) == 1 and not e.chosen and e.assuming == TRUE for e in edges)


def _check_exactness(model: BatchModel, asked: BatchConditions, reward: str | None) -> None:
    """Columns have to have the bits of the reference in everything that runs depend on."""
    environment = model.environment
    compiled = [asked.terms, *(model.policy.terms.values() if model.policy is not None else ())]
    for component in environment.components:
        for edge in component.edges:
            kinds = model.names | {c.name: c.kind for c in edge.chosen}
            compiled.append(
                compile_columns(_edge_terms(edge, reward), kinds, environment.arithmetic, exact=True)
            )
    if not all(terms.exact for terms in compiled):
        exact = environment.arithmetic is Arithmetic.EXACT
        raise Unsupported("real numbers are exact" if exact else "a power is rounded otherwise in columns")


def _edge_terms(edge: Edge, reward: str | None) -> list[Term]:
    """What a step by this edge computes, but for constants of which it takes the exact value."""
    found = [edge.guard, edge.assuming]
    if not all(isinstance(o.probability, Const) for o in edge.outcomes):
        found += [o.probability for o in edge.outcomes]
    for outcome in edge.outcomes:
        for update in outcome.updates:
            found += [update.value, *split_target(update.target)[1]]
        found += [t for name, t in outcome.rewards if name == reward and not isinstance(t, Const)]
    return found
