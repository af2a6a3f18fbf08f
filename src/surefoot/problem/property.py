"""What is asked about a policy in its environment."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from surefoot.problem.term import TRUE, Term


@dataclass(frozen=True, slots=True)
class Never:
    """No reachable state satisfies `bad`; with `steps`, none of the states number 0 to `steps` of any run."""

    bad: Term
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class NeverBefore:
    """No run satisfies `bad` in a state before which no state satisfied `goal`: goal states end the run.

    A state that is both counts as bad. In a goal state nobody acts any more: `chosen(…)`, `stalled` and
    `deadlocked` are false there. `goal` is about variables and locations.
    """

    bad: Term
    goal: Term
    steps: int | None = None


@dataclass(frozen=True, slots=True)
class Eventually:
    """Every run reaches a state that satisfies `good`. A finite run that ends without one violates it."""

    good: Term


@dataclass(frozen=True, slots=True)
class Recurs:
    """Every run satisfies `good` again and again. A finite run violates it unless its last state is good."""

    good: Term


@dataclass(frozen=True, slots=True)
class Within:
    """Every run satisfies `good` in at least one of its states `after` to `steps` (starts are number 0).

    A run that ends earlier violates it if none of its states from `after` on was good.
    """

    good: Term
    steps: int
    after: int = 0


@dataclass(frozen=True, slots=True)
class Bound:
    """Limits on a path formula: on the number of steps, or on an accumulated reward."""

    low: Term | None = None
    high: Term | None = None
    reward: str | None = None  # None: steps
    strict: bool = False  # the upper limit is exclusive


@dataclass(frozen=True, slots=True)
class Path:
    """A path formula: X, F, G have one operand (`right`); U, W, R have two."""

    operator: Literal["X", "F", "G", "U", "W", "R"]
    right: Term
    left: Term = TRUE
    bounds: tuple[Bound, ...] = ()


@dataclass(frozen=True, slots=True)
class Threshold:
    """The value asked for, e.g. `<= 1/100`."""

    relation: Literal["<", "<=", ">", ">="]
    value: Fraction


Optimise: TypeAlias = Literal["min", "max"]
Filter: TypeAlias = Literal["min", "max", "sum", "avg", "count", "values", "argmin", "argmax"]


@dataclass(frozen=True, slots=True)
class Probability:
    """How likely is the path formula? `optimise` resolves what policy and environment leave open."""

    path: Path
    threshold: Threshold | None = None
    optimise: Optimise | None = None
    over: Filter = "max"  # which start states count, and how
    starts: Term | None = None  # None: the initial states


@dataclass(frozen=True, slots=True)
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


Property: TypeAlias = Never | NeverBefore | Eventually | Recurs | Within | Probability | Expected
