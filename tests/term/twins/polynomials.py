"""Twice on purpose: meanings of polynomials and comparisons of them, each by a recursion of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ulp

from surefoot.errors import Unsupported
from surefoot.query.polynomial import Polynomial, polynomial_from_constant
from surefoot.shields.unavoidable import Ends, Number
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Const, Op, Term, Var


def polynomial_twin(term: Term, names: Mapping[str, Polynomial], variables: int, rounded: bool) -> Polynomial:
    """A term built by + - * / and whole powers; `rounded`: a number means the nearest double."""

    def of(part: Term) -> Polynomial:
        match part:
            case Const(bool()):
                raise Unsupported("a truth value where a polynomial is needed")
            case Const(value):
                return polynomial_from_constant(
                    Fraction(float(value)) if rounded else Fraction(value), variables
                )
            case Var(name) if name in names:
                return names[name]
            case Apply(Op.ADD, parts):
                total = of(parts[0])
                for other in parts[1:]:
                    total = total + of(other)
                return total
            case Apply(Op.SUB, (left, right)):
                return of(left) - of(right)
            case Apply(Op.NEG, (inner,)):
                return -of(inner)
            case Apply(Op.MUL, parts):
                total = of(parts[0])
                for other in parts[1:]:
                    total = total * of(other)
                return total
            case Apply(Op.DIV, (left, Const(value))) if value:
                return of(left).times(1 / (Fraction(float(value)) if rounded else Fraction(value)))
            case Apply(Op.POW, (base, Const(int(exponent)))) if 0 < exponent <= 30:
                total = inner_base = of(base)
                for _ in range(exponent - 1):
                    total = total * inner_base
                return total
            case _:
                fix = "write it by + - * / and whole powers; a sine by its Taylor polynomial: x - x^3 / 6"
                raise Unsupported(f"`{show_term(part)}` is not a polynomial", fix=fix)

    return of(term)


def rounding_error_twin(term: Term, sizes: Mapping[str, tuple[float, float]]) -> tuple[float, float]:
    """Upper bounds of a term's size and of its rounding errors in float64, in floats: with some to spare.

    The checker computes its own; if these were too small it would refuse, never accept.
    """
    match term:
        case Apply(Op.ADD | Op.SUB, parts):
            size, error = rounding_error_twin(parts[0], sizes)
            for part in parts[1:]:
                s, e = rounding_error_twin(part, sizes)
                size, error = size + s, error + e + 1.2e-16 * (size + s + error + e)
            return size, error
        case Apply(Op.MUL, parts):
            size, error = rounding_error_twin(parts[0], sizes)
            for part in parts[1:]:
                s, e = rounding_error_twin(part, sizes)
                crossed = size * e + s * error + error * e
                size, error = size * s, crossed + 1.2e-16 * (size * s + crossed) + ulp(0.0) * 2
            return size, error
        case Apply(Op.NEG, (inner,)):
            return rounding_error_twin(inner, sizes)
        case Apply(Op.MAX, parts):
            several = [rounding_error_twin(part, sizes) for part in parts]
            return max(size for size, _ in several), max(error for _, error in several)
        case Apply(Op.DIV, (left, right)):
            size, error = rounding_error_twin(left, sizes)
            by = rounding_error_twin(right, sizes)[0]
            return size / by, error / by + 1.2e-16 * (size + error) / by + ulp(0.0) * 2
        case Apply(Op.POW, (base, exponent)):
            count = int(rounding_error_twin(exponent, sizes)[0])
            return rounding_error_twin(Apply(Op.MUL, (base,) * count) if count > 1 else base, sizes)
        case Var(name):
            return sizes[name]
        case Const(value):
            return abs(float(value)), 0.0
        case _:
            raise Unsupported(f"`{show_term(term)}` is not a polynomial")


def interval_truth_twin(term: Term, values: Mapping[str, Ends], rounded: bool) -> bool | None:
    """None: it depends."""
    match term:
        case Const(bool(value)):
            return value
        case Apply(Op.NOT, (inner,)):
            found = interval_truth_twin(inner, values, rounded)
            return None if found is None else not found
        case Apply(Op.IMPLIES, (left, right)):
            return _three_valued_or(
                [interval_truth_twin(~left, values, rounded), interval_truth_twin(right, values, rounded)]
            )
        case Apply(Op.OR, parts):
            return _three_valued_or([interval_truth_twin(p, values, rounded) for p in parts])
        case Apply(Op.AND, parts):
            found = _three_valued_or([interval_truth_twin(~p, values, rounded) for p in parts])
            return None if found is None else not found
        case Apply((Op.LT | Op.LE | Op.EQ) as op, (left, right)):
            return _compare_ranges(
                op, term_range_twin(left, values, rounded), term_range_twin(right, values, rounded)
            )
        case _:
            raise Unsupported(f"`{show_term(term)}` is not a comparison")


def _three_valued_or(parts: Sequence[bool | None]) -> bool | None:
    return True if True in parts else None if None in parts else False


def _compare_ranges(op: Op, left: Ends, right: Ends) -> bool | None:
    if op is Op.EQ:
        apart = left[1] < right[0] or right[1] < left[0]
        return False if apart else True if left[0] == left[1] == right[0] == right[1] else None
    if left[1] < right[0] or (op is Op.LE and left[1] <= right[0]):
        return True
    if right[1] < left[0] or (op is Op.LT and right[1] <= left[0]):
        return False
    return None


def term_range_twin(term: Term, values: Mapping[str, Ends], rounded: bool) -> Ends:
    match term:
        case Const(value):
            number: Number = float(value) if rounded else Fraction(value)
            return number, number
        case Var(name):
            return values[name]
        case Apply(Op.ADD, parts):
            total = term_range_twin(parts[0], values, rounded)
            for part in parts[1:]:
                other = term_range_twin(part, values, rounded)
                total = (total[0] + other[0], total[1] + other[1])
            return total
        case Apply(Op.SUB, (left, right)):
            first, second = term_range_twin(left, values, rounded), term_range_twin(right, values, rounded)
            return first[0] - second[1], first[1] - second[0]
        case Apply(Op.NEG, (inner,)):
            low, high = term_range_twin(inner, values, rounded)
            return -high, -low
        case Apply(Op.MUL, parts):
            total = term_range_twin(parts[0], values, rounded)
            for part in parts[1:]:
                total = _multiply_ranges(total, term_range_twin(part, values, rounded))
            return total
        case Apply(Op.DIV, (left, Const(value))) if value:
            first = term_range_twin(left, values, rounded)
            by = float(value) if rounded else Fraction(value)
            return min(first[0] / by, first[1] / by), max(first[0] / by, first[1] / by)
        case Apply(Op.POW, (base, Const(int(exponent)))) if exponent > 0:
            return term_range_twin(
                Apply(Op.MUL, (base,) * exponent) if exponent > 1 else base, values, rounded
            )
        case _:
            raise Unsupported(f"`{show_term(term)}` is not a polynomial")


def _multiply_ranges(left: Ends, right: Ends) -> Ends:
    products = [a * b for a in left for b in right]
    return min(products), max(products)
