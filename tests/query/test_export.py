from fractions import Fraction

import pytest
from tests.solvers.examples import EXAMPLES, real, relu, two

from surefoot.errors import Unsupported
from surefoot.problem.network import Activation, Network, Shape
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.query.smtlib import to_smtlib, to_vnnlib
from surefoot.term.term import Apply, Const, Op, Var, equal
from surefoot.term.value_types import Bool, Int

x, y, u, v = Var("x"), Var("y"), Var("u"), Var("v")


@pytest.mark.parametrize("name", EXAMPLES)
def test_smtlib_has_the_same_answer(name: str) -> None:
    z3 = pytest.importorskip("z3")
    query, possible = EXAMPLES[name]
    solver = z3.Solver()
    solver.from_string(to_smtlib(query))
    assert str(solver.check()) == ("sat" if possible else "unsat")


def test_different_names_are_different_symbols() -> None:
    """`a|b` and `a_b` were one variable in what was written, which made another query of it."""
    names = ("a|b", "a_b", "a\\b", "a%7c;b", "a\x1b[2Kb")
    text = to_smtlib(Query(tuple(QueryVariable(n, Bool()) for n in names), (Var("a|b"), ~Var("a_b"))))
    assert len({line for line in text.split("\n") if line.startswith("(declare-const")}) == len(names)
    assert "\x1b" not in text


def test_smtlib_text() -> None:
    quantities = (QueryVariable("a|b", Bool()), QueryVariable("n", Int(-1, None)), real("x", None, "1/3"))
    query = Query(quantities, (Var("a|b") | (Var("n") < x), ~Var("a|b")))
    assert to_smtlib(query) == (
        "(set-logic QF_LIRA)\n"
        "(declare-const |a%7c;b| Bool)\n"
        "(declare-const |n| Int)\n"
        "(assert (<= (- 1.0) (to_real |n|)))\n"
        "(declare-const |x| Real)\n"
        "(assert (<= |x| (/ 1.0 3.0)))\n"
        "(assert (or |a%7c;b| (< (+ (to_real |n|) (* (- 1.0) |x|)) 0.0)))\n"
        "(assert (not |a%7c;b|))\n"
        "(check-sat)\n"
        "(get-model)\n"
    )


def test_vnnlib_text() -> None:
    constraint = (u <= v) & ((v >= Const(Fraction(5, 2))) | (u * 2 + v < x) | equal(u, -1))
    query = two(constraint, x_box=("-1/4", 1), y_box=(0, None))
    assert (
        to_vnnlib(query)
        == to_vnnlib(query, query.calls[0])
        == (
            "; strict comparisons are written as non-strict ones\n"
            "(declare-const X_0 Real)\n"
            "(declare-const X_1 Real)\n"
            "(declare-const Y_0 Real)\n"
            "(declare-const Y_1 Real)\n"
            "(assert (>= X_0 -0.25))\n"
            "(assert (<= X_0 1.0))\n"
            "(assert (>= X_1 0.0))\n"
            "(assert (<= Y_0 Y_1))\n"
            "(assert (or (>= Y_1 2.5) (<= (+ (* 2.0 Y_0) Y_1 (* -1.0 X_0)) 0.0)"
            " (and (<= Y_0 -1.0) (>= Y_0 -1.0))))\n"
        )
    )


REFUSED = [
    (Query((real("x"),), ()), "one network call, this query has 0"),
    (relu(y >= 1, low="1/3"), "1/3 is not a finite decimal"),
    (Query((*relu().quantities, real("w")), (), relu().calls), "`w` is neither an input nor an output"),
    (Query((QueryVariable("x", Int(0, 1)), real("y")), (), relu().calls), "`x` is not a real number"),
    (
        Query(relu().quantities, (), (NetworkCall(relu().calls[0].network, (x + 1,), ("y",)),)),
        r"input 0 of the network is `x \+ 1`",
    ),
    (relu(Apply(Op.MAX, (x, y)) <= 1), "is not linear"),
]


@pytest.mark.parametrize(("query", "reason"), REFUSED, ids=[reason for _, reason in REFUSED])
def test_vnnlib_says_why_not(query: Query, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        to_vnnlib(query)


def test_smtlib_refuses_smooth_networks() -> None:
    call = NetworkCall(Network(1, (Activation(0, Shape.TANH),)), (x,), ("y",))
    with pytest.raises(Unsupported, match="tanh"):
        to_smtlib(Query((real("x", 0, 1), real("y")), (), (call,)))
