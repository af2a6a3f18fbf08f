"""Networks in machine code, bit for bit as the reference computes them, and the actions that they choose.

`problem/meaning/inference.py` fixes the order of all operations: products are added up from the first input
to the last, then the bias, nothing is fused. That leaves the rows of a batch and the outputs free: sixteen
rows are worked on at a time, and six outputs of them are kept in registers. As nothing is rounded
differently there is no error to be bounded, and nothing to be checked again.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from surefoot.compile.llvm.memory import Memory
from surefoot.compile.llvm.table import Field, Kernel
from surefoot.compile.simulation.node import UNKNOWN, Node, at_node, get, has, put
from surefoot.compile.simulation.words import LANE_SIZE, Lane
from surefoot.problem.network import Activation, Affine, Array32, Network, Shape
from surefoot.work.machine.code import Machine
from surefoot.work.machine.text import Function

_ROWS = 16  # of a block: one vector, or as many as the machine needs for it
_GROUP = 6  # outputs that are computed together
_VECTOR = f"<{_ROWS} x float>"
_LAYER_SIZE = 5


def layers_of(network: Network) -> tuple[tuple[Affine, bool], ...] | None:
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


class Forward:
    """The weights of a network where the kernel finds them."""

    def __init__(
        self, memory: Memory, kernel: Machine, layers: tuple[tuple[Affine, bool], ...], applicable: bool
    ) -> None:
        self._memory, self._kernel = memory, kernel
        self._arrays: list[Array32] = []
        numbers: list[int] = []
        for affine, relu in layers:
            outputs, inputs = affine.weights.shape
            groups = -(-outputs // _GROUP)
            weights = np.zeros((groups * _GROUP, inputs), dtype=np.float32)
            weights[:outputs] = affine.weights
            bias = np.zeros(groups * _GROUP, dtype=np.float32)
            bias[:outputs] = affine.bias
            packed = np.ascontiguousarray(weights.reshape(groups, _GROUP, inputs).transpose(0, 2, 1))
            self._arrays += [packed, bias]
            numbers += [inputs, groups, packed.ctypes.data, bias.ctypes.data, relu]
        widest = max(max(affine.weights.shape) for affine, _ in layers) + _GROUP
        memory.put_list(Field.LAYERS, numbers)
        memory[Field.LAYER_COUNT], memory[Field.VALUE_ROOM] = len(layers), widest * _ROWS
        memory.put(Field.VALUES, np.zeros(2 * widest * _ROWS, dtype=np.float32))
        memory.put(Field.OBSERVATIONS, np.zeros((_ROWS, layers[0][0].weights.shape[1]), dtype=np.float32))
        memory[Field.INPUT_COUNT] = layers[0][0].weights.shape[1]
        memory[Field.OUTPUT_COUNT] = layers[-1][0].weights.shape[0]
        memory[Field.APPLICABLE] = applicable

    def decide(self) -> None:
        """For the lanes in WAITING; those that are left over stay there."""
        self._memory.call(self._kernel, "forward")


def forward_text() -> str:
    functions = (_observe(), _gather(), _network(), _best(), _forward())
    return "\n".join([_affine(), *(f.text() for f in functions)])


def _affine() -> str:
    """y = weights x + bias for sixteen rows, then perhaps a ReLU."""
    read = "ptr noalias nocapture readonly"
    return "\n".join(
        [
            f"define internal void @affine({read} %x, {read} %w, {read} %b, ptr noalias nocapture %y,"
            " i64 %inputs, i64 %groups, i1 %relu)"
            f' nounwind "min-legal-vector-width"="{32 * _ROWS}" {{',
            "entry:",
            "  br label %group",
            "group:",
            "  %g = phi i64 [0, %entry], [%g1, %done]",
            "  %size = mul i64 %inputs, " + str(_GROUP),
            "  %start = mul i64 %g, %size",
            "  %wg = getelementptr float, ptr %w, i64 %start",
            "  br label %inner",
            *_inner(),
            *_done(),
            "  %g1 = add i64 %g, 1",
            "  %more = icmp slt i64 %g1, %groups",
            "  br i1 %more, label %group, label %end",
            "end:",
            "  ret void",
            "}",
        ]
    )


def _splat(name: str, scalar: str) -> Iterator[str]:
    yield f"  %{name}i = insertelement {_VECTOR} poison, float {scalar}, i64 0"
    yield f"  %{name} = shufflevector {_VECTOR} %{name}i, {_VECTOR} poison, <{_ROWS} x i32> zeroinitializer"


def _inner() -> Iterator[str]:
    """One input: its product with the weight of each output, added to each sum."""
    yield "inner:"
    yield "  %i = phi i64 [0, %group], [%i1, %inner]"
    for t in range(_GROUP):
        yield f"  %a{t} = phi {_VECTOR} [zeroinitializer, %group], [%s{t}, %inner]"
    yield f"  %row = mul i64 %i, {_ROWS}"
    yield "  %xp = getelementptr float, ptr %x, i64 %row"
    yield f"  %xv = load {_VECTOR}, ptr %xp, align 4"
    yield f"  %column = mul i64 %i, {_GROUP}"
    yield "  %wp = getelementptr float, ptr %wg, i64 %column"
    for t in range(_GROUP):
        yield f"  %wp{t} = getelementptr float, ptr %wp, i64 {t}"
        yield f"  %wl{t} = load float, ptr %wp{t}, align 4"
        yield from _splat(f"w{t}", f"%wl{t}")
        yield f"  %p{t} = fmul {_VECTOR} %w{t}, %xv"
        yield f"  %s{t} = fadd {_VECTOR} %a{t}, %p{t}"
    yield "  %i1 = add i64 %i, 1"
    yield "  %again = icmp slt i64 %i1, %inputs"
    yield "  br i1 %again, label %inner, label %done"


def _done() -> Iterator[str]:
    yield "done:"
    yield f"  %first = mul i64 %g, {_GROUP}"
    for t in range(_GROUP):
        yield f"  %o{t} = add i64 %first, {t}"
        yield f"  %bp{t} = getelementptr float, ptr %b, i64 %o{t}"
        yield f"  %bl{t} = load float, ptr %bp{t}, align 4"
        yield from _splat(f"b{t}", f"%bl{t}")
        yield f"  %t{t} = fadd {_VECTOR} %s{t}, %b{t}"
        yield f"  %n{t} = fcmp olt {_VECTOR} %t{t}, zeroinitializer"
        yield f"  %z{t} = select <{_ROWS} x i1> %n{t}, {_VECTOR} zeroinitializer, {_VECTOR} %t{t}"
        yield f"  %r{t} = select i1 %relu, {_VECTOR} %z{t}, {_VECTOR} %t{t}"
        yield f"  %yr{t} = mul i64 %o{t}, {_ROWS}"
        yield f"  %yp{t} = getelementptr float, ptr %y, i64 %yr{t}"
        yield f"  store {_VECTOR} %r{t}, ptr %yp{t}, align 4"


def _observe() -> Function:
    """What the network sees in the state of a lane, as a row of OBSERVATIONS."""
    f = Kernel("observe_lane", ", i64 %number, i64 %row")
    state, numbers = get(f, _lane(f, "%number"), Lane.STATE), f.address(Field.NUMBERS)
    packed = f.at(f.address(Field.STATES), f.mul(state, f.field(Field.WORDS)))
    f.call(f.address(Field.UNPACK), packed, numbers)
    row = f.at(f.address(Field.OBSERVATIONS), f.mul("%row", f.field(Field.INPUT_COUNT)), "float")
    f.do(f"ret i64 {f.call(f.address(Field.OBSERVE), numbers, row)}")
    return f


def _gather() -> Function:
    """A row for each lane in WAITING; its first number is not one where something is undefined."""
    f = Kernel("gather", internal=False)
    with f.count("0", f.field(Field.WAITING_COUNT)) as r:
        status = f.own("observe_lane", f.item(Field.WAITING, r), r)
        with f.when(f.compare("ne", status, "0")):
            place = f.mul(r, f.field(Field.INPUT_COUNT))
            f.store(f.address(Field.OBSERVATIONS), place, "0x7FF8000000000000", "float")
    f.do("ret i64 0")
    return f


def _network() -> Function:
    """All layers for the block in VALUES; where the outputs are, 0 or 1."""
    f = Kernel("network", internal=False)
    side, room = f.variable("0"), f.field(Field.VALUE_ROOM)
    with f.count("0", f.field(Field.LAYER_COUNT)) as n:
        layer = f.at(f.address(Field.LAYERS), f.mul(n, str(_LAYER_SIZE)))
        other = f.sub("1", f.get(side))
        here = f.at(f.address(Field.VALUES), f.mul(f.get(side), room), "float")
        there = f.at(f.address(Field.VALUES), f.mul(other, room), "float")
        inputs, groups = f.load(layer, "0"), f.load(layer, "1")
        weights, bias = (f.value(f"inttoptr i64 {f.load(layer, i)} to ptr") for i in ("2", "3"))
        relu = f.compare("ne", f.load(layer, "4"), "0")
        f.do(
            f"call void @affine(ptr {here}, ptr {weights}, ptr {bias}, ptr {there}, i64 {inputs}, "
            f"i64 {groups}, i1 {relu})"
        )
        f.set(side, other)
    f.do(f"ret i64 {f.get(side)}")
    return f


def _best() -> Function:
    """The action of a row: the largest output, the lowest of equals; UNKNOWN if an output is not finite."""
    f = Kernel("best", ", i64 %side, i64 %row, i64 %mask")
    room = f.field(Field.VALUE_ROOM)
    outputs = f.at(f.address(Field.VALUES), f.add(f.mul("%side", room), "%row"), "float")
    largest = f.value("alloca float")
    f.do(f"store float 0.0, ptr {largest}")
    found = f.variable(str(UNKNOWN))
    every = f.compare("eq", f.field(Field.APPLICABLE), "0")
    with f.count("0", f.field(Field.OUTPUT_COUNT)) as k:
        value = f.load(outputs, f.mul(k, str(_ROWS)), "float")
        size = f.value(f"call float @llvm.fabs.f32(float {value})")
        infinite = f.value(f"fcmp uge float {size}, 0x7FF0000000000000")
        f.fail(infinite, UNKNOWN)
        bit = f.value(f"and i64 {f.value(f'lshr i64 %mask, {k}')}, 1")
        allowed = f.value(f"or i1 {every}, {f.compare('ne', bit, '0')}")
        first = f.compare("slt", f.get(found), "0")
        more = f.value(f"fcmp ogt float {value}, {f.value(f'load float, ptr {largest}')}")
        better = f.value(f"and i1 {allowed}, {f.value(f'or i1 {first}, {more}')}")
        with f.when(better):
            f.set(found, k)
            f.do(f"store float {value}, ptr {largest}")
    f.do(f"ret i64 {f.get(found)}")
    return f


def _forward() -> Function:
    """Decide for the lanes in WAITING; those that are left over keep their place in it."""
    f = Kernel("forward", internal=False)
    waiting, count, values = f.address(Field.WAITING), f.field(Field.WAITING_COUNT), f.address(Field.VALUES)
    left, start = f.variable("0"), f.variable("0")
    with f.loop() as done:
        f.leave(f.compare("sge", f.get(start), count), done)
        rest = f.sub(count, f.get(start))
        rows = f.value(f"select i1 {f.compare('slt', rest, str(_ROWS))}, i64 {rest}, i64 {_ROWS}")
        bad = f.variable("0")
        with f.count("0", rows) as r:
            status = f.own("observe_lane", f.load(waiting, f.add(f.get(start), r)), "0")
            with f.when(f.compare("ne", status, "0")):
                f.set(bad, f.value(f"or i64 {f.get(bad)}, {f.value(f'shl i64 1, {r}')}"))
            with f.count("0", f.field(Field.INPUT_COUNT)) as i:
                value = f.load(f.address(Field.OBSERVATIONS), i, "float")
                f.store(values, f.add(f.mul(i, str(_ROWS)), r), value, "float")
        side = f.own("network")
        with f.count("0", rows) as r:
            which = f.load(waiting, f.add(f.get(start), r))
            lane = _lane(f, which)
            node = at_node(f, f.load(f.address(Field.NODE_OF), get(f, lane, Lane.STATE)))
            mask, action = get(f, node, Node.MASK), f.variable(str(UNKNOWN))
            with f.when(f.value(f"xor i1 {has(f, f.value(f'lshr i64 {f.get(bad)}, {r}'), 1)}, true")):
                f.set(action, f.own("best", side, r, mask))
            put(f, lane, Lane.DECISION, f.get(action))
            with f.when(f.compare("slt", f.get(action), "0")):
                f.store(waiting, f.get(left), which)
                f.set(left, f.add(f.get(left), "1"))
            with f.when(f.compare("sge", f.get(action), "0")):
                put(f, node, Node.DECISION, f.get(action))
                enabled = has(f, f.value(f"lshr i64 {mask}, {f.get(action)}"), 1)
                put(f, node, Node.STALLS, f.value(f"zext i1 {f.value(f'xor i1 {enabled}, true')} to i64"))
                put(f, node, Node.CHOSEN, f.value(f"shl i64 1, {f.get(action)}"))
        f.set(start, f.add(f.get(start), rows))
    f.put(Field.WAITING_COUNT, f.get(left))
    f.do("ret i64 0")
    return f


def _lane(f: Kernel, number: str) -> str:
    return f.at(f.address(Field.LANES), f.mul(number, str(LANE_SIZE)))
