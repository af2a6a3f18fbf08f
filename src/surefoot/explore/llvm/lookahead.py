"""Looking ahead in machine code: states with a single way on are passed through before they are stored.

`expand` itself is used, with a table of its own that has room for one state, one choice and one outcome:
whatever does not fit there is not passed through. The rule is that of `interpret/lookahead.py`.
"""

from __future__ import annotations

from surefoot.explore.limits import MOST_PASSED
from surefoot.explore.llvm.kernel_table import GROW_NUMBERS, ZERO, KernelField, KernelFunction
from surefoot.work.machine.llvm_ir import IrFunction

SHARED = (  # the numbers that occur are those of the exploration
    KernelField.TOPS,
    KernelField.BOTTOMS,
    KernelField.NUMBER_COUNT,
    KernelField.NUMBER_ROOM,
    KernelField.NUMBER_INDEX,
    KernelField.NUMBER_MASK,
)


def lookahead_function() -> IrFunction:
    """Replace the state at KEY by the one that it leads to, as far as nothing is decided or earned."""
    f = KernelFunction("look_ahead")
    number = f.own("known_state")
    is_old = f.value(
        f"and i1 {f.compare('sge', number, '0')}, {f.compare('slt', number, f.field(KernelField.KNOWN))}"
    )
    with f.when(is_old):
        f.do("ret i64 0")
    inner, words, key = f.address(KernelField.INNER), f.field(KernelField.WORDS), f.address(KernelField.KEY)
    here, there = (_table_address(f, inner, field) for field in (KernelField.STATES, KernelField.KEY))
    for field in SHARED:
        f.store(inner, _field_index(field), f.field(field))
    anchor = f.at(here, words)
    f.copy(key, here, words)
    passed = f.variable()
    with f.loop() as done:
        count = f.get(passed)
        f.leave(f.compare("sge", count, str(MOST_PASSED)), done)
        bits = f.value(f"and i64 {count}, {f.sub(count, '1')}")
        with f.when(f.compare("eq", bits, "0")):  # 0 or a power of two
            f.copy(here, anchor, words)
        for field in (KernelField.POSITION, KernelField.CHOICE_COUNT, KernelField.OUTCOME_COUNT):
            f.store(inner, _field_index(field), "0")
        status = f.value(f"call i64 @expand(ptr {inner})")
        f.put_field(KernelField.NUMBER_COUNT, f.load(inner, _field_index(KernelField.NUMBER_COUNT)))
        f.fail(f.compare("eq", status, str(GROW_NUMBERS)), GROW_NUMBERS)
        f.leave(f.compare("ne", status, "0"), done)
        f.leave(f.compare("ne", f.load(inner, _field_index(KernelField.CHOICE_COUNT)), "1"), done)
        earned = _emit_earned_test(f, _table_address(f, inner, KernelField.REWARD_COLUMNS))
        f.leave(f.compare("ne", earned, "0"), done)
        f.leave(f.compare("eq", _emit_difference(f, here, there, words), "0"), done)
        f.copy(there, here, words)
        f.leave(f.compare("eq", _emit_difference(f, here, anchor, words), "0"), done)
        f.set_variable(passed, f.add(count, "1"))
    f.copy(here, key, words)
    f.do("ret i64 0")
    return f


def _field_index(field: KernelField) -> str:
    return str(int(field))


def _table_address(f: KernelFunction, table: str, field: KernelField) -> str:
    return f.value(f"inttoptr i64 {f.load(table, _field_index(field))} to ptr")


def _emit_earned_test(f: KernelFunction, columns: str) -> str:
    """Not 0 if some reward is; each column has one entry."""
    found = f.variable("0")
    with f.count("0", f.field(KernelField.REWARDS)) as r:
        index = f.value(f"sext i32 {f.load(columns, r, 'i32')} to i64")
        f.set_variable(found, f.value(f"or i64 {f.get(found)}, {f.value(f'xor i64 {index}, {ZERO}')}"))
    return f.get(found)


def _emit_difference(f: KernelFunction, left: str, right: str, words: str) -> str:
    """Not 0 if two packed states are different."""
    found = f.variable("0")
    with f.count("0", words) as w:
        bits = f.value(f"xor i64 {f.load(left, w)}, {f.load(right, w)}")
        f.set_variable(found, f.value(f"or i64 {f.get(found)}, {bits}"))
    return f.get(found)
