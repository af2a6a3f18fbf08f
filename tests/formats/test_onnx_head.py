"""A softmax or argmax at the end of a file is left out, and never taken for the scores before it."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from onnx import NodeProto
from tests.formats.onnx_models import model, node, runtime, weights

from surefoot.errors import InvalidProblem
from surefoot.formats.normalization import Normalization, prepend_normalization
from surefoot.formats.onnx import read_onnx_bytes
from surefoot.formats.policy_file import load_policy
from surefoot.formats.vnnlib import parse_vnnlib, problem_from_vnnlib
from surefoot.problem.environment import Component, Edge, Environment, Variable
from surefoot.problem.meaning.decision import decide_in_state
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.term.term import TRUE, Var
from surefoot.term.value_types import Real

LAYER = {"W": weights(3, 2), "b": weights(3, seed=1)}
GEMM = node("Gemm", "x W b", "q", transB=1)
TAILS = {
    "softmax": [node("Softmax", "q")],
    "log-softmax": [node("LogSoftmax", "q")],
    "argmax": [node("ArgMax", "q", axis=1)],
    "softmax, argmax": [node("Softmax", "q", "p"), node("ArgMax", "p", axis=1)],
    "argmax, squeeze": [node("ArgMax", "q", "a", axis=1), node("Identity", "a")],
}
POINTS = np.random.default_rng(0).uniform(-2, 2, (20, 2)).astype(np.float32)
INPUTS = ("u", "v")
ACTIONS = ("a", "b", "c")
ENVIRONMENT = Environment(
    "plane",
    tuple(Variable(name, Real()) for name in INPUTS),
    TRUE,
    (Component("main", tuple(Edge("here", action) for action in ACTIONS), ("here",), ("here",)),),
)


def ending(tail: list[NodeProto]) -> bytes:
    return model([GEMM, *tail], (1, 2), LAYER)


def state(point: np.ndarray) -> dict[str, Fraction]:
    return {name: Fraction(float(value)) for name, value in zip(INPUTS, point, strict=True)}


def policy(data: bytes, choose: Choose) -> NeuralPolicy:
    return NeuralPolicy(read_onnx_bytes(data), tuple(Var(n) for n in INPUTS), ACTIONS, choose)


@pytest.mark.parametrize("name", TAILS)
def test_a_head_is_named_and_so_are_its_scores(name: str) -> None:
    data = ending(TAILS[name])
    network = read_onnx_bytes(data)
    head = "argmax" if "argmax" in name else "softmax"
    assert (network.head, network.scores) == (head, "q")
    same = read_onnx_bytes(data, output="y")
    assert (same.head, same.scores, same.digest()) == (head, "q", network.digest())
    assert head not in repr(network)


@pytest.mark.parametrize("name", TAILS)
def test_scores_that_are_named_are_the_output(name: str) -> None:
    data = ending(TAILS[name])
    network = read_onnx_bytes(data, output="q")
    assert (network.head, network.scores) == ("", "")
    assert network.digest() == read_onnx_bytes(data).digest()
    for point in POINTS:
        assert infer_outputs(network, point[None, :])[0] == pytest.approx(
            runtime(data, point, "q")[0], abs=1e-6
        )
        assert infer_outputs(network, point[None, :])[0] != pytest.approx(
            runtime(data, point).ravel(), abs=1e-3
        )


def test_a_softmax_in_the_middle_may_be_the_output() -> None:
    network = read_onnx_bytes(ending(TAILS["softmax, argmax"]), output="p")
    assert (network.head, network.scores) == ("softmax", "q")


def test_scores_that_are_the_input_have_no_name_to_ask_for() -> None:
    network = read_onnx_bytes(model([node("Softmax", "x")], (1, 2)))
    assert (network.head, network.scores) == ("softmax", "")


def test_a_network_without_head() -> None:
    network = read_onnx_bytes(model([node("Gemm", "x W b", transB=1)], (1, 2), LAYER))
    assert (network.head, network.scores) == ("", "")


def test_normalisation_keeps_the_head(tmp_path: Path) -> None:
    statistics = Normalization(np.zeros(2), np.ones(2), 1e-8, 10.0)
    network = prepend_normalization(read_onnx_bytes(ending(TAILS["argmax"])), statistics)
    assert (network.head, network.scores) == ("argmax", "q")
    path = tmp_path / "policy.onnx"
    path.write_bytes(ending(TAILS["argmax"]))
    assert load_policy(path).head == load_policy(path, normalization=statistics).head == "argmax"
    assert load_policy(path, output="q").head == "scores"
    path.write_bytes(ending(TAILS["softmax"]))
    assert load_policy(path).head == "scores"


@pytest.mark.parametrize("name", ["argmax", "softmax, argmax", "argmax, squeeze"])
def test_the_action_is_what_onnxruntime_picks(name: str) -> None:
    data = ending(TAILS[name])
    picked = set()
    for point in POINTS:
        made = decide_in_state(policy(data, Choose.ARGMAX), ENVIRONMENT, state(point))
        assert list(made.actions) == [ACTIONS[int(runtime(data, point).item())]]
        picked.update(made.actions)
    assert len(picked) > 1


def test_the_probabilities_are_those_of_onnxruntime() -> None:
    data = ending(TAILS["softmax"])
    for point in POINTS:
        made = decide_in_state(policy(data, Choose.SAMPLE), ENVIRONMENT, state(point))
        assert list(made.actions.values()) == pytest.approx(runtime(data, point)[0], abs=1e-6)


SPECIFICATION = parse_vnnlib(
    "".join(f"(declare-const {n} Real)" for n in ("X_0", "X_1", "Y_0", "Y_1", "Y_2"))
    + "".join(f"(assert (>= X_{i} -1))(assert (<= X_{i} 1))" for i in range(2))
    + "(assert (<= Y_0 -0.1))"
)


@pytest.mark.parametrize("name", TAILS)
@pytest.mark.parametrize("output", [None, "y"])
def test_a_specification_is_not_asked_of_the_scores(name: str, output: str | None) -> None:
    network = read_onnx_bytes(ending(TAILS[name]), output=output)
    ends = "an argmax" if "argmax" in name else "a softmax"
    message = (
        f"the network ends in {ends}, which is not read as part of it; "
        "fix: ask about its scores with --output q"
    )
    with pytest.raises(InvalidProblem, match=f"^{re.escape(message)}$"):
        problem_from_vnnlib(network, SPECIFICATION, "spec")
    problem_from_vnnlib(read_onnx_bytes(ending(TAILS[name]), output="q"), SPECIFICATION, "spec")
