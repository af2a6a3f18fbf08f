"""Sets {B <= 0} of many variables: values and slopes in floats, and the box around a set."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from surefoot.engines.barrier import falsify, float_system
from surefoot.engines.barrier.falsify import RaySampler
from surefoot.engines.barrier.float_system import Floats, bilinear_form, evaluate_polynomial
from surefoot.query.polynomial import Polynomial, enumerate_monomials
from surefoot.work.budget import Budget

SIZE = 8


def quartic(generator: np.random.Generator) -> Polynomial:
    terms = {
        m: Fraction(int(generator.integers(-9, 10)), 4) for m in enumerate_monomials(range(SIZE), SIZE, 4)
    }
    return Polynomial({m: c for m, c in terms.items() if c})


def test_halves_are_the_polynomial() -> None:
    generator = np.random.default_rng(0)
    polynomial, points = quartic(generator), generator.normal(size=(20, SIZE))
    assert len(polynomial.terms) > float_system.MANY
    plain = np.zeros(len(points))
    for monomial, coefficient in polynomial.terms.items():
        plain += float(coefficient) * np.prod(points ** np.array(monomial), axis=1)
    assert np.allclose(evaluate_polynomial(polynomial, points), plain)
    assert np.allclose(evaluate_polynomial(polynomial, points), plain)  # as it was remembered
    slopes, small = bilinear_form(polynomial).slopes(points[0]), 1e-6
    for index, row in enumerate(np.eye(SIZE) * small):
        ahead, behind = evaluate_polynomial(polynomial, np.array([points[0] + row, points[0] - row]))
        assert abs((ahead - behind) / (2 * small) - slopes[index]) < 1e-5 * (1 + abs(slopes[index]))


def test_the_box_around_a_set_of_many_variables() -> None:
    """Around an ellipsoid x' P x <= 1 it is known; rays alone miss a third of it."""
    generator = np.random.default_rng(3)
    factor = np.round(generator.normal(size=(SIZE, SIZE)) * 4) / 4 + 2 * np.eye(SIZE)
    matrix = factor @ factor.T
    terms = {(0,) * SIZE: Fraction(-1)}
    for i in range(SIZE):
        for j in range(i + 1):
            monomial = tuple(int(k == i) + int(k == j) for k in range(SIZE))
            terms[monomial] = Fraction(float(matrix[i, j])) * (1 if i == j else 2)
    barrier = Polynomial({m: c for m, c in terms.items() if c})
    low, high = RaySampler(barrier, np.zeros((1, SIZE)), np.ones(SIZE)).hull(Budget(60, 0, lambda _: None))
    known = np.sqrt(np.diag(np.linalg.inv(matrix)))
    assert np.allclose(high, known, rtol=1e-3)
    assert np.allclose(low, -known, rtol=1e-3)


def cap(above: Floats) -> falsify.Score:
    return lambda x, _: x @ above[:-1] + above[-1]


def test_uphill_within_the_set() -> None:
    """A cap of the ball is found from inside; what is beyond its edge is not."""
    ball = Polynomial(
        {(0,) * SIZE: Fraction(-1)}
        | {tuple(2 * (i == k) for k in range(SIZE)): Fraction(1) for i in range(SIZE)}
    )
    region = RaySampler(ball, np.zeros((1, SIZE)), np.linspace(0.5, 2, SIZE))
    row = np.ones(SIZE) / np.sqrt(SIZE)
    states, drawn = np.full((2, SIZE), 0.1) * np.array([[1.0], [-1.0]]), np.zeros((2, 0))
    for height, reached in ((0.9999, 2), (1.0001, 0)):
        above = np.append(row, -height)
        found = falsify.ascend_score(region, cap(above), states, drawn, Budget(60, 0, print))
        assert len(found) == reached
        assert all(evaluate_polynomial(ball, x[None, :])[0] <= 0 for x, _ in found)
    assert falsify.ascend_score(region, cap(np.append(row, 0.0)), states, drawn, Budget(0, 0, print)) == []
