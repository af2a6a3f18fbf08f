"""Solvers and SMT-LIB export either encode an operation of a network or refuse it in a sentence."""

from fractions import Fraction

import pytest
from tests.random_networks import of_one_node
from tests.solvers.examples import real

from surefoot.errors import Unsupported
from surefoot.network.exact import exact_outputs
from surefoot.problem.network import CURVED, Network, Shape
from surefoot.query.query import NetworkCall, Query, Sat, Unsat
from surefoot.query.smtlib import to_smtlib
from surefoot.solvers import SOLVERS
from surefoot.solvers.protocol import solve_query
from surefoot.term.term import Var

NETWORKS = of_one_node()
WITHOUT_EXACT_VALUES = {shape.value for shape in (Shape.TANH, Shape.SIGMOID, *CURVED)}
REFUSED = {*WITHOUT_EXACT_VALUES, "pair multiply", "pair divide"}


def query(network: Network) -> Query:
    call = NetworkCall(network, (Var("x"), Var("y")), ("u", "v"))
    return Query((real("x", -1, 1), real("y", 1, 2), real("u"), real("v")), (), (call,))


@pytest.mark.parametrize("name", NETWORKS)
def test_export_writes_or_refuses(name: str) -> None:
    if name in REFUSED:
        with pytest.raises(Unsupported, match="linear"):
            to_smtlib(query(NETWORKS[name]))
    else:
        assert "(check-sat)" in to_smtlib(query(NETWORKS[name]))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", NETWORKS)
def test_a_solver_knows_the_outputs_or_objects(solver: str, name: str) -> None:
    if solver == "z3":
        pytest.importorskip("z3")
    engine, asked = SOLVERS[solver](), query(NETWORKS[name])
    if name in REFUSED and solver != "native":
        assert name in (engine.objection(asked) or "")
        return
    if name == "trees" and solver == "milp":
        assert "does not encode decision trees" in (engine.objection(asked) or "")
        return
    assert engine.objection(asked) is None
    here = (Var("x") <= Fraction(-1, 2), Var("y") >= 2)  # two sides that differ for every operation
    found = solve_query(engine, Query(asked.quantities, here, asked.calls), seconds=20)
    if name == "sqrt":  # of numbers that may be negative here, where it has no value
        assert not isinstance(found, Sat | Unsat)
        return
    assert isinstance(found, Sat)
    point = [Fraction(found.assignment[n]) for n in "xy"]
    if name not in WITHOUT_EXACT_VALUES:
        assert exact_outputs(NETWORKS[name], point) == [found.assignment[n] for n in "uv"]
    impossible = Query(asked.quantities, (*here, Var("v") >= 100), asked.calls)
    assert solve_query(engine, impossible, seconds=20) == Unsat()


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name != "native"])
def test_quotients_are_refused_by_name(solver: str) -> None:
    if solver == "z3":
        pytest.importorskip("z3")
    objection = SOLVERS[solver]().objection(query(NETWORKS["pair divide"]))
    assert objection == f"`{solver}` does not encode quotients of variables; `pair divide` has some"
