"""Compilation: definitions eliminated, plumbing exact up to stated errors, every quantity recomputed."""

from fractions import Fraction

import numpy as np
import pytest
from tests.solvers.examples import RELU, TWO, real

from surefoot.errors import Unsupported
from surefoot.query.bounds import declared_box, integer_variable_names
from surefoot.query.formula import negation_normal_form, sharpen_integer_atoms
from surefoot.query.lower import lower_query
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.solvers.native.bounding.gradients import forward_values
from surefoot.solvers.native.compile import compile_query
from surefoot.solvers.native.compiled_query import (
    CompiledQuery,
    Either,
    Every,
    find_opposed_atoms,
    formula_cubes,
    tree_violation,
)
from surefoot.solvers.native.witness import (
    assignment_from_columns,
    column_values,
    nearest_input_point,
    satisfies_within_enclosure,
)
from surefoot.term.term import Const, Term, Var, equal
from surefoot.term.value_types import Int, Real

x, y, z, u = (Var(n) for n in "xyzu")
THIRD = Fraction(1, 3)


def compiled(query: Query) -> CompiledQuery:
    lowered = lower_query(query).query
    whole = integer_variable_names(lowered.quantities)
    formulas = tuple(sharpen_integer_atoms(negation_normal_form(c), whole) for c in lowered.constraints)
    found = compile_query(lowered, formulas, declared_box(lowered.quantities))
    assert found is not None
    return found


def chain(*constraints: Term) -> Query:
    """y = relu(x), z = y / 3 + x, u = relu(z): two calls with plumbing that float64 cannot hold."""
    calls = (NetworkCall(RELU, (x,), ("y",)), NetworkCall(RELU, (z,), ("u",)))
    define = equal(z, y * Const(THIRD) + x)
    return Query((real("x", -1, 1), real("y"), real("z"), real("u")), (define, *constraints), calls)


def test_defined_quantities_are_no_inputs() -> None:
    problem = compiled(chain(u >= 1))
    assert problem.names == ("x",)
    assert problem.network.width == 2  # x, and the error of 1/3
    assert problem.free.tolist() == [True, False]
    assert 0 < problem.high[1] < 1e-15


def test_the_network_computes_the_atoms() -> None:
    problem = compiled(chain(u >= 1))
    for value in (-1.0, -0.25, 0.0, 0.5, 1.0):
        exact = column_values(problem, [Fraction(value)])
        expected = [float(form.at(exact)) for form in problem.forms]
        assert forward_values(problem.network, np.array([[value, 0.0]]))[-1][0] == pytest.approx(expected)


def test_every_quantity_comes_back_exactly() -> None:
    query = chain(u >= 1)
    problem = compiled(query)
    found = assignment_from_columns(problem, column_values(problem, nearest_input_point(problem, [0.75])))
    assert found == {"x": Fraction(3, 4), "y": Fraction(3, 4), "z": 1, "u": 1}
    assert satisfies_within_enclosure(query, found)
    assert not satisfies_within_enclosure(query, found | {"u": Fraction(1, 2)})


def test_a_circle_of_definitions_is_not_taken_for_a_definition() -> None:
    query = Query((real("x", -1, 1), real("y")), (equal(x, y),), (NetworkCall(RELU, (x,), ("y",)),))
    problem = compiled(query)
    assert problem.names == ("x",)
    assert problem.equal.tolist() == [True]


def test_slack_is_an_input() -> None:
    call = NetworkCall(RELU, (x,), ("y",), (Fraction(1, 4),))
    problem = compiled(Query((real("x", 0, 1), real("y")), (y >= 1,), (call,)))
    assert problem.exact == ((0, 1), (Fraction(-1, 4), Fraction(1, 4)))
    assert (
        assignment_from_columns(problem, column_values(problem, [Fraction(1), THIRD / 2]))["y"]
        == 1 + THIRD / 2
    )


def test_kinds_of_inputs() -> None:
    quantities = (
        QueryVariable("x", Int(0, 3)),
        QueryVariable("y", Real(Fraction(0), Fraction(1, 10), float32=True)),
    )
    problem = compiled(Query(quantities, (x + y >= 1,)))
    assert (problem.whole.tolist(), problem.single.tolist()) == ([True, False], [False, True])
    point = nearest_input_point(problem, [1.6, 0.05])
    assert point == [2, Fraction(float(np.float32(0.05)))]


def test_an_unbounded_input_of_a_network_is_named() -> None:
    with pytest.raises(Unsupported, match="`x` has no bounds"):
        compiled(Query((real("x"), real("y")), (), (NetworkCall(RELU, (x,), ("y",)),)))


def test_bounds_alone_can_refute() -> None:
    query = Query((real("x", 0, 1), real("y")), (y >= 2,), (NetworkCall(RELU, (x,), ("y",)),))
    lowered = lower_query(query).query
    formulas = tuple(negation_normal_form(c) for c in lowered.constraints)
    assert compile_query(lowered, formulas, declared_box(lowered.quantities)) is None


def test_sets_cover_the_formula() -> None:
    tree = Every((0, Either((1, Every((2, 3)))), Either((4, 5))))
    assert set(formula_cubes(tree, 64)) == {(0, 1, 4), (0, 1, 5), (0, 2, 3, 4), (0, 2, 3, 5)}
    assert set(formula_cubes(tree, 2)) <= {(0, 1), (0, 2, 3), (0, 4), (0, 5)}  # some alternatives left out
    rows = np.array([[-1.0, -1, 1, 1, 1, -1], [-1, 1, -1, 1, -1, -1]])
    assert (tree_violation(tree, rows) <= 0).tolist() == [True, False]


def test_opposite_atoms_contradict_each_other() -> None:
    quantities = (real("x", -1, 1), real("y", -1, 1), real("u"), real("v"))
    call = NetworkCall(TWO, (x, y), ("u", "v"))
    strict = compiled(Query(quantities, (u * 3 > Var("v"), Var("v") > u * 3), (call,)))
    weak = compiled(Query(quantities, (u * 3 >= Var("v"), Var("v") >= u * 3), (call,)))
    assert find_opposed_atoms(strict, (0, 1)) is not None
    assert find_opposed_atoms(weak, (0, 1)) is None
