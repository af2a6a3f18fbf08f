"""One rule of a program in units of its own: every variable is between -1 and 1 on the domain."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from itertools import product
from math import ulp
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.query.polynomial import Polynomial, polynomial_from_constant, polynomial_from_variable
from surefoot.reductions.barrier import (
    ControlSystem,
    FlowpipeBounds,
    barrier_rows,
    polynomial_box_range,
    polynomial_change_bound,
    polynomial_of,
)
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Op, Term, Var
from surefoot.term.traverse import Leaf, fold_term

Range = tuple[Fraction, Fraction]
Case = Sequence[tuple[Term, Term]]  # comparisons: the first is at most the second
SPARE = Fraction(101, 100)
_Magnitude: TypeAlias = tuple[float, float]  # size and error


class Unproved(Exception):
    """A condition for which no proof was found."""


@dataclass(frozen=True, slots=True)
class ScaledSystem:
    """The polynomials of a system over a domain; `units`: centre and half width of each variable."""

    system: ControlSystem
    then: tuple[Term, ...]
    domain: tuple[Range, ...]
    units: tuple[tuple[Fraction, Fraction], ...]  # of variables, then of disturbances
    own: FlowpipeBounds | None = None  # in continuous time: of a period under the rule
    proposed: FlowpipeBounds | None = None  # of a period under any controls, if somebody may propose some
    others: tuple[
        FlowpipeBounds, ...
    ] = ()  # of such periods from the sets of other rules, which may end in this one

    @property
    def observed_domain(self) -> tuple[Range, ...]:
        """Where states are that are seen in the domain: in continuous time they are rounded by reading."""
        system = self.system
        if system.motion is None or not system.rounded:
            return self.domain
        errors = [reading_error(max(abs(low), abs(high))) for low, high in self.domain]
        return tuple((low - e, high + e) for (low, high), e in zip(self.domain, errors, strict=True))

    def sizes(self) -> list[Fraction]:
        """Of the variables in the units of the plane."""
        pairs = zip(self.observed_domain, self.units, strict=False)
        return [max(abs(low - centre), abs(high - centre)) / unit for (low, high), (centre, unit) in pairs]

    def change_bound(self, polynomial: Polynomial, by: Sequence[Fraction]) -> Fraction:
        """How much a polynomial of the variables changes at most if each of them does by so much."""
        rest = [Fraction(0)] * (self.size - len(by))
        moves = [step / unit for step, (_, unit) in zip(by, self.units, strict=False)]
        return polynomial_change_bound(polynomial, [*self.sizes(), *rest], [*moves, *rest])

    def condition(self, term: Term) -> Polynomial:
        """A side of a comparison of the state."""
        return polynomial_of(term, self.names(), self.size, self.system.compares_rounded)

    def between(self, case: Case) -> list[Fraction]:
        """How much each comparison may change between two times at which the state is seen.

        A single affine one is convex: what counts is how far the state is from the line between the two.
        """
        known = [b for b in (self.own, self.proposed, *self.others) if b is not None]
        gaps = [self.condition(right) - self.condition(left) for left, right in case]
        alone = len(gaps) == 1 and gaps[0].degree <= 1
        ways = [b.chord if alone else b.half for b in known]
        return [
            Fraction(float(max(self.change_bound(gap, by) for by in ways) * SPARE)) if ways else Fraction(0)
            for gap in gaps
        ]

    def prediction_error(self, of: FlowpipeBounds) -> tuple[Fraction, ...]:
        """How far the state after a period may be from the predicted one."""
        return tuple(Fraction(float(step * SPARE)) for step in of.step)

    @property
    def size(self) -> int:
        return len(self.units)

    @property
    def states(self) -> tuple[int, ...]:
        return tuple(range(len(self.system.variables)))

    @property
    def everything(self) -> tuple[int, ...]:
        return tuple(range(self.size))

    def constant(self, value: int | Fraction) -> Polynomial:
        return polynomial_from_constant(value, self.size)

    def names(self) -> dict[str, Polynomial]:
        system = self.system
        named = (*system.variables, *(n for n, _ in system.disturbances))
        return {
            name: polynomial_from_variable(i, self.size).times(unit) + self.constant(centre)
            for i, (name, (centre, unit)) in enumerate(zip(named, self.units, strict=True))
        }

    def names_with_controls(self) -> dict[str, Polynomial]:
        """The same in a ring with a variable of its own for every control, which come last."""
        controls = [name for name, _, _ in self.system.controls]
        more, total = (0,) * len(controls), self.size + len(controls)
        own = {
            name: Polynomial({(*m, *more): c for m, c in p.terms.items()}) for name, p in self.names().items()
        }
        return own | {n: polynomial_from_variable(self.size + i, total) for i, n in enumerate(controls)}

    def of(self, term: Term, names: Mapping[str, Polynomial] | None = None) -> Polynomial:
        return polynomial_of(term, names or self.names(), self.size, self.system.rounded)

    def within(self, box: Sequence[Range], first: int = 0) -> list[Polynomial]:
        """Two constraints for each variable from `first` on: not below its range, not above."""
        names = list(self.names().values())[first : first + len(box)]
        found = []
        for name, (low, high) in zip(names, box, strict=True):
            found += [
                name - self.constant(low),
                self.constant(high) - name,
            ]
        return found

    def disturbance_constraints(self) -> list[Polynomial]:
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
            between = [value - self.constant(low)] if low is not None else []
            between += [self.constant(high) - value] if high is not None else []
            cases = [(value, between)]
            if low is not None and at_low:
                cases.append(
                    (
                        self.constant(low),
                        [self.constant(low) - value],
                    )
                )
            if high is not None and at_high:
                cases.append(
                    (
                        self.constant(high),
                        [value - self.constant(high)],
                    )
                )
            choices.append(cases)
        for combination in product(*choices):
            yield [v for v, _ in combination], [c for _, several in combination for c in several]

    def following(self, controls: Sequence[Polynomial]) -> list[Polynomial]:
        """The next value of each variable, in the system's own units."""
        names = self.names() | {n: v for (n, _, _), v in zip(self.system.controls, controls, strict=True)}
        return [self.of(t, names) for t in self.system.next]

    def substitution(self, following: Sequence[Polynomial]) -> list[Polynomial]:
        """What takes the place of the variables behind a step, in the units of the plane; no disturbances."""
        moved = [
            (value - self.constant(centre)).times(1 / unit)
            for value, (centre, unit) in zip(following, self.units, strict=False)
        ]
        return [*moved, *([self.constant(0)] * len(self.system.disturbances))]


def scale_system(
    system: ControlSystem, then: tuple[Term, ...], domain: Sequence[Range], *, tested: bool = False
) -> ScaledSystem:
    """`tested`: in continuous time others may propose controls, if these have two ends."""
    ranges = [*domain, *(r for _, r in system.disturbances)]
    units = tuple(((low + high) / 2, _power_of_two_unit(low, high)) for low, high in ranges)
    found = ScaledSystem(system, then, tuple(domain), units)
    if (period := system.period) is None:
        return found
    controls, errors = _control_ranges(found)
    own = period.bounds(found.observed_domain, controls, errors)
    ends = [(low, high) for _, low, high in found.ends() if low is not None and high is not None]
    proposed = None
    if tested and len(ends) == len(system.controls):
        proposed = period.bounds(found.observed_domain, ends, [Fraction(0)] * len(ends))
        own = own if proposed is not None else None
    if own is None:
        raise Unproved("no box is found that solutions do not leave within a period")
    return replace(found, own=own, proposed=proposed)


def _control_ranges(where: ScaledSystem) -> tuple[list[Range], list[Fraction]]:
    """Where the controls of the rule are, and how far they may be from their values."""
    sizes = [(-s, s) for s in where.sizes()]
    box = [*sizes, *([(Fraction(0), Fraction(0))] * (where.size - len(sizes)))]
    controls, errors = [], []
    for then, (value, least, most) in zip(where.then, where.ends(), strict=True):
        low, high = polynomial_box_range(value, box)
        error = (
            Fraction(bound_rounding_error(then, variable_magnitudes(where))[1]) * SPARE
            if where.system.rounded
            else Fraction(0)
        )
        ends = [low - error, high + error]
        ends = [max(end, least) for end in ends] if least is not None else ends
        ends = [min(end, most) for end in ends] if most is not None else ends
        controls.append((ends[0], ends[1]))
        errors.append(error)
    return controls, errors


def reading_error(size: Fraction) -> Fraction:
    """How far a number of this size may be from the double that it is read as."""
    return size / 2**52 + Fraction(1, 2**120)


def variable_magnitudes(where: ScaledSystem) -> dict[str, tuple[float, float]]:
    """Of the variables as a program has them: their sizes, and how far they may be from the state."""
    found = {}
    for name, (low, high) in zip(where.system.variables, where.observed_domain, strict=True):
        size = max(abs(low), abs(high))
        error = float(reading_error(size)) if where.system.motion is not None else 0.0
        found[name] = (float(size), error)
    return found


def _power_of_two_unit(low: Fraction, high: Fraction) -> Fraction:
    """Half the width, to a power of two."""
    half, unit = (high - low) / 2, Fraction(1)
    if not half:
        return unit
    while unit > half:
        unit /= 2
    while unit * 2 <= half:
        unit *= 2
    return unit


def bound_barrier_shift(
    system: ControlSystem, barrier: Term, domain: Sequence[Range], by: Sequence[Fraction]
) -> Fraction:
    """How much a barrier changes at most if every variable of the domain does by so much; a little more."""
    rows = [system.state_polynomial(row) for row in barrier_rows(barrier)]
    total = max(
        polynomial_change_bound(row, [max(abs(low), abs(high)) for low, high in domain], by) for row in rows
    )
    return Fraction(float(total)) * SPARE


def bound_rounding_error(term: Term, sizes: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """Upper bounds of a term's size and of its rounding errors in float64, in floats: with some to spare.

    The checker computes its own; if these were too small it would refuse, never accept.
    """

    def leaf(part: Leaf) -> _Magnitude:
        return sizes[part.name] if isinstance(part, Var) else (abs(float(part.value)), 0.0)

    return fold_term(term, leaf, _rounded_magnitude)


def _rounded_magnitude(term: Apply, parts: list[_Magnitude]) -> _Magnitude:
    match term.op:
        case Op.ADD | Op.SUB:
            return reduce(_add_magnitudes, parts)
        case Op.MUL:
            return reduce(_multiply_magnitudes, parts)
        case Op.NEG:
            return parts[0]
        case Op.MAX:
            return max(size for size, _ in parts), max(error for _, error in parts)
        case Op.DIV:
            (size, error), (by, _) = parts
            return size / by, error / by + 1.2e-16 * (size + error) / by + ulp(0.0) * 2
        case Op.POW:
            return reduce(_multiply_magnitudes, [parts[0]] * max(1, int(parts[1][0])))
        case _:
            raise Unsupported(f"`{show_term(term)}` is not a polynomial")


def _add_magnitudes(left: _Magnitude, right: _Magnitude) -> _Magnitude:
    (size, error), (s, e) = left, right
    return size + s, error + e + 1.2e-16 * (size + s + error + e)


def _multiply_magnitudes(left: _Magnitude, right: _Magnitude) -> _Magnitude:
    (size, error), (s, e) = left, right
    crossed = size * e + s * error + error * e
    return size * s, crossed + 1.2e-16 * (size * s + crossed) + ulp(0.0) * 2
