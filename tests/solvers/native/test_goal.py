"""The sets of atoms that are left to refute, and the rows for them."""

import numpy as np
import pytest

from surefoot.problem.network import dense_network
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.solvers.native.bounding.network_bounds import bound_box_batch
from surefoot.solvers.native.branch_and_bound import plan_query_bounds
from surefoot.solvers.native.compiled_query import CompiledQuery
from surefoot.solvers.native.goal_cubes import GoalCubes, failing_atoms, select_goal_cubes
from surefoot.solvers.native.proof.certificate_cases import compile_case
from surefoot.solvers.native.solver import _normal_form
from surefoot.term.term import Const, Term, Var, conjunction_of, disjunction_of, equal
from surefoot.term.value_types import Real

input_value, output = Var("x"), Var("y")


def prepared(*constraints: Term, every_atom: bool) -> tuple[CompiledQuery, GoalCubes]:
    """For y = |x| with x between -1 and 1."""
    network = dense_network([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])])
    quantities = (QueryVariable("x", Real(-1, 1)), QueryVariable("y", Real()))
    query = Query(quantities, constraints, (NetworkCall(network, (input_value,), ("y",)),))
    cases = _normal_form(query).cases
    assert cases is not None
    problem = compile_case(cases[0])
    assert problem is not None
    plan = plan_query_bounds(problem, certify=True)
    whole = bound_box_batch(plan, problem.low[None], problem.high[None], {})
    return problem, select_goal_cubes(problem, whole, every_atom)


@pytest.mark.parametrize("every_atom", [False, True])
def test_rows_and_failing_atoms(every_atom: bool) -> None:
    asked = conjunction_of(
        (input_value <= Const(1), input_value + output <= Const(0), equal(output, Const(1)))
    )
    problem, sets = prepared(asked, every_atom=every_atom)
    assert sets.sets == ((1, 2),)  # that x <= 1 is sure
    assert sets.atoms.tolist() == ([0, 1, 2, 2] if every_atom else [1, 2, 2])
    assert sets.direct == len(sets.atoms) - 1
    for row, atom in zip(sets.rows[: sets.direct], sets.atoms, strict=False):
        assert row.tolist() == np.eye(3)[atom].tolist()
    assert sets.rows[sets.direct].tolist() == [0.0, 0.0, -1.0]
    assert sets.atoms[sets.of_set[0]].tolist() == [1, 2, 2]
    # Where only the negative of the equality is positive, the equality fails.
    least = np.full((1, len(sets.atoms)), -1.0)
    least[0, sets.direct] = 1.0
    assert failing_atoms(problem, sets, least).tolist() == [[False, False, True]]
    least[0, sets.of_set[0][0]] = 1.0
    assert failing_atoms(problem, sets, least).tolist() == [[False, True, True]]


def test_at_zero_only_strict_atoms_fail() -> None:
    """A least value of 0 is reached: `<= 0` and `= 0` hold there."""
    asked = conjunction_of((output + input_value <= Const(0), output < input_value, equal(output, Const(1))))
    problem, sets = prepared(asked, every_atom=True)
    least = np.zeros((1, len(sets.atoms)))
    assert failing_atoms(problem, sets, least).tolist() == [problem.strict.tolist()]
    assert problem.strict.tolist().count(True) == 1


def test_atoms_of_inputs_alone_are_decided_exactly() -> None:
    third = Const(1) / Const(3)
    asked = disjunction_of(
        (
            conjunction_of((input_value <= third, input_value > third, output <= Const(5))),
            conjunction_of((input_value < Const(-1), output <= Const(5))),
            conjunction_of((input_value >= Const(-1), output < Const(0))),
        )
    )
    problem, sets = prepared(asked, every_atom=False)
    [several] = sets.sets
    assert [problem.forms[j].coefficients[0][0] for j in several] == ["y"]
    assert len(sets.opposed) == 2  # one set opposes itself, of the other one atom holds nowhere


def test_atoms_may_oppose_each_other_but_for_inputs() -> None:
    """-1 <= x <= 1: y = 2 - x and y > 3 would need x < -1; y >= 3 leaves x = -1."""
    tied = equal(output, Const(2) - input_value)
    for asked, left in (
        ((tied, output > Const(3)), 0),
        ((tied, output >= Const(3)), 1),
        ((output <= input_value, Const(2) * output >= Const(3)), 0),
        ((output <= input_value, Const(2) * output > Const(2)), 0),
        ((output <= input_value, Const(2) * output >= Const(2)), 1),
        ((output >= input_value, Const(2) * output >= Const(9)), 1),
    ):
        sets = prepared(conjunction_of(asked), every_atom=False)[1]
        assert len(sets.sets) == left
        assert len(sets.opposed) == 1 - left
        for pair in sets.opposed.values():
            assert len(pair.atoms) == 2
