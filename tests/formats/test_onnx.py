"""Every operation the reader knows, against onnxruntime on random inputs."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper
from tests.formats.onnx_cases import B3, CASES, POSITIVE, W34
from tests.formats.onnx_models import dense, model, node, proto, weights

from surefoot.errors import InvalidProblem, MissingBackend, Unsupported
from surefoot.formats.onnx import read_onnx_bytes, read_onnx_network
from surefoot.formats.onnx.operators import OPERATIONS
from surefoot.formats.onnx.runtime_comparison import compare_with_onnxruntime
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Network,
    Pairing,
    Pick,
    Shape,
    freeze_float32,
)

ORDER = ": same order but for near-ties in its rounding"


@pytest.mark.parametrize("name", CASES)
def test_operation_agrees_with_onnxruntime(name: str) -> None:
    network = read_onnx_bytes(CASES[name])
    result = compare_with_onnxruntime(CASES[name], network, samples=50, seed=1)
    assert result.unexplained == 0, result
    assert result.largest_difference < 1e-5, result
    assert result.argmax_differences == result.near_ties, result


def test_every_operation_has_a_case() -> None:
    used = {n.op_type for data in CASES.values() for n in _nodes(data)}
    assert not OPERATIONS.keys() - used


def _nodes(data: bytes) -> list[helper.NodeProto]:
    from onnx import ModelProto

    return list(ModelProto.FromString(data).graph.node)


def test_comparison_notices_a_wrong_weight() -> None:
    data = dense()
    right = read_onnx_bytes(data)
    layer = right.nodes[0]
    assert isinstance(layer, Affine)
    damaged = layer.weights.copy()
    damaged[1, 2] *= np.float32(1.0001)
    wrong = Network(4, (Affine(0, freeze_float32(damaged), layer.bias),))
    assert compare_with_onnxruntime(data, right, samples=100, seed=0).unexplained == 0
    assert compare_with_onnxruntime(data, wrong, samples=100, seed=0).unexplained > 50


def test_comparison_tells_near_ties_from_wrong_choices() -> None:
    rows = np.stack([W34[0], W34[0] * np.float32(1 + 2**-23)])
    data = model([node("MatMul", "x W")], (1, 4), {"W": rows.T.copy()})
    swapped = Network(4, (Affine(0, freeze_float32(rows[::-1]), freeze_float32([0, 0])),))
    tied = compare_with_onnxruntime(data, swapped, samples=100, seed=0)
    assert tied.argmax_differences == tied.near_ties > 0
    opposite = Network(4, (Affine(0, freeze_float32([-W34[0], W34[0]]), freeze_float32([0, 0])),))
    wrong = compare_with_onnxruntime(data, opposite, samples=100, seed=0)
    assert wrong.argmax_differences > wrong.near_ties


def test_a_bias_after_a_product_becomes_one_affine_node() -> None:
    network = read_onnx_bytes(CASES["Add bias first"])
    assert [type(n) for n in network.nodes] == [Affine]


def test_multiply_and_divide_keep_their_operation() -> None:
    data = model([node("Mul", "x c", "m"), node("Div", "m c")], (1, 4), {"c": POSITIVE})
    nodes = read_onnx_bytes(data).nodes
    kinds = [n.kind for n in nodes if isinstance(n, Elementwise)]
    assert kinds == [Constant.MULTIPLY, Constant.DIVIDE]


def test_division_by_a_variable_is_a_node() -> None:
    network = read_onnx_bytes(model([node("Neg", "x", "n"), node("Div", "x n")]))
    last = network.nodes[-1]
    assert isinstance(last, Combine)
    assert last.pairing is Pairing.DIVIDE
    assert infer_outputs(network, np.float32([[1, 2, 3, 4]])).tolist() == [[-1.0] * 4]


def test_comparison_notices_a_wrong_divisor() -> None:
    data = CASES["Div two"]
    right = read_onnx_bytes(data)
    *before, last = right.nodes
    assert isinstance(last, Combine)
    wrong = Network(4, (*before, Combine(last.right, last.left, Pairing.DIVIDE)))
    assert compare_with_onnxruntime(data, wrong, samples=100, seed=0).unexplained > 90


def test_comparison_takes_division_by_zero_as_it_comes() -> None:
    data = model([node("Relu", "x", "r"), node("Div", "x r")], (1, 4))
    result = compare_with_onnxruntime(data, read_onnx_bytes(data), samples=100, seed=0)
    assert result.unexplained == 0
    assert result.argmax_differences == result.near_ties


def test_movements_in_a_row_become_one_pick() -> None:
    steps = [
        node("Transpose", "x", "t", perm=[0, 2, 1]),
        node("Flatten", "t", "f"),
        node("Gather", "f i", "g", axis=1),
        node("Relu", "g"),
    ]
    network = read_onnx_bytes(model(steps, (1, 2, 3), {"i": [5, 0]}))
    assert [type(n) for n in network.nodes] == [Pick, Activation]
    assert infer_outputs(network, np.arange(1, 7, dtype=np.float32)[None]).tolist() == [[6.0, 1.0]]


def test_clip_at_zero_is_a_relu() -> None:
    (only,) = read_onnx_bytes(CASES["Clip low"]).nodes
    assert isinstance(only, Activation)
    assert only.shape is Shape.RELU


GEMM = node("Gemm", "x W b", "q", transB=1)
LAYER = {"W": W34, "b": B3}


@pytest.mark.parametrize(
    ("tail", "notes"),
    [
        ([node("ArgMax", "q", axis=-1)], ["argmax head dropped: outputs are the scores"]),
        (
            [node("ArgMax", "q", "i", axis=1, keepdims=0), node("Cast", "i", to=TensorProto.INT32)],
            ["argmax head dropped: outputs are the scores"],
        ),
        (
            [node("Softmax", "q", "p", axis=1), node("ArgMax", "p", axis=1)],
            [
                "argmax head dropped: outputs are the scores",
                "softmax before argmax dropped: same order but for near-ties in its rounding",
            ],
        ),
        (
            [
                node("ReduceLogSumExp", "q", "l", axes=[1]),
                node("Sub", "q l", "n"),
                node("LogSoftmax", "n", "p"),
                node("ArgMax", "p", axis=-1),
            ],
            [
                "argmax head dropped: outputs are the scores",
                "log-softmax before argmax dropped: same order but for near-ties in its rounding",
                f"subtraction of log-sum-exp before argmax dropped{ORDER}",
            ],
        ),
        (
            [
                node("Exp", "q", "e"),
                node("ReduceSum", "e one", "s"),
                node("Log", "s", "l"),
                node("Sub", "q l", "n"),
                node("ArgMax", "n", axis=1),
            ],
            [
                "argmax head dropped: outputs are the scores",
                f"subtraction of log-sum-exp before argmax dropped{ORDER}",
            ],
        ),
        ([node("Softmax", "q")], ["softmax head dropped: outputs are logits"]),
        ([node("LogSoftmax", "q")], ["log-softmax head dropped: outputs are logits"]),
    ],
)
def test_heads_are_left_out(tail: list[helper.NodeProto], notes: list[str]) -> None:
    data = model([GEMM, *tail], ("N", 4), {**LAYER, "one": [1]})
    network = read_onnx_bytes(data)
    assert list(network.notes) == notes
    assert network.digest() == read_onnx_bytes(dense()).digest()
    assert compare_with_onnxruntime(data, network, samples=20).unexplained == 0


def test_a_sum_along_another_axis_is_not_a_normaliser() -> None:
    """Here the subtraction leaves zeros: the choice is not that of the scores."""
    tail = [
        node("ReduceLogSumExp", "q", "l", axes=[0], name="sums"),
        node("Sub", "q l", "n"),
        node("ArgMax", "n", axis=1),
    ]
    with pytest.raises(Unsupported, match="node `sums`: axis 0 of shape"):
        read_onnx_bytes(model([GEMM, *tail], (1, 4), LAYER))


def test_a_missing_onnxruntime_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(MissingBackend, match=r"this needs onnxruntime; fix: pip install .surefoot\[ort\]"):
        compare_with_onnxruntime(dense(), read_onnx_bytes(dense()), samples=1)


def test_a_chosen_output_prunes_what_it_does_not_need() -> None:
    steps = [
        node("Gemm", "x W b", "q", transB=1),
        node("Shape", "x", "s"),
        node("Expand", "noise s", "e"),
        node("Exp", "e", "scale"),
        node("RandomNormalLike", "scale", "random"),
        node("Mul", "random scale", "sample"),
    ]
    data = model(steps, ("N", 4), {**LAYER, "noise": np.float32([np.nan])}, outputs="q sample")
    network = read_onnx_bytes(data, output="q")
    assert network.notes == ("pruned 5 nodes that do not reach output `q`",)
    assert compare_with_onnxruntime(data, network, samples=20, output="q").unexplained == 0
    with pytest.raises(InvalidProblem, match="did you mean `sample`"):
        read_onnx_bytes(data, output="sampel")


def test_an_output_may_be_any_tensor_of_the_graph() -> None:
    data = model([GEMM, node("Erf", "q")], (1, 4), LAYER)
    assert read_onnx_bytes(data, output="q").digest() == read_onnx_bytes(dense()).digest()


def test_the_input_may_be_the_output() -> None:
    assert read_onnx_bytes(model([node("Identity", "x")])).nodes == ()


def test_rows_that_are_mixed_are_one_input() -> None:
    data = model(
        [node("Reshape", "x s", "f"), node("MatMul", "f W")], (3, 4), {"s": [1, 12], "W": weights(12, 2)}
    )
    network = read_onnx_bytes(data)
    assert (network.width, network.outputs) == (12, 2)
    assert network.notes == (
        "input `x` of shape [3, 4] is read as one input, not as a batch of 3",
        "input `x` of shape [3, 4] is flattened row by row to 12 numbers",
    )
    assert compare_with_onnxruntime(data, network, samples=20).unexplained == 0


def test_weights_may_be_listed_as_inputs() -> None:
    listed = proto([GEMM], (1, 4), LAYER, outputs="q")
    for name, array in LAYER.items():
        listed.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, array.shape))
    listed.ir_version = 3
    data = listed.SerializeToString()
    network = read_onnx_bytes(data)
    assert network.width == 4
    assert compare_with_onnxruntime(data, network, samples=20).unexplained == 0


def test_files_may_be_packed(tmp_path: Path) -> None:
    (tmp_path / "net.onnx.gz").write_bytes(gzip.compress(dense()))
    network = read_onnx_network(tmp_path / "net.onnx.gz")
    assert network.name == "net"
    assert network.digest() == read_onnx_bytes(dense()).digest()


def test_a_sum_is_not_reordered() -> None:
    big = np.float32([[1e8, 1, -1e8]])
    network = read_onnx_bytes(model([node("MatMul", "x W")], (1, 3), {"W": big.T.copy()}))
    assert infer_outputs(network, np.float32([[1, 1, 1]])).tolist() == [[0.0]]


def test_a_tensor_may_not_be_expanded_without_limit() -> None:
    data = model([node("Expand", "x s", "e"), node("Add", "e e")], (1, 1), {"s": [2**20, 2**20]})
    with pytest.raises(Unsupported, match="more than 33554432 entries"):
        read_onnx_bytes(data)


def test_comparison_takes_equal_infinities_as_equal() -> None:
    data = model([node("MatMul", "x W")], (1, 4), {"W": np.full((4, 1), 3e38, np.float32)})
    result = compare_with_onnxruntime(data, read_onnx_bytes(data), samples=50)
    assert result.unexplained == 0
