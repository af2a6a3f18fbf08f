"""Simulation by interpreting: any environment and any policy, many runs in step, states looked at once.

Deep statistical model checking (Gros, Hermanns, Hoffmann, Klauck, Steinmetz, FORTE 2020): a policy that has
been trained resolves what the model leaves open, and what remains is a Markov chain whose runs are drawn. All
runs make one step after another; the policy is asked for all states that are new among them, in one batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

import numpy as np

from surefoot.errors import SurefootError, Unsupported
from surefoot.explore.interpret.joint_steps import (
    JointTransition,
    JointTransitionCache,
    describe_state_row,
    undefined_error,
)
from surefoot.explore.number_table import NumberTable
from surefoot.explore.policy_decisions import compile_policy
from surefoot.explore.row_layout import row_layout
from surefoot.explore.state_conditions import compile_conditions
from surefoot.problem.meaning.decision import Decision
from surefoot.problem.problem import Problem
from surefoot.problem.property import STEPS
from surefoot.problem.semantics import free_choices
from surefoot.simulate.chosen_values import draw_chosen_values
from surefoot.simulate.draw import cumulative_thresholds, draw_outcome
from surefoot.simulate.drawn_starts import DrawnStarts
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
    reward_names,
    reward_scale,
    units_to_floats,
)
from surefoot.simulate.run_fate import (
    HOPE,
    LOST,
    MOST_FOLLOWING,
    OPEN,
    REACHED,
    SURE,
    Following,
    LookCredit,
    can_be_sure,
    can_settle,
    explore_fate,
    possible_draws,
)
from surefoot.term.closures import UNDEFINED_ERRORS, Row
from surefoot.term.term import Const
from surefoot.work.philox import Stream

_LANES = 1024  # runs that are in step
_MOST_NODES = 200_000  # states that are remembered
_LOOK_PRICE = 1
_FIRST_LOOK = 16  # steps after which somebody looks where a run is going; then at twice as many, and so on


@dataclass(slots=True)
class _Node:
    """What is known of a state; `extended`: with the controls; `plans` and `decision` once it is left."""

    right: bool | None = None
    left: bool = True
    extended: Row = ()
    plans: tuple[JointTransition, ...] | None = None
    decision: Decision | None = None
    actions: tuple[str, ...] = ()  # of the decision, with `limits` where they are drawn
    limits: tuple[int, ...] = ()
    error: SurefootError | None = None


@dataclass(slots=True)
class RunInProgress:
    """A run under way."""

    row: Row
    stream: Stream
    steps: int = 0
    low: int = 0
    high: int = 0
    outcome: int | None = None
    error: SurefootError | None = field(default=None)
    look: int = _FIRST_LOOK


class InterpretedSimulation:
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
        environment, policy = problem.environment, problem.policy
        self.problem, self.watched, self.max_steps, self.starts = problem, watched, max_steps, starts
        self.uniform, self.memo, self.drawn = uniform, memo, drawn
        self.layout = row_layout(environment)
        self.scale = reward_scale(environment, self.layout, watched.reward)
        named = isinstance(watched.reward, str) and watched.reward in reward_names(environment)
        self.steps = JointTransitionCache(
            environment, policy, self.layout, (str(watched.reward),) if named else (), NumberTable()
        )
        self.named = named
        of_state = Const(0) if watched.reward is None or isinstance(watched.reward, str) else watched.reward
        terms = {"right": watched.right, "left": watched.left, "reward": of_state}
        self.asked = compile_conditions(problem, self.layout, terms)
        self.decide = None
        if policy is not None:
            self.decide = compile_policy(
                policy, environment, self.layout, outputs=self.asked.outputs, oracles=True
            )
        self.nodes: dict[Row, _Node] = {}
        self.limits: dict[int, tuple[tuple[int, ...], ...]] = {}  # of plans with constant probabilities
        self.fates: dict[Row, int] = {}  # by `run_fate.py`, as far as somebody has looked
        self.credit = LookCredit(_LOOK_PRICE)
        self.step_limit = max_steps if watched.high is None else min(watched.high, max_steps)
        self.counts = DecisionCounts()

    def runs(self, seed: int, start: int | None, first: int, count: int) -> RunOutcomes:
        done: list[RunInProgress] = []
        for begin in range(first, first + count, _LANES):
            lanes = [
                self._begin_run(seed, start, run) for run in range(begin, min(begin + _LANES, first + count))
            ]
            live = lanes
            while live:
                self.advance(live)
                live = [lane for lane in live if lane.outcome is None and lane.error is None]
            for lane in lanes:
                if lane.error is not None:
                    raise lane.error
            done += lanes
        return RunOutcomes(
            np.array([lane.outcome for lane in done], dtype=np.int8),
            np.array([lane.steps for lane in done], dtype=np.int64),
            units_to_floats(_unit_array([lane.low for lane in done]), self.scale, up=False),
            units_to_floats(_unit_array([lane.high for lane in done]), self.scale, up=True),
        )

    def _begin_run(self, seed: int, start: int | None, run: int) -> RunInProgress:
        stream = Stream(seed, run, 0 if start is None else start + 1)
        if self.drawn is not None:
            return RunInProgress(self.drawn.row(seed, run), stream)
        number = start if start is not None else stream.below(len(self.starts))
        return RunInProgress(self.starts[number], stream)

    def advance(self, lanes: list[RunInProgress]) -> None:
        """Every run is judged, and makes a step if it is not over."""
        if not self.memo:
            self.nodes.clear()
        self.forget()
        if self.asked.facts:
            self._expand([lane.row for lane in lanes])
        self._judge([lane.row for lane in lanes])
        leaving = []
        for lane in lanes:
            node = self.nodes[lane.row]
            lane.error = node.error
            if node.error is None:
                lane.outcome = self._outcome(node, lane)
                if lane.outcome is None:
                    leaving.append(lane)
        self._expand([lane.row for lane in leaving])
        for lane in leaving:
            node = self.nodes[lane.row]
            lane.error = node.error
            if node.error is None:
                try:
                    self._leave(lane, node)
                except SurefootError as error:
                    lane.error = error

    def _outcome(self, node: _Node, lane: RunInProgress) -> int | None:
        watched = self.watched
        if node.right and lane.steps >= (watched.low or 0):
            return SUCCEEDED
        if not node.left or (watched.high is not None and lane.steps >= watched.high):
            return FAILED
        cut_off = lane.steps >= self.max_steps
        fate = self._fate(lane, cut_off) if can_settle(watched) else OPEN
        if fate == LOST:  # it would go on without end
            lane.steps, lane.low, lane.high = self.step_limit, 0, 0
            return FAILED
        if cut_off:
            return SUCCEEDED if fate == SURE and can_be_sure(watched) else UNDECIDED
        return None

    def _fate(self, lane: RunInProgress, cut_off: bool) -> int:
        """What is known of the state of a run; now and then more of it is found out."""
        known = self.fates.get(lane.row)
        if cut_off and (known is None or (known == HOPE and can_be_sure(self.watched))):
            return self.find_fate(lane.row, not can_be_sure(self.watched))
        if known is None and lane.steps >= lane.look:
            self.credit.steps += lane.steps
            lane.look = 2 * max(_FIRST_LOOK, lane.steps)
            return OPEN if self.credit.is_spent() else self.find_fate(lane.row, lost_only=True)
        return OPEN if known is None else known

    def forget(self) -> None:
        """Make room, if there is little."""
        for known in (self.nodes, self.fates):
            if len(known) > _MOST_NODES:
                known.clear()

    def find_fate(self, row: Row, lost_only: bool) -> int:
        fate = explore_fate(row, self._follow_rows, self.fates.get, lost_only)
        self.fates.update(dict.fromkeys(fate.sharing, fate.kind))
        self.credit.pay(fate.work)
        return fate.kind

    def _follow_rows(self, rows: list[Row]) -> list[Following[Row]]:
        """All states that can follow each of these."""
        if self.asked.facts:
            self._expand(rows)
        self._judge(rows)
        self._expand([row for row in rows if (node := self.nodes[row]).left and not node.right])
        return [self._following(row, self.nodes[row]) for row in rows]

    def _following(self, row: Row, node: _Node) -> Following[Row]:
        if node.error is None and node.right:
            return REACHED
        if node.error is not None or not node.left or not node.plans:
            return None
        actions: list[str | None] = [node.actions[0] if node.actions else None]
        if node.limits:
            actions = [node.actions[k] for k in possible_draws(node.limits)]
        found: dict[Row, None] = {}
        try:
            for action in actions:
                free = node.decision is None
                possible = [p for p in node.plans if free or p.action is None or p.action == action]
                if not possible or (len(possible) > 1 and not self.uniform):
                    return None
                for plan in possible:
                    if plan.assuming or free_choices(self.problem.environment, plan.transition):
                        return None
                    limits = self._limits(plan, node.extended)
                    if prod(map(len, limits)) > MOST_FOLLOWING:
                        return None
                    for picks in product(*map(possible_draws, limits)):
                        after, rewards = self.steps.take_outcome(plan, node.extended, picks)
                        self._gain(RunInProgress(row, Stream(0, 0)), node, rewards, False)
                        found[after] = None
        except SurefootError:
            return None
        return tuple(found)

    def _judge(self, rows: list[Row]) -> None:
        for row in rows:
            node = self.nodes.setdefault(row, _Node())
            if node.right is not None or node.error is not None:
                continue
            whole = row
            if self.asked.facts:
                facts = self.asked.values(self.problem, node.decision, not node.plans)
                whole = (*row, *facts)
            try:
                node.right = bool(self.asked.closures["right"](whole))
                node.left = node.right or bool(self.asked.closures["left"](whole))
                if node.right and self.watched.low:
                    node.left = bool(self.asked.closures["left"](whole))
            except UNDEFINED_ERRORS as error:
                node.error = undefined_error(error, "the property", self.layout, row)

    def _expand(self, rows: list[Row]) -> None:
        """What is enabled in these states, and what the policy decides: new ones only."""
        new = [row for row in dict.fromkeys(rows) if self.nodes.setdefault(row, _Node()).plans is None]
        new = [row for row in new if self.nodes[row].error is None]
        if self.layout.controls and self.decide is not None:
            self._ask(new, [frozenset()] * len(new))
        asked: list[Row] = []
        own: list[frozenset[str]] = []
        for row in new:
            node = self.nodes[row]
            if node.error is not None:
                continue
            controls = () if node.decision is None else node.decision.controls
            node.extended = (*row, *(controls[c] for c in self.layout.controls)) if controls else row
            try:
                node.plans = self.steps.enabled_steps(node.extended)
            except SurefootError as error:
                node.error = error
                continue
            actions = frozenset(p.action for p in node.plans if p.action is not None)
            if self.decide is not None and not self.layout.controls:
                if actions or self.asked.outputs:
                    asked.append(row)
                    own.append(actions)
                else:
                    node.decision = Decision()
        self._ask(asked, own)

    def _ask(self, rows: list[Row], own: list[frozenset[str]]) -> None:
        if not rows or self.decide is None:
            return
        self.counts = DecisionCounts(self.counts.decisions, self.counts.evaluations + len(rows))
        try:
            made = self.decide(rows, own)
        except UNDEFINED_ERRORS:
            made = []
            for row, actions in zip(rows, own, strict=True):
                try:
                    made += self.decide([row], [actions])
                except UNDEFINED_ERRORS as error:
                    self.nodes[row].error = undefined_error(error, "the policy", self.layout, row)
            rows = [row for row in rows if self.nodes[row].error is None]
        for row, one in zip(rows, made, strict=True):
            node = self.nodes[row]
            node.decision = one.decision
            node.actions = tuple(one.decision.actions)
            if len(node.actions) > 1:
                shares = [Fraction(share) for share in one.decision.actions.values()]
                node.limits = cumulative_thresholds([share / sum(shares) for share in shares])

    def _leave(self, lane: RunInProgress, node: _Node) -> None:
        assert node.plans is not None
        decision = node.decision
        asked = decision is not None and (
            bool(self.layout.controls) or any(p.action is not None for p in node.plans)
        )
        if asked:
            self.counts = DecisionCounts(self.counts.decisions + 1, self.counts.evaluations)
        action = node.actions[0] if node.actions else None
        if node.limits:
            action = node.actions[draw_outcome(lane.stream.word(), node.limits)]
        possible = node.plans
        if decision is not None:
            possible = tuple(p for p in node.plans if p.action is None or p.action == action)
        if not possible:
            self._over(lane, node, stalled=asked and bool(node.plans))
            return
        if len(possible) > 1 and not self.uniform:
            raise Unsupported(
                f"several transitions are possible in the state {describe_state_row(self.layout, lane.row)}: "
                + self._describe_steps(possible),
                fix="a policy has to choose among them, or let each of them be equally likely",
            )
        plan = possible[0] if len(possible) == 1 else possible[lane.stream.below(len(possible))]
        row = draw_chosen_values(self.problem.environment, self.layout, plan, node.extended, lane.stream)
        picks = tuple(
            draw_outcome(lane.stream.word(), limits) if len(limits) > 1 else 0
            for limits in self._limits(plan, row)
        )
        after, rewards = self.steps.take_outcome(plan, row, picks)
        self._gain(lane, node, rewards, asked)
        if after == lane.row:
            lane.look = 0
        lane.row, lane.steps = after, lane.steps + 1

    def _describe_steps(self, plans: Sequence[JointTransition]) -> str:
        names = [f"`{p.transition.describe(self.problem.environment)}`" for p in plans[:4]]
        return ", ".join(names) + (f" and {len(plans) - 4} more" if len(plans) > 4 else "")

    def _over(self, lane: RunInProgress, node: _Node, stalled: bool) -> None:
        watched = self.watched
        if node.right and watched.low is not None and (watched.high is None or watched.low <= watched.high):
            lane.outcome, lane.steps = SUCCEEDED, watched.low
        else:
            lane.outcome = STALLED if stalled else ENDED

    def _limits(self, plan: JointTransition, row: Row) -> tuple[tuple[int, ...], ...]:
        known = self.limits.get(plan.number)
        if known is None:
            known = tuple(cumulative_thresholds(shares) for shares in self.steps.shares(plan, row))
            if plan.factors is None:
                self.limits[plan.number] = known
        return known

    def _gain(self, lane: RunInProgress, node: _Node, rewards: Sequence[Fraction], asked: bool) -> None:
        wanted = self.watched.reward
        if wanted is None:
            return
        amount: Any = 0
        if self.named:
            amount = rewards[0]
        elif isinstance(wanted, str):
            amount = 1 if wanted == STEPS or (wanted == DECISIONS and asked) else 0
        else:
            facts = self.asked.values(self.problem, node.decision, not node.plans) if self.asked.facts else ()
            try:
                amount = self.asked.closures["reward"]((*lane.row, *facts))
            except UNDEFINED_ERRORS as error:
                raise undefined_error(error, "the reward", self.layout, lane.row) from None
        exact = Fraction(amount) * self.scale
        lane.low += exact.numerator // exact.denominator
        lane.high -= -exact.numerator // exact.denominator


def _unit_array(values: list[int]) -> Any:
    small = all(-(2**63) <= v < 2**63 for v in values)
    return np.array(values, dtype=np.int64 if small else object)
