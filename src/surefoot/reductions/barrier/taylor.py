"""Differential equations with controls that are held: Taylor polynomials and what they leave out.

x' = f(x, u, d) for one period h, the control u held, the disturbance d any measurable function within its
ranges, in which f is affine. Let f0 be f for the middle of d, g1 = f0 and g(k+1) = Dgk f0. Then x(h) is

    x + h f(x, u, mean of d) + h^2/2 g2(x, u) + ... + h^p/p! gp(x, u)

but for h^2/2 |D(f - f0) f|, h^(k+1)/(k+1)! |Dgk (f - f0)| for k < p, and h^(p+1)/(p+1)! |Dgp f|, all of them
over a box that no solution leaves within the period: E with X + [0, h] f(E) inside of E (Picard, Lindelöf).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from math import factorial
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.query.polynomial import Monomial, Polynomial, polynomial_from_constant, polynomial_from_variable
from surefoot.reductions.barrier.horner import horner_term
from surefoot.reductions.barrier.polynomials import polynomial_of
from surefoot.term.term import Term

Range: TypeAlias = tuple[Fraction, Fraction]
_Disturbances: TypeAlias = tuple[tuple[str, Range], ...]
ITERATIONS, HIGHEST = 40, 4  # of the search for an enclosure; order
_FAR = 10**30  # solutions that may come so far are given up
_WIDER = Fraction(1, 16)  # of what one period changes: an enclosure is looked for that is a little too large


@dataclass(frozen=True, slots=True)
class SampledFlow:
    """The derivative of each variable; controls are held for `period`; `order`: of the Taylor polynomials."""

    derivatives: tuple[Term, ...]
    period: Fraction
    order: int


@dataclass(frozen=True, slots=True)
class _VectorField:
    """f and f0 as polynomials in variables, controls, disturbances and once more disturbances."""

    size: int
    rates: tuple[Polynomial, ...]
    steady: tuple[Polynomial, ...]
    again: tuple[Polynomial, ...]  # f with the second copy of the disturbances

    def along(self, values: Sequence[Polynomial], rates: Sequence[Polynomial]) -> list[Polynomial]:
        """Of each value how fast it changes if the variables change at these rates."""
        found = []
        for value in values:
            total = Polynomial({})
            for index, rate in enumerate(rates):
                total = total + _partial_derivative(value, index) * rate
            found.append(total)
        return found

    def series(self, order: int) -> list[list[Polynomial]]:
        """g1, g2, … as far as this order."""
        found = [list(self.steady)]
        while len(found) < order:
            found.append(self.along(found[-1], self.steady))
        return found


@dataclass(frozen=True, slots=True)
class FlowpipeBounds:
    """What is known of one period from a box of states."""

    enclosure: tuple[Range, ...]
    step: tuple[Fraction, ...]  # how far the state after it is from the Taylor polynomial
    chord: tuple[Fraction, ...]  # how far a state in between is from the line between the two
    half: tuple[Fraction, ...]  # how far it is from the nearer of the two


def _partial_derivative(polynomial: Polynomial, index: int) -> Polynomial:
    found: dict[Monomial, Fraction] = {}
    for monomial, coefficient in polynomial.terms.items():
        if exponent := monomial[index]:
            found[(*monomial[:index], exponent - 1, *monomial[index + 1 :])] = coefficient * exponent
    return Polynomial(found)


def _vector_field(
    motion: SampledFlow,
    variables: Sequence[str],
    controls: Sequence[str],
    disturbances: _Disturbances,
    centres: Sequence[Fraction],
) -> _VectorField:
    """Around these centres of variables and controls, and around the middle of every disturbance."""
    first = len(variables) + len(controls)
    size = first + 2 * len(disturbances)
    names = _shifted_variables((*variables, *controls), disturbances, centres, size)
    rates = tuple(polynomial_of(t, names, size, rounded=False) for t in motion.derivatives)
    if any(sum(m[first:]) > 1 for p in rates for m in p.terms):
        raise Unsupported(
            "in continuous time a disturbance may change at any time, so derivatives have to be affine in it",
            fix="write the derivatives without products or powers of disturbances",
        )
    steady = tuple(Polynomial({m: c for m, c in p.terms.items() if not any(m[first:])}) for p in rates)
    count = len(disturbances)

    def swap_disturbances(m: Monomial) -> Monomial:
        return (*m[:first], *m[first + count :], *m[first : first + count])

    again = tuple(Polynomial({swap_disturbances(m): c for m, c in p.terms.items()}) for p in rates)
    return _VectorField(size, rates, steady, again)


def _shifted_variables(
    named: Sequence[str], disturbances: _Disturbances, centres: Sequence[Fraction], size: int
) -> dict[str, Polynomial]:
    middles = [(low + high) / 2 for _, (low, high) in disturbances]
    whole = (*named, *(n for n, _ in disturbances))
    return {
        name: polynomial_from_variable(i, size) + polynomial_from_constant(centre, size)
        for i, (name, centre) in enumerate(zip(whole, (*centres, *middles), strict=True))
    }


def taylor_map(
    motion: SampledFlow,
    variables: Sequence[str],
    controls: Sequence[str],
    disturbances: _Disturbances,
    rounded: bool,
) -> tuple[SampledFlow, tuple[Term, ...]]:
    """The state after one period as terms; `rounded`: with numbers that are doubles.

    An order from 2 on is raised as far as that makes no degree higher: of linear systems, and integrators.
    """
    first = len(variables) + len(controls)
    field = _vector_field(motion, variables, controls, disturbances, [Fraction(0)] * first)
    if motion.order > 1:
        motion = replace(motion, order=_raise_order(field, motion.order))
    names = (*variables, *controls, *(n for n, _ in disturbances))
    back = [polynomial_from_variable(i, len(names)) for i in range(len(names))]
    for i, (_, (low, high)) in enumerate(disturbances, start=first):
        back[i] = back[i] - polynomial_from_constant((low + high) / 2, len(names))
    found = []
    for polynomial in _predict_state(field, motion):
        whole = Polynomial({m[: len(names)]: c for m, c in polynomial.terms.items()})
        whole = whole.substitute_variables(back, len(names))
        if rounded:
            doubles = {m: Fraction(float(c)) for m, c in whole.terms.items()}
            whole = Polynomial({m: c for m, c in doubles.items() if c})
        found.append(horner_term(whole, names))
    return motion, tuple(found)


def _raise_order(field: _VectorField, order: int) -> int:
    series = field.series(order)
    highest = max(p.degree for values in series for p in values)
    while order < HIGHEST:
        following = field.along(series[-1], field.steady)
        if max(p.degree for p in following) > highest:
            break
        series.append(following)
        order += 1
    return order


def _predict_state(field: _VectorField, motion: SampledFlow) -> list[Polynomial]:
    """By how much is left out of the centre: x - centre + h f + …."""
    found = [
        polynomial_from_variable(i, field.size) + rate.times(motion.period)
        for i, rate in enumerate(field.rates)
    ]
    for order, values in enumerate(field.series(motion.order)[1:], start=2):
        share = motion.period**order / factorial(order)
        found = [total + value.times(share) for total, value in zip(found, values, strict=True)]
    return found


def polynomial_box_range(polynomial: Polynomial, box: Sequence[Range]) -> Range:
    """Bounds over a box, monomial by monomial."""
    least = most = Fraction(0)
    for monomial, coefficient in polynomial.terms.items():
        low = high = coefficient
        for (a, b), exponent in zip(box, monomial, strict=True):
            if exponent:
                ends = [a**exponent, b**exponent, *([Fraction(0)] if a < 0 < b else [])]
                products = [x * y for x in (low, high) for y in (min(ends), max(ends))]
                low, high = min(products), max(products)
        least, most = least + low, most + high
    return least, most


def polynomial_change_bound(
    polynomial: Polynomial, sizes: Sequence[Fraction], by: Sequence[Fraction]
) -> Fraction:
    """How much it changes at most if variables within these sizes change by so much."""
    total = Fraction(0)
    for monomial, coefficient in polynomial.terms.items():
        still, moved = Fraction(1), Fraction(1)
        for size, step, exponent in zip(sizes, by, monomial, strict=True):
            if exponent:
                still, moved = still * size**exponent, moved * (size + step) ** exponent
        total += abs(coefficient) * (moved - still)
    return total


@dataclass(frozen=True, slots=True)
class SamplingPeriod:
    """One period of a system: `controls` and `errors` say where controls are and how far they may be off."""

    motion: SampledFlow
    variables: tuple[str, ...]
    names: tuple[str, ...]  # of the controls
    disturbances: _Disturbances
    next: tuple[Term, ...]
    rounded: bool

    def bounds(
        self, box: Sequence[Range], controls: Sequence[Range], errors: Sequence[Fraction]
    ) -> FlowpipeBounds | None:
        """None: no box is found that solutions do not leave within the period."""
        enclosure = self._enclosure(box, controls)
        if enclosure is None:
            return None
        sides = [*enclosure, *controls]
        field = self._field(sides)
        within = self._around(sides)
        sizes = [high for _, high in within]
        h, order = self.motion.period, self.motion.order
        gusts = [rate - still for rate, still in zip(field.rates, field.steady, strict=True)]
        rest = _scaled_magnitudes(h**2 / 2, field.along(gusts, field.again), within)
        series = field.series(order)
        for k, values in enumerate(series, start=1):
            share = h ** (k + 1) / factorial(k + 1)
            along = field.rates if k == order else gusts
            rest = _add_vectors(rest, _scaled_magnitudes(share, field.along(values, along), within))
        centres = [_interval_midpoint(r) for r in sides]
        names = _shifted_variables((*self.variables, *self.names), self.disturbances, centres, field.size)
        by = [Fraction(0)] * len(self.variables) + [*errors]
        by += [Fraction(0)] * (field.size - len(by))
        for i, (term, wanted) in enumerate(zip(self.next, _predict_state(field, self.motion), strict=True)):
            given = polynomial_of(term, names, field.size, self.rounded)
            other = given - wanted - polynomial_from_constant(_interval_midpoint(enclosure[i]), field.size)
            rest[i] += _interval_magnitude(polynomial_box_range(other, within)) + polynomial_change_bound(
                given, sizes, by
            )
        bent = _scaled_magnitudes(h**2 / 8, field.along(field.steady, field.rates), within)
        widths = [high - low for low, high in (polynomial_box_range(g, within) for g in gusts)]
        chord = [b + h / 4 * w for b, w in zip(bent, widths, strict=True)]
        half = [h / 2 * _interval_magnitude(polynomial_box_range(rate, within)) for rate in field.rates]
        return FlowpipeBounds(enclosure, tuple(rest), tuple(chord), tuple(half))

    def _field(self, sides: Sequence[Range]) -> _VectorField:
        centres = [_interval_midpoint(r) for r in sides]
        return _vector_field(self.motion, self.variables, self.names, self.disturbances, centres)

    def _around(self, sides: Sequence[Range]) -> list[Range]:
        """The ranges around their centres; of disturbances twice."""
        ranges = [*sides, *(r for _, r in self.disturbances), *(r for _, r in self.disturbances)]
        return [(-(high - low) / 2, (high - low) / 2) for low, high in ranges]

    def _enclosure(self, box: Sequence[Range], controls: Sequence[Range]) -> tuple[Range, ...] | None:
        found, h = tuple(box), self.motion.period
        for _ in range(ITERATIONS):
            sides = [*found, *controls]
            within, field = self._around(sides), self._field(sides)
            moves = [polynomial_box_range(rate, within) for rate in field.rates]
            least = [min(Fraction(0), h * a) for a, _ in moves]
            most = [max(Fraction(0), h * b) for _, b in moves]
            reached = [(low + a, high + b) for (low, high), a, b in zip(box, least, most, strict=True)]
            pairs = list(zip(found, reached, box, strict=True))
            if all(a <= c and d <= b for (a, b), (c, d), _ in pairs):
                return found
            if any(max(-c, d) > _FAR for c, d in reached):
                return None
            wider = [
                (_round_down(c - (x - c) * _WIDER), _round_up(d + (d - y) * _WIDER))
                for _, (c, d), (x, y) in pairs
            ]
            found = tuple((min(a, c), max(b, d)) for (a, b), (c, d) in zip(found, wider, strict=True))
        return None


def _interval_midpoint(ends: Range) -> Fraction:
    return (ends[0] + ends[1]) / 2


def _interval_magnitude(ends: Range) -> Fraction:
    return max(abs(ends[0]), abs(ends[1]))


def _scaled_magnitudes(share: Fraction, values: Sequence[Polynomial], box: Sequence[Range]) -> list[Fraction]:
    return [share * _interval_magnitude(polynomial_box_range(value, box)) for value in values]


def _add_vectors(first: Sequence[Fraction], second: Sequence[Fraction]) -> list[Fraction]:
    return [a + b for a, b in zip(first, second, strict=True)]


def _round_up(value: Fraction) -> Fraction:
    """A double that is not smaller."""
    found = Fraction(float(value))
    return found if found >= value else Fraction(float(value + abs(value) / 2**50))


def _round_down(value: Fraction) -> Fraction:
    return -_round_up(-value)
