"""Ratios, lower bounds and contradictions; questions written out for other engines mean the same."""

from fractions import Fraction

import pytest
from benchmarks.document import conjunctions, document, replayed
from benchmarks.questions import argmax, aurora, questions
from benchmarks.rivals.milp import highs, rows_of
from benchmarks.rivals.program import programs

from benchmarks import ratios
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Network,
    Pairing,
    Shape,
    dense_network,
    freeze_float32,
)
from surefoot.query.formula import negation_normal_form
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.term.term import Const, Var
from surefoot.term.value_types import Int, Real


def row(
    native: str, seconds: float, family: str = "aurora", expected: str = "", **others: object
) -> dict[str, object]:
    engines = {"native": {"answer": native, "seconds": seconds}, **others}
    return {"family": family, "name": "row", "expected": expected, "engines": engines}


def test_a_cap_is_a_lower_bound_and_the_better_strategy_counts() -> None:
    slow, capped = {"answer": "unsat", "seconds": 6.0}, {"answer": "capped", "seconds": 9.0}
    found = row("unsat", 0.5, marabou=capped, **{"marabou-violation": slow})
    assert ratios.ratio(found, ratios.COLUMNS["Marabou"]) == (12.0, False)
    assert ratios.ratio(row("unsat", 0.5, marabou=capped), ("marabou",)) == (18.0, True)
    assert ratios.ratio(row("timeout", 0.5, marabou=slow), ("marabou",)) is None
    assert ratios.ratio(row("unsat", 0.5, marabou={"answer": "absent"}), ("marabou",)) is None


def test_the_median_is_a_lower_bound_only_if_a_lower_bound_could_move_it() -> None:
    assert ratios.summary([(1.0, False), (2.0, False), (9.0, True)])["lower_bound"] is False
    assert ratios.summary([(1.0, True), (2.0, False), (9.0, False)])["lower_bound"] is True
    table = ratios.table([row("unsat", 1.0, z3={"answer": "capped", "seconds": 300.0})])
    assert ">300 (1)" in ratios.shown(table)


def test_contradictions_are_loud_and_not_counted() -> None:
    wrong = {"answer": "unsat", "seconds": 1.0}
    found = row("sat", 0.5, scip=wrong, gurobi={"answer": "sat", "seconds": 2.0, "replay": "no"})
    assert ratios.contradictions(found) == ["scip"]
    assert ratios.ratio(found, ("scip", "gurobi")) == (4.0, False)
    text = ratios.line(found)
    assert "!!! CONTRADICTION: scip" in text
    assert "gurobi does not replay" in text
    assert ratios.contradictions(row("sat", 0.5, expected="unsat")) == ["native"]
    assert ratios.ratio(row("sat", 0.5, expected="unsat", scip=wrong), ("scip",)) is None


def test_a_relaxation_may_say_sat_for_whole_numbers() -> None:
    relaxed = {"answer": "sat", "seconds": 1.0, "replay": "no"}
    assert ratios.contradictions(row("unsat", 0.5, family="argmax", marabou=relaxed)) == []
    assert ratios.contradictions(row("unsat", 0.5, family="argmax", highs=relaxed)) == ["highs"]


def small(*constraints: object) -> Query:
    """max(relu(x - 1), i) and leaky and clipped parts of it."""
    nodes = (
        Affine(0, freeze_float32([[1, 0], [0, 1]]), freeze_float32([-1, 0])),
        Activation(1, Shape.RELU),
        Activation(1, Shape.LEAKY_RELU, (0.5,)),
        Activation(1, Shape.CLIP, (-0.5, 0.75)),
        Combine(2, 3, Pairing.MAXIMUM),
        Combine(5, 4, Pairing.ADD),
    )
    call = NetworkCall(Network(2, nodes), (Var("x"), Var("i")), ("u", "v"))
    quantities = (
        QueryVariable("x", Real(-2, 2)),
        QueryVariable("i", Int(-1, 1)),
        QueryVariable("u", Real()),
        QueryVariable("v", Real()),
    )
    return Query(quantities, constraints, (call,))


def test_engines_are_given_the_same_function() -> None:
    pytest.importorskip("highspy")
    attained = small(Var("u") >= Const(Fraction(7, 4)), Var("v") <= Const(0))
    assert [highs(p)[0] for p in programs(document(attained))] == ["sat"]  # x = 2: 1 + 0.75
    beyond = small((Var("u") >= Const(Fraction(9, 5))) | (Var("v") >= Const(2)))
    assert [highs(p)[0] for p in programs(document(beyond))] == ["unsat", "unsat"]
    ((_, point),) = [highs(p) for p in programs(document(small(Var("u") >= Const(Fraction(3, 2)))))]
    assert replayed(small(Var("u") >= Const(Fraction(3, 2)) - Const(Fraction(1, 10**6))), point) == "ok"
    assert replayed(small(Var("u") >= Const(2)), point) != "ok"


def test_polarity_saves_binaries_only_where_larger_is_worse() -> None:
    network = dense_network([([[1.0], [-1.0]], [0.0, 0.0]), ([[1.0, -1.0]], [0.0])])
    call = NetworkCall(network, (Var("x"),), ("y",))
    query = Query(
        (QueryVariable("x", Real(-1, 1)), QueryVariable("y", Real())), (Var("y") <= Const(-2),), (call,)
    )
    (program,) = programs(document(query))
    columns = len(program.low)
    rows_of(program)
    assert len(program.low) == columns + 1


def test_disjunctions_become_cases() -> None:
    x, y = Var("x"), Var("y")
    either = negation_normal_form((x <= Const(0)) | ((y <= Const(0)) & (x >= Const(1))))
    assert [len(case) for case in conjunctions([either, either])] == [2, 3, 3, 4]


def test_generated_questions() -> None:
    names = {q.title for q in questions(None)}
    assert {"aurora 48:5:0.5", "aurora 32x16:8:1.0", "aurora 16x16:1:-0.2", "aurora 64x64:1:1.5"} <= names
    assert sum(title.startswith("aurora") for title in names) == 58
    query = argmax("16x16:3x2:0")
    assert len(document(query)["cases"]) == 1
    assert query.constraints == argmax("16x16:3x2:0").constraints
    assert len(aurora("16x16:3:1.0").calls) == 3
