"""Polynomials: what systems with barriers are made of."""

from surefoot.query.polynomial.polynomial import Monomial, Polynomial, constant, monomials, variable

__all__ = ["Monomial", "Polynomial", "constant", "monomials", "variable"]
