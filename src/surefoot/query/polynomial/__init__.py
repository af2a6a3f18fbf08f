"""Polynomials: what systems with barriers are made of."""

from surefoot.query.polynomial.polynomial import (
    Monomial,
    Polynomial,
    enumerate_monomials,
    polynomial_from_constant,
    polynomial_from_variable,
)

__all__ = [
    "Monomial",
    "Polynomial",
    "enumerate_monomials",
    "polynomial_from_constant",
    "polynomial_from_variable",
]
