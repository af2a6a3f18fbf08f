"""History buffers: the variables of a sliding window and the shift that each step performs, written once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from surefoot.problem.environment import Environment, Outcome, Update, Variable
from surefoot.term.arguments import check_fields, take_text, whole_number
from surefoot.term.term import Term, Var
from surefoot.term.value_types import ValueType, take_value_type


@dataclass(frozen=True, slots=True)
class Window:
    """`length` past values of a quantity: `name_0` is the oldest, `name_{length-1}` the newest."""

    name: str
    length: int
    kind: ValueType

    def __post_init__(self) -> None:
        check_fields(self, name=take_text, length=whole_number, kind=take_value_type)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}_{i}" for i in range(self.length))

    @property
    def variables(self) -> tuple[Variable, ...]:
        return tuple(Variable(n, self.kind) for n in self.names)

    @property
    def terms(self) -> tuple[Var, ...]:
        return tuple(Var(n) for n in self.names)

    def shift(self, newest: Term) -> tuple[Update, ...]:
        """Forget the oldest value, move the others down, append `newest`."""
        values = (*self.terms[1:], newest)
        return tuple(Update(old, new) for old, new in zip(self.terms, values, strict=True))


def window(name: str, length: int, kind: ValueType) -> Window:
    """A history buffer of `length` values of one kind.

    >>> from surefoot import Real, window
    >>> [variable.name for variable in window("delay", 3, Real(0, 1)).variables]
    ['delay_0', 'delay_1', 'delay_2']
    """
    return Window(name, length, kind)


def interleave_windows(*windows: Window) -> tuple[Var, ...]:
    """All windows time-major: first every window's oldest value, last every window's newest."""
    return tuple(w.terms[i] for i in range(windows[0].length) for w in windows)


def windows_of(environment: Environment) -> tuple[Window, ...]:
    """The history buffers among the variables: named `x_0`, `x_1`, …, and shifted by every step that writes.

    Longest first where one name could belong to two; buffers of one value are ordinary variables.
    """
    kinds = {v.name: v.kind for v in environment.variables}
    stems = dict.fromkeys(name.rpartition("_")[0] for name in kinds if name.endswith("_0"))
    found = []
    for stem in stems:
        length = 0
        while kinds.get(f"{stem}_{length}") == kinds[f"{stem}_0"]:
            length += 1
        buffer = Window(stem, length, kinds[f"{stem}_0"])
        if length > 1 and _always_shifted(buffer, environment):
            found.append(buffer)
    return tuple(found)


def _always_shifted(buffer: Window, environment: Environment) -> bool:
    """Some step shifts the buffer, and no step does anything else with it."""
    shifted = False
    for outcome in _iterate_outcomes(environment):
        written = {u.target: u.value for u in outcome.updates if u.target in buffer.terms}
        if not written:
            continue
        moved = dict(zip(buffer.terms[:-1], buffer.terms[1:], strict=True))
        if {t: v for t, v in written.items() if t != buffer.terms[-1]} != moved:
            return False
        shifted = buffer.terms[-1] in written
        if not shifted:
            return False
    return shifted


def _iterate_outcomes(environment: Environment) -> Iterator[Outcome]:
    for component in environment.components:
        for edge in component.edges:
            yield from edge.outcomes
