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

from surefoot.compile.closure import UNDEFINED
from surefoot.compile.condition import STAYS, UNTIL, conditions, stays_where
from surefoot.compile.deciding import Made, decider
from surefoot.compile.explored import Explored, RowStates
from surefoot.compile.initial import initial_rows
from surefoot.compile.interpret.ahead import Ahead
from surefoot.compile.interpret.growing import Growing, Seen, frozen
from surefoot.compile.interpret.joint import Plan, Reached, Steps, undefined
from surefoot.compile.layout import Row, layout_of
from surefoot.compile.limits import Limits
from surefoot.compile.numbers import Numbers
from surefoot.errors import Unsupported
from surefoot.problem.meaning.transition import Transition
from surefoot.problem.problem import Problem
from surefoot.problem.term import FALSE, Term
from surefoot.query.markov import Markov

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
        self.layout = layout_of(environment)
        self.numbers = Numbers((Fraction(0), Fraction(1)))
        self.steps = Steps(environment, policy, self.layout, rewards, self.numbers)
        terms = {**_named("l", labels), **_named("q", quantities), UNTIL: until}
        terms[STAYS] = stays_where(until, through)
        self.asked = conditions(problem, self.layout, terms)
        self.ends = until != FALSE
        self.ahead = None
        if through != FALSE and not environment.controls and not self.asked.mentions_facts(STAYS):
            self.ahead = Ahead(self.steps, self.asked.closures[STAYS])
        self.labels = {name: bytearray() for name in labels}
        self.quantities = {name: array("i") for name in quantities}
        self.decide = (
            None if policy is None else decider(policy, environment, self.layout, outputs=self.asked.outputs)
        )
        self.seen, self.growing = Seen(), Growing(len(rewards))
        self.known = 0  # states that there were before the choices of the present one
        self.transitions: dict[tuple[Transition, ...], int] = {}
        self.of_plan: dict[int, int] = {}
        self.chosen: dict[tuple[tuple[str, Any], ...], int] = {(): 0}
        self.stalled, self.near_tie, self.blocked = bytearray(), bytearray(), bytearray()
        self.final = bytearray()
        self.halted: set[int] = set()
        self.copies: dict[int, int] = {}  # state -> the copy of it in which runs end
        self.seconds: dict[str, float] = {}

    def run(self, limits: Limits) -> Explored:
        began = perf_counter()
        for row in initial_rows(self.problem.environment, self.layout, budget=limits.budget):
            self.seen.number(row)
        starts = len(self.seen.rows)
        self.seconds["starts"], began = perf_counter() - began, perf_counter()
        done, why = 0, ""
        while done < len(self.seen.rows) and not why:
            size = _CHUNK if self.ahead is None else _FEWER
            chunk = range(done, min(done + size, len(self.seen.rows)))
            done = self._expand(chunk, limits)
            why = limits.exceeded(len(self.seen.rows), self._bytes()) if done < len(self.seen.rows) else ""
        total = len(self.seen.rows)
        for start in range(done, total, _CHUNK):  # seen, not explored: only what holds there is found out
            self._look(range(start, min(start + _CHUNK, total)))
        self.seconds["explore"] = perf_counter() - began
        return self._explored(starts, done, why)

    def explain(self, row: Row) -> None:
        """Raises what is wrong in this state, if anything is."""
        if not self.asked.facts and self._values(UNTIL, [row], bool)[0]:
            return
        for plan in self.steps.enabled(row):
            for extended in self.steps.choices(plan, row):
                self.steps.outcomes(plan, extended)

    def _enabled(self, rows: list[Row]) -> list[tuple[Plan, ...]]:
        """In final states nobody looks, unless a label does."""
        if not self.ends or self.asked.facts:
            return [self.steps.enabled(row) for row in rows]
        final = self._values(UNTIL, rows, bool)
        return [() if ends else self.steps.enabled(row) for row, ends in zip(rows, final, strict=True)]

    def _look(self, chunk: range) -> tuple[list[tuple[Plan, ...]], list[Made | None], list[Row]]:
        """What is enabled in these states, what the policy decides, and which labels hold."""
        rows = [self.seen.rows[i] for i in chunk]
        made: list[Made | None]
        if self.decide is None:
            made, enabled = [None] * len(rows), self._enabled(rows)
        elif self.layout.controls:
            made = list(self._decided(rows, [frozenset()] * len(rows)))
            rows = [
                (*row, *(m.decision.controls[c] for c in self.layout.controls))
                for row, m in zip(rows, made, strict=True)
                if m is not None
            ]
            enabled = self._enabled(rows)
        else:
            enabled = self._enabled(rows)
            own = [frozenset(p.action for p in plans if p.action is not None) for plans in enabled]
            made = list(self._decided(rows, own))
        self._judge(rows, enabled, made)
        self.stalled.extend(m is not None and m.decision.stalls for m in made)
        self.near_tie.extend(m is not None and m.near_tie for m in made)
        self.blocked.extend(bytes(len(rows)))
        return enabled, made, rows

    def _decided(self, rows: list[Row], own: Sequence[frozenset[str]]) -> list[Made]:
        assert self.decide is not None
        try:
            return self.decide(rows, own)
        except UNDEFINED as first:
            for row, actions in zip(rows, own, strict=True):
                try:
                    self.decide([row], [actions])
                except UNDEFINED as error:
                    raise undefined(error, "the policy", self.layout, row) from None
            raise first

    def _judge(self, rows: list[Row], enabled: list[tuple[Plan, ...]], made: list[Made | None]) -> None:
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
        except UNDEFINED:
            for row in rows:
                try:
                    holds(row)
                except UNDEFINED as error:
                    raise undefined(error, f"`{name[2:]}`", self.layout, row) from None
            raise

    def _expand(self, chunk: range, limits: Limits) -> int:
        """Add the choices of these states; stops early where there are too many, and says where."""
        enabled, made, rows = self._look(chunk)
        for i, plans, decided, row in zip(chunk, enabled, made, rows, strict=True):
            if limits.full(len(self.seen.rows)):
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
        self, number: int, plans: tuple[Plan, ...], made: Made | None, row: Row, limits: Limits
    ) -> bool:
        """Add the choices of a state; false if there are so many that a limit was reached before the end."""
        self.known = len(self.seen.rows)
        actions = {} if made is None else made.decision.actions
        if len(actions) > 1:
            self._drawn(number, plans, actions, row)
            return True
        before, possible = len(self.growing.transition), False
        for plan in plans:
            if plan.action is not None and plan.action not in actions:
                continue
            possible = True
            for extended in self.steps.choices(plan, row):
                reached = [(w, self._number(s), r) for w, s, r in self.steps.outcomes(plan, extended)]
                self.growing.choice(reached, self._transition(plan), self._chosen(plan, extended))
                many = len(self.growing.transition) - before
                if many % _LOOK == 0 and (limits.full(len(self.seen.rows)) or limits.budget.spent()):
                    return False
        self.blocked[number] = possible and len(self.growing.transition) == before
        return True

    def _number(self, row: Row) -> int:
        if self.ahead is None or self.seen.numbers.get(row, self.known) < self.known:
            return self.seen.number(row)
        return self.seen.number(self.ahead.passed(row))

    def _drawn(self, number: int, plans: tuple[Plan, ...], actions: Mapping[str, float], row: Row) -> None:
        """The policy draws first, then the environment picks among what remains, knowing the draw.

        A choice says what happens after each draw. The probabilities are the shares as exact numbers, divided
        by their exact sum, which rounding leaves close to 1.
        """
        total = sum((Fraction(share) for share in actions.values()), Fraction(0))
        ways: list[list[tuple[Plan, Row] | None]] = []
        for action in actions:
            some = [p for p in plans if p.action is None or p.action == action]
            options: list[tuple[Plan, Row] | None] = [
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
        memory: dict[tuple[int, Row], list[Reached]] = {}
        for way in product(*ways):
            self._drawn_choice(number, way, [Fraction(s) / total for s in actions.values()], row, memory)

    def _drawn_choice(
        self,
        number: int,
        way: Sequence[tuple[Plan, Row] | None],
        shares: Sequence[Fraction],
        row: Row,
        memory: dict[tuple[int, Row], list[Reached]],
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

    def _picks(self, plan: Plan, row: Row) -> list[tuple[str, Any]]:
        base = self.layout.width + len(self.layout.controls)
        return [(self.layout.chosen[slot - base], row[slot]) for slot, _ in plan.chosen]

    def _chosen(self, plan: Plan, row: Row) -> int:
        if not plan.chosen:
            return 0
        return self.chosen.setdefault(tuple(self._picks(plan, row)), len(self.chosen))

    def _transition(self, plan: Plan) -> int:
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

    def _explored(self, starts: int, done: int, why: str) -> Explored:
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
        transition = frozen(growing.transition, np.int32)
        markov = Markov(
            choices=frozen(growing.choices, np.int64),
            outcomes=frozen(growing.outcomes, np.int64),
            targets=frozen(growing.targets, np.int64),
            weights=frozen(growing.weights, np.int32),
            values=self.numbers.values(),
            initial=np.arange(starts, dtype=np.int64),
            rewards={
                n: frozen(column, np.int32) for n, column in zip(self.rewards, growing.rewards, strict=True)
            },
            labels={name: np.array(column, dtype=np.bool_) for name, column in self.labels.items()},
            cut=cut & ~halted & ~final,
        )
        return Explored(
            markov=markov,
            states=RowStates(self.layout, tuple(self.seen.rows)),
            labels=np.array(labels, dtype=np.int32)[transition] if labels else transition,
            label_names=label_names,
            transition=transition,
            transitions=transitions,
            chosen=frozen(growing.chosen, np.int32),
            chosen_values=tuple(dict(values) for values in self.chosen),
            stalled=np.array(self.stalled, dtype=np.bool_),
            near_tie=np.array(self.near_tie, dtype=np.bool_),
            halted=halted,
            final=final,
            blocked=np.array(self.blocked, dtype=np.bool_),
            quantities={name: frozen(column, np.int32) for name, column in self.quantities.items()},
            tier="interpreter",
            seconds=self.seconds,
            bytes_per_state=self._bytes() / max(1, count),
            why_cut=why,
        )


def _named(prefix: str, terms: Mapping[str, Term]) -> dict[str, Term]:
    return {f"{prefix}:{name}": term for name, term in terms.items()}
