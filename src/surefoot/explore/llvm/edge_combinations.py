"""Which edges move together in a state, and where they lead: for exploration and simulation alike.

Both call `choice(parts, code, action)` of their own for each combination of enabled edges, in the order of
the reference, with the edges in PICKED.
"""

from __future__ import annotations

from collections.abc import Callable

from surefoot.explore.llvm.kernel_table import KernelField, KernelFunction


def pass_model_status(f: KernelFunction, status: str, edge: str) -> None:
    """Pass on the status of a function of the model, and which edge it is about."""
    with f.when(f.compare("ne", status, "0")):
        f.put_field(KernelField.EDGE, edge)
        f.do(f"ret i64 {status}")


def _roll_back_choices(f: KernelFunction, status: str, choices: str, outcomes: str) -> None:
    """Where a choice could not be added, nothing of this state's is left."""
    with f.when(f.compare("ne", status, "0")):
        f.put_field(KernelField.CHOICE_COUNT, choices)
        f.put_field(KernelField.OUTCOME_COUNT, outcomes)
        f.do(f"ret i64 {status}")


def count_outcomes(f: KernelFunction, edge: str) -> str:
    first = f.address(KernelField.OUTCOME_FIRST)
    return f.sub(f.load(first, f.add(edge, "1")), f.load(first, edge))


def emit_single_edges(f: KernelFunction, choices: str, outcomes: str) -> None:
    enabled, picked = f.address(KernelField.ENABLED), f.address(KernelField.PICKED)
    with f.count("0", f.field(KernelField.ALONE_COUNT)) as i:
        edge = f.item(KernelField.ALONE, i)
        with f.when(f.value(f"icmp ne i8 {f.load(enabled, edge, 'i8')}, 0")):
            f.store(picked, "0", edge)
            _roll_back_choices(
                f, f.own("choice", "1", i, f.item(KernelField.ALONE_ACTIONS, i)), choices, outcomes
            )


def emit_sync_vectors(f: KernelFunction, choices: str, outcomes: str) -> None:
    parts = f.address(KernelField.VECTOR_PARTS)
    with f.count("0", f.field(KernelField.VECTOR_COUNT)) as vector:
        first, last = f.load(parts, vector), f.load(parts, f.add(vector, "1"))
        found = f.variable(_emit_ready_edges(f, first, last))
        with f.when(f.compare("ne", f.get(found), "0")):
            _emit_combinations(f, vector, first, f.sub(last, first), choices, outcomes)


def _emit_ready_edges(f: KernelFunction, first: str, last: str) -> str:
    """List the enabled candidates of each part; 0 if some part has none."""
    candidates, enabled = f.address(KernelField.CANDIDATES), f.address(KernelField.ENABLED)
    ready, counts, most = (
        f.address(KernelField.READY),
        f.address(KernelField.READY_COUNT),
        f.field(KernelField.MOST_READY),
    )
    starts, turns = f.address(KernelField.PART_EDGES), f.address(KernelField.READY_TURN)
    found, part = f.variable("1"), f.variable()
    f.set_variable(found, "1")
    f.set_variable(part, first)
    with f.loop() as done:
        f.leave(f.compare("sge", f.get(part), last), done)
        here = f.sub(f.get(part), first)
        count = f.variable("0")
        begin, end = f.load(starts, f.get(part)), f.load(starts, f.add(f.get(part), "1"))
        with f.count(begin, end) as c:
            is_enabled = f.value(f"icmp ne i8 {f.load(enabled, f.load(candidates, c), 'i8')}, 0")
            with f.when(is_enabled):
                f.store(ready, f.add(f.mul(here, most), f.get(count)), c)
                f.set_variable(count, f.add(f.get(count), "1"))
        f.store(counts, here, f.get(count))
        f.store(turns, here, "0")
        f.set_variable(found, f.get(count))
        f.leave(f.compare("eq", f.get(count), "0"), done)
        f.set_variable(part, f.add(f.get(part), "1"))
    return f.get(found)


def _emit_combinations(
    f: KernelFunction, vector: str, first: str, count: str, choices: str, outcomes: str
) -> None:
    candidates, strides = f.address(KernelField.CANDIDATES), f.address(KernelField.PART_STRIDES)
    ready, counts, most = (
        f.address(KernelField.READY),
        f.address(KernelField.READY_COUNT),
        f.field(KernelField.MOST_READY),
    )
    starts, turns, picked = f.addresses(KernelField.PART_EDGES, KernelField.READY_TURN, KernelField.PICKED)
    with f.loop() as done:
        code, action = f.variable(), f.variable()
        f.set_variable(code, f.item(KernelField.VECTOR_CODES, vector))
        f.set_variable(action, f.item(KernelField.VECTOR_ACTIONS, vector))
        with f.count("0", count) as j:
            part = f.add(first, j)
            candidate = f.load(ready, f.add(f.mul(j, most), f.load(turns, j)))
            edge = f.load(candidates, candidate)
            f.store(picked, j, edge)
            step = f.mul(f.sub(candidate, f.load(starts, part)), f.load(strides, part))
            f.set_variable(code, f.add(f.get(code), step))
            with f.when(f.compare("slt", f.get(action), "0")):
                f.set_variable(action, f.item(KernelField.EDGE_ACTIONS, edge))
        _roll_back_choices(f, f.own("choice", count, f.get(code), f.get(action)), choices, outcomes)
        emit_next_combination(f, turns, count, lambda j: f.load(counts, j), done)


def emit_next_combination(
    f: KernelFunction, digits: str, size: str, base_of: Callable[[str], str], done: str
) -> None:
    """Count on by one, the last digit first; where all combinations have been, leave the loop of `done`."""
    place = f.variable(f.sub(size, "1"))
    with f.loop() as counted:
        j = f.get(place)
        f.leave(f.compare("slt", j, "0"), done)
        following = f.add(f.load(digits, j), "1")
        f.store(digits, j, following)
        f.leave(f.compare("slt", following, base_of(j)), counted)
        f.store(digits, j, "0")
        f.set_variable(place, f.sub(j, "1"))


def emit_updates(f: KernelFunction, parts: str) -> None:
    """The state after the outcomes in TURN of the edges in PICKED: packed, at KEY."""
    picked, turn, first = f.addresses(KernelField.PICKED, KernelField.TURN, KernelField.OUTCOME_FIRST)
    numbers, width = f.address(KernelField.NUMBERS), f.field(KernelField.WIDTH)
    after, before = f.at(numbers, width), f.at(numbers, f.mul(width, "2"))
    f.copy(numbers, after, width)
    levels = f.field(KernelField.LEVELS)
    with f.count("0", levels) as level:
        base = f.variable(f.field(KernelField.NUMBERS))
        with f.when(f.compare("sgt", level, "0")):
            f.copy(after, before, width)
            f.set_variable(base, f.value(f"ptrtoint ptr {before} to i64"))
        with f.count("0", parts) as j:
            edge = f.load(picked, j)
            which = f.add(f.load(first, edge), f.load(turn, j))
            function = f.item(KernelField.APPLY_OF, f.add(f.mul(which, levels), level))
            with f.when(f.compare("ne", function, "0")):
                read = f.value(f"inttoptr i64 {f.get(base)} to ptr")
                pass_model_status(f, f.call(f.value(f"inttoptr i64 {function} to ptr"), read, after), edge)
    f.call(f.address(KernelField.PACK), after, f.address(KernelField.KEY))
