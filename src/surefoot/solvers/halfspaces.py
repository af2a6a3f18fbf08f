"""Intersections of half-spaces, by linear programs (HiGHS), and proofs by multipliers (Farkas).

An affine polynomial is nowhere negative where others are not if it is a sum of them with weights that are not
negative, and of a number that is not. Weights are found in floats and rounded; what is then missing from the
identity is taken from the sides of a box, so that it holds in rational numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surefoot.query.polynomial import Polynomial
from surefoot.solvers.linear_program import ProgramStatus, open_highs, run_highs

Floats = NDArray[np.float64]
BITS = 52  # of a weight, behind the point
LEAST = 1e-13  # smaller weights are left out
UNBOUNDED_BELOW = 1e6  # below minus this a program is said to be unbounded


class HalfSpaces:
    """Half-spaces normal * x <= offset, to which others can be added; numbers should be near 1."""

    def __init__(self, size: int) -> None:
        self.size, self.count = size, 0
        self._solver = open_highs(feasibility=1e-10, dual_feasibility_tolerance=1e-10, presolve="off")
        nothing = np.array([], dtype=np.int32), np.array([])
        for _ in range(size):
            self._solver.addRow(0.0, 0.0, 0, *nothing)
        self._solver.addRow(-UNBOUNDED_BELOW, np.inf, 0, *nothing)

    def add(self, normal: Floats, offset: float) -> None:
        places = np.append(np.flatnonzero(normal), self.size).astype(np.int32)
        values = np.append(normal[normal != 0], offset)
        self._solver.addCol(offset, 0.0, np.inf, len(places), places, values)
        self.count += 1

    def set_excluded(self, index: int, is_out: bool) -> None:
        """Leave a half-space out, or take it back."""
        self._solver.changeColBounds(index, 0.0, 0.0 if is_out else np.inf)

    def upper_bound(self, direction: Floats, floor: float = -UNBOUNDED_BELOW) -> tuple[float, Floats] | None:
        """An upper bound of direction * x, not below the floor, and the weights that show it; None: no bound.

        By the dual program: the least sum of weighted offsets where the weighted normals are the direction.
        """
        for row, value in enumerate(direction):
            self._solver.changeRowBounds(row, float(value), float(value))
        self._solver.changeRowBounds(self.size, floor, np.inf)
        found = run_highs(self._solver)
        if found.status is not ProgramStatus.OPTIMAL or found.columns is None:
            return None
        return found.objective, np.maximum(found.columns, 0.0)


class FarkasCombinations:
    """Proofs about one list of constraints, all of them affine."""

    def __init__(self, constraints: Sequence[Polynomial], size: int) -> None:
        self._scaled = [_scale_affine(c, size) for c in constraints]
        self._size, self._space = size, HalfSpaces(size)
        self._sides: dict[tuple[int, bool], int] = {}  # a constraint of one variable alone, by its sign
        for index, (_, row) in enumerate(self._scaled):
            self._space.add(-np.array([float(c) for c in row[1:]]), float(row[0]))
            used = [j for j, c in enumerate(row[1:]) if c]
            if len(used) == 1:
                self._sides.setdefault((used[0], row[1 + used[0]] > 0), index)

    def weights(self, wanted: Polynomial) -> dict[int, Fraction] | None:
        """Of the constraints, such that wanted minus their sum is a number that is not negative."""
        factor, row = _scale_affine(wanted, self._size, by_number=True)
        found = self._space.upper_bound(-np.array([float(c) for c in row[1:]]), float(row[0]) - 1.0)
        if found is None:
            return None
        weights = {
            i: Fraction(round(float(w) * 2**BITS), 2**BITS) for i, w in enumerate(found[1]) if w > LEAST
        }
        rest = list(row)
        for index, weight in weights.items():
            rest = [a - weight * b for a, b in zip(rest, self._scaled[index][1], strict=True)]
        for j, missing in enumerate(rest[1:]):
            if missing:
                side = self._sides.get((j, missing > 0))
                if side is None:
                    return None
                share = missing / self._scaled[side][1][1 + j]
                weights[side] = weights.get(side, Fraction(0)) + share
                rest[0] -= share * self._scaled[side][1][0]
        if rest[0] < 0:
            return None
        return {i: w * factor / self._scaled[i][0] for i, w in weights.items()}


def _scale_affine(
    polynomial: Polynomial, size: int, by_number: bool = False
) -> tuple[Fraction, list[Fraction]]:
    """A power of two, and what is left: the number, then the coefficients; the largest of these is near 1.

    `by_number`: of all of them, with the number.
    """
    row = [polynomial.terms.get((0,) * size, Fraction(0))]
    row += [polynomial.terms.get(tuple(int(i == j) for i in range(size)), Fraction(0)) for j in range(size)]
    largest = max(map(abs, row[0 if by_number else 1 :]), default=Fraction(0)) or abs(row[0]) or Fraction(1)
    factor = Fraction(2) ** (largest.numerator.bit_length() - largest.denominator.bit_length())
    return factor, [value / factor for value in row]
