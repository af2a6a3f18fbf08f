"""Looking ahead in machine code: states with a single way on are passed through before they are stored.

`expand` itself is used, with a table of its own that has room for one state, one choice and one outcome:
whatever does not fit there is not passed through. The rule is that of `interpret/ahead.py`.
"""

from __future__ import annotations

from surefoot.compile.limits import MOST_PASSED
from surefoot.compile.llvm.table import GROW_NUMBERS, ZERO, Field, Kernel
from surefoot.work.machine.text import Function

SHARED = (  # the numbers that occur are those of the exploration
    Field.TOPS,
    Field.BOTTOMS,
    Field.NUMBER_COUNT,
    Field.NUMBER_ROOM,
    Field.NUMBER_INDEX,
    Field.NUMBER_MASK,
)


def look_ahead() -> Function:
    """Replace the state at KEY by the one that it leads to, as far as nothing is decided or earned."""
    f = Kernel("look_ahead")
    number = f.own("known_state")
    is_old = f.value(
        f"and i1 {f.compare('sge', number, '0')}, {f.compare('slt', number, f.field(Field.KNOWN))}"
    )
    with f.when(is_old):
        f.do("ret i64 0")
    inner, words, key = f.address(Field.INNER), f.field(Field.WORDS), f.address(Field.KEY)
    here, there = (_address(f, inner, field) for field in (Field.STATES, Field.KEY))
    for field in SHARED:
        f.store(inner, _place(field), f.field(field))
    anchor = f.at(here, words)
    f.copy(key, here, words)
    passed = f.variable()
    with f.loop() as done:
        count = f.get(passed)
        f.leave(f.compare("sge", count, str(MOST_PASSED)), done)
        bits = f.value(f"and i64 {count}, {f.sub(count, '1')}")
        with f.when(f.compare("eq", bits, "0")):  # 0 or a power of two
            f.copy(here, anchor, words)
        for field in (Field.POSITION, Field.CHOICE_COUNT, Field.OUTCOME_COUNT):
            f.store(inner, _place(field), "0")
        status = f.value(f"call i64 @expand(ptr {inner})")
        f.put(Field.NUMBER_COUNT, f.load(inner, _place(Field.NUMBER_COUNT)))
        f.fail(f.compare("eq", status, str(GROW_NUMBERS)), GROW_NUMBERS)
        f.leave(f.compare("ne", status, "0"), done)
        f.leave(f.compare("ne", f.load(inner, _place(Field.CHOICE_COUNT)), "1"), done)
        earned = _earned(f, _address(f, inner, Field.REWARD_COLUMNS))
        f.leave(f.compare("ne", earned, "0"), done)
        f.leave(f.compare("eq", _differ(f, here, there, words), "0"), done)
        f.copy(there, here, words)
        f.leave(f.compare("eq", _differ(f, here, anchor, words), "0"), done)
        f.set(passed, f.add(count, "1"))
    f.copy(here, key, words)
    f.do("ret i64 0")
    return f


def _place(field: Field) -> str:
    return str(int(field))


def _address(f: Kernel, table: str, field: Field) -> str:
    return f.value(f"inttoptr i64 {f.load(table, _place(field))} to ptr")


def _earned(f: Kernel, columns: str) -> str:
    """Not 0 if some reward is; each column has one entry."""
    found = f.variable()
    f.set(found, "0")
    with f.count("0", f.field(Field.REWARDS)) as r:
        index = f.value(f"sext i32 {f.load(columns, r, 'i32')} to i64")
        f.set(found, f.value(f"or i64 {f.get(found)}, {f.value(f'xor i64 {index}, {ZERO}')}"))
    return f.get(found)


def _differ(f: Kernel, left: str, right: str, words: str) -> str:
    """Not 0 if two packed states are different."""
    found = f.variable()
    f.set(found, "0")
    with f.count("0", words) as w:
        bits = f.value(f"xor i64 {f.load(left, w)}, {f.load(right, w)}")
        f.set(found, f.value(f"or i64 {f.get(found)}, {bits}"))
    return f.get(found)
