"""Runs in machine code: one after the other along the chain, until something about it is not known yet.

A lane is a run under way. Each lane goes on until its run is over, and takes the next run; or until it needs
a decision that is not known. When all lanes wait, whoever called decides for all of them at once.
"""

from __future__ import annotations

from surefoot.explore.emit.machine_values import OVERFLOW
from surefoot.explore.llvm.hash_tables import store_functions
from surefoot.explore.llvm.kernel_table import GROW_STATES, WAITS, KernelField, KernelFunction
from surefoot.simulate.chain_nodes import (
    BAD,
    DRAWN,
    GIVE_UP,
    JUDGED,
    LEFT,
    NODE_LOST,
    NODE_OPEN,
    NODE_SURE,
    RESOLVED,
    RIGHT,
    UNKNOWN,
    NodeField,
    PartField,
    ReachedField,
    RecordField,
    load_field,
    node_address,
    node_functions,
    part_address,
    raise_field,
    reached_address,
    set_flag,
    store_field,
    test_flag,
)
from surefoot.simulate.following_states import following_functions
from surefoot.simulate.forward_pass import forward_kernel_text
from surefoot.simulate.path_property import ENDED, FAILED, STALLED, SUCCEEDED, UNDECIDED
from surefoot.simulate.random_words import LANE_SIZE, LaneField, lane_pointer, random_functions
from surefoot.work.machine.llvm_ir import OVERFLOWING, IrFunction

NOT_FOLLOWED = -1  # an outcome: something is wrong there, or 64 bits are not enough
_LONGEST_JUMP = 128  # steps; at the limit of steps runs go on without jumps
_MODERATE = 1 << 60
_ABSOLUTE = "declare float @llvm.fabs.f32(float)"
_OVER = 16  # a status: the run is over
_CHECKS = 17  # a status: somebody should look where the run is going
FOREVER = 1 << 62


def simulation_kernel_text() -> str:
    own = (
        _finish_function(),
        _over_function(),
        _possible_function(),
        _step_function(),
        _jump_function(),
        _settle_function(),
        _leave_function(),
        _walk_function(),
        _advance_function(),
    )
    functions = (*store_functions(), *random_functions(), *node_functions(), *own, *following_functions())
    return "\n".join([OVERFLOWING, _ABSOLUTE, forward_kernel_text(), *(f.text() for f in functions), ""])


def _finish_function() -> IrFunction:
    """Write down what became of a run."""
    f = KernelFunction("finish", ", i64 %lane, i64 %outcome")
    lane = lane_pointer(f)
    place = f.sub(load_field(f, lane, LaneField.RUN), f.field(KernelField.FIRST_RUN))
    f.store(f.address(KernelField.RUN_OUTCOMES), place, f.value("trunc i64 %outcome to i8"), "i8")
    columns = (
        (KernelField.RUN_STEPS, LaneField.STEPS),
        (KernelField.RUN_LOWS, LaneField.LOW),
        (KernelField.RUN_HIGHS, LaneField.HIGH),
    )
    for field, value in columns:
        f.store(f.address(field), place, load_field(f, lane, value))
    store_field(f, lane, LaneField.ACTIVE, "0")
    f.do("ret i64 0")
    return f


def _over_function() -> IrFunction:
    """Nothing can happen any more: what remains is what holds now."""
    f = KernelFunction("over", ", i64 %lane, i64 %node")
    lane, node, low = lane_pointer(f), node_address(f, "%node"), f.field(KernelField.LOW_STEP)
    reachable = f.compare("sle", low, f.field(KernelField.HIGH_STEP))
    waits = f.value(f"and i1 {test_flag(f, load_field(f, node, NodeField.FLAGS), RIGHT)}, {reachable}")
    with f.when(waits):
        store_field(f, lane, LaneField.STEPS, low)
        f.do(f"ret i64 {f.own('finish', '%lane', str(SUCCEEDED))}")
    empty = f.compare("eq", load_field(f, node, NodeField.RECORDS), "0")
    outcome = f.value(f"select i1 {empty}, i64 {ENDED}, i64 {STALLED}")
    f.do(f"ret i64 {f.own('finish', '%lane', outcome)}")
    return f


def _possible_function() -> IrFunction:
    """The record that is taken; 0: none, -1: several, which is refused, -1 - record: one of several."""
    f = KernelFunction("possible", ", i64 %lane, i64 %node, i64 %action")
    node, count, found, record = node_address(f, "%node"), f.variable("0"), f.variable("0"), f.variable()
    skip, several = f.variable("0"), f.variable("0")
    with f.loop() as done:
        f.set_variable(record, load_field(f, node, NodeField.RECORDS))
        with f.loop() as end:
            f.leave(f.compare("eq", f.get(record), "0"), end)
            pointer = node_address(f, f.get(record))
            action = load_field(f, pointer, RecordField.ACTION)
            own, taken = f.compare("slt", action, "0"), f.compare("eq", action, "%action")
            with f.when(f.value(f"or i1 {own}, {taken}")):
                with f.when(f.compare("eq", f.get(count), f.get(skip))):
                    f.set_variable(found, f.get(record))
                f.set_variable(count, f.add(f.get(count), "1"))
            f.set_variable(record, load_field(f, pointer, RecordField.NEXT))
        f.leave(f.compare("sle", f.get(count), "1"), done)
        f.leave(f.compare("ne", f.get(skip), "0"), done)
        f.fail(f.compare("eq", f.field(KernelField.UNIFORM), "0"), -1)
        f.set_variable(several, "1")
        f.set_variable(skip, f.own("below", "%lane", f.get(count)))
        f.leave(f.compare("eq", f.get(skip), "0"), done)
        f.set_variable(count, "0")
    one = f.compare("eq", f.get(several), "0")
    other = f.sub("-1", f.get(found))
    f.do(f"ret i64 {f.value(f'select i1 {one}, i64 {f.get(found)}, i64 {other}')}")
    return f


def _step_function() -> IrFunction:
    """Draw the outcomes of a record and go on; where that is certain it is remembered as a jump."""
    f = KernelFunction("step", ", i64 %lane, i64 %node, i64 %record")
    lane, node, record = lane_pointer(f), node_address(f, "%node"), node_address(f, "%record")
    state, mask = load_field(f, lane, LaneField.STATE), load_field(f, node, NodeField.MASK)
    with f.when(f.compare("eq", load_field(f, record, RecordField.READY), "0")):
        f.pass_on(f.own("ready", state, "%record"))
    parts, combination = load_field(f, record, RecordField.PARTS), f.variable("0")
    with f.count("0", parts) as j:
        part = part_address(f, record, j)
        count = load_field(f, part, PartField.COUNT)
        with f.when(f.compare("sgt", count, "1")):
            limits, certain = (
                load_field(f, part, PartField.THRESHOLDS),
                load_field(f, part, PartField.CERTAIN),
            )
            which = f.own("drawn", "%lane", limits, "1", certain)
            f.set_variable(combination, f.add(f.mul(f.get(combination), count), which))
    reached = reached_address(f, record, parts, f.get(combination))
    with f.when(f.compare("slt", load_field(f, reached, ReachedField.STATE), "0")):
        f.pass_on(f.own("fill", state, "%record", f.get(combination), mask))
    target, low, high = (
        load_field(f, reached, x) for x in (ReachedField.STATE, ReachedField.LOW, ReachedField.HIGH)
    )
    store_field(f, lane, LaneField.STATE, target)
    store_field(f, lane, LaneField.STEPS, f.add(load_field(f, lane, LaneField.STEPS), "1"))
    raise_field(f, lane, LaneField.LOW, low, OVERFLOW)
    raise_field(f, lane, LaneField.HIGH, high, OVERFLOW)
    fixed = f.compare("eq", load_field(f, node, NodeField.FIXED), "%record")
    single = f.compare("eq", load_field(f, record, RecordField.COMBINATIONS), "1")
    new = f.compare("slt", load_field(f, node, NodeField.JUMP), "0")
    with f.when(f.value(f"and i1 {new}, {f.value(f'and i1 {fixed}, {single}')}")):
        store_field(f, node, NodeField.JUMP_STEPS, "1")
        store_field(f, node, NodeField.JUMP_LOW, low)
        store_field(f, node, NodeField.JUMP_HIGH, high)
        asked = f.compare("ne", mask, "0")
        store_field(f, node, NodeField.JUMP_DECISIONS, f.value(f"zext i1 {asked} to i64"))
        store_field(f, node, NodeField.JUMP, target)
    f.do("ret i64 0")
    return f


def _jump_function() -> IrFunction:
    """Take the jump of a node if there is one and steps enough are left; 1 if so, -1 where it overflows."""
    f = KernelFunction("jump", ", i64 %lane, i64 %node")
    lane, node = lane_pointer(f), node_address(f, "%node")
    target = load_field(f, node, NodeField.JUMP)
    f.fail(f.compare("slt", target, "0"), 0)
    place = f.load(f.address(KernelField.NODE_OF), target)
    with f.when(f.compare("ne", place, "0")):
        _lengthen_jump(f, node, node_address(f, place))
    steps = f.add(load_field(f, lane, LaneField.STEPS), load_field(f, node, NodeField.JUMP_STEPS))
    f.fail(f.compare("sgt", steps, f.field(KernelField.STEP_LIMIT)), 0)
    for mine, its in ((LaneField.LOW, NodeField.JUMP_LOW), (LaneField.HIGH, NodeField.JUMP_HIGH)):
        raise_field(f, lane, mine, load_field(f, node, its), -1)
    store_field(f, lane, LaneField.STEPS, steps)
    store_field(f, lane, LaneField.STATE, load_field(f, node, NodeField.JUMP))
    f.raise_field(KernelField.DECISIONS, load_field(f, node, NodeField.JUMP_DECISIONS))
    f.do("ret i64 1")
    return f


def _lengthen_jump(f: KernelFunction, node: str, following: str) -> None:
    """Let a jump go as far as the one that begins where it ends, if nothing is decided there."""
    flags = load_field(f, following, NodeField.FLAGS)
    fine = f.compare("eq", f.value(f"and i64 {flags}, {RIGHT | LEFT | JUDGED | BAD}"), str(LEFT | JUDGED))
    more = f.compare("sge", load_field(f, following, NodeField.JUMP), "0")
    total = f.add(load_field(f, node, NodeField.JUMP_STEPS), load_field(f, following, NodeField.JUMP_STEPS))
    fine = f.value(
        f"and i1 {f.value(f'and i1 {fine}, {more}')}, {f.compare('sle', total, str(_LONGEST_JUMP))}"
    )
    for pointer in (node, following):
        for field in (NodeField.JUMP_LOW, NodeField.JUMP_HIGH):
            raised = f.add(load_field(f, pointer, field), str(_MODERATE))
            fine = f.value(f"and i1 {fine}, {f.compare('ult', raised, str(2 * _MODERATE))}")
    with f.when(fine):
        for field in (
            NodeField.JUMP_STEPS,
            NodeField.JUMP_LOW,
            NodeField.JUMP_HIGH,
            NodeField.JUMP_DECISIONS,
        ):
            store_field(f, node, field, f.add(load_field(f, node, field), load_field(f, following, field)))
        store_field(f, node, NodeField.JUMP, load_field(f, following, NodeField.JUMP))


def _settle_function() -> IrFunction:
    """Judge a state by what the policy does there."""
    f = KernelFunction("settle", ", i64 %state, i64 %node")
    node = node_address(f, "%node")
    resolved = test_flag(f, load_field(f, node, NodeField.FLAGS), RESOLVED)
    with f.when(f.value(f"xor i1 {resolved}, true")):
        f.pass_on(f.own("resolve", "%state", "%node"))
    f.fail(test_flag(f, load_field(f, node, NodeField.FLAGS), BAD), 0)
    unknown = f.compare("eq", load_field(f, node, NodeField.DECISION), str(UNKNOWN))
    asked = f.compare("ne", load_field(f, node, NodeField.MASK), "0")
    f.fail(f.value(f"and i1 {asked}, {unknown}"), WAITS)
    with f.when(f.compare("eq", load_field(f, node, NodeField.DECISION), str(GIVE_UP))):
        store_field(f, node, NodeField.FLAGS, str(BAD))
        f.do("ret i64 0")
    f.own("judge_node", "%state", "%node")
    f.do("ret i64 0")
    return f


def _leave_function() -> IrFunction:
    """One step from a state in which nothing is decided yet."""
    f = KernelFunction("leave", ", i64 %lane, i64 %node")
    lane, node, record = lane_pointer(f), node_address(f, "%node"), f.variable()
    f.set_variable(record, load_field(f, node, NodeField.FIXED))
    known = f.compare("ne", f.get(record), "0")
    with f.when(known):
        asked = f.value(f"zext i1 {f.compare('ne', load_field(f, node, NodeField.MASK), '0')} to i64")
        f.raise_field(KernelField.DECISIONS, asked)
    with f.when(f.value(f"xor i1 {known}, true")):
        _emit_choice(f, lane, node, record)
    status = f.own("step", "%lane", "%node", f.get(record))
    with f.when(f.compare("ne", status, "0")):
        _emit_lost_run(f)
    f.do("ret i64 0")
    return f


def _emit_lost_run(f: KernelFunction) -> None:
    f.own("finish", "%lane", str(NOT_FOLLOWED))
    f.do(f"ret i64 {_OVER}")


def _emit_choice(f: KernelFunction, lane: str, node: str, record: str) -> None:
    """What policy and environment leave, once the policy has decided."""
    resolved = test_flag(f, load_field(f, node, NodeField.FLAGS), RESOLVED)
    with f.when(f.value(f"xor i1 {resolved}, true")):
        f.pass_on(f.own("resolve", load_field(f, lane, LaneField.STATE), "%node"))
    with f.when(test_flag(f, load_field(f, node, NodeField.FLAGS), BAD)):
        _emit_lost_run(f)
    action, certain = f.variable("-2"), f.variable("1")
    memo = f.compare("ne", f.field(KernelField.MEMO), "0")
    with f.when(f.compare("ne", load_field(f, node, NodeField.MASK), "0")):
        remembered, given = load_field(f, node, NodeField.DECISION), load_field(f, lane, LaneField.DECISION)
        decision = f.value(f"select i1 {memo}, i64 {remembered}, i64 {given}")
        f.fail(f.compare("eq", decision, str(UNKNOWN)), WAITS)
        store_field(f, lane, LaneField.DECISION, str(UNKNOWN))
        f.raise_field(KernelField.DECISIONS, "1")
        with f.when(f.compare("eq", decision, str(GIVE_UP))):
            _emit_lost_run(f)
        f.set_variable(action, decision)
        f.set_variable(certain, f.value(f"zext i1 {memo} to i64"))
        with f.when(f.compare("sle", decision, str(DRAWN))):
            place = f.sub(str(DRAWN), decision)
            last = f.load(node_address(f, place), "0")
            k = f.own("drawn", "%lane", f.add(place, "1"), "2", last)
            f.set_variable(action, f.load(node_address(f, place), f.add(f.mul(k, "2"), "2")))
            f.set_variable(certain, "0")
    f.set_variable(record, f.own("possible", "%lane", "%node", f.get(action)))
    with f.when(f.compare("eq", f.get(record), "-1")):
        _emit_lost_run(f)
    with f.when(f.compare("eq", f.get(record), "0")):
        f.own("over", "%lane", "%node")
        f.do(f"ret i64 {_OVER}")
    with f.when(f.compare("slt", f.get(record), "0")):
        f.set_variable(record, f.sub("-1", f.get(record)))
        f.set_variable(certain, "0")
    with f.when(f.compare("ne", f.get(certain), "0")):
        store_field(f, node, NodeField.FIXED, f.get(record))


def _walk_function() -> IrFunction:
    """Follow a run until it is over (0) or has to wait."""
    f = KernelFunction("walk", ", i64 %lane")
    lane = lane_pointer(f)
    with f.loop():
        f.fail(
            f.compare("sge", f.field(KernelField.STATE_COUNT), f.field(KernelField.STATE_ROOM)), GROW_STATES
        )
        state, place = load_field(f, lane, LaneField.STATE), f.variable()
        f.set_variable(place, f.load(f.address(KernelField.NODE_OF), state))
        with f.when(f.compare("eq", f.get(place), "0")):
            f.set_variable(place, f.own("node", state))
            f.negative(f.get(place))
        number = f.get(place)
        node = node_address(f, number)
        unjudged = f.value(f"and i64 {load_field(f, node, NodeField.FLAGS)}, {JUDGED | BAD}")
        with f.when(f.compare("eq", unjudged, "0")):
            f.pass_on(f.own("settle", state, number))
        _emit_verdict(f, lane, load_field(f, node, NodeField.FLAGS), load_field(f, lane, LaneField.STEPS))
        jumped = f.own("jump", "%lane", number)
        with f.when(f.compare("slt", jumped, "0")):
            f.do(f"ret i64 {f.own('finish', '%lane', str(NOT_FOLLOWED))}")
        _emit_certain_cycle(f, state, node)
        with f.when(f.compare("eq", jumped, "0")):
            status = f.own("leave", "%lane", number)
            with f.when(f.compare("eq", status, str(_OVER))):
                f.do("ret i64 0")
            f.pass_on(status)
    f.do("ret i64 0")
    return f


def _emit_certain_cycle(f: KernelFunction, state: str, node: str) -> None:
    """A jump that ends where it began goes on for ever, and nothing is decided on the way."""
    again = f.compare("eq", load_field(f, node, NodeField.JUMP), state)
    settles = f.compare("slt", f.field(KernelField.FIRST_LOOK), str(FOREVER))
    early = test_flag(
        f, load_field(f, node, NodeField.FLAGS), RIGHT
    )  # at a step where that does not count yet
    lost = f.value(f"and i1 {settles}, {f.value(f'xor i1 {early}, true')}")
    with f.when(f.value(f"and i1 {again}, {lost}")):
        set_flag(f, node, str(NODE_LOST))


def _emit_verdict(f: KernelFunction, lane: str, flags: str, steps: str) -> None:
    """Return if the run is decided here, in the order of `path_property.py`."""

    def ends(condition: str, outcome: int) -> None:
        with f.when(condition):
            f.do(f"ret i64 {f.own('finish', '%lane', str(outcome))}")

    ends(test_flag(f, flags, BAD), NOT_FOLLOWED)
    late = f.compare("sge", steps, f.field(KernelField.LOW_STEP))
    ends(f.value(f"and i1 {test_flag(f, flags, RIGHT)}, {late}"), SUCCEEDED)
    ends(f.value(f"xor i1 {test_flag(f, flags, LEFT)}, true"), FAILED)
    ends(f.compare("sge", steps, f.field(KernelField.HIGH_STEP)), FAILED)
    with f.when(test_flag(f, flags, NODE_LOST)):  # it would go on without end
        store_field(f, lane, LaneField.STEPS, f.field(KernelField.STEP_LIMIT))
        store_field(f, lane, LaneField.LOW, "0")
        store_field(f, lane, LaneField.HIGH, "0")
        f.do(f"ret i64 {f.own('finish', '%lane', str(FAILED))}")
    with f.when(f.compare("sge", steps, f.field(KernelField.MAX_STEPS))):
        ends(test_flag(f, flags, NODE_SURE), SUCCEEDED)
        settles = f.compare("slt", f.field(KernelField.FIRST_LOOK), str(FOREVER))
        new = f.value(f"xor i1 {test_flag(f, flags, NODE_OPEN)}, true")
        f.fail(f.value(f"and i1 {settles}, {new}"), _CHECKS)
        f.do(f"ret i64 {f.own('finish', '%lane', str(UNDECIDED))}")
    f.fail(f.compare("sge", steps, load_field(f, lane, LaneField.LOOK)), _CHECKS)


def _advance_function() -> IrFunction:
    """Let all lanes go on as far as they can; WAITING lists those that need a decision."""
    f = KernelFunction("advance", internal=False)
    f.put_field(KernelField.WAITING_COUNT, "0")
    f.put_field(KernelField.CHECKING_COUNT, "0")
    with f.count("0", f.field(KernelField.LANE_COUNT)) as i:
        lane = f.at(f.address(KernelField.LANES), f.mul(i, str(LANE_SIZE)))
        number = f.value(f"ptrtoint ptr {lane} to i64")
        with f.loop() as done:
            with f.when(f.compare("eq", load_field(f, lane, LaneField.ACTIVE), "0")):
                run = f.field(KernelField.NEXT_RUN)
                f.leave(f.compare("sge", run, f.field(KernelField.END_RUN)), done)
                f.put_field(KernelField.NEXT_RUN, f.add(run, "1"))
                _begin_run(f, lane, number, run)
            status = f.own("walk", number)
            for own, listed, number_of in (
                (WAITS, KernelField.WAITING, KernelField.WAITING_COUNT),
                (_CHECKS, KernelField.CHECKING, KernelField.CHECKING_COUNT),
            ):
                with f.when(f.compare("eq", status, str(own))):
                    count = f.field(number_of)
                    f.store(f.address(listed), count, i)
                    f.put_field(number_of, f.add(count, "1"))
                f.leave(f.compare("eq", status, str(own)), done)
            f.pass_on(status)
    f.do("ret i64 0")
    return f


def _begin_run(f: KernelFunction, lane: str, number: str, run: str) -> None:
    fields = {
        LaneField.RUN: run,
        LaneField.ACTIVE: "1",
        LaneField.DECISION: str(UNKNOWN),
        LaneField.USED: "4",
        LaneField.LOOK: f.field(KernelField.FIRST_LOOK),
    }
    for field in (LaneField.STEPS, LaneField.LOW, LaneField.HIGH, LaneField.BLOCK):
        fields[field] = "0"
    for field, value in fields.items():
        store_field(f, lane, field, value)
    start = f.variable(f.field(KernelField.START))
    with f.when(f.compare("slt", f.get(start), "0")):
        f.set_variable(start, f.own("below", number, f.field(KernelField.START_COUNT)))
    store_field(f, lane, LaneField.STATE, f.item(KernelField.START_STATES, f.get(start)))
