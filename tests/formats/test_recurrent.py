"""Recurrent layers of ONNX files: what they compute, which inputs are their state, what is refused."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto
from tests.formats.onnx_recurrent_cases import (
    READS,
    RECURRENT_CASES,
    STATES,
    recurrent_case,
    stateful_model,
)

from surefoot.errors import InvalidProblem, SurefootError, Unsupported
from surefoot.formats.normalization import Normalization, prepend_normalization
from surefoot.formats.onnx import read_onnx_bytes
from surefoot.formats.onnx.runtime_comparison import compare_with_onnxruntime
from surefoot.formats.policy_file import load_policy
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Remembered

UNIT, SUM, ANY = Remembered.UNIT, Remembered.SUM, Remembered.ANY


@pytest.mark.parametrize("name", RECURRENT_CASES)
def test_a_window_is_what_onnxruntime_computes(name: str) -> None:
    pytest.importorskip("onnxruntime")
    network = read_onnx_bytes(RECURRENT_CASES[name])
    assert network.memory == ()
    found = compare_with_onnxruntime(RECURRENT_CASES[name], network, samples=1000)
    assert found.unexplained == 0
    assert found.largest_difference < 1e-6


@pytest.mark.parametrize("order", ["h c", "c h"])
@pytest.mark.parametrize("op", ["LSTM", "GRU", "RNN"])
def test_states_are_found_in_the_graph(op: str, order: str) -> None:
    pytest.importorskip("onnxruntime")
    data = stateful_model(op, order=order)
    network = read_onnx_bytes(data)
    kinds = {"h": [UNIT] * STATES, "c": [SUM] * STATES}
    states = [s for s in order.split() if op == "LSTM" or s == "h"]
    assert network.memory == tuple(kind for state in states for kind in kinds[state])
    assert (network.observed, network.decided) == (READS, 2)
    found = compare_with_onnxruntime(data, network, samples=1000)
    assert found.unexplained == 0
    assert found.largest_difference < 1e-6


def test_runs_are_those_of_the_runtime() -> None:
    """Twenty decisions, each fed with what the one before returned."""
    runtime = pytest.importorskip("onnxruntime")
    data = stateful_model("LSTM")
    network = read_onnx_bytes(data)
    session = runtime.InferenceSession(data, providers=["CPUExecutionProvider"])
    draw = np.random.default_rng(3)
    ours = np.zeros(2 * STATES, np.float32)
    theirs = {name: np.zeros((1, 1, STATES), np.float32) for name in ("h", "c")}
    for _ in range(20):
        x = draw.normal(size=READS).astype(np.float32)
        found = infer_outputs(network, np.concatenate([x, ours])[None])[0]
        y, h, c = session.run(["y", "hn", "cn"], {"x": x.reshape(1, 1, READS), **theirs})
        assert np.allclose(found, np.concatenate([y.ravel(), h.ravel(), c.ravel()]), atol=1e-5)
        ours, theirs = found[2:], {"h": h, "c": c}


def test_a_state_may_be_told(tmp_path: Path) -> None:
    path = tmp_path / "policy.onnx"
    path.write_bytes(stateful_model("LSTM"))
    (tmp_path / "policy.wiring.toml").write_text('memory = { c = "cn", h = "hn" }\n')
    assert load_policy(path).network.memory == (UNIT, UNIT, SUM, SUM)
    crossed = load_policy(path, memory={"h": "cn", "c": "hn"}).network
    assert crossed.memory == (ANY,) * 4  # another network: nothing is known of how large its values are
    assert crossed.digest() != load_policy(path).network.digest()


def test_a_state_that_nobody_returns_is_an_input_too_many(tmp_path: Path) -> None:
    made = ModelProto.FromString(stateful_model("GRU"))
    del made.graph.output[1:]
    with pytest.raises(Unsupported, match="there are 2 inputs: `x`, `h`; fix: join them into one"):
        read_onnx_bytes(made.SerializeToString())
    made = ModelProto.FromString(stateful_model("LSTM"))
    del made.graph.output[2:]
    with pytest.raises(Unsupported, match="there are 2 inputs: `x`, `c`"):
        read_onnx_bytes(made.SerializeToString())


def test_statistics_are_of_observations_only() -> None:
    network = read_onnx_bytes(stateful_model("LSTM"))
    statistics = Normalization(np.array([1.0, -2.0, 0.5]), np.array([4.0, 1.0, 9.0]), 0.0, 10.0)
    behind = prepend_normalization(network, statistics)
    assert behind.memory == network.memory
    rows = np.random.default_rng(4).uniform(-1, 1, (100, READS + 2 * STATES)).astype(np.float32)
    plain = rows.copy()
    plain[:, :READS] = (rows[:, :READS] - np.float32([1, -2, 0.5])) / np.float32([2, 1, 3])
    assert np.allclose(infer_outputs(behind, rows), infer_outputs(network, plain), atol=1e-6)


REFUSED: dict[str, tuple[Any, str]] = {
    "reverse": ({"direction": "reverse"}, "LSTM that looks back (reverse)"),
    "clip": ({"clip": 1.0}, "attribute `clip` of LSTM is not supported"),
    "layout": ({"layout": 1}, "LSTM with layout = 1"),
    "coupled": ({"input_forget": 1}, "LSTM with input_forget = 1"),
    "activations": (
        {"activations": ["Sigmoid", "Relu", "Tanh"]},
        "LSTM with activations Sigmoid, Relu, Tanh",
    ),
    "size": ({"hidden_size": 3}, "LSTM does not fit its inputs"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    more, said = REFUSED[name]
    made = ModelProto.FromString(recurrent_case("LSTM", "x W R B"))
    from onnx import helper

    own = made.graph.node[0]
    for key, value in more.items():
        kept = [a for a in own.attribute if a.name != key]
        del own.attribute[:]
        own.attribute.extend([*kept, helper.make_attribute(key, value)])
    with pytest.raises(SurefootError) as caught:
        read_onnx_bytes(made.SerializeToString())
    assert said in str(caught.value)
    assert "; fix: " in str(caught.value)


@pytest.mark.parametrize(
    ("memory", "said"),
    [
        ({"k": "hn"}, "there is no input `k`"),
        ({"h": "hx"}, "there is no output `hx`"),
        ({"h": "hn", "c": "hn"}, "one output becomes two inputs"),
        ({"x": "y", "h": "hn", "c": "cn"}, "every output is a state"),
    ],
)
def test_a_memory_that_does_not_fit(memory: dict[str, str], said: str) -> None:
    with pytest.raises(SurefootError) as caught:
        read_onnx_bytes(stateful_model("LSTM"), memory=memory)
    assert said in str(caught.value)


def test_a_memory_of_another_size() -> None:
    made = ModelProto.FromString(stateful_model("GRU", steps=2))
    made.graph.output[1].name = "s"  # what every step leaves
    with pytest.raises(InvalidProblem, match="`s` and `h` have 4 and 2 values"):
        read_onnx_bytes(made.SerializeToString(), output="y", memory={"h": "s"})
