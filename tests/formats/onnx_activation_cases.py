"""Small models for activations, pools, comparisons and tables."""

from typing import Any

import numpy as np
from onnx import TensorProto
from tests.formats.onnx_models import model, node, weights

POSITIVE = np.abs(weights(4, seed=5)) + np.float32(0.5)


def stretched(op: str, opset: int = 22, factor: float = 4.0, **attributes: Any) -> bytes:
    """The activation of factor times x."""
    return model(
        [node("Mul", "x f", "m"), node(op, "m", **attributes)],
        (1, 4),
        {"f": np.float32(factor)},
        opset=opset,
    )


def positive(op: str) -> bytes:
    """Of values between 1/2 and 3/2."""
    return model(
        [node("Mul", "x h", "m"), node("Add", "m o", "a"), node(op, "a")],
        (1, 4),
        {"h": np.float32(0.5), "o": np.float32(1)},
    )


def pooled(op: str, shape: tuple[int, ...] = (1, 2, 5, 6), opset: int = 19, **attributes: Any) -> bytes:
    return model([node(op, "x", **attributes)], shape, opset=opset)


def compared(op: str, opset: int = 16) -> bytes:
    """x if the comparison of x with 0.2 is true, else twice x."""
    return model(
        [node(op, "x c", "t"), node("Add", "x x", "d"), node("Where", "t x d")],
        (1, 4),
        {"c": np.float32(0.2)},
        opset=opset,
    )


def combined(op: str) -> bytes:
    return model(
        [
            node("Greater", "x c", "t"),
            node("Less", "x d", "u"),
            node(op, "t" if op == "Not" else "t u", "v"),
            node("Cast", "v", "n", to=TensorProto.FLOAT),
            node("Mul", "n x"),
        ],
        (1, 4),
        {"c": np.float32(-0.2), "d": weights(4)},
    )


NORMALISED = {"s": weights(6), "b": weights(6, seed=1)}
ACTIVATION_CASES = {
    "Abs": stretched("Abs"),
    "Celu": stretched("Celu"),
    "Celu alpha": stretched("Celu", alpha=0.7),
    "Cos": stretched("Cos"),
    "Elu": stretched("Elu"),
    "Elu alpha": stretched("Elu", alpha=1.6),
    "Erf": stretched("Erf"),
    "Exp": stretched("Exp"),
    "Gelu": stretched("Gelu"),
    "Gelu tanh": stretched("Gelu", approximate="tanh"),
    "HardSigmoid": stretched("HardSigmoid"),
    "HardSigmoid alpha": stretched("HardSigmoid", alpha=0.3, beta=0.4),
    "HardSwish": stretched("HardSwish"),
    "Mish": stretched("Mish", opset=18),
    "PRelu": model([node("PRelu", "x s")], (1, 4), {"s": weights(4)}),
    "PRelu one slope": model([node("PRelu", "x s")], (1, 4), {"s": np.float32([0.1])}),
    "PRelu small slopes": model([node("PRelu", "x s")], (1, 4), {"s": np.float32([0.1, 0, 1, 0.5])}),
    "PRelu channels": model([node("PRelu", "x s")], (1, 2, 3, 3), {"s": weights(2, 1, 1)}),
    "Selu": stretched("Selu"),
    "Selu alpha": stretched("Selu", alpha=1.2, gamma=0.8),
    "Sign": stretched("Sign"),
    "Sin": stretched("Sin"),
    "Softplus": stretched("Softplus"),
    "Softplus far": stretched("Softplus", factor=60.0),
    "Softsign": stretched("Softsign"),
    "Sqrt": positive("Sqrt"),
    "Reciprocal": positive("Reciprocal"),
    "Pow half": model(
        [node("Abs", "x", "a"), node("Add", "a c", "b"), node("Pow", "b h")],
        (1, 4),
        {"c": POSITIVE, "h": np.float32(0.5)},
    ),
    "Pow minus one": model(
        [node("Abs", "x", "a"), node("Add", "a c", "b"), node("Pow", "b h")],
        (1, 4),
        {"c": POSITIVE, "h": np.float32(-1)},
    ),
    "Swish": stretched("Swish", opset=24),
    "Swish alpha": stretched("Swish", opset=24, alpha=1.5),
    "ThresholdedRelu": stretched("ThresholdedRelu"),
    "ThresholdedRelu alpha": stretched("ThresholdedRelu", alpha=-0.5),
    "Sum": model([node("Relu", "x", "r"), node("Sum", "c r x")], (1, 4), {"c": weights(4)}),
    "Mean": model([node("Relu", "x", "r"), node("Mean", "r x c")], (1, 4), {"c": weights(4)}),
    "MaxPool": pooled("MaxPool", kernel_shape=[2, 2], strides=[2, 2]),
    "MaxPool pads": pooled("MaxPool", kernel_shape=[3, 3], strides=[2, 1], pads=[1, 0, 1, 2]),
    "MaxPool dilations": pooled("MaxPool", kernel_shape=[2, 2], dilations=[2, 3]),
    "MaxPool same": pooled("MaxPool", kernel_shape=[2, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
    "MaxPool line": pooled("MaxPool", (1, 3, 7), kernel_shape=[3]),
    "AveragePool": pooled("AveragePool", kernel_shape=[2, 2], strides=[2, 2]),
    "AveragePool pads": pooled("AveragePool", kernel_shape=[3, 3], strides=[2, 1], pads=[1, 0, 1, 2]),
    "AveragePool counted": pooled("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
    "AveragePool same": pooled("AveragePool", kernel_shape=[2, 2], strides=[2, 2], auto_pad="SAME_LOWER"),
    "Conv same": model(
        [node("Conv", "x W", auto_pad="SAME_UPPER", strides=[2, 2])], (1, 2, 5, 6), {"W": weights(3, 2, 3, 2)}
    ),
    "GlobalAveragePool": pooled("GlobalAveragePool"),
    "GlobalMaxPool": pooled("GlobalMaxPool"),
    "ReduceMax": pooled("ReduceMax", (1, 3, 5), opset=17, axes=[2]),
    "ReduceMax input": model([node("ReduceMax", "x a", keepdims=0)], (1, 3, 5), {"a": [1]}, opset=18),
    "ReduceMin": pooled("ReduceMin", (1, 3, 5), opset=17, axes=[1], keepdims=0),
    "LayerNormalization": model([node("LayerNormalization", "x s b")], (1, 6), NORMALISED),
    "LayerNormalization rows": model(
        [node("LayerNormalization", "x s", axis=-1, epsilon=0.1)], (1, 3, 6), {"s": weights(6)}
    ),
    "Greater": compared("Greater"),
    "Less": compared("Less"),
    "GreaterOrEqual": compared("GreaterOrEqual"),
    "LessOrEqual": compared("LessOrEqual"),
    "Equal": model(
        [node("Relu", "x", "r"), node("Equal", "r x", "t"), node("Where", "t x c")], (1, 4), {"c": weights(4)}
    ),
    "And": combined("And"),
    "Or": combined("Or"),
    "Xor": combined("Xor"),
    "Not": combined("Not"),
    "Where": compared("Greater"),
    "Where constant condition": model(
        [node("Relu", "x", "r"), node("Where", "c r x")], (1, 4), {"c": np.array([True, False, True, True])}
    ),
}

INT64 = TensorProto.INT64
# A tuple of inputs would be one-hot vectors and embeddings, as policies of finite systems have them.
INDEX_CASES = {
    "Gather by index": model(
        [node("Gather", "E x", "g"), node("Flatten", "g")], ("N", 2), {"E": weights(7, 3)}, kind=INT64
    ),
    "Gather by index, axis 1": model(
        [node("Gather", "E x", axis=1)], (1, 1), {"E": weights(3, 7)}, kind=INT64
    ),
    "Gather by one index": model([node("Gather", "E x")], (1,), {"E": weights(7, 3)}, kind=INT64),
    "Gather of int32": model([node("Gather", "E x")], (1, 1), {"E": weights(7, 3)}, kind=TensorProto.INT32),
    "OneHot": model(
        [
            node("OneHot", "x n v", "h"),
            node("Cast", "h", "c", to=TensorProto.FLOAT),
            node("Flatten", "c", "f"),
            node("MatMul", "f W"),
        ],
        (1, 2),
        {"n": np.array([4]), "v": np.array([0, 1]), "W": weights(8, 3)},
        kind=INT64,
    ),
    "OneHot values": model(
        [node("OneHot", "x n v", axis=1)], (1, 2), {"n": [4], "v": np.float32([-1, 3])}, kind=INT64
    ),
    "Cast of an index": model(
        [node("Cast", "x", "c", to=TensorProto.FLOAT), node("MatMul", "c W")],
        ("N", 2),
        {"W": weights(2, 3)},
        kind=INT64,
    ),
}
ACTIVATION_CASES |= INDEX_CASES
