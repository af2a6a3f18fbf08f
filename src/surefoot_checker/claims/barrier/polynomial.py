"""Polynomials with rational coefficients: integers over one common denominator, monomials by exponents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from math import gcd
from operator import add, neg, sub

from ...kernel.strict_json import Refused, limit_bits, limited_power
from ...kernel.term import Term, fold_term, is_number

Monomial = tuple[int, ...]
MOST_TERMS = 400_000
MOST_DEGREE = 60
_LONG = 2000  # bits of a coefficient whose products take as long as several


@dataclass(frozen=True, slots=True)
class ExactPolynomial:
    """The sum of coefficient / below times monomial; no coefficient is 0."""

    terms: Mapping[Monomial, int]
    below: int = 1

    def __add__(self, other: ExactPolynomial) -> ExactPolynomial:
        return self._combine(other, 1)

    def __sub__(self, other: ExactPolynomial) -> ExactPolynomial:
        return self._combine(other, -1)

    def __neg__(self) -> ExactPolynomial:
        return self.times(Fraction(-1))

    def _combine(self, other: ExactPolynomial, sign: int) -> ExactPolynomial:
        common = limit_bits(self.below // gcd(self.below, other.below) * other.below)
        first, second = common // self.below, sign * (common // other.below)
        found = {m: c * first for m, c in self.terms.items()}
        for m, c in other.terms.items():
            found[m] = found.get(m, 0) + c * second
        return ExactPolynomial({m: limit_bits(c) for m, c in found.items() if c}, common)

    def __mul__(self, other: ExactPolynomial) -> ExactPolynomial:
        small, large = sorted((self.terms, other.terms), key=len)
        length = sum(max((c.bit_length() for c in terms.values()), default=0) for terms in (small, large))
        if len(small) * len(large) * (1 + (length // _LONG) ** 2) > 100 * MOST_TERMS:
            raise Refused("a product of polynomials is too large")
        found: dict[Monomial, int] = {}
        for m, c in small.items():
            for n, d in large.items():
                both = tuple(map(int.__add__, m, n))
                found[both] = found.get(both, 0) + c * d
        if len(found) > MOST_TERMS:
            raise Refused(f"a polynomial of more than {MOST_TERMS} terms")
        return _reduce_fraction({m: c for m, c in found.items() if c}, self.below * other.below)

    def times(self, factor: Fraction) -> ExactPolynomial:
        """A multiple."""
        if not factor:
            return ExactPolynomial({})
        return _reduce_fraction(
            {m: c * factor.numerator for m, c in self.terms.items()}, self.below * factor.denominator
        )


def poly_constant(value: Fraction | int, variables: int) -> ExactPolynomial:
    number = Fraction(value)
    return ExactPolynomial({(0,) * variables: number.numerator} if number else {}, number.denominator)


def poly_variable(index: int, variables: int) -> ExactPolynomial:
    return ExactPolynomial({tuple(int(i == index) for i in range(variables)): 1})


def _reduce_fraction(terms: Mapping[Monomial, int], below: int) -> ExactPolynomial:
    for number in (below, *terms.values()):
        limit_bits(number)
    common = gcd(below, *terms.values())
    if common == 1:
        return ExactPolynomial(terms, below)
    return ExactPolynomial({m: c // common for m, c in terms.items()}, below // common)


def poly_bound(polynomial: ExactPolynomial, sizes: Sequence[Fraction]) -> Fraction:
    """An upper bound of the absolute value where variable i is at most sizes[i] in absolute value."""
    total = Fraction(0)
    for monomial, coefficient in polynomial.terms.items():
        product = Fraction(abs(coefficient))
        for size, exponent in zip(sizes, monomial, strict=True):
            product = limit_bits(product * limited_power(size, exponent))
        total = limit_bits(total + product)
    return total / polynomial.below


def bound_polynomial_change(
    polynomial: ExactPolynomial, sizes: Sequence[Fraction], by: Sequence[Fraction]
) -> Fraction:
    """How much it changes at most if variables within these sizes change by so much.

    A monomial and what it becomes differ by products with only positive factors: their bounds differ as much.
    """
    moved = [size + step for size, step in zip(sizes, by, strict=True)]
    return poly_bound(polynomial, moved) - poly_bound(polynomial, sizes)


def poly_from_term(
    term: Term, names: Mapping[str, ExactPolynomial], variables: int, rounded: bool
) -> ExactPolynomial:
    """A term built by + - * / from names and numbers; `rounded`: a number means the nearest double."""

    def of_leaf(leaf: Term) -> ExactPolynomial:
        if is_number(leaf):
            exact = Fraction(leaf)
            return poly_constant(nearest_double(exact) if rounded else exact, variables)
        if type(leaf) is bool or leaf[0] != "name" or leaf[1] not in names:
            raise Refused(f"`{str(leaf)[:60]}` is not the name of a number here")
        return names[leaf[1]]

    def of_operator(t: Term, values: list[ExactPolynomial]) -> ExactPolynomial:
        if t[0] not in _OPERATORS:
            raise Refused(f"`{t[0]}` is not an operator of polynomials")
        return _OPERATORS[t[0]](*values)

    return fold_term(term, of_leaf, of_operator)


def _limited_product(a: ExactPolynomial, b: ExactPolynomial) -> ExactPolynomial:
    if poly_degree(a) + poly_degree(b) > MOST_DEGREE:
        raise Refused(f"a polynomial of a degree above {MOST_DEGREE}")
    return a * b


def _poly_quotient(a: ExactPolynomial, divisor: ExactPolynomial) -> ExactPolynomial:
    if len(divisor.terms) != 1 or poly_degree(divisor):
        raise Refused("a division by zero or by something that varies")
    return a.times(Fraction(divisor.below, next(iter(divisor.terms.values()))))


_OPERATORS: dict[str, Callable[..., ExactPolynomial]] = {
    "+": lambda *values: reduce(add, values),
    "-": sub,
    "negate": neg,
    "*": lambda *values: reduce(_limited_product, values),
    "/": _poly_quotient,
}


def poly_degree(polynomial: ExactPolynomial) -> int:
    return max((sum(m) for m in polynomial.terms), default=0)


def nearest_double(value: Fraction) -> Fraction:
    """The nearest double; whole numbers must be one."""
    try:
        nearest = Fraction(float(value))
    except OverflowError:
        raise Refused("a number beyond all doubles") from None
    if value.denominator == 1 and nearest != value:
        raise Refused("a whole number that is no double")
    return nearest
