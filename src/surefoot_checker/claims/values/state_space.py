"""All reachable states of a model with their choices, derived from its edges; numbers are exact.

A choice is (denominator, weights, targets, reward): probabilities are weights / denominator, and the reward
is what is expected of the kind that is asked for; it may be negative. Counters (rewards summed up along the
run, for bounds on them) stand behind the entries of a state; beyond their bound they stand still.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ...kernel.asked_property import SumBound
from ...kernel.strict_json import Refused
from ...kernel.term import integer_if_whole
from .term import Function, Row
from .transitions import FactoredStep, JointTransitions, ModelStep, ModelStepOutcome, probabilities_to_weights

MOST_STATES = 5_000_000
_NOTHING = Fraction(0)
Choice = tuple[int, tuple[int, ...], tuple[int, ...], Fraction]
# A choice with functions to its targets.
_Plan = tuple[int, tuple[int, ...], list[Function] | FactoredStep, Fraction]
Permitted = Callable[[Row, list[ModelStep]], list[ModelStep]]


@dataclass(frozen=True, slots=True, eq=False)
class Process:
    """States in the order in which they were found; `choices[s]` is empty where the run ends."""

    rows: list[Row]
    choices: list[Sequence[Choice]]
    starts: list[int]  # sorted by their entries
    order: list[int]  # all states, sorted by their entries
    signed: bool = False  # may an outcome pay less than 0?


class StepChoices:
    """The choices of a step; `number` says which state a row is."""

    def __init__(
        self,
        moves: JointTransitions,
        reward: str | None,
        number: Callable[[Row], int],
        counters: Sequence[SumBound] = (),
    ) -> None:
        self.moves, self.reward, self.counters, self.number = moves, reward, counters, number
        self.shares: dict[tuple[Fraction, ...], tuple[int, tuple[int, ...]]] = {}
        self.plans: dict[ModelStep, _Plan | None] = {}
        self.signed = False

    def choices_of(self, row: Row, step: ModelStep) -> list[Choice]:
        """All of them, in the way that suits the step."""
        if (plan := self.plan(step)) is None:
            return list(self.choices(row, step))
        unit, weights, after, expected = plan
        rows = after.rows_after(row) if isinstance(after, FactoredStep) else [each(row) for each in after]
        return [(unit, weights, tuple(map(self.number, rows)), expected)]

    def plan(self, step: ModelStep) -> _Plan | None:
        """How to take a step that leaves nothing open but the outcome; None: it is not so simple."""
        if step not in self.plans:
            if (factored := self._factored_plan(step)) is not None:
                self.plans[step] = factored
                return factored
            self.moves.prepare(step)
            expected = self.expected_reward(step)
            self.plans[step] = None
            if step.simple and not self.counters and expected is not None and step.weights is not None:
                self.plans[step] = step.unit, step.weights, [e.after for e in step.endings], expected
        return self.plans[step]

    def _factored_plan(self, step: ModelStep) -> _Plan | None:
        """Of a step with many outcomes that are independent edge by edge, and pay nothing below 0."""
        if self.counters:
            return None
        expected = _NOTHING if self.reward is None else Fraction(1)
        if self.reward:
            expected = _NOTHING
            syntax = self.moves.model.syntax
            for outcome in (o for edge in step.edges for o in edge.outcomes):
                terms = [syntax(t) for name, t in outcome.rewards if name == self.reward]
                share = syntax(outcome.probability)
                if not all(t.constant and t.value >= 0 for t in (share, *terms)):
                    return None
                expected += Fraction(share.value) * sum((Fraction(t.value) for t in terms), _NOTHING)
        found = self.moves.factor(step)
        return None if found is None else (*found, expected)

    def choices(self, row: Row, step: ModelStep) -> Iterator[Choice]:
        """One for each way to pick the chosen values."""
        for extended in self.moves.enumerate_extended_rows(step, row[: self.moves.model.width]):
            yield self._general(row, step, extended)

    def _general(self, row: Row, step: ModelStep, extended: Row) -> Choice:
        shares = zip(step.endings, self.moves.shares(step, extended), strict=True)
        pairs = [(ending, share) for ending, share in shares if share]
        key = tuple(share for _, share in pairs)
        if key not in self.shares:
            self.shares[key] = probabilities_to_weights(key)
        unit, weights = self.shares[key]
        expected, targets = _NOTHING, []
        for ending, share in pairs:
            after = ending.after(extended)
            if self.counters:
                paid = [self._counted_amount(c.reward or "", ending, extended) for c in self.counters]
                sums = zip(self.counters, row[self.moves.model.width :], paid, strict=True)
                after = (*after, *(_count_reward(*each) for each in sums))
            targets.append(self.number(after))
            if self.reward is not None:
                expected += share * self._paid_amount(self.reward, ending, extended)
        return unit, weights, tuple(targets), expected

    def _reward_amount(self, reward: str, ending: ModelStepOutcome, row: Row) -> Fraction:
        """What is paid; "": one for the step."""
        amount = Fraction(1)
        if reward:
            terms = (t for part in ending.parts for name, t in part.rewards if name == reward)
            amount = sum((Fraction(self.moves.model.function(t)(row)) for t in terms), _NOTHING)
        return amount

    def _counted_amount(self, reward: str, ending: ModelStepOutcome, row: Row) -> Fraction:
        """Of what is summed up for a bound: a sum that could fall again would have to be followed further."""
        amount = self._reward_amount(reward, ending, row)
        if amount < 0:
            raise Refused("a bound on a reward that is negative")
        return amount

    def _paid_amount(self, reward: str, ending: ModelStepOutcome, row: Row) -> Fraction:
        """Of what is asked about; any amount below 0 is noted, even where its choice pays more on average."""
        amount = self._reward_amount(reward, ending, row)
        self.signed = self.signed or amount < 0
        return amount

    def expected_reward(self, step: ModelStep) -> Fraction | None:
        """Of one step; None: it depends on the state."""
        if self.reward is None or not self.reward:
            return _NOTHING if self.reward is None else Fraction(1)
        terms = [
            t for e in step.endings for part in e.parts for name, t in part.rewards if name == self.reward
        ]
        if step.weights is None or not all(self.moves.model.syntax(t).constant for t in terms):
            return None
        paid = [self._paid_amount(self.reward, e, ()) for e in step.endings]
        return sum((w * p for w, p in zip(step.weights, paid, strict=True)), _NOTHING) / step.unit


class _Exploration:
    """The states seen so far, in the order in which they were found."""

    def __init__(self) -> None:
        self.numbers: dict[Row, int] = {}
        self.rows: list[Row] = []

    def number(self, row: Row) -> int:
        found = self.numbers.setdefault(row, len(self.rows))
        if found == len(self.rows):
            self.rows.append(row)
        return found


def _count_reward(bound: SumBound, before: Any, amount: Fraction) -> Any:
    """The sum of a reward so far, as far as it matters for its bounds."""
    total = before + amount
    if bound.high is None:
        return integer_if_whole(min(total, bound.low or Fraction(0)))
    return integer_if_whole(bound.high + 1 if bound.is_over(total) else total)


def explore_reachable(
    moves: JointTransitions,
    starts: list[Row],
    permitted: Permitted | None,
    reward: str | None,
    counters: Sequence[SumBound],
    closed: Callable[[Row], bool],
    blocked: set[Row] | None = None,
) -> Process:
    """Everything reachable; beyond a `closed` state nothing matters, it is left without choices.

    Where no assumption about the environment can be kept a run neither goes on nor ends: such states are
    collected in `blocked`, or refused.
    """
    found = _Exploration()
    taken = StepChoices(moves, reward, found.number, counters)
    zero, width = tuple(0 for _ in counters), moves.model.width
    for start in starts:
        found.number((*start, *zero))
    first, rows, number = len(found.rows), found.rows, found.number
    choices: list[Sequence[Choice]] = []
    for row in rows:  # grows while we go through it
        own: list[Choice] = []
        if not closed(row):
            state = row[:width] if counters else row
            steps = moves.enabled_steps(state)
            if permitted is not None:
                steps = permitted(state, steps)
            impossible = False
            for step in steps:
                if (plan := taken.plan(step)) is not None:
                    unit, weights, after, expected = plan
                    if isinstance(after, FactoredStep):
                        targets = tuple([number(each) for each in after.rows_after(state)])
                    else:
                        targets = tuple([number(function(state)) for function in after])
                    own.append((unit, weights, targets, expected))
                    continue
                before = len(own)
                own += taken.choices(row, step)
                impossible = impossible or len(own) == before
            if impossible and not own:
                if blocked is None:
                    raise Refused("an assumption that nothing satisfies, in a state with no other way on")
                blocked.add(row)
        choices.append(tuple(own))
        if len(rows) > MOST_STATES:
            raise Refused("too many states")
    found.numbers.clear()
    order = sorted(range(len(rows)), key=rows.__getitem__)
    return Process(rows, choices, sorted(range(first), key=rows.__getitem__), order, taken.signed)


def with_state_rewards(process: Process, worth: Function) -> Process:
    """The same process, in which every step pays what the state that it leaves is worth."""
    choices: list[Sequence[Choice]] = []
    signed = False
    for row, several in zip(process.rows, process.choices, strict=True):
        amount = Fraction(worth(row)) if several else _NOTHING
        signed = signed or amount < 0
        choices.append(tuple((unit, weights, targets, amount) for unit, weights, targets, _ in several))
    return Process(process.rows, choices, process.starts, process.order, signed)
