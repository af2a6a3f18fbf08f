"""Whole ONNX files whose nodes are right, and something around them perhaps is not."""

from __future__ import annotations

from collections.abc import Iterator

from onnx import ModelProto, TensorProto, helper
from tests.formats.onnx_models import node, proto, weights


def whole_files() -> Iterator[tuple[str, bytes]]:
    def plain(opset: int = 13) -> ModelProto:
        return proto(
            [node("MatMul", "x W", "m"), node("Add", "m b")],
            (1, 4),
            {"W": weights(4, 3), "b": weights(3)},
            opset=opset,
        )

    def told(name: str, made: ModelProto) -> tuple[str, bytes]:
        return name, bytes(made.SerializeToString())

    for version in (0, 1, 6, 7, 24):
        yield told(f"opset {version}", plain(version))
    both = (("", 13), ("", 12)), (("", 13), ("ai.onnx", 13)), (("", 13), ("ai.onnx.ml", 2))
    for imports in ((), (("", 13), ("", 13)), (("ai.onnx", 13),), (("ai.onnx.ml", 2),), *both):
        made = plain()
        del made.opset_import[:]
        made.opset_import.extend(helper.make_opsetid(d, v) for d, v in imports)
        yield told(f"imports {imports}", made)
    for version in (0, 1, 2, 3, 4, 7, 10, 99):
        made = plain()
        made.ir_version = version
        yield told(f"ir version {version}", made)
    made = plain()
    made.graph.output.append(made.graph.output[0])
    yield told("output twice", made)
    for kind in (TensorProto.INT64, TensorProto.DOUBLE, TensorProto.UNDEFINED):
        made = plain()
        made.graph.output[0].type.tensor_type.elem_type = kind
        yield told(f"output of type {kind}", made)
    for shape in ((1, 3), (1, 4), (3,), (1, 3, 1), ("N", 3)):
        made = plain()
        del made.graph.output[:]
        made.graph.output.append(helper.make_tensor_value_info("y", TensorProto.FLOAT, shape))
        yield told(f"output of shape {shape}", made)
    said = [("m", TensorProto.FLOAT, s) for s in ((1, 3), (1, 5), (3,))]
    for name, kind, shape in [*said, ("m", TensorProto.INT64, (1, 3)), ("nobody", TensorProto.FLOAT, (1, 3))]:
        made = plain()
        made.graph.value_info.append(helper.make_tensor_value_info(name, kind, shape))
        yield told(f"{name} of type {kind} and shape {shape}", made)
    for repeated in ("input", "initializer", "node"):
        made = plain()
        getattr(made.graph, repeated).append(getattr(made.graph, repeated)[0])
        yield told(f"{repeated} twice", made)
    made = plain()
    made.graph.node[0].output[0] = "x"
    yield told("a node makes the input", made)
    made = plain()
    made.graph.node[0].output[0] = "b"
    yield told("a node makes a tensor", made)
    made = plain()
    made.graph.node[1].input[0] = "nothing"
    yield told("nothing makes it", made)
    made = plain()
    made.graph.node[0].input[0] = "y"
    yield told("cycle", made)
    made = plain()
    made.graph.output[0].name = "nothing"
    yield told("no such output", made)
    for kind in (TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.INT64):
        made = plain()
        made.graph.input[0].type.tensor_type.elem_type = kind
        yield told(f"input of type {kind}", made)
    for name in ("W", "b", "x"):
        made = plain()
        made.graph.input.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, (4, 3)))
        yield told(f"{name} is an input too", made)
    for data in (b"", b"1234", b"12345", bytes(48), bytes(52)):
        made = plain()
        made.graph.initializer[0].raw_data = data
        yield told(f"{len(data)} bytes of weights", made)
    made = plain()
    made.graph.initializer[0].float_data.extend([1.0] * 12)
    yield told("weights in two places", made)
    made = plain()
    made.graph.initializer[0].data_type = TensorProto.INT64
    yield told("weights of another type", made)
    made = plain()
    made.graph.initializer[0].dims[0] = -4
    yield told("negative dimension", made)
    made = plain()
    del made.graph.input[:]
    yield told("no input", made)
    made = plain()
    made.graph.node[0].domain = "custom"
    yield told("custom domain", made)
    made = proto([node("LeakyRelu", "x", alpha=0.5)], (1, 4), {})
    made.graph.node[0].attribute.append(made.graph.node[0].attribute[0])
    yield told("attribute twice", made)
    for kind in (0, 2, 6):
        made = proto([node("LeakyRelu", "x", alpha=0.5)], (1, 4), {})
        made.graph.node[0].attribute[0].type = kind
        yield told(f"attribute of kind {kind}", made)
    made = proto([node("Relu", "x", name="a"), node("Tanh", "y", "z", name="a")], (1, 4), {}, outputs="z")
    yield told("names of nodes twice", made)
    made = proto([node("Tanh", "r", "y"), node("Relu", "x", "r")], (1, 4), {})
    yield told("nodes out of order", made)
    made = proto([node("Relu", "x", "y")], (1, 4), {})
    body = [node("Relu", "a", "b")]
    made.functions.append(helper.make_function("own", "f", ["a"], ["b"], body, [helper.make_opsetid("", 13)]))
    yield told("a function that is not used", made)
