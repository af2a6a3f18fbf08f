"""History buffers: the variables of a sliding window and the shift that each step performs, written once."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.problem.environment import Kind, Update, Variable
from surefoot.problem.term import Term, Var


@dataclass(frozen=True, slots=True)
class Window:
    """`length` past values of a quantity: `name_0` is the oldest, `name_{length-1}` the newest."""

    name: str
    length: int
    kind: Kind

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


def window(name: str, length: int, kind: Kind) -> Window:
    """A history buffer of `length` values of one kind."""
    return Window(name, length, kind)


def interleave(*windows: Window) -> tuple[Var, ...]:
    """All windows time-major: first every window's oldest value, last every window's newest."""
    return tuple(w.terms[i] for i in range(windows[0].length) for w in windows)
