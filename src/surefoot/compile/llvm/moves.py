"""Which edges move together in a state, and where they lead: for exploration and simulation alike.

Both call `choice(parts, code, action)` of their own for each combination of enabled edges, in the order of
the reference, with the edges in PICKED.
"""

from __future__ import annotations

from surefoot.compile.llvm.table import Field, Kernel


def model_status(f: Kernel, status: str, edge: str) -> None:
    """Pass on the status of a function of the model, and which edge it is about."""
    with f.when(f.compare("ne", status, "0")):
        f.put(Field.EDGE, edge)
        f.do(f"ret i64 {status}")


def _made(f: Kernel, status: str, choices: str, outcomes: str) -> None:
    """Where a choice could not be added, nothing of this state's is left."""
    with f.when(f.compare("ne", status, "0")):
        f.put(Field.CHOICE_COUNT, choices)
        f.put(Field.OUTCOME_COUNT, outcomes)
        f.do(f"ret i64 {status}")


def alone(f: Kernel, choices: str, outcomes: str) -> None:
    enabled, picked = f.address(Field.ENABLED), f.address(Field.PICKED)
    with f.count("0", f.field(Field.ALONE_COUNT)) as i:
        edge = f.item(Field.ALONE, i)
        with f.when(f.value(f"icmp ne i8 {f.load(enabled, edge, 'i8')}, 0")):
            f.store(picked, "0", edge)
            _made(f, f.own("choice", "1", i, f.item(Field.ALONE_ACTIONS, i)), choices, outcomes)


def vectors(f: Kernel, choices: str, outcomes: str) -> None:
    parts = f.address(Field.VECTOR_PARTS)
    with f.count("0", f.field(Field.VECTOR_COUNT)) as vector:
        first, last = f.load(parts, vector), f.load(parts, f.add(vector, "1"))
        found = f.variable()
        f.set(found, _ready(f, first, last))
        with f.when(f.compare("ne", f.get(found), "0")):
            _combinations(f, vector, first, f.sub(last, first), choices, outcomes)


def _ready(f: Kernel, first: str, last: str) -> str:
    """List the enabled candidates of each part; 0 if some part has none."""
    candidates, enabled = f.address(Field.CANDIDATES), f.address(Field.ENABLED)
    ready, counts, most = f.address(Field.READY), f.address(Field.READY_COUNT), f.field(Field.MOST_READY)
    starts, turns = f.address(Field.PART_EDGES), f.address(Field.READY_TURN)
    found, part = f.variable("1"), f.variable()
    f.set(found, "1")
    f.set(part, first)
    with f.loop() as done:
        f.leave(f.compare("sge", f.get(part), last), done)
        here = f.sub(f.get(part), first)
        count = f.variable()
        f.set(count, "0")
        begin, end = f.load(starts, f.get(part)), f.load(starts, f.add(f.get(part), "1"))
        with f.count(begin, end) as c:
            is_enabled = f.value(f"icmp ne i8 {f.load(enabled, f.load(candidates, c), 'i8')}, 0")
            with f.when(is_enabled):
                f.store(ready, f.add(f.mul(here, most), f.get(count)), c)
                f.set(count, f.add(f.get(count), "1"))
        f.store(counts, here, f.get(count))
        f.store(turns, here, "0")
        f.set(found, f.get(count))
        f.leave(f.compare("eq", f.get(count), "0"), done)
        f.set(part, f.add(f.get(part), "1"))
    return f.get(found)


def _combinations(f: Kernel, vector: str, first: str, count: str, choices: str, outcomes: str) -> None:
    candidates, strides = f.address(Field.CANDIDATES), f.address(Field.PART_STRIDES)
    ready, counts, most = f.address(Field.READY), f.address(Field.READY_COUNT), f.field(Field.MOST_READY)
    starts, turns, picked = (
        f.address(Field.PART_EDGES),
        f.address(Field.READY_TURN),
        f.address(Field.PICKED),
    )
    with f.loop() as done:
        code, action = f.variable(), f.variable()
        f.set(code, f.item(Field.VECTOR_CODES, vector))
        f.set(action, f.item(Field.VECTOR_ACTIONS, vector))
        with f.count("0", count) as j:
            part = f.add(first, j)
            candidate = f.load(ready, f.add(f.mul(j, most), f.load(turns, j)))
            edge = f.load(candidates, candidate)
            f.store(picked, j, edge)
            step = f.mul(f.sub(candidate, f.load(starts, part)), f.load(strides, part))
            f.set(code, f.add(f.get(code), step))
            with f.when(f.compare("slt", f.get(action), "0")):
                f.set(action, f.item(Field.EDGE_ACTIONS, edge))
        _made(f, f.own("choice", count, f.get(code), f.get(action)), choices, outcomes)
        j = f.variable()
        f.set(j, f.sub(count, "1"))
        with f.loop() as again:
            f.leave(f.compare("slt", f.get(j), "0"), done)
            following = f.add(f.load(turns, f.get(j)), "1")
            f.store(turns, f.get(j), following)
            f.leave(f.compare("slt", following, f.load(counts, f.get(j))), again)
            f.store(turns, f.get(j), "0")
            f.set(j, f.sub(f.get(j), "1"))


def apply_updates(f: Kernel, parts: str) -> None:
    """The state after the outcomes in TURN of the edges in PICKED: packed, at KEY."""
    picked, turn, first = f.address(Field.PICKED), f.address(Field.TURN), f.address(Field.OUTCOME_FIRST)
    numbers, width = f.address(Field.NUMBERS), f.field(Field.WIDTH)
    after, before = f.at(numbers, width), f.at(numbers, f.mul(width, "2"))
    f.copy(numbers, after, width)
    levels = f.field(Field.LEVELS)
    with f.count("0", levels) as level:
        base = f.variable()
        f.set(base, f.field(Field.NUMBERS))
        with f.when(f.compare("sgt", level, "0")):
            f.copy(after, before, width)
            f.set(base, f.value(f"ptrtoint ptr {before} to i64"))
        with f.count("0", parts) as j:
            edge = f.load(picked, j)
            which = f.add(f.load(first, edge), f.load(turn, j))
            function = f.item(Field.APPLY_OF, f.add(f.mul(which, levels), level))
            with f.when(f.compare("ne", function, "0")):
                read = f.value(f"inttoptr i64 {f.get(base)} to ptr")
                model_status(f, f.call(f.value(f"inttoptr i64 {function} to ptr"), read, after), edge)
    f.call(f.address(Field.PACK), after, f.address(Field.KEY))
