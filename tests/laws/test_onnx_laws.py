"""The reader computes what onnxruntime computes on random graphs, and survives any damage to a file."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import NodeProto
from tests.formats.onnx_models import dense, model, node

from surefoot.errors import SurefootError
from surefoot.formats.onnx import read_onnx_bytes
from surefoot.formats.onnx.runtime_comparison import compare_with_onnxruntime


@st.composite
def chains(draw: st.DrawFn) -> tuple[bytes, int]:
    """A model over a (1, rows, columns) tensor: up to six operations that may look back at older values."""
    shape = (1, draw(st.integers(1, 3)), draw(st.integers(1, 4)))
    width = int(np.prod(shape))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    nodes: list[NodeProto] = []
    constants: dict[str, np.ndarray] = {}
    values = {"x": shape}
    for number in range(draw(st.integers(1, 6))):
        source = draw(st.sampled_from(sorted(values)))
        other = draw(st.sampled_from(sorted(n for n, s in values.items() if s == values[source])))
        operation = draw(st.sampled_from(OPERATIONS))
        made, result, needs = operation(source, other, f"v{number}", f"c{number}", values[source], random)
        nodes.append(made)
        constants |= needs
        values[f"v{number}"] = result
    nodes.append(node("Flatten", f"v{len(nodes) - 1}", "y"))
    return model(nodes, shape, constants), width


def _unary(op: str, **attributes: float):
    return lambda source, other, name, c, shape, random: (node(op, source, name, **attributes), shape, {})


def _binary(op: str):
    return lambda source, other, name, c, shape, random: (node(op, f"{source} {other}", name), shape, {})


def _with_constant(op: str, low: float, front: bool = False):
    def make(source, other, name, c, shape, random):
        size = shape[random.integers(0, 3) :]
        names = f"{c} {source}" if front else f"{source} {c}"
        return node(op, names, name), shape, {c: random.uniform(low, 1.5, size).astype(np.float32)}

    return make


def _product(source, other, name, c, shape, random):
    columns = int(random.integers(1, 5))
    matrix = random.uniform(-1, 1, (shape[-1], columns)).astype(np.float32)
    return node("MatMul", f"{source} {c}", name), (*shape[:-1], columns), {c: matrix}


def _product_left(source, other, name, c, shape, random):
    rows = int(random.integers(1, 4))
    matrix = random.uniform(-1, 1, (rows, shape[1])).astype(np.float32)
    return node("MatMul", f"{c} {source}", name), (1, rows, shape[2]), {c: matrix}


def _turn(source, other, name, c, shape, random):
    return node("Transpose", source, name, perm=[0, 2, 1]), (1, shape[2], shape[1]), {}


def _join(source, other, name, c, shape, random):
    return node("Concat", f"{source} {other}", name, axis=2), (1, shape[1], 2 * shape[2]), {}


def _gather(source, other, name, c, shape, random):
    places = random.integers(-shape[2], shape[2], int(random.integers(1, 5)))
    return node("Gather", f"{source} {c}", name, axis=2), (1, shape[1], len(places)), {c: places}


def _reverse(source, other, name, c, shape, random):
    cut = {f"{c}s": [-1], f"{c}e": [-(2**31)], f"{c}a": [1], f"{c}t": [-1]}
    names = f"{source} {c}s {c}e {c}a {c}t"
    return node("Slice", names, name), shape, {k: np.array(v) for k, v in cut.items()}


def _total(source, other, name, c, shape, random):
    axis = int(random.integers(1, 3))
    result = tuple(1 if i == axis else d for i, d in enumerate(shape))
    return node("ReduceSum", f"{source} {c}", name, keepdims=1), result, {c: np.array([axis])}


OPERATIONS = [
    _unary("Relu"),
    _unary("Tanh"),
    _unary("Sigmoid"),
    _unary("Neg"),
    _unary("LeakyRelu", alpha=0.125),
    *(_binary(op) for op in ("Add", "Sub", "Mul", "Max", "Min", "Div")),
    *(_with_constant(op, -1.5) for op in ("Add", "Sub", "Mul", "Max", "Min")),
    _with_constant("Sub", -1.5, front=True),
    _with_constant("Div", 0.5),
    _with_constant("Div", 0.5, front=True),
    _product,
    _product_left,
    _turn,
    _join,
    _gather,
    _reverse,
    _total,
]


@settings(max_examples=150, deadline=None)
@given(chains())
def test_random_graphs_agree_with_onnxruntime(drawn: tuple[bytes, int]) -> None:
    data, width = drawn
    network = read_onnx_bytes(data)
    assert network.width == width
    result = compare_with_onnxruntime(data, network, samples=20, seed=3)
    assert result.unexplained == 0, result
    assert result.argmax_differences == result.near_ties, result


WHOLE = dense()


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=4))
def test_a_damaged_file_is_read_or_refused(damage: list[tuple[int, int]]) -> None:
    changed = bytearray(WHOLE)
    for place, byte in damage:
        changed[place] = byte
    _read_or_refuse(bytes(changed))


@settings(max_examples=200, deadline=None)
@given(st.integers(0, len(WHOLE)), st.binary(max_size=40), st.integers(0, 40))
def test_a_file_with_bytes_replaced_is_read_or_refused(place: int, inserted: bytes, dropped: int) -> None:
    _read_or_refuse(WHOLE[:place] + inserted + WHOLE[place + dropped :])


@settings(max_examples=150, deadline=None)
@given(chains(), st.data())
def test_a_damaged_graph_is_read_or_refused(drawn: tuple[bytes, int], data: st.DataObject) -> None:
    changed = bytearray(drawn[0])
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    _read_or_refuse(bytes(changed))


def _read_or_refuse(data: bytes) -> None:
    try:
        outcome = read_onnx_bytes(data).outputs
    except SurefootError as error:
        outcome = error.exit_code if "\n" not in str(error) else 0
    assert outcome >= 1
