"""Terms as polynomials; what is none is refused.

Conditions as lists of comparisons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.query.polynomial import Polynomial, polynomial_from_constant
from surefoot.term.normal_form import fold_condition
from surefoot.term.number import check_bit_length
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import Leaf, fold_term

_Comparison: TypeAlias = tuple[Term, Term]  # the first is at most the second
_MOST_CASES = 64


def relaxed_dnf(term: Term, wanted: bool = True) -> list[list[_Comparison]]:
    """Lists of comparisons: wherever the term is `wanted` all of one list hold, if `<` is read as `<=`."""
    return fold_condition(
        term,
        wanted,
        _literal_cases,
        _multiply_cases,
        lambda several: [case for cases in several for case in cases],
    )


def _literal_cases(term: Term, wanted: bool) -> list[list[_Comparison]]:
    match term:
        case Apply(Op.LT | Op.LE, (left, right)):
            return [[(left, right) if wanted else (right, left)]]
        case Apply(Op.EQ, (left, right)):
            both = [(left, right), (right, left)]
            return [both] if wanted else [[c] for c in both]
        case _:
            raise Unsupported(f"`{show_term(term)}` is not a comparison, which barriers need")


def _multiply_cases(several: Sequence[list[list[_Comparison]]]) -> list[list[_Comparison]]:
    found: list[list[_Comparison]] = [[]]
    for cases in several:
        found = [[*first, *second] for first in found for second in cases]
        if len(found) > _MOST_CASES:
            raise Unsupported(f"the unsafe states have more than {_MOST_CASES} cases")
    return found


_MOST_POWER = 30
_MOST_PRODUCTS = 1_000_000  # of two monomials, to multiply two polynomials


def polynomial_of(term: Term, names: Mapping[str, Polynomial], variables: int, rounded: bool) -> Polynomial:
    """A term built by + - * / and whole powers; `rounded`: a number means the nearest double."""

    def leaf(part: Leaf) -> Polynomial:
        if isinstance(part, Var):
            if part.name not in names:
                raise _not_polynomial(part)
            return names[part.name]
        if isinstance(part.value, bool):
            raise Unsupported("a truth value where a polynomial is needed")
        return polynomial_from_constant(number(part), variables)

    def apply_operator(part: Apply, parts: list[Polynomial]) -> Polynomial:
        match part:
            case Apply(Op.ADD, _):
                return reduce(lambda total, other: _check_coefficients(total + other), parts)
            case Apply(Op.SUB, _):
                return parts[0] - parts[1]
            case Apply(Op.NEG, _):
                return -parts[0]
            case Apply(Op.MUL, _):
                return reduce(_multiply_limited, parts)
            case Apply(Op.DIV, (_, Const() as divisor)):
                return _check_coefficients(parts[0].times(1 / number(divisor)))
            case Apply(_, (_, Const(int(exponent)))):
                return reduce(_multiply_limited, parts * exponent)
        raise AssertionError(part)

    def number(constant: Const) -> Fraction:
        return Fraction(float(constant.value)) if rounded else Fraction(constant.value)

    return fold_term(term, leaf, apply_operator, _polynomial_arguments)


def _polynomial_arguments(term: Apply, _: list[Polynomial]) -> Iterator[Term]:
    match term:
        case Apply(Op.ADD | Op.MUL, args) | Apply(Op.SUB, (_, _) as args) | Apply(Op.NEG, (_,) as args):
            return iter(args)
        case Apply(Op.DIV, (left, Const(value))) if value:
            return iter((left,))
        case Apply(Op.POW, (base, Const(int(exponent)))) if 0 < exponent <= _MOST_POWER:
            return iter((base,))
    raise _not_polynomial(term)


def _not_polynomial(term: Term) -> Unsupported:
    fix = "write it by + - * / and whole powers; a sine by its Taylor polynomial: x - x^3 / 6"
    return Unsupported(f"`{show_term(term)}` is not a polynomial", fix=fix)


def _multiply_limited(left: Polynomial, right: Polynomial) -> Polynomial:
    """Refused before it is multiplied out, if that takes too long."""
    if len(left.terms) * len(right.terms) > _MOST_PRODUCTS:
        raise Unsupported("a polynomial with too many terms", fix="use smaller exponents")
    return _check_coefficients(left * right)


def _check_coefficients(polynomial: Polynomial) -> Polynomial:
    for coefficient in polynomial.terms.values():
        check_bit_length(coefficient)
    return polynomial
