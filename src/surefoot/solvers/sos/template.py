"""One polynomial of a template that satisfies several conditions at once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surefoot.solvers.sos.condition import TemplateCondition
from surefoot.solvers.sos.gram_blocks import Squares
from surefoot.solvers.sos.rational_identity import gram_blocks
from surefoot.solvers.sos.semidefinite_program import SoftConstraints, SosIdentity, solve_sdp
from surefoot.work.budget import Budget

BITS = 40
ROOM = 1e-2  # by which wished rows should be negative
KEPT = 0.02  # of the largest margin, for a wish


def fit_template(
    conditions: Sequence[TemplateCondition],
    coefficients: int,
    budget: Budget,
    wished: NDArray[np.float64] | None = None,
    squares: Squares = "auto",
) -> list[Fraction] | None:
    """Coefficients, each at most 1 in absolute value, with a common margin in all conditions.

    `wished`: rows that should become negative when multiplied by the coefficients, for which a part of the
    margin is given up.
    """
    identities = []
    for condition in conditions:
        involved = (condition.fixed, *condition.linear.values(), *condition.constraints)
        highest = max(p.degree for p in involved)
        parts = gram_blocks(
            highest + highest % 2,
            condition.constraints,
            condition.products,
            condition.variables,
            (condition.fixed, *condition.linear.values()),
            squares,
        )
        identities.append(SosIdentity(condition.fixed, condition.linear, tuple(parts)))
    solution = solve_sdp(identities, coefficients, budget)
    if solution is None or solution.margin <= 0:
        return None
    if wished is not None:
        wish = SoftConstraints(wished, ROOM, solution.margin * KEPT)
        solution = solve_sdp(identities, coefficients, budget, wish)
        if solution is None:
            return None
    return [Fraction(round(float(c) * 2**BITS), 2**BITS) for c in solution.coefficients]
