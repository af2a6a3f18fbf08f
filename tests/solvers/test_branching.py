"""Algorithm 1 over relaxed solvers, Marabou's answers, and Z3 with bounds of neurons: never wrong."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from importlib.util import find_spec
from itertools import product

import numpy as np
import pytest
from tests.solvers.examples import EXAMPLES, real
from tests.solvers.scripted import Scripted

from surefoot.errors import SolverFailure
from surefoot.network.exact import exact_outputs
from surefoot.problem.network import Network, dense_network
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.query import NetworkCall, Query, QueryVariable, Sat, Undecided, UndecidedReason, Unsat
from surefoot.solvers.branch_and_bound import BranchAndBound
from surefoot.solvers.marabou import Marabou
from surefoot.solvers.milp import Milp
from surefoot.solvers.native import Native
from surefoot.solvers.protocol import Solver, solve_query
from surefoot.solvers.z3 import Z3
from surefoot.term.term import Const, Term, Var, equal
from surefoot.term.value_types import Bool, Int

has_marabou = find_spec("maraboupy") is not None
marabou = pytest.mark.skipif(not has_marabou, reason="needs maraboupy: pip install 'surefoot[marabou]'")
RELAXED = [
    pytest.param(Milp, id="milp"),
    pytest.param(Native, id="native"),
    pytest.param(Marabou, id="marabou", marks=marabou),
]
X, Y = Var("x"), Var("y")


def whole(name: str, low: int, high: int) -> QueryVariable:
    return QueryVariable(name, Int(low, high))


def test_a_point_between_whole_numbers_is_divided_upper_part_first() -> None:
    query = Query((whole("x", 0, 9),), (X * 2 >= 5, X <= 4))
    relaxed = Scripted((Sat({"x": Fraction(5, 2)}), Unsat(), Unsat()))
    assert solve_query(BranchAndBound(relaxed), query, X * 3 <= 7, seconds=9) == Unsat()
    assert [q.constraints[-1] for q in relaxed.asked] == [X * 3 <= 7, X >= 3, X <= 2]


def test_a_whole_point_that_fails_the_exact_check_is_set_apart() -> None:
    query = Query((whole("x", 0, 2), real("z", 0, 1)), (X <= 1, Var("z") > X))
    near = Undecided(UndecidedReason.NUMERICS, "", near={"x": Fraction(1), "z": Fraction(1)})
    relaxed = Scripted((near, Unsat(), Unsat(), Sat({"x": Fraction(0), "z": Fraction(1, 2)})))
    answer = solve_query(BranchAndBound(relaxed), query, seconds=9)
    assert answer == Sat({"x": 0, "z": Fraction(1, 2)})
    assert [q.constraints[-1] for q in relaxed.asked[1:]] == [equal(X, n) for n in (1, 2, 0)]


def test_what_the_relaxed_solver_leaves_open_stays_open() -> None:
    query = Query((whole("x", 0, 1),), (X >= 0,))
    late = Undecided(UndecidedReason.TIMEOUT, "late")
    assert solve_query(BranchAndBound(Scripted((late,))), query, seconds=9) == late
    stuck = Undecided(UndecidedReason.NUMERICS, "", near={"x": Fraction(0)})
    one = Query((whole("x", 0, 0),), (X * 2 > 0,))
    answer = solve_query(BranchAndBound(Scripted((stuck,))), one, seconds=9)
    assert isinstance(answer, Undecided)
    assert answer.why is UndecidedReason.NUMERICS


def test_says_what_it_cannot_take() -> None:
    assert "truth value" in (BranchAndBound(Milp()).objection(Query((QueryVariable("p", Bool()),), ())) or "")
    assert "needs bounds" in (
        BranchAndBound(Milp()).objection(Query((QueryVariable("x", Int(0, None)),), ())) or ""
    )
    assert BranchAndBound(Milp()).name == "branch(milp)"


def random_query(seed: int) -> tuple[Query, bool]:
    """Two or three whole inputs, three outputs: is the first the largest while a row holds?"""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 4))
    network: Network = dense_network(
        [(rng.normal(size=(6, count)), rng.normal(size=6)), (rng.normal(size=(3, 6)), rng.normal(size=3))]
    )
    names, outputs = [f"x{i}" for i in range(count)], tuple(f"y{i}" for i in range(3))
    slack = Fraction(int(rng.integers(0, 2)), 1000)
    row: Term = Var(names[0]) * int(rng.integers(1, 4)) - Var(names[1]) * int(rng.integers(1, 4))
    limit = int(rng.integers(-12, 3))
    best = tuple(Var(o) <= Var(outputs[0]) for o in outputs[1:])
    call = NetworkCall(network, tuple(map(Var, names)), outputs, (slack,) * 3 if slack else ())
    quantities = (*(whole(n, -3, 4) for n in names), *(real(o) for o in outputs))
    query = Query(quantities, (row <= limit, *best), (call,))
    scale = [int(t.args[1].value) for t in row.args]  # type: ignore[union-attr]
    possible = any(
        scale[0] * p[0] - scale[1] * p[1] <= limit
        and all(
            o <= v[0] + 2 * slack for v in [exact_outputs(network, list(map(Fraction, p)))] for o in v[1:]
        )
        for p in product(range(-3, 5), repeat=count)
    )
    return query, possible


def agrees(make: Callable[[], Solver], seed: int) -> bool:
    query, possible = random_query(seed)
    answer = solve_query(make(), query, seconds=30)
    assert isinstance(answer, Sat | Unsat), answer
    if isinstance(answer, Sat):
        assert assignment_defect(query, answer.assignment) is None
    return isinstance(answer, Sat) is possible


@pytest.mark.parametrize("relaxed", RELAXED)
def test_branching_agrees_with_enumeration(relaxed: type[Solver]) -> None:
    assert all(agrees(lambda: BranchAndBound(relaxed()), seed) for seed in range(12))


def test_z3_with_bounds_of_neurons_agrees_with_enumeration() -> None:
    pytest.importorskip("z3")
    assert all(agrees(lambda: Z3(bounds=True), seed) for seed in range(8))


@marabou
def test_marabou_is_never_wrong_on_the_table() -> None:
    for name, (query, possible) in EXAMPLES.items():
        solver = Marabou() if Marabou().objection(query) is None else BranchAndBound(Marabou())
        if solver.objection(query) is not None:
            continue
        try:
            answer = solve_query(solver, query, seconds=20)
        except SolverFailure:
            continue  # it crashes on a box that is narrower than its tolerance
        if isinstance(answer, Sat):
            assert possible, name
            assert assignment_defect(query, answer.assignment) is None, name
        assert not (isinstance(answer, Unsat) and possible), name


@marabou
def test_marabou_takes_bounds_that_are_one_number_rounded_in_two_ways() -> None:
    """A declared bound and a comparison with the same number may differ by a rounding: no contradiction."""
    for denominator in (3, 7, 49, 10**7 + 19):
        third = Fraction(1, denominator)
        query = Query((real("x", third, 1), real("z", 0, 1)), (X * 3 - Const(third * 3) <= 0, Var("z") >= X))
        assert not isinstance(solve_query(Marabou(), query, seconds=20), Unsat)


@pytest.mark.skipif(has_marabou, reason="maraboupy is there")
def test_a_missing_marabou_is_one_line_with_the_fix() -> None:
    why = Marabou().objection(Query((real("x", 0, 1),), ()))
    assert why == 'this needs maraboupy; fix: pip install "surefoot[marabou]"'
