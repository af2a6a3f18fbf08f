from fractions import Fraction
from time import monotonic

import pytest
from tests.solve.examples import hard_query, real

from surefoot.problem.environment import Int
from surefoot.problem.term import Apply, Op, Var, array, equal
from surefoot.query.query import Quantity, Query, Sat, Undecided, Unsat, Why
from surefoot.solve.protocol import solve
from surefoot.solve.z3 import Z3

pytest.importorskip("z3")
x, y, n = Var("x"), Var("y"), Var("n")


def test_the_deadline_is_kept_inside_the_solver() -> None:
    start = monotonic()
    answer = solve(Z3(), hard_query(), seconds=1)
    assert monotonic() - start < 3
    assert isinstance(answer, Undecided)
    assert answer.why is Why.TIMEOUT


def test_products_and_quotients_of_variables() -> None:
    query = Query((real("x", 1, 3), real("y", 1, 3)), (equal(x * y, 6), equal(x / y, Fraction(3, 2))))
    answer = solve(Z3(), query, seconds=20)
    assert isinstance(answer, Sat)
    assert dict(answer.assignment) == {"x": 3, "y": 2}


def test_irrational_models_are_not_rounded() -> None:
    answer = solve(Z3(), Query((real("x", 0, 2),), (equal(x * x, 2),)), seconds=20)
    assert isinstance(answer, Undecided)
    assert answer.why is Why.NUMERICS


def test_whole_division_and_remainders_as_jani_has_them() -> None:
    quantities = (Quantity("n", Int(-5, 5)),)
    for divisor, value in ((3, 1), (-3, 1)):
        query = Query(quantities, (equal(n, -2), equal(n % divisor, value)))
        assert isinstance(solve(Z3(), query, seconds=20), Sat)
    assert solve(Z3(), Query(quantities, (equal(n / 2 * 2, n) & equal(n % 0, 0),)), seconds=20) == Unsat()
    truncated = Apply(Op.TRUNC, (n / 2,))
    assert isinstance(solve(Z3(), Query(quantities, (equal(n, -3), equal(truncated, -1))), seconds=20), Sat)


def test_what_is_undefined_does_not_hold() -> None:
    zero = Query((real("x", 0, 1), real("y", 0, 0), Quantity("n", Int(0, 0))), ())
    for term in (x / y <= 1, ~(x / y <= 1), equal(n % n, 0), n**-1 <= 1, equal(array(1)[n + 1], 1)):
        assert solve(Z3(), zero, term, seconds=20) == Unsat()
        assert isinstance(solve(Z3(), zero, (x >= 0) | term, seconds=20), Sat)
        assert solve(Z3(), zero, term | (x >= 0), seconds=20) == Unsat()


def test_arrays_of_arrays() -> None:
    table = array(array(1, 2), array(3, 4))
    query = Query((Quantity("n", Int(0, 5)),), (equal(table[n][n], 4),))
    answer = solve(Z3(), query, seconds=20)
    assert isinstance(answer, Sat)
    assert answer.assignment == {"n": 1}
    assert solve(Z3(), query, n > 1, seconds=20) == Unsat()
