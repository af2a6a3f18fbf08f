"""What a random problem consists of, as data that both surefoot's files and the oracle are made from."""

from dataclasses import dataclass, field
from fractions import Fraction

from tests.laws.oracle.terms import Term, Value


@dataclass(frozen=True)
class Kind:
    """`bool`, `int`, `real` with limits (None: open), or an array of `length` entries of such a kind."""

    base: str
    low: Value | None = None
    high: Value | None = None
    length: int | None = None

    @property
    def entry(self) -> "Kind":
        return Kind(self.base, self.low, self.high)

    def contains(self, value: Value) -> bool:
        if self.length is not None:
            return (
                isinstance(value, tuple)
                and len(value) == self.length
                and all(map(self.entry.contains, value))
            )
        if self.base == "bool":
            return isinstance(value, bool)
        if isinstance(value, bool) or (self.base == "int" and Fraction(value).denominator != 1):
            return False
        return (self.low is None or self.low <= value) and (self.high is None or value <= self.high)


@dataclass(frozen=True)
class Variable:
    name: str
    kind: Kind
    starts: tuple[Value, ...] | None = None  # None: every value of its kind


@dataclass(frozen=True)
class Update:
    name: str
    value: Term
    index: Term | None = None  # of an array
    order: int = 0


@dataclass(frozen=True)
class Outcome:
    updates: tuple[Update, ...] = ()
    probability: Term = 1
    rewards: tuple[tuple[str, Term], ...] = ()
    target: str | None = None


@dataclass(frozen=True)
class Choice:
    """A value that the environment picks: of a finite kind, or a candidate (`assuming` lists them)."""

    name: str
    kind: Kind
    candidates: tuple[Term, ...] | None = None


@dataclass(frozen=True)
class Edge:
    action: str | None = None
    guard: Term = True
    outcomes: tuple[Outcome, ...] = (Outcome(),)
    chosen: tuple[Choice, ...] = ()
    assuming: Term = True
    source: str | None = None


@dataclass(frozen=True)
class Component:
    name: str
    edges: tuple[Edge, ...]
    locations: tuple[str, ...] = ()
    initial: tuple[str, ...] = ()
    values: tuple[tuple[str, str, Term], ...] = ()  # (location, transient variable, its value there)


@dataclass(frozen=True)
class Synchronisation:
    actions: tuple[tuple[str, str], ...]  # (component, action)
    result: str | None
    named: bool = True  # whether the file says what the result is called


@dataclass(frozen=True)
class Layer:
    weights: tuple[tuple[int, ...], ...]  # one row per output
    bias: tuple[int, ...]


@dataclass(frozen=True)
class Policy:
    """A program (`branches`: condition and action or controls), or a network, ReLU between its layers."""

    branches: tuple[tuple[Term, object], ...] | None = None
    layers: tuple[Layer, ...] = ()
    observe: tuple[Term, ...] = ()
    actions: tuple[str, ...] | None = None  # None for a program: every label
    edges_of: str | None = None
    order: tuple[int, ...] | None = None
    choose: str = "argmax"


@dataclass(frozen=True)
class Control:
    name: str
    low: Value | None
    high: Value | None
    clipped: bool = True


@dataclass(frozen=True)
class Model:
    name: str
    variables: tuple[Variable, ...]
    components: tuple[Component, ...]
    synchronisations: tuple[Synchronisation, ...] | None = None
    initial: Term = True
    policy: Policy | None = None
    controls: tuple[Control, ...] = ()
    windows: tuple[tuple[str, int, Kind], ...] = ()
    transients: tuple[tuple[str, Kind, Value], ...] = ()
    jani: bool = False
    float64: bool = False
    features: frozenset[str] = field(default_factory=frozenset)
