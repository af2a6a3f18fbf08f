"""Semidefinite programs end at their deadline, and a child process gives the same answers."""

from __future__ import annotations

from fractions import Fraction
from time import monotonic

import numpy as np
import pytest

from surefoot.engines.barrier.find import MOST_MONOMIALS, too_large
from surefoot.query.polynomial import constant, monomials, variable
from surefoot.solve.sos import program
from surefoot.solve.sos.program import Block, Identity, solve
from surefoot.work.budget import Budget
from surefoot.work.child import Died, Worker


def bowl(variables: int, degree: int) -> Identity:
    """1 + the sum of x_i ** degree is a sum of squares."""
    wanted = constant(1, variables)
    for index in range(variables):
        power = constant(1, variables)
        for _ in range(degree):
            power = power * variable(index, variables)
        wanted = wanted + power
    basis = tuple(monomials(range(variables), variables, degree // 2))
    return Identity(wanted, {}, (Block(basis, constant(1, variables)),))


def test_a_large_program_is_stopped_at_the_deadline() -> None:
    began = monotonic()
    assert solve([bowl(5, 8)], 0, Budget(3.0)) is None  # one iteration takes longer
    assert monotonic() - began < 6.0


def test_a_child_gives_the_same_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    here = solve([bowl(2, 4)], 0, Budget(60.0))
    monkeypatch.setattr(program, "LARGE", 0)
    there = solve([bowl(2, 4)], 0, Budget(60.0))
    assert here is not None
    assert there is not None
    assert there.margin > 0
    assert there.margin == here.margin
    assert np.array_equal(there.grams[0][0], here.grams[0][0])


def test_a_child_that_dies_is_told_and_gives_no_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    def dies(*_: object, **__: object) -> None:
        raise Died("the solver process died: killed", memory=True)

    monkeypatch.setattr(program, "LARGE", 0)
    monkeypatch.setattr(Worker, "call", dies)
    told: list[str] = []
    assert solve([bowl(2, 4)], 0, Budget(60.0, progress=told.append)) is None
    assert told == ["semidefinite program: the solver process died: killed"]


def test_what_is_not_a_sum_of_squares_has_no_solution_with_a_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    identity = bowl(2, 4)
    below = Identity(identity.constant - constant(Fraction(2), 2), {}, identity.blocks)
    for large in (program.LARGE, 0):
        monkeypatch.setattr(program, "LARGE", large)
        found = solve([below], 0, Budget(60.0))
        assert found is None or found.margin <= 0


def test_a_degree_that_is_refused_says_how_large_it_is() -> None:
    assert too_large(2, 8) is None
    assert (
        too_large(15, 4) == f"degree 4 is too large: 3876 monomials in 15 variables, at most {MOST_MONOMIALS}"
    )
