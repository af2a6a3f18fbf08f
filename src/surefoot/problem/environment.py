"""Where the policy acts: variables, starts, and automata whose edges may be random and may be chosen freely.

Most environments have one component. Several components move together as the synchronisations say: a vector
names, per component, the action that takes part (or None), and the label of the joint step. An edge without
action moves alone. With a single component and no vectors, every labelled edge moves alone too.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from surefoot.problem.flow import Flow
from surefoot.problem.term import TRUE, Const, Term


@dataclass(frozen=True, slots=True)
class Bool:
    """Truth values."""


@dataclass(frozen=True, slots=True)
class Int:
    """Integers; None = no bound on that side."""

    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Real:
    """Real numbers; None = no bound on that side. `float32`: only the float32 numbers among them."""

    low: Fraction | None = None
    high: Fraction | None = None
    float32: bool = False


@dataclass(frozen=True, slots=True)
class Array:
    """A fixed number of values of one kind (which may be an array)."""

    element: Kind
    length: int


Kind: TypeAlias = Bool | Int | Real | Array


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class Control:
    """A continuous action: the policy's output becomes its value, clipped to the bounds."""

    name: str
    low: Fraction | None = None
    high: Fraction | None = None
    clipped: bool = True


@dataclass(frozen=True, slots=True)
class Law:
    """How simulation draws a chosen value: `uniform(low, high)`, `normal(mean, deviation)`."""

    name: str
    parameters: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that the environment picks freely; `law` is used by simulation only."""

    name: str
    kind: Kind
    law: Law | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """`target := value`; target is a `Var` or an array element. Equal `index`: at once; lower ones first."""

    target: Term
    value: Term
    index: int = 0


@dataclass(frozen=True, slots=True)
class Outcome:
    probability: Term = Const(1)
    updates: tuple[Update, ...] = ()
    rewards: tuple[tuple[str, Term], ...] = ()
    target: str = "here"


@dataclass(frozen=True, slots=True)
class Edge:
    """A step of one component: enabled in `source` when `guard` holds; `chosen` satisfies `assuming`."""

    source: str = "here"
    action: str | None = None
    guard: Term = TRUE
    chosen: tuple[Choice, ...] = ()
    assuming: Term = TRUE
    outcomes: tuple[Outcome, ...] = (Outcome(),)


@dataclass(frozen=True, slots=True)
class Component:
    name: str
    edges: tuple[Edge, ...]
    locations: tuple[str, ...] = ("here",)
    initial: tuple[str, ...] = ("here",)


@dataclass(frozen=True, slots=True)
class Synchronisation:
    """Per component (in order) the action that takes part or None; `result` labels the joint step."""

    actions: tuple[str | None, ...]
    result: str | None = None


class Arithmetic(Enum):
    EXACT = "exact"  # rationals
    FLOAT64 = "float64"  # IEEE double, operations in the order written: `problem/number.py` has the rule


@dataclass(frozen=True, slots=True)
class Environment:
    name: str
    variables: tuple[Variable, ...]
    initial: Term
    components: tuple[Component, ...]
    controls: tuple[Control, ...] = ()
    synchronisations: tuple[Synchronisation, ...] = ()
    arithmetic: Arithmetic = Arithmetic.EXACT
    flow: Flow | None = None  # replaced by updates in `transform/discretise.py` before anything runs
    overapproximate: bool = False  # more runs than the real system has: a trace may be spurious
    notes: tuple[str, ...] = field(default=())  # what a reader must know: dropped branches, normalisation
