"""Polynomials that are nowhere negative, by sums of squares: found in floats (Clarabel), made exact."""

from surefoot.query.polynomial import Polynomial
from surefoot.solve.sos.condition import Condition
from surefoot.solve.sos.exact import Summand, prove
from surefoot.solve.sos.gram import Squares
from surefoot.solve.sos.symmetry import mirrored, orthogonal, parity, span, symmetries, without_images
from surefoot.solve.sos.template import fit
from surefoot.solve.sos.wide import Wide

__all__ = [
    "Condition",
    "Polynomial",
    "Squares",
    "Summand",
    "Wide",
    "fit",
    "mirrored",
    "orthogonal",
    "parity",
    "prove",
    "span",
    "symmetries",
    "without_images",
]
