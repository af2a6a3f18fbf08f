"""Freed inputs and outputs: what they may be, what a step does to them, and the way back."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Variable
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import holds_in_state, is_initial
from surefoot.problem.validate import validate_problem
from surefoot.reductions.abstraction import (
    FreedValues,
    abstract_network_io,
    freed_input_type,
    output_span,
    with_free_outputs,
)
from surefoot.reductions.abstraction_request import describe_inputs, named_inputs, parse_abstraction_request
from surefoot.term.interval import Span, defined_span
from surefoot.term.term import TRUE, Apply, Op, Term, Var, ite
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real
from surefoot_studies.aurora.problem import safety_excellent
from surefoot_studies.toy.problem import below_thirteen

NETWORK = dense_network([([[0.0] * 30], [1.0])])
KINDS = {
    "n": Int(-2, 3),
    "x": Real(Fraction(-1), Fraction(1)),
    "b": Bool(),
    "a": Array(Int(0, 7), 2),
    "u": Real(),
}
N, X, B, A, U = (Var(n) for n in "nxbau")


def test_a_freed_input_is_chosen_anew_at_every_step_and_anything_at_the_start() -> None:
    toy = below_thirteen()
    made = abstract_network_io(toy, FreedValues(frozenset({1})))
    validate_problem(made.problem)
    assert made.added == {"free_input_1"}
    assert made.kept == (0,)
    assert made.words() == "1 of 2 inputs"
    assert made.problem.environment.initial == toy.environment.initial
    for edge in made.problem.environment.components[0].edges:
        assert edge.chosen[-1].name == "next_free_input_1"
        assert edge.outcomes[0].updates[-1].target == Var("free_input_1")
    state = {"x1": Fraction(0), "x2": Fraction(0), "free_input_1": Fraction(1, 3)}
    assert is_initial(made.problem.environment, state)
    same = {"x1": Fraction(0), "x2": Fraction(1, 3)}
    for bound in range(-5, 13):
        condition = Var("output[0]") >= bound
        assert holds_in_state(made.problem, state, condition) == holds_in_state(toy, same, condition)


@pytest.mark.parametrize(
    ("term", "span"),
    [
        (N, (-2, 3)),
        (B, (0, 1)),
        (A[1], (0, 7)),
        ((N + 1) / 4, (Fraction(-1, 4), 1)),
        (N * X - 2, (-5, 1)),
        (Apply(Op.ABS, (N,)), (0, 3)),
        (ite(X < 0, N, 5), (-2, 5)),
        (Apply(Op.MIN, (N, X)), (-2, 1)),
        (Apply(Op.MAX, (N, X)), (-1, 3)),
        (X / (N + 3), (-1, 1)),
        (N % 2, (0, 1)),
    ],
)
def test_the_range_of_a_term(term: Term, span: tuple[int | Fraction, int | Fraction]) -> None:
    assert defined_span(term, KINDS) == Span(Fraction(span[0]), Fraction(span[1]))


@pytest.mark.parametrize("term", [X / N, A[N], A[2], Apply(Op.SQRT, (X,)), X % 2, Var("other")])
def test_terms_that_may_have_no_value(term: Term) -> None:
    assert defined_span(term, KINDS) is None


def test_a_term_without_limits() -> None:
    assert defined_span(U + 1, KINDS) == Span()


def watching(term: Term, arithmetic: Arithmetic = Arithmetic.EXACT) -> Problem:
    toy = below_thirteen()
    variables = (*toy.environment.variables, *(Variable(n, k) for n, k in KINDS.items()))
    where = replace(toy.environment, variables=variables, arithmetic=arithmetic)
    assert isinstance(toy.policy, NeuralPolicy)
    return replace(toy, environment=where, policy=replace(toy.policy, observe=(Var("x1"), term)))


def test_kinds_of_freed_inputs() -> None:
    assert freed_input_type(watching(N), 1, None) == Int(-2, 3)
    assert freed_input_type(watching(B), 1, None) == Int(0, 1)
    assert freed_input_type(watching(N / 2), 1, None) == Real(Fraction(-1), Fraction(3, 2))
    assert freed_input_type(watching(N), 1, Span(Fraction(-5), Fraction(5))) == Real(
        Fraction(-5), Fraction(5)
    )
    with pytest.raises(InvalidProblem, match="does not contain all"):
        freed_input_type(watching(N), 1, Span(Fraction(-1), Fraction(5)))
    with pytest.raises(Unsupported, match="range of the input `u` is not known"):
        freed_input_type(watching(U), 1, None)
    with pytest.raises(Unsupported, match="float64"):
        freed_input_type(watching(N / 3, Arithmetic.FLOAT64), 1, None)
    with pytest.raises(InvalidProblem, match="no input 2"):
        freed_input_type(watching(N), 2, None)


def test_a_freed_output_takes_the_place_of_what_the_network_says() -> None:
    rng = np.random.default_rng(0)
    network = dense_network(
        [(rng.normal(size=(4, 3)), rng.normal(size=4)), (rng.normal(size=(3, 4)), [0.0, 1, 2])]
    )
    free = with_free_outputs(network, (2, 0))
    assert (free.width, free.outputs) == (5, 3)
    points = rng.normal(size=(20, 5)).astype(np.float32)
    before, after = infer_outputs(network, points[:, :3]), infer_outputs(free, points)
    assert (after[:, 1] == before[:, 1]).all()
    assert (after[:, 2] == points[:, 3]).all()
    assert (after[:, 0] == points[:, 4]).all()


def test_the_range_of_an_output_contains_all_that_the_network_says() -> None:
    toy = below_thirteen()
    span = output_span(toy, 0)
    assert span.low is not None
    assert span.high is not None
    rng = np.random.default_rng(1)
    assert isinstance(toy.policy, NeuralPolicy)
    said = infer_outputs(toy.policy.network, rng.uniform(-1, 1, size=(500, 2)).astype(np.float32))
    assert span.low <= said.min()
    assert said.max() <= span.high
    made = abstract_network_io(toy, FreedValues(outputs=frozenset({0})))
    validate_problem(made.problem)
    assert made.words() == "2 of 2 inputs and 0 of 1 outputs"
    with pytest.raises(InvalidProblem, match="no output 1"):
        output_span(toy, 1)


def test_only_networks_are_abstracted() -> None:
    toy = below_thirteen()
    with pytest.raises(Unsupported, match="a policy that is a network"):
        abstract_network_io(replace(toy, policy=ProgramPolicy((Branch(TRUE, (Var("x1"),)),))), FreedValues())


def test_names_of_inputs() -> None:
    problem = safety_excellent(NETWORK)
    assert named_inputs("send_ratio", problem) == set(range(2, 30, 3))
    assert named_inputs("latency_*_9", problem) == {27, 28}
    assert named_inputs("input[4]", problem) == {4}
    kept = parse_abstraction_request("keep=send_ratio,latency_ratio_9,latency_gradient@-1:10", problem).freed
    assert kept is not None
    assert len(kept.inputs) == 19
    assert set(kept.ranges) == set(range(0, 30, 3))
    freed = parse_abstraction_request("free=latency_gradient_0@-1:10, output[0]@-1/2:3", problem).freed
    assert freed is not None
    assert freed.ranges == {0: Span(Fraction(-1), Fraction(10))}
    assert freed.output_ranges == {0: Span(Fraction(-1, 2), Fraction(3))}
    assert parse_abstraction_request("auto", problem).freed is None
    assert len(parse_abstraction_request("auto=send_ratio@0:1000", problem).ranges) == 10
    assert describe_inputs((0, 5, 8, 11, 29), problem) == "latency_gradient_0, send_ratio_1..3, send_ratio_9"
    assert describe_inputs((), problem) == "nothing"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("all", "does not say what"),
        ("keep=", "does not say what"),
        ("free=sent_ratio", "reads no `sent_ratio`"),
        ("free=input[30]", "no input"),
        ("keep=output[0]", "outputs are kept"),
        ("auto=output[0]@0:1", "outputs are kept"),
        ("auto=", "does not say what"),
        ("free=send_ratio@0", "not a range"),
        ("free=send_ratio@2:1", "is empty"),
    ],
)
def test_names_that_are_none(text: str, why: str) -> None:
    with pytest.raises(InvalidProblem, match=why):
        parse_abstraction_request(text, safety_excellent(NETWORK))


def test_names_that_are_taken_are_avoided() -> None:
    toy = below_thirteen()
    taken = Variable("free_input_0", Bool())
    where = replace(toy.environment, variables=(*toy.environment.variables, taken))
    made = abstract_network_io(
        Problem("toy", where, toy.policy, Never(Var("free_input_0"))), FreedValues(frozenset({0}))
    )
    validate_problem(made.problem)
    assert made.added == {"free_input_0_"}
    assert isinstance(toy.policy, NeuralPolicy)
    assert toy.policy.choose is Choose.VALUE
