"""Where the policy acts: variables, starts, and automata whose edges may be random and may be chosen freely.

Most environments have one component. Several components move together as the synchronisations say: a vector
names, per component, the action that takes part (or None), and the label of the joint step. An edge without
action moves alone. With a single component and no vectors, every labelled edge moves alone too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from surefoot.errors import WrongType
from surefoot.problem.flow import Flow
from surefoot.term.arguments import (
    check_fields,
    describe_value,
    exact_number,
    take_bool,
    take_enum,
    take_instance,
    take_limit,
    take_optional,
    take_text,
    take_tuple,
    whole_number,
)
from surefoot.term.term import TRUE, Const, Term, take_named, term_from_python
from surefoot.term.traverse import substitute_names
from surefoot.term.value_types import Arithmetic, ValueType, take_value_type


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    kind: ValueType

    def __post_init__(self) -> None:
        check_fields(self, name=take_text, kind=take_value_type)


@dataclass(frozen=True, slots=True)
class Control:
    """A continuous action: the policy's output becomes its value, clipped to the bounds."""

    name: str
    low: Fraction | None = None
    high: Fraction | None = None
    clipped: bool = True

    def __post_init__(self) -> None:
        check_fields(self, name=take_text, low=take_limit, high=take_limit, clipped=take_bool)


@dataclass(frozen=True, slots=True)
class Law:
    """How simulation draws a chosen value: `uniform(low, high)`, `normal(mean, deviation)`."""

    name: str
    parameters: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        check_fields(self, name=take_text, parameters=take_tuple(exact_number, "numbers"))


@dataclass(frozen=True, slots=True)
class Choice:
    """A value that the environment picks freely; `law` is used by simulation only."""

    name: str
    kind: ValueType
    law: Law | None = None

    def __post_init__(self) -> None:
        check_fields(self, name=take_text, kind=take_value_type, law=take_optional(take_instance(Law)))


@dataclass(frozen=True, slots=True)
class Update:
    """`target := value`; target is a `Var` or an array element. Equal `index`: at once; lower ones first."""

    target: Term
    value: Term
    index: int = 0

    def __post_init__(self) -> None:
        check_fields(self, target=term_from_python, value=term_from_python, index=whole_number)


@dataclass(frozen=True, slots=True)
class Outcome:
    probability: Term = Const(1)
    updates: tuple[Update, ...] = ()
    rewards: tuple[tuple[str, Term], ...] = ()
    target: str = "here"

    def __post_init__(self) -> None:
        check_fields(
            self, probability=term_from_python, updates=_take_updates, rewards=take_named, target=take_text
        )


def _take_updates(given: object) -> object:
    """Updates, also written as {x: x + 1}: all at once."""
    if isinstance(given, Mapping):
        return tuple(Update(target, value) for target, value in given.items())
    return take_tuple(take_instance(Update, fix="give Update(x, x + 1)"), "updates")(given)


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
        check_fields(
            self,
            source=take_text,
            action=take_optional(take_text),
            guard=term_from_python,
            chosen=take_tuple(take_instance(Choice), "choices"),
            assuming=term_from_python,
            outcomes=take_tuple(take_instance(Outcome), "outcomes"),
        )


@dataclass(frozen=True, slots=True)
class Component:
    name: str
    edges: tuple[Edge, ...]
    locations: tuple[str, ...] = ("here",)
    initial: tuple[str, ...] = ("here",)

    def __post_init__(self) -> None:
        names = take_tuple(take_text, "names of locations")
        check_fields(
            self,
            name=take_text,
            edges=take_tuple(take_instance(Edge), "edges"),
            locations=names,
            initial=names,
        )


@dataclass(frozen=True, slots=True)
class Synchronisation:
    """Per component (in order) the action that takes part or None; `result` labels the joint step."""

    actions: tuple[str | None, ...]
    result: str | None = None

    def __post_init__(self) -> None:
        check_fields(
            self, actions=take_tuple(take_optional(take_text), "actions"), result=take_optional(take_text)
        )


@dataclass(frozen=True, slots=True)
class Environment:
    name: str
    variables: tuple[Variable, ...]
    initial: Term
    components: tuple[Component, ...]
    controls: tuple[Control, ...] = ()
    synchronisations: tuple[Synchronisation, ...] = ()
    arithmetic: Arithmetic = Arithmetic.EXACT
    flow: Flow | None = None  # replaced by updates in `reductions/discretise.py` before anything runs
    overapproximate: bool = False  # more runs than the real system has: a trace may be spurious
    definitions: tuple[
        tuple[str, Term], ...
    ] = ()  # names of terms that questions may use: see `expand_definitions`
    normalised: tuple[str, ...] = ()  # edges whose probabilities were divided by their sum, near 1 but not 1
    notes: tuple[str, ...] = field(default=())  # what a reader must know: dropped branches, normalisation
    start_laws: tuple[tuple[str, Law], ...] = field(
        default=(), metadata={"unless_empty": True}
    )  # how simulation draws start values, given that `initial` holds; nothing else looks at them

    def __post_init__(self) -> None:
        check_fields(
            self,
            name=take_text,
            variables=take_tuple(take_instance(Variable), "variables"),
            initial=term_from_python,
            components=take_tuple(take_instance(Component), "components"),
            controls=take_tuple(take_instance(Control), "controls"),
            synchronisations=take_tuple(take_instance(Synchronisation), "synchronisations"),
            arithmetic=take_enum(Arithmetic),
            flow=take_optional(take_instance(Flow)),
            overapproximate=take_bool,
            definitions=take_named,
            normalised=take_tuple(take_text, "names of edges"),
            notes=take_tuple(take_text, "notes"),
            start_laws=_take_start_laws,
        )


def _take_start_laws(given: object) -> object:
    """Pairs of a variable and its law, also written as {"x": Law("uniform", (0, 1))}."""
    return _take_law_pairs(tuple(given.items()) if isinstance(given, Mapping) else given)


def _take_law_pair(given: object) -> object:
    match given:
        case (name, law):
            taken = (take_text(name), take_instance(Law)(law))
            return given if isinstance(given, tuple) else taken
    raise WrongType(
        f"{describe_value(given)} is not a pair of a name and a law", fix='give ("x", Law("uniform", (0, 1)))'
    )


_take_law_pairs = take_tuple(_take_law_pair, "pairs of a name and a law")


def expand_definitions(asked: Term, environment: Environment) -> Term:
    """What is asked, with the terms that its names stand for."""
    return substitute_names(asked, dict(environment.definitions)) if environment.definitions else asked
