"""Multipliers that show an affine polynomial to be not negative, in exact numbers."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from surefoot.query.polynomial import Polynomial, polynomial_from_constant, polynomial_from_variable
from surefoot.solvers.halfspaces import FarkasCombinations, HalfSpaces


def affine(numbers: np.ndarray) -> Polynomial:
    """number + coefficients * variables, with short fractions."""
    size = len(numbers) - 1
    total = polynomial_from_constant(Fraction(float(numbers[0])), size)
    for index, value in enumerate(numbers[1:]):
        total = total + polynomial_from_variable(index, size).times(Fraction(float(value)))
    return total


def box(size: int, half: float) -> list[np.ndarray]:
    return [np.array([half, *(sign * unit)]) for unit in np.eye(size) for sign in (1, -1)]


@pytest.mark.parametrize("seed", range(40))
def test_weights_are_found_exactly_where_a_linear_program_says_so(seed: int) -> None:
    generator = np.random.default_rng(seed)
    size = int(generator.integers(1, 6))
    rows = [*box(size, 2.0), *generator.normal(size=(int(generator.integers(0, 12)), size + 1))]
    constraints = [affine(row) for row in rows]
    found = FarkasCombinations(constraints, size)
    matrix = np.array(rows)
    for _ in range(10):
        wanted = generator.normal(size=size + 1) * 10.0 ** generator.integers(-6, 6)
        answer = linprog(wanted[1:], A_ub=-matrix[:, 1:], b_ub=matrix[:, 0], bounds=(None, None))
        low = np.inf if answer.status == 2 else wanted[0] + answer.fun
        weights = found.weights(affine(wanted))
        if abs(low) > 1e-6 * np.abs(wanted).max():
            assert (weights is not None) == (low > 0)
        if weights is not None:
            total = affine(wanted)
            for index, weight in weights.items():
                assert weight >= 0
                total = total - constraints[index].times(weight)
            assert total.terms.keys() <= {(0,) * size}
            assert total.terms.get((0,) * size, Fraction(0)) >= 0


def test_what_has_no_point_proves_minus_one() -> None:
    apart = [affine(np.array(row)) for row in ([1.0, -1.0], [-2.0, 1.0])]  # x <= 1 and x >= 2
    sides = [affine(row) for row in box(1, 5.0)]
    assert FarkasCombinations([*sides, *apart], 1).weights(polynomial_from_constant(-1, 1)) is not None
    assert FarkasCombinations(sides, 1).weights(polynomial_from_constant(-1, 1)) is None


def test_half_spaces_can_be_added_and_left_out() -> None:
    spaces = HalfSpaces(2)
    for row in box(2, 1.0):
        spaces.add(-row[1:], float(row[0]))
    spaces.add(np.array([1.0, 1.0]), 0.5)
    bound = spaces.upper_bound(np.array([1.0, 1.0]))
    assert bound is not None
    assert bound[0] == pytest.approx(0.5)
    spaces.set_excluded(4, True)
    bound = spaces.upper_bound(np.array([1.0, 1.0]))
    assert bound is not None
    assert bound[0] == pytest.approx(2.0)
    assert HalfSpaces(2).upper_bound(np.array([1.0, 0.0])) is None
