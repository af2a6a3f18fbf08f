from fractions import Fraction
from time import monotonic

import pytest
from tests.solvers.examples import hard_query, real

from surefoot.query.query import Query, QueryVariable, Sat, Undecided, UndecidedReason, Unsat
from surefoot.solvers.protocol import solve_query
from surefoot.solvers.z3 import Z3
from surefoot.term.term import Apply, Op, Var, array_term, equal
from surefoot.term.value_types import Int

pytest.importorskip("z3")
x, y, n = Var("x"), Var("y"), Var("n")


def test_the_deadline_is_kept_inside_the_solver() -> None:
    start = monotonic()
    answer = solve_query(Z3(), hard_query(), seconds=1)
    assert monotonic() - start < 3
    assert isinstance(answer, Undecided)
    assert answer.why is UndecidedReason.TIMEOUT


def test_products_and_quotients_of_variables() -> None:
    query = Query((real("x", 1, 3), real("y", 1, 3)), (equal(x * y, 6), equal(x / y, Fraction(3, 2))))
    answer = solve_query(Z3(), query, seconds=20)
    assert isinstance(answer, Sat)
    assert dict(answer.assignment) == {"x": 3, "y": 2}


def test_irrational_models_are_not_rounded() -> None:
    answer = solve_query(Z3(), Query((real("x", 0, 2),), (equal(x * x, 2),)), seconds=20)
    assert isinstance(answer, Undecided)
    assert answer.why is UndecidedReason.NUMERICS


def test_whole_division_and_remainders_as_jani_has_them() -> None:
    quantities = (QueryVariable("n", Int(-5, 5)),)
    for divisor, value in ((3, 1), (-3, 1)):
        query = Query(quantities, (equal(n, -2), equal(n % divisor, value)))
        assert isinstance(solve_query(Z3(), query, seconds=20), Sat)
    assert (
        solve_query(Z3(), Query(quantities, (equal(n / 2 * 2, n) & equal(n % 0, 0),)), seconds=20) == Unsat()
    )
    truncated = Apply(Op.TRUNC, (n / 2,))
    assert isinstance(
        solve_query(Z3(), Query(quantities, (equal(n, -3), equal(truncated, -1))), seconds=20), Sat
    )


def test_what_is_undefined_does_not_hold() -> None:
    zero = Query((real("x", 0, 1), real("y", 0, 0), QueryVariable("n", Int(0, 0))), ())
    for term in (x / y <= 1, ~(x / y <= 1), equal(n % n, 0), n**-1 <= 1, equal(array_term(1)[n + 1], 1)):
        assert solve_query(Z3(), zero, term, seconds=20) == Unsat()
        assert isinstance(solve_query(Z3(), zero, (x >= 0) | term, seconds=20), Sat)
        assert solve_query(Z3(), zero, term | (x >= 0), seconds=20) == Unsat()


def test_arrays_of_arrays() -> None:
    table = array_term(array_term(1, 2), array_term(3, 4))
    query = Query((QueryVariable("n", Int(0, 5)),), (equal(table[n][n], 4),))
    answer = solve_query(Z3(), query, seconds=20)
    assert isinstance(answer, Sat)
    assert answer.assignment == {"n": 1}
    assert solve_query(Z3(), query, n > 1, seconds=20) == Unsat()
