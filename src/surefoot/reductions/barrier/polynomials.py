"""Terms as polynomials; what is none is refused.

Conditions as lists of comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.query.polynomial import Polynomial, polynomial_from_constant
from surefoot.term.number import check_bit_length
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Const, Op, Term, Var

_Comparison: TypeAlias = tuple[Term, Term]  # the first is at most the second
_MOST_CASES = 64


def relaxed_dnf(term: Term, wanted: bool = True) -> list[list[_Comparison]]:
    """Lists of comparisons: wherever the term is `wanted` all of one list hold, if `<` is read as `<=`."""
    match term:
        case Const(bool(value)):
            return [[]] if value is wanted else []
        case Apply(Op.NOT, (inner,)):
            return relaxed_dnf(inner, not wanted)
        case Apply(Op.IMPLIES, (left, right)):
            return relaxed_dnf(Apply(Op.OR, (~left, right)), wanted)
        case Apply((Op.AND | Op.OR) as op, parts):
            several = [relaxed_dnf(part, wanted) for part in parts]
            if (op is Op.AND) is not wanted:
                return [case for cases in several for case in cases]
            found: list[list[_Comparison]] = [[]]
            for cases in several:
                found = [[*first, *second] for first in found for second in cases]
                if len(found) > _MOST_CASES:
                    raise Unsupported(f"the unsafe states have more than {_MOST_CASES} cases")
            return found
        case Apply(Op.LT | Op.LE, (left, right)):
            return [[(left, right) if wanted else (right, left)]]
        case Apply(Op.EQ, (left, right)):
            both = [(left, right), (right, left)]
            return [both] if wanted else [[c] for c in both]
        case _:
            raise Unsupported(f"`{show_term(term)}` is not a comparison, which barriers need")


_MOST_POWER = 30
_MOST_PRODUCTS = 1_000_000  # of two monomials, to multiply two polynomials


def polynomial_of(term: Term, names: Mapping[str, Polynomial], variables: int, rounded: bool) -> Polynomial:
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
                    total = _check_coefficients(total + of(other))
                return total
            case Apply(Op.SUB, (left, right)):
                return of(left) - of(right)
            case Apply(Op.NEG, (inner,)):
                return -of(inner)
            case Apply(Op.MUL, parts):
                total = of(parts[0])
                for other in parts[1:]:
                    total = _multiply_limited(total, of(other))
                return total
            case Apply(Op.DIV, (left, Const(value))) if value:
                return _check_coefficients(
                    of(left).times(1 / (Fraction(float(value)) if rounded else Fraction(value)))
                )
            case Apply(Op.POW, (base, Const(int(exponent)))) if 0 < exponent <= _MOST_POWER:
                total = inner_base = of(base)
                for _ in range(exponent - 1):
                    total = _multiply_limited(total, inner_base)
                return total
            case _:
                fix = "write it by + - * / and whole powers; a sine by its Taylor polynomial: x - x^3 / 6"
                raise Unsupported(f"`{show_term(part)}` is not a polynomial", fix=fix)

    return of(term)


def _multiply_limited(left: Polynomial, right: Polynomial) -> Polynomial:
    """Refused before it is multiplied out, if that takes too long."""
    if len(left.terms) * len(right.terms) > _MOST_PRODUCTS:
        raise Unsupported("a polynomial with too many terms", fix="use smaller exponents")
    return _check_coefficients(left * right)


def _check_coefficients(polynomial: Polynomial) -> Polynomial:
    for coefficient in polynomial.terms.values():
        check_bit_length(coefficient)
    return polynomial
