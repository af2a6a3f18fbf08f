"""Every operation the reader knows, against onnxruntime on random inputs."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto, helper
from tests.formats.onnx_models import dense, model, node, proto, weights

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.onnx import read_onnx, read_onnx_bytes
from surefoot.formats.onnx.compare import compare_with_onnxruntime
from surefoot.formats.onnx.nodes import OPERATIONS
from surefoot.problem.inference import infer
from surefoot.problem.network import Activation, Affine, Constant, Elementwise, Network, Pick, Shape, frozen

W34, W43, B3 = weights(3, 4), weights(4, 3), weights(3, seed=1)
POSITIVE = np.abs(weights(4, seed=5)) + np.float32(0.5)

CASES = {
    "Gemm": model([node("Gemm", "x W b", transB=1)], (1, 4), {"W": W34, "b": B3}),
    "Gemm alpha beta": model([node("Gemm", "x W b", alpha=0.3, beta=1.7)], ("N", 4), {"W": W43, "b": B3}),
    "Gemm no bias": model([node("Gemm", "x W")], (1, 4), {"W": W43}),
    "Gemm beta 0": model([node("Gemm", "x W b", beta=0.0)], (1, 4), {"W": W43, "b": B3}),
    "Gemm scalar bias": model([node("Gemm", "x W b")], (1, 4), {"W": W43, "b": weights(1)}),
    "Gemm variable bias": model(
        [node("Relu", "x", "r"), node("Gemm", "x W r", beta=0.5)], (1, 4), {"W": weights(4, 4)}
    ),
    "Gemm constant left": model(
        [node("Transpose", "x", "t"), node("Gemm", "W t", "g"), node("Transpose", "g")], (1, 4), {"W": W34}
    ),
    "Gemm transB of variable": model(
        [node("Gemm", "W x", "g", transB=1), node("Flatten", "g", axis=0)], (1, 4), {"W": W34}
    ),
    "MatMul": model([node("MatMul", "x W")], ("N", 4), {"W": W43}),
    "MatMul rows": model([node("MatMul", "x W")], (1, 5, 4), {"W": W43}),
    "MatMul batched constant": model([node("MatMul", "x W")], (1, 2, 5, 4), {"W": weights(2, 4, 3)}),
    "MatMul broadcast variable": model([node("MatMul", "x W")], (1, 5, 4), {"W": weights(3, 4, 2)}),
    "MatMul vector constant": model([node("MatMul", "x v")], (1, 5, 4), {"v": weights(4)}),
    "MatMul constant left": model([node("MatMul", "W x")], (1, 4, 5), {"W": W34}),
    "MatMul constant left batched": model([node("MatMul", "W x")], (1, 2, 4, 5), {"W": weights(2, 3, 4)}),
    "MatMul column input": model([node("MatMul", "W x")], (4, 1), {"W": W34}),
    "MatMul vector left": model([node("MatMul", "v x")], (1, 4, 5), {"v": weights(4)}),
    "MatMul vector input": model([node("MatMul", "x W")], (4,), {"W": W43}),
    "MatMul vector input right": model([node("MatMul", "W x")], (4,), {"W": W34}),
    "MatMul turned rows": model(
        [node("Transpose", "x", "t", perm=[0, 2, 1]), node("MatMul", "t W")], (1, 4, 5), {"W": W43}
    ),
    "Add bias first": model([node("MatMul", "x W", "m"), node("Add", "b m")], (1, 4), {"W": W43, "b": B3}),
    "Add twice": model(
        [node("MatMul", "x W", "m"), node("Add", "m b", "a"), node("Add", "a b")], (1, 4), {"W": W43, "b": B3}
    ),
    "Add shared": model(
        [node("MatMul", "x W", "m"), node("Add", "m b", "a"), node("Mul", "a m")], (1, 4), {"W": W43, "b": B3}
    ),
    "Add broadcast up": model([node("Add", "x c")], (1, 1, 4), {"c": weights(3, 1)}),
    "Add two": model([node("Tanh", "x", "t"), node("Add", "x t")]),
    "Add two broadcast": model(
        [node("ReduceSum", "x a", "s", keepdims=1), node("Add", "x s")], (1, 4), {"a": [1]}
    ),
    "Sub constant": model([node("Sub", "x c")], (1, 4), {"c": weights(4)}),
    "Sub from constant": model([node("Sub", "c x")], (1, 4), {"c": weights(4)}),
    "Sub two": model([node("Relu", "x", "r"), node("Sub", "r x")]),
    "Mul constant": model([node("Mul", "c x")], (1, 4), {"c": np.float32(0.3)}),
    "Mul two": model([node("Tanh", "x", "t"), node("Mul", "t x")]),
    "Div": model([node("Div", "x c")], (1, 4), {"c": POSITIVE}),
    "Neg": model([node("Neg", "x")]),
    "Pow 1": model([node("Pow", "x e")], (1, 4), {"e": np.float32(1)}),
    "Pow 3": model([node("Pow", "x e")], (1, 4), {"e": np.float32(3)}),
    "Pow integer": model([node("Pow", "x e")], (1, 4), {"e": np.int64(2)}),
    "Relu": model([node("Relu", "x")]),
    "LeakyRelu": model([node("LeakyRelu", "x", alpha=0.2)]),
    "LeakyRelu default": model([node("LeakyRelu", "x")]),
    "Clip attributes": model([node("Clip", "x", min=-0.25, max=0.5)], opset=9),
    "Clip inputs": model([node("Clip", "x a b")], (1, 4), {"a": np.float32(-0.25), "b": np.float32(0.5)}),
    "Clip low": model([node("Clip", "x a")], (1, 4), {"a": np.float32(0)}),
    "Clip high": model([node("Clip", "x - b")], (1, 4), {"b": np.float32(0.5)}),
    "Tanh": model([node("Tanh", "x")]),
    "Sigmoid": model([node("Sigmoid", "x")]),
    "Max two": model([node("Neg", "x", "n"), node("Max", "x n")]),
    "Max several": model(
        [node("Neg", "x", "n"), node("Max", "c x n d")], (1, 4), {"c": weights(4), "d": np.float32(0.1)}
    ),
    "Min two": model([node("Neg", "x", "n"), node("Min", "x n")]),
    "Min constants": model([node("Min", "x c d")], (1, 4), {"c": weights(4), "d": np.float32(0.1)}),
    "Max of one": model([node("Max", "x")]),
    "ReduceSum attribute": model([node("ReduceSum", "x", axes=[1], keepdims=0)], (1, 3, 4), opset=11),
    "ReduceSum input": model([node("ReduceSum", "x a")], (1, 3, 4), {"a": [-1]}),
    "ReduceSum two axes": model([node("ReduceSum", "x a", keepdims=0)], (1, 3, 4, 2), {"a": [1, 3]}),
    "ReduceSum all": model([node("ReduceSum", "x")], (1, 3, 4)),
    "ReduceSum none": model([node("ReduceSum", "x", noop_with_empty_axes=1)], (1, 3)),
    "ReduceMean": model([node("ReduceMean", "x", axes=[2], keepdims=0)], (1, 3, 4)),
    "Split sizes": model(
        [node("Split", "x s", "a b", axis=1), node("Concat", "b a", axis=1)], (1, 5), {"s": [2, 3]}
    ),
    "Split attribute": model(
        [node("Split", "x", "a b", axis=1, split=[1, 4]), node("Concat", "b a", axis=1)], (1, 5), opset=12
    ),
    "Split equal": model([node("Split", "x", "a b", axis=-1), node("Sub", "a b")], (1, 6)),
    "Split uneven": model(
        [node("Split", "x", "a b", axis=1, num_outputs=2), node("Concat", "b a", axis=1)], (1, 5), opset=18
    ),
    "Cast": model([node("Cast", "x", to=TensorProto.FLOAT)]),
    "Cast constant": model(
        [node("Cast", "i", "c", to=TensorProto.FLOAT), node("Mul", "x c")], (1, 4), {"i": [1, 2, 3, 4]}
    ),
    "Flatten": model([node("Flatten", "x")], (1, 2, 3)),
    "Flatten axis 0": model([node("Flatten", "x", axis=0)], (1, 2, 3)),
    "Flatten negative": model([node("Flatten", "x", axis=-1)], (1, 2, 3)),
    "Reshape": model([node("Reshape", "x s")], ("N", 6), {"s": [0, 2, -1]}),
    "Squeeze": model([node("Squeeze", "x a")], (1, 1, 4), {"a": [1]}),
    "Squeeze attribute": model([node("Squeeze", "x", axes=[1])], (1, 1, 4), opset=11),
    "Squeeze all": model([node("Squeeze", "x")], (1, 1, 4)),
    "Unsqueeze": model([node("Unsqueeze", "x a")], (1, 4), {"a": [0, 3]}),
    "Unsqueeze attribute": model([node("Unsqueeze", "x", axes=[1])], (1, 4), opset=11),
    "Transpose": model([node("Transpose", "x", perm=[0, 2, 1])], (1, 2, 3)),
    "Transpose default": model([node("Transpose", "x")], (1, 2, 3)),
    "Concat": model([node("Neg", "x", "n"), node("Concat", "n x n", axis=1)]),
    "Concat inner axis": model([node("Neg", "x", "n"), node("Concat", "n x", axis=1)], (1, 2, 3)),
    "Concat constant": model([node("Concat", "x c", axis=-1)], (1, 4), {"c": weights(1, 2)}),
    "Slice": model([node("Slice", "x s e a")], (1, 7), {"s": [1], "e": [-1], "a": [1]}),
    "Slice attributes": model([node("Slice", "x", starts=[1], ends=[100], axes=[1])], (1, 7), opset=9),
    "Slice backwards": model(
        [node("Slice", "x s e a t")], (1, 7), {"s": [5], "e": [-(2**62)], "a": [-1], "t": [-2]}
    ),
    "Slice two axes": model([node("Slice", "x s e")], (1, 3, 4), {"s": [0, 1], "e": [1, 2]}),
    "Gather": model([node("Gather", "x i", axis=1)], (1, 6), {"i": [2, -1, 2]}),
    "Gather matrix": model([node("Gather", "x i", axis=1)], (1, 6), {"i": [[0, 1], [5, 4]]}),
    "Gather scalar": model([node("Gather", "x i", axis=2)], (1, 3, 4), {"i": np.int64(-1)}),
    "Identity": model([node("Identity", "x")]),
    "Dropout": model([node("Dropout", "x")]),
    "Expand": model([node("Expand", "x s")], (1, 1, 4), {"s": [3, 1]}),
    "BatchNormalization": model(
        [node("BatchNormalization", "x s b m v", epsilon=0.01)],
        (1, 4),
        {"s": weights(4), "b": weights(4, seed=1), "m": weights(4, seed=2), "v": POSITIVE},
    ),
    "BatchNormalization image": model(
        [node("BatchNormalization", "x s b m v")],
        (1, 4, 2, 3),
        {"s": weights(4), "b": weights(4, seed=1), "m": weights(4, seed=2), "v": POSITIVE},
    ),
    "Conv": model([node("Conv", "x k b")], (1, 2, 5, 6), {"k": weights(3, 2, 3, 2), "b": B3}),
    "Conv everything": model(
        [node("Conv", "x k", strides=[2, 1], pads=[1, 0, 2, 1], dilations=[1, 2], group=2)],
        (1, 4, 5, 6),
        {"k": weights(6, 2, 3, 2)},
    ),
    "Conv one axis": model([node("Conv", "x k", pads=[1, 1])], (1, 2, 7), {"k": weights(3, 2, 3)}),
    "Constant folded": model(
        [
            node("Constant", "", "c", value_floats=[1.0, 2.0, 3.0, 4.0]),
            node("Constant", "", "two", value_float=2.0),
            node("Div", "c two", "d"),
            node("MatMul", "d W", "m"),
            node("Relu", "m", "r"),
            node("Neg", "r", "n"),
            node("MatMul", "x W", "p"),
            node("Sub", "p n"),
        ],
        (1, 4),
        {"W": W43},
    ),
    "shape arithmetic": model(
        [
            node("Shape", "x", "s"),
            node("Constant", "", "one", value_int=1),
            node("Gather", "s one", "w"),
            node("Constant", "", "two", value_int=2),
            node("Div", "w two", "half"),
            node("Unsqueeze", "half zero", "h"),
            node("Concat", "zero h minus", "shape", axis=0),
            node("Reshape", "x shape"),
        ],
        (1, 8),
        {"zero": [0], "minus": [-1]},
    ),
    "expand as exported": model(
        [
            node(
                "ConstantOfShape", "rank", "ones", value=helper.make_tensor("v", TensorProto.INT64, [1], [1])
            ),
            node("Mul", "ones minus", "m"),
            node("Equal", "wanted m", "free"),
            node("Where", "free ones wanted", "shape"),
            node("Expand", "x shape"),
        ],
        (1, 1, 4),
        {"rank": [3], "minus": np.int64(-1), "wanted": [-1, 3, -1]},
    ),
    "zeros added": model(
        [node("Shape", "x", "s"), node("ConstantOfShape", "s", "z"), node("Add", "x z")], (1, 4)
    ),
}


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
    wrong = Network(4, (Affine(0, frozen(damaged), layer.bias),))
    assert compare_with_onnxruntime(data, right, samples=100, seed=0).unexplained == 0
    assert compare_with_onnxruntime(data, wrong, samples=100, seed=0).unexplained > 50


def test_comparison_tells_near_ties_from_wrong_choices() -> None:
    rows = np.stack([W34[0], W34[0] * np.float32(1 + 2**-23)])
    data = model([node("MatMul", "x W")], (1, 4), {"W": rows.T.copy()})
    swapped = Network(4, (Affine(0, frozen(rows[::-1]), frozen([0, 0])),))
    tied = compare_with_onnxruntime(data, swapped, samples=100, seed=0)
    assert tied.argmax_differences == tied.near_ties > 0
    opposite = Network(4, (Affine(0, frozen([-W34[0], W34[0]]), frozen([0, 0])),))
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


def test_movements_in_a_row_become_one_pick() -> None:
    steps = [
        node("Transpose", "x", "t", perm=[0, 2, 1]),
        node("Flatten", "t", "f"),
        node("Gather", "f i", "g", axis=1),
        node("Relu", "g"),
    ]
    network = read_onnx_bytes(model(steps, (1, 2, 3), {"i": [5, 0]}))
    assert [type(n) for n in network.nodes] == [Pick, Activation]
    assert infer(network, np.arange(1, 7, dtype=np.float32)[None]).tolist() == [[6.0, 1.0]]


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
                "softmax before argmax dropped: order-preserving",
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
                "log-softmax before argmax dropped: order-preserving",
                "subtraction of log-sum-exp before argmax dropped: order-preserving",
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
                "subtraction of log-sum-exp before argmax dropped: order-preserving",
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
    network = read_onnx(tmp_path / "net.onnx.gz")
    assert network.name == "net"
    assert network.digest() == read_onnx_bytes(dense()).digest()


def test_a_sum_is_not_reordered() -> None:
    big = np.float32([[1e8, 1, -1e8]])
    network = read_onnx_bytes(model([node("MatMul", "x W")], (1, 3), {"W": big.T.copy()}))
    assert infer(network, np.float32([[1, 1, 1]])).tolist() == [[0.0]]


def test_a_tensor_may_not_be_expanded_without_limit() -> None:
    data = model([node("Expand", "x s", "e"), node("Add", "e e")], (1, 1), {"s": [2**20, 2**20]})
    with pytest.raises(Unsupported, match="more than 33554432 entries"):
        read_onnx_bytes(data)


def test_comparison_takes_equal_infinities_as_equal() -> None:
    data = model([node("MatMul", "x W")], (1, 4), {"W": np.full((4, 1), 3e38, np.float32)})
    result = compare_with_onnxruntime(data, read_onnx_bytes(data), samples=50)
    assert result.unexplained == 0
