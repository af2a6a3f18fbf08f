"""Linear matrix inequalities, for Clarabel, in floats: x with F0 + x1 F1 + ... positive semidefinite."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite, sqrt

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from surefoot.work.budget import Budget

Floats = NDArray[np.float64]


def solve_lmi(inequalities: Sequence[Floats], objective: Floats, budget: Budget) -> Floats | None:
    """Numbers that make the objective small; None if none are found.

    Each inequality is an array of symmetric matrices: the constant one, then one for each number.
    """
    left = budget.remaining()
    if left <= 0:
        return None
    rows, right, cones = [], [], []
    for matrices in inequalities:
        side = matrices.shape[1]
        places = [(i, j) for j in range(side) for i in range(j + 1)]
        above, across = np.array(places).T
        entries = matrices[:, above, across] * np.where(above == across, 1.0, sqrt(2))
        rows.append(-entries[1:].T)
        right.append(entries[0])
        cones.append(clarabel.PSDTriangleConeT(side))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    if isfinite(left):
        settings.time_limit = left
    nothing = sparse.csc_matrix((len(objective), len(objective)))
    matrix = sparse.csc_matrix(np.vstack(rows))
    answer = clarabel.DefaultSolver(
        nothing, objective, matrix, np.concatenate(right), cones, settings
    ).solve()
    found: Floats = np.array(answer.x)
    return found if str(answer.status) in ("Solved", "AlmostSolved") and np.isfinite(found).all() else None
