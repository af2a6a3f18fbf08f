"""Many steps of a polynomial system at once, in plain floats: to see where runs go, never to decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.query.polynomial import Polynomial, polynomial_from_variable
from surefoot.reductions.barrier import ControlSystem, polynomial_of
from surefoot.term.term import Term

Floats: TypeAlias = NDArray[np.float64]
MANY = 300  # terms: products of pairs of monomials by a matrix


@dataclass(frozen=True, slots=True)
class FloatSystem:
    """Polynomials in variables, disturbances and controls, in this order."""

    system: ControlSystem
    controls: tuple[Polynomial, ...]
    next: tuple[Polynomial, ...]

    def step(self, states: Floats, disturbances: Floats) -> Floats:
        """The next states under the rule, one row for each."""
        row = np.column_stack([states, disturbances, np.zeros((len(states), len(self.controls)))])
        values = (
            np.column_stack([evaluate_polynomial(value, row) for value in self.controls])
            if self.controls
            else row[:, :0]
        )
        return self.next_states(states, disturbances, self.clip_controls(values))

    def next_states(self, states: Floats, disturbances: Floats, controls: Floats) -> Floats:
        """The next states under these controls."""
        row = np.column_stack([states, disturbances, controls])
        return np.column_stack([evaluate_polynomial(m, row) for m in self.next])

    def clip_controls(self, controls: Floats) -> Floats:
        return np.clip(controls, *control_limits(self.system))

    def draw_disturbances(self, count: int, generator: np.random.Generator) -> Floats:
        """Disturbances at the ends of their ranges."""
        ends = np.array([[float(a), float(b)] for _, (a, b) in self.system.disturbances]).reshape(-1, 2)
        return np.where(generator.random((count, len(ends))) < 0.5, ends[:, 0], ends[:, 1])


def float_system(system: ControlSystem, then: Sequence[Term] = ()) -> FloatSystem:
    """`then`: the rule by which it steps; without one controls are given from step to step."""
    names = [*system.variables, *(n for n, _ in system.disturbances), *(n for n, _, _ in system.controls)]
    ring = {n: polynomial_from_variable(i, len(names)) for i, n in enumerate(names)}

    def of(term: Term) -> Polynomial:
        return polynomial_of(term, ring, len(names), system.rounded)

    return FloatSystem(system, tuple(map(of, then)), tuple(map(of, system.next)))


def is_linear(system: ControlSystem) -> bool:
    """Is the next state an affine function of state, controls and disturbances, from step to step?"""
    if system.motion is not None:
        return False
    return all(p.degree <= 1 for p in float_system(system).next)


def control_limits(system: ControlSystem) -> tuple[Floats, Floats]:
    """The lower and the upper ends of the controls, infinite where there are none."""
    low = [end_or_infinity(end, -np.inf) for _, end, _ in system.controls]
    high = [end_or_infinity(end, np.inf) for _, _, end in system.controls]
    return np.array(low), np.array(high)


def end_or_infinity(end: Fraction | None, otherwise: float) -> float:
    return otherwise if end is None else float(end)


def evaluate_polynomial(polynomial: Polynomial, points: Floats) -> Floats:
    """The values at the rows of an array; infinite or NaN in states that a simulation has run away to."""
    if len(polynomial.terms) > MANY:
        return _cached_bilinear_form(polynomial)(points)
    total: Floats = np.zeros(len(points))
    with np.errstate(over="ignore", invalid="ignore"):
        for monomial, coefficient in polynomial.terms.items():
            term: Floats | float = float(coefficient)
            for index, exponent in enumerate(monomial):
                if exponent:
                    column = points[:, index]
                    term = term * (column if exponent == 1 else column**exponent)
            total += term
    return total


@dataclass(frozen=True, slots=True, eq=False)
class BilinearForm:
    """A polynomial as left' matrix right, with monomials of half its degree on both sides."""

    left: tuple[tuple[int, ...], ...]  # the variables of each monomial
    right: tuple[tuple[int, ...], ...]
    matrix: Floats

    def __call__(self, points: Floats) -> Floats:
        with np.errstate(over="ignore", invalid="ignore"):
            found: Floats = np.sum(
                (_monomial_values(points, self.left) @ self.matrix) * _monomial_values(points, self.right),
                axis=1,
            )
        return found

    def slopes(self, point: Floats) -> Floats:
        """The derivatives at one point."""
        row, longer = point[None, :], np.append(point, 1.0)
        before, after = _monomial_values(row, self.left)[0], _monomial_values(row, self.right)[0]
        found: Floats = np.zeros(len(longer))
        for several, weights in ((self.left, self.matrix @ after), (self.right, before @ self.matrix)):
            most = max(map(len, several))
            places = np.array([(*v, *((len(point),) * (most - len(v)))) for v in several], dtype=int)
            for k in range(most):
                rest = weights * np.prod(longer[np.delete(places, k, axis=1)], axis=1)
                found += np.bincount(places[:, k], rest, minlength=len(longer))
        return found[:-1]


def _cached_bilinear_form(
    polynomial: Polynomial,
    last: list[tuple[Polynomial, BilinearForm]] = [],  # noqa: B006 - a cache
) -> BilinearForm:
    """The same few polynomials are evaluated again and again."""
    for one, found in last:
        if one is polynomial:
            return found
    last.insert(0, (polynomial, bilinear_form(polynomial)))
    del last[4:]
    return last[0][1]


def bilinear_form(polynomial: Polynomial) -> BilinearForm:
    left: dict[tuple[int, ...], int] = {}
    right: dict[tuple[int, ...], int] = {}
    entries = []
    for monomial, coefficient in polynomial.terms.items():
        variables = tuple(i for i, exponent in enumerate(monomial) for _ in range(exponent))
        middle = (len(variables) + 1) // 2
        row = left.setdefault(variables[:middle], len(left))
        entries.append((row, right.setdefault(variables[middle:], len(right)), float(coefficient)))
    matrix = np.zeros((len(left), len(right)))
    for row, column, value in entries:
        matrix[row, column] += value
    return BilinearForm(tuple(left), tuple(right), matrix)


def _monomial_values(points: Floats, several: Sequence[tuple[int, ...]]) -> Floats:
    found = np.ones((len(several), len(points)))
    for row, variables in zip(found, several, strict=True):
        for index in variables:
            row *= points[:, index]
    return found.T
