"""Polynomials that are nowhere negative, by sums of squares: found in floats (Clarabel), made exact."""

from surefoot.query.polynomial import Polynomial
from surefoot.solve.sos.condition import TemplateCondition
from surefoot.solve.sos.gram_blocks import Squares
from surefoot.solve.sos.rational_identity import Summand, prove_nonnegative
from surefoot.solve.sos.sign_symmetry import (
    condition_symmetries,
    drop_mirror_images,
    flip_signs,
    monomial_parity,
    parity_basis,
    sign_symmetries,
)
from surefoot.solve.sos.template import fit_template
from surefoot.solve.sos.wide import ProjectionProver

__all__ = [
    "Polynomial",
    "ProjectionProver",
    "Squares",
    "Summand",
    "TemplateCondition",
    "condition_symmetries",
    "drop_mirror_images",
    "fit_template",
    "flip_signs",
    "monomial_parity",
    "parity_basis",
    "prove_nonnegative",
    "sign_symmetries",
]
