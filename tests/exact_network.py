"""What a network is as a function of real numbers: rational enclosures, exact but for curved functions.

A value is a list of (low, high) pairs of fractions. They are equal until a tanh or the like comes in, which
is enclosed to 50 digits. A quotient whose divisor may be zero has no value: `Undefined`.
"""

from collections.abc import Sequence
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np

from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
    Shape,
)
from surefoot.problem.tree_ensemble import TreeEnsemble
from surefoot.term.elementary import PI, elementary_decimal
from surefoot.term.evaluate import Undefined

Enclosure = tuple[Fraction, Fraction]

_DIGITS = Context(prec=130)
_RELATIVE = Fraction(1, 10**50)
FAR = Fraction(10**400)  # stands for infinity


def exact_values(network: Network, point: Sequence[float | Fraction]) -> list[list[Enclosure]]:
    """Every value of the network at a point, the input first."""
    exact = [x if isinstance(x, Fraction) else Fraction(float(x)) for x in point]
    values = [[(x, x) for x in exact]]
    for node in network.nodes:
        values.append(_node(node, values))
    return values


def contains(low: np.ndarray, high: np.ndarray, value: list[Enclosure]) -> bool:
    """Whether low <= value <= high, entry by entry, as far as the enclosure of the value tells: it has some
    1e-50 of room, and bounds may be nearer to the value than that."""
    return all(_at_most(a, x[1]) and _at_least(b, x[0]) for a, b, x in zip(low, high, value, strict=True))


def distance(computed: np.ndarray, value: list[Enclosure]) -> list[Fraction]:
    """How far float32 results may be from the exact value."""
    return [
        max(abs(Fraction(float(c)) - end) for end in x) if np.isfinite(c) else FAR
        for c, x in zip(computed, value, strict=True)
    ]


def _at_most(bound: float, x: Fraction) -> bool:
    return bound == -np.inf or (np.isfinite(bound) and Fraction(float(bound)) <= x)


def _at_least(bound: float, x: Fraction) -> bool:
    return bound == np.inf or (np.isfinite(bound) and Fraction(float(bound)) >= x)


def _node(node: Node, values: list[list[Enclosure]]) -> list[Enclosure]:
    match node:
        case Affine(source, weights, bias):
            return [_row(row, b, values[source]) for row, b in zip(weights, bias, strict=True)]
        case Elementwise(source, kind, constant):
            return [
                _constant(kind, x, Fraction(float(c))) for x, c in zip(values[source], constant, strict=True)
            ]
        case Activation(source, shape, parameters):
            return [_activation(shape, x, parameters) for x in values[source]]
        case Combine(left, right, pairing):
            return [_pair(pairing, x, y) for x, y in zip(values[left], values[right], strict=True)]
        case Pick(source, indices):
            return [values[source][i] for i in indices]
        case Join(several):
            return [x for source in several for x in values[source]]
        case TreeEnsemble(source):
            return _add_leaves(node, values[source])


def _add_leaves(node: TreeEnsemble, x: list[Enclosure]) -> list[Enclosure]:
    total = [Fraction(float(s)) for s in node.start]
    for root in node.roots:
        place = int(root)
        while place >= 0:
            threshold, (low, high) = Fraction(float(node.thresholds[place])), x[node.features[place]]
            if low <= threshold < high:
                raise Undefined("a threshold within the digits that are known")
            place = int(node.lower[place] if high <= threshold else node.upper[place])
        total = [t + Fraction(float(w)) for t, w in zip(total, node.leaves[-1 - place], strict=True)]
    return [(t, t) for t in total]


def _row(weights: np.ndarray, bias: np.float32, x: list[Enclosure]) -> Enclosure:
    total = (Fraction(float(bias)), Fraction(float(bias)))
    for weight, entry in zip(weights, x, strict=True):
        low, high = _constant(Constant.MULTIPLY, entry, Fraction(float(weight)))
        total = (total[0] + low, total[1] + high)
    return total


def _constant(kind: Constant, x: Enclosure, c: Fraction) -> Enclosure:
    match kind:
        case Constant.ADD:
            return (x[0] + c, x[1] + c)
        case Constant.MULTIPLY:
            ends = (x[0] * c, x[1] * c)
        case Constant.DIVIDE:
            ends = (x[0] / c, x[1] / c)
    return (min(ends), max(ends))


def _pair(pairing: Pairing, x: Enclosure, y: Enclosure) -> Enclosure:
    match pairing:
        case Pairing.ADD:
            return (x[0] + y[0], x[1] + y[1])
        case Pairing.MAXIMUM:
            return (max(x[0], y[0]), max(x[1], y[1]))
        case Pairing.MULTIPLY:
            corners = [a * b for a in x for b in y]
        case Pairing.DIVIDE:
            if y[0] <= 0 <= y[1]:
                raise Undefined("division by zero")
            corners = [a / b for a in x for b in y]
    return (min(corners), max(corners))


def _activation(shape: Shape, x: Enclosure, parameters: tuple[float, ...]) -> Enclosure:
    if shape is Shape.TANH:
        return (_tanh(x[0])[0], _tanh(x[1])[1])
    if shape is Shape.SIGMOID:
        return (_sigmoid(x[0])[0], _sigmoid(x[1])[1])
    if shape in (Shape.SIN, Shape.COS):
        return _wave(shape, x)
    if shape in _GROWING:
        return (_curve(shape, x[0], parameters)[0], _curve(shape, x[1], parameters)[1])
    ends = [_piecewise(shape, end, [Fraction(p) for p in parameters]) for end in x]
    return (min(ends), max(ends))  # exact when both ends are equal; a kink inside only widens by 1e-50


def _piecewise(shape: Shape, x: Fraction, parameters: list[Fraction]) -> Fraction:
    match shape:
        case Shape.RELU:
            return max(x, Fraction(0))
        case Shape.LEAKY_RELU:
            return x * parameters[0] if x < 0 else x
        case Shape.CLIP:
            return min(max(x, parameters[0]), parameters[1])
        case Shape.STEP:
            return Fraction(int(x > 0))
    raise AssertionError(shape)


_GROWING = (Shape.EXP, Shape.SOFTPLUS, Shape.ELU, Shape.ERF, Shape.SQRT)


def _curve(shape: Shape, x: Fraction, parameters: tuple[float, ...]) -> Enclosure:
    """Of a function that grows; with numbers that are too long for it there is no value."""
    d = _decimal(x)
    match shape:
        case Shape.SQRT:
            if x < 0:
                raise Undefined("root of a negative number")
            value = _DIGITS.sqrt(d)
        case Shape.EXP:
            if x > 5000:
                raise Undefined("too large")
            value = _DIGITS.exp(d) if x > -5000 else Decimal(0)
        case Shape.SOFTPLUS:
            value = d if x > 500 else _DIGITS.ln(_DIGITS.add(1, _DIGITS.exp(max(d, Decimal(-300)))))
        case Shape.ELU:
            if x >= 0:
                return (x, x)
            value = _DIGITS.multiply(
                _DIGITS.create_decimal(parameters[0]), _DIGITS.subtract(_DIGITS.exp(max(d, Decimal(-300))), 1)
            )
        case _:
            value = _erf(d)
    room = abs(Fraction(value)) * _RELATIVE
    if shape is Shape.ERF:  # within 1, and 0 of nothing
        return (max(Fraction(value) - room, Fraction(-1)), min(Fraction(value) + room, Fraction(1)))
    return (Fraction(value) - room - _RELATIVE, Fraction(value) + room + _RELATIVE)


def _erf(x: Decimal) -> Decimal:
    """The integral of a density: here by Taylor's series of the antiderivative, by recursion."""
    if abs(x) > 12:
        return Decimal(1).copy_sign(x)
    wide = Context(prec=230)
    total, term, n = Decimal(0), x, 0
    while n < 40 or abs(term) > Decimal(10) ** -120:
        total = wide.add(total, wide.divide(term, Decimal(2 * n + 1)))
        n += 1
        term = wide.divide(wide.multiply(term.copy_negate(), wide.multiply(x, x)), Decimal(n))
    return wide.multiply(total, wide.divide(Decimal(2), wide.sqrt(PI)))


def _wave(shape: Shape, x: Enclosure) -> Enclosure:
    if abs(x[0]) > 10**6:
        raise Undefined("too large an angle")
    value = Fraction(elementary_decimal(shape.value, _decimal(x[0])))
    room = x[1] - x[0] + _RELATIVE
    return (value - room, value + room)


def _tanh(x: Fraction) -> Enclosure:
    if x < 0:
        low, high = _tanh(-x)
        return (-high, -low)
    if x < Fraction(1, 10**60):
        return (x * (1 - _RELATIVE), x)
    if x > 200:
        return (1 - _RELATIVE, Fraction(1))
    grown = _DIGITS.exp(_DIGITS.multiply(_decimal(x), Decimal(2)))
    return _around(_DIGITS.divide(_DIGITS.subtract(grown, Decimal(1)), _DIGITS.add(grown, Decimal(1))))


def _sigmoid(x: Fraction) -> Enclosure:
    if abs(x) > 1000:
        return (1 - _RELATIVE, Fraction(1)) if x > 0 else (Fraction(0), Fraction(1, 10**400))
    return _around(_DIGITS.divide(Decimal(1), _DIGITS.add(Decimal(1), _DIGITS.exp(-_decimal(x)))))


def _decimal(x: Fraction) -> Decimal:
    return _DIGITS.divide(Decimal(x.numerator), Decimal(x.denominator))


def _around(value: Decimal) -> Enclosure:
    """A value in (0, 1) known to at least 60 digits of its own."""
    return (Fraction(value) * (1 - _RELATIVE), min(Fraction(value) * (1 + _RELATIVE), Fraction(1)))
