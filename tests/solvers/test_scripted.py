import pytest
from tests.solvers.examples import real
from tests.solvers.scripted import Scripted

from surefoot.errors import SolverFailure, Unsupported
from surefoot.query.query import Query, Sat, Unsat
from surefoot.solvers import SOLVERS
from surefoot.solvers.protocol import solve_query
from surefoot.term.term import Var

x = Var("x")
BASE = Query((real("x", 0, 1),), (x <= 1,))


def test_answers_in_order_and_notes_the_questions() -> None:
    solver = Scripted((Unsat(), Sat({"x": 1})))
    with solver.session(BASE, seconds=1) as ask:
        assert ask() == Unsat()
        assert ask(x >= 1) == Sat({"x": 1})
        with pytest.raises(SolverFailure, match="asked once more"):
            ask()
    assert [q.constraints for q in solver.asked[:2]] == [(x <= 1,), (x <= 1, x >= 1)]


def test_refuses_on_demand() -> None:
    with pytest.raises(Unsupported, match="not today"):
        solve_query(Scripted((), refusal="not today"), BASE, seconds=1)


def test_every_solver_is_listed_under_its_name() -> None:
    assert all(name == kind.name for name, kind in SOLVERS.items())
    assert "scripted" not in SOLVERS
