"""Where the policy acts: variables, starts, and automata whose edges may be random and may be chosen freely.

Most environments have one component. Several components move together as the synchronisations say: a vector
names, per component, the action that takes part (or None), and the label of the joint step. An edge without
action moves alone. With a single component and no vectors, every labelled edge moves alone too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from surefoot.problem.door import (
    exact_number,
    limit,
    member,
    one_of,
    optional,
    settle,
    several,
    text,
    truth,
    whole_number,
)
from surefoot.problem.flow import Flow
from surefoot.problem.term import TRUE, Const, Term, substitute, take_named, term


@dataclass(frozen=True, slots=True)
class Bool:
    """Truth values."""


@dataclass(frozen=True, slots=True)
class Int:
    """Integers; None = no bound on that side."""

    low: int | None = None
    high: int | None = None

    def __post_init__(self) -> None:
        settle(self, low=optional(whole_number), high=optional(whole_number))


@dataclass(frozen=True, slots=True)
class Real:
    """Real numbers; None = no bound on that side. `float32`: only the float32 numbers among them."""

    low: Fraction | None = None
    high: Fraction | None = None
    float32: bool = False

    def __post_init__(self) -> None:
        settle(self, low=limit, high=limit, float32=truth)


@dataclass(frozen=True, slots=True)
class Array:
    """A fixed number of values of one kind (which may be an array)."""

    element: Kind
    length: int

    def __post_init__(self) -> None:
        settle(self, element=take_kind, length=whole_number)


Kind: TypeAlias = Bool | Int | Real | Array
take_kind = one_of(
    Bool, Int, Real, Array, fix="give Bool(), Int(low, high), Real(low, high) or Array(kind, length)"
)


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    kind: Kind

    def __post_init__(self) -> None:
        settle(self, name=text, kind=take_kind)


@dataclass(frozen=True, slots=True)
class Control:
    """A continuous action: the policy's output becomes its value, clipped to the bounds."""

    name: str
    low: Fraction | None = None
    high: Fraction | None = None
    clipped: bool = True

    def __post_init__(self) -> None:
        settle(self, name=text, low=limit, high=limit, clipped=truth)


@dataclass(frozen=True, slots=True)
class Law:
    """How simulation draws a chosen value: `uniform(low, high)`, `normal(mean, deviation)`."""

    name: str
    parameters: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        settle(self, name=text, parameters=several(exact_number, "numbers"))


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that the environment picks freely; `law` is used by simulation only."""

    name: str
    kind: Kind
    law: Law | None = None

    def __post_init__(self) -> None:
        settle(self, name=text, kind=take_kind, law=optional(one_of(Law)))


@dataclass(frozen=True, slots=True)
class Update:
    """`target := value`; target is a `Var` or an array element. Equal `index`: at once; lower ones first."""

    target: Term
    value: Term
    index: int = 0

    def __post_init__(self) -> None:
        settle(self, target=term, value=term, index=whole_number)


@dataclass(frozen=True, slots=True)
class Outcome:
    probability: Term = Const(1)
    updates: tuple[Update, ...] = ()
    rewards: tuple[tuple[str, Term], ...] = ()
    target: str = "here"

    def __post_init__(self) -> None:
        settle(self, probability=term, updates=_updates, rewards=take_named, target=text)


def _updates(given: object) -> object:
    """Updates, also written as {x: x + 1}: all at once."""
    if isinstance(given, Mapping):
        return tuple(Update(target, value) for target, value in given.items())
    return several(one_of(Update, fix="give Update(x, x + 1)"), "updates")(given)


@dataclass(frozen=True, slots=True)
class Edge:
    """A step of one component: enabled in `source` when `guard` holds; `chosen` satisfies `assuming`."""

    source: str = "here"
    action: str | None = None
    guard: Term = TRUE
    chosen: tuple[Choice, ...] = ()
    assuming: Term = TRUE
    outcomes: tuple[Outcome, ...] = (Outcome(),)

    def __post_init__(self) -> None:
        settle(
            self,
            source=text,
            action=optional(text),
            guard=term,
            chosen=several(one_of(Choice), "choices"),
            assuming=term,
            outcomes=several(one_of(Outcome), "outcomes"),
        )


@dataclass(frozen=True, slots=True)
class Component:
    name: str
    edges: tuple[Edge, ...]
    locations: tuple[str, ...] = ("here",)
    initial: tuple[str, ...] = ("here",)

    def __post_init__(self) -> None:
        names = several(text, "names of locations")
        settle(self, name=text, edges=several(one_of(Edge), "edges"), locations=names, initial=names)


@dataclass(frozen=True, slots=True)
class Synchronisation:
    """Per component (in order) the action that takes part or None; `result` labels the joint step."""

    actions: tuple[str | None, ...]
    result: str | None = None

    def __post_init__(self) -> None:
        settle(self, actions=several(optional(text), "actions"), result=optional(text))


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
    definitions: tuple[
        tuple[str, Term], ...
    ] = ()  # names of terms that questions may use: see `expand_definitions`
    normalised: tuple[str, ...] = ()  # edges whose probabilities were divided by their sum, near 1 but not 1
    notes: tuple[str, ...] = field(default=())  # what a reader must know: dropped branches, normalisation

    def __post_init__(self) -> None:
        settle(
            self,
            name=text,
            variables=several(one_of(Variable), "variables"),
            initial=term,
            components=several(one_of(Component), "components"),
            controls=several(one_of(Control), "controls"),
            synchronisations=several(one_of(Synchronisation), "synchronisations"),
            arithmetic=member(Arithmetic),
            flow=optional(one_of(Flow)),
            overapproximate=truth,
            definitions=take_named,
            normalised=several(text, "names of edges"),
            notes=several(text, "notes"),
        )


def expand_definitions(asked: Term, environment: Environment) -> Term:
    """What is asked, with the terms that its names stand for."""
    return substitute(asked, dict(environment.definitions)) if environment.definitions else asked
