"""Bounds of all states, checked state by state against their successors: one pass, in parts if wanted.

A certificate of this form lists states, as numbers, with bounds and ranks. The states need not be those that
can be reached: every start is looked for among them, and every step from one of them. So no state has to be
remembered that is not in the list, no arrow has to be turned round, and parts may be checked apart.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from multiprocessing import get_all_start_methods, get_context
from typing import Any

from ...kernel.strict_json import BadCertificate, Refused, expect_integer, expect_object
from ...kernel.term import ACTING, Term, term_atoms
from .initial_rows import enumerate_initial_rows
from .local_code import PlaceCode, compile_place
from .local_rules import LocalBounds, LocalRule, check_choices, check_decided, check_state
from .packed_states import (
    Bounds,
    build_packed_layout,
    build_state_index,
    position_of,
    read_hex_integer,
    read_states,
    read_vector,
)
from .pctl_question import QuantitativeQuery
from .policy import ClaimedPolicy
from .state_space import Choice, StepChoices
from .term import Row, term_to_syntax
from .transitions import JointTransitions, ModelStep

PACKED = frozenset({"states", "scale", "state", "low", "high", "rank"})
MOST_STATES = 1 << 31
PART = 1 << 16  # states that are looked at in one go
WORTHWHILE = 4  # states for each step of a place, from which on a function is made for it
MOST_STEPS = 2000  # of a place that are written out


Check = Callable[..., tuple[int, int]]


@dataclass(frozen=True, slots=True)
class LocalResult:
    """What was shown: the bounds of the starts, and how many states and choices were looked at."""

    starts: list[Row]
    bounds: list[Bounds]
    states: int
    choices: int
    chain: bool  # no state has two choices


class LocalCheck:
    """One side of a question, ready to be checked in parts."""

    def __init__(
        self, moves: JointTransitions, policy: ClaimedPolicy | None, question: QuantitativeQuery, data: object
    ) -> None:
        if question.starts is not None or question.counters or question.steps is not None:
            raise BadCertificate("values: packed, where starts or sums are asked for")
        layout = build_packed_layout(moves.model)
        if layout is None:
            raise BadCertificate("values: packed, of states that are no numbers")
        self.moves, self.policy, self.question, self.layout = moves, policy, question, layout
        self.rule = LocalRule(question.kind == "reward", question.optimise == "max")
        entry = expect_object(data, PACKED, "values")
        count = expect_integer(entry["states"], 0, MOST_STATES, "states")
        self.states = read_states(entry["state"], count, layout)
        self.bounds = LocalBounds(
            read_vector(entry["low"], count, "low"),
            read_vector(entry["high"], count, "high"),
            read_vector(entry["rank"], count, "rank"),
            _read_scale(entry["scale"]),
        )
        self.index = build_state_index(self.states, layout)
        self.last: tuple[Row, Check | None] | None = None  # the function of the last place
        self.choices = StepChoices(moves, question.reward, self._locate)

    def _locate(self, row: Row) -> int:
        return position_of(self.index, self.layout.pack(row))

    def check_all(self, workers: int = 1) -> LocalResult:
        """Refuse unless every state keeps the rule; the same words for any number of workers."""
        parts = list(self.parts())
        total = most = 0
        for counted, largest in _check_parts(self, parts, min(workers, len(parts))):
            total, most = total + counted, max(most, largest)
        return self.conclude(total, most)

    def conclude(self, total: int, most: int) -> LocalResult:
        starts = sorted(enumerate_initial_rows(self.moves.model))
        if not starts:
            raise Refused("no initial state")
        places = [self._locate(row) for row in starts]
        low, high, scale = self.bounds.low, self.bounds.high, self.bounds.scale
        ends: list[tuple[Fraction, Fraction]] = [
            (Fraction(low[s], scale), Fraction(high[s], scale)) for s in places
        ]
        if self.question.negated:
            ends = [(1 - high, 1 - low) for low, high in ends]
        return LocalResult(starts, list(ends), len(self.states), total, most <= 1)

    def parts(self) -> Iterator[tuple[int, int, int]]:
        """First and last of states to be looked at together, and how many are in their place."""
        for first, end in self._segments():
            for begin in range(first, end, PART):
                yield begin, min(begin + PART, end), end - first

    def _segments(self) -> Iterator[tuple[int, int]]:
        """The states of each combination of locations, which stand together."""
        model, count, first = self.moves.model, len(self.states), 0
        worth = 1
        for several in self.layout.digits[: len(model.kinds)]:
            for digit in several:
                worth *= digit.count
        while first < count:
            end = bisect_left(self.states, (self.states[first] // worth + 1) * worth, first)
            yield first, end
            first = end

    def check_part(self, first: int, end: int, around: int) -> tuple[int, int]:
        """Of states in one place: how many choices there are, and how many of one state."""
        check = self._function(self.layout.unpack(self.states[first]), around)
        if check is None:
            counts = [self._check_slowly(state) for state in range(first, end)]
            return sum(counts), max(counts, default=0)
        bounds = self.bounds
        columns = (self.states, bounds.low, bounds.high, bounds.rank)
        lookup = self.index.get if isinstance(self.index, dict) else self.index
        return check(
            zip(*(column[first:end] for column in columns), strict=True), bounds.scale, bounds.low,
            bounds.high, bounds.rank, lookup, self.layout.unpack, self._general, self._ask, self._pick,
            self._pay,
        )  # fmt: skip

    def _function(self, row: Row, count: int) -> Check | None:
        """The function for the place of this state; None: it is not worth it, or there is too much in it."""
        key = tuple(row[p] for p in self.moves.model.places if p is not None)
        if self.last is None or self.last[0] != key:
            self.last = key, self._compiled(row, count)
        return self.last[1]

    def _compiled(self, row: Row, count: int) -> Check | None:
        moves, model = self.moves, self.moves.model
        slots = [p for p in model.places if p is not None]
        place = moves.place(tuple(row[p] for p in slots))
        if place.steps is None or len(place.steps) > MOST_STEPS or WORTHWHILE * len(place.steps) > count:
            return None
        steps: list[tuple[tuple[int, ...], ModelStep, Fraction | None]] = []
        for needs, step in place.steps:
            moves.prepare(step)
            paid = Fraction(0) if self.question.worth is not None else self.choices.expected_reward(step)
            steps.append((needs, step, paid))
        if self.choices.signed:
            raise Refused("a reward below 0, beside ranks")
        left, right = (self._condition(term) for term in self.question.terms)
        policy = self.policy
        names = {} if policy is None else {step: policy.action_of(step) for _, step, _ in steps}
        code = PlaceCode(
            moves, self.layout, self.rule, {p: row[p] for p in slots}, place.conditions, steps, left, right,
            policy is not None, names, self.question.worth is not None, isinstance(self.index, dict),
        )  # fmt: skip
        return compile_place(code)

    def _condition(self, term: Term) -> Any:
        """A condition as a syntax tree; None: it asks what is done next."""
        if any(atom[0] in ACTING for atom in term_atoms(term)):
            return None
        model = self.moves.model
        slots = {name: slot for name, slot in model.slots.items() if slot < model.width}
        return term_to_syntax(term, slots, model.sure, model.code).node

    def _ask(self, side: str, row: Row) -> bool:
        return bool((self.question.left if side == "left" else self.question.right)(row))

    def _pick(self, row: Row, own: set[str]) -> str | None:
        assert self.policy is not None
        return self.policy.picked_action(row, own)

    def _pay(self, row: Row) -> tuple[int, int]:
        assert self.question.worth is not None
        amount = Fraction(self.question.worth(row))
        if amount < 0:
            raise Refused("a reward below 0, beside ranks")
        return amount.numerator, amount.denominator

    def _general(self, step: ModelStep, row: Row, low: int, high: int, rank: int) -> tuple[int, bool, bool]:
        """The choices of a step that was not written out: how many, is a bound kept, does the rank fall."""
        found = self._step_choices(step, row)
        kept, led = check_choices(self.rule, self.bounds, (low, high, rank), found)
        return len(found), kept, led

    def _step_choices(self, step: ModelStep, row: Row) -> list[Choice]:
        found = self.choices.choices_of(row, step)
        if self.question.worth is not None:
            amount = Fraction(*self._pay(row))
            found = [(unit, weights, targets, amount) for unit, weights, targets, _ in found]
        if self.choices.signed:
            raise Refused("a reward below 0, beside ranks")
        return found

    def _check_slowly(self, state: int) -> int:
        """One state, without a function of its own; how many choices it has."""
        row, question, bounds = self.layout.unpack(self.states[state]), self.question, self.bounds
        own = bounds.low[state], bounds.high[state], bounds.rank[state]
        if question.right(row):
            check_decided(own, bounds.scale, goal=True, reward=self.rule.reward)
            return 0
        if not self.rule.reward and not question.left(row):
            check_decided(own, bounds.scale, goal=False, reward=False)
            return 0
        steps = self.moves.enabled_steps(row)
        if self.policy is not None:
            steps = self.policy.permitted_steps(row, steps)
        each = [self._step_choices(step, row) for step in steps]
        several = [choice for found in each for choice in found]
        if not several and not all(each):
            raise Refused("an assumption that nothing satisfies, in a state with no other way on")
        check_state(self.rule, bounds, own, several)
        return len(several)


_forked: list[LocalCheck] = []  # what a process that is forked now will look at


def _check_parts(
    check: LocalCheck, parts: list[tuple[int, int, int]], workers: int
) -> Iterator[tuple[int, int]]:
    """What is counted in each part, in their order; by other processes if there are several."""
    if workers < 2 or "fork" not in get_all_start_methods():
        yield from (check.check_part(*part) for part in parts)
        return
    _forked.append(check)
    try:
        with get_context("fork").Pool(workers) as pool:
            yield from pool.imap(_check_forked, parts)
    finally:
        _forked.pop()


def _check_forked(part: tuple[int, int, int]) -> tuple[int, int]:
    return _forked[-1].check_part(*part)


def _read_scale(data: object) -> int:
    found = read_hex_integer(data)
    if found < 1:
        raise BadCertificate("values: the scale is not positive")
    return found


def is_packed(data: object) -> bool:
    return isinstance(data, Mapping) and "rank" in data
