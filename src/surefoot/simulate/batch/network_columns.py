"""Networks over columns: the outputs for many rows at once, bit for bit those of the reference.

Chains of affine layers and ReLUs are machine code (`simulate/forward_pass.py`), sixteen rows through all of
their layers at a time. Everything else is done by `problem/meaning/inference.py`, node by node.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.problem.meaning.inference import infer_node
from surefoot.problem.network import Activation, Affine, Array32, Network, Node, Shape, node_sources
from surefoot.simulate.forward_pass import BLOCK_ROWS, OUTPUT_GROUP, affine_kernel_text
from surefoot.work.machine.jit import Machine, cache_folder, compile_llvm_ir
from surefoot.work.machine.llvm_ir import IrFunction

_LAYER_SIZE = 5
_ROWS, _MANY_ROWS = 512, 4096  # of a piece of the batch where values of all nodes are kept, or of two
_Integers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    """Affine layers, each perhaps with a ReLU, where the kernel finds them: value `source` to value `result`."""

    source: int
    result: int
    inputs: int
    outputs: int
    room: int  # floats of all values between two layers
    table: _Integers
    kept: list[Array32] = field(default_factory=list)

    def forward(self, x: Array32) -> Array32:
        """From a row for each input to one for each output; rows are a multiple of sixteen long."""
        rows = x.shape[1]
        y = np.empty((-(-self.outputs // OUTPUT_GROUP) * OUTPUT_GROUP, rows), dtype=np.float32)
        room = np.empty(2 * self.room, dtype=np.float32)
        _forward_function()(
            x.ctypes.data,
            rows,
            y.ctypes.data,
            rows // BLOCK_ROWS,
            self.table.ctypes.data,
            len(self.table) // _LAYER_SIZE,
            room.ctypes.data,
            self.room,
        )
        return y[: self.outputs]


@dataclass(frozen=True, slots=True, eq=False)
class ColumnNetwork:
    """A network as a function of columns."""

    network: Network
    parts: tuple[_Chain | Node, ...]

    def outputs(self, inputs: Sequence[Any], count: int) -> Array32:
        """From a column for each input to a row for each output."""
        most = _MANY_ROWS if len(self.parts) == 1 else _ROWS
        found = np.empty((self.network.outputs, count), dtype=np.float32)
        with np.errstate(all="ignore"):
            for start in range(0, count, most):
                rows = min(most, count - start)
                x = np.empty((self.network.width, -(-rows // BLOCK_ROWS) * BLOCK_ROWS), dtype=np.float32)
                x[:, rows:] = 0
                for place, column in enumerate(inputs):
                    x[place, :rows] = column[start : start + rows]
                values = {0: x}
                for number, part in enumerate(self.parts):
                    if isinstance(part, _Chain):
                        values[part.result] = part.forward(values[part.source])
                    else:
                        values[_result_of(self.parts, number)] = _infer_rows(part, values)
                found[:, start : start + rows] = values[len(self.network.nodes)][:, :rows]
        return found


def _result_of(parts: Sequence[_Chain | Node], number: int) -> int:
    """Which value of the network a part that is one node gives."""
    before = next((n for n in range(number - 1, -1, -1) if isinstance(parts[n], _Chain)), None)
    if before is None:
        return number + 1
    chain = parts[before]
    assert isinstance(chain, _Chain)
    return chain.result + number - before


def _infer_rows(node: Node, values: dict[int, Array32]) -> Array32:
    sources = node_sources(node)
    known = [values[n].T if n in sources else np.empty((0, 0), np.float32) for n in range(max(sources) + 1)]
    return np.ascontiguousarray(infer_node(node, known).T)


def compile_column_network(network: Network) -> ColumnNetwork:
    """The layers that follow each other and are used nowhere else become chains."""
    readers: dict[int, int] = {}
    for node in network.nodes:
        for source in node_sources(node):
            readers[source] = readers.get(source, 0) + 1
    parts: list[_Chain | Node] = []
    number = 0
    while number < len(network.nodes):
        node = network.nodes[number]
        if not isinstance(node, Affine):
            parts.append(node)
            number += 1
            continue
        layers, source = [[node, False]], node.source
        number += 1
        while number < len(network.nodes) and readers.get(number, 0) == 1:
            match network.nodes[number]:
                case Affine(before) as affine if before == number:
                    layers.append([affine, False])
                case Activation(before, Shape.RELU) if before == number and not layers[-1][1]:
                    layers[-1][1] = True
                case _:
                    break
            number += 1
        parts.append(_make_chain(source, number, layers))
    return ColumnNetwork(network, tuple(parts))


def _make_chain(source: int, result: int, layers: Sequence[Sequence[Any]]) -> _Chain:
    numbers: list[int] = []
    kept: list[Array32] = []
    for affine, relu in layers:
        outputs, inputs = affine.weights.shape
        groups = -(-outputs // OUTPUT_GROUP)
        weights = np.zeros((groups * OUTPUT_GROUP, inputs), dtype=np.float32)
        weights[:outputs] = affine.weights
        bias = np.zeros(groups * OUTPUT_GROUP, dtype=np.float32)
        bias[:outputs] = affine.bias
        packed = np.ascontiguousarray(weights.reshape(groups, OUTPUT_GROUP, inputs).transpose(0, 2, 1))
        kept += [packed, bias]
        numbers += [inputs, groups, packed.ctypes.data, bias.ctypes.data, relu]
    widest = max(max(affine.weights.shape) for affine, _ in layers) + OUTPUT_GROUP
    first, last = layers[0][0].weights.shape[1], layers[-1][0].weights.shape[0]
    return _Chain(source, result, first, last, widest * BLOCK_ROWS, np.array(numbers, dtype=np.int64), kept)


@cache
def _machine() -> Machine:
    text = "\n".join([affine_kernel_text(), _forward_text()])
    return compile_llvm_ir(text, cache_folder(), level=2)


@cache
def _forward_function() -> Any:
    kinds = [
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_int64,
        ctypes.c_void_p,
        ctypes.c_int64,
    ]
    return ctypes.CFUNCTYPE(None, *kinds, ctypes.c_void_p, ctypes.c_int64)(_machine().address("forward_rows"))


def _forward_text() -> str:
    """All layers for each block of sixteen rows."""
    f = IrFunction(
        "forward_rows",
        "ptr %x, i64 %stride, ptr %y, i64 %blocks, ptr %layers, i64 %count, ptr %values, i64 %room",
        "void",
    )
    last = f.sub("%count", "1")
    with f.count("0", "%blocks") as block:
        first = f.mul(block, BLOCK_ROWS)
        with f.count("0", "%count") as n:
            layer = f.at("%layers", f.mul(n, _LAYER_SIZE))
            side = f.value(f"and i64 {n}, 1")
            own, other = f.at("%values", f.mul(side, "%room"), "float"), f.sub("1", side)
            at_start, at_end = f.compare("eq", n, "0"), f.compare("eq", n, last)
            there = f.at("%values", f.mul(other, "%room"), "float")
            x = f.value(f"select i1 {at_start}, ptr {f.at('%x', first, 'float')}, ptr {own}")
            y = f.value(f"select i1 {at_end}, ptr {f.at('%y', first, 'float')}, ptr {there}")
            xs, ys = (f.value(f"select i1 {c}, i64 %stride, i64 {BLOCK_ROWS}") for c in (at_start, at_end))
            inputs, groups = f.load(layer, 0), f.load(layer, 1)
            weights, bias = (f.value(f"inttoptr i64 {f.load(layer, i)} to ptr") for i in (2, 3))
            relu = f.compare("ne", f.load(layer, 4), "0")
            f.do(
                f"call void @affine(ptr {x}, ptr {weights}, ptr {bias}, ptr {y}, "
                f"i64 {xs}, i64 {ys}, i64 {inputs}, i64 {groups}, i1 {relu})"
            )
    f.do("ret void")
    return f.text()
