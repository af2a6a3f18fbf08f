"""Twice on purpose: the table of section 6 of docs/certificates.md, in fractions and without rounding."""

from __future__ import annotations

from fractions import Fraction

from tests.checker.twins.plain_bounds import Interval, Plane, apply_activation, best_smooth_constants

from surefoot_checker.kernel.network import ActivationNode

ZERO, ONE = Fraction(0), Fraction(1)


def chord_of(node: ActivationNode, low: Fraction, high: Fraction) -> Plane:
    at_low, at_high = (apply_activation(node.kind, node.parameters, x) for x in (low, high))
    slope = (at_high - at_low) / (high - low) if high > low else ZERO
    return (slope,), at_low - slope * low


def relax_activation(
    node: ActivationNode, ends: Interval, below: int | None, above: int | None
) -> tuple[Plane, Plane]:
    """Lines below and above an entry, for slopes as the certificate has them."""
    low, high = ends
    match node.kind:
        case "relu" | "leaky_relu":
            return _relax_kink(node, low, high, below)
        case "clip":
            slopes = [
                ZERO if s is None else ONE if s == 65535 else Fraction(s, 65536) for s in (below, above)
            ]
            kinks = [Fraction(p) for p in node.parameters if low <= Fraction(p) <= high]
            found = []
            for slope, choose in zip(slopes, (min, max), strict=True):
                places = (low, high, *kinks)
                level = choose(apply_activation("clip", node.parameters, x) - slope * x for x in places)
                found.append(((slope,), level))
            return found[0], found[1]
    chord = chord_of(node, low, high)[0][0]
    lower = chord if below is None else Fraction(below, 65536)
    upper = chord if above is None else Fraction(above, 65536)
    return (
        ((lower,), best_smooth_constants(node.kind, lower, low, high)[0]),
        ((upper,), best_smooth_constants(node.kind, upper, low, high)[1]),
    )


def _relax_kink(
    node: ActivationNode, low: Fraction, high: Fraction, below: int | None
) -> tuple[Plane, Plane]:
    slope = Fraction(node.parameters[0]) if node.kind == "leaky_relu" else ZERO
    if high <= 0 and low < 0:
        return ((slope,), ZERO), ((slope,), ZERO)
    if low >= 0 and (low, high) != (0, 0):
        return ((ONE,), ZERO), ((ONE,), ZERO)
    if low == high == 0:
        only = ((ONE if below is None or node.kind != "relu" else Fraction(min(below, 1)),), ZERO)
        return only, only
    chosen = ONE if high > -low else slope
    if below is not None:
        chosen = Fraction(below, 128)
    line, chord = ((chosen,), ZERO), chord_of(node, low, high)
    return (line, chord) if slope <= 1 else (chord, line)


def relax_pair(
    kind: str, x: Interval, y: Interval, below: int | None, above: int | None
) -> tuple[Plane, Plane]:
    match kind:
        case "maximum":
            return _relax_maximum(x, y, below)
        case "product":
            over = _product_plane((-x[1], -x[0]), y, above or 0)
            return _product_plane(x, y, below or 0), ((over[0][0], -over[0][1]), -over[1])
    corners = [a / b for a in x for b in y]
    under = ((ZERO, ZERO), min(corners)) if below is None else _quotient_plane(x, y, Fraction(below, 128))
    if above is None:
        return under, ((ZERO, ZERO), max(corners))
    mirrored = _quotient_plane((-x[1], -x[0]), y, Fraction(above, 128))
    return under, ((mirrored[0][0], -mirrored[0][1]), -mirrored[1])


def _relax_maximum(x: Interval, y: Interval, below: int | None) -> tuple[Plane, Plane]:
    left, right = ((ONE, ZERO), ZERO), ((ZERO, ONE), ZERO)
    if x[0] >= y[1]:
        return left, left
    if x[1] <= y[0]:
        return right, right
    share = Fraction(below, 128) if below is not None else ONE if sum(x) >= sum(y) else ZERO
    low, high = x[0] - y[1], x[1] - y[0]
    slope = high / (high - low)
    return ((share, 1 - share), ZERO), ((slope, 1 - slope), -slope * low)


def _product_plane(x: Interval, y: Interval, share: int) -> Plane:
    a = Fraction(share, 128)
    slopes = ((1 - a) * y[0] + a * y[1], (1 - a) * x[0] + a * x[1])
    return slopes, -(1 - a) * x[0] * y[0] - a * x[1] * y[1]


def _quotient_plane(x: Interval, y: Interval, share: Fraction) -> Plane:
    if y[1] < 0:
        (of_x, of_y), constant = _quotient_plane((-x[1], -x[0]), (-y[1], -y[0]), share)
        return (-of_x, -of_y), constant
    total = y[0] + y[1]

    def plane(factor: Fraction, end: Fraction) -> tuple[Fraction, Fraction, Fraction]:
        slope, level = (
            (-4 / total**2, 4 / total) if factor >= 0 else (-1 / (y[0] * y[1]), total / (y[0] * y[1]))
        )
        return 1 / end, factor * slope, factor * (level - 1 / end)

    first, second = plane(x[0], y[1]), plane(x[1], y[0])
    of_x, of_y, constant = ((1 - share) * p + share * q for p, q in zip(first, second, strict=True))
    return (of_x, of_y), constant
