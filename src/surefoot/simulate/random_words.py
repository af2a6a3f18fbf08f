"""Random words in machine code, bit for bit those of `work/philox.py`, and how they are used."""

from __future__ import annotations

from enum import IntEnum

from surefoot.explore.llvm.kernel_table import KernelField, KernelFunction
from surefoot.simulate.chain_nodes import load_field, node_address, store_field
from surefoot.work.machine.llvm_ir import IrFunction
from surefoot.work.philox import M0, M1, ROUNDS, W0, W1

LANE_SIZE = 16


class LaneField(IntEnum):
    """A run under way."""

    RUN = 0
    ACTIVE = 1
    STATE = 2
    STEPS = 3
    LOW = 4
    HIGH = 5
    DECISION = 6  # where decisions are not remembered
    BLOCK = 7
    USED = 8  # words of the block
    WORDS = 9  # four of them
    LOOK = 13  # steps after which somebody looks where the run is going


def random_functions() -> tuple[IrFunction, ...]:
    return (_word_function(), _below_function(), _drawn_function())


def lane_pointer(f: KernelFunction) -> str:
    return f.value("inttoptr i64 %lane to ptr")


def _multiply_wide(f: KernelFunction, word: str, factor: str) -> tuple[str, str]:
    """High and low half of a product."""
    wide = [f.value(f"zext i64 {x} to i128") for x in (word, factor)]
    product = f.value(f"mul i128 {wide[0]}, {wide[1]}")
    high = f.value(f"trunc i128 {f.value(f'lshr i128 {product}, 64')} to i64")
    return high, f.value(f"trunc i128 {product} to i64")


def _signed_literal(number: int) -> str:
    return str(number - (1 << 64) if number >> 63 else number)


def _word_function() -> IrFunction:
    """The next random word of a run: Philox4x64-10."""
    f = KernelFunction("word", ", i64 %lane")
    lane = lane_pointer(f)
    with f.when(f.compare("eq", load_field(f, lane, LaneField.USED), "4")):
        block = f.add(load_field(f, lane, LaneField.BLOCK), "1")
        store_field(f, lane, LaneField.BLOCK, block)
        store_field(f, lane, LaneField.USED, "0")
        k0, k1 = f.field(KernelField.SEED), load_field(f, lane, LaneField.RUN)
        c0, c1, c2, c3 = block, "0", "0", f.field(KernelField.PLACE)
        for turn in range(ROUNDS):
            if turn:
                k0, k1 = f.add(k0, _signed_literal(W0)), f.add(k1, _signed_literal(W1))
            (high0, low0), (high1, low1) = (
                _multiply_wide(f, c0, _signed_literal(M0)),
                _multiply_wide(f, c2, _signed_literal(M1)),
            )
            first = f.value(f"xor i64 {f.value(f'xor i64 {high1}, {c1}')}, {k0}")
            third = f.value(f"xor i64 {f.value(f'xor i64 {high0}, {c3}')}, {k1}")
            c0, c1, c2, c3 = first, low1, third, low0
        for i, word in enumerate((c0, c1, c2, c3)):
            f.store(lane, str(LaneField.WORDS + i), word)
    used = load_field(f, lane, LaneField.USED)
    store_field(f, lane, LaneField.USED, f.add(used, "1"))
    f.do(f"ret i64 {f.load(lane, f.add(used, str(int(LaneField.WORDS))))}")
    return f


def _below_function() -> IrFunction:
    """An unbiased choice among so many."""
    f = KernelFunction("below", ", i64 %lane, i64 %bound")
    least = f.value(f"urem i64 {f.sub('0', '%bound')}, %bound")
    found = f.variable()
    with f.loop() as done:
        high, low = _multiply_wide(f, f.own("word", "%lane"), "%bound")
        f.set_variable(found, high)
        f.leave(f.value(f"icmp uge i64 {low}, {least}"), done)
    f.do(f"ret i64 {f.get(found)}")
    return f


def _drawn_function() -> IrFunction:
    """The first of some thresholds that is above the next word, `%certain` if none before it is."""
    f = KernelFunction("drawn", ", i64 %lane, i64 %limits, i64 %stride, i64 %certain")
    word, limits, k = f.own("word", "%lane"), node_address(f, "%limits"), f.variable("0")
    with f.loop() as done:
        f.leave(f.compare("sge", f.get(k), "%certain"), done)
        limit = f.load(limits, f.mul(f.get(k), "%stride"))
        f.leave(f.value(f"icmp ult i64 {word}, {limit}"), done)
        f.set_variable(k, f.add(f.get(k), "1"))
    f.do(f"ret i64 {f.get(k)}")
    return f
