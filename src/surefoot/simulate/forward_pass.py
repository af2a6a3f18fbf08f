"""Networks in machine code, bit for bit as the reference computes them, and the actions that they choose.

`problem/meaning/inference.py` fixes the order of all operations: products are added up from the first input
to the last, then the bias, nothing is fused. That leaves the rows of a batch and the outputs free: sixteen
rows are worked on at a time, and six outputs of them are kept in registers. As nothing is rounded
differently there is no error to be bounded, and nothing to be checked again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from surefoot.explore.llvm.kernel_memory import KernelMemory
from surefoot.explore.llvm.kernel_table import KernelField, KernelFunction
from surefoot.problem.network import Activation, Affine, Array32, Network, Shape
from surefoot.simulate.chain_nodes import (
    UNKNOWN,
    NodeField,
    load_field,
    node_address,
    store_field,
    test_flag,
)
from surefoot.simulate.random_words import LANE_SIZE, LaneField
from surefoot.work.machine.jit import Machine
from surefoot.work.machine.llvm_ir import IrFunction

BLOCK_ROWS = 16  # of a block: one vector, or as many as the machine needs for it
OUTPUT_GROUP = 6  # outputs that are computed together
_VECTOR = f"<{BLOCK_ROWS} x float>"
_LAYER_SIZE = 5


def affine_relu_layers(network: Network) -> tuple[tuple[Affine, bool], ...] | None:
    """Its layers, each with whether a ReLU follows; None if there is anything else in it."""
    found: list[tuple[Affine, bool]] = []
    for number, node in enumerate(network.nodes):
        match node:
            case Affine(source) if source == number:
                found.append((node, False))
            case Activation(source, Shape.RELU) if source == number and found and not found[-1][1]:
                found[-1] = (found[-1][0], True)
            case _:
                return None
    return tuple(found) or None


class MachineNetwork:
    """The weights of a network where the kernel finds them."""

    def __init__(
        self, memory: KernelMemory, kernel: Machine, layers: tuple[tuple[Affine, bool], ...], applicable: bool
    ) -> None:
        self._memory, self._kernel = memory, kernel
        self._arrays: list[Array32] = []
        numbers: list[int] = []
        for affine, relu in layers:
            outputs, inputs = affine.weights.shape
            groups = -(-outputs // OUTPUT_GROUP)
            weights = np.zeros((groups * OUTPUT_GROUP, inputs), dtype=np.float32)
            weights[:outputs] = affine.weights
            bias = np.zeros(groups * OUTPUT_GROUP, dtype=np.float32)
            bias[:outputs] = affine.bias
            packed = np.ascontiguousarray(weights.reshape(groups, OUTPUT_GROUP, inputs).transpose(0, 2, 1))
            self._arrays += [packed, bias]
            numbers += [inputs, groups, packed.ctypes.data, bias.ctypes.data, relu]
        widest = max(max(affine.weights.shape) for affine, _ in layers) + OUTPUT_GROUP
        memory.put_list(KernelField.LAYERS, numbers)
        memory[KernelField.LAYER_COUNT], memory[KernelField.VALUE_ROOM] = len(layers), widest * BLOCK_ROWS
        memory.put_array(KernelField.VALUES, np.zeros(2 * widest * BLOCK_ROWS, dtype=np.float32))
        memory.put_array(
            KernelField.OBSERVATIONS, np.zeros((BLOCK_ROWS, layers[0][0].weights.shape[1]), dtype=np.float32)
        )
        memory[KernelField.INPUT_COUNT] = layers[0][0].weights.shape[1]
        memory[KernelField.OUTPUT_COUNT] = layers[-1][0].weights.shape[0]
        memory[KernelField.APPLICABLE] = applicable

    def decide(self) -> None:
        """For the lanes in WAITING; those that are left over stay there."""
        self._memory.call(self._kernel, "forward")


def forward_kernel_text() -> str:
    functions = (
        _observe_function(),
        _gather_function(),
        _network_function(),
        _argmax_function(),
        _forward_function(),
    )
    return "\n".join([affine_kernel_text(), *(f.text() for f in functions)])


def affine_kernel_text(size: int = OUTPUT_GROUP) -> str:
    """y = weights x + bias for sixteen rows, `size` outputs at a time, then perhaps a ReLU.

    xs, ys: from one input or output to the next.
    """
    read = "ptr noalias nocapture readonly"
    return "\n".join(
        [
            f"define internal void @affine{size}({read} %x, {read} %w, {read} %b, ptr noalias nocapture %y,"
            " i64 %xs, i64 %ys, i64 %inputs, i64 %groups, i1 %relu)"
            f' nounwind "min-legal-vector-width"="{32 * BLOCK_ROWS}" {{',
            "entry:",
            "  br label %group",
            "group:",
            "  %g = phi i64 [0, %entry], [%g1, %done]",
            f"  %size = mul i64 %inputs, {size}",
            "  %start = mul i64 %g, %size",
            "  %wg = getelementptr float, ptr %w, i64 %start",
            "  br label %inner",
            *_inner_loop_lines(size),
            *_store_lines(size),
            "  %g1 = add i64 %g, 1",
            "  %more = icmp slt i64 %g1, %groups",
            "  br i1 %more, label %group, label %end",
            "end:",
            "  ret void",
            "}",
        ]
    )


def _splat_lines(name: str, scalar: str) -> Iterator[str]:
    yield f"  %{name}i = insertelement {_VECTOR} poison, float {scalar}, i64 0"
    zeros = f"<{BLOCK_ROWS} x i32> zeroinitializer"
    yield f"  %{name} = shufflevector {_VECTOR} %{name}i, {_VECTOR} poison, {zeros}"


def _inner_loop_lines(size: int) -> Iterator[str]:
    """One input: its product with the weight of each output, added to each sum."""
    yield "inner:"
    yield "  %i = phi i64 [0, %group], [%i1, %inner]"
    for t in range(size):
        yield f"  %a{t} = phi {_VECTOR} [zeroinitializer, %group], [%s{t}, %inner]"
    yield "  %row = mul i64 %i, %xs"
    yield "  %xp = getelementptr float, ptr %x, i64 %row"
    yield f"  %xv = load {_VECTOR}, ptr %xp, align 4"
    yield f"  %column = mul i64 %i, {size}"
    yield "  %wp = getelementptr float, ptr %wg, i64 %column"
    for t in range(size):
        yield f"  %wp{t} = getelementptr float, ptr %wp, i64 {t}"
        yield f"  %wl{t} = load float, ptr %wp{t}, align 4"
        yield from _splat_lines(f"w{t}", f"%wl{t}")
        yield f"  %p{t} = fmul {_VECTOR} %w{t}, %xv"
        yield f"  %s{t} = fadd {_VECTOR} %a{t}, %p{t}"
    yield "  %i1 = add i64 %i, 1"
    yield "  %again = icmp slt i64 %i1, %inputs"
    yield "  br i1 %again, label %inner, label %done"


def _store_lines(size: int) -> Iterator[str]:
    yield "done:"
    yield f"  %first = mul i64 %g, {size}"
    for t in range(size):
        yield f"  %o{t} = add i64 %first, {t}"
        yield f"  %bp{t} = getelementptr float, ptr %b, i64 %o{t}"
        yield f"  %bl{t} = load float, ptr %bp{t}, align 4"
        yield from _splat_lines(f"b{t}", f"%bl{t}")
        yield f"  %t{t} = fadd {_VECTOR} %s{t}, %b{t}"
        yield f"  %n{t} = fcmp olt {_VECTOR} %t{t}, zeroinitializer"
        yield f"  %z{t} = select <{BLOCK_ROWS} x i1> %n{t}, {_VECTOR} zeroinitializer, {_VECTOR} %t{t}"
        yield f"  %r{t} = select i1 %relu, {_VECTOR} %z{t}, {_VECTOR} %t{t}"
        yield f"  %yr{t} = mul i64 %o{t}, %ys"
        yield f"  %yp{t} = getelementptr float, ptr %y, i64 %yr{t}"
        yield f"  store {_VECTOR} %r{t}, ptr %yp{t}, align 4"


def _observe_function() -> IrFunction:
    """What the network sees in the state of a lane, as a row of OBSERVATIONS."""
    f = KernelFunction("observe_lane", ", i64 %number, i64 %row")
    state, numbers = (
        load_field(f, _lane_address(f, "%number"), LaneField.STATE),
        f.address(KernelField.NUMBERS),
    )
    packed = f.at(f.address(KernelField.STATES), f.mul(state, f.field(KernelField.WORDS)))
    f.call(f.address(KernelField.UNPACK), packed, numbers)
    row = f.at(f.address(KernelField.OBSERVATIONS), f.mul("%row", f.field(KernelField.INPUT_COUNT)), "float")
    f.do(f"ret i64 {f.call(f.address(KernelField.OBSERVE), numbers, row)}")
    return f


def _gather_function() -> IrFunction:
    """A row for each lane in WAITING; its first number is not one where something is undefined."""
    f = KernelFunction("gather", internal=False)
    with f.count("0", f.field(KernelField.WAITING_COUNT)) as r:
        status = f.own("observe_lane", f.item(KernelField.WAITING, r), r)
        with f.when(f.compare("ne", status, "0")):
            place = f.mul(r, f.field(KernelField.INPUT_COUNT))
            f.store(f.address(KernelField.OBSERVATIONS), place, "0x7FF8000000000000", "float")
    f.do("ret i64 0")
    return f


def _network_function() -> IrFunction:
    """All layers for the block in VALUES; where the outputs are, 0 or 1."""
    f = KernelFunction("network", internal=False)
    side, room = f.variable("0"), f.field(KernelField.VALUE_ROOM)
    with f.count("0", f.field(KernelField.LAYER_COUNT)) as n:
        layer = f.at(f.address(KernelField.LAYERS), f.mul(n, str(_LAYER_SIZE)))
        other = f.sub("1", f.get(side))
        here = f.at(f.address(KernelField.VALUES), f.mul(f.get(side), room), "float")
        there = f.at(f.address(KernelField.VALUES), f.mul(other, room), "float")
        inputs, groups = f.load(layer, "0"), f.load(layer, "1")
        weights, bias = (f.value(f"inttoptr i64 {f.load(layer, i)} to ptr") for i in ("2", "3"))
        relu = f.compare("ne", f.load(layer, "4"), "0")
        f.do(
            f"call void @affine{OUTPUT_GROUP}(ptr {here}, ptr {weights}, ptr {bias}, ptr {there}, "
            f"i64 {BLOCK_ROWS}, i64 {BLOCK_ROWS}, i64 {inputs}, i64 {groups}, i1 {relu})"
        )
        f.set_variable(side, other)
    f.do(f"ret i64 {f.get(side)}")
    return f


def _argmax_function() -> IrFunction:
    """The action of a row: the largest output, the lowest of equals; UNKNOWN if an output is not finite."""
    f = KernelFunction("best", ", i64 %side, i64 %row, i64 %mask")
    room = f.field(KernelField.VALUE_ROOM)
    outputs = f.at(f.address(KernelField.VALUES), f.add(f.mul("%side", room), "%row"), "float")
    largest = f.value("alloca float")
    f.do(f"store float 0.0, ptr {largest}")
    found = f.variable(str(UNKNOWN))
    every = f.compare("eq", f.field(KernelField.APPLICABLE), "0")
    with f.count("0", f.field(KernelField.OUTPUT_COUNT)) as k:
        value = f.load(outputs, f.mul(k, str(BLOCK_ROWS)), "float")
        size = f.value(f"call float @llvm.fabs.f32(float {value})")
        infinite = f.value(f"fcmp uge float {size}, 0x7FF0000000000000")
        f.fail(infinite, UNKNOWN)
        bit = f.value(f"and i64 {f.value(f'lshr i64 %mask, {k}')}, 1")
        allowed = f.value(f"or i1 {every}, {f.compare('ne', bit, '0')}")
        first = f.compare("slt", f.get(found), "0")
        more = f.value(f"fcmp ogt float {value}, {f.value(f'load float, ptr {largest}')}")
        better = f.value(f"and i1 {allowed}, {f.value(f'or i1 {first}, {more}')}")
        with f.when(better):
            f.set_variable(found, k)
            f.do(f"store float {value}, ptr {largest}")
    f.do(f"ret i64 {f.get(found)}")
    return f


def _forward_function() -> IrFunction:
    """Decide for the lanes in WAITING; those that are left over keep their place in it."""
    f = KernelFunction("forward", internal=False)
    waiting, count, values = (
        f.address(KernelField.WAITING),
        f.field(KernelField.WAITING_COUNT),
        f.address(KernelField.VALUES),
    )
    left, start = f.variable("0"), f.variable("0")
    with f.loop() as done:
        f.leave(f.compare("sge", f.get(start), count), done)
        rest = f.sub(count, f.get(start))
        rows = f.value(f"select i1 {f.compare('slt', rest, str(BLOCK_ROWS))}, i64 {rest}, i64 {BLOCK_ROWS}")
        bad = f.variable("0")
        with f.count("0", rows) as r:
            status = f.own("observe_lane", f.load(waiting, f.add(f.get(start), r)), "0")
            with f.when(f.compare("ne", status, "0")):
                f.set_variable(bad, f.value(f"or i64 {f.get(bad)}, {f.value(f'shl i64 1, {r}')}"))
            with f.count("0", f.field(KernelField.INPUT_COUNT)) as i:
                value = f.load(f.address(KernelField.OBSERVATIONS), i, "float")
                f.store(values, f.add(f.mul(i, str(BLOCK_ROWS)), r), value, "float")
        side = f.own("network")
        with f.count("0", rows) as r:
            which = f.load(waiting, f.add(f.get(start), r))
            lane = _lane_address(f, which)
            node = node_address(
                f, f.load(f.address(KernelField.NODE_OF), load_field(f, lane, LaneField.STATE))
            )
            mask, action = load_field(f, node, NodeField.MASK), f.variable(str(UNKNOWN))
            with f.when(f.value(f"xor i1 {test_flag(f, f.value(f'lshr i64 {f.get(bad)}, {r}'), 1)}, true")):
                f.set_variable(action, f.own("best", side, r, mask))
            store_field(f, lane, LaneField.DECISION, f.get(action))
            with f.when(f.compare("slt", f.get(action), "0")):
                f.store(waiting, f.get(left), which)
                f.set_variable(left, f.add(f.get(left), "1"))
            with f.when(f.compare("sge", f.get(action), "0")):
                store_field(f, node, NodeField.DECISION, f.get(action))
                enabled = test_flag(f, f.value(f"lshr i64 {mask}, {f.get(action)}"), 1)
                store_field(
                    f, node, NodeField.STALLS, f.value(f"zext i1 {f.value(f'xor i1 {enabled}, true')} to i64")
                )
                store_field(f, node, NodeField.CHOSEN, f.value(f"shl i64 1, {f.get(action)}"))
        f.set_variable(start, f.add(f.get(start), rows))
    f.put_field(KernelField.WAITING_COUNT, f.get(left))
    f.do("ret i64 0")
    return f


def _lane_address(f: KernelFunction, number: str) -> str:
    return f.at(f.address(KernelField.LANES), f.mul(number, str(LANE_SIZE)))
