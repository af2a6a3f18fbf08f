"""Lowering keeps the meaning, also where terms are undefined; solved by trying every assignment."""

from fractions import Fraction

import pytest
from tests.solvers.examples import RELU

from surefoot.errors import Unsupported
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.formula import negation_normal_form
from surefoot.query.lower import lower_query
from surefoot.query.query import NetworkCall, Query, QueryVariable, Sat, Unsat
from surefoot.solvers.milp.solver import decide_milp
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term, Var, array_term, equal, ite
from surefoot.term.value_types import Bool, Int, Real

i, j, p, x = Var("i"), Var("j"), Var("p"), Var("x")
QUANTITIES = (
    QueryVariable("i", Int(-3, 3)),
    QueryVariable("j", Int(0, 2)),
    QueryVariable("p", Bool()),
    QueryVariable("x", Real(Fraction(-2), Fraction(2))),
)
TABLE = array_term(array_term(1, 2, 3), array_term(4, 5, 6))


def op(kind: Op, *args: object) -> Term:
    return Apply(kind, tuple(a if isinstance(a, Const | Var | Apply) else Const(a) for a in args))


VALUES = [
    (op(Op.MIN, i, j, 1), {"i": 3, "j": 2}, 1),
    (op(Op.MAX, i, j), {"i": -3, "j": 2}, 2),
    (op(Op.ABS, i - 1), {"i": -3}, 4),
    (op(Op.SIGN, i), {"i": -3}, -1),
    (op(Op.FLOOR, x), {"x": Fraction(-3, 2)}, -2),
    (op(Op.CEIL, x), {"x": Fraction(-3, 2)}, -1),
    (op(Op.TRUNC, x), {"x": Fraction(-3, 2)}, -1),
    (op(Op.TRUNC, x), {"x": Fraction(3, 2)}, 1),
    (i % 3, {"i": -2}, 1),
    (i % -3, {"i": -2}, 1),
    (i % (j + 1), {"i": -2, "j": 2}, 1),
    (i**3, {"i": -2}, -8),
    (i**-1, {"i": -2}, Fraction(-1, 2)),
    (Const(2) ** i, {"i": -2}, Fraction(1, 4)),
    (x / i, {"x": 1, "i": -2}, Fraction(-1, 2)),
    (i * x * j, {"i": -3, "x": Fraction(1, 2), "j": 2}, -3),
    (ite(p, i, x), {"p": True, "i": 2}, 2),
    (ite(p, 1, 0) * x, {"p": True, "x": Fraction(1, 3)}, Fraction(1, 3)),
    (TABLE[i][j], {"i": 1, "j": 2}, 6),
    (ite(p, array_term(1, 2), array_term(3, i))[j], {"p": False, "j": 1, "i": -3}, -3),
    (array_term(i, x, j)[j], {"j": 1, "x": Fraction(1, 7)}, Fraction(1, 7)),
    (op(Op.SQRT, 4) * x, {"x": 1}, 2),
]


@pytest.mark.parametrize(("term", "given", "value"), VALUES, ids=lambda v: None)
def test_values_survive(term: Term, given: dict[str, Fraction], value: Fraction) -> None:
    fixed = tuple(equal(Var(n), v) for n, v in given.items() if n != "p")
    fixed += tuple((p if v else ~p) for n, v in given.items() if n == "p")
    right = decide_milp(Query(QUANTITIES, (*fixed, equal(term, value))), 0, 10)
    assert isinstance(right, Sat)
    assert decide_milp(Query(QUANTITIES, (*fixed, equal(term, value + 1))), 0, 10) == Unsat()


UNDEFINED = [  # constraint, whether some assignment satisfies it
    ((i > 2) & equal(array_term(1, 2)[i], 1), False),
    ((i > 2) & ~equal(array_term(1, 2)[i], 1), False),
    ((i > 2) | equal(array_term(1, 2)[i], 7), True),
    ((i > 2) & (equal(array_term(1, 2)[i], 1) | (i > 2)), False),  # looked at first
    ((i > 2) & ((i > 2) | equal(array_term(1, 2)[i], 1)), True),  # not looked at
    ((i > 2) & op(Op.IMPLIES, i < 2, equal(array_term(1, 2)[i], 1)), True),
    ((i > 2) & op(Op.IMPLIES, equal(array_term(1, 2)[i], 1), i > 2), False),
    (equal(i, 0) & (x / i <= 1), False),
    (equal(i, 0) & ~(x / i <= 1), False),
    (equal(i, 0) & (Const(1) <= x / i), False),
    (equal(i, 0) & ~(Const(1) <= x / i), False),
    (equal(i, 0) & (x < x / i), False),
    (equal(i, 0) & ~(x < x / i), False),
    (equal(i, 0) & (ite(equal(i, 0), x, x / i) <= 1), True),
    (equal(i, 0) & (ite(equal(i % i, 0), x, x) <= 1), False),
    (equal(j, 2) & array_term(p, TRUE)[j], False),
    (equal(j, 2) & equal(array_term(1, 2)[j], 2), False),
    (equal(j, 2) & (array_term(1, 2)[j] < 9), False),
    (equal(j, 2) & (equal(j, 2) | (array_term(1, 2)[j] < 9)), True),
    (equal(j, 1) & array_term(p, FALSE)[j], False),
    (equal(j, 0) & equal(array_term(x, Const(1) / j)[j], x), False),  # an array is evaluated as a whole
    (equal(x * 2, 1) & equal(op(Op.FLOOR, x) % 2, 0), True),
    (equal(x * 2, 1) & equal(x % 2, x), False),  # % of a fraction
    (equal(x * 2, 1) & equal(array_term(1, 2, 3)[x], 1), False),
    (equal(x, 1) & equal(array_term(1, 2, 3)[x], 2), True),
]


@pytest.mark.parametrize(("constraint", "possible"), UNDEFINED, ids=lambda v: None)
def test_undefined_parts_count_only_where_they_are_evaluated(constraint: Term, possible: bool) -> None:
    query = Query(QUANTITIES, (constraint,))
    answer = decide_milp(query, 0, 10)
    if possible:
        assert isinstance(answer, Sat)
        assert assignment_defect(query, answer.assignment) is None
    else:
        assert answer == Unsat()


def test_a_network_is_not_called_with_an_undefined_input() -> None:
    call = NetworkCall(RELU, (array_term(-1, 1)[j],), ("y",))
    quantities = (*QUANTITIES, QueryVariable("y", Real()))
    for value, possible in ((0, True), (1, True), (2, False)):
        answer = decide_milp(Query(quantities, (equal(j, value),), (call,)), 0, 10)
        assert isinstance(answer, Sat) is possible
        assert isinstance(answer, Unsat) is not possible


def test_only_linear_comparisons_remain() -> None:
    query = Query(QUANTITIES, tuple(equal(term, 1) for term, _, _ in VALUES))
    for constraint in lower_query(query).query.constraints:
        negation_normal_form(constraint)  # raises for anything else


def test_bounded_auxiliaries_and_the_way_back() -> None:
    lowered = lower_query(Query(QUANTITIES, (op(Op.MAX, x, i) <= 1,)))
    (extra,) = lowered.query.quantities[len(QUANTITIES) :]
    assert extra.kind == Real(Fraction(-2), Fraction(3))
    values = {"i": 1, "j": 0, "p": True, "x": 0}
    assert lowered.invert(values | {extra.name: 1}) == values


def test_names_do_not_clash() -> None:
    quantities = (QueryVariable("auxiliary 0", Real(Fraction(0), Fraction(1))),)
    lowered = lower_query(Query(quantities, (op(Op.ABS, Var("auxiliary 0") - Const(Fraction(1, 2))) <= 0,)))
    names = [q.name for q in lowered.query.quantities]
    assert len(names) == len(set(names)) == 2


@pytest.mark.parametrize("term", [x * x, x / x, op(Op.EXP, x), i ** Var("x"), x % x, x**2])
def test_names_what_has_no_linear_form(term: Term) -> None:
    with pytest.raises(Unsupported, match="is not linear"):
        lower_query(Query(QUANTITIES, (term <= 1,)))


@pytest.mark.parametrize("constraint", [p <= 1, i, equal(TABLE, TABLE), ~x])
def test_refuses_mixed_up_kinds(constraint: Term) -> None:
    with pytest.raises(Unsupported):
        lower_query(Query(QUANTITIES, (constraint,)))
