"""Every solver on the table of small queries: right, or undecided for a stated reason; never wrong."""

from fractions import Fraction

import pytest
from tests.solvers.examples import EXAMPLES, real, relu

from surefoot.problem.network import Activation, Network, Shape
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.query import NetworkCall, Query, QueryVariable, Sat, Undecided, UndecidedReason, Unsat
from surefoot.solvers import SOLVERS
from surefoot.solvers.protocol import Solver, solve_query
from surefoot.term.term import Apply, Const, Op, Var
from surefoot.term.value_types import Real

y = Var("y")


@pytest.fixture(params=SOLVERS)
def solver(request: pytest.FixtureRequest) -> Solver:
    if request.param == "z3":
        pytest.importorskip("z3")
    return SOLVERS[request.param]()


@pytest.mark.parametrize("name", EXAMPLES)
def test_known_answers(solver: Solver, name: str) -> None:
    query, possible = EXAMPLES[name]
    answer = solve_query(solver, query, seconds=20)
    if isinstance(answer, Sat):
        assert assignment_defect(query, answer.assignment) is None
        assert possible
    elif isinstance(answer, Unsat):
        assert not possible
    else:
        # Strict comparisons that only a boundary meets are beyond floats, and only they are.
        assert (solver.name, answer.why) == ("milp", UndecidedReason.NUMERICS)
        assert name in ("strict tie", "dead neuron")


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_question_in_a_session_equals_a_fresh_one(solver: Solver, name: str) -> None:
    query, possible = EXAMPLES[name]
    base = Query(query.quantities, (), query.calls)
    with solver.session(base, seconds=30) as ask:
        first = ask(*query.constraints)
        assert not isinstance(first, Sat) or possible
        if not any(
            q.name == "x" and q.kind.low is not None and q.kind.low > q.kind.high for q in query.quantities
        ):
            assert isinstance(ask(), Sat)
        assert ask(Const(False)) == Unsat()
        assert type(ask(*query.constraints)) is type(first)


def test_answers_are_reproducible(solver: Solver) -> None:
    query, _ = EXAMPLES["tie"]
    assert solve_query(solver, query, seconds=20) == solve_query(solver, query, seconds=20)


def test_refuses_smooth_networks_in_a_sentence(solver: Solver) -> None:
    network = Network(1, (Activation(0, Shape.TANH),), name="smooth")
    query = Query((real("x", 0, 1), real("y")), (), (NetworkCall(network, (Var("x"),), ("y",)),))
    if solver.name == "native":
        assert solver.objection(query) is None
        return
    assert solver.objection(query) == f"`{solver.name}` needs piecewise-linear networks; `smooth` is not"


def test_refuses_transcendental_terms_by_name(solver: Solver) -> None:
    query = Query((real("x", 0, 1),), (Apply(Op.EXP, (Var("x"),)) <= 2,))
    assert "exp(x)" in (solver.objection(query) or "")


def test_float32_quantities_get_float32_numbers(solver: Solver) -> None:
    tenth = Fraction(1, 10)
    box = Real(tenth, tenth + Fraction(1, 10**6), float32=True)
    query = Query((QueryVariable("x", box), real("y")), (y > Const(tenth),), relu().calls)
    answer = solve_query(solver, query, seconds=20)
    assert isinstance(answer, Sat)
    assert assignment_defect(query, answer.assignment) is None
    nothing = Query((QueryVariable("x", Real(tenth, tenth, float32=True)),), ())
    assert solve_query(solver, nothing, seconds=20) == Unsat()


def test_slack_is_used_where_it_helps(solver: Solver) -> None:
    call = NetworkCall(relu().calls[0].network, (Var("x"),), ("y",), (Fraction(1, 4),))
    query = Query((real("x", 0, 1), real("y")), (y >= Const(Fraction(5, 4)),), (call,))
    assert isinstance(solve_query(solver, query, seconds=20), Sat)
    assert solve_query(solver, query, y >= Const(Fraction(5, 4) + Fraction(1, 10**6)), seconds=20) == Unsat()


def test_undecided_is_not_an_answer() -> None:
    assert not isinstance(Undecided(UndecidedReason.TIMEOUT, ""), Sat | Unsat)
