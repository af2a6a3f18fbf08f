"""One period of x' = f(x, u, d): controls u are held, disturbances d may change at any time (section 12).

f is affine in d. Let f0 be f for the middle of d, g1 = f0 and g(k+1) = Dgk f0. In a box E that contains
X + [0, h] f(E) every solution from X exists for a period h and stays (Picard, Lindelöf). With every bound
taken over E, and p the order,

    |x(h) - x - h f(x, u, mean of d) - h^2/2 g2 - ... - h^p/p! gp|
        <= h^2/2 |D(f - f0) f| + sum over k < p of h^(k+1)/(k+1)! |Dgk (f - f0)| + h^(p+1)/(p+1)! |Dgp f|

where the two disturbances in D(f - f0) f are taken at different times. A state in between is at most
h^2/8 |Df0 f| + h/4 (width of f - f0) from the line between x and x(h), and h/2 |f| from the nearer of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial

from ...kernel.problem import Box, ContinuousTime, Range
from ...kernel.strict_json import BadCertificate, Refused, expect_integer, expect_object
from .polynomial import (
    ExactPolynomial,
    Monomial,
    bound_polynomial_change,
    poly_constant,
    poly_from_term,
    poly_variable,
)
from .rounding_error import RoundedValue, bound_rounding
from .system import ClaimedRule, ClaimedSystem, box_magnitudes, read_sized_box

MOST_ORDER = 6
GRID = 1 << 120
_PERIOD = frozenset({"order", "enclosure", "proposed"})
_ZERO = Fraction(0)


@dataclass(frozen=True, slots=True)
class PeriodBounds:
    """For each variable, over all states of a set and one period."""

    step: tuple[Fraction, ...]  # from the state after the period to the one that `next` says
    chord: tuple[Fraction, ...]  # from a state in between to the line between the two ends
    half: tuple[Fraction, ...]  # from a state in between to the nearer of the two ends


def _measurement_error(size: Fraction) -> Fraction:
    """A number whose double has this size is at most so far from it, with room to keep numbers short."""
    return size / (1 << 52) + Fraction(1, GRID)


def measured_domain(system: ClaimedSystem, rule: ClaimedRule) -> Box:
    """Where states are that are read as being in the domain."""
    if system.time is None or not system.rounded:
        return rule.set.domain
    errors = [_measurement_error(size) for size in box_magnitudes(rule.set.domain)]
    return tuple((low - e, high + e) for (low, high), e in zip(rule.set.domain, errors, strict=True))


def measured_state(system: ClaimedSystem, box: Box) -> dict[str, RoundedValue]:
    """The variables as a program has them; in continuous time it reads numbers that are no doubles."""
    reads = system.time is not None and system.rounded
    sizes = box_magnitudes(box)
    errors = [_measurement_error(size) if reads else _ZERO for size in sizes]
    pairs = zip(system.variables, sizes, errors, strict=True)
    return {name: RoundedValue(size, error) for name, size, error in pairs}


def check_period(
    system: ClaimedSystem, time: ContinuousTime, rule: ClaimedRule, data: object
) -> tuple[PeriodBounds, PeriodBounds | None]:
    """Under the rule, and under whatever is proposed to a shield."""
    entry = expect_object(data, _PERIOD, "period")
    order, count = expect_integer(entry["order"], 1, MOST_ORDER, "order"), len(system.variables)
    start = measured_domain(system, rule)
    controls, errors = _control_ranges(system, rule, start)
    own = bound_period(
        system, time, start, controls, errors, read_sized_box(entry["enclosure"], count), order
    )
    if system.shield is None:
        return own, None
    ends = [(c.low, c.high) for c in system.controls if c.low is not None and c.high is not None]
    if len(ends) != len(system.controls):
        raise Refused("a shield needs controls with two ends")
    if entry["proposed"] is None:
        raise BadCertificate("period: a shield needs an enclosure for what is proposed")
    wide = read_sized_box(entry["proposed"], count)
    return own, bound_period(system, time, start, ends, [_ZERO] * len(ends), wide, order)


def _control_ranges(
    system: ClaimedSystem, rule: ClaimedRule, start: Box
) -> tuple[list[Range], list[Fraction]]:
    """Where the controls are, and how far they may be from what the rule says."""
    count = len(system.variables)
    names = dict(zip(system.variables, _centred_variables(start, count), strict=True))
    within, state = _centred_ranges(start), measured_state(system, start)
    found, errors = [], []
    for control, then in zip(system.controls, rule.then, strict=True):
        low, high = polynomial_range(poly_from_term(then, names, count, system.rounded), within)
        error = _round_up(bound_rounding(then, state).error) if system.rounded else _ZERO
        ends = [low - error, high + error]
        if control.low is not None:
            ends = [max(end, control.low) for end in ends]
        if control.high is not None:
            ends = [min(end, control.high) for end in ends]
        found.append((ends[0], ends[1]))
        errors.append(error)
    return found, errors


def _round_up(value: Fraction) -> Fraction:
    """Not smaller, and with a short denominator."""
    return Fraction(-(-value.numerator * GRID // value.denominator), GRID)


def bound_period(
    system: ClaimedSystem,
    time: ContinuousTime,
    start: Box,
    controls: Sequence[Range],
    errors: Sequence[Fraction],
    enclosure: Box,
    order: int,
) -> PeriodBounds:
    """`Refused` if solutions may leave the enclosure within the period."""
    gusts = [ends for _, ends in system.disturbances]
    box = (*enclosure, *controls, *gusts, *gusts)
    first, size, within = len(enclosure) + len(controls), len(box), _centred_ranges(box)
    named = (*system.variables, *(c.name for c in system.controls), *(n for n, _ in system.disturbances))
    values = _centred_variables(box, size)
    names = dict(zip(named, values, strict=False))
    rates = [poly_from_term(term, names, size, False) for term in time.derivatives]
    if any(sum(m[first:]) > 1 for rate in rates for m in rate.terms):
        raise Refused("a derivative is not affine in the disturbances, which may change at any time")
    h = time.period
    for (low, high), (a, b), rate in zip(start, enclosure, rates, strict=True):
        slow, fast = polynomial_range(rate, within)
        if low + min(_ZERO, h * slow) < a or high + max(_ZERO, h * fast) > b:
            raise Refused("a solution may leave its enclosure within a period")
    steady = [_drop_disturbances(rate, first) for rate in rates]
    gusty = [rate - still for rate, still in zip(rates, steady, strict=True)]
    again = [_swap_disturbances(rate, first, len(gusts)) for rate in rates]
    total = [h**2 / 2 * _largest_magnitude(p, within) for p in _lie_derivatives(gusty, again)]
    predicted = [values[i] + rate.times(h) for i, rate in enumerate(rates)]
    series = steady
    for k in range(1, order + 1):
        share = h ** (k + 1) / factorial(k + 1)
        left_out = _lie_derivatives(series, rates if k == order else gusty)
        total = [t + share * _largest_magnitude(p, within) for t, p in zip(total, left_out, strict=True)]
        if k < order:
            series = _lie_derivatives(series, steady)
            predicted = [p + g.times(share) for p, g in zip(predicted, series, strict=True)]
    sizes = [high for _, high in within]
    by = [*[_ZERO] * len(enclosure), *errors, *[_ZERO] * (2 * len(gusts))]
    for i, (term, wanted) in enumerate(zip(system.next, predicted, strict=True)):
        given = poly_from_term(term, names, size, system.rounded)
        total[i] += _largest_magnitude(given - wanted, within) + bound_polynomial_change(given, sizes, by)
    bent = [h**2 / 8 * _largest_magnitude(p, within) for p in _lie_derivatives(steady, rates)]
    widths = [high - low for low, high in (polynomial_range(g, within) for g in gusty)]
    chord = tuple(b + h / 4 * w for b, w in zip(bent, widths, strict=True))
    return PeriodBounds(
        tuple(total), chord, tuple(h / 2 * _largest_magnitude(rate, within) for rate in rates)
    )


def _centred_variables(box: Sequence[Range], size: int) -> list[ExactPolynomial]:
    """Each quantity as the middle of its range and a variable."""
    return [
        poly_variable(i, size) + poly_constant((low + high) / 2, size) for i, (low, high) in enumerate(box)
    ]


def _centred_ranges(box: Sequence[Range]) -> list[Range]:
    return [(-(high - low) / 2, (high - low) / 2) for low, high in box]


def _drop_disturbances(rate: ExactPolynomial, first: int) -> ExactPolynomial:
    """For the middle of every disturbance."""
    return ExactPolynomial({m: c for m, c in rate.terms.items() if not any(m[first:])}, rate.below)


def _swap_disturbances(rate: ExactPolynomial, first: int, count: int) -> ExactPolynomial:
    """With the disturbances of another time."""

    def other(m: Monomial) -> Monomial:
        return (*m[:first], *m[first + count :], *m[first : first + count])

    return ExactPolynomial({other(m): c for m, c in rate.terms.items()}, rate.below)


def _partial_derivative(polynomial: ExactPolynomial, index: int) -> ExactPolynomial:
    found = {}
    for m, c in polynomial.terms.items():
        if m[index]:
            found[(*m[:index], m[index] - 1, *m[index + 1 :])] = c * m[index]
    return ExactPolynomial(found, polynomial.below)


def _lie_derivatives(
    values: Sequence[ExactPolynomial], rates: Sequence[ExactPolynomial]
) -> list[ExactPolynomial]:
    """How fast each value changes if the variables, which come first, change at these rates."""
    found = []
    for value in values:
        total = ExactPolynomial({})
        for index, rate in enumerate(rates):
            total += _partial_derivative(value, index) * rate
        found.append(total)
    return found


def polynomial_range(polynomial: ExactPolynomial, box: Sequence[Range]) -> Range:
    """Bounds over a box, monomial by monomial."""
    least = most = _ZERO
    for monomial, coefficient in polynomial.terms.items():
        low = high = Fraction(coefficient, polynomial.below)
        for (a, b), exponent in zip(box, monomial, strict=True):
            if exponent:
                ends = [a**exponent, b**exponent, *([_ZERO] if a < 0 < b else [])]
                products = [x * y for x in (low, high) for y in (min(ends), max(ends))]
                low, high = min(products), max(products)
        least, most = least + low, most + high
    return least, most


def _largest_magnitude(polynomial: ExactPolynomial, box: Sequence[Range]) -> Fraction:
    low, high = polynomial_range(polynomial, box)
    return max(abs(low), abs(high))
