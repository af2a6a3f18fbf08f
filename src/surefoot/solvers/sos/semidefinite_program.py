"""Semidefinite programs over Gram matrices, for Clarabel.

Unknown are coefficients (bounded by 1 in absolute value), Gram matrices and their common margin t, which is
made as large as possible: each matrix is at least t times the identity, so that rounding leaves it positive.
Clarabel looks at the clock between iterations only, and one of a large program takes minutes: large programs
are solved by a child process, which is killed at the deadline.

Linear matrix inequalities, for Clarabel, in floats: x with F0 + x1 F1 + ... positive semidefinite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite, sqrt
from typing import Any

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from surefoot.query.polynomial import Monomial, Polynomial
from surefoot.solvers.sos.gram_blocks import GramBlock
from surefoot.work.budget import Budget
from surefoot.work.child import WorkerDied, WorkerTimedOut, borrow_worker

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
    return _run_clarabel(objective, sparse.csc_matrix(np.vstack(rows)), np.concatenate(right), cones, left)


def _run_clarabel(
    objective: Floats, matrix: Any, right: Floats, cones: list[Any], seconds: float
) -> Floats | None:
    """The x with right - matrix . x in the cones that makes the objective small; None: not solved."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    if isfinite(seconds):
        settings.time_limit = seconds
    no_squares = sparse.csc_matrix((len(objective), len(objective)))
    answer = clarabel.DefaultSolver(no_squares, objective, matrix, right, cones, settings).solve()
    found: Floats = np.array(answer.x)
    return found if str(answer.status) in _SOLVED and np.isfinite(found).all() else None


LARGEST_MARGIN = 1.0
MOST_ENTRIES = 60_000  # of all full matrices of one program: more takes hours
PAIRS_DISCOUNT = 5  # times: so much more unknowns may matrices have that are written in pairs
LARGEST_LOCAL = 1_500  # entries; fewer take less than a second
GRACE = 0.2  # seconds for Clarabel to say itself that the time is over
_SOLVED = ("Solved", "AlmostSolved")


@dataclass(frozen=True, slots=True)
class SosIdentity:
    """constant + sum of coefficient k times linear[k] = sum over the blocks."""

    constant: Polynomial
    linear: Mapping[int, Polynomial]
    blocks: tuple[GramBlock, ...]


@dataclass(frozen=True, slots=True, eq=False)
class SdpSolution:
    margin: float
    coefficients: NDArray[np.float64]
    grams: tuple[tuple[NDArray[np.float64], ...], ...] = field(repr=False)  # of each identity, of each block


@dataclass(frozen=True, slots=True, eq=False)
class SoftConstraints:
    """Rows that times the coefficients should be at most -room; `margin`: what must be kept of it."""

    rows: NDArray[np.float64]
    room: float
    margin: float


def solve_sdp(
    identities: Sequence[SosIdentity], coefficients: int, budget: Budget, wish: SoftConstraints | None = None
) -> SdpSolution | None:
    """None: no solution was found, for whatever reason."""
    left = budget.remaining()
    entries = sum(block.columns for identity in identities for block in identity.blocks)
    if left <= 0 or coefficients + 1 + _program_size(identities) > MOST_ENTRIES:
        return None
    if entries <= LARGEST_LOCAL:
        return _solve_in_process(identities, coefficients, left, wish)
    try:
        with borrow_worker() as worker:
            return worker.call(_solve_in_process, identities, coefficients, left, wish, seconds=left + GRACE)
    except WorkerTimedOut:
        return None
    except WorkerDied as death:
        budget.progress(f"semidefinite program: {death}")
        return None


def _program_size(identities: Sequence[SosIdentity]) -> int:
    """How large a program is, in entries of full matrices."""
    every = [block for identity in identities for block in identity.blocks]
    return sum(block.columns if block.pairs is None else block.columns // PAIRS_DISCOUNT for block in every)


def _solve_in_process(
    identities: Sequence[SosIdentity], coefficients: int, seconds: float, wish: SoftConstraints | None = None
) -> SdpSolution | None:
    """The program written down and given to Clarabel, in this process."""
    columns = coefficients + 1
    starts: list[list[int]] = []
    for identity in identities:
        starts.append([])
        for block in identity.blocks:
            starts[-1].append(columns)
            columns += block.columns
    slacks, columns = columns, columns + (0 if wish is None else len(wish.rows))
    try:
        rows, values = _encode_identities(identities, starts, coefficients, columns)
    except OverflowError:  # a coefficient is larger than any double
        return None
    cones: list[Any] = [clarabel.ZeroConeT(len(values))]
    bounds = sparse.vstack(
        [sparse.eye(coefficients + 1, columns), -sparse.eye(coefficients, columns)], format="csc"
    )
    limits = np.concatenate([np.ones(coefficients), [LARGEST_MARGIN], np.ones(coefficients)])
    cones.append(clarabel.NonnegativeConeT(bounds.shape[0]))
    parts, right = [rows, bounds], [values, limits]
    for identity, begins in zip(identities, starts, strict=True):
        for block, begin in zip(identity.blocks, begins, strict=True):
            rows, several = block.cones(begin, coefficients, columns)
            parts.append(rows)
            right.append(np.zeros(block.columns))
            cones += several
    objective = np.zeros(columns)
    objective[coefficients] = -1.0
    if wish is not None:
        wanted, room = _encode_soft_constraints(wish, coefficients, slacks, columns)
        parts.append(wanted)
        right.append(room)
        cones.append(clarabel.NonnegativeConeT(len(room)))
        objective[coefficients] = 0.0
        objective[slacks:] = 1.0 / len(wish.rows)
    matrix = sparse.vstack(parts, format="csc")
    found = _run_clarabel(objective, matrix, np.concatenate(right), cones, seconds)
    if found is None:
        return None
    grams = tuple(
        tuple(
            block.matrix(found[b : b + block.columns], float(found[coefficients]))
            for block, b in zip(i.blocks, begins, strict=True)
        )
        for i, begins in zip(identities, starts, strict=True)
    )
    return SdpSolution(float(found[coefficients]), found[:coefficients], grams)


def _encode_soft_constraints(
    wish: SoftConstraints, coefficients: int, slacks: int, columns: int
) -> tuple[Any, NDArray[np.float64]]:
    """Rows that say: row * coefficients + room <= slack, slack >= 0, and the margin is at least so much."""
    count = len(wish.rows)
    eye = sparse.eye(count)
    between = sparse.csc_matrix((count, slacks - coefficients))
    above = sparse.hstack([sparse.csc_matrix(wish.rows), between, -eye])
    zero = sparse.hstack([sparse.csc_matrix((count, slacks)), -eye])
    least = sparse.csc_matrix(([-1.0], ([0], [coefficients])), shape=(1, columns))
    right = np.concatenate([np.full(count, -wish.room), np.zeros(count), [-wish.margin]])
    return sparse.vstack([above, zero, least], format="csc"), right


def _encode_identities(
    identities: Sequence[SosIdentity], starts: Sequence[Sequence[int]], margin: int, columns: int
) -> tuple[Any, NDArray[np.float64]]:
    """One row for each monomial of each identity: blocks - coefficients * linear = constant.

    `margin`: the column of it, which is in the squares of a matrix that is written in pairs.
    """
    data: list[float] = []
    row_of: list[int] = []
    column_of: list[int] = []
    right: list[float] = []
    for identity, begins in zip(identities, starts, strict=True):
        places: dict[Monomial, int] = {}

        def row(monomial: Monomial, places: dict[Monomial, int] = places) -> int:
            if monomial not in places:
                places[monomial] = len(right)
                right.append(0.0)
            return places[monomial]

        for block, begin in zip(identity.blocks, begins, strict=True):
            factor = [(m, float(c)) for m, c in block.factor.terms.items()]
            shared = () if block.pairs is None else ((-1, i, i, 1.0) for i in range(len(block.basis)))
            for column, i, j, weight in (*block.entries(), *shared):
                both = tuple(map(int.__add__, block.basis[i], block.basis[j]))
                for m, weight_of in factor:
                    data.append(weight * weight_of)
                    row_of.append(row(tuple(map(int.__add__, both, m))))
                    column_of.append(margin if column < 0 else begin + column)
        for index, polynomial in identity.linear.items():
            for m, c in polynomial.terms.items():
                data.append(-float(c))
                row_of.append(row(m))
                column_of.append(index)
        for m, c in identity.constant.terms.items():
            right[row(m)] += float(c)
    shape = (len(right), columns)
    return sparse.csc_matrix((data, (row_of, column_of)), shape=shape), np.array(right)
