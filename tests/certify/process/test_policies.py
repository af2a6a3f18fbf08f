"""Certificates of what a policy does: the checker decides itself, in the reference arithmetic."""

from copy import deepcopy
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from surefoot.certify.values.claim import build_process_certificate
from surefoot.engines.explicit import Explicit
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Shape, dense_network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, Policy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Path, Probability, Property
from surefoot.query.unsat_claim import network_to_json
from surefoot.run import verify
from surefoot.term.float32 import round_to_float32
from surefoot.term.term import TRUE, Const, Term, Var, equal
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.inference import fraction_to_float32, network_function
from surefoot_checker.kernel.network import read_network

X = Var("x")
LAST = 6


def walk(policy: Policy | None, asked: Property) -> Problem:
    """From 2 left or right; one step in ten goes the other way. 0 is a hole, 6 the goal; no right at 4."""

    def step(action: str, by: int, guard: Term) -> Edge:
        def moved(d: int, p: Fraction) -> Outcome:
            return Outcome(Const(p), (Update(X, X + d),), (("effort", Const(1)),))

        inside = guard & (X > 0) & (X < LAST)
        return Edge(
            action=action, guard=inside, outcomes=(moved(by, Fraction(9, 10)), moved(-by, Fraction(1, 10)))
        )

    edges = (
        step("left", -1, TRUE),
        step("right", 1, ~equal(X, Const(4))),
        step("jump", 1, equal(X, Const(4))),
    )
    environment = Environment(
        "walk", (Variable("x", Int(0, LAST)),), equal(X, Const(2)), (Component("w", edges),)
    )
    return Problem("walk", environment, policy, asked)


def network(choose: Choose = Choose.ARGMAX_APPLICABLE, hidden: Shape = Shape.RELU) -> NeuralPolicy:
    """Prefers right (output 1), then jump (2), then left."""
    layers = dense_network(
        [([[1.0], [-1.0], [0.5]], [0.0, 0.0, 0.0]), ([[0.0] * 3, [0.1] * 3, [0.05] * 3], [0.0, 1.0, 0.5])],
        hidden,
    )
    return NeuralPolicy(layers, (X,), ("left", "right", "jump"), choose)


ACTIONS = ("left", "right", "jump")
PROGRAM = ProgramPolicy((Branch(equal(X, Const(4)), "jump"), Branch(TRUE, "right")), ACTIONS)
GOAL = Probability(Path("F", equal(X, Const(LAST))), None, None)


def certified(problem: Problem) -> tuple[Exact, dict[str, Any]]:
    engine = Explicit(exact=True)
    assert engine.objection(problem) is None
    verdict = engine.check(problem, Budget(30))
    assert isinstance(verdict, Exact)
    certificate = build_process_certificate(problem, verdict)
    assert certificate is not None
    found = judge_certificate(dict(certificate.content))
    assert found.accepted, found.reason
    return verdict, dict(certificate.content)


def ruin(steps_right: int, total: int) -> Fraction:
    """The probability that a walk (9/10 up, 1/10 down) from here reaches the top before 0."""
    ratio = Fraction(1, 9)
    return (1 - ratio**steps_right) / (1 - ratio**total)


SMOOTH = [network(hidden=shape) for shape in (Shape.TANH, Shape.SIGMOID)]


@pytest.mark.parametrize(
    "policy", [network(), *SMOOTH, PROGRAM], ids=["network", "tanh", "sigmoid", "program"]
)
def test_goal(policy: Policy) -> None:
    verdict, content = certified(walk(policy, GOAL))
    assert verdict.low == verdict.high == ruin(2, LAST)
    assert content["arithmetic"] == ("exact" if policy is PROGRAM else "reference")


def test_a_stall_is_an_outcome() -> None:
    stalling = walk(network(Choose.ARGMAX), Probability(Path("F", Var("stalled")), None, None))
    verdict, _ = certified(stalling)
    assert verdict.low == verdict.high == ruin(2, 4)  # it picks right at 4, which is not enabled
    picking = walk(PROGRAM, Probability(Path("F", Var("chosen(jump)")), None, None))
    assert certified(picking)[0].low == ruin(2, 4)


def test_the_optimum_beside_it() -> None:
    best, _ = certified(walk(None, Probability(Path("F", equal(X, Const(LAST))), None, "max")))
    assert best.low == ruin(2, LAST)
    either = Expected("effort", equal(X, Const(0)) | equal(X, Const(LAST)), None, None)
    mine, all_ways = (certified(walk(p, either))[0] for p in (PROGRAM, None))
    ends = [all_ways.low, mine.low, mine.high, all_ways.high]
    assert None not in ends
    assert ends == sorted(ends, key=lambda e: e or Fraction(0))


def test_a_policy_that_draws_is_computed_but_not_certified() -> None:
    even = NeuralPolicy(
        dense_network([([[0.0], [0.0], [0.0]], [0.0] * 3)]), (X,), ("left", "right", "jump"), Choose.SAMPLE
    )
    result = verify(walk(even, GOAL), Explicit(exact=True), Budget(30))
    assert isinstance(result.verdict, Exact)
    assert result.verdict.certificate is None
    assert not result.certified
    assert any("not certified" in note for note in result.notes)
    assert result.verdict.low is not None
    assert 0 < result.verdict.low < ruin(2, LAST)


def test_a_near_tie_is_told() -> None:
    close = dense_network([([[3.0], [3.0], [0.0]], [0.1, 0.1, 0.0])])
    policy = NeuralPolicy(close, (X,), ("left", "right", "jump"))
    result = verify(walk(policy, GOAL), Explicit(), Budget(30))
    assert result.certified
    assert any(note.startswith("near tie: where x = ") for note in result.notes)


def test_other_weights_are_noticed() -> None:
    _, content = certified(walk(network(), GOAL))
    other = deepcopy(content)
    worse = NeuralPolicy(
        dense_network([([[1.0], [0.0], [0.0]], [1.0, 0.0, 0.0])]), (X,), ("left", "right", "jump")
    )
    other["claim"]["problem"]["policy"]["network"] = network_to_json(worse.network)
    assert not judge_certificate(other).accepted
    other = deepcopy(content)
    other["arithmetic"] = "exact"
    assert not judge_certificate(other).accepted


def test_inference_is_the_reference() -> None:
    draw = np.random.default_rng(1)
    for width in (1, 3, 17):
        sizes = [width, 12, 9, 4]
        layers = [
            (draw.normal(size=(b, a)).tolist(), draw.normal(size=b).tolist()) for a, b in pairwise(sizes)
        ]
        made = dense_network(layers)
        run = network_function(read_network(dict(network_to_json(made))))
        inputs = draw.normal(scale=9, size=(40, width)).astype(np.float32)
        expected = infer_outputs(made, inputs)
        for row, wanted in zip(inputs, expected, strict=True):
            assert list(run([float(x) for x in row])) == [float(w) for w in wanted]


def test_observations_are_rounded_once() -> None:
    draw = np.random.default_rng(2)
    for _ in range(2000):
        value = Fraction(int(draw.integers(-(10**12), 10**12)), int(draw.integers(1, 10**9)))
        assert fraction_to_float32(value) == float(round_to_float32(value))
    for value in (
        Fraction(1, 2**150),
        Fraction(3, 2**151),
        Fraction(2**25 + 1),
        Fraction(0),
        Fraction(-1, 3),
    ):
        assert fraction_to_float32(value) == float(round_to_float32(value))
