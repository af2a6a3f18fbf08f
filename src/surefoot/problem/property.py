"""What is asked about a policy in its environment."""

from __future__ import annotations

from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Literal, TypeAlias, get_args

from surefoot.problem.door import (
    exact_number,
    one_of,
    optional,
    settle,
    several,
    text,
    truth,
    whole_number,
    word,
)
from surefoot.problem.term import TRUE, Term, term


@dataclass(frozen=True, slots=True)
class Never:
    """No reachable state satisfies `bad`; with `steps`, none of the states number 0 to `steps` of any run."""

    bad: Term
    steps: int | None = None

    def __post_init__(self) -> None:
        settle(self, bad=term, steps=optional(whole_number))


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
        settle(self, bad=term, goal=term, steps=optional(whole_number))


@dataclass(frozen=True, slots=True)
class Eventually:
    """Every run reaches a state that satisfies `good`. A finite run that ends without one violates it."""

    good: Term

    def __post_init__(self) -> None:
        settle(self, good=term)


@dataclass(frozen=True, slots=True)
class Recurs:
    """Every run satisfies `good` again and again. A finite run violates it unless its last state is good."""

    good: Term

    def __post_init__(self) -> None:
        settle(self, good=term)


@dataclass(frozen=True, slots=True)
class Within:
    """Every run satisfies `good` in at least one of its states `after` to `steps` (starts are number 0).

    A run that ends earlier violates it if none of its states from `after` on was good.
    """

    good: Term
    steps: int
    after: int = 0

    def __post_init__(self) -> None:
        settle(self, good=term, steps=whole_number, after=whole_number)


@dataclass(frozen=True, slots=True)
class Bound:
    """Limits on a path formula: on the number of steps, or on an accumulated reward."""

    low: Term | None = None
    high: Term | None = None
    reward: str | None = None  # None: steps
    strict: bool = False  # the upper limit is exclusive

    def __post_init__(self) -> None:
        settle(self, low=optional(term), high=optional(term), reward=optional(text), strict=truth)


@dataclass(frozen=True, slots=True)
class Path:
    """A path formula: X, F, G have one operand (`right`); U, W, R have two."""

    operator: Literal["X", "F", "G", "U", "W", "R"]
    right: Term
    left: Term = TRUE
    bounds: tuple[Bound, ...] = ()

    def __post_init__(self) -> None:
        operator = word("X", "F", "G", "U", "W", "R")
        settle(self, operator=operator, right=term, left=term, bounds=several(one_of(Bound), "bounds"))


@dataclass(frozen=True, slots=True)
class Threshold:
    """The value asked for, e.g. `<= 1/100`."""

    relation: Literal["<", "<=", ">", ">="]
    value: Fraction

    def __post_init__(self) -> None:
        settle(self, relation=word("<", "<=", ">", ">="), value=exact_number)


def filter_for(threshold: Threshold | None) -> Filter:
    """Which start counts if a text does not say: the largest value, or what a threshold is hardest for.

    So a threshold is met only if every start meets it.
    """
    return "min" if threshold is not None and threshold.relation in (">", ">=") else "max"


STEPS = "steps"  # the reward that every step earns once
Optimise: TypeAlias = Literal["min", "max"]
Filter: TypeAlias = Literal["min", "max", "sum", "avg", "count", "values", "argmin", "argmax"]
_optimise = optional(word(*get_args(Optimise)))
_filter = word(*get_args(Filter))


@dataclass(frozen=True, slots=True)
class Probability:
    """How likely is the path formula? `optimise` resolves what policy and environment leave open."""

    path: Path
    threshold: Threshold | None = None
    optimise: Optimise | None = None
    over: Filter = "max"  # which start states count, and how
    starts: Term | None = None  # None: the initial states

    def __post_init__(self) -> None:
        threshold, starts = optional(one_of(Threshold)), optional(term)
        settle(self, path=one_of(Path), threshold=threshold, optimise=_optimise, over=_filter, starts=starts)


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
        settle(
            self,
            reward=lambda reward: reward if isinstance(reward, str) else term(reward),
            until=term,
            threshold=optional(one_of(Threshold)),
            optimise=_optimise,
            over=_filter,
            starts=optional(term),
            steps=optional(whole_number),
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Expected) or type(self.reward) is not type(other.reward):
            return False  # a name and a term are not compared: see `Term.__eq__`
        return _values(self) == _values(other)

    def __hash__(self) -> int:
        return hash(_values(self))


def counts_steps(reward: str | Term | None) -> bool:
    """Is this reward the number of steps?"""
    return isinstance(reward, str) and reward == STEPS


def _values(data: Expected) -> tuple[object, ...]:
    return tuple(getattr(data, field.name) for field in fields(data))


Property: TypeAlias = Never | NeverBefore | Eventually | Recurs | Within | Probability | Expected
take_property = one_of(
    *(Never, NeverBefore, Eventually, Recurs, Within, Probability, Expected),
    fix="give Never(condition), Eventually(condition), … or parse_property(text)",
    str='write parse_property("never x > 5")',
)
