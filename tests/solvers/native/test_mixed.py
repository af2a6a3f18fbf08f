"""Solutions that no gradient leads to: found by a mixed-integer program over the phases of neurons."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from surefoot.problem.network import Network, dense_network
from surefoot.query.bounds import declared_box
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.formula import negation_normal_form
from surefoot.query.query import NetworkCall, Query, QueryVariable, Sat, Unsat
from surefoot.solvers.native.bounding.gradients import forward_values
from surefoot.solvers.native.bounding.network_bounds import bound_box_batch, build_bounding_plan
from surefoot.solvers.native.compile import compile_query
from surefoot.solvers.native.falsify.gradient_attack import formula_violation
from surefoot.solvers.native.falsify.milp_points import MOST_BENDS, enumerate_milp_points
from surefoot.solvers.native.solver import decide_native_query
from surefoot.term.term import Term, Var, conjunction_of, equal
from surefoot.term.value_types import Int, Real

NEEDLE = (0.3125, -0.6875, 0.8125)


def reaches(level: Fraction) -> Term:
    return Var("y") >= level


def needle(steep: float = 4096.0, *, more: int = 0) -> Network:
    """relu(1 - steep * distance to NEEDLE), flat almost everywhere; `more`: idle neurons."""
    width = len(NEEDLE)
    rows = np.concatenate([np.eye(width), -np.eye(width), np.ones((more, width))])
    bias = np.concatenate([-np.array(NEEDLE), NEEDLE, np.zeros(more)])
    after = np.concatenate([np.full(2 * width, -steep), np.zeros(more)])
    return dense_network([(rows, bias), (after[None], [1.0]), ([[1.0]], [0.0])])


def query(network: Network, condition: Term, kind: Int | Real) -> Query:
    names = [f"x{i}" for i in range(network.width)]
    call = NetworkCall(network, tuple(Var(n) for n in names), ("y",))
    return Query(
        (*(QueryVariable(n, kind) for n in names), QueryVariable("y", Real())), (condition,), (call,)
    )


def points(asked: Query) -> list[np.ndarray[tuple[int, ...], np.dtype[np.float64]]]:
    problem = compile_query(
        asked, [negation_normal_form(c) for c in asked.constraints], declared_box(asked.quantities)
    )
    assert problem is not None
    found = bound_box_batch(build_bounding_plan(problem.network), problem.low[None], problem.high[None], {})
    return list(
        enumerate_milp_points(problem, found, [tuple(range(len(problem.strict)))], range(1, MOST_BENDS + 1))
    )


def test_the_deepest_point_comes_first() -> None:
    found = points(query(needle(), reaches(Fraction(1, 2)), Real(-1, 1)))
    assert found[0] == pytest.approx(NEEDLE, abs=1e-6)
    assert len(found) == 2


@pytest.mark.parametrize("kind", [Real(-1, 1), Real(Fraction(-1), Fraction(1), float32=True)])
def test_needles_are_found(kind: Real) -> None:
    asked = query(needle(), reaches(Fraction(3, 4)), kind)
    answer = decide_native_query(asked, seconds=20)
    assert isinstance(answer, Sat)
    assert assignment_defect(asked, answer.assignment) is None
    assert isinstance(decide_native_query(query(needle(), reaches(Fraction(9, 8)), kind), seconds=20), Unsat)


def test_whole_inputs_and_equalities() -> None:
    network = dense_network([([[1.0], [-1.0]], [-7.0, 7.0]), ([[-8.0, -8.0]], [1.0]), ([[1.0]], [0.0])])
    found = points(query(network, conjunction_of((equal(Var("y"), 1), Var("x0") >= 3)), Int(-100, 100)))
    assert found[0].tolist() == [7.0]


def test_nothing_is_found_where_there_is_nothing_or_too_much() -> None:
    assert not points(query(needle(), conjunction_of((reaches(Fraction(1, 2)), Var("x0") >= 1)), Real(-1, 2)))
    assert points(query(needle(more=MOST_BENDS - 7), reaches(Fraction(1, 2)), Real(-1, 1)))
    assert not points(query(needle(more=MOST_BENDS - 6), reaches(Fraction(1, 2)), Real(-1, 1)))


def test_points_satisfy_the_formula_in_floats() -> None:
    edge = Var("x0") + Var("x1") <= -Fraction(3, 8)
    asked = query(needle(64.0), conjunction_of((reaches(Fraction(1, 4)), edge)), Real(-1, 1))
    problem = compile_query(
        asked, [negation_normal_form(c) for c in asked.constraints], declared_box(asked.quantities)
    )
    assert problem is not None
    found = points(asked)
    assert found
    for point in found:
        assert formula_violation(problem, forward_values(problem.network, point[None])[-1])[0] <= 1e-6
