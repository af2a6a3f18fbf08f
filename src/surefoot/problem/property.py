"""What is asked about a policy in its environment."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from surefoot.errors import InvalidProblem
from surefoot.term.arguments import (
    check_fields,
    exact_number,
    take_bool,
    take_instance,
    take_optional,
    take_text,
    take_tuple,
    take_word,
    whole_number,
)
from surefoot.term.term import TRUE, Term, term_from_python


@dataclass(frozen=True, slots=True)
class Never:
    """No reachable state satisfies `bad`; with `steps`, none of the states number 0 to `steps` of any run."""

    bad: Term
    steps: int | None = None

    def __post_init__(self) -> None:
        check_fields(self, bad=term_from_python, steps=take_optional(whole_number))


@dataclass(frozen=True, slots=True)
class NeverBefore:
    """No run satisfies `bad` in a state before which no state satisfied `goal`: goal states end the run.

    A state that is both counts as bad. In a goal state nobody acts any more: `chosen(…)`, `stalled` and
    `deadlocked` are false there. `goal` is about variables and locations.
    """

    bad: Term
    goal: Term
    steps: int | None = None

    def __post_init__(self) -> None:
        check_fields(self, bad=term_from_python, goal=term_from_python, steps=take_optional(whole_number))


@dataclass(frozen=True, slots=True)
class Eventually:
    """Every run reaches a state that satisfies `good`. A finite run that ends without one violates it."""

    good: Term

    def __post_init__(self) -> None:
        check_fields(self, good=term_from_python)


@dataclass(frozen=True, slots=True)
class Recurs:
    """Every run satisfies `good` again and again. A finite run violates it unless its last state is good."""

    good: Term

    def __post_init__(self) -> None:
        check_fields(self, good=term_from_python)


@dataclass(frozen=True, slots=True)
class Within:
    """Every run satisfies `good` in at least one of its states `after` to `steps` (starts are number 0).

    A run that ends earlier violates it if none of its states from `after` on was good.
    """

    good: Term
    steps: int
    after: int = 0

    def __post_init__(self) -> None:
        check_fields(self, good=term_from_python, steps=whole_number, after=whole_number)


@dataclass(frozen=True, slots=True)
class Timed:
    """What is asked about the moments from `since` to `until` (None: and all later ones), in seconds.

    In continuous time about every moment t with since <= t <= until; by steps about the states number k with
    since <= k * step <= until. `NeverBefore`: a goal at any moment, also before `since`, ends the run. It is
    a property of its own so that nobody who reads `Never` overlooks the limits.
    """

    asked: Never | NeverBefore | Eventually
    until: Fraction | None
    since: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        check_fields(
            self,
            asked=take_instance(Never, NeverBefore, Eventually, fix="give Never(condition) and the like"),
            until=take_optional(exact_number),
            since=exact_number,
        )
        if not isinstance(self.asked, Eventually) and self.asked.steps is not None:
            fix = "keep one of them"
            raise InvalidProblem("limits both in seconds and in steps", fix=fix, where="Timed.asked")
        if self.until is None and self.since == 0:
            fix = "leave Timed out, or give `until` or `since`"
            raise InvalidProblem("a property with time has no limit", fix=fix, where="Timed.until")


@dataclass(frozen=True, slots=True)
class Bound:
    """Limits on a path formula: on the number of steps, or on an accumulated reward."""

    low: Term | None = None
    high: Term | None = None
    reward: str | None = None  # None: steps
    strict: bool = False  # the upper limit is exclusive

    def __post_init__(self) -> None:
        check_fields(
            self,
            low=take_optional(term_from_python),
            high=take_optional(term_from_python),
            reward=take_optional(take_text),
            strict=take_bool,
        )


@dataclass(frozen=True, slots=True)
class Path:
    """A path formula: X, F, G have one operand (`right`); U, W, R have two."""

    operator: Literal["X", "F", "G", "U", "W", "R"]
    right: Term
    left: Term = TRUE
    bounds: tuple[Bound, ...] = ()

    def __post_init__(self) -> None:
        operator = take_word("X", "F", "G", "U", "W", "R")
        check_fields(
            self,
            operator=operator,
            right=term_from_python,
            left=term_from_python,
            bounds=take_tuple(take_instance(Bound), "bounds"),
        )


@dataclass(frozen=True, slots=True)
class Threshold:
    """The value asked for, e.g. `<= 1/100`."""

    relation: Literal["<", "<=", ">", ">="]
    value: Fraction

    def __post_init__(self) -> None:
        check_fields(self, relation=take_word("<", "<=", ">", ">="), value=exact_number)


def default_filter(threshold: Threshold | None) -> Filter:
    """Which start counts if a text does not say: the largest value, or what a threshold is hardest for.

    So a threshold is met only if every start meets it.
    """
    return "min" if threshold is not None and threshold.relation in (">", ">=") else "max"


STEPS = "steps"  # the reward that every step earns once
Optimise: TypeAlias = Literal["min", "max"]
Filter: TypeAlias = Literal["min", "max", "sum", "avg", "count", "values", "argmin", "argmax"]
_take_optimise = take_optional(take_word(*get_args(Optimise)))
_take_filter = take_word(*get_args(Filter))


@dataclass(frozen=True, slots=True)
class Probability:
    """How likely is the path formula? `optimise` resolves what policy and environment leave open."""

    path: Path
    threshold: Threshold | None = None
    optimise: Optimise | None = None
    over: Filter = "max"  # which start states count, and how
    starts: Term | None = None  # None: the initial states

    def __post_init__(self) -> None:
        threshold, starts = take_optional(take_instance(Threshold)), take_optional(term_from_python)
        check_fields(
            self,
            path=take_instance(Path),
            threshold=threshold,
            optimise=_take_optimise,
            over=_take_filter,
            starts=starts,
        )


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """The expected reward (or number of `steps`) accumulated until a state satisfies `until`.

    With `steps`, only the first so many steps count; then `until` may be `false`.
    """

    reward: str | Term
    until: Term
    threshold: Threshold | None = None
    optimise: Optimise | None = None
    over: Filter = "max"
    starts: Term | None = None
    steps: int | None = None

    def __post_init__(self) -> None:
        check_fields(
            self,
            reward=lambda reward: reward if isinstance(reward, str) else term_from_python(reward),
            until=term_from_python,
            threshold=take_optional(take_instance(Threshold)),
            optimise=_take_optimise,
            over=_take_filter,
            starts=take_optional(term_from_python),
            steps=take_optional(whole_number),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expected) or type(self.reward) is not type(other.reward):
            return False  # a name and a term are not compared: see `Term.__eq__`
        return _field_values(self) == _field_values(other)

    def __hash__(self) -> int:
        return hash(_field_values(self))


def counts_steps(reward: str | Term | None) -> bool:
    """Is this reward the number of steps?"""
    return isinstance(reward, str) and reward == STEPS


def _field_values(data: Expected) -> tuple[object, ...]:
    return tuple(getattr(data, field.name) for field in fields(data))


Property: TypeAlias = Never | NeverBefore | Eventually | Recurs | Within | Timed | Probability | Expected
take_property = take_instance(
    *(Never, NeverBefore, Eventually, Recurs, Within, Timed, Probability, Expected),
    fix="give Never(condition), Eventually(condition), … or parse_property(text)",
    str='write parse_property("never x > 5")',
)
