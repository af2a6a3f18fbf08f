"""Sums of squares in pairs (SDSOS), Newton polytopes and the elimination of rounded matrices."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from surefoot.query.polynomial import (
    Monomial,
    Polynomial,
    enumerate_monomials,
    polynomial_from_constant,
    polynomial_from_variable,
)
from surefoot.solvers.sos.gram_blocks import WIDEST_FULL, GramBlock, Squares, split_into_pairs
from surefoot.solvers.sos.rational_identity import (
    Summand,
    _is_definite_in_integers,
    gram_blocks,
    gram_to_polynomial,
    is_gram_semidefinite,
    monomials_in_polytope,
    newton_polytope,
    prove_nonnegative,
)
from surefoot.solvers.sos.semidefinite_program import SosIdentity, solve_sdp
from surefoot.work.budget import Budget
from surefoot_checker.claims.barrier.sum_of_squares import is_exactly_semidefinite as eliminated
from surefoot_checker.claims.barrier.sum_of_squares import is_surely_semidefinite


def of_squares(found: tuple[Summand, ...], where: list[Polynomial], size: int) -> Polynomial:
    total = polynomial_from_constant(0, size)
    for summand in found:
        assert is_gram_semidefinite(summand.gram)
        factor = polynomial_from_constant(1, size)
        for index in summand.of:
            factor = factor * where[index]
        total = total + factor * gram_to_polynomial(summand.basis, summand.gram)
    return total


def squares_of_pairs(random: Random, size: int, count: int) -> Polynomial:
    """Squares of two monomials each, and a little of every square: inside of the cone."""
    basis = list(enumerate_monomials(range(size), size, 2))
    total = Polynomial({tuple(2 * e for e in m): Fraction(1, 10) for m in basis})
    for _ in range(count):
        first, second = random.sample(basis, 2)
        both = Polynomial({first: Fraction(random.randint(1, 9)), second: Fraction(random.randint(-9, -1))})
        total = total + both * both
    return total


@pytest.mark.parametrize("seed", range(6))
def test_sums_of_squares_of_pairs_are_found_in_pairs(seed: int) -> None:
    random = Random(seed)
    size = random.randint(2, 6)
    wanted = squares_of_pairs(random, size, 3 * size)
    found = prove_nonnegative(wanted, [], [], range(size), Budget(30), squares="sdsos")
    assert found is not None
    assert of_squares(found, [], size) == wanted


def test_a_wide_matrix_is_written_in_pairs() -> None:
    """Eleven variables: a full matrix of 78 monomials, for which nobody would wait."""
    wanted = squares_of_pairs(Random(1), 11, 30)
    parts = gram_blocks(4, [], [], range(11), [wanted])
    assert all(block.pairs is not None for block in parts)
    assert gram_blocks(4, [], [], range(11), [wanted], "sos")[0].pairs is None
    found = prove_nonnegative(wanted, [], [], range(11), Budget(30))
    assert found is not None
    assert of_squares(found, [], 11) == wanted


def square_of_three() -> Polynomial:
    """(x + y + z)^2 and a little of each square: in the cone of squares, but of three monomials."""
    names = [polynomial_from_variable(i, 3) for i in range(3)]
    total = names[0] + names[1] + names[2]
    squares = polynomial_from_constant(1, 3)
    for name in names:
        squares = squares + name * name
    return total * total + squares.times(Fraction(1, 10))


def test_what_is_no_sum_over_pairs_has_no_margin_in_pairs() -> None:
    """Its only matrix is no sum over pairs; it is a sum of squares all the same, as exact numbers say."""
    wanted = square_of_three()
    margins: dict[Squares, float] = {}
    for squares in ("sos", "sdsos"):
        found = solve_sdp(
            [SosIdentity(wanted, {}, tuple(gram_blocks(2, [], [], range(3), [wanted], squares)))],
            0,
            Budget(20),
        )
        assert found is not None
        margins[squares] = found.margin
        shown = prove_nonnegative(wanted, [], [], range(3), Budget(20), squares=squares)
        assert shown is not None
        assert of_squares(shown, [], 3) == wanted
    assert margins["sos"] > 0.09
    assert margins["sdsos"] < -0.5


@pytest.mark.parametrize("squares", ["sos", "sdsos"])
def test_what_is_negative_somewhere_is_not_claimed(squares: Squares) -> None:
    """Motzkin's polynomial, nowhere negative but no sum of squares, and polynomials below 0 somewhere."""
    motzkin = Polynomial(
        {(4, 2): Fraction(1), (2, 4): Fraction(1), (2, 2): Fraction(-3), (0, 0): Fraction(1)}
    )
    assert prove_nonnegative(motzkin, [], [], range(2), Budget(20), squares=squares) is None
    random = Random(0)
    for _ in range(5):
        wanted = squares_of_pairs(random, 3, 4)
        below = wanted - polynomial_from_constant(
            wanted.terms[0, 0, 0] + Fraction(1, 100), 3
        )  # negative at 0
        assert prove_nonnegative(below, [], [], range(3), Budget(20), squares=squares) is None


def test_both_cones_agree_on_two_monomials() -> None:
    """A 2x2 matrix is one pair: the same program."""
    one = polynomial_from_constant(1, 1)
    wanted = Polynomial({(0,): Fraction(3), (1,): Fraction(2), (2,): Fraction(1)})
    margins = []
    for pairs in (None, ((0, 1),)):
        found = solve_sdp(
            [SosIdentity(wanted, {}, (GramBlock(((0,), (1,)), one, (), pairs),))], 0, Budget(20)
        )
        assert found is not None
        assert np.allclose(found.grams[0][0], [[3, 1], [1, 1]], atol=1e-6)
        margins.append(found.margin)
    assert margins[0] == pytest.approx(margins[1], abs=1e-6)


def test_in_a_box_both_use_its_sides() -> None:
    """2 + x^3 y is positive where |x| and |y| are at most 1, and nowhere else is anything said."""
    x, y = polynomial_from_variable(0, 2), polynomial_from_variable(1, 2)
    wanted = x * x * x * y + polynomial_from_constant(2, 2)
    inside = [
        polynomial_from_constant(1, 2) - x,
        polynomial_from_constant(1, 2) + x,
        polynomial_from_constant(1, 2) - y,
        polynomial_from_constant(1, 2) + y,
    ]
    for squares in ("sos", "sdsos"):
        found = prove_nonnegative(wanted, inside, [(0, 1), (2, 3)], (0, 1), Budget(20), squares=squares)
        assert found is not None
        assert of_squares(found, inside, 2) == wanted


def test_pairs_that_nothing_calls_for_are_left_out() -> None:
    """x_i^4 and x_i x_(i+1): no product of x1 with x4, none of three variables."""
    size = 6
    wanted = polynomial_from_constant(1, size)
    for i in range(size):
        power = polynomial_from_variable(i, size) * polynomial_from_variable(i, size)
        wanted = wanted + power * power + power
        wanted = wanted + polynomial_from_variable(i, size) * polynomial_from_variable((i + 1) % size, size)
    full = gram_blocks(4, [], [], range(size), [wanted], "sos")
    paired = gram_blocks(4, [], [], range(size), [wanted], "sdsos")
    most = sum(len(b.basis) * (len(b.basis) - 1) // 2 for b in full)
    assert sum(len(b.pairs or ()) for b in paired) < most / 2
    assert max(len(b.basis) for b in full) <= WIDEST_FULL
    assert split_into_pairs(full, [wanted], "auto") == full
    found = prove_nonnegative(wanted, [], [], range(size), Budget(20), squares="sdsos")
    assert found is not None
    assert of_squares(found, [], size) == wanted


def test_newton_polytope_of_a_map_that_is_cubic_in_one_variable() -> None:
    """(x + y^3)^2 and a little more: of degree 6, but x y, x^2 and their like are in no square."""
    x, y = polynomial_from_variable(0, 2), polynomial_from_variable(1, 2)
    cubic = x + y * y * y
    wanted = cubic * cubic + Polynomial({m: Fraction(1, 4) for m in ((0, 0), (2, 0), (0, 2), (0, 4), (0, 6))})
    hull = newton_polytope([wanted], (0, 1), 6)
    assert hull is not None
    basis = monomials_in_polytope(enumerate_monomials((0, 1), 2, 3), polynomial_from_constant(1, 2), hull)
    assert basis == [(0, 0), (1, 0), (0, 1), (0, 2), (0, 3)]
    found = prove_nonnegative(wanted, [], [], (0, 1), Budget(20))
    assert found is not None
    assert of_squares(found, [], 2) == wanted


@pytest.mark.parametrize("seed", range(8))
def test_a_square_has_only_monomials_of_the_polytope(seed: int) -> None:
    """Brute force: every monomial of a random sum of squares is kept."""
    random = Random(seed)
    size, degree = random.randint(1, 3), random.randint(1, 4)
    every = list(enumerate_monomials(range(size), size, degree))
    chosen: list[Monomial] = []
    total = polynomial_from_constant(0, size)
    for _ in range(3):
        several = random.sample(every, min(len(every), 3))
        chosen += several
        one = Polynomial({m: Fraction(random.randint(1, 5)) for m in several})
        total = total + one * one
    kept = monomials_in_polytope(
        every, polynomial_from_constant(1, size), newton_polytope([total], range(size), 2 * degree)
    )
    assert set(chosen) <= set(kept)


def test_a_corner_that_is_no_square_keeps_all_monomials() -> None:
    x, y = polynomial_from_variable(0, 2), polynomial_from_variable(1, 2)
    assert newton_polytope([x * y * y * y + polynomial_from_constant(3, 2)], (0, 1), 4) is None
    assert (
        newton_polytope([Polynomial({(4, 0): Fraction(1), (0, 4): Fraction(1)})], (0, 1), 4) is None
    )  # all of it


def matrix_of(random: Random, side: int, rank: int, bits: int) -> list[list[int]]:
    """V' V, exactly of this rank at most."""
    vectors = [[random.randint(-(1 << bits), 1 << bits) for _ in range(side)] for _ in range(rank)]
    return [[sum(v[i] * v[j] for v in vectors) for j in range(i + 1)] for i in range(side)]


@pytest.mark.parametrize("seed", range(40))
def test_rounded_elimination_never_says_more_than_the_exact_one(seed: int) -> None:
    """Definite, singular and just not semidefinite matrices, with entries of few and of many bits."""
    random = Random(seed)
    side, bits = random.randint(1, 7), random.choice((3, 40, 200))
    rows = matrix_of(random, side, random.randint(1, 2 * side), bits)
    where = random.randrange(side)
    for change in (0, 1, -1, 1 << bits, -(1 << bits), -(1 << 2 * bits - 20) if bits > 20 else -2):
        changed = [list(row) for row in rows]
        changed[where][where] += change
        fractions = tuple(tuple(Fraction(entry, 7 << bits) for entry in row) for row in changed)
        exact = eliminated(changed)
        assert is_gram_semidefinite(fractions) is exact
        assert exact or not is_surely_semidefinite(changed)
        assert exact or not _is_definite_in_integers(fractions)


def test_rounded_elimination_decides_what_has_some_room() -> None:
    random = Random(3)
    rows = matrix_of(random, 20, 30, 200)
    assert is_surely_semidefinite(rows)
    assert _is_definite_in_integers(tuple(tuple(Fraction(entry, 1 << 300) for entry in row) for row in rows))


def test_numbers_do_not_grow_in_rounded_elimination() -> None:
    """Tiny pivots and huge columns: refused at once, instead of numbers that double with every pivot."""
    side = 60
    rows = [[1 if i == j else 1 << 90 for j in range(i + 1)] for i in range(side)]
    assert not is_surely_semidefinite(rows)
    assert not _is_definite_in_integers(tuple(tuple(map(Fraction, row)) for row in rows))
