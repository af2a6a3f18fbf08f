"""Runs in machine code: one after the other along the chain, until something about it is not known yet.

A lane is a run under way. Each lane goes on until its run is over, and takes the next run; or until it needs
a decision that is not known. When all lanes wait, whoever called decides for all of them at once.
"""

from __future__ import annotations

from surefoot.compile.llvm.store import store_functions
from surefoot.compile.llvm.table import GROW_STATES, WAITS, Field, Kernel
from surefoot.compile.simulation.decide.forward import forward_text
from surefoot.compile.simulation.node import (
    BAD,
    DRAWN,
    GIVE_UP,
    JUDGED,
    LEFT,
    RESOLVED,
    RIGHT,
    UNKNOWN,
    Node,
    Part,
    Reached,
    Record,
    at_node,
    get,
    has,
    node_functions,
    put,
)
from surefoot.compile.simulation.watched import ENDED, FAILED, STALLED, SUCCEEDED, UNDECIDED
from surefoot.compile.simulation.words import LANE_SIZE, Lane, lane_of, random_functions
from surefoot.work.machine.text import OVERFLOWING, Function

NOT_FOLLOWED = -1  # an outcome: something is wrong there, or 64 bits are not enough
_LONGEST_JUMP = 128  # steps; at the limit of steps runs go on without jumps
_MODERATE = 1 << 60
_ABSOLUTE = "declare float @llvm.fabs.f32(float)"
_OVER = 16  # a status: the run is over


def kernel_text() -> str:
    own = (_finish(), _over(), _possible(), _step(), _jump(), _settle(), _leave(), _walk(), _advance())
    functions = (*store_functions(), *random_functions(), *node_functions(), *own)
    return "\n".join([OVERFLOWING, _ABSOLUTE, forward_text(), *(f.text() for f in functions), ""])


def _finish() -> Function:
    """Write down what became of a run."""
    f = Kernel("finish", ", i64 %lane, i64 %outcome")
    lane = lane_of(f)
    place = f.sub(get(f, lane, Lane.RUN), f.field(Field.FIRST_RUN))
    f.store(f.address(Field.RUN_OUTCOMES), place, f.value("trunc i64 %outcome to i8"), "i8")
    columns = ((Field.RUN_STEPS, Lane.STEPS), (Field.RUN_LOWS, Lane.LOW), (Field.RUN_HIGHS, Lane.HIGH))
    for field, value in columns:
        f.store(f.address(field), place, get(f, lane, value))
    put(f, lane, Lane.ACTIVE, "0")
    f.do("ret i64 0")
    return f


def _over() -> Function:
    """Nothing can happen any more: what remains is what holds now."""
    f = Kernel("over", ", i64 %lane, i64 %node")
    lane, node, low = lane_of(f), at_node(f, "%node"), f.field(Field.LOW_STEP)
    reachable = f.compare("sle", low, f.field(Field.HIGH_STEP))
    waits = f.value(f"and i1 {has(f, get(f, node, Node.FLAGS), RIGHT)}, {reachable}")
    with f.when(waits):
        put(f, lane, Lane.STEPS, low)
        f.do(f"ret i64 {f.own('finish', '%lane', str(SUCCEEDED))}")
    empty = f.compare("eq", get(f, node, Node.RECORDS), "0")
    outcome = f.value(f"select i1 {empty}, i64 {ENDED}, i64 {STALLED}")
    f.do(f"ret i64 {f.own('finish', '%lane', outcome)}")
    return f


def _possible() -> Function:
    """The record that is taken; 0: none, -1: several, which is refused, -1 - record: one of several."""
    f = Kernel("possible", ", i64 %lane, i64 %node, i64 %action")
    node, count, found, record = at_node(f, "%node"), f.variable("0"), f.variable("0"), f.variable()
    skip, several = f.variable("0"), f.variable("0")
    with f.loop() as done:
        f.set(record, get(f, node, Node.RECORDS))
        with f.loop() as end:
            f.leave(f.compare("eq", f.get(record), "0"), end)
            pointer = at_node(f, f.get(record))
            action = get(f, pointer, Record.ACTION)
            own, taken = f.compare("slt", action, "0"), f.compare("eq", action, "%action")
            with f.when(f.value(f"or i1 {own}, {taken}")):
                with f.when(f.compare("eq", f.get(count), f.get(skip))):
                    f.set(found, f.get(record))
                f.set(count, f.add(f.get(count), "1"))
            f.set(record, get(f, pointer, Record.NEXT))
        f.leave(f.compare("sle", f.get(count), "1"), done)
        f.leave(f.compare("ne", f.get(skip), "0"), done)
        f.fail(f.compare("eq", f.field(Field.UNIFORM), "0"), -1)
        f.set(several, "1")
        f.set(skip, f.own("below", "%lane", f.get(count)))
        f.leave(f.compare("eq", f.get(skip), "0"), done)
        f.set(count, "0")
    one = f.compare("eq", f.get(several), "0")
    other = f.sub("-1", f.get(found))
    f.do(f"ret i64 {f.value(f'select i1 {one}, i64 {f.get(found)}, i64 {other}')}")
    return f


def _step() -> Function:
    """Draw the outcomes of a record and go on; where that is certain it is remembered as a jump."""
    f = Kernel("step", ", i64 %lane, i64 %node, i64 %record")
    lane, node, record = lane_of(f), at_node(f, "%node"), at_node(f, "%record")
    state, mask = get(f, lane, Lane.STATE), get(f, node, Node.MASK)
    with f.when(f.compare("eq", get(f, record, Record.READY), "0")):
        f.pass_on(f.own("ready", state, "%record"))
    parts, combination = get(f, record, Record.PARTS), f.variable("0")
    with f.count("0", parts) as j:
        part = f.at(record, f.add(f.mul(j, str(int(Part.SIZE))), str(int(Record.SIZE))))
        count = get(f, part, Part.COUNT)
        with f.when(f.compare("sgt", count, "1")):
            limits, certain = get(f, part, Part.THRESHOLDS), get(f, part, Part.CERTAIN)
            which = f.own("drawn", "%lane", limits, "1", certain)
            f.set(combination, f.add(f.mul(f.get(combination), count), which))
    offset = f.add(f.mul(parts, str(int(Part.SIZE))), str(int(Record.SIZE)))
    reached = f.at(record, f.add(offset, f.mul(f.get(combination), str(int(Reached.SIZE)))))
    with f.when(f.compare("slt", get(f, reached, Reached.STATE), "0")):
        f.pass_on(f.own("fill", state, "%record", f.get(combination), mask))
    target, low, high = (get(f, reached, x) for x in (Reached.STATE, Reached.LOW, Reached.HIGH))
    put(f, lane, Lane.STATE, target)
    put(f, lane, Lane.STEPS, f.add(get(f, lane, Lane.STEPS), "1"))
    put(f, lane, Lane.LOW, f.checked("sadd", get(f, lane, Lane.LOW), low, 2))
    put(f, lane, Lane.HIGH, f.checked("sadd", get(f, lane, Lane.HIGH), high, 2))
    fixed = f.compare("eq", get(f, node, Node.FIXED), "%record")
    single = f.compare("eq", get(f, record, Record.COMBINATIONS), "1")
    new = f.compare("slt", get(f, node, Node.JUMP), "0")
    with f.when(f.value(f"and i1 {new}, {f.value(f'and i1 {fixed}, {single}')}")):
        put(f, node, Node.JUMP_STEPS, "1")
        put(f, node, Node.JUMP_LOW, low)
        put(f, node, Node.JUMP_HIGH, high)
        asked = f.compare("ne", mask, "0")
        put(f, node, Node.JUMP_DECISIONS, f.value(f"zext i1 {asked} to i64"))
        put(f, node, Node.JUMP, target)
    f.do("ret i64 0")
    return f


def _jump() -> Function:
    """Take the jump of a node if there is one and steps enough are left; 1 if so, -1 where it overflows."""
    f = Kernel("jump", ", i64 %lane, i64 %node")
    lane, node = lane_of(f), at_node(f, "%node")
    target = get(f, node, Node.JUMP)
    f.fail(f.compare("slt", target, "0"), 0)
    place = f.load(f.address(Field.NODE_OF), target)
    with f.when(f.compare("ne", place, "0")):
        _lengthen(f, node, at_node(f, place))
    steps = f.add(get(f, lane, Lane.STEPS), get(f, node, Node.JUMP_STEPS))
    f.fail(f.compare("sgt", steps, f.field(Field.STEP_LIMIT)), 0)
    for mine, its in ((Lane.LOW, Node.JUMP_LOW), (Lane.HIGH, Node.JUMP_HIGH)):
        put(f, lane, mine, f.checked("sadd", get(f, lane, mine), get(f, node, its), -1))
    put(f, lane, Lane.STEPS, steps)
    put(f, lane, Lane.STATE, get(f, node, Node.JUMP))
    f.put(Field.DECISIONS, f.add(f.field(Field.DECISIONS), get(f, node, Node.JUMP_DECISIONS)))
    f.do("ret i64 1")
    return f


def _lengthen(f: Kernel, node: str, following: str) -> None:
    """Let a jump go as far as the one that begins where it ends, if nothing is decided there."""
    flags = get(f, following, Node.FLAGS)
    fine = f.compare("eq", f.value(f"and i64 {flags}, {RIGHT | LEFT | JUDGED | BAD}"), str(LEFT | JUDGED))
    more = f.compare("sge", get(f, following, Node.JUMP), "0")
    total = f.add(get(f, node, Node.JUMP_STEPS), get(f, following, Node.JUMP_STEPS))
    fine = f.value(
        f"and i1 {f.value(f'and i1 {fine}, {more}')}, {f.compare('sle', total, str(_LONGEST_JUMP))}"
    )
    for pointer in (node, following):
        for field in (Node.JUMP_LOW, Node.JUMP_HIGH):
            raised = f.add(get(f, pointer, field), str(_MODERATE))
            fine = f.value(f"and i1 {fine}, {f.compare('ult', raised, str(2 * _MODERATE))}")
    with f.when(fine):
        for field in (Node.JUMP_STEPS, Node.JUMP_LOW, Node.JUMP_HIGH, Node.JUMP_DECISIONS):
            put(f, node, field, f.add(get(f, node, field), get(f, following, field)))
        put(f, node, Node.JUMP, get(f, following, Node.JUMP))


def _settle() -> Function:
    """Judge a state by what the policy does there."""
    f = Kernel("settle", ", i64 %state, i64 %node")
    node = at_node(f, "%node")
    resolved = has(f, get(f, node, Node.FLAGS), RESOLVED)
    with f.when(f.value(f"xor i1 {resolved}, true")):
        f.pass_on(f.own("resolve", "%state", "%node"))
    f.fail(has(f, get(f, node, Node.FLAGS), BAD), 0)
    unknown = f.compare("eq", get(f, node, Node.DECISION), str(UNKNOWN))
    asked = f.compare("ne", get(f, node, Node.MASK), "0")
    f.fail(f.value(f"and i1 {asked}, {unknown}"), WAITS)
    with f.when(f.compare("eq", get(f, node, Node.DECISION), str(GIVE_UP))):
        put(f, node, Node.FLAGS, str(BAD))
        f.do("ret i64 0")
    f.own("judge_node", "%state", "%node")
    f.do("ret i64 0")
    return f


def _leave() -> Function:
    """One step from a state in which nothing is decided yet."""
    f = Kernel("leave", ", i64 %lane, i64 %node")
    lane, node, record = lane_of(f), at_node(f, "%node"), f.variable()
    f.set(record, get(f, node, Node.FIXED))
    known = f.compare("ne", f.get(record), "0")
    with f.when(known):
        asked = f.value(f"zext i1 {f.compare('ne', get(f, node, Node.MASK), '0')} to i64")
        f.put(Field.DECISIONS, f.add(f.field(Field.DECISIONS), asked))
    with f.when(f.value(f"xor i1 {known}, true")):
        _choose(f, lane, node, record)
    status = f.own("step", "%lane", "%node", f.get(record))
    with f.when(f.compare("ne", status, "0")):
        _lost(f)
    f.do("ret i64 0")
    return f


def _lost(f: Kernel) -> None:
    f.own("finish", "%lane", str(NOT_FOLLOWED))
    f.do(f"ret i64 {_OVER}")


def _choose(f: Kernel, lane: str, node: str, record: str) -> None:
    """What policy and environment leave, once the policy has decided."""
    resolved = has(f, get(f, node, Node.FLAGS), RESOLVED)
    with f.when(f.value(f"xor i1 {resolved}, true")):
        f.pass_on(f.own("resolve", get(f, lane, Lane.STATE), "%node"))
    with f.when(has(f, get(f, node, Node.FLAGS), BAD)):
        _lost(f)
    action, certain = f.variable("-2"), f.variable("1")
    memo = f.compare("ne", f.field(Field.MEMO), "0")
    with f.when(f.compare("ne", get(f, node, Node.MASK), "0")):
        remembered, given = get(f, node, Node.DECISION), get(f, lane, Lane.DECISION)
        decision = f.value(f"select i1 {memo}, i64 {remembered}, i64 {given}")
        f.fail(f.compare("eq", decision, str(UNKNOWN)), WAITS)
        put(f, lane, Lane.DECISION, str(UNKNOWN))
        f.put(Field.DECISIONS, f.add(f.field(Field.DECISIONS), "1"))
        with f.when(f.compare("eq", decision, str(GIVE_UP))):
            _lost(f)
        f.set(action, decision)
        f.set(certain, f.value(f"zext i1 {memo} to i64"))
        with f.when(f.compare("sle", decision, str(DRAWN))):
            place = f.sub(str(DRAWN), decision)
            last = f.load(at_node(f, place), "0")
            k = f.own("drawn", "%lane", f.add(place, "1"), "2", last)
            f.set(action, f.load(at_node(f, place), f.add(f.mul(k, "2"), "2")))
            f.set(certain, "0")
    f.set(record, f.own("possible", "%lane", "%node", f.get(action)))
    with f.when(f.compare("eq", f.get(record), "-1")):
        _lost(f)
    with f.when(f.compare("eq", f.get(record), "0")):
        f.own("over", "%lane", "%node")
        f.do(f"ret i64 {_OVER}")
    with f.when(f.compare("slt", f.get(record), "0")):
        f.set(record, f.sub("-1", f.get(record)))
        f.set(certain, "0")
    with f.when(f.compare("ne", f.get(certain), "0")):
        put(f, node, Node.FIXED, f.get(record))


def _walk() -> Function:
    """Follow a run until it is over (0) or has to wait."""
    f = Kernel("walk", ", i64 %lane")
    lane = lane_of(f)
    with f.loop():
        f.fail(f.compare("sge", f.field(Field.STATE_COUNT), f.field(Field.STATE_ROOM)), GROW_STATES)
        state, place = get(f, lane, Lane.STATE), f.variable()
        f.set(place, f.load(f.address(Field.NODE_OF), state))
        with f.when(f.compare("eq", f.get(place), "0")):
            f.set(place, f.own("node", state))
            f.negative(f.get(place))
        number = f.get(place)
        node = at_node(f, number)
        unjudged = f.value(f"and i64 {get(f, node, Node.FLAGS)}, {JUDGED | BAD}")
        with f.when(f.compare("eq", unjudged, "0")):
            f.pass_on(f.own("settle", state, number))
        _judged(f, get(f, node, Node.FLAGS), get(f, lane, Lane.STEPS))
        jumped = f.own("jump", "%lane", number)
        with f.when(f.compare("slt", jumped, "0")):
            f.do(f"ret i64 {f.own('finish', '%lane', str(NOT_FOLLOWED))}")
        with f.when(f.compare("eq", jumped, "0")):
            status = f.own("leave", "%lane", number)
            with f.when(f.compare("eq", status, str(_OVER))):
                f.do("ret i64 0")
            f.pass_on(status)
    f.do("ret i64 0")
    return f


def _judged(f: Kernel, flags: str, steps: str) -> None:
    """Return if the run is decided here, in the order of `watched.py`."""

    def ends(condition: str, outcome: int) -> None:
        with f.when(condition):
            f.do(f"ret i64 {f.own('finish', '%lane', str(outcome))}")

    ends(has(f, flags, BAD), NOT_FOLLOWED)
    late = f.compare("sge", steps, f.field(Field.LOW_STEP))
    ends(f.value(f"and i1 {has(f, flags, RIGHT)}, {late}"), SUCCEEDED)
    ends(f.value(f"xor i1 {has(f, flags, LEFT)}, true"), FAILED)
    ends(f.compare("sge", steps, f.field(Field.HIGH_STEP)), FAILED)
    ends(f.compare("sge", steps, f.field(Field.MAX_STEPS)), UNDECIDED)


def _advance() -> Function:
    """Let all lanes go on as far as they can; WAITING lists those that need a decision."""
    f = Kernel("advance", internal=False)
    f.put(Field.WAITING_COUNT, "0")
    with f.count("0", f.field(Field.LANE_COUNT)) as i:
        lane = f.at(f.address(Field.LANES), f.mul(i, str(LANE_SIZE)))
        number = f.value(f"ptrtoint ptr {lane} to i64")
        with f.loop() as done:
            with f.when(f.compare("eq", get(f, lane, Lane.ACTIVE), "0")):
                run = f.field(Field.NEXT_RUN)
                f.leave(f.compare("sge", run, f.field(Field.END_RUN)), done)
                f.put(Field.NEXT_RUN, f.add(run, "1"))
                _begin(f, lane, number, run)
            status = f.own("walk", number)
            with f.when(f.compare("eq", status, str(WAITS))):
                count = f.field(Field.WAITING_COUNT)
                f.store(f.address(Field.WAITING), count, i)
                f.put(Field.WAITING_COUNT, f.add(count, "1"))
            f.leave(f.compare("eq", status, str(WAITS)), done)
            f.pass_on(status)
    f.do("ret i64 0")
    return f


def _begin(f: Kernel, lane: str, number: str, run: str) -> None:
    fields = {Lane.RUN: run, Lane.ACTIVE: "1", Lane.DECISION: str(UNKNOWN), Lane.USED: "4"}
    for field in (Lane.STEPS, Lane.LOW, Lane.HIGH, Lane.BLOCK):
        fields[field] = "0"
    for field, value in fields.items():
        put(f, lane, field, value)
    start = f.variable(f.field(Field.START))
    with f.when(f.compare("slt", f.get(start), "0")):
        f.set(start, f.own("below", number, f.field(Field.START_COUNT)))
    put(f, lane, Lane.STATE, f.item(Field.START_STATES, f.get(start)))
