"""One rule of a program in units of its own: every variable is between -1 and 1 on the domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ulp

from surefoot.encode.barrier import System, polynomial_of
from surefoot.errors import Unsupported
from surefoot.problem.show import show
from surefoot.problem.term import Apply, Const, Op, Term, Var
from surefoot.query.polynomial import Polynomial, constant, variable

Range = tuple[Fraction, Fraction]


@dataclass(frozen=True, slots=True)
class Plane:
    """The polynomials of a system over a domain; `units`: centre and half width of each variable."""

    system: System
    then: tuple[Term, ...]
    domain: tuple[Range, ...]
    units: tuple[tuple[Fraction, Fraction], ...]  # of variables, then of disturbances

    @property
    def size(self) -> int:
        return len(self.units)

    @property
    def states(self) -> tuple[int, ...]:
        return tuple(range(len(self.system.variables)))

    @property
    def everything(self) -> tuple[int, ...]:
        return tuple(range(self.size))

    def names(self) -> dict[str, Polynomial]:
        system = self.system
        named = (*system.variables, *(n for n, _ in system.disturbances))
        return {
            name: variable(i, self.size).times(unit) + constant(centre, self.size)
            for i, (name, (centre, unit)) in enumerate(zip(named, self.units, strict=True))
        }

    def of(self, term: Term, names: Mapping[str, Polynomial] | None = None) -> Polynomial:
        return polynomial_of(term, names or self.names(), self.size, self.system.rounded)

    def within(self, box: Sequence[Range], first: int = 0) -> list[Polynomial]:
        """Two constraints for each variable from `first` on: not below its range, not above."""
        names = list(self.names().values())[first : first + len(box)]
        found = []
        for name, (low, high) in zip(names, box, strict=True):
            found += [name - constant(low, self.size), constant(high, self.size) - name]
        return found

    def disturbed(self) -> list[Polynomial]:
        return self.within([r for _, r in self.system.disturbances], len(self.system.variables))

    def ends(self) -> Iterator[tuple[Polynomial, Fraction | None, Fraction | None]]:
        """The value of each control, and its ends as they are computed with."""
        for then, (_, low, high) in zip(self.then, self.system.controls, strict=True):
            yield self.of(then), self._end(low), self._end(high)

    def _end(self, end: Fraction | None) -> Fraction | None:
        return Fraction(float(end)) if end is not None and self.system.rounded else end

    def modes(
        self, reached: Sequence[tuple[bool, bool]]
    ) -> Iterator[tuple[list[Polynomial], list[Polynomial]]]:
        """Values of the controls and constraints, case by case; `reached`: which ends of each control."""
        choices = []
        for (value, low, high), (at_low, at_high) in zip(self.ends(), reached, strict=True):
            between = [value - constant(low, self.size)] if low is not None else []
            between += [constant(high, self.size) - value] if high is not None else []
            cases = [(value, between)]
            if low is not None and at_low:
                cases.append((constant(low, self.size), [constant(low, self.size) - value]))
            if high is not None and at_high:
                cases.append((constant(high, self.size), [value - constant(high, self.size)]))
            choices.append(cases)
        for combination in product(*choices):
            yield [v for v, _ in combination], [c for _, several in combination for c in several]

    def following(self, controls: Sequence[Polynomial]) -> list[Polynomial]:
        """The next value of each variable, in the system's own units."""
        names = self.names() | {n: v for (n, _, _), v in zip(self.system.controls, controls, strict=True)}
        return [self.of(t, names) for t in self.system.next]


def plane(system: System, then: tuple[Term, ...], domain: Sequence[Range]) -> Plane:
    ranges = [*domain, *(r for _, r in system.disturbances)]
    units = tuple(((low + high) / 2, _unit(low, high)) for low, high in ranges)
    return Plane(system, then, tuple(domain), units)


def _unit(low: Fraction, high: Fraction) -> Fraction:
    """Half the width, to a power of two."""
    half, unit = (high - low) / 2, Fraction(1)
    if not half:
        return unit
    while unit > half:
        unit /= 2
    while unit * 2 <= half:
        unit *= 2
    return unit


def shift(system: System, barrier: Term, domain: Sequence[Range], by: Sequence[Fraction]) -> Fraction:
    """How much a barrier changes at most if every variable of the domain does by so much; a little more."""
    count = len(domain)
    names = {n: variable(i, count) for i, n in enumerate(system.variables)}
    total = Fraction(0)
    for monomial, coefficient in polynomial_of(barrier, names, count, system.rounded).terms.items():
        still, moved = Fraction(1), Fraction(1)
        for (low, high), change, exponent in zip(domain, by, monomial, strict=True):
            size = max(abs(low), abs(high))
            still, moved = still * size**exponent, moved * (size + change) ** exponent
        total += abs(coefficient) * (moved - still)
    return Fraction(float(total)) * Fraction(101, 100)


def rounding(term: Term, sizes: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """Upper bounds of a term's size and of its rounding errors in float64, in floats: with some to spare.

    The checker computes its own; if these were too small it would refuse, never accept.
    """
    match term:
        case Apply(Op.ADD | Op.SUB, parts):
            size, error = rounding(parts[0], sizes)
            for part in parts[1:]:
                s, e = rounding(part, sizes)
                size, error = size + s, error + e + 1.2e-16 * (size + s + error + e)
            return size, error
        case Apply(Op.MUL, parts):
            size, error = rounding(parts[0], sizes)
            for part in parts[1:]:
                s, e = rounding(part, sizes)
                crossed = size * e + s * error + error * e
                size, error = size * s, crossed + 1.2e-16 * (size * s + crossed) + ulp(0.0) * 2
            return size, error
        case Apply(Op.NEG, (inner,)):
            return rounding(inner, sizes)
        case Apply(Op.DIV, (left, right)):
            size, error = rounding(left, sizes)
            by = rounding(right, sizes)[0]
            return size / by, error / by + 1.2e-16 * (size + error) / by + ulp(0.0) * 2
        case Apply(Op.POW, (base, exponent)):
            count = int(rounding(exponent, sizes)[0])
            return rounding(Apply(Op.MUL, (base,) * count) if count > 1 else base, sizes)
        case Var(name):
            return sizes[name]
        case Const(value):
            return abs(float(value)), 0.0
        case _:
            raise Unsupported(f"`{show(term)}` is not a polynomial")
