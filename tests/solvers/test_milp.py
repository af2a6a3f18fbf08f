from fractions import Fraction
from time import monotonic

import pytest
from tests.solvers.examples import RELU, hard_query, real, relu

from surefoot.errors import Unsupported
from surefoot.problem.network import dense_network
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.query import NetworkCall, Query, QueryVariable, Sat, Undecided, UndecidedReason, Unsat
from surefoot.solvers.milp import Milp
from surefoot.solvers.milp.solver import decide_milp
from surefoot.solvers.protocol import solve_query
from surefoot.term.term import Apply, Const, Op, Var, equal, ite
from surefoot.term.value_types import Int

x, y = Var("x"), Var("y")


def test_the_deadline_is_kept_inside_the_solver() -> None:
    start = monotonic()
    answer = solve_query(Milp(), hard_query(), seconds=1)
    assert monotonic() - start < 3
    assert isinstance(answer, Undecided)
    assert answer.why is UndecidedReason.TIMEOUT


def test_after_the_deadline_every_answer_is_a_timeout() -> None:
    with Milp().session(relu(), seconds=0) as ask:
        answer = ask()
    assert isinstance(answer, Undecided)
    assert answer.why is UndecidedReason.TIMEOUT


def test_names_the_quantity_that_needs_a_bound() -> None:
    call = relu().calls[0]
    free = Query((real("x", 0), real("y")), (), (call,))
    assert "`x` has no bounds, and a network reads it" in (Milp().objection(free) or "")
    with pytest.raises(Unsupported, match="`x`"):
        solve_query(Milp(), free, seconds=5)
    bounded = Query(free.quantities, (x <= 3,), (call,))
    assert Milp().objection(bounded) is None
    choice = Query((real("x"), real("z", 0, 1)), ((x >= 5) | (Var("z") > 0),))
    assert "`x` has no bound, and a choice depends on it" in (Milp().objection(choice) or "")


def test_an_unsupported_follow_up_is_refused_not_answered() -> None:
    with Milp().session(relu(), seconds=20) as ask:
        with pytest.raises(Unsupported, match="is not linear"):
            ask(x * y <= 1)
        assert isinstance(ask(y <= 1), Sat)


def test_witnesses_lie_inside() -> None:
    answer = solve_query(Milp(), relu(y > Const(Fraction(1, 4))), seconds=20)
    assert isinstance(answer, Sat)
    assert Fraction(26, 100) < answer.assignment["x"] < Fraction(99, 100)


def test_equalities_hold_exactly_along_a_chain() -> None:
    """Three steps of x' = 0.9 x + 0.1 relu(x) + max(x, 1/3)/7: no float satisfies this by itself."""
    quantities, constraints, calls = [real("x0", -1, 1)], [], []
    for t in range(3):
        now, then, out = Var(f"x{t}"), Var(f"x{t + 1}"), Var(f"y{t}")
        quantities += [real(f"y{t}"), real(f"x{t + 1}", -5, 5)]
        calls.append(NetworkCall(RELU, (now - Const(Fraction(1, 3)),), (f"y{t}",)))
        larger = Apply(Op.MAX, (now, Const(Fraction(1, 3)))) / 7
        constraints.append(equal(then, now * Fraction(9, 10) + out * Fraction(1, 10) + larger))
    query = Query(tuple(quantities), (*constraints, Var("x3") > Const(Fraction(11, 10))), tuple(calls))
    answer = solve_query(Milp(), query, seconds=20)
    assert isinstance(answer, Sat)
    assert assignment_defect(query, answer.assignment) is None
    assert solve_query(Milp(), query, Var("x0") < 0, seconds=20) == Unsat()


def test_a_boundary_that_floats_miss_is_undecided_not_sat() -> None:
    """x < y and y < x hold nowhere; within a tolerance they hold on the whole diagonal."""
    query = Query((real("x", 0, 1), real("y", 0, 1)), (ite(x < y, y, x) < x, x < y))
    answer = decide_milp(query, 0, 10)
    assert isinstance(answer, Undecided | Unsat)
    if isinstance(answer, Undecided):
        assert answer.why is UndecidedReason.NUMERICS
        assert "does not hold" in answer.detail


def test_inner_points_are_found_where_the_first_solution_is_on_the_boundary() -> None:
    """Each alternative but the last meets the strict comparison on its boundary only."""
    half = Const(Fraction(1, 2))
    alternatives = (x <= 0) & (y <= 0) | (x <= 0) & (y <= half) | (x >= half) & (y >= half)
    query = Query((real("x", 0, 1), real("y", 0, 1)), (alternatives, x > 0, y > 0))
    assert isinstance(decide_milp(query, 0, 10), Sat)


def test_a_margin_of_other_comparisons_is_not_enough() -> None:
    """The first alternative leaves room for x <= 1 but none for the strict comparisons."""
    query = Query(
        (real("x", 0, 2), real("y", 0, 2)),
        ((y <= x) & (x <= 1) & (y >= 0) | (y >= x + Const(Fraction(1, 8))) & (x >= 1), x < y),
    )
    assert isinstance(decide_milp(query, 0, 10), Sat)


def test_several_calls_of_one_network() -> None:
    network = dense_network([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, 1.0]], [0.0])], name="absolute value")
    calls = tuple(NetworkCall(network, (Var(a),), (b,)) for a, b in (("x", "y"), ("y", "z")))
    query = Query((real("x", -2, 2), real("y"), real("z")), (Var("z") >= 2, x < 0), calls)
    answer = solve_query(Milp(), query, seconds=20)
    assert isinstance(answer, Sat)
    assert answer.assignment["x"] == -2


def test_infeasible_needs_a_second_opinion() -> None:
    """HiGHS 1.15 calls this program infeasible with presolve: a ReLU's argument is at least 0 or -1e-15."""
    layers = [
        ([[-0.25, 1.25], [-1.25, 1.75]], [-64.0, -0.5]),
        ([[-1.25, 0.5], [-1, -0.5], [0, 0]], [0, -1, 0.75]),
    ]
    network = dense_network([*layers, ([[-1.5, 2, -2]], [-1])])
    x, y = (real("x", Fraction(7, 8), Fraction(23, 8)), real("y", Fraction(-7, 8), Fraction(9, 8)))
    half, quarter = Fraction(1, 2), Fraction(1, 4)
    inputs = [(Var("x"), Var("y")), (Var("a") * half + Var("x") + quarter, Var("x"))]
    inputs.append((Var("b") * half - Var("x") + quarter, Var("y")))
    calls = tuple(NetworkCall(network, i, (o,)) for i, o in zip(inputs, "abc", strict=True))
    outputs = tuple(real(name, None, None) for name in "abc")
    query = Query((x, y, *outputs), ((Var("y") * 2 < half) | (Var("y") * 2 <= 0),), calls)
    answer = decide_milp(query, seed=0, seconds=20)
    assert isinstance(answer, Sat)
    assert assignment_defect(query, answer.assignment) is None


@pytest.mark.parametrize("scale", [10**8, 10**9 - 1, 10**9, 10**9 + 1, 10**12])
@pytest.mark.parametrize("value", [0, 7, 10**6])
def test_what_highs_drops_makes_nothing_infeasible(scale: int, value: int) -> None:
    """An entry of 1e-9 exactly is dropped too."""
    network = dense_network([([[1.0], [-1.0]], [0.0, 0.0])])
    call = NetworkCall(network, (Var("x") / scale,), ("up", "down"))
    quantities = (QueryVariable("x", Int(0, scale)), real("up"), real("down"))
    query = Query(quantities, (equal(Var("x"), value),), (call,))
    answer = decide_milp(query, seed=0, seconds=10)
    assert isinstance(answer, Sat | Undecided)
    if isinstance(answer, Sat):
        assert assignment_defect(query, answer.assignment) is None
