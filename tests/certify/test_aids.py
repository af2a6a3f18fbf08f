"""Certificates with aids: free inputs and outputs, an assumed invariant, states that are not the same.

The claim is about the problem itself; whatever is changed in an aid so that it no longer stands for the
problem is refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from copy import deepcopy
from fractions import Fraction
from typing import Any

import pytest
from tests.certify.test_execution import counting, made, rejected
from tests.engines.graphs import among, graph

from surefoot.certify.runs.argument import ProofAid
from surefoot.certify.runs.canonical import run_problem_to_json
from surefoot.certify.runs.prove import prove_run_certificate
from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Outcome,
    Update,
    Variable,
)
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Property, Recurs, Within
from surefoot.search import SearchSettings, verify_assuming
from surefoot.term.interval import Span
from surefoot.term.reserved_names import network_output_name
from surefoot.term.term import Apply, Op, Term, Var, equal
from surefoot.term.value_types import Real
from surefoot.verdict.verdict import Certificate, ProofArgument, Proved
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate

Json = dict[str, Any]
X, Y, NEW, OUTPUT = Var("x"), Var("y"), Var("new"), Var(network_output_name(0))


def aided(problem: Problem, argument: ProofArgument, aid: ProofAid) -> Json:
    """A certificate as it comes out of a file; the checker accepts it."""
    found = prove_run_certificate(problem, run_problem_to_json(problem), argument, Budget(60), aid=aid)
    assert isinstance(found, Certificate), found
    content: Json = json.loads(json.dumps(found.content))
    verdict = judge_certificate(content)
    assert verdict.accepted, verdict.reason
    assert content["claim"]["problem"] == json.loads(json.dumps(run_problem_to_json(problem)))
    return content


def refused(problem: Problem, argument: ProofArgument, aid: ProofAid) -> str:
    found = prove_run_certificate(problem, run_problem_to_json(problem), argument, Budget(20), aid=aid)
    assert isinstance(found, str)
    return found


def steering(asked: Property, *, single: bool = False) -> Problem:
    """The control is 2 x + y / 2; |y - 1/4| is read as well and has no weight. x becomes what is picked."""
    side = Real(Fraction(-1), Fraction(1), single)
    edge = Edge(chosen=(Choice("new", side),), outcomes=(Outcome(updates=(Update(X, NEW), Update(Y, X))),))
    environment = Environment(
        "steer",
        (Variable("x", side), Variable("y", side)),
        Apply(Op.ABS, (X,)) <= Fraction(1, 2),
        (Component("c", (edge,)),),
        (Control("u"),),
    )
    network = dense_network([([[2, 0.5, 0], [-2, -0.5, 0]], [0, 0]), ([[1, -1]], [0])])
    read = (X, Y, Apply(Op.ABS, (Y - Fraction(1, 4),)))
    return Problem("steer", environment, NeuralPolicy(network, read, choose=Choose.VALUE), asked)


FREE = ProofAid(inputs={1: Span(), 2: Span()})
BELOW = Never(Fraction(26, 10) < OUTPUT)


@pytest.mark.parametrize("single", [False, True])
def test_inputs_may_be_free_and_the_claim_is_about_the_problem(single: bool) -> None:
    content = aided(steering(BELOW, single=single), ProofArgument("induction", 1), FREE)
    assert content["claim"]["argument"]["free"]["inputs"] == [[1, -1, 1], [2, "-5/4", "5/4"]]
    kinds = {"float32" if single else "real"}
    assert {v[1][0] for v in content["claim"]["problem"]["variables"]} == kinds


def test_a_term_with_cases_may_be_free_where_it_could_not_be_read() -> None:
    """|y - 1/4| is not linear: a query cannot read it, but it has a range."""
    why = refused(steering(BELOW), ProofArgument("induction", 1), ProofAid(inputs={1: Span()}))
    assert "not linear" in why


def test_what_depends_on_a_free_input_is_not_shown() -> None:
    """From a start |x| <= 1/2, so the output is at most 3/2; with x free it may be 5/2."""
    problem = steering(Within(Fraction(17, 10) >= OUTPUT, 0))
    aided(problem, ProofArgument("unrolled", 0), FREE)
    assert "not excluded" in refused(
        problem, ProofArgument("unrolled", 0), ProofAid(inputs={0: Span(), 2: Span()})
    )


def _inputs(content: Json) -> list[list[Any]]:
    return list(content["claim"]["argument"]["free"]["inputs"])


FREE_DAMAGE: dict[str, Callable[[Json], object]] = {
    "narrower above": lambda c: _inputs(c)[0].__setitem__(2, "999999/1000000"),
    "narrower below": lambda c: _inputs(c)[1].__setitem__(1, "-1/2"),
    "empty": lambda c: _inputs(c)[0].__setitem__(1, 2),
    "no such input": lambda c: _inputs(c)[0].__setitem__(0, 3),
    "negative input": lambda c: _inputs(c)[0].__setitem__(0, -1),
    "twice": lambda c: c["claim"]["argument"]["free"]["inputs"].append([1, -2, 2]),
    "no such output": lambda c: c["claim"]["argument"]["free"]["outputs"].append([1, -5, 5]),
    "output without proof of its range": lambda c: c["claim"]["argument"]["free"]["outputs"].append(
        [0, -5, 2]
    ),
    "wider, the proof is not about it": lambda c: _inputs(c)[0].__setitem__(2, 100),
    "wider problem": lambda c: c["claim"]["problem"]["variables"][1][1].__setitem__(2, 2),
    "unknown key": lambda c: c["claim"]["argument"]["free"].update(more=[]),
}


def test_damaged_ranges_are_rejected() -> None:
    content = aided(steering(BELOW), ProofArgument("induction", 1), FREE)
    for name, damage in FREE_DAMAGE.items():
        damaged = deepcopy(content)
        damage(damaged)
        assert rejected(damaged), name


def test_an_output_is_free_in_a_range_that_is_shown() -> None:
    problem = steering(Never(Var("u") > 3))
    free = ProofAid(inputs={2: Span()}, outputs={0: Span(Fraction(-13, 5), Fraction(13, 5))})
    whole = Problem("steer", problem.environment, problem.policy, Never(Var("u") > 3))
    assert "not linear" in refused(
        whole, ProofArgument("induction", 1), free
    )  # its range, from all three inputs
    linear = two_inputs(problem)
    content = aided(linear, ProofArgument("induction", 1), ProofAid(outputs=dict(free.outputs)))
    first = content["obligations"][0]
    assert first["obligation"] == "range of output 0"
    narrow = deepcopy(content)
    narrow["claim"]["argument"]["free"]["outputs"] = [[0, "-13/5", "12/5"]]
    assert "range of output 0" in rejected(narrow)
    without = deepcopy(content)
    without["obligations"].pop(0)
    assert rejected(without)
    why = refused(
        linear, ProofArgument("induction", 1), ProofAid(outputs={0: Span(Fraction(-2), Fraction(2))})
    )
    assert "range of output 0" in why


def two_inputs(problem: Problem) -> Problem:
    network = dense_network([([[2, 0.5], [-2, -0.5]], [0, 0]), ([[1, -1]], [0])])
    policy = NeuralPolicy(network, (X, Y), choose=Choose.VALUE)
    return Problem("steer", problem.environment, policy, problem.property)


# Assumed invariants.

LOOP = [(0, 1), (1, 0), (5, 6), (6, 5), (6, 7)]  # from 0 neither 5 nor 6 can be reached


def below(limit: int) -> Term:
    return Var("n") < limit


def invariant(problem: Problem, kept: Term, argument: ProofArgument) -> Certificate:
    found = prove_run_certificate(
        Problem(problem.name, problem.environment, problem.policy, Never(~kept)),
        run_problem_to_json(Problem(problem.name, problem.environment, problem.policy, Never(~kept))),
        argument,
        Budget(30),
    )
    assert isinstance(found, Certificate), found
    return found


def test_an_invariant_helps_and_is_shown_in_the_same_certificate() -> None:
    """Never for k = 1, and `recurs`, where loops that no run reaches are in the way."""
    never = graph(LOOP, Never(among(7)), states=8)
    small = invariant(never, below(4), ProofArgument("induction", 2))
    assert isinstance(
        prove_run_certificate(never, run_problem_to_json(never), ProofArgument("induction", 1), Budget(20)),
        str,
    )
    content = aided(never, ProofArgument("induction", 1), ProofAid(invariant=small))
    names = [o["obligation"] for o in content["obligations"]]
    base, step = ["violation", "escape"], ["step/violation", "step/escape"]
    assert names == [*(f"assumed/{name}" for name in base + step), *step]
    recurs = graph(LOOP, Recurs(among(0, 2, 3)), states=8)
    assert isinstance(
        prove_run_certificate(
            recurs, run_problem_to_json(recurs), ProofArgument("induction", 1, 2), Budget(20)
        ),
        str,
    )
    aided(recurs, ProofArgument("induction", 1, 2), ProofAid(invariant=small))


ASSUMED_DAMAGE: dict[str, Callable[[Json], object]] = {
    "stronger": lambda c: c["claim"]["argument"]["assuming"].update(never=["<=", 1, ["name", "n"]]),
    "everything": lambda c: c["claim"]["argument"]["assuming"].update(never=True),
    "nothing": lambda c: c["claim"]["argument"]["assuming"].update(never=False),
    "left out": lambda c: c["claim"]["argument"].pop("assuming"),
    "not shown": lambda c: [c["obligations"].pop(0) for _ in range(2)],
    "another start": lambda c: c["claim"]["problem"].update(initial=["=", ["name", "n"], 5]),
    "a step into it": lambda c: c["claim"]["problem"]["components"][0]["edges"][1]["outcomes"][0][
        "updates"
    ].__setitem__(0, [["name", "n"], 5, 0]),
    "its k": lambda c: c["claim"]["argument"]["assuming"]["argument"].update(steps=1),
    "with another key": lambda c: c["claim"]["argument"]["assuming"].update(sha256="00"),
    "by itself": lambda c: c["claim"]["argument"]["assuming"]["argument"].update(
        assuming=deepcopy(c["claim"]["argument"]["assuming"])
    ),
}


def test_damaged_assumptions_are_rejected() -> None:
    problem = graph(LOOP, Never(among(7)), states=8)
    content = aided(
        problem,
        ProofArgument("induction", 1),
        ProofAid(invariant=invariant(problem, below(4), ProofArgument("induction", 2))),
    )
    for name, damage in ASSUMED_DAMAGE.items():
        damaged = deepcopy(content)
        damage(damaged)
        assert rejected(damaged), name


def test_an_assumption_about_the_output() -> None:
    """No run has an output above 26/10; so none has a control above 27/10."""
    problem = two_inputs(steering(Never(Var("u") > Fraction(27, 10))))
    kept = invariant(problem, Fraction(26, 10) >= OUTPUT, ProofArgument("induction", 1))
    aided(problem, ProofArgument("induction", 1), ProofAid(invariant=kept))


def test_through_the_search() -> None:
    problem = graph(LOOP, Recurs(among(0, 2, 3)), states=8)
    result = verify_assuming(problem, below(4), SearchSettings((Bmc(), Induction()), Budget(30)))
    assert isinstance(result.verdict, Proved), result.notes
    assert result.certified
    assert any("which was proved first" in note for note in result.notes)


# Simple paths.


def test_simple_paths_are_certified_for_never() -> None:
    problem = graph(LOOP, Never(among(7)), states=8)
    content = aided(problem, ProofArgument("induction", 4), ProofAid())
    pairs = content["claim"]["argument"]["different"]
    assert pairs
    for pair in pairs:  # without any one of them the proof is another
        damaged = deepcopy(content)
        damaged["claim"]["argument"]["different"].remove(pair)
        assert rejected(damaged)


def test_every_run_returns() -> None:
    """Unrolled: all runs of two steps pass a state twice, so no longer one has to be looked at."""
    ring = graph([(0, 1), (1, 0), (5, 7)], Never(among(7)), states=8)
    content = aided(ring, ProofArgument("unrolled", 2), ProofAid())
    assert content["claim"]["argument"]["different"] == [[0, 2]]


def test_real_states_differ_in_some_variable() -> None:
    """x stays, or jumps to 1 from above 1/2; it starts at 0. How long it has stayed tells nothing."""
    edges = (
        Edge(),
        Edge(guard=Fraction(1, 2) < X, outcomes=(Outcome(updates=(Update(X, X * 0 + 1),)),)),
    )
    side = Real(Fraction(0), Fraction(1))
    environment = Environment(
        "jump", (Variable("x", side), Variable("y", side)), equal(X, 0), (Component("c", edges),)
    )
    policy = NeuralPolicy(dense_network([([[1.0]], [0.0])]), (X,), ("go",))
    problem = Problem("jump", environment, policy, Never(X >= 1))
    content = aided(problem, ProofArgument("induction", 3), ProofAid())
    assert content["claim"]["argument"]["different"] == [[0, 1]]


SIMPLE_DAMAGE: dict[str, Callable[[Json], object]] = {
    "liveness": lambda c: c["claim"]["problem"]["property"].update(kind="recurs"),
    "a number of steps": lambda c: c["claim"]["problem"]["property"].update(steps=3),
    "a time beyond": lambda c: c["claim"]["argument"]["different"].append([0, 9]),
    "the same time": lambda c: c["claim"]["argument"]["different"].append([1, 1]),
    "backwards": lambda c: c["claim"]["argument"]["different"].append([2, 1]),
    "three times": lambda c: c["claim"]["argument"]["different"].append([0, 1, 2]),
}


def test_damaged_simple_paths_are_rejected() -> None:
    content = aided(graph(LOOP, Never(among(7)), states=8), ProofArgument("induction", 4), ProofAid())
    for name, damage in SIMPLE_DAMAGE.items():
        damaged = deepcopy(content)
        damage(damaged)
        assert rejected(damaged), name


def test_simple_paths_prove_nothing_about_liveness() -> None:
    """0 stays for ever: its only simple path has one state, and `recurs n = 1` is false."""
    problem = graph([(0, 0)], Recurs(among(1)), states=2)
    content = made(graph([(0, 0)], Recurs(among(0, 1)), states=2), ProofArgument("induction", 1, 2))
    content["claim"]["problem"] = json.loads(json.dumps(run_problem_to_json(problem)))
    content["claim"]["argument"]["different"] = [[0, 1]]
    assert "simple paths" in rejected(content)
    assert "not excluded" in refused(problem, ProofArgument("induction", 1, 2), ProofAid())
    within = counting(Within(equal(X, 3), 5))
    assert isinstance(
        prove_run_certificate(within, run_problem_to_json(within), ProofArgument("unrolled", 5), Budget(20)),
        str,
    )
