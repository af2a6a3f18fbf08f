"""Small JANI models whose answers follow from the words of the format: values, and accepted certificates."""

from fractions import Fraction
from pathlib import Path
from typing import Any

from tests.formats.jani.build import (
    X,
    assign,
    automaton,
    bounded,
    edge,
    goes,
    model,
    op,
    unary,
    variable,
    write,
)

from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit
from surefoot.formats.jani import read_jani
from surefoot.problem.problem import Problem
from surefoot.verdict.verdict import Exact, PerStart, Reason, Unknown
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate


def asked(values: Any, fun: str = "min") -> dict[str, Any]:
    filtered = {"op": "filter", "fun": fun, "states": {"op": "initial"}, "values": values}
    return {"name": "q", "expression": filtered}


def answered(document: dict[str, Any], folder: Path) -> Exact | PerStart:
    read = read_jani(write(folder, document))
    assert not read.refused, read.refused
    problem = Problem("q", read.environment, None, read.properties["q"])
    verdict = Explicit(exact=True).check(problem, Budget(30))
    assert isinstance(verdict, Exact | PerStart)
    certificate = build_process_certificate(problem, verdict)
    assert certificate is not None
    found = judge_certificate(dict(certificate.content))
    assert found.accepted, found.reason
    return verdict


def test_a_run_that_has_ended_earns_nothing(tmp_path: Path) -> None:
    """x = 0 for ever: the sum of rewards stays 0, so it never is at least 1, whatever a step would earn."""
    for reward in (1, 2):
        bound = {"exp": reward, "accumulate": ["steps"], "bounds": {"lower": 1, "upper": 2}}
        path = {**unary("F", op("=", "x", 0)), "reward-bounds": [bound]}
        question = asked({"op": "Pmax", "exp": path})
        document = model(automaton("main"), variables=[X], properties=[question])
        verdict = answered(document, tmp_path)
        assert isinstance(verdict, Exact)
        assert (verdict.low, verdict.high) == (0, 0)


def test_steps_go_on_after_the_end(tmp_path: Path) -> None:
    path = {**unary("F", op("=", "x", 0)), "step-bounds": {"lower": 1, "upper": 2}}
    document = model(automaton("main"), variables=[X], properties=[asked({"op": "Pmax", "exp": path})])
    verdict = answered(document, tmp_path)
    assert isinstance(verdict, Exact)
    assert (verdict.low, verdict.high) == (1, 1)


def test_certificates_cover_values_that_locations_give(tmp_path: Path) -> None:
    """`lit` is true in `on`: the guard of another automaton and the goal read it."""
    lamp = automaton(
        "lamp",
        edge(
            goes("on", probability=0.25), goes("off", probability=0.75), source="off", guard=op("<", "x", 1)
        ),
        locations=("off", {"name": "on", "transient-values": [assign("lit", True)]}),
        **{"initial-locations": ["on", "off"]},
    )
    count = edge(goes("here", assign("x", op("+", "x", 1))), guard=op("∧", "lit", op("<", "x", 2)))
    goal = op("∧", op("=", "x", 2), "lit")
    document = model(
        lamp,
        automaton("main", count),
        variables=[
            variable("x", bounded(0, 2)),
            variable("lit", "bool", False, transient=True),
        ],
        properties=[asked({"op": "Emin", "exp": 1, "accumulate": ["steps"], "reach": goal}, "values")],
        **{"restrict-initial": {"exp": op("=", "x", 0)}},
    )
    verdict = answered(document, tmp_path)
    assert isinstance(verdict, PerStart)
    ends = [(v.low, v.high) for _, v in verdict.table if isinstance(v, Exact)]
    assert ends == [(Fraction(6), Fraction(6)), (Fraction(2), Fraction(2))]  # off, on


def test_limits_on_states_are_no_numerical_trouble(tmp_path: Path) -> None:
    """Also 0 is a limit; beyond it anything may happen, and rewards are not bounded."""
    goal = op("=", "x", 5)
    steps = {"op": "Emin", "exp": 1, "accumulate": ["steps"], "reach": goal}
    for values in ({"op": "Pmin", "exp": unary("F", goal)}, steps):
        read = read_jani(write(tmp_path, model(properties=[asked(values)])))
        problem = Problem("q", read.environment, None, read.properties["q"])
        verdict = Explicit(max_states=0).check(problem, Budget(30))
        if values is steps:
            assert isinstance(verdict, Unknown)
            assert verdict.reason is Reason.INCOMPLETE
        else:
            assert isinstance(verdict, Exact)
            assert (verdict.low, verdict.high, verdict.certificate) == (0, 1, None)


def test_nothing_is_followed_beyond_a_decided_question(tmp_path: Path) -> None:
    """x grows without end, and beyond 4 an index leaves its array: the questions are decided before."""
    row = variable("row", {"kind": "array", "base": "int"}, {"op": "av", "elements": [0, 0, 0, 0]})
    there = {"op": "aa", "exp": "row", "index": "x"}
    count = edge(goes("here", assign(there, 1), assign("x", op("+", "x", 1))))
    steps = {"op": "Emax", "exp": 1, "accumulate": ["steps"], "reach": op("=", "x", 3)}
    questions = (
        {"op": "Pmin", "exp": unary("F", op("=", "x", 3))},
        {"op": "Pmin", "exp": {"op": "U", "left": op("<", "x", 2), "right": op("=", "x", 3)}},
        {"op": "Pmin", "exp": {"op": "W", "left": op("<", "x", 2), "right": op("=", "x", 1)}},
        {"op": "Pmax", "exp": unary("G", op("<", "x", 3))},
        steps,
    )
    found = []
    for values in questions:
        document = model(
            automaton("main", count), variables=[variable("x", "int", 0), row], properties=[asked(values)]
        )
        verdict = answered(document, tmp_path)
        assert isinstance(verdict, Exact)
        found.append(verdict.low)
    assert found == [1, 0, 1, 0, 3]


def pair(name: str, position: int) -> dict[str, Any]:
    """Takes part in steps that raise x; every two of three such automata move together."""
    raised = (assign("x", op("+", "x", 1)),) if position == 1 else ()
    go = edge(goes("here", *raised), action="go", guard=op("<", "x", 3))
    return automaton(name, go, edge(goes("here", assign("x", op("+", "x", 1))), action="alone"))


def test_steps_count_once_where_no_automaton_is_in_all_of_them(tmp_path: Path) -> None:
    """Steps of a and b or of b and c raise x; those of a and c do not."""
    vectors = [(("go", "go", None), None), ((None, "go", "go"), None), (("go", None, "go"), None)]
    for way, expected in (("min", 3), ("max", None)):
        reward = {"op": f"E{way}", "exp": "x", "accumulate": ["exit"], "reach": op("=", "x", 3)}
        document = model(
            *(pair(name, number) for number, name in enumerate("abc")),
            actions=("go", "alone"),
            syncs=vectors,
            properties=[asked(reward)],
        )
        verdict = answered(document, tmp_path)
        assert isinstance(verdict, Exact)
        assert (verdict.low, verdict.high) == (expected, expected)  # 0 + 1 + 2; a and c may go on for ever


def test_rewards_after_assignments(tmp_path: Path) -> None:
    """x and y change first, and the reward is what they have become: 1 * 1, 2 * 3, 3 * 6."""
    step = goes(
        "here",
        assign("x", op("+", "x", 1)),
        assign("y", op("+", "y", "x"), 1),
        assign("cost", op("*", "x", "y"), 2),
    )
    reward = {"op": "Emax", "exp": "cost", "accumulate": ["steps"], "reach": op("=", "x", 3)}
    document = model(
        automaton("main", edge(step, guard=op("<", "x", 3))),
        variables=[X, variable("y", "int", 0), variable("cost", "real", 0, transient=True)],
        properties=[asked(reward)],
    )
    verdict = answered(document, tmp_path)
    assert isinstance(verdict, Exact)
    assert (verdict.low, verdict.high) == (1 + 6 + 18, 25)


def test_a_lower_bound_of_a_reward_may_be_excluded(tmp_path: Path) -> None:
    """Each step costs 1/2 or nothing, and there are four: more than 1 means at least three times 1/2."""
    cost = variable("cost", "real", 0, transient=True)
    step = edge(
        goes("here", assign("x", op("+", "x", 1)), assign("cost", 0.5), probability=0.5),
        goes("here", assign("x", op("+", "x", 1)), probability=0.5),
        guard=op("<", "x", 4),
    )
    for excluded, expected in ((True, Fraction(5, 16)), (False, Fraction(11, 16))):
        limits = {"lower": 1, "lower-exclusive": excluded}
        bound = {"exp": "cost", "accumulate": ["steps"], "bounds": limits}
        path = {**unary("F", op("=", "x", 4)), "reward-bounds": [bound]}
        document = model(
            automaton("main", step), variables=[X, cost], properties=[asked({"op": "Pmin", "exp": path})]
        )
        verdict = answered(document, tmp_path)
        assert isinstance(verdict, Exact)
        assert (verdict.low, verdict.high) == (expected, expected)
