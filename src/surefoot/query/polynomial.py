"""Polynomials with rational coefficients, by exponents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations_with_replacement
from math import lcm
from typing import TypeAlias

Monomial: TypeAlias = tuple[int, ...]
_FEW = 8  # terms


@dataclass(frozen=True, slots=True)
class Polynomial:
    terms: Mapping[Monomial, Fraction]

    def __add__(self, other: Polynomial) -> Polynomial:
        found = dict(self.terms)
        for m, c in other.terms.items():
            found[m] = found.get(m, Fraction(0)) + c
        return Polynomial({m: c for m, c in found.items() if c})

    def __neg__(self) -> Polynomial:
        return self.times(Fraction(-1))

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + -other

    def __mul__(self, other: Polynomial) -> Polynomial:
        if min(len(self.terms), len(other.terms)) > _FEW:
            return _multiply_polynomials(self, other)
        found: dict[Monomial, Fraction] = {}
        for m, c in self.terms.items():
            for n, d in other.terms.items():
                both = tuple(map(int.__add__, m, n))
                found[both] = found.get(both, Fraction(0)) + c * d
        return Polynomial({m: c for m, c in found.items() if c})

    def times(self, factor: Fraction) -> Polynomial:
        return Polynomial({m: c * factor for m, c in self.terms.items()} if factor else {})

    @property
    def degree(self) -> int:
        return max((sum(m) for m in self.terms), default=0)

    def substitute_variables(self, values: Sequence[Polynomial], variables: int) -> Polynomial:
        """Each variable replaced by a polynomial in so many variables."""
        powers: dict[tuple[int, int], Polynomial] = {}

        def power(index: int, exponent: int) -> Polynomial:
            if exponent == 0:
                return polynomial_from_constant(1, variables)
            if (index, exponent) not in powers:
                powers[index, exponent] = power(index, exponent - 1) * values[index]
            return powers[index, exponent]

        found: dict[Monomial, Fraction] = {}
        for monomial, coefficient in self.terms.items():
            product = polynomial_from_constant(coefficient, variables)
            for index, exponent in enumerate(monomial):
                if exponent:
                    product = product * power(index, exponent)
            for m, c in product.terms.items():
                found[m] = found.get(m, Fraction(0)) + c
        return Polynomial({m: c for m, c in found.items() if c})


def _multiply_polynomials(left: Polynomial, right: Polynomial) -> Polynomial:
    """Over common denominators: integers are added more quickly than fractions."""
    below, under = (lcm(*(c.denominator for c in p.terms.values())) for p in (left, right))
    first, second = (
        [(m, int(c * common)) for m, c in p.terms.items()] for p, common in ((left, below), (right, under))
    )
    found: dict[Monomial, int] = {}
    for m, c in first:
        for n, d in second:
            both = tuple(map(int.__add__, m, n))
            found[both] = found.get(both, 0) + c * d
    return Polynomial({m: Fraction(c, below * under) for m, c in found.items() if c})


def polynomial_from_constant(value: Fraction | int, variables: int) -> Polynomial:
    return Polynomial({(0,) * variables: Fraction(value)} if value else {})


def polynomial_from_variable(index: int, variables: int) -> Polynomial:
    return Polynomial({tuple(int(i == index) for i in range(variables)): Fraction(1)})


def enumerate_monomials(variables: Sequence[int], total: int, degree: int) -> Iterator[Monomial]:
    """All monomials of some of `total` variables up to a degree, lower degrees first."""
    for size in range(degree + 1):
        for chosen in combinations_with_replacement(variables, size):
            exponents = [0] * total
            for index in chosen:
                exponents[index] += 1
            yield tuple(exponents)
