"""Solutions that no gradient leads to: found by a mixed-integer program over the phases of neurons."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from surefoot.problem.environment import Int, Real
from surefoot.problem.network import Network, dense
from surefoot.problem.term import Term, Var, conjunction, equal
from surefoot.query.bounds import declared
from surefoot.query.formula import normal
from surefoot.query.query import NetworkCall, Quantity, Query, Sat, Unsat
from surefoot.query.satisfies import satisfies
from surefoot.solve.native.bounding.bounds import bounded
from surefoot.solve.native.bounding.layout import layout
from surefoot.solve.native.bounding.passes import forward
from surefoot.solve.native.compile import compile_query
from surefoot.solve.native.guess.attack import violation
from surefoot.solve.native.guess.mixed import MOST_BENDS, choices
from surefoot.solve.native.solver import decide

NEEDLE = (0.3125, -0.6875, 0.8125)


def reaches(level: Fraction) -> Term:
    return Var("y") >= level


def needle(steep: float = 4096.0, *, more: int = 0) -> Network:
    """relu(1 - steep * distance to NEEDLE), flat almost everywhere; `more`: idle neurons."""
    width = len(NEEDLE)
    rows = np.concatenate([np.eye(width), -np.eye(width), np.ones((more, width))])
    bias = np.concatenate([-np.array(NEEDLE), NEEDLE, np.zeros(more)])
    after = np.concatenate([np.full(2 * width, -steep), np.zeros(more)])
    return dense([(rows, bias), (after[None], [1.0]), ([[1.0]], [0.0])])


def query(network: Network, condition: Term, kind: Int | Real) -> Query:
    names = [f"x{i}" for i in range(network.width)]
    call = NetworkCall(network, tuple(Var(n) for n in names), ("y",))
    return Query((*(Quantity(n, kind) for n in names), Quantity("y", Real())), (condition,), (call,))


def points(asked: Query) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    problem = compile_query(asked, [normal(c) for c in asked.constraints], declared(asked.quantities))
    assert problem is not None
    found = bounded(layout(problem.network), problem.low[None], problem.high[None], {})
    return list(choices(problem, found, [tuple(range(len(problem.strict)))], range(1, MOST_BENDS + 1)))


def test_the_deepest_point_comes_first() -> None:
    found = points(query(needle(), reaches(Fraction(1, 2)), Real(-1, 1)))
    assert found[0] == pytest.approx(NEEDLE, abs=1e-6)
    assert len(found) == 2


@pytest.mark.parametrize("kind", [Real(-1, 1), Real(Fraction(-1), Fraction(1), float32=True)])
def test_needles_are_found(kind: Real) -> None:
    asked = query(needle(), reaches(Fraction(3, 4)), kind)
    answer = decide(asked, seconds=20)
    assert isinstance(answer, Sat)
    assert satisfies(asked, answer.assignment) is None
    assert isinstance(decide(query(needle(), reaches(Fraction(9, 8)), kind), seconds=20), Unsat)


def test_whole_inputs_and_equalities() -> None:
    network = dense([([[1.0], [-1.0]], [-7.0, 7.0]), ([[-8.0, -8.0]], [1.0]), ([[1.0]], [0.0])])
    found = points(query(network, conjunction((equal(Var("y"), 1), Var("x0") >= 3)), Int(-100, 100)))
    assert found[0].tolist() == [7.0]


def test_nothing_is_found_where_there_is_nothing_or_too_much() -> None:
    assert not points(query(needle(), conjunction((reaches(Fraction(1, 2)), Var("x0") >= 1)), Real(-1, 2)))
    assert points(query(needle(more=MOST_BENDS - 7), reaches(Fraction(1, 2)), Real(-1, 1)))
    assert not points(query(needle(more=MOST_BENDS - 6), reaches(Fraction(1, 2)), Real(-1, 1)))


def test_points_satisfy_the_formula_in_floats() -> None:
    edge = Var("x0") + Var("x1") <= -Fraction(3, 8)
    asked = query(needle(64.0), conjunction((reaches(Fraction(1, 4)), edge)), Real(-1, 1))
    problem = compile_query(asked, [normal(c) for c in asked.constraints], declared(asked.quantities))
    assert problem is not None
    found = points(asked)
    assert found
    for point in found:
        assert violation(problem, forward(problem.network, point[None])[-1])[0] <= 1e-6
