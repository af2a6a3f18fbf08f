"""Polynomials that are nowhere negative, by sums of squares: found in floats (Clarabel), made exact."""

from surefoot.query.polynomial import Polynomial
from surefoot.solve.sos.exact import Summand, prove
from surefoot.solve.sos.template import Condition, fit

__all__ = ["Condition", "Polynomial", "Summand", "fit", "prove"]
