"""LSTM, GRU and RNN nodes over one step and over windows, with and without what they may leave out."""

from typing import Any

import numpy as np
from onnx import TensorProto, helper, numpy_helper
from tests.formats.onnx_models import model, node, weights

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
READS, STATES = 3, 2


def constants(op: str, *, bias: bool = True, first: bool = False) -> dict[str, Any]:
    rows = GATES[op] * STATES
    found = {"W": weights(1, rows, READS, seed=2), "R": weights(1, rows, STATES, seed=3)}
    if bias:
        found["B"] = weights(1, 2 * rows, seed=4)
    if first:
        found["h"] = weights(1, 1, STATES, seed=5)
    return found


def recurrent_case(
    op: str, inputs: str, steps: int = 1, *, bias: bool = True, first: bool = False, **more: Any
) -> bytes:
    opset = more.pop("opset", 17)
    nodes = [node(op, inputs, "s y", hidden_size=STATES, **more)]
    return model(nodes, (steps, 1, READS), constants(op, bias=bias, first=first), opset=opset)


RECURRENT_CASES = {
    "LSTM": recurrent_case("LSTM", "x W R B"),
    "LSTM no bias": recurrent_case("LSTM", "x W R", bias=False),
    "LSTM window": recurrent_case("LSTM", "x W R B", 5),
    "LSTM first state": recurrent_case("LSTM", "x W R B - h", 2, first=True),
    "LSTM opset 7": recurrent_case("LSTM", "x W R B", 2, opset=7),
    "LSTM named activations": recurrent_case("LSTM", "x W R B", activations=["Sigmoid", "Tanh", "Tanh"]),
    "GRU": recurrent_case("GRU", "x W R B", linear_before_reset=1),
    "GRU reset before": recurrent_case("GRU", "x W R B", 3),
    "GRU no bias": recurrent_case("GRU", "x W R", 3, bias=False, linear_before_reset=1),
    "GRU first state": recurrent_case("GRU", "x W R B - h", 2, first=True, linear_before_reset=1),
    "GRU first state, reset before": recurrent_case("GRU", "x W R B - h", first=True),
    "GRU opset 21": recurrent_case("GRU", "x W R B", 3, opset=21, linear_before_reset=1),
    "RNN": recurrent_case("RNN", "x W R B"),
    "RNN window": recurrent_case("RNN", "x W R B", 4),
    "RNN ReLU": recurrent_case("RNN", "x W R B", 4, activations=["Relu"]),
}


def stateful_model(op: str, *, order: str = "h c", steps: int = 1, **more: Any) -> bytes:
    """Inputs `x`, `h` (and `c`), outputs `y`, `hn` (and `cn`); `order`: in which they are listed."""
    states = [s for s in order.split() if op == "LSTM" or s == "h"]
    inputs = "x W R B - h" + (" c" if op == "LSTM" else "")
    outputs = "s hn" + (" cn" if op == "LSTM" else "")
    nodes = [
        node(op, inputs, outputs, hidden_size=STATES, **more),
        node("Squeeze", "hn a", "q"),
        node("Gemm", "q V", "y"),
    ]
    tensors = {**constants(op), "V": weights(STATES, 2, seed=6), "a": np.array([0], np.int64)}
    shape = (1, 1, STATES)
    graph = helper.make_graph(
        nodes,
        "stateful",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, (steps, 1, READS)),
            *(helper.make_tensor_value_info(s, TensorProto.FLOAT, shape) for s in states),
        ],
        [
            helper.make_tensor_value_info("y", TensorProto.FLOAT, None),
            *(helper.make_tensor_value_info(f"{s}n", TensorProto.FLOAT, None) for s in states),
        ],
        [numpy_helper.from_array(value, name) for name, value in tensors.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(made.SerializeToString())
