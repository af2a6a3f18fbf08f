"""Monomials that a sum of squares can have (Reznick, "Extremal PSD forms with few terms", 1978).

The exponents of all squares lie in the convex hull of the exponents of what they add up to, its Newton
polytope: a system that is cubic in one variable only needs high powers of that variable alone. Here the hull
is that of all polynomials of an identity, the products of constraints included. It is used where its corners
are squares; where they are not the squares need more than the hull, and nothing is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from surefoot.query.polynomial import Monomial, Polynomial
from surefoot.solvers.halfspaces import HalfSpaces

MOST_POINTS = 1500  # of a hull: with more, looking takes longer than what it saves
STEEP, NEAR = 1e4, 1e-7


class NewtonPolytope:
    """The convex hull of exponents; whether others are in it is seen in floats, which decide nothing."""

    def __init__(self, points: Sequence[Monomial]) -> None:
        self.points, self._known = points, dict.fromkeys(points, True)

    @cached_property
    def _middle(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        found: np.ndarray[tuple[int], np.dtype[np.float64]] = np.array(self.points, dtype=float).mean(axis=0)
        return found

    @cached_property
    def _polar(self) -> HalfSpaces:
        """The directions in which no point is further than 1 from the middle."""
        found = HalfSpaces(len(self._middle))
        for point in self.points:
            found.add(np.array(point, dtype=float) - self._middle, 1.0)
        for row in np.eye(len(self._middle)):
            found.add(row, STEEP)
            found.add(-row, STEEP)
        return found

    def __contains__(self, point: Monomial) -> bool:
        if point not in self._known:
            highest = self._polar.upper_bound(np.array(point, dtype=float) - self._middle)
            self._known[point] = highest is None or highest[0] <= 1 + NEAR
        return self._known[point]


def newton_polytope(
    polynomials: Iterable[Polynomial], over: Sequence[int], degree: int
) -> NewtonPolytope | None:
    """The Newton polytope; None if it is all of this degree, or too large, or not that of squares."""
    points = {m for p in polynomials for m in p.terms}
    size = len(next(iter(points), ()))
    whole = all(tuple(degree * (i == k) for i in range(size)) in points for k in over)
    if whole or len(points) > MOST_POINTS:
        return None
    points.add((0,) * size)
    squares = [m for m in points if not any(e % 2 for e in m)]
    hull = NewtonPolytope(squares)
    return hull if all(m in hull for m in points) else None


def monomials_in_polytope(
    basis: Iterable[Monomial], factor: Polynomial, hull: NewtonPolytope | None
) -> list[Monomial]:
    """Those whose squares times the factor are in the hull."""
    if hull is None:
        return list(basis)
    return [
        m
        for m in basis
        if all(tuple(2 * e + f for e, f in zip(m, n, strict=True)) in hull for n in factor.terms)
    ]
