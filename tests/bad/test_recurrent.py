"""What files of recurrent policies, and problems with them, must not say: one line each, exit code 2."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from tests.formats.handmade import actor_critic, saved_model, torch_file
from tests.formats.onnx_recurrent_cases import READS, STATES, recurrent_case, stateful_model

from surefoot.cli import run_command_line

RECURRENT_CLASS = "sb3_contrib.common.recurrent.policies"


def lstm_weights(rows: int = 4 * STATES, size: int = STATES, name: str = "m", **more: Any) -> dict[str, Any]:
    found = {
        f"{name}.weight_ih_l0": np.ones((rows, READS), np.float32),
        f"{name}.weight_hh_l0": np.ones((rows, size), np.float32),
        "h.weight": np.ones((2, size), np.float32),
        "h.bias": np.ones(2, np.float32),
    }
    return {key: value for key, value in (found | more).items() if value is not None}


def changed_node(op: str = "LSTM", **attributes: Any) -> bytes:
    made = ModelProto.FromString(recurrent_case(op, "x W R B"))
    own = made.graph.node[0]
    kept = [a for a in own.attribute if a.name not in attributes]
    del own.attribute[:]
    own.attribute.extend([*kept, *(helper.make_attribute(k, v) for k, v in attributes.items())])
    return bytes(made.SerializeToString())


def changed_graph(change: Callable[[Any], None], op: str = "LSTM") -> bytes:
    made = ModelProto.FromString(stateful_model(op))
    change(made.graph)
    return bytes(made.SerializeToString())


def read_batch(graph: Any) -> None:
    graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 2, READS)))


def read_other_width(graph: Any) -> None:
    graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, 1, READS + 1)))


def read_flat(graph: Any) -> None:
    graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, (1, READS)))


def whole_state(graph: Any) -> None:
    graph.input[1].type.tensor_type.elem_type = TensorProto.INT64


def wide_state(graph: Any) -> None:
    graph.input[1].CopyFrom(helper.make_tensor_value_info("h", TensorProto.FLOAT, (1, 1, STATES + 1)))


def return_no_state(graph: Any) -> None:
    del graph.output[1:]


# A file, what stands in the wiring beside it, and a part of the line.
FILES: dict[str, tuple[str, bytes, str, str]] = {
    "looks back": ("onnx", changed_node(direction="reverse"), "", "LSTM that looks back (reverse)"),
    "both ways": ("onnx", changed_node("GRU", direction="bidirectional"), "", "GRU that looks back"),
    "clip": ("onnx", changed_node(clip=2.0), "", "attribute `clip` of LSTM is not supported"),
    "coupled": ("onnx", changed_node(input_forget=1), "", "LSTM with input_forget = 1"),
    "batch first": ("onnx", changed_node("RNN", layout=1), "", "RNN with layout = 1"),
    "activations": ("onnx", changed_node("GRU", activations=["Relu", "Tanh"]), "", "activations Relu, Tanh"),
    "hidden size": ("onnx", changed_node(hidden_size=7), "", "LSTM does not fit its inputs"),
    "a batch": ("onnx", changed_graph(read_batch), "", "LSTM of a batch of 2; fix: export with batch size 1"),
    "another width": ("onnx", changed_graph(read_other_width), "", "LSTM does not fit its inputs"),
    "no sequence": ("onnx", changed_graph(read_flat), "", "LSTM does not fit its inputs"),
    "state of whole numbers": ("onnx", changed_graph(whole_state), "", "a state that is not float32"),
    "wide state": ("onnx", changed_graph(wide_state), "", "LSTM does not fit its inputs"),
    "no state returned": ("onnx", changed_graph(return_no_state), "", "there are 3 inputs: `x`, `h`, `c`"),
    "unknown input": ("onnx", stateful_model("GRU"), 'memory = { k = "hn" }', "there is no input `k`"),
    "unknown output": ("onnx", stateful_model("GRU"), 'memory = { h = "h2" }', "there is no output `h2`"),
    "twice": ("onnx", stateful_model("LSTM"), 'memory = { h = "hn", c = "hn" }', "one output becomes two"),
    "sizes": ("onnx", stateful_model("GRU"), 'memory = { x = "hn" }', "`hn` and `x` have 2 and 3 values"),
    "memory is a list": ("onnx", stateful_model("GRU"), 'memory = ["h"]', "memory"),
    "memory of a number": ("onnx", stateful_model("GRU"), "memory = { h = 1 }", "memory"),
    "no such layer": (
        "pt",
        torch_file(lstm_weights()),
        'layers = ["lstm n", "linear h"]',
        "there is no recurrent layer `n`; fix: known names: `m`",
    ),
    "no lstm": ("pt", torch_file(lstm_weights()), 'layers = ["gru m", "linear h"]', "`m` is no gru: 8 rows"),
    "lstm of rnn": (
        "pt",
        torch_file(lstm_weights(STATES)),
        'layers = ["lstm m", "linear h"]',
        "`m` is no lstm: 2 rows of 2 values; fix: say rnn",
    ),
    "backward weights": (
        "pt",
        torch_file(lstm_weights() | {"m.weight_ih_l0_reverse": np.ones((8, 3), np.float32)}),
        'layers = ["lstm m", "linear h"]',
        "`m` looks back; fix: use a plain forward layer",
    ),
    "projection": (
        "pt",
        torch_file(lstm_weights() | {"m.weight_hr_l0": np.ones((2, 2), np.float32)}),
        'layers = ["lstm m", "linear h"]',
        "`m` has a projection",
    ),
    "bias": (
        "pt",
        torch_file(lstm_weights() | {"m.bias_ih_l0": np.ones(3, np.float32)}),
        'layers = ["lstm m", "linear h"]',
        "a bias of `m` does not fit",
    ),
    "no recurrent weights": (
        "pt",
        torch_file({k: v for k, v in lstm_weights().items() if "weight_hh" not in k}),
        'layers = ["lstm m", "linear h"]',
        "`m` has not the weights of a recurrent layer",
    ),
    "layers twice": (
        "pt",
        torch_file(lstm_weights()),
        'layers = ["lstm m", "lstm m", "linear h"]',
        "a recurrent layer has 3 inputs, but it reads 2 numbers",
    ),
    "rnn of what": (
        "pt",
        torch_file(lstm_weights(STATES)),
        'layers = ["rnn m elu", "linear h"]',
        "`rnn` with `elu`; fix: say tanh or relu",
    ),
    "RecurrentPPO of other weights": (
        "zip",
        saved_model(
            actor_critic() | {"lstm_actor.weight_ih_l0": np.ones((4, 2), np.float32)}, module=RECURRENT_CLASS
        ),
        "",
        "`lstm_actor` has not the weights of a recurrent layer",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    end, data, wiring, said = FILES[name]
    path = tmp_path / f"policy.{end}"
    path.write_bytes(data)
    if wiring:
        (tmp_path / "policy.wiring.toml").write_text(wiring + "\n")
    assert run_command_line(["inspect", str(path)]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.startswith(f"error: {tmp_path}/policy.")
    assert said in shown.err
    assert shown.err.count("\n") == 1


PROBLEM = """
initial = "x = 0"
[variables]
x = "real [-9, 9]"
[[edges]]
action = "left"
updates = { x = "x - 1" }
[[edges]]
action = "right"
updates = { x = "x + 1" }
"""
WIRED = '[policy]\nfile = "policy.onnx"\nobserve = ["x", "x", "x"]\nactions = ["left", "right"]\n'
PROBLEMS: dict[str, tuple[str, str, str]] = {
    "too many observed": (WIRED.replace('"x", "x", "x"', '"x", "x", "x", "0"'), "never x > 5", "3 inputs"),
    "too many actions": (WIRED.replace('"right"]', '"right", "up"]'), "never x > 5", "no action `up`"),
    "drawn": (WIRED + 'choose = "sample"\n', "never x > 5", "a policy with memory that draws its actions"),
    "inside a program": (
        '[policy.program]\nbranches = [{ network = { file = "policy.onnx", observe = ["x", "x", "x"], '
        'actions = ["left", "right"] } }]\n',
        "never x > 5",
        "a policy with memory is a part of another one",
    ),
    "output of the memory": (WIRED, "never output[2] > 5", "the policy has 2 outputs"),
    "memory in the property": (WIRED, "never memory_0 > 5", "memory_0"),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_is_refused(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy, asked, said = PROBLEMS[name]
    (tmp_path / "policy.onnx").write_bytes(stateful_model("LSTM"))
    path = tmp_path / "model.toml"
    path.write_text(f'{PROBLEM}{policy}[properties]\nasked = "{asked}"\n')
    assert run_command_line(["check", str(path), "--timeout", "20"]) == 2
    shown = capsys.readouterr()
    assert said in shown.err
    assert shown.err.count("\n") == 1
    assert shown.err.startswith("error: ")
