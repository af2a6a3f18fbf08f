"""Polynomials that are nowhere negative, by sums of squares: found in floats (Clarabel), made exact."""

from surefoot.query.polynomial import Polynomial
from surefoot.solvers.sos.condition import TemplateCondition
from surefoot.solvers.sos.gram_blocks import Squares
from surefoot.solvers.sos.projections import ProjectionProver
from surefoot.solvers.sos.rational_identity import Summand, prove_nonnegative
from surefoot.solvers.sos.sign_symmetry import (
    condition_symmetries,
    drop_mirror_images,
    flip_signs,
    monomial_parity,
    parity_basis,
    sign_symmetries,
)
from surefoot.solvers.sos.template import fit_template

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
