"""Small ONNX models for tests, as bytes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper

Shape = Sequence[int | str | None] | None


def node(op: str, inputs: str, outputs: str = "y", **attributes: Any) -> NodeProto:
    """A node from space-separated names; `-` is an optional input left out."""
    names = ["" if n == "-" else n for n in inputs.split()]
    name = attributes.pop("name", "")
    return helper.make_node(op, names, outputs.split(), name=name, **attributes)


def weights(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(-1, 1, shape).astype(np.float32)


def proto(
    nodes: Sequence[NodeProto],
    shape: Shape = (1, 4),
    constants: Mapping[str, Any] | None = None,
    outputs: str = "y",
    opset: int = 17,
    kind: int = TensorProto.FLOAT,
) -> ModelProto:
    """A model with input `x`; constants are numpy arrays, lists of integers, or ready tensors."""
    tensors = [
        value if isinstance(value, TensorProto) else numpy_helper.from_array(np.asarray(value), name)
        for name, value in (constants or {}).items()
    ]
    graph = helper.make_graph(
        list(nodes),
        "test",
        [helper.make_tensor_value_info("x", kind, shape)],
        [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs.split()],
        tensors,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def runtime(data: bytes, inputs: Sequence[Any], tensor: str = "y") -> np.ndarray:
    """What onnxruntime computes for one input, read from any tensor of the file."""
    import onnxruntime

    changed = ModelProto.FromString(data)
    del changed.graph.output[:]
    changed.graph.output.append(ValueInfoProto(name=tensor))  # its type is left to onnxruntime
    session = onnxruntime.InferenceSession(changed.SerializeToString(), providers=["CPUExecutionProvider"])
    return np.asarray(session.run([tensor], {"x": np.array([inputs], np.float32)})[0])


def model(*arguments: Any, **named: Any) -> bytes:
    return bytes(proto(*arguments, **named).SerializeToString())


def dense(width: int = 4, outputs: int = 3, **named: Any) -> bytes:
    """One layer: y = x W' + b."""
    constants = {"W": weights(outputs, width), "b": weights(outputs, seed=1), **named.pop("constants", {})}
    return model([node("Gemm", "x W b", transB=1, name="layer")], (1, width), constants, **named)
