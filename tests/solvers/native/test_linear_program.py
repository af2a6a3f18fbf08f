"""Small programs with known optima."""

import numpy as np
import pytest

from surefoot.solvers.linear_program import minimise_program

COST = np.array([-1.0, -1.0])
MATRIX = np.array([[2.0, 1.0], [1.0, 3.0]])
RIGHT = np.array([3.0, 4.0])
LOW, HIGH = np.zeros(2), np.full(2, np.inf)


def test_optimum_and_marginals() -> None:
    found = minimise_program(COST, MATRIX, RIGHT, LOW, HIGH)
    assert found is not None
    assert found.columns == pytest.approx([1.0, 1.0])
    # The multipliers of the rows add up to the cost: 2/5 (2, 1) + 1/5 (1, 3) = (1, 1).
    assert found.marginals == pytest.approx([-0.4, -0.2])


def test_whole_numbers() -> None:
    right = np.array([3.5, 4.5])
    found = minimise_program(COST, MATRIX, right, LOW, HIGH, whole=np.array([True, True]), most_nodes=50)
    assert found is not None
    assert found.columns.tolist() == [1.0, 1.0]


def test_no_answer_where_nothing_is_feasible() -> None:
    opposite = np.array([[1.0, 0.0], [-1.0, 0.0]])
    assert minimise_program(COST, opposite, np.array([0.0, -1.0]), LOW, HIGH) is None
    assert (
        minimise_program(COST, opposite, np.array([0.0, -1.0]), LOW, HIGH, whole=np.array([True, False]))
        is None
    )


def test_numbers_that_are_none_have_no_answer() -> None:
    assert minimise_program(COST, np.array([[np.nan, 1.0]]), np.array([1.0]), LOW, HIGH) is None
