"""Random words in machine code, bit for bit those of `work/philox.py`, and how they are used."""

from __future__ import annotations

from enum import IntEnum

from surefoot.compile.llvm.table import Field, Kernel
from surefoot.compile.simulation.node import at_node, get, put
from surefoot.work.machine.text import Function
from surefoot.work.philox import M0, M1, ROUNDS, W0, W1

LANE_SIZE = 16


class Lane(IntEnum):
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


def random_functions() -> tuple[Function, ...]:
    return (_word(), _below(), _drawn())


def lane_of(f: Kernel) -> str:
    return f.value("inttoptr i64 %lane to ptr")


def _halves(f: Kernel, word: str, factor: str) -> tuple[str, str]:
    """High and low half of a product."""
    wide = [f.value(f"zext i64 {x} to i128") for x in (word, factor)]
    product = f.value(f"mul i128 {wide[0]}, {wide[1]}")
    high = f.value(f"trunc i128 {f.value(f'lshr i128 {product}, 64')} to i64")
    return high, f.value(f"trunc i128 {product} to i64")


def _signed(number: int) -> str:
    return str(number - (1 << 64) if number >> 63 else number)


def _word() -> Function:
    """The next random word of a run: Philox4x64-10."""
    f = Kernel("word", ", i64 %lane")
    lane = lane_of(f)
    with f.when(f.compare("eq", get(f, lane, Lane.USED), "4")):
        block = f.add(get(f, lane, Lane.BLOCK), "1")
        put(f, lane, Lane.BLOCK, block)
        put(f, lane, Lane.USED, "0")
        k0, k1 = f.field(Field.SEED), get(f, lane, Lane.RUN)
        c0, c1, c2, c3 = block, "0", "0", f.field(Field.PLACE)
        for turn in range(ROUNDS):
            if turn:
                k0, k1 = f.add(k0, _signed(W0)), f.add(k1, _signed(W1))
            (high0, low0), (high1, low1) = _halves(f, c0, _signed(M0)), _halves(f, c2, _signed(M1))
            first = f.value(f"xor i64 {f.value(f'xor i64 {high1}, {c1}')}, {k0}")
            third = f.value(f"xor i64 {f.value(f'xor i64 {high0}, {c3}')}, {k1}")
            c0, c1, c2, c3 = first, low1, third, low0
        for i, word in enumerate((c0, c1, c2, c3)):
            f.store(lane, str(Lane.WORDS + i), word)
    used = get(f, lane, Lane.USED)
    put(f, lane, Lane.USED, f.add(used, "1"))
    f.do(f"ret i64 {f.load(lane, f.add(used, str(int(Lane.WORDS))))}")
    return f


def _below() -> Function:
    """An unbiased choice among so many."""
    f = Kernel("below", ", i64 %lane, i64 %bound")
    least = f.value(f"urem i64 {f.sub('0', '%bound')}, %bound")
    found = f.variable()
    with f.loop() as done:
        high, low = _halves(f, f.own("word", "%lane"), "%bound")
        f.set(found, high)
        f.leave(f.value(f"icmp uge i64 {low}, {least}"), done)
    f.do(f"ret i64 {f.get(found)}")
    return f


def _drawn() -> Function:
    """The first of some thresholds that is above the next word, `%certain` if none before it is."""
    f = Kernel("drawn", ", i64 %lane, i64 %limits, i64 %stride, i64 %certain")
    word, limits, k = f.own("word", "%lane"), at_node(f, "%limits"), f.variable("0")
    with f.loop() as done:
        f.leave(f.compare("sge", f.get(k), "%certain"), done)
        limit = f.load(limits, f.mul(f.get(k), "%stride"))
        f.leave(f.value(f"icmp ult i64 {word}, {limit}"), done)
        f.set(k, f.add(f.get(k), "1"))
    f.do(f"ret i64 {f.get(k)}")
    return f
