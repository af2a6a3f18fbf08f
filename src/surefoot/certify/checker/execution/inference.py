"""What the reference evaluation of a network computes, in integers.

Every operation is rounded to the nearest float32 number, ties to even. Sums over inputs run from the first
input to the last, the bias is added at the end; tanh and sigmoid are the float32 numbers nearest to their
true values. Every float32 number is a whole number of units of 2^-149, and that is how it stands here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

from ..bounds.smooth import Pair, logistic, tanh
from ..network import Activation, Affine, Combine, Elementwise, Join, Network, Node, Pick
from ..number import Refused

_UNIT = 149  # bits after the point
_ONE = 1 << _UNIT
_LARGEST = ((1 << 24) - 1) << (104 + _UNIT)
_BITS = 256  # for tanh and sigmoid
Units = Sequence[int]


def outputs(network: Network, inputs: Sequence[Fraction]) -> tuple[Fraction, ...]:
    """The outputs for exact inputs, each of which is rounded first; refused where a number is too large."""
    values: list[Units] = [[_rounded(x.numerator << _UNIT, x.denominator) for x in inputs]]
    for node in network.nodes:
        values.append(_node(node, values))
    return tuple(Fraction(x, _ONE) for x in values[-1])


def is_single(value: Fraction) -> bool:
    """Is this a float32 number?"""
    size = abs(value.numerator) << _UNIT
    return size % value.denominator == 0 and _nearest(size, value.denominator) == size // value.denominator


def _rounded(above: int, below: int = 1) -> int:
    """The float32 number nearest to a quotient; both in units."""
    size = _nearest(abs(above), abs(below))
    if size > _LARGEST:
        raise Refused("the network's values are too large for float32 numbers")
    return size if (above < 0) is (below < 0) else -size


def _nearest(above: int, below: int) -> int:
    power = max(0, (above // below).bit_length() - 24)
    whole, rest = divmod(above, below << power)
    twice = 2 * rest - (below << power)
    return (whole + (twice > 0 or (twice == 0 and whole & 1 == 1))) << power


def _units(number: float) -> int:
    above, below = number.as_integer_ratio()
    return above * _ONE // below  # exact: the number is a float32 number


def _node(node: Node, values: Sequence[Units]) -> Units:
    match node:
        case Affine(source, columns, weights, bias):
            exact = [_units(w) for w in weights]
            rows = (exact[i * columns : (i + 1) * columns] for i in range(len(bias)))
            return [_sum(row, values[source], _units(b)) for row, b in zip(rows, bias, strict=True)]
        case Elementwise(source, kind, constant):
            return [_PAIRS[kind](x, _units(c)) for x, c in zip(values[source], constant, strict=True)]
        case Activation(source, kind, parameters):
            given = [_units(p) for p in parameters]
            return [_activated(kind, x, given) for x in values[source]]
        case Combine(left, right, kind):
            return [_PAIRS[kind](x, y) for x, y in zip(values[left], values[right], strict=True)]
        case Pick(source, indices):
            return [values[source][i] for i in indices]
        case Join(sources):
            return [x for s in sources for x in values[s]]


def _sum(weights: Units, inputs: Units, bias: int) -> int:
    total = 0
    for w, x in zip(weights, inputs, strict=True):
        total = _rounded(total + _times(x, w))
    return _rounded(total + bias)


def _times(left: int, right: int) -> int:
    return _rounded(left * right, _ONE)


def _divided(left: int, right: int) -> int:
    if not right:
        raise Refused("the network divides by zero")
    return _rounded(left << _UNIT, right)


_PAIRS: dict[str, Callable[[int, int], int]] = {
    "add": lambda x, y: _rounded(x + y),
    "multiply": _times,
    "divide": _divided,
    "sum": lambda x, y: _rounded(x + y),
    "product": _times,
    "maximum": max,
    "quotient": _divided,
}


def _activated(kind: str, x: int, parameters: Units) -> int:
    match kind:
        case "relu":
            return max(x, 0)
        case "leaky_relu":
            return _times(x, parameters[0]) if x < 0 else x
        case "clip":
            return min(max(x, parameters[0]), parameters[1])
        case "tanh":
            return _smooth(tanh(x << (_BITS - _UNIT), _BITS))
        case _:
            return _smooth(logistic(x << (_BITS - _UNIT), _BITS))


def _smooth(around: Pair) -> int:
    """The float32 number nearest to every number between these two."""
    low, high = (_rounded(end, 1 << (_BITS - _UNIT)) for end in around)
    if low != high:
        raise Refused("a value of tanh or sigmoid that lies too near to the middle of two float32 numbers")
    return low
