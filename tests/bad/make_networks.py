"""Writes broken, hostile and unusual ONNX files, one per name; none is kept in the repository.

The number in a name is the row of the catalogue of bad inputs.
"""

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
from onnx import ModelProto, TensorProto, helper
from tests.formats.onnx_models import dense, model, node, proto, weights

SENTINEL = b"secret outside the folder"
GEMM = node("Gemm", "x W b", transB=1, name="layer")
LAYER = {"W": weights(3, 4), "b": weights(3, seed=1)}


def one(*nodes: object, **named: object) -> bytes:
    """A model whose last layer is something special."""
    return model(list(nodes), (1, 4), {**LAYER, **named.pop("constants", {})}, **named)  # type: ignore[arg-type, dict-item, call-overload]


def spoiled(value: float) -> bytes:
    array = weights(3, 4)
    array[1, 2] = value
    return model([GEMM], (1, 4), {**LAYER, "W": array})


def declared(*dimensions: int, kind: int = TensorProto.FLOAT) -> bytes:
    """A weight that claims these dimensions and holds four bytes."""
    tensor = TensorProto(name="W", data_type=kind, dims=dimensions, raw_data=b"\0\0\0\0")
    return model([GEMM], (1, 4), {"W": tensor, "b": LAYER["b"]})


def typed(kind: type[np.generic]) -> bytes:
    return model([GEMM], (1, 4), {**LAYER, "W": np.ones((3, 4), kind)})


def external(location: str, **more: str) -> bytes:
    tensor = TensorProto(name="W", data_type=TensorProto.FLOAT, dims=[3, 4])
    tensor.data_location = TensorProto.EXTERNAL
    tensor.external_data.add(key="location", value=location)
    for key, value in more.items():
        tensor.external_data.add(key=key, value=value)
    return model([GEMM], (1, 4), {"W": tensor, "b": LAYER["b"]})


def external_twice() -> bytes:
    made = ModelProto.FromString(external("weights.bin"))
    (tensor,) = (t for t in made.graph.initializer if t.name == "W")
    tensor.external_data.add(key="location", value="other.bin")
    return bytes(made.SerializeToString())


def external_in_a_branch() -> bytes:
    tensor = TensorProto(name="hidden", data_type=TensorProto.FLOAT, dims=[1])
    tensor.data_location = TensorProto.EXTERNAL
    branch = helper.make_graph([], "branch", [], [], [tensor])
    return one(GEMM, node("If", "x", "other", then_branch=branch, else_branch=branch))


def control_flow() -> bytes:
    branch = helper.make_graph([node("Identity", "x", "z")], "branch", [], [])
    return model([node("If", "x", name="fork", then_branch=branch, else_branch=branch)])


def custom_domain() -> bytes:
    return model([helper.make_node("Relu", ["x"], ["y"], name="own", domain="com.example")])


def opset(version: int) -> bytes:
    changed = proto([GEMM], (1, 4), LAYER)
    changed.opset_import[0].version = version
    return bytes(changed.SerializeToString())


def without(field: str) -> bytes:
    changed = ModelProto.FromString(dense())
    if field == "outputs":
        del changed.graph.output[:]
    elif field == "opset":
        del changed.opset_import[:]
    else:
        changed.graph.input[0].type.tensor_type.ClearField("shape")
    return bytes(changed.SerializeToString())


def twice() -> bytes:
    return one(GEMM, node("Relu", "x", "y", name="again"))


FILES: dict[str, Callable[[], bytes]] = {
    "01-empty": lambda: b"",
    "02-truncated": lambda: dense()[:-40],
    "03-random": lambda: np.random.default_rng(0).bytes(2000),
    "03-unknown-fields": lambda: b"\xf8\x07\x01",  # valid protobuf, but no field of a model
    "04-png": lambda: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\x02\0\0\0",
    "06-no-outputs": lambda: without("outputs"),
    "07-two-outputs": lambda: one(GEMM, node("Relu", "y", "z"), outputs="y z"),
    "08-nan": lambda: spoiled(np.nan),
    "09-inf": lambda: spoiled(np.inf),
    "09-inf-attribute": lambda: model([node("LeakyRelu", "x", alpha=float("inf"), name="leak")]),
    "10-overflow-inside": lambda: model(
        [node("MatMul", "x W")], (1, 4), {"W": np.full((4, 1), 3e38, np.float32)}
    ),
    "10-overflow-folded": lambda: one(
        node("Mul", "c c", "d"), node("Mul", "x d", name="scale"), constants={"c": np.float32([3e38])}
    ),
    "11-unsupported-op": lambda: model([node("Tan", "x", name="smooth")]),
    "11-unnamed-node": lambda: model([node("Relu", "x", "r"), node("Tan", "r")]),
    "12-transA": lambda: one(node("Gemm", "x W b", transA=1, name="layer")),
    "12-auto-pad": lambda: model(
        [node("Conv", "x k", auto_pad="MOST", name="window")], (1, 1, 4), {"k": weights(1, 1, 3)}
    ),
    "12-unknown-attribute": lambda: model([node("Relu", "x", name="rectify", strange=1)]),
    "12-wrong-attribute": lambda: one(node("Gemm", "x W b", transB=0.5, name="layer")),
    "14-no-shape": lambda: without("shape"),
    "14-inner-dimension": lambda: model([node("Relu", "x")], ("N", "M")),
    "14-only-dimension": lambda: model([node("Relu", "x")], ("N",)),
    "15-batch-of-4": lambda: model([GEMM], (4, 4), LAYER),
    "16-float64": lambda: typed(np.float64),
    "16-float16": lambda: typed(np.float16),
    "16-int8": lambda: typed(np.int8),
    "16-float64-input": lambda: model([node("Relu", "x")], kind=TensorProto.DOUBLE),
    "17-quantised": lambda: model(
        [node("DynamicQuantizeLinear", "x", "a b c"), node("MatMulInteger", "a a")]
    ),
    "18-control-flow": control_flow,
    "19-custom-domain": custom_domain,
    "20-cycle": lambda: model(
        [node("Add", "x b", "a", name="first"), node("Relu", "a", "b"), node("Neg", "a")]
    ),
    "20-undefined": lambda: model([node("Add", "x nowhere", name="sum")]),
    "20-undefined-output": lambda: model([node("Relu", "x", "z")]),
    "20-defined-twice": twice,
    "22-missing": lambda: external("weights.bin"),
    "22-folder": lambda: external("."),
    "22-deeper": lambda: external("deeper/weights.bin"),
    "22-no-name": lambda: external(""),
    "22-long-name": lambda: external("w" * 300),
    "22-negative-offset": lambda: external("weights.bin", offset="-4"),
    "22-huge-offset": lambda: external("weights.bin", offset="9" * 30),
    "22-wrong-length": lambda: external("weights.bin", length="44"),
    "22-unknown-key": lambda: external("weights.bin", url="x"),
    "22-twice": external_twice,
    "22-in-a-branch": external_in_a_branch,
    "23-2gb": lambda: declared(2**16, 2**13),
    "23-product-overflow": lambda: declared(2**62, 4),
    "23-negative": lambda: declared(-3, 4),
    "23-too-short": lambda: declared(3, 4),
    "23-input": lambda: model([node("Relu", "x")], (1, 2**40)),
    "23-expanded": lambda: model([node("Expand", "x s", name="grow")], (1, 1), {"s": [2**31, 2**31]}),
    "23-wide-product": lambda: model(
        [node("MatMul", "x W", name="product")], (1, 2**12, 8), {"W": weights(8, 8)}
    ),
    "24-empty-layer": lambda: model(
        [node("MatMul", "x W", name="nothing")], (1, 4), {"W": np.zeros((4, 0), np.float32)}
    ),
    "24-empty-slice": lambda: model(
        [node("Slice", "x s e a", name="cut")], (1, 4), {"s": [2], "e": [2], "a": [1]}
    ),
    "24-empty-input": lambda: model([node("Relu", "x")], (1, 0)),
    "25-softmax-inside": lambda: model([node("Softmax", "x", "p", name="soft"), node("Neg", "p")]),
    "25-argmax-inside": lambda: model([node("ArgMax", "x", "p", name="pick"), node("Neg", "p")]),
    "25-argmax-axis": lambda: model([node("ArgMax", "x", name="pick", axis=0)]),
    "26-argmax-last": lambda: model([node("ArgMax", "x", name="pick", axis=1, select_last_index=1)]),
    "28-opset-too-new": lambda: opset(999),
    "28-opset-too-old": lambda: opset(5),
    "28-no-opset": lambda: without("opset"),
    "extra-shapes-differ": lambda: model(
        [node("MatMul", "x W", name="product")], (1, 5), {"W": weights(4, 3)}
    ),
    "extra-hostile-name": lambda: model([node("Tan", "x", name="a\nb\x1b[31m" + "c" * 100)]),
    "extra-divides-integers": lambda: model([node("Div", "c x", name="ratio")], (1, 4), {"c": [1, 2, 3, 4]}),
    "extra-two-inputs": lambda: two_inputs(),
    "extra-constant-output": lambda: model([node("Relu", "x", "r"), node("Constant", "", value_float=1.0)]),
}


def two_inputs() -> bytes:
    changed = proto([node("Add", "x z")])
    changed.graph.input.append(helper.make_tensor_value_info("z", TensorProto.FLOAT, (1, 4)))
    return bytes(changed.SerializeToString())


def make_networks(folder: Path) -> dict[str, Path]:
    """Every bad file by name, written into the folder (external data points to a sentinel beside it)."""
    made = {}
    for name, content in FILES.items():
        made[name] = folder / f"{name}.onnx"
        made[name].write_bytes(content())
    made["05-directory"] = folder / "05-directory.onnx"
    made["05-directory"].mkdir()
    made["05-no-such-file"] = folder / "05-no-such-file.onnx"
    made["05-device"] = Path(os.devnull)
    made["02-truncated-gzip"] = folder / "02-truncated.onnx.gz"
    made["02-truncated-gzip"].write_bytes(gzip.compress(dense())[:-20])
    made.update(_external(folder))
    return made


def _external(folder: Path) -> dict[str, Path]:
    outside = folder.parent / "outside.bin"
    outside.write_bytes(SENTINEL)
    (folder / "link.bin").symlink_to(outside)
    os.link(outside, folder / "hard.bin")
    places = {
        "relative": "../outside.bin",
        "absolute": str(outside),
        "symlink": "link.bin",
        "hard-link": "hard.bin",
    }
    made = {}
    for kind, location in places.items():
        made[f"22-{kind}"] = folder / f"22-{kind}.onnx"
        made[f"22-{kind}"].write_bytes(external(location))
    return made
