"""Semidefinite programs end at their deadline, and a child process gives the same answers."""

from __future__ import annotations

from fractions import Fraction
from time import monotonic

import numpy as np
import pytest

from surefoot.engines.barrier.sos_candidate import MOST_MONOMIALS, template_objection
from surefoot.query.polynomial import enumerate_monomials, polynomial_from_constant, polynomial_from_variable
from surefoot.solvers.sos import semidefinite_program
from surefoot.solvers.sos.semidefinite_program import GramBlock, SosIdentity, solve_sdp
from surefoot.work.budget import Budget
from surefoot.work.child import Worker, WorkerDied


def bowl(variables: int, degree: int) -> SosIdentity:
    """1 + the sum of x_i ** degree is a sum of squares."""
    wanted = polynomial_from_constant(1, variables)
    for index in range(variables):
        power = polynomial_from_constant(1, variables)
        for _ in range(degree):
            power = power * polynomial_from_variable(index, variables)
        wanted = wanted + power
    basis = tuple(enumerate_monomials(range(variables), variables, degree // 2))
    return SosIdentity(wanted, {}, (GramBlock(basis, polynomial_from_constant(1, variables)),))


def test_a_large_program_is_stopped_at_the_deadline() -> None:
    began = monotonic()
    assert solve_sdp([bowl(5, 8)], 0, Budget(3.0)) is None  # one iteration takes longer
    assert monotonic() - began < 6.0


def test_a_child_gives_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    here = solve_sdp([bowl(2, 4)], 0, Budget(60.0))
    monkeypatch.setattr(semidefinite_program, "LARGEST_LOCAL", 0)
    there = solve_sdp([bowl(2, 4)], 0, Budget(60.0))
    assert here is not None
    assert there is not None
    assert there.margin > 0
    assert there.margin == here.margin
    assert np.array_equal(there.grams[0][0], here.grams[0][0])


def test_a_child_that_dies_is_told_and_gives_no_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: object, **__: object) -> None:
        raise WorkerDied("the solver process died: killed", memory=True)

    monkeypatch.setattr(semidefinite_program, "LARGEST_LOCAL", 0)
    monkeypatch.setattr(Worker, "call", dies)
    told: list[str] = []
    assert solve_sdp([bowl(2, 4)], 0, Budget(60.0, progress=told.append)) is None
    assert told == ["semidefinite program: the solver process died: killed"]


def test_what_is_not_a_sum_of_squares_has_no_solution_with_a_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    identity = bowl(2, 4)
    below = SosIdentity(identity.constant - polynomial_from_constant(Fraction(2), 2), {}, identity.blocks)
    for large in (semidefinite_program.LARGEST_LOCAL, 0):
        monkeypatch.setattr(semidefinite_program, "LARGEST_LOCAL", large)
        found = solve_sdp([below], 0, Budget(60.0))
        assert found is None or found.margin <= 0


def test_a_degree_that_is_refused_says_how_large_it_is() -> None:
    assert template_objection(2, 8) is None
    assert (
        template_objection(15, 4)
        == f"degree 4 is too large: 3876 monomials in 15 variables, at most {MOST_MONOMIALS}"
    )
