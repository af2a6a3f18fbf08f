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
from surefoot.simulate.batch.row_parts import run_row_parts
from surefoot.simulate.forward_pass import BLOCK_ROWS, OUTPUT_GROUP, affine_kernel_text
from surefoot.work.machine.jit import Machine, cache_folder, compile_llvm_ir
from surefoot.work.machine.llvm_ir import IrFunction

_PIECE_SIZE = 9
_ROWS, _MANY_ROWS = 512, 4096  # of a piece of the batch where values of all nodes are kept, or of two
_Integers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    """Affine layers, each perhaps with a ReLU, where the kernel finds them.

    They lead from value `source` of the network to value `result`.
    """

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
        y = np.empty((self.outputs, rows), dtype=np.float32)
        room = np.empty(2 * self.room, dtype=np.float32)
        at_x, at_y, at_table, at_room = (
            array.__array_interface__["data"][0] for array in (x, y, self.table, room)
        )
        pieces, blocks = len(self.table) // _PIECE_SIZE, rows // BLOCK_ROWS
        _forward_function()(at_x, rows, at_y, blocks, at_table, pieces, at_room, self.room)
        return y


@dataclass(frozen=True, slots=True, eq=False)
class ColumnNetwork:
    """A network as a function of columns."""

    network: Network
    parts: tuple[_Chain | Node, ...]

    def outputs(self, inputs: Sequence[Any], count: int, threads: int = 1) -> Array32:
        """From a column for each input to a row for each output."""
        found = np.empty((self.network.outputs, count), dtype=np.float32)
        run_row_parts(count, threads, lambda start, stop: self._fill(found, inputs, start, stop))
        return found

    def _fill(self, found: Array32, inputs: Sequence[Any], begin: int, end: int) -> int:
        most = _MANY_ROWS if len(self.parts) == 1 else _ROWS
        with np.errstate(all="ignore"):
            for start in range(begin, end, most):
                rows = min(most, end - start)
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
        return 0


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
    for place, (affine, relu) in enumerate(layers):
        outputs = len(affine.weights)
        whole = outputs - outputs % OUTPUT_GROUP
        for first, last, size in ((0, whole, OUTPUT_GROUP), (whole, outputs, outputs - whole)):
            if first == last:
                continue
            weights, bias = affine.weights[first:last], np.ascontiguousarray(affine.bias[first:last])
            groups, inputs = (last - first) // size, weights.shape[1]
            packed = np.ascontiguousarray(weights.reshape(groups, size, inputs).transpose(0, 2, 1))
            kept += [packed, bias]
            ends = (place == 0) + 2 * (place == len(layers) - 1)
            moves = last == outputs  # the layer is done
            numbers += [inputs, groups, packed.ctypes.data, bias.ctypes.data, relu, size, first, ends, moves]
    widest = max(max(affine.weights.shape) for affine, _ in layers)
    first, last = layers[0][0].weights.shape[1], layers[-1][0].weights.shape[0]
    return _Chain(source, result, first, last, widest * BLOCK_ROWS, np.array(numbers, dtype=np.int64), kept)


@cache
def _machine() -> Machine:
    sizes = range(1, OUTPUT_GROUP + 1)
    text = "\n".join([*(affine_kernel_text(size) for size in sizes), _forward_text()])
    return compile_llvm_ir(text, cache_folder(), level=2)


@cache
def _forward_function() -> Any:
    address, number = ctypes.c_void_p, ctypes.c_int64
    kinds = [address, number, address, number, address, number, address, number]
    return ctypes.CFUNCTYPE(None, *kinds)(_machine().address("forward_rows"))


def _forward_text() -> str:
    """All pieces of all layers for each block of sixteen rows."""
    f = IrFunction(
        "forward_rows",
        "ptr %x, i64 %stride, ptr %y, i64 %blocks, ptr %pieces, i64 %count, ptr %values, i64 %room",
        "void",
    )
    with f.count("0", "%blocks") as block:
        first, side = f.mul(block, BLOCK_ROWS), f.variable("0")
        f.set_variable(side, "0")
        with f.count("0", "%count") as n:
            piece = f.at("%pieces", f.mul(n, _PIECE_SIZE))
            inputs, groups, weights, bias, relu, size, offset, ends, moves = (
                f.load(piece, i) for i in range(_PIECE_SIZE)
            )
            here = f.get(side)
            there = f.sub("1", here)
            at_start, at_end = (f.compare("ne", f.value(f"and i64 {ends}, {bit}"), "0") for bit in (1, 2))
            xs, ys = (f.value(f"select i1 {c}, i64 %stride, i64 {BLOCK_ROWS}") for c in (at_start, at_end))
            own, other = (f.at("%values", f.mul(s, "%room"), "float") for s in (here, there))
            x = f.value(f"select i1 {at_start}, ptr {f.at('%x', first, 'float')}, ptr {own}")
            y = f.value(f"select i1 {at_end}, ptr {f.at('%y', first, 'float')}, ptr {other}")
            rows = f.at(y, f.mul(offset, ys), "float")
            for number in range(1, OUTPUT_GROUP + 1):
                with f.when(f.compare("eq", size, str(number))):
                    w, b = (f.value(f"inttoptr i64 {a} to ptr") for a in (weights, bias))
                    flag = f.compare("ne", relu, "0")
                    f.do(
                        f"call void @affine{number}(ptr {x}, ptr {w}, ptr {b}, ptr {rows}, "
                        f"i64 {xs}, i64 {ys}, i64 {inputs}, i64 {groups}, i1 {flag})"
                    )
            with f.when(f.compare("ne", moves, "0")):
                f.set_variable(side, there)
    f.do("ret void")
    return f.text()
