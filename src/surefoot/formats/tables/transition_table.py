"""All reachable states of a Python function that lists successors, breadth first, each asked once.

A successor is (probability, next state, reward, terminated), as in Gymnasium's toy text. Probabilities are
exact: a float is the decimal that Python prints for it, a text such as "1/3" is a fraction. Those of one step
that add up to 1 within 1e-9 are divided by their sum, and the table says so.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from time import monotonic
from typing import Any, TypeAlias

from surefoot.errors import InvalidProblem, SurefootError, Unsupported, WrongType
from surefoot.problem.validate.distribution import NEAR
from surefoot.term.arguments import describe_value, exact_fraction

State: TypeAlias = Hashable
Successors: TypeAlias = Callable[[Any, Any], Iterable[Any]]
Outcomes: TypeAlias = "tuple[TableOutcome, ...]"
_SHOWN = 60  # characters of a state in a message
_TURN = 256  # states between two looks at the clock


@dataclass(frozen=True, slots=True)
class TableOutcome:
    """What may come of an action in a state."""

    probability: Fraction
    state: int  # number of the next state
    reward: Fraction
    terminated: bool


@dataclass(frozen=True, slots=True)
class TableLimits:
    """Where exploration ends with an error: an answer about a part of the states would be no answer."""

    states: int = 1_000_000
    seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class TransitionTable:
    """Every reachable state with what each action does there; None: the action cannot be taken.

    States that are only ever reached at the end of an episode have no actions.
    """

    states: tuple[State, ...]
    actions: tuple[State, ...]  # as the function knows them
    rows: tuple[tuple[Outcomes | None, ...], ...]  # by state and action
    starts: tuple[tuple[int, Fraction], ...]  # states by number, with their probabilities
    normalised: tuple[int, ...] = ()  # actions with probabilities that were divided by their sum
    divided: int = 0  # steps, i.e. pairs of a state and an action, where that was so
    farthest: Fraction = field(default=Fraction(0))  # of their sums from 1

    def is_uniform_start(self) -> bool:
        return len({share for _, share in self.starts}) == 1


def explore_transitions(
    initial: object,
    actions: object,
    successors: Successors,
    limits: TableLimits | None = None,
    *,
    order: Sequence[State] = (),
) -> TransitionTable:
    """The table of a function `successors(state, action)`.

    `initial`: a state, a list of equally likely ones, or a mapping from states to probabilities. `actions`: a
    list of all actions, or a function from a state to those that can be taken there; then `order` may list
    them all beforehand.
    """
    exploration = _Exploration(successors, actions, limits or TableLimits())
    for action in order:
        exploration.number_action(action)
    return exploration.explore(initial)


class _Exploration:
    """The states seen so far, in the order in which they were found."""

    def __init__(self, successors: Successors, actions: object, limits: TableLimits) -> None:
        if not callable(successors):
            raise WrongType(
                f"{describe_value(successors)} cannot be called",
                fix="give a function of a state and an action that lists what may happen",
                where="successors",
            )
        self.successors, self.limits = successors, limits
        self.choose: Callable[[Any], Iterable[Any]] | None = actions if callable(actions) else None
        self.positions: dict[State, int] = {}
        if self.choose is None:
            for action in _take_series(actions, "actions"):
                self.number_action(action)
            if not self.positions:
                raise InvalidProblem(
                    "there is no action", fix="list at least one, also if it is the only one", where="actions"
                )
        self.numbers: dict[State, int] = {}
        self.states: list[State] = []
        self.shares: dict[Any, Fraction] = {}  # exact probabilities and rewards by what was given
        self.normalised: set[int] = set()
        self.divided, self.farthest = 0, Fraction(0)

    def explore(self, initial: object) -> TransitionTable:
        starts = self._take_starts(initial)
        due, rows = [number for number, _ in starts], {}
        asked = set(due)
        deadline = monotonic() + self.limits.seconds
        for turn, number in enumerate(due):  # grows while we go through it
            rows[number] = row = self._expand(self.states[number])
            for outcomes in row:
                for outcome in outcomes or ():
                    if not outcome.terminated and outcome.state not in asked:
                        asked.add(outcome.state)
                        due.append(outcome.state)
            if turn % _TURN == 0 and monotonic() > deadline:
                self._give_up(f"after {self.limits.seconds:g} seconds", "seconds")
        if not self.positions:
            raise InvalidProblem("no state has an action", fix="list what can be done", where="actions")
        order = list(range(len(self.positions)))
        actions: list[Any] = list(self.positions)
        if self.choose is not None and all(isinstance(action, int) for action in actions):
            order.sort(key=actions.__getitem__)  # as whoever numbers actions means them
        full = tuple(_order_row(rows.get(number, ()), order) for number in range(len(self.states)))
        return TransitionTable(
            tuple(self.states),
            tuple(actions[position] for position in order),
            full,
            starts,
            tuple(sorted(order.index(position) for position in self.normalised)),
            self.divided,
            self.farthest,
        )

    def _give_up(self, when: str, limit: str) -> None:
        what = f"{len(self.states)} states were found {when}, and there are more"
        fix = (
            f"merge states that behave alike, or allow more: {'max_states' if limit == 'states' else limit}=…"
        )
        raise Unsupported(what, fix=fix, where="successors")

    def _number_state(self, state: Any, where: str) -> int:
        try:
            number = self.numbers.get(state)
        except TypeError:
            what = f"the state {show_state(state)} cannot be hashed"
            raise WrongType(
                what, fix="use tuples, numbers, texts or frozen dataclasses", where=where
            ) from None
        if number is None:
            number = self.numbers[state] = len(self.states)
            self.states.append(state)
            if len(self.states) > self.limits.states:
                self._give_up(f"with a limit of {self.limits.states}", "states")
        return number

    def number_action(self, action: Any) -> int:
        try:
            return self.positions.setdefault(action, len(self.positions))
        except TypeError:
            what = f"the action {show_state(action)} cannot be hashed"
            raise WrongType(what, fix="use texts or numbers", where="actions") from None

    def _take_starts(self, initial: Any) -> tuple[tuple[int, Fraction], ...]:
        if isinstance(initial, Mapping):
            pairs = [(state, self._share(share, "initial")) for state, share in initial.items()]
        else:
            several = list(initial) if isinstance(initial, list) else [initial]
            several = list(dict.fromkeys(several)) if _are_hashable(several) else several
            pairs = [(state, Fraction(1, len(several))) for state in several]
        pairs = [(state, share) for state, share in pairs if share]
        if not pairs:
            raise InvalidProblem("there is no start", fix="give a state or a list of them", where="initial")
        total = sum((share for _, share in pairs), Fraction(0))
        inexact = isinstance(initial, Mapping) and any(isinstance(p, float) for p in initial.values())
        near = NEAR if inexact else Fraction(0)
        self._check_sum(total, "initial", "the probabilities of the starts", near)
        return tuple((self._number_state(state, "initial"), share / total) for state, share in pairs)

    def _expand(self, state: Any) -> list[Outcomes | None]:
        own: list[Any] = list(self.positions)
        if self.choose is not None:
            where = f"state {show_state(state)}"
            own = list(_call_user_function(self.choose, (state,), "actions", where))
        row: list[Outcomes | None] = []
        for action in own:
            position = self.number_action(action)
            row += [None] * (position + 1 - len(row))
            if row[position] is None:
                row[position] = self._take_outcomes(state, action, position)
        return row

    def _take_outcomes(self, state: Any, action: Any, position: int) -> Outcomes:
        where = f"state {show_state(state)}, action {show_state(action)}"
        merged: dict[tuple[int, Fraction, bool], Fraction] = {}
        inexact = False
        for given in _call_user_function(self.successors, (state, action), "successors", where):
            share, after, reward, ends = self._take_outcome(given, where)
            inexact = inexact or isinstance(given[0], float)
            if share:
                key = (self._number_state(after, where), reward, ends)
                merged[key] = merged.get(key, Fraction(0)) + share
        total = sum(merged.values(), Fraction(0))
        if total != 1:
            self._check_sum(total, where, "its probabilities", NEAR if inexact else Fraction(0))
            self.normalised.add(position)
            self.divided, self.farthest = self.divided + 1, max(self.farthest, abs(total - 1))
        return tuple(TableOutcome(share / total, *key) for key, share in merged.items())

    def _take_outcome(self, given: Any, where: str) -> tuple[Fraction, Any, Fraction, bool]:
        if not isinstance(given, tuple | list) or len(given) not in (2, 3, 4):
            fix = "give (probability, next state, reward, terminated)"
            raise WrongType(f"{show_state(given)} is not a successor", fix=fix, where=where)
        whole: list[Any] = [*given, *(0, False)[len(given) - 2 :]]
        share, after, reward, ends = whole
        if not isinstance(ends, bool):
            if type(ends).__name__ not in ("bool_", "bool"):
                fix = "give (probability, next state, reward, terminated)"
                raise WrongType(f"`terminated` is {describe_value(ends)}", fix=fix, where=where)
            ends = bool(ends)
        return self._share(share, where), after, self._number(reward, "reward", where), ends

    def _share(self, given: Any, where: str) -> Fraction:
        share = self._number(given, "probability", where)
        if not 0 <= share <= 1 + NEAR:
            fix = "give a number from 0 to 1"
            raise InvalidProblem(f"the probability {given} is out of range", fix=fix, where=where)
        return share

    def _number(self, given: Any, what: str, where: str) -> Fraction:
        """Exact; what was given often repeats itself."""
        key = (type(given), given) if isinstance(given, int | float | Fraction) else None
        if key is not None and key in self.shares:
            return self.shares[key]
        if isinstance(given, bool) or (isinstance(given, float) and not isfinite(given)):
            fix = "give a number"
            raise WrongType(f"the {what} is {describe_value(given)}", fix=fix, where=where)
        try:
            exact = exact_fraction(given)
        except WrongType as error:
            raise WrongType(
                f"the {what} is no number: {error.what}", fix="give a number", where=where
            ) from None
        if key is not None:
            self.shares[key] = exact
        return exact

    def _check_sum(self, total: Fraction, where: str, what: str, near: Fraction) -> None:
        if abs(total - 1) > near:
            shown = f"{float(total):.12g}" if near else str(total)
            fix = "they have to add up to 1, within 1e-9 where they are floats"
            raise InvalidProblem(f"{what} add up to {shown}", fix=fix, where=where)


def _order_row(row: Sequence[Outcomes | None], order: Sequence[int]) -> tuple[Outcomes | None, ...]:
    return tuple([row[position] if position < len(row) else None for position in order])


def _take_series(given: Any, where: str) -> Iterable[Any]:
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable):
        fix = "give a list, also of one"
        raise WrongType(f"{describe_value(given)} is no list", fix=fix, where=where)
    return given


def _call_user_function(
    function: Callable[..., Any], arguments: tuple[Any, ...], name: str, where: str
) -> Iterator[Any]:
    """What a function lists; an error of its own code is told with the state."""
    try:
        yield from _take_series(function(*arguments), where)
    except SurefootError:
        raise
    except Exception as error:
        said = " ".join(str(error).split()) or "no reason given"
        what = f"`{name}` ends with {type(error).__name__}: {said}"
        raise InvalidProblem(what, fix="correct the function", where=where) from error


def _are_hashable(states: Iterable[Any]) -> bool:
    return all(isinstance(state, Hashable) and _has_hash(state) for state in states)


def _has_hash(state: Any) -> bool:
    try:
        hash(state)
    except TypeError:
        return False
    return True


def show_state(state: Any) -> str:
    """A state or an action in a message."""
    text = " ".join(repr(state).split())
    return f"`{text if len(text) <= _SHOWN else text[: _SHOWN - 1] + '…'}`"
