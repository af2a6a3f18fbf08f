"""Exploration by interpreting: breadth first, a chunk of the frontier at a time, any finite environment.

States are numbered in the order in which they are found: start states first, then the outcomes of the first
state's choices in the order of the reference, and so on. The policy is asked for a whole chunk at once. The
order does not depend on the size of the chunks, and the compiled tier uses the same one.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import islice, product
from sys import getsizeof
from time import perf_counter
from typing import Any

import numpy as np

from surefoot.errors import Unsupported
from surefoot.explore.explored_model import ExploredModel, RowStates
from surefoot.explore.initial_states import initial_rows
from surefoot.explore.interpret.joint_steps import (
    JointTransition,
    JointTransitionCache,
    WeightedSuccessor,
    undefined_error,
)
from surefoot.explore.interpret.lookahead import Lookahead
from surefoot.explore.interpret.markov_builder import MarkovBuilder, StateIndex, freeze_array
from surefoot.explore.limits import ExplorationLimits
from surefoot.explore.number_table import NumberTable
from surefoot.explore.policy_decisions import StateDecision, compile_policy
from surefoot.explore.row_layout import row_layout
from surefoot.explore.state_conditions import STAYS, UNTIL, compile_exploration_conditions
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.problem import Problem
from surefoot.query.markov import Markov
from surefoot.term.closures import UNDEFINED_ERRORS, Row
from surefoot.term.term import FALSE, Term

_CHUNK = 1024
_FEWER = 64  # where each state may take long
_MOST_WAYS = 4096  # in which an environment may react to the draws of a policy
_LOOK = 1 << 14  # choices of one state after which the limits are looked at again


class Interpreter:
    """An exploration under way; `run` ends it."""

    def __init__(
        self,
        problem: Problem,
        labels: Mapping[str, Term],
        quantities: Mapping[str, Term],
        rewards: tuple[str, ...],
        until: Term,
        through: Term,
    ) -> None:
        environment, policy = problem.environment, problem.policy
        self.problem, self.rewards = problem, rewards
        self.layout = row_layout(environment)
        self.numbers = NumberTable((Fraction(0), Fraction(1)))
        self.steps = JointTransitionCache(environment, policy, self.layout, rewards, self.numbers)
        self.asked = compile_exploration_conditions(problem, self.layout, labels, quantities, until, through)
        self.ends = until != FALSE
        self.ahead = None
        if through != FALSE and not environment.controls and not self.asked.mentions_facts(STAYS):
            self.ahead = Lookahead(self.steps, self.asked.closures[STAYS])
        self.labels = {name: bytearray() for name in labels}
        self.quantities = {name: array("i") for name in quantities}
        self.decide = (
            None
            if policy is None
            else compile_policy(policy, environment, self.layout, outputs=self.asked.outputs)
        )
        self.seen, self.growing = StateIndex(), MarkovBuilder(len(rewards))
        self.known = 0  # states that there were before the choices of the present one
        self.transitions: dict[tuple[Transition, ...], int] = {}
        self.of_plan: dict[int, int] = {}
        self.chosen: dict[tuple[tuple[str, Any], ...], int] = {(): 0}
        self.stalled, self.near_tie, self.blocked = bytearray(), bytearray(), bytearray()
        self.final = bytearray()
        self.halted: set[int] = set()
        self.copies: dict[int, int] = {}  # state -> the copy of it in which runs end
        self.seconds: dict[str, float] = {}

    def explore_states(self, limits: ExplorationLimits) -> ExploredModel:
        began = perf_counter()
        for row in initial_rows(self.problem.environment, self.layout, budget=limits.budget):
            self.seen.number(row)
        starts = len(self.seen.rows)
        self.seconds["starts"], began = perf_counter() - began, perf_counter()
        done, why = 0, ""
        while done < len(self.seen.rows) and not why:
            size = _CHUNK if self.ahead is None and limits.max_outcomes is None else _FEWER
            chunk = range(done, min(done + size, len(self.seen.rows)))
            done = self._expand(chunk, limits)
            if done < len(self.seen.rows):
                why = limits.limit_reached(len(self.seen.rows), self._bytes(), len(self.growing.targets))
        total = len(self.seen.rows)
        for start in range(done, total, _CHUNK):  # seen, not explored: only what holds there is found out
            self._look(range(start, min(start + _CHUNK, total)))
        self.seconds["explore"] = perf_counter() - began
        return self._build_result(starts, done, why)

    def explain(self, row: Row) -> None:
        """Raises what is wrong in this state, if anything is."""
        if not self.asked.facts and self._values(UNTIL, [row], bool)[0]:
            return
        for plan in self.steps.enabled_steps(row):
            for extended in self.steps.choices(plan, row):
                self.steps.outcomes(plan, extended)

    def _enabled_steps(self, rows: list[Row]) -> list[tuple[JointTransition, ...]]:
        """In final states nobody looks, unless a label does."""
        if not self.ends or self.asked.facts:
            return [self.steps.enabled_steps(row) for row in rows]
        final = self._values(UNTIL, rows, bool)
        return [() if ends else self.steps.enabled_steps(row) for row, ends in zip(rows, final, strict=True)]

    def _look(
        self, chunk: range
    ) -> tuple[list[tuple[JointTransition, ...]], list[StateDecision | None], list[Row]]:
        """What is enabled in these states, what the policy decides, and which labels hold."""
        rows = [self.seen.rows[i] for i in chunk]
        made: list[StateDecision | None]
        if self.decide is None:
            made, enabled = [None] * len(rows), self._enabled_steps(rows)
        elif self.layout.controls:
            made = list(self._decide_rows(rows, [frozenset()] * len(rows)))
            rows = [
                (*row, *(m.decision.controls[c] for c in self.layout.controls))
                for row, m in zip(rows, made, strict=True)
                if m is not None
            ]
            enabled = self._enabled_steps(rows)
        else:
            enabled = self._enabled_steps(rows)
            own = [frozenset(p.action for p in plans if p.action is not None) for plans in enabled]
            made = list(self._decide_rows(rows, own))
        self._judge(rows, enabled, made)
        self.stalled.extend(m is not None and m.decision.stalls for m in made)
        self.near_tie.extend(m is not None and m.near_tie for m in made)
        self.blocked.extend(bytes(len(rows)))
        return enabled, made, rows

    def _decide_rows(self, rows: list[Row], own: Sequence[frozenset[str]]) -> list[StateDecision]:
        assert self.decide is not None
        try:
            return self.decide(rows, own)
        except UNDEFINED_ERRORS as first:
            for row, actions in zip(rows, own, strict=True):
                try:
                    self.decide([row], [actions])
                except UNDEFINED_ERRORS as error:
                    raise undefined_error(error, "the policy", self.layout, row) from None
            raise first

    def _judge(
        self, rows: list[Row], enabled: list[tuple[JointTransition, ...]], made: list[StateDecision | None]
    ) -> None:
        if not self.labels and not self.quantities and not self.ends:
            self.final.extend(bytes(len(rows)))
            return
        width, asked = self.layout.width, self.asked
        if asked.facts:
            facts = [
                asked.values(self.problem, None if m is None else m.decision, not plans)
                for m, plans in zip(made, enabled, strict=True)
            ]
            rows = [(*row[:width], *more) for row, more in zip(rows, facts, strict=True)]
        self.final.extend(self._values(UNTIL, rows, bool))
        for name, column in self.labels.items():
            column.extend(self._values("l:" + name, rows, bool))
        for name, numbers in self.quantities.items():
            numbers.extend(self._values("q:" + name, rows, self.numbers.index))

    def _values(self, name: str, rows: list[Row], of: Any) -> list[int]:
        holds = self.asked.closures[name]
        try:
            return [of(holds(row)) for row in rows]
        except UNDEFINED_ERRORS:
            for row in rows:
                try:
                    holds(row)
                except UNDEFINED_ERRORS as error:
                    raise undefined_error(error, f"`{name.split(':', 1)[-1]}`", self.layout, row) from None
            raise

    def _expand(self, chunk: range, limits: ExplorationLimits) -> int:
        """Add the choices of these states; stops early where there are too many, and says where."""
        enabled, made, rows = self._look(chunk)
        for i, plans, decided, row in zip(chunk, enabled, made, rows, strict=True):
            if limits.is_full(len(self.seen.rows), len(self.growing.targets)):
                self._forget(i, chunk.stop)
                return i
            live = i not in self.halted and not self.final[i]
            if live and not self._state(i, plans, decided, row, limits):
                self.growing.drop_choices()
                self._forget(i, chunk.stop)
                return i
            self.growing.end_state()
        return chunk.stop

    def _forget(self, start: int, stop: int) -> None:
        """What was found out about states that will not be expanded now; it is found out again at the end."""
        for column in (self.stalled, self.near_tie, self.blocked, self.final, *self.labels.values()):
            del column[start:stop]
        for numbers in self.quantities.values():
            del numbers[start:stop]

    def _state(
        self,
        number: int,
        plans: tuple[JointTransition, ...],
        made: StateDecision | None,
        row: Row,
        limits: ExplorationLimits,
    ) -> bool:
        """Add the choices of a state; false if there are so many that a limit was reached before the end."""
        self.known = len(self.seen.rows)
        actions = {} if made is None else made.decision.actions
        if len(actions) > 1:
            self._add_drawn_choices(number, plans, actions, row)
            return True
        before, possible = len(self.growing.transition), False
        for plan in plans:
            if plan.action is not None and plan.action not in actions:
                continue
            possible = True
            for extended in self.steps.choices(plan, row):
                reached = [(w, self._number(s), r) for w, s, r in self.steps.outcomes(plan, extended)]
                self.growing.choice(reached, self._transition(plan), self._chosen_index(plan, extended))
                many = len(self.growing.transition) - before
                if many % _LOOK == 0 and (limits.is_full(len(self.seen.rows)) or limits.budget.is_spent()):
                    return False
        self.blocked[number] = possible and len(self.growing.transition) == before
        return True

    def _number(self, row: Row) -> int:
        if self.ahead is None or self.seen.numbers.get(row, self.known) < self.known:
            return self.seen.number(row)
        return self.seen.number(self.ahead.first_kept_state(row))

    def _add_drawn_choices(
        self, number: int, plans: tuple[JointTransition, ...], actions: Mapping[str, float], row: Row
    ) -> None:
        """The policy draws first, then the environment picks among what remains, knowing the draw.

        A choice says what happens after each draw. The probabilities are the shares as exact numbers, divided
        by their exact sum, which rounding leaves close to 1.
        """
        total = sum((Fraction(share) for share in actions.values()), Fraction(0))
        ways: list[list[tuple[JointTransition, Row] | None]] = []
        for action in actions:
            some = [p for p in plans if p.action is None or p.action == action]
            options: list[tuple[JointTransition, Row] | None] = [
                (p, x) for p in some for x in islice(self.steps.choices(p, row), _MOST_WAYS + 1)
            ]
            self.blocked[number] |= bool(some) and not options
            ways.append(options if some else [None])
        count = 1
        for options in ways:
            count *= len(options)
        if count > _MOST_WAYS:
            raise Unsupported(
                f"the environment may react to the policy's draws in more than {_MOST_WAYS} ways"
            )
        memory: dict[tuple[int, Row], list[WeightedSuccessor]] = {}
        for way in product(*ways):
            self._drawn_choice(number, way, [Fraction(s) / total for s in actions.values()], row, memory)

    def _drawn_choice(
        self,
        number: int,
        way: Sequence[tuple[JointTransition, Row] | None],
        shares: Sequence[Fraction],
        row: Row,
        memory: dict[tuple[int, Row], list[WeightedSuccessor]],
    ) -> None:
        reached: list[tuple[int, int, Sequence[int]]] = []
        for option, share in zip(way, shares, strict=True):
            if not share:
                continue
            if option is None:
                reached.append((self.numbers.index(share), self._halt(number, row), [0] * len(self.rewards)))
                continue
            plan, extended = option
            if (plan.number, extended) not in memory:
                memory[plan.number, extended] = self.steps.outcomes(plan, extended)
            for weight, after, rewards in memory[plan.number, extended]:
                weight = self.numbers.index(share * self.numbers.value(weight))
                reached.append((weight, self._number(after), rewards))
        key = tuple(option[0].transition for option in way if option is not None)
        chosen = {s: v for o in way if o is not None for s, v in self._picks(*o)}
        self.growing.choice(
            reached, self._index(key), self.chosen.setdefault(tuple(chosen.items()), len(self.chosen))
        )

    def _halt(self, number: int, row: Row) -> int:
        """The copy of a state in which a run ends because of the draw."""
        if number not in self.copies:
            self.copies[number] = len(self.seen.rows)
            self.halted.add(len(self.seen.rows))
            self.seen.rows.append(row[: self.layout.width])
        return self.copies[number]

    def _picks(self, plan: JointTransition, row: Row) -> list[tuple[str, Any]]:
        base = self.layout.width + len(self.layout.controls)
        return [(self.layout.chosen[slot - base], row[slot]) for slot, _ in plan.chosen]

    def _chosen_index(self, plan: JointTransition, row: Row) -> int:
        if not plan.chosen:
            return 0
        return self.chosen.setdefault(tuple(self._picks(plan, row)), len(self.chosen))

    def _transition(self, plan: JointTransition) -> int:
        found = self.of_plan.get(plan.number)
        if found is None:
            found = self.of_plan[plan.number] = self._index((plan.transition,))
        return found

    def _index(self, key: tuple[Transition, ...]) -> int:
        return self.transitions.setdefault(key, len(self.transitions))

    def _bytes(self) -> int:
        rows = self.seen.rows
        each = getsizeof(rows[0]) if rows else 0
        return self.growing.bytes() + getsizeof(self.seen.numbers) + getsizeof(rows) + each * len(rows)

    def _build_result(self, starts: int, done: int, why: str) -> ExploredModel:
        growing, count = self.growing, len(self.seen.rows)
        cut = np.arange(count) >= done
        halted = np.zeros(count, dtype=np.bool_)
        halted[list(self.halted)] = True
        final = np.array(self.final, dtype=np.bool_)
        growing.choices.extend([growing.choices[-1]] * (count - done))
        transitions = tuple(self.transitions)
        label_names = tuple(dict.fromkeys(t[0].label for t in transitions if len(t) == 1 and t[0].label))
        numbers = {name: i for i, name in enumerate(label_names)}
        labels = [numbers.get(t[0].label or "", -1) if len(t) == 1 else -1 for t in transitions]
        transition = freeze_array(growing.transition, np.int32)
        markov = Markov(
            choices=freeze_array(growing.choices, np.int64),
            outcomes=freeze_array(growing.outcomes, np.int64),
            targets=freeze_array(growing.targets, np.int64),
            weights=freeze_array(growing.weights, np.int32),
            values=self.numbers.values(),
            initial=np.arange(starts, dtype=np.int64),
            rewards={
                n: freeze_array(column, np.int32)
                for n, column in zip(self.rewards, growing.rewards, strict=True)
            },
            labels={name: np.array(column, dtype=np.bool_) for name, column in self.labels.items()},
            cut=cut & ~halted & ~final,
        )
        return ExploredModel(
            markov=markov,
            states=RowStates(self.layout, tuple(self.seen.rows)),
            labels=np.array(labels, dtype=np.int32)[transition] if labels else transition,
            label_names=label_names,
            transition=transition,
            transitions=transitions,
            chosen=freeze_array(growing.chosen, np.int32),
            chosen_values=tuple(dict(values) for values in self.chosen),
            stalled=np.array(self.stalled, dtype=np.bool_),
            near_tie=np.array(self.near_tie, dtype=np.bool_),
            halted=halted,
            final=final,
            blocked=np.array(self.blocked, dtype=np.bool_),
            quantities={name: freeze_array(column, np.int32) for name, column in self.quantities.items()},
            tier="interpreter",
            seconds=self.seconds,
            bytes_per_state=self._bytes() / max(1, count),
            why_cut=why,
        )
