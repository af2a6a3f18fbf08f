"""All states that can follow others, in machine code: what `run_fate.py` needs to know of the chain.

Here a lane is not a run but a state to look at. What follows it is written to FOLLOWING, from the place in
FOLLOWING_FIRST to the place in FOLLOWING_LAST; that is REACHED_RIGHT, NOT_KNOWN or ASK_INTERPRETER where
nothing follows that machine code could tell.
"""

from __future__ import annotations

from surefoot.explore.llvm.kernel_table import (
    GROW_FOLLOWING,
    GROW_NODES,
    GROW_STATES,
    WAITS,
    KernelField,
    KernelFunction,
)
from surefoot.simulate.chain_nodes import (
    BAD,
    DRAWN,
    GIVE_UP,
    JUDGED,
    LEFT,
    RESOLVED,
    RIGHT,
    UNKNOWN,
    NodeField,
    PartField,
    ReachedField,
    RecordField,
    load_field,
    node_address,
    part_address,
    reached_address,
    store_field,
    test_flag,
)
from surefoot.simulate.random_words import LANE_SIZE, LaneField, lane_pointer
from surefoot.simulate.run_fate import MOST_FOLLOWING
from surefoot.work.machine.llvm_ir import IrFunction

NOT_KNOWN, REACHED_RIGHT, ASK_INTERPRETER = -1, -2, -3
_UNCLEAR = 18  # a status: a run is over there, or something is left open


def following_functions() -> tuple[IrFunction, ...]:
    return (_record_function(), _action_function(), _lane_function(), _follow_function())


def _record_function() -> IrFunction:
    """Write down where the outcomes of a record lead that can be drawn."""
    f = KernelFunction("follow_record", ", i64 %state, i64 %mask, i64 %record")
    record = node_address(f, "%record")
    with f.when(f.compare("eq", load_field(f, record, RecordField.READY), "0")):
        f.pass_on(f.own("ready", "%state", "%record"))
    parts = load_field(f, record, RecordField.PARTS)
    combinations = load_field(f, record, RecordField.COMBINATIONS)
    f.fail(f.compare("sgt", combinations, str(MOST_FOLLOWING)), _UNCLEAR)
    with f.count("0", combinations) as c:
        rest, drawn = f.variable(), f.variable()
        f.set_variable(rest, c)
        f.set_variable(drawn, "1")
        with f.count("0", parts) as back:
            part = part_address(f, record, f.sub(f.sub(parts, "1"), back))
            count = load_field(f, part, PartField.COUNT)
            k = f.value(f"urem i64 {f.get(rest)}, {count}")
            f.set_variable(rest, f.value(f"udiv i64 {f.get(rest)}, {count}"))
            with f.when(f.compare("sgt", count, "1")):
                _emit_possible_draw(f, part, k, drawn)
        with f.when(f.compare("ne", f.get(drawn), "0")):
            reached = reached_address(f, record, parts, c)
            with f.when(f.compare("slt", load_field(f, reached, ReachedField.STATE), "0")):
                count, room = f.field(KernelField.STATE_COUNT), f.field(KernelField.STATE_ROOM)
                f.fail(f.compare("sge", count, room), GROW_STATES)
                f.pass_on(f.own("fill", "%state", "%record", c, "%mask"))
            place = f.field(KernelField.FOLLOWING_COUNT)
            f.fail(f.compare("sge", place, f.field(KernelField.FOLLOWING_ROOM)), GROW_FOLLOWING)
            f.store(f.address(KernelField.FOLLOWING), place, load_field(f, reached, ReachedField.STATE))
            f.put_field(KernelField.FOLLOWING_COUNT, f.add(place, "1"))
    f.do("ret i64 0")
    return f


def _emit_possible_draw(f: KernelFunction, part: str, k: str, drawn: str) -> None:
    """Can outcome k be drawn? Not beyond the certain one, nor with the threshold of the one before."""
    certain = load_field(f, part, PartField.CERTAIN)
    with f.when(f.compare("sgt", k, certain)):
        f.set_variable(drawn, "0")
    with f.when(f.compare("slt", k, certain)):
        limits, below = node_address(f, load_field(f, part, PartField.THRESHOLDS)), f.variable()
        f.set_variable(below, "0")
        with f.when(f.compare("sgt", k, "0")):
            f.set_variable(below, f.load(limits, f.sub(k, "1")))
        none = f.value(f"icmp ule i64 {f.load(limits, k)}, {f.get(below)}")
        with f.when(none):
            f.set_variable(drawn, "0")


def _action_function() -> IrFunction:
    """What follows if the policy chooses this action (or there is none to choose)."""
    f = KernelFunction("follow_action", ", i64 %state, i64 %node, i64 %action")
    node, count, record = node_address(f, "%node"), f.variable("0"), f.variable()
    mask = load_field(f, node, NodeField.MASK)
    f.set_variable(record, load_field(f, node, NodeField.RECORDS))
    with f.loop() as end:
        f.leave(f.compare("eq", f.get(record), "0"), end)
        pointer = node_address(f, f.get(record))
        action = load_field(f, pointer, RecordField.ACTION)
        own, taken = f.compare("slt", action, "0"), f.compare("eq", action, "%action")
        with f.when(f.value(f"or i1 {own}, {taken}")):
            f.set_variable(count, f.add(f.get(count), "1"))
            f.pass_on(f.own("follow_record", "%state", mask, f.get(record)))
        f.set_variable(record, load_field(f, pointer, RecordField.NEXT))
    f.fail(f.compare("eq", f.get(count), "0"), _UNCLEAR)
    refused = f.compare("eq", f.field(KernelField.UNIFORM), "0")
    f.fail(f.value(f"and i1 {f.compare('sgt', f.get(count), '1')}, {refused}"), _UNCLEAR)
    f.do("ret i64 0")
    return f


def _lane_function() -> IrFunction:
    """What follows the state of one lane."""
    f = KernelFunction("follow_lane", ", i64 %lane, i64 %number")
    lane, last = lane_pointer(f), f.at(f.address(KernelField.FOLLOWING_LAST), "%number")
    f.fail(f.compare("sge", f.field(KernelField.STATE_COUNT), f.field(KernelField.STATE_ROOM)), GROW_STATES)
    state, place = load_field(f, lane, LaneField.STATE), f.variable()
    f.set_variable(place, f.load(f.address(KernelField.NODE_OF), state))
    with f.when(f.compare("eq", f.get(place), "0")):
        f.set_variable(place, f.own("node", state))
        f.negative(f.get(place))
    number = f.get(place)
    node = node_address(f, number)
    f.store(f.address(KernelField.FOLLOWING_FIRST), "%number", f.field(KernelField.FOLLOWING_COUNT))
    unjudged = f.value(f"and i64 {load_field(f, node, NodeField.FLAGS)}, {JUDGED | BAD}")
    with f.when(f.compare("eq", unjudged, "0")):
        f.pass_on(f.own("settle", state, number))
    _end_there(f, last, ASK_INTERPRETER, test_flag(f, load_field(f, node, NodeField.FLAGS), BAD))
    flags = load_field(f, node, NodeField.FLAGS)
    _end_there(f, last, REACHED_RIGHT, test_flag(f, flags, RIGHT))
    _end_there(f, last, NOT_KNOWN, f.value(f"xor i1 {test_flag(f, flags, LEFT)}, true"))
    with f.when(f.value(f"xor i1 {test_flag(f, flags, RESOLVED)}, true")):
        f.pass_on(f.own("resolve", state, number))
    _end_there(f, last, ASK_INTERPRETER, test_flag(f, load_field(f, node, NodeField.FLAGS), BAD))
    decision = f.variable("-2")
    with f.when(f.compare("ne", load_field(f, node, NodeField.MASK), "0")):
        remembered, given = load_field(f, node, NodeField.DECISION), load_field(f, lane, LaneField.DECISION)
        memo = f.compare("ne", f.field(KernelField.MEMO), "0")
        f.set_variable(decision, f.value(f"select i1 {memo}, i64 {remembered}, i64 {given}"))
        f.fail(f.compare("eq", f.get(decision), str(UNKNOWN)), WAITS)
        _end_there(f, last, ASK_INTERPRETER, f.compare("eq", f.get(decision), str(GIVE_UP)))
    status = f.variable("0")
    drawn = f.compare("sle", f.get(decision), str(DRAWN))
    with f.when(drawn):
        place = f.sub(str(DRAWN), f.get(decision))
        with f.count("0", f.add(f.load(node_address(f, place), "0"), "1")) as k:
            _emit_drawn_action(f, place, k, state, number, status)
    with f.when(f.value(f"xor i1 {drawn}, true")):
        f.set_variable(status, f.own("follow_action", state, number, f.get(decision)))
    for grow in (GROW_STATES, GROW_NODES, GROW_FOLLOWING):
        f.fail(f.compare("eq", f.get(status), str(grow)), grow)
    _end_there(f, last, NOT_KNOWN, f.compare("eq", f.get(status), str(_UNCLEAR)))
    _end_there(f, last, ASK_INTERPRETER, f.compare("ne", f.get(status), "0"))
    f.do(f"store i64 {f.field(KernelField.FOLLOWING_COUNT)}, ptr {last}")
    f.do("ret i64 0")
    return f


def _emit_drawn_action(f: KernelFunction, place: str, k: str, state: str, node: str, status: str) -> None:
    """What follows action k of a distribution, if it can be drawn and nothing has failed before."""
    pairs, below = node_address(f, f.add(place, "1")), f.variable()
    f.set_variable(below, "0")
    with f.when(f.compare("sgt", k, "0")):
        f.set_variable(below, f.load(pairs, f.mul(f.sub(k, "1"), "2")))
    above = f.value(f"icmp ugt i64 {f.load(pairs, f.mul(k, '2'))}, {f.get(below)}")
    certain = f.compare("eq", k, f.load(node_address(f, place), "0"))
    fine = f.compare("eq", f.get(status), "0")
    with f.when(f.value(f"and i1 {fine}, {f.value(f'or i1 {above}, {certain}')}")):
        action = f.load(pairs, f.add(f.mul(k, "2"), "1"))
        f.set_variable(status, f.own("follow_action", state, node, action))


def _end_there(f: KernelFunction, last: str, code: int, condition: str) -> None:
    with f.when(condition):
        f.do(f"store i64 {code}, ptr {last}")
        f.do("ret i64 0")


def _follow_function() -> IrFunction:
    """What follows the states of all lanes; WAITING lists those that need a decision."""
    f = KernelFunction("follow", internal=False)
    f.put_field(KernelField.WAITING_COUNT, "0")
    with f.count("0", f.field(KernelField.LANE_COUNT)) as i:
        lane = f.at(f.address(KernelField.LANES), f.mul(i, str(LANE_SIZE)))
        with f.when(f.compare("ne", load_field(f, lane, LaneField.ACTIVE), "0")):
            status = f.own("follow_lane", f.value(f"ptrtoint ptr {lane} to i64"), i)
            waits = f.compare("eq", status, str(WAITS))
            with f.when(waits):
                count = f.field(KernelField.WAITING_COUNT)
                f.store(f.address(KernelField.WAITING), count, i)
                f.put_field(KernelField.WAITING_COUNT, f.add(count, "1"))
            f.pass_on(f.value(f"select i1 {waits}, i64 0, i64 {status}"))
            with f.when(f.value(f"xor i1 {waits}, true")):
                store_field(f, lane, LaneField.ACTIVE, "0")
    f.do("ret i64 0")
    return f
