"""Sign symmetries of sums of squares: groups of monomials, mirror images of conditions, exact proofs."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from random import Random

import pytest

from surefoot.engines.barrier import sos_candidate as finding
from surefoot.engines.barrier.scaled_system import ScaledSystem, scale_system
from surefoot.engines.barrier.sos_candidate import fit_barrier
from surefoot.query.polynomial import Polynomial, polynomial_from_constant, polynomial_from_variable
from surefoot.reductions.barrier import read_control_system
from surefoot.reductions.discretise import discretise
from surefoot.solvers.sos.rational_identity import gram_to_polynomial, is_gram_semidefinite, prove_nonnegative
from surefoot.solvers.sos.sign_symmetry import (
    group_by_parity,
    monomial_parity,
    occurring_parities,
    parity_basis,
    sign_symmetries,
)
from surefoot.solvers.sos.template import flip_signs
from surefoot.term.term import Const, Var
from surefoot.work.budget import Budget
from surefoot_studies.control.problem import stays_safe


@pytest.mark.parametrize("seed", range(30))
def test_signs_that_may_change_are_those_of_brute_force(seed: int) -> None:
    random = Random(seed)
    size = random.randint(1, 6)
    sums = [random.randrange(1 << size) for _ in range(random.randint(0, 6))]
    found = sign_symmetries(parity_basis(sums), size)
    generated = {0}
    for one in found:
        generated |= {one ^ other for other in generated}
    wanted = {s for s in range(1 << size) if all((s & v).bit_count() % 2 == 0 for v in sums)}
    assert generated == wanted
    assert len(generated) == 1 << len(found)


@pytest.mark.parametrize("seed", range(20))
def test_monomials_are_kept_apart_where_a_sign_change_tells_them_apart(seed: int) -> None:
    random = Random(seed)
    size = random.randint(1, 4)
    basis = [m for m in product(range(3), repeat=size) if sum(m) <= 2]
    polynomial = Polynomial({tuple(random.randrange(4) for _ in range(size)): Fraction(1) for _ in range(3)})
    changes = [s for s in range(1 << size) if flip_signs(polynomial, s) == polynomial]
    groups = group_by_parity(basis, occurring_parities([polynomial]))
    assert sorted(m for group in groups for m in group) == sorted(basis)
    for first in groups:
        for second in groups:
            for a, b in product(first, second):
                odd = monomial_parity(a) ^ monomial_parity(b)
                same = all((odd & s).bit_count() % 2 == 0 for s in changes)
                assert same is (first is second)


def test_a_proof_in_blocks_is_an_identity() -> None:
    x, y = polynomial_from_variable(0, 2), polynomial_from_variable(1, 2)
    wanted = x * x * x * x + y * y * y * y - (x * x * y * y) + polynomial_from_constant(1, 2)
    inside = [
        polynomial_from_constant(2, 2) - x,
        polynomial_from_constant(2, 2) + x,
        polynomial_from_constant(2, 2) - y,
        polynomial_from_constant(2, 2) + y,
    ]
    found = prove_nonnegative(wanted, inside, [(0, 1), (2, 3)], (0, 1), Budget(20))
    assert found is not None
    assert sum(s.of == () for s in found) == 4  # even and odd in each variable
    total = polynomial_from_constant(0, 2)
    for summand in found:
        assert is_gram_semidefinite(summand.gram)
        factor = polynomial_from_constant(1, 2)
        for index in summand.of:
            factor = factor * inside[index]
        total = total + factor * gram_to_polynomial(summand.basis, summand.gram)
    assert total == wanted


@pytest.fixture(scope="module")
def oscillator() -> ScaledSystem:
    system = read_control_system(discretise(stays_safe("duffing")))
    domain = tuple((Fraction(-5), Fraction(5)) for _ in system.variables)
    return scale_system(system, (Const(Fraction(-3)) * Var("x") + Const(Fraction(-4)) * Var("y"),), domain)


def test_an_odd_plant_has_an_even_barrier(oscillator: ScaledSystem) -> None:
    starts = oscillator.system.initial
    reached = [(False, False)] * len(oscillator.system.controls)
    barrier = fit_barrier(oscillator, starts, 4, Fraction(99, 100), reached, Budget(30))
    assert barrier is not None
    assert all(sum(m) % 2 == 0 for m in barrier.terms)


def test_starts_on_one_side_are_not_symmetric(oscillator: ScaledSystem) -> None:
    (low, high), *rest = oscillator.system.initial
    reached = [(False, False)] * len(oscillator.system.controls)
    basis = [polynomial_from_constant(1, oscillator.size)]
    assert finding._sign_symmetries(oscillator, basis, oscillator.system.initial, reached) == [0b11]
    assert finding._sign_symmetries(oscillator, basis, [(low, high / 2), *rest], reached) == []
