"""What a policy decides in a state: ties, stalls, sampling, programs, shields, controls."""

from fractions import Fraction
from math import exp

import pytest
from tests.problem.test_semantics import N, X, add, asked, constant_outputs, counter

from surefoot.problem.environment import Component, Control, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.meaning.decision import decide_in_state, pick_network_action
from surefoot.problem.network import Activation, Affine, Network, Shape, dense_network, freeze_float32
from surefoot.problem.policy import (
    Branch,
    Choose,
    NeuralPolicy,
    OraclePolicy,
    ProgramPolicy,
    ShieldedPolicy,
)
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import (
    enumerate_successors,
    holds_in_state,
    may_end,
    permitted_transitions,
    policy_decision,
)
from surefoot.term.evaluate import Undefined
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_name, network_output_name
from surefoot.term.term import FALSE, TRUE, Const, Var, equal
from surefoot.term.value_types import Arithmetic, Real


def labels(problem: Problem, state: dict[str, object]) -> list[str | None]:
    return [t.label for t in permitted_transitions(problem, state)]


# Choosing


def test_a_tie_goes_to_the_lowest_output() -> None:
    environment = counter(add(1, action="a"), add(2, action="b"), add(3, action="c"))
    assert labels(asked(environment, constant_outputs(1, 2, 2)), {"n": 0}) == ["b"]
    assert labels(asked(environment, constant_outputs(2, 2, 2)), {"n": 0}) == ["a"]


def test_argmax_compares_float32_outputs() -> None:
    """Two real outputs that float32 cannot tell apart are a tie."""
    environment = counter(add(1, action="a"), add(2, action="b"))
    assert labels(asked(environment, constant_outputs(1, 1 + 2**-30)), {"n": 0}) == ["a"]
    assert labels(asked(environment, constant_outputs(1, 1 + 2**-23)), {"n": 0}) == ["b"]


def test_an_observation_is_rounded_once_to_float32() -> None:
    environment = Environment(
        "x", (Variable("x", Real()),), TRUE, (Component("c", (Edge(),)),), (Control("u"),)
    )
    policy = NeuralPolicy(dense_network([([[1]], [0])]), (X / 3,), choose=Choose.VALUE)
    made = decide_in_state(policy, environment, {"x": Fraction(1)})
    assert made.outputs == (float(freeze_float32(1 / 3)),)
    assert made.controls["u"] == Fraction(float(freeze_float32(1 / 3)))


def test_an_inapplicable_choice_stalls() -> None:
    environment = counter(add(1, FALSE, "a"), add(2, action="b"))
    problem = asked(environment, constant_outputs(2, 1))
    assert labels(problem, {"n": 0}) == []
    assert holds_in_state(problem, {"n": 0}, Var(STALLED))
    assert not holds_in_state(problem, {"n": 0}, Var(DEADLOCKED))
    assert holds_in_state(problem, {"n": 0}, Var(chosen_name("a")))


def test_the_environment_goes_on_where_the_policy_stalls() -> None:
    environment = counter(add(1, FALSE, "a"), add(2, action="b"), add(3))
    problem = asked(environment, constant_outputs(2, 1))
    assert labels(problem, {"n": 0}) == [None]
    assert holds_in_state(problem, {"n": 0}, Var(STALLED))


def test_the_best_applicable_action() -> None:
    environment = counter(add(1, FALSE, "a"), add(2, action="b"), add(3, action="c"))
    problem = asked(environment, constant_outputs(9, 1, 1, choose=Choose.ARGMAX_APPLICABLE))
    assert labels(problem, {"n": 0}) == ["b"]
    assert not holds_in_state(problem, {"n": 0}, Var(STALLED))


def test_where_no_own_action_is_enabled_the_policy_is_not_asked() -> None:
    environment = counter(add(1, N > 0, "a"), add(2))
    for choose in (Choose.ARGMAX, Choose.ARGMAX_APPLICABLE, Choose.SAMPLE):
        problem = asked(environment, constant_outputs(1, choose=choose))
        assert not policy_decision(problem, {"n": 0}).actions  # type: ignore[union-attr]
        assert not holds_in_state(problem, {"n": 0}, Var(STALLED))
        assert not holds_in_state(problem, {"n": 0}, Var(chosen_name("a")))
        assert labels(problem, {"n": 0}) == [None]


def test_without_any_enabled_transition_there_is_a_deadlock() -> None:
    problem = asked(counter(add(1, N < 1, "a")), constant_outputs(1))
    assert not holds_in_state(problem, {"n": 0}, Var(DEADLOCKED))
    assert holds_in_state(problem, {"n": 1}, Var(DEADLOCKED))
    assert not holds_in_state(problem, {"n": 1}, Var(STALLED))
    assert list(enumerate_successors(problem, {"n": 1})) == []


def test_sampling_gives_softmax_probabilities_and_keeps_all_actions() -> None:
    environment = counter(add(1, action="a"), add(2, action="b"), add(3, FALSE, "c"))
    problem = asked(environment, constant_outputs(0, 1, 2, choose=Choose.SAMPLE))
    made = policy_decision(problem, {"n": 0})
    assert made is not None
    total = 1 + exp(1) + exp(2)
    assert made.actions == pytest.approx({"a": 1 / total, "b": exp(1) / total, "c": exp(2) / total})
    assert made.stalls  # the draw may be `c`, which is not enabled
    assert labels(problem, {"n": 0}) == ["a", "b"]


def test_a_draw_that_is_not_enabled_may_end_a_run() -> None:
    """Unless the environment has a step of its own, or the rule of a program decides."""
    up, never = add(1, N < 3, "a"), add(1, FALSE, "b")
    drawing = constant_outputs(0, 0, choose=Choose.SAMPLE)
    alone, beside = asked(counter(up, never), drawing), asked(counter(up, never, add(2)), drawing)
    assert may_end(alone, {"n": 0})
    assert labels(alone, {"n": 0}) == ["a"]
    assert not may_end(beside, {"n": 0})
    ruled = asked(counter(up, never), ProgramPolicy((Branch(N > 0, "a"), Branch(TRUE, drawing))))
    assert may_end(ruled, {"n": 0})
    assert not may_end(ruled, {"n": 1})
    shielded = asked(counter(up, never), ShieldedPolicy(drawing, N > 1, ProgramPolicy((Branch(TRUE, "a"),))))
    assert not may_end(shielded, {"n": 1})
    assert may_end(shielded, {"n": 2})
    assert may_end(shielded, {"n": 3})  # nothing is enabled


def test_outputs_of_one_action_share_its_probability() -> None:
    made = pick_network_action(Choose.SAMPLE, ("a", "a", "b"), (0.0, 0.0, 0.0), {"a", "b"})
    assert made.actions == pytest.approx({"a": 2 / 3, "b": 1 / 3})


def test_softmax_of_large_outputs_does_not_overflow() -> None:
    environment = counter(add(1, action="a"), add(2, action="b"))
    made = decide_in_state(constant_outputs(5000, 5000, choose=Choose.SAMPLE), environment, {"n": 0})
    assert made.actions == {"a": 0.5, "b": 0.5}


def test_an_output_that_is_not_finite_has_no_meaning() -> None:
    huge = Affine(0, freeze_float32([[3e38]]), freeze_float32([3e38]))
    environment = counter(add(1, action="a"))
    policy = NeuralPolicy(Network(1, (huge,)), (N,), ("a",))
    with pytest.raises(Undefined, match="not finite"):
        decide_in_state(policy, environment, {"n": 1})


def test_not_a_number_inside_a_smooth_network_has_no_meaning() -> None:
    """inf - inf before a tanh: refused like every other output that is not finite."""
    rows = Affine(0, freeze_float32([[3e38], [-3e38]]), freeze_float32([3e38, -3e38]))
    network = Network(
        1, (rows, Affine(1, freeze_float32([[1, 1]]), freeze_float32([0])), Activation(2, Shape.TANH))
    )
    with pytest.raises(Undefined, match="not finite"):
        decide_in_state(NeuralPolicy(network, (N,), ("a",)), counter(add(1, action="a")), {"n": 1})


def test_programs_take_the_first_branch_that_applies() -> None:
    environment = counter(add(1, action="a"), add(2, action="b"))
    program = ProgramPolicy(
        (Branch(N > 0, "a"), Branch(N > 1, "b"), Branch(equal(N, 0), constant_outputs(1, 2)))
    )
    problem = asked(environment, program)
    assert labels(problem, {"n": 2}) == ["a"]
    assert labels(problem, {"n": 0}) == ["b"]  # decided by the network
    assert holds_in_state(problem, {"n": 0}, Var(network_output_name(1)) > 1)
    nothing = asked(environment, ProgramPolicy((Branch(N > 3, "a"),), ("b",)))
    assert labels(nothing, {"n": 0}) == []
    assert holds_in_state(nothing, {"n": 0}, Var(STALLED))


def test_a_shield_asks_the_fallback_only_where_it_must() -> None:
    environment = counter(add(1, action="a"), add(2, action="b"))
    shield = ShieldedPolicy(
        constant_outputs(2, 1), ~Var(chosen_name("a")) | (N < 1), ProgramPolicy((Branch(TRUE, "b"),))
    )
    below, above = (decide_in_state(shield, environment, {"n": n}) for n in (0, 1))
    assert (dict(below.actions), below.intervened) == ({"a": 1.0}, False)
    assert (dict(above.actions), above.intervened) == ({"b": 1.0}, True)
    assert above.outputs == (2.0, 1.0)  # of the network that was overruled


def test_an_oracle_decides_like_any_policy() -> None:
    environment = counter(add(1, action="a"), add(2, action="b"))
    oracle = OraclePolicy("late", lambda state: "b" if state["n"] else "a", ("a", "b"))
    assert [labels(asked(environment, oracle), {"n": n}) for n in (0, 1)] == [["a"], ["b"]]


# Controls and arithmetic


def plant(arithmetic: Arithmetic, **control: object) -> Environment:
    edge = Edge(outcomes=(Outcome(updates=(Update(X, X + Var("u") / 10),)),))
    bounds = {"low": Fraction(-1), "high": Fraction(1), **control}
    return Environment(
        "plant",
        (Variable("x", Real()),),
        TRUE,
        (Component("c", (edge,)),),
        (Control("u", **bounds),),  # type: ignore[arg-type]
        arithmetic=arithmetic,
    )


@pytest.mark.parametrize("arithmetic", list(Arithmetic))
@pytest.mark.parametrize(("wanted", "applied"), [(5, 1), (-5, -1), (Fraction(1, 2), Fraction(1, 2))])
def test_controls_are_clipped(wanted: Fraction, applied: Fraction, arithmetic: Arithmetic) -> None:
    policy = ProgramPolicy((Branch(TRUE, (Const(wanted),)),))
    assert decide_in_state(policy, plant(arithmetic), {"x": 0}).controls == {"u": applied}


def test_an_unclipped_control_keeps_its_value() -> None:
    policy = ProgramPolicy((Branch(TRUE, (Const(5),)),))
    assert decide_in_state(policy, plant(Arithmetic.EXACT, clipped=False), {"x": 0}).controls == {"u": 5}


def test_float64_and_exact_plants_differ_as_they_should() -> None:
    policy = ProgramPolicy((Branch(TRUE, (Const(1),)),))
    results = {}
    for arithmetic in Arithmetic:
        problem, state = asked(plant(arithmetic), policy), {"x": 0 if arithmetic is Arithmetic.EXACT else 0.0}
        for _ in range(3):
            (successor,) = enumerate_successors(problem, state)
            state = dict(successor.state)
        results[arithmetic] = state["x"]
    assert results[Arithmetic.EXACT] == Fraction(3, 10)
    assert results[Arithmetic.FLOAT64] == 0.1 + 0.1 + 0.1 != 0.3


def test_guards_may_mention_controls() -> None:
    edges = (Edge(guard=Var("u") > 0), Edge(guard=Var("u") <= 0, action="back"))
    environment = Environment("g", (Variable("x", Real()),), TRUE, (Component("c", edges),), (Control("u"),))
    problem = asked(environment, ProgramPolicy((Branch(TRUE, (X,)),)))
    assert labels(problem, {"x": 1}) == [None]
    assert labels(problem, {"x": -1}) == ["back"]
    assert holds_in_state(problem, {"x": -1}, Var("u") < 0)
