"""Sums of squares by projections: what is found is exact, and what is no sum of squares is not found."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from surefoot.query.polynomial import (
    Polynomial,
    enumerate_monomials,
    polynomial_from_constant,
    polynomial_from_variable,
)
from surefoot.solvers.sos.projections import (
    ProjectionProver,
    douglas_rachford,
    gram_matrices,
    prepare_projection,
    variable_sizes,
)
from surefoot.solvers.sos.rational_identity import (
    Summand,
    gram_blocks,
    gram_to_polynomial,
    is_gram_semidefinite,
    prove_nonnegative,
    solve_residual,
)
from surefoot.work.budget import Budget

ONE = Fraction(1)


def budget(seconds: float = 60.0) -> Budget:
    return Budget(seconds, 0, lambda _: None)


def total(summands: tuple[Summand, ...], constraints: list[Polynomial], size: int) -> Polynomial:
    found = polynomial_from_constant(0, size)
    for summand in summands:
        assert is_gram_semidefinite(summand.gram)
        part = gram_to_polynomial(summand.basis, summand.gram)
        for index in summand.of:
            part = part * constraints[index]
        found = found + part
    return found


def squares(size: int, count: int, generator: np.random.Generator) -> Polynomial:
    """A sum of squares with some room."""
    basis, found = list(enumerate_monomials(range(size), size, 2)), polynomial_from_constant(0, size)
    for _ in range(count):
        numbers = [Fraction(int(c), 8) for c in generator.integers(-8, 9, len(basis))]
        part = Polynomial({m: c for m, c in zip(basis, numbers, strict=True) if c})
        found = found + part * part
    room = Polynomial({tuple(2 * e for e in m): Fraction(1, 20) for m in basis})
    return found + room


@pytest.mark.parametrize("size", [2, 4, 5])
def test_sums_of_squares_are_found_and_exact(size: int) -> None:
    wanted = squares(size, 3, np.random.default_rng(size))
    found = ProjectionProver([], [], range(size)).prove(wanted, budget())
    assert found is not None
    assert total(found, [], size) == wanted


def test_multipliers_that_are_polynomials() -> None:
    """3 - x^4 - y^4 - z^4 is positive on a box only."""
    size, low, high = 3, Fraction(-3, 4), Fraction(7, 8)
    names = [polynomial_from_variable(i, size) for i in range(size)]
    box = [
        side
        for x in names
        for side in (x - polynomial_from_constant(low, size), polynomial_from_constant(high, size) - x)
    ]
    wanted = polynomial_from_constant(3, size)
    for x in names:
        wanted = wanted - x * x * x * x
    pairs = [(2 * i, 2 * i + 1) for i in range(size)]
    assert ProjectionProver([], [], range(size)).prove(wanted, budget()) is None
    found = ProjectionProver(box, pairs, range(size)).prove(wanted, budget())
    assert found is not None
    assert total(found, box, size) == wanted
    assert variable_sizes(box, size) == [float(high)] * size


def test_a_multiplier_that_is_nearly_one() -> None:
    """B(next) <= 0 where B <= 0, for a slow step: B(next) <= factor * B with a factor just below 1."""
    size = 4
    barrier = squares(size, 2, np.random.default_rng(1)) * polynomial_from_constant(Fraction(1, 4), size)
    even = Polynomial({m: c for m, c in barrier.terms.items() if not any(e % 2 for e in m)})
    barrier = even - polynomial_from_constant(even.terms[(0,) * size] + ONE, size)
    slower = [polynomial_from_variable(i, size).times(Fraction(999, 1000)) for i in range(size)]
    wanted = -barrier.substitute_variables(slower, size)
    found = ProjectionProver([-barrier], [(0,)], range(size)).prove(wanted, budget())
    assert found is not None
    assert total(found, [-barrier], size) == wanted
    factor = next(s.gram[0][0] for s in found if s.of == (0,))
    assert Fraction(99, 100) < factor < 1


def test_a_second_proof_starts_from_the_first() -> None:
    """Both sides of all variables of an ellipsoid: they differ in a few entries."""
    size = 4
    ball = polynomial_from_constant(1, size)
    for i in range(size):
        ball = ball - polynomial_from_variable(i, size) * polynomial_from_variable(i, size)
    one = ProjectionProver([ball], [(0,)], range(size))
    for i, sign in product(range(size), (1, -1)):
        wanted = polynomial_from_constant(Fraction(6, 5), size) + polynomial_from_variable(i, size).times(
            Fraction(sign)
        )
        found = one.prove(wanted, budget())
        assert found is not None
        assert total(found, [ball], size) == wanted
    assert (
        one.prove(
            polynomial_from_constant(Fraction(4, 5), size) + polynomial_from_variable(0, size), budget()
        )
        is None
    )


def test_what_is_no_sum_of_squares_is_not_found() -> None:
    motzkin = Polynomial({(4, 2): ONE, (2, 4): ONE, (2, 2): -3 * ONE, (0, 0): ONE})
    negative = Polynomial({(2, 0): ONE, (1, 1): -3 * ONE, (0, 2): ONE, (0, 0): ONE})
    for wanted in (motzkin, negative, -motzkin):
        assert ProjectionProver([], [], (0, 1)).prove(wanted, budget()) is None


def test_no_time_and_no_place() -> None:
    wanted = squares(2, 2, np.random.default_rng(0))
    assert ProjectionProver([], [], (0, 1)).prove(wanted, budget(0.0)) is None
    known = prepare_projection(gram_blocks(2, [], [], (0, 1), [wanted], "sos"), [1.0, 1.0])
    assert known is not None
    assert douglas_rachford(known, wanted, budget()) is None  # of degree 4


def test_sizes_of_variables_change_nothing() -> None:
    """Variables that are a thousand times larger or smaller than others."""
    wanted = squares(3, 3, np.random.default_rng(5))
    large = [polynomial_from_variable(i, 3).times(Fraction(1000) ** (i - 1)) for i in range(3)]
    wanted = wanted.substitute_variables(large, 3)
    known = prepare_projection(gram_blocks(4, [], [], range(3), [wanted], "sos"), [1000.0, 1.0, 0.001])
    assert known is not None
    values = douglas_rachford(known, wanted, budget())
    assert values is not None
    for gram in gram_matrices(known, values):
        scale = np.diag(1 / np.sqrt(np.diag(gram)))
        assert np.linalg.eigvalsh(scale @ gram @ scale)[0] > 0


def test_a_slow_step_of_a_barrier_is_proved_by_a_program() -> None:
    """What the squares have to be is a millionth of the barrier, less than what a program calls zero."""
    size = 2
    barrier = Polynomial(
        {(4, 0): ONE, (2, 2): ONE, (0, 4): ONE, (2, 0): 2 * ONE, (1, 1): ONE, (0, 2): ONE, (0, 0): -3 * ONE}
    )
    slower = [polynomial_from_variable(i, size).times(1 - Fraction(1, 10**6)) for i in range(size)]
    wanted = -barrier.substitute_variables(slower, size)
    found = prove_nonnegative(wanted, [-barrier], [(0,)], range(size), budget())
    assert found is not None
    assert total(found, [-barrier], size) == wanted
    parts = gram_blocks(4, [-barrier], [(0,)], range(size), [wanted], "sos")
    assert solve_residual(wanted, parts, budget()) is not None
    assert solve_residual(polynomial_from_constant(1, size), parts, budget()) is None  # nothing to take out
    assert solve_residual(wanted, [p for p in parts if not p.of], budget()) is None
    assert (
        prove_nonnegative(-barrier, [-wanted], [(0,)], range(size), budget()) is None
    )  # the other way round: not true
