"""One small model or more for every operation the ONNX reader knows."""

import numpy as np
from onnx import TensorProto, helper
from tests.formats.onnx_activation_cases import ACTIVATION_CASES
from tests.formats.onnx_models import model, node, weights
from tests.formats.onnx_recurrent_cases import RECURRENT_CASES

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
    "Div two": model(
        [node("Sigmoid", "x", "s"), node("Add", "s c", "t"), node("Div", "x t")], (1, 4), {"c": POSITIVE}
    ),
    "Div two broadcast": model(
        [node("Sigmoid", "x", "s"), node("ReduceSum", "s a", "t"), node("Div", "x t")], (1, 4), {"a": [1]}
    ),
    "Div of constant": model([node("Sigmoid", "x", "s"), node("Div", "c s")], (1, 4), {"c": weights(3, 4)}),
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

CASES |= ACTIVATION_CASES
CASES |= RECURRENT_CASES
