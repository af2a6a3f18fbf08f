"""Sets {B <= 0} of many variables: values and slopes in floats, and the box around a set."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from surefoot.engines.barrier import sampled
from surefoot.engines.barrier.attack import Rays
from surefoot.engines.barrier.sampled import evaluated, halved
from surefoot.query.polynomial import Polynomial, monomials
from surefoot.work.budget import Budget

SIZE = 8


def quartic(generator: np.random.Generator) -> Polynomial:
    terms = {m: Fraction(int(generator.integers(-9, 10)), 4) for m in monomials(range(SIZE), SIZE, 4)}
    return Polynomial({m: c for m, c in terms.items() if c})


def test_halves_are_the_polynomial() -> None:
    generator = np.random.default_rng(0)
    polynomial, points = quartic(generator), generator.normal(size=(20, SIZE))
    assert len(polynomial.terms) > sampled.MANY
    plain = np.zeros(len(points))
    for monomial, coefficient in polynomial.terms.items():
        plain += float(coefficient) * np.prod(points ** np.array(monomial), axis=1)
    assert np.allclose(evaluated(polynomial, points), plain)
    assert np.allclose(evaluated(polynomial, points), plain)  # as it was remembered
    slopes, small = halved(polynomial).slopes(points[0]), 1e-6
    for index, row in enumerate(np.eye(SIZE) * small):
        ahead, behind = evaluated(polynomial, np.array([points[0] + row, points[0] - row]))
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
    low, high = Rays(barrier, np.zeros((1, SIZE)), np.ones(SIZE)).hull(Budget(60, 0, lambda _: None))
    known = np.sqrt(np.diag(np.linalg.inv(matrix)))
    assert np.allclose(high, known, rtol=1e-3)
    assert np.allclose(low, -known, rtol=1e-3)
