"""The checker's ONNX reader: the same nodes as the reader of the package, or a refusal; hostile files."""

import gzip
import struct
from array import array
from base64 import b64encode
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper
from tests.formats.onnx_activation_cases import ACTIVATION_CASES
from tests.formats.onnx_cases import CASES
from tests.formats.onnx_models import dense, model, node, proto, weights
from tests.formats.onnx_recurrent_cases import RECURRENT_CASES

from surefoot.formats.onnx import read_onnx_bytes
from surefoot.query.unsat_claim import network_to_json
from surefoot_checker.kernel.network import (
    ActivationNode,
    AffineNode,
    CombineNode,
    ElementwiseNode,
    FlatNetwork,
    JoinNode,
    Node,
    PickNode,
)
from surefoot_checker.kernel.onnx_file import onnx_to_flat_network
from surefoot_checker.kernel.untrusted_file import ReadError, decompress_gzip, read_file_bytes

STUDIES = Path(__file__).resolve().parents[2] / "src" / "surefoot_studies"
# What the package reads and the checker refuses.
REFUSED = {
    "BatchNormalization": "operator `BatchNormalization` is not read",
    "Gemm variable bias": "a bias that depends on the input",
    "expand as exported": "operator `ConstantOfShape` is not read",
    "shape arithmetic": "a quotient of integers is not read",
    "zeros added": "operator `ConstantOfShape` is not read",
}


def written(network: FlatNetwork) -> dict[str, object]:
    """As in a certificate: equal if and only if every weight has the same bits."""
    return {"width": network.width, "nodes": [_node(n) for n in network.nodes]}


def _node(node: Node) -> list[object]:
    match node:
        case AffineNode(source, columns, weights_, bias):
            return ["affine", source, len(bias), columns, _bits(weights_), _bits(bias)]
        case ElementwiseNode(source, kind, constant):
            return [kind, source, _bits(constant)]
        case ActivationNode(source, kind, parameters):
            return [kind, source, *(p.hex() for p in parameters)]
        case CombineNode(left, right, kind):
            return [kind, left, right]
        case PickNode(source, indices):
            return ["pick", source, list(indices)]
        case JoinNode(several):
            return ["join", list(several)]


def _bits(numbers: tuple[float, ...]) -> str:
    return b64encode(array("f", numbers).tobytes()).decode()


@pytest.mark.parametrize("name", CASES)
def test_every_operation_becomes_the_same_nodes_or_is_refused(name: str) -> None:
    reasons = [reason for start, reason in REFUSED.items() if name.startswith(start)]
    if name in ACTIVATION_CASES or name in RECURRENT_CASES:  # certificates of runs list nodes instead
        with suppress(ReadError):
            assert written(onnx_to_flat_network(CASES[name])) == network_to_json(read_onnx_bytes(CASES[name]))
        return
    if reasons:
        with pytest.raises(ReadError, match=reasons[0]):
            onnx_to_flat_network(CASES[name])
    else:
        assert written(onnx_to_flat_network(CASES[name])) == network_to_json(read_onnx_bytes(CASES[name]))


def test_studies_have_networks() -> None:
    assert len(list(STUDIES.rglob("*.onnx*"))) > 40


@pytest.mark.parametrize("path", sorted(STUDIES.rglob("*.onnx*")), ids=lambda path: path.name)
def test_networks_of_the_studies(path: Path) -> None:
    data = path.read_bytes()
    assert written(onnx_to_flat_network(data)) == network_to_json(read_onnx_bytes(decompress_gzip(data)))


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("folder", "most"),
    [
        ("control/nets", 3),
        ("jani/racetrack-policies", 2),
        ("policies", 7),
        ("queries/acasxu", 3),
        ("queries/cersyve", 6),
        ("queries/lsnc_relu", 1),
        ("queries/nn4sys_pensieve", 2),
        ("queries/planted_needles", 5),
        ("queries/sat_relu", 3),
    ],
)
def test_networks_beside_the_repository(shared_data: Path, folder: str, most: int) -> None:
    paths = sorted((shared_data / folder).rglob("*.onnx*"))
    assert len(paths) >= most
    for path in paths[:: max(1, len(paths) // most)]:
        data = path.read_bytes()
        assert written(onnx_to_flat_network(data)) == network_to_json(
            read_onnx_bytes(decompress_gzip(data))
        ), path.name


def test_an_output_may_be_chosen_and_what_it_does_not_need_is_left_out() -> None:
    data = model([node("Relu", "x", "r"), node("Tanh", "r", "t"), node("Neg", "r")], outputs="t y")
    assert written(onnx_to_flat_network(data, "t")) == network_to_json(read_onnx_bytes(data, output="t"))
    assert written(onnx_to_flat_network(data, "r"))["nodes"] == [["relu", 0]]
    for name in (None, "z", "x", ""):
        with pytest.raises(ReadError):
            onnx_to_flat_network(data, name)


def test_squeezing_no_axis_changes_nothing() -> None:
    data = model(
        [node("Squeeze", "x a", "s"), node("Concat", "s s", axis=1)], (1, 4), {"a": np.array([], np.int64)}
    )
    assert written(onnx_to_flat_network(data)) == network_to_json(read_onnx_bytes(data))


def test_gzip_and_plain_bytes_are_the_same() -> None:
    assert written(onnx_to_flat_network(gzip.compress(dense()))) == written(onnx_to_flat_network(dense()))


def changed(**fields: object) -> bytes:
    """The dense model with some fields of its weight tensor replaced."""
    message = ModelProto.FromString(dense())
    weight = next(t for t in message.graph.initializer if t.name == "W")
    for name, value in fields.items():
        if isinstance(value, list):
            del getattr(weight, name)[:]
            getattr(weight, name).extend(value)
        else:
            setattr(weight, name, value)
    return bytes(message.SerializeToString())


def appended(**fields: object) -> bytes:
    """The dense model with some messages merged into it."""
    return bytes(dense() + ModelProto(**fields).SerializeToString())


NAN = struct.pack("<12f", *[0.0] * 11, float("nan"))
INFINITE = struct.pack("<12f", float("inf"), *[0.0] * 11)
HOSTILE = {
    "empty": b"",
    "text": b"(assert true)",
    "cut off": dense()[:-3],
    "cut off in gzip": gzip.compress(dense())[:-9],
    "gzip bomb": gzip.compress(bytes(2**24)),
    "long varint": b"\x08" + b"\xff" * 10 + b"\x01",
    "group": b"\x0b\x0c",
    "huge length": b"\x3a\xff\xff\xff\xff\x07",
    "NaN": changed(raw_data=NAN),
    "infinity": changed(raw_data=INFINITE),
    "too few numbers": changed(raw_data=bytes(44)),
    "half a number": changed(raw_data=bytes(46)),
    "negative dimension": changed(dims=[-3, -4]),
    "huge dimensions": changed(dims=[2**40, 2**40]),
    "numbers twice": changed(float_data=[0.0] * 12),
    "float64": changed(data_type=TensorProto.DOUBLE),
    "external": changed(data_location=TensorProto.EXTERNAL),
    "two graphs": appended(graph=proto([node("Relu", "x")]).graph),
    "two operator sets": appended(opset_import=[helper.make_opsetid("", 18)]),
    "function": appended(functions=[helper.make_function("", "Relu", ["x"], ["y"], [], [])]),
    "old operators": model([node("Relu", "x")], opset=6),
    "new operators": model([node("Relu", "x")], opset=99),
    "softmax": model([node("Softmax", "x")]),
    "other domain": model([helper.make_node("Relu", ["x"], ["y"], domain="com.example")]),
    "unknown attribute": model([node("Relu", "x", alpha=1.0)]),
    "cycle": model([node("Add", "x z"), node("Relu", "y", "z")]),
    "unknown input": model([node("Add", "x z")]),
    "output defined twice": model([node("Relu", "x"), node("Tanh", "x")]),
    "constant": model([node("Relu", "c")], constants={"c": weights(4)}),
    "double input": model([node("Relu", "x")], kind=TensorProto.DOUBLE),
    "unknown width": model([node("Relu", "x")], (1, "n")),
    "no shape": model([node("Relu", "x")], None),
    "empty input": model([node("Relu", "x")], (1, 0)),
    "huge input": model([node("Relu", "x")], (1, 2**40)),
    "huge broadcast": model([node("Expand", "x s")], constants={"s": np.array([2**20, 2**20, 4])}),
    "huge product": model([node("MatMul", "x W")], (2**12, 2**12), {"W": weights(2**12, 1)}),
    "wrong shapes": model([node("MatMul", "x W")], constants={"W": weights(5, 3)}),
    "gather outside": model([node("Gather", "x i", axis=1)], constants={"i": np.array([4])}),
    "division by zero": model([node("Div", "x c")], constants={"c": np.zeros(4, np.float32)}),
    "overflowing constant": model(
        [node("Mul", "c c", "d"), node("Add", "x d")], constants={"c": np.full(4, 1e30, np.float32)}
    ),
    "integers that overflow": model(
        [node("Mul", "i i", "s"), node("Slice", "x z s")],
        constants={"i": np.array([2**20]), "z": np.array([0])},
    ),
    "product of signals": model([node("Relu", "x", "r"), node("MatMul", "x r")], (4, 4)),
    "bounds of Clip": model([node("Clip", "x a b")], constants={"a": np.float32(1), "b": np.float32(0)}),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name: str) -> None:
    with pytest.raises(ReadError):
        onnx_to_flat_network(HOSTILE[name])


def test_every_prefix_is_refused() -> None:
    data = dense()
    for end in range(len(data)):
        with pytest.raises(ReadError):
            onnx_to_flat_network(data[:end])


def test_changed_bytes_never_do_worse_than_a_refusal() -> None:
    data, random = dense(), np.random.default_rng(0)
    for _ in range(2000):
        damaged = bytearray(data)
        for place in random.integers(0, len(data), random.integers(1, 4)):
            damaged[place] = random.integers(0, 256)
        try:
            onnx_to_flat_network(bytes(damaged))
        except ReadError:
            continue


def test_files_that_are_none(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing.onnx"):
        with pytest.raises(ReadError, match="no such file"):
            read_file_bytes(path)
