"""States and numbers in machine code: hash tables with open addressing, each entry stored once."""

from __future__ import annotations

from surefoot.explore.emit.exact_quotients import (
    divisor_function,
    emit_lowest_terms,
    emit_reduced_product,
    emit_reduced_sum,
)
from surefoot.explore.emit.machine_values import OVERFLOW
from surefoot.explore.llvm.kernel_table import (
    GROW_NUMBERS,
    GROW_STATES,
    ONE,
    ZERO,
    KernelField,
    KernelFunction,
)
from surefoot.work.machine.llvm_ir import IrFunction


def store_functions() -> tuple[IrFunction, ...]:
    return (
        _mix_function(),
        _find_state(),
        _known_state(),
        _rehash_function(),
        _find_number(),
        _rehash_numbers(),
        divisor_function(),
        _product_function(),
        _sum_function(),
    )


def _mix_function() -> IrFunction:
    """A hash of one word more."""
    f = IrFunction("mix", "i64 %hash, i64 %word", internal=True)
    x = f.value("xor i64 %hash, %word")
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        x = f.value(f"xor i64 {x}, {f.value(f'lshr i64 {x}, {shift}')}")
        x = f.mul(x, str(factor - 2**64))
    f.do(f"ret i64 {f.value(f'xor i64 {x}, ' + f.value(f'lshr i64 {x}, 31'))}")
    return f


def _emit_hash(f: KernelFunction, key: str, words: str) -> str:
    total = f.variable(str(0x9E3779B97F4A7C15 - 2**64))
    with f.count("0", words) as w:
        f.set_variable(total, f.value(f"call i64 @mix(i64 {f.get(total)}, i64 {f.load(key, w)})"))
    return f.get(total)


def _find_state() -> IrFunction:
    """The number of the state at KEY, added if it is new; or -status."""
    f = KernelFunction("find_state")
    place, tag = _look_up(f)
    words, count = f.field(KernelField.WORDS), f.field(KernelField.STATE_COUNT)
    f.fail(f.compare("sge", count, f.field(KernelField.STATE_ROOM)), -GROW_STATES)
    f.copy(f.address(KernelField.KEY), f.at(f.address(KernelField.STATES), f.mul(count, words)), words)
    f.store(f.address(KernelField.INDEX), f.get(place), f.value(f"or i64 {tag}, {f.add(count, '1')}"))
    f.put_field(KernelField.STATE_COUNT, f.add(count, "1"))
    f.do(f"ret i64 {count}")
    return f


def _known_state() -> IrFunction:
    """The number of the state at KEY; -1 if there is none."""
    f = KernelFunction("known_state")
    _look_up(f)
    f.do("ret i64 -1")
    return f


def _look_up(f: KernelFunction) -> tuple[str, str]:
    """Return the number of the state at KEY; go on where there is none, with its place in the index."""
    words, key, states = f.field(KernelField.WORDS), f.address(KernelField.KEY), f.address(KernelField.STATES)
    index, mask = f.address(KernelField.INDEX), f.field(KernelField.INDEX_MASK)
    hashed = _emit_hash(f, key, words)
    tag = f.value(f"and i64 {hashed}, -4294967296")
    place = f.variable(f.value(f"and i64 {hashed}, {mask}"))
    with f.loop() as nowhere:
        entry = f.load(index, f.get(place))
        f.leave(f.compare("eq", entry, "0"), nowhere)
        same = f.compare("eq", f.value(f"and i64 {entry}, -4294967296"), tag)
        with f.when(same):
            number = f.sub(f.value(f"and i64 {entry}, 4294967295"), "1")
            stored = f.at(states, f.mul(number, words))
            differ = f.variable("0")
            with f.count("0", words) as w:
                bits = f.value(f"xor i64 {f.load(stored, w)}, {f.load(key, w)}")
                f.set_variable(differ, f.value(f"or i64 {f.get(differ)}, {bits}"))
            with f.when(f.compare("eq", f.get(differ), "0")):
                f.do(f"ret i64 {number}")
        f.set_variable(place, f.value(f"and i64 {f.add(f.get(place), '1')}, {mask}"))
    return place, tag


def _emit_free_place(f: KernelFunction, index: str, mask: str, hashed: str) -> str:
    """The first place of the index, from that of a hash on, where nothing is yet."""
    place = f.variable(f.value(f"and i64 {hashed}, {mask}"))
    with f.loop() as free:
        f.leave(f.compare("eq", f.load(index, f.get(place)), "0"), free)
        f.set_variable(place, f.value(f"and i64 {f.add(f.get(place), '1')}, {mask}"))
    return f.get(place)


def _rehash_function() -> IrFunction:
    """Enter all states into a new, empty index."""
    f = KernelFunction("rehash", internal=False)
    words, states = f.field(KernelField.WORDS), f.address(KernelField.STATES)
    index, mask = f.address(KernelField.INDEX), f.field(KernelField.INDEX_MASK)
    with f.count("0", f.field(KernelField.STATE_COUNT)) as number:
        hashed = _emit_hash(f, f.at(states, f.mul(number, words)), words)
        place = _emit_free_place(f, index, mask, hashed)
        tag = f.value(f"and i64 {hashed}, -4294967296")
        f.store(index, place, f.value(f"or i64 {tag}, {f.add(number, '1')}"))
    f.do("ret i64 0")
    return f


def _find_number() -> IrFunction:
    """The index of top / bottom (bottom > 0) in lowest terms, added if it is new; or -status."""
    f = KernelFunction("find_number", ", i64 %top, i64 %bottom")
    f.fail(f.compare("eq", "%top", str(-(2**63))), -OVERFLOW)
    top, bottom = emit_lowest_terms(f, "%top", "%bottom")
    index, mask = f.address(KernelField.NUMBER_INDEX), f.field(KernelField.NUMBER_MASK)
    tops, bottoms = f.address(KernelField.TOPS), f.address(KernelField.BOTTOMS)
    hashed = _hash_number(f, top, bottom)
    place = f.variable(f.value(f"and i64 {hashed}, {mask}"))
    with f.loop() as nowhere:
        entry = f.load(index, f.get(place))
        f.leave(f.compare("eq", entry, "0"), nowhere)
        number = f.sub(entry, "1")
        same = f.value(
            f"and i1 {f.compare('eq', f.load(tops, number), top)}, "
            + f.compare("eq", f.load(bottoms, number), bottom)
        )
        with f.when(same):
            f.do(f"ret i64 {number}")
        f.set_variable(place, f.value(f"and i64 {f.add(f.get(place), '1')}, {mask}"))
    count = f.field(KernelField.NUMBER_COUNT)
    f.fail(f.compare("sge", count, f.field(KernelField.NUMBER_ROOM)), -GROW_NUMBERS)
    f.store(tops, count, top)
    f.store(bottoms, count, bottom)
    f.store(index, f.get(place), f.add(count, "1"))
    f.put_field(KernelField.NUMBER_COUNT, f.add(count, "1"))
    f.do(f"ret i64 {count}")
    return f


def _rehash_numbers() -> IrFunction:
    """Enter all numbers into a new, empty index."""
    f = KernelFunction("rehash_numbers", internal=False)
    index, mask = f.address(KernelField.NUMBER_INDEX), f.field(KernelField.NUMBER_MASK)
    tops, bottoms = f.address(KernelField.TOPS), f.address(KernelField.BOTTOMS)
    with f.count("0", f.field(KernelField.NUMBER_COUNT)) as number:
        hashed = _hash_number(f, f.load(tops, number), f.load(bottoms, number))
        place = _emit_free_place(f, index, mask, hashed)
        f.store(index, place, f.add(number, "1"))
    f.do("ret i64 0")
    return f


def _hash_number(f: KernelFunction, top: str, bottom: str) -> str:
    first = f.value(f"call i64 @mix(i64 {top}, i64 0)")
    return f.value(f"call i64 @mix(i64 {first}, i64 {bottom})")


def _product_function() -> IrFunction:
    """The index of the product of two numbers, or -status."""
    f = KernelFunction("product", ", i64 %left, i64 %right")
    with f.when(f.compare("eq", "%left", str(ONE))):
        f.do("ret i64 %right")
    with f.when(f.compare("eq", "%right", str(ONE))):
        f.do("ret i64 %left")
    tops, bottoms = f.address(KernelField.TOPS), f.address(KernelField.BOTTOMS)
    left = f.load(tops, "%left"), f.load(bottoms, "%left")
    right = f.load(tops, "%right"), f.load(bottoms, "%right")
    top, bottom = emit_reduced_product(f, left, right, -OVERFLOW)
    f.do(f"ret i64 {f.own('find_number', top, bottom)}")
    return f


def _sum_function() -> IrFunction:
    """The index of the sum of two numbers, or -status."""
    f = KernelFunction("sum", ", i64 %left, i64 %right")
    with f.when(f.compare("eq", "%left", str(ZERO))):
        f.do("ret i64 %right")
    with f.when(f.compare("eq", "%right", str(ZERO))):
        f.do("ret i64 %left")
    tops, bottoms = f.address(KernelField.TOPS), f.address(KernelField.BOTTOMS)
    left = f.load(tops, "%left"), f.load(bottoms, "%left")
    right = f.load(tops, "%right"), f.load(bottoms, "%right")
    top, bottom = emit_reduced_sum(f, left, right, -OVERFLOW)
    f.do(f"ret i64 {f.own('find_number', top, bottom)}")
    return f
