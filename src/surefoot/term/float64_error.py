"""How far a term that is computed in float64 may be from its exact value, over a box of its names.

Running error analysis (Higham, Accuracy and Stability of Numerical Algorithms, chapter 3): with every value
goes a bound of its error, and each operation adds its own rounding, at most one unit of 2^-53 of the result.
Elementary functions count two such units: the reference rounds them correctly, libraries of platforms nearly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from surefoot.errors import Unsupported
from surefoot.term.interval import Interval, apply_interval, interval_of_type, is_infinite
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import Leaf, fold_term
from surefoot.term.value_types import ValueType

UNIT = Fraction(1, 2**53)
SMALLEST = Fraction(1, 2**1074)
_MOST_FACTORS = 64
Bounded = tuple[Interval, Fraction]  # what is computed lies in it, and is so near to the exact value


def float64_error(whole: Term, kinds: Mapping[str, ValueType]) -> Fraction:
    """A bound of the distance; names have no error. `Unsupported` where none is known."""

    def bound_leaf(leaf: Leaf) -> Bounded:
        if isinstance(leaf, Var):
            return interval_of_type(kinds[leaf.name]), Fraction(0)
        if isinstance(leaf.value, int) and abs(leaf.value) <= 2**53:  # exact; a power looks at whole numbers
            return (leaf.value, leaf.value), Fraction(0)
        nearest = Fraction(float(leaf.value))
        return (nearest, nearest), abs(nearest - Fraction(leaf.value))

    return fold_term(whole, bound_leaf, _bound_operation)[1]


def _bound_operation(term: Apply, parts: list[Bounded]) -> Bounded:
    rule = _ERRORS.get(term.op)
    if rule is None:
        raise Unsupported(f"no bound of the rounding of `{term.op.value}` is known")
    error = rule(term, parts)
    low, high = apply_interval(term, [interval for interval, _ in parts])
    if is_infinite(low) or is_infinite(high):
        raise Unsupported("a value has no bounds, and so has its rounding error none")
    return ((low, high) if not error else (Fraction(low) - error, Fraction(high) + error)), error


def _size(part: Bounded) -> Fraction:
    low, high = part[0]
    return max(abs(Fraction(low)), abs(Fraction(high)))


def _round_result(size: Fraction, error: Fraction, units: int = 1) -> Fraction:
    """With the rounding of a result whose computed size is at most `size`."""
    return error + units * UNIT * size * (1 + 4 * UNIT) + SMALLEST


def _sum_error(_: Apply, parts: list[Bounded]) -> Fraction:
    total = sum(map(_size, parts), Fraction(0))  # of every partial sum
    found = sum((error for _, error in parts), Fraction(0))
    for _round in parts[1:]:
        found = _round_result(total + found, found)
    return found


def _product_of(left: Bounded, right: Bounded) -> Bounded:
    sizes = _size(left), _size(right)
    error = sizes[0] * right[1] + sizes[1] * left[1]
    error = _round_result(sizes[0] * sizes[1], error)
    size = sizes[0] * sizes[1] + error
    return (-size, size), error


def _product_error(_: Apply, parts: list[Bounded]) -> Fraction:
    found = parts[0]
    for part in parts[1:]:
        found = _product_of(found, part)
    return found[1]


def _power_error(term: Apply, parts: list[Bounded]) -> Fraction:
    match term.args[1]:
        case Const(int() as exponent) if 1 <= exponent <= _MOST_FACTORS:
            return _product_error(term, [parts[0]] * exponent)
        case _:
            raise Unsupported("no bound of the rounding of a power with such an exponent is known")


def _quotient_error(_: Apply, parts: list[Bounded]) -> Fraction:
    (_dividend, above), ((low, high), below) = parts
    least = min(abs(Fraction(low)), abs(Fraction(high))) - below
    if low <= 0 <= high or least <= 0:
        raise Unsupported("a divisor may be zero, so that nothing bounds the rounding of the quotient")
    quotient = _size(parts[0]) / least
    return _round_result(quotient, (above + quotient * below) / least)


def _elementary_error(slope: int) -> Callable[[Apply, list[Bounded]], Fraction]:
    """Of a function with values in [-2, 2] whose derivative is at most this."""
    return lambda _, parts: _round_result(Fraction(2), slope * parts[0][1], 2)


def _root_error(_: Apply, parts: list[Bounded]) -> Fraction:
    (low, high), error = parts[0]
    below = Fraction(low) - error
    if below <= 0:
        raise Unsupported("a square root may be of zero, where rounding has no bound")
    size = max(Fraction(1), Fraction(high))
    return _round_result(size, error / min(Fraction(1), below), 2)


def _largest_error(_: Apply, parts: list[Bounded]) -> Fraction:
    return max(error for _, error in parts)


_ERRORS: dict[Op, Callable[[Apply, list[Bounded]], Fraction]] = {
    Op.ADD: _sum_error,
    Op.SUB: _sum_error,
    Op.MUL: _product_error,
    Op.DIV: _quotient_error,
    Op.POW: _power_error,
    Op.NEG: _largest_error,
    Op.ABS: _largest_error,
    Op.MIN: _largest_error,
    Op.MAX: _largest_error,
    Op.SIN: _elementary_error(1),
    Op.COS: _elementary_error(1),
    Op.ATAN: _elementary_error(1),
    Op.TANH: _elementary_error(1),
    Op.SQRT: _root_error,
}
