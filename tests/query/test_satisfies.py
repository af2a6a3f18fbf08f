import re
from fractions import Fraction

import pytest

from surefoot.problem.network import Combine, Network, Pairing, dense_network
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.term.term import Const, Var, array_term, ite
from surefoot.term.value_types import Bool, Int, Real

x, n, p, y = Var("x"), Var("n"), Var("p"), Var("y")
TENTH = Fraction(1, 10)
QUERY = Query(
    (
        QueryVariable("x", Real(Fraction(0), Fraction(1))),
        QueryVariable("n", Int(0, 5)),
        QueryVariable("p", Bool()),
        QueryVariable("y", Real()),
    ),
    (ite(p, array_term(1, 2, 3)[n] <= 2, x < Const(TENTH)),),
    (NetworkCall(dense_network([([[3.0]], [-1.0]), ([[1.0]], [0.5])]), (x,), ("y",), (TENTH,)),),
)
GOOD = {"x": Fraction(1), "n": 1, "p": True, "y": Fraction(5, 2)}


def test_accepts_what_holds() -> None:
    assert assignment_defect(QUERY, GOOD) is None
    assert assignment_defect(QUERY, GOOD | {"y": Fraction(5, 2) - TENTH}) is None
    assert assignment_defect(QUERY, GOOD | {"n": Fraction(1)}) is None


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"x": 1 + Fraction(1, 10**30)}, "`x` = .* is out of its bounds"),
        ({"x": 0.5}, "`x` = 0.5 is not an exact number"),
        ({"n": Fraction(1, 2)}, "`n` = 1/2 is not a whole number"),
        ({"p": 1}, "`p` = 1 is not a truth value"),
        ({"n": 2}, "does not hold"),
        ({"n": 5}, "is undefined: index 5"),
        ({"p": False}, "does not hold"),
        ({"y": Fraction(5, 2) + TENTH + Fraction(1, 10**30)}, "`y` is not the output of network call 0"),
    ],
)
def test_names_the_first_thing_that_fails(change: dict[str, object], complaint: str) -> None:
    found = assignment_defect(QUERY, GOOD | change)
    assert found is not None
    assert re.search(complaint, found)


def test_misses_a_value() -> None:
    assert assignment_defect(QUERY, {k: v for k, v in GOOD.items() if k != "n"}) == "`n` has no value"


def test_a_part_that_is_not_looked_at_may_be_undefined() -> None:
    values = {"x": Fraction(0), "n": 5, "p": False, "y": Fraction(1, 2)}
    assert assignment_defect(QUERY, values) is None


def test_float32_quantities_take_float32_numbers_only() -> None:
    query = Query((QueryVariable("x", Real(float32=True)),), ())
    assert assignment_defect(query, {"x": Fraction(1, 3)}) == "`x` = 1/3 is not a float32 number"
    for value in (Fraction(10) ** 50, Fraction(10) ** 400, Fraction(1, 2**150), 2**24 + 1, Fraction(0.1)):
        assert assignment_defect(query, {"x": value}) == f"`x` = {value} is not a float32 number"
    for value in (Fraction(3, 2**20), Fraction(1, 2**149), 0, -(2**24), Fraction(2**128 - 2**104)):
        assert assignment_defect(query, {"x": value}) is None


def test_a_network_that_divides_by_zero_has_no_outputs() -> None:
    network = Network(1, (Combine(0, 0, Pairing.DIVIDE),))
    query = Query(QUERY.quantities[::3], (), (NetworkCall(network, (x,), ("y",)),))
    assert assignment_defect(query, {"x": Fraction(1), "y": Fraction(1)}) is None
    complaint = assignment_defect(query, {"x": Fraction(0), "y": Fraction(1)})
    assert complaint == (
        "network call 0 is undefined: the network divides by a value that is zero at these inputs"
    )
