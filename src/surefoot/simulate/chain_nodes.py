"""The chain of a simulation, built as runs need it: nodes for states, records for what can happen there.

All in one array of i64. A node is what is known of a state; its records are a list, one for each combination
of enabled edges. A record has for each of its edges how an outcome is drawn, and for each combination of
outcomes the next state and the reward, found out when it is first drawn. So a step that was made once is a
look into a table from then on, and what no run draws is never computed.
"""

from __future__ import annotations

from enum import IntEnum

from surefoot.explore.emit.machine_values import OVERFLOW
from surefoot.explore.llvm.edge_combinations import (
    count_outcomes,
    emit_single_edges,
    emit_sync_vectors,
    emit_updates,
    pass_model_status,
)
from surefoot.explore.llvm.kernel_table import GROW_NODES, KernelField, KernelFunction
from surefoot.work.machine.llvm_ir import IrFunction

UNKNOWN, NOTHING, GIVE_UP = -1, -2, -3  # decisions that are not actions
DRAWN = -4  # and below: where the distribution is
RIGHT, LEFT, RESOLVED, JUDGED, BAD = 1, 2, 4, 8, 16
NODE_LOST, NODE_SURE, NODE_OPEN, NODE_HOPE = 32, 64, 128, 256  # fates, where somebody has looked
NO_REWARD, PER_STEP, PER_DECISION, OF_OUTCOMES, OF_STATE = range(5)


class NodeField(IntEnum):
    FLAGS = 0
    MASK = 1  # which actions of the policy are enabled
    DECISION = 2
    RECORDS = 3  # the first
    FIXED = 4  # the only one that is ever taken
    JUMP = 5  # a later state that is surely reached, -1: none; in between nothing is decided
    JUMP_STEPS = 6
    JUMP_LOW = 7
    JUMP_HIGH = 8
    JUMP_DECISIONS = 9
    STALLS = 10
    CHOSEN = 11  # which actions the policy may choose
    SIZE = 12


class RecordField(IntEnum):
    ACTION = 0
    NEXT = 1
    PARTS = 2
    COMBINATIONS = 3
    READY = 4  # the thresholds are there
    SIZE = 5  # then the parts, then the combinations


class PartField(IntEnum):
    EDGE = 0
    COUNT = 1  # of outcomes
    CERTAIN = 2
    THRESHOLDS = 3
    SIZE = 4


class ReachedField(IntEnum):
    STATE = 0  # -1: not computed yet
    LOW = 1
    HIGH = 2
    SIZE = 3


def node_functions() -> tuple[IrFunction, ...]:
    several = (
        _node_function(),
        _judge_function(),
        _choice_function(),
        _records_function(),
        _resolve_function(),
        _share_function(),
        _ready_function(),
        _reward_function(),
        _fill_function(),
    )
    return several


def node_address(f: KernelFunction, node: str) -> str:
    return f.at(f.address(KernelField.NODES), node)


def part_address(f: KernelFunction, record: str, number: str) -> str:
    return f.at(record, f.add(f.mul(number, str(int(PartField.SIZE))), str(int(RecordField.SIZE))))


def reached_address(f: KernelFunction, record: str, parts: str, combination: str) -> str:
    return f.at(part_address(f, record, parts), f.mul(combination, str(int(ReachedField.SIZE))))


def load_field(f: KernelFunction, pointer: str, field: IntEnum) -> str:
    return f.load(pointer, str(int(field)))


def store_field(f: KernelFunction, pointer: str, field: IntEnum, value: str) -> None:
    f.store(pointer, str(int(field)), value)


def raise_field(f: KernelFunction, pointer: str, field: IntEnum, amount: str, status: int) -> None:
    """Add to a number; fails with the status where 64 bits are not enough."""
    total = f.checked_arithmetic("sadd", load_field(f, pointer, field), amount, status)
    store_field(f, pointer, field, total)


def test_flag(f: KernelFunction, flags: str, flag: int) -> str:
    return f.compare("ne", f.value(f"and i64 {flags}, {flag}"), "0")


def set_flag(f: KernelFunction, pointer: str, flag: str) -> None:
    store_field(
        f, pointer, NodeField.FLAGS, f.value(f"or i64 {load_field(f, pointer, NodeField.FLAGS)}, {flag}")
    )


def _unpack_state(f: KernelFunction, state: str) -> str:
    numbers = f.address(KernelField.NUMBERS)
    packed = f.at(f.address(KernelField.STATES), f.mul(state, f.field(KernelField.WORDS)))
    f.call(f.address(KernelField.UNPACK), packed, numbers)
    return numbers


def _node_function() -> IrFunction:
    """The node of a state, made if there is none; or -status."""
    f = KernelFunction("node", ", i64 %state")
    known = f.load(f.address(KernelField.NODE_OF), "%state")
    with f.when(f.compare("ne", known, "0")):
        f.do(f"ret i64 {known}")
    new = f.field(KernelField.NODE_COUNT)
    end = f.add(new, str(int(NodeField.SIZE)))
    f.fail(f.compare("sgt", end, f.field(KernelField.NODE_ROOM)), -GROW_NODES)
    pointer = node_address(f, new)
    for field in NodeField:
        if field is not NodeField.SIZE:
            start = {NodeField.DECISION: UNKNOWN, NodeField.JUMP: -1}.get(field, 0)
            store_field(f, pointer, field, str(start))
    f.put_field(KernelField.NODE_COUNT, end)
    f.store(f.address(KernelField.NODE_OF), "%state", new)
    with f.when(f.compare("eq", f.field(KernelField.FACT_COUNT), "0")):
        f.own("judge_node", "%state", new)
    f.do(f"ret i64 {new}")
    return f


def _judge_function() -> IrFunction:
    """Do `right` and `left` hold? Facts are known by now."""
    f = KernelFunction("judge_node", ", i64 %state, i64 %node")
    numbers, pointer, facts = (
        _unpack_state(f, "%state"),
        node_address(f, "%node"),
        f.address(KernelField.FACTS),
    )
    with f.count("0", f.field(KernelField.FACT_COUNT)) as i:
        code, fact = f.item(KernelField.FACT_CODES, i), f.variable()
        f.set_variable(fact, "0")
        with f.when(f.compare("eq", code, "-1")):
            f.set_variable(fact, load_field(f, pointer, NodeField.STALLS))
        with f.when(f.compare("eq", code, "-2")):
            none = f.compare("eq", load_field(f, pointer, NodeField.RECORDS), "0")
            f.set_variable(fact, f.value(f"zext i1 {none} to i64"))
        with f.when(f.compare("sge", code, "0")):
            shifted = f.value(f"lshr i64 {load_field(f, pointer, NodeField.CHOSEN)}, {code}")
            f.set_variable(fact, f.value(f"and i64 {shifted}, 1"))
        f.store(facts, i, f.get(fact))
    out = f.address(KernelField.LABEL_BYTES)
    status = f.call(f.address(KernelField.LABELS), numbers, out, facts)
    with f.when(f.compare("ne", status, "0")):
        set_flag(f, pointer, str(BAD))
        f.do("ret i64 0")
    for place, flag in (("0", RIGHT), ("1", LEFT)):
        holds = f.value(f"icmp ne i8 {f.load(out, place, 'i8')}, 0")
        set_flag(f, pointer, f.value(f"select i1 {holds}, i64 {flag | JUDGED}, i64 {JUDGED}"))
    f.do("ret i64 0")
    return f


def _choice_function() -> IrFunction:
    """Attach a record of the edges in PICKED to the node under way."""
    f = KernelFunction("choice", ", i64 %parts, i64 %code, i64 %action")
    picked = f.address(KernelField.PICKED)
    new, combinations, extra = f.field(KernelField.NODE_COUNT), f.variable("1"), f.variable("0")
    with f.count("0", "%parts") as j:
        edge = f.load(picked, j)
        count = count_outcomes(f, edge)
        f.set_variable(combinations, f.checked_arithmetic("smul", f.get(combinations), count, OVERFLOW))
        with f.when(f.compare("eq", f.item(KernelField.THRESHOLD_OF, edge), "0")):
            f.set_variable(extra, f.add(f.get(extra), count))
    f.fail(f.compare("sgt", f.get(combinations), str(2**40)), OVERFLOW)
    size = f.add(
        f.mul("%parts", str(int(PartField.SIZE))), f.mul(f.get(combinations), str(int(ReachedField.SIZE)))
    )
    end = f.add(f.add(new, str(int(RecordField.SIZE))), f.add(size, f.get(extra)))
    f.fail(f.compare("sgt", end, f.field(KernelField.NODE_ROOM)), GROW_NODES)
    pointer = node_address(f, new)
    store_field(f, pointer, RecordField.ACTION, "%action")
    store_field(f, pointer, RecordField.NEXT, "0")
    store_field(f, pointer, RecordField.PARTS, "%parts")
    store_field(f, pointer, RecordField.COMBINATIONS, f.get(combinations))
    none = f.compare("eq", f.get(extra), "0")
    store_field(f, pointer, RecordField.READY, f.value(f"zext i1 {none} to i64"))
    place = f.variable(f.sub(end, f.get(extra)))  # of thresholds that depend on the state
    part = f.variable(f.add(new, str(int(RecordField.SIZE))))
    with f.count("0", "%parts") as j:
        here, edge = node_address(f, f.get(part)), f.load(picked, j)
        count = count_outcomes(f, edge)
        store_field(f, here, PartField.EDGE, edge)
        store_field(f, here, PartField.COUNT, count)
        store_field(f, here, PartField.CERTAIN, f.item(KernelField.CERTAIN_OF, edge))
        store_field(f, here, PartField.THRESHOLDS, f.item(KernelField.THRESHOLD_OF, edge))
        with f.when(f.compare("eq", f.item(KernelField.THRESHOLD_OF, edge), "0")):
            store_field(f, here, PartField.THRESHOLDS, f.get(place))
            f.set_variable(place, f.add(f.get(place), count))
        f.set_variable(part, f.add(f.get(part), str(int(PartField.SIZE))))
    reached = node_address(f, f.get(part))
    with f.count("0", f.get(combinations)) as c:
        f.store(reached, f.mul(c, str(int(ReachedField.SIZE))), "-1")
    f.put_field(KernelField.NODE_COUNT, end)
    f.do(f"store i64 {new}, ptr {f.address(KernelField.LAST_RECORD)}")
    f.put_field(
        KernelField.LAST_RECORD, f.value(f"ptrtoint ptr {f.at(pointer, str(int(RecordField.NEXT)))} to i64")
    )
    with f.when(f.compare("sge", "%action", "0")):
        mask = f.at(f.value(f"inttoptr i64 {f.field(KernelField.MASKS)} to ptr"), "0")
        bits = f.value(f"or i64 {f.get(mask)}, {f.value('shl i64 1, %action')}")
        f.do(f"store i64 {bits}, ptr {mask}")
    f.do("ret i64 0")
    return f


def _resolve_function() -> IrFunction:
    """Find out what is enabled in a state; leaves nothing behind where there is no room."""
    f = KernelFunction("resolve", ", i64 %state, i64 %node")
    numbers, pointer, enabled = (
        _unpack_state(f, "%state"),
        node_address(f, "%node"),
        f.address(KernelField.ENABLED),
    )
    with f.count("0", f.field(KernelField.EDGE_COUNT)) as e:
        f.store(enabled, e, "0", "i8")
    with f.when(f.compare("ne", f.call(f.address(KernelField.GUARDS), numbers, enabled), "0")):
        set_flag(f, pointer, str(BAD))
        f.do("ret i64 0")
    before = f.field(KernelField.NODE_COUNT)
    store_field(f, pointer, NodeField.MASK, "0")
    store_field(f, pointer, NodeField.RECORDS, "0")
    for field, place in ((KernelField.LAST_RECORD, NodeField.RECORDS), (KernelField.MASKS, NodeField.MASK)):
        f.put_field(field, f.value(f"ptrtoint ptr {f.at(pointer, str(int(place)))} to i64"))
    status = f.own("records")
    with f.when(f.compare("ne", status, "0")):
        f.put_field(KernelField.NODE_COUNT, before)
        store_field(f, pointer, NodeField.RECORDS, "0")
        with f.when(f.compare("ne", status, str(GROW_NODES))):
            set_flag(f, pointer, str(BAD))
            f.do("ret i64 0")
        f.do(f"ret i64 {status}")
    set_flag(f, pointer, str(RESOLVED))
    f.do("ret i64 0")
    return f


def _records_function() -> IrFunction:
    """A record for each combination of edges that is enabled."""
    f = KernelFunction("records")
    choices, outcomes = f.field(KernelField.CHOICE_COUNT), f.field(KernelField.OUTCOME_COUNT)
    emit_single_edges(f, choices, outcomes)
    emit_sync_vectors(f, choices, outcomes)
    f.do("ret i64 0")
    return f


def _share_function() -> IrFunction:
    """The least integer not below 2^64 top / bottom, for 0 <= top < bottom: long division."""
    f = KernelFunction("share", ", i64 %top, i64 %bottom")
    rest, quotient = f.variable("%top"), f.variable("0")
    with f.count("0", "64"):
        doubled = f.value(f"shl i64 {f.get(rest)}, 1")
        fits = f.value(f"icmp uge i64 {doubled}, %bottom")
        less = f.value(f"select i1 {fits}, i64 %bottom, i64 0")
        f.set_variable(rest, f.sub(doubled, less))
        bit = f.value(f"zext i1 {fits} to i64")
        f.set_variable(quotient, f.value(f"or i64 {f.value(f'shl i64 {f.get(quotient)}, 1')}, {bit}"))
    up = f.value(f"zext i1 {f.compare('ne', f.get(rest), '0')} to i64")
    f.do(f"ret i64 {f.add(f.get(quotient), up)}")
    return f


def _ready_function() -> IrFunction:
    """The thresholds of a record that depend on the state."""
    f = KernelFunction("ready", ", i64 %state, i64 %record")
    numbers, record, first = (
        _unpack_state(f, "%state"),
        node_address(f, "%record"),
        f.address(KernelField.OUTCOME_FIRST),
    )
    with f.count("0", load_field(f, record, RecordField.PARTS)) as j:
        part = part_address(f, record, j)
        edge = load_field(f, part, PartField.EDGE)
        function = f.item(KernelField.PROBABILITY_OF, edge)
        with f.when(f.compare("ne", function, "0")):
            pairs = f.at(f.address(KernelField.PAIRS), f.mul(f.load(first, edge), "2"))
            pass_model_status(f, f.call(f.value(f"inttoptr i64 {function} to ptr"), numbers, pairs), edge)
            limits = node_address(f, load_field(f, part, PartField.THRESHOLDS))
            top, bottom, certain = f.variable("0"), f.variable("1"), f.variable("-1")
            with f.count("0", load_field(f, part, PartField.COUNT)) as k:
                a, b = f.load(pairs, f.mul(k, "2")), f.load(pairs, f.add(f.mul(k, "2"), "1"))
                _emit_fraction_sum(f, top, bottom, a, b)
                whole = f.compare("sge", f.get(top), f.get(bottom))
                limit = f.variable("0")
                with f.when(f.value(f"xor i1 {whole}, true")):
                    f.set_variable(limit, f.own("share", f.get(top), f.get(bottom)))
                f.store(limits, k, f.get(limit))
                unset = f.compare("slt", f.get(certain), "0")
                with f.when(f.value(f"and i1 {whole}, {unset}")):
                    f.set_variable(certain, k)
            store_field(f, part, PartField.CERTAIN, f.get(certain))
    store_field(f, record, RecordField.READY, "1")
    f.do("ret i64 0")
    return f


def _emit_fraction_sum(f: KernelFunction, top: str, bottom: str, a: str, b: str) -> None:
    """top / bottom := top / bottom + a / b, with checks."""
    same = f.compare("eq", f.get(bottom), b)
    with f.when(same):
        f.set_variable(top, f.checked_arithmetic("sadd", f.get(top), a, OVERFLOW))
    with f.when(f.value(f"xor i1 {same}, true")):
        left = f.checked_arithmetic("smul", f.get(top), b, OVERFLOW)
        right = f.checked_arithmetic("smul", a, f.get(bottom), OVERFLOW)
        f.set_variable(top, f.checked_arithmetic("sadd", left, right, OVERFLOW))
        f.set_variable(bottom, f.checked_arithmetic("smul", f.get(bottom), b, OVERFLOW))


def _reward_function() -> IrFunction:
    """What the outcomes in TURN of the edges in PICKED give, in units: rounded down and up, at %reached."""
    f = KernelFunction("reward", ", i64 %parts, i64 %mask, i64 %reached")
    reached, kind = f.value("inttoptr i64 %reached to ptr"), f.field(KernelField.REWARD_KIND)
    units, top, bottom = f.variable("0"), f.variable("0"), f.variable("1")
    scale, pair = f.field(KernelField.REWARD_SCALE), f.address(KernelField.PAIR)
    with f.when(f.compare("eq", kind, str(PER_STEP))):
        f.set_variable(units, "1")
    with f.when(f.compare("eq", kind, str(PER_DECISION))):
        f.set_variable(units, f.value(f"zext i1 {f.compare('ne', '%mask', '0')} to i64"))
    with f.when(f.compare("eq", kind, str(OF_STATE))):
        f.pass_on(
            f.call(
                f.address(KernelField.QUANTITIES),
                f.address(KernelField.NUMBERS),
                pair,
                f.address(KernelField.FACTS),
            )
        )
        f.set_variable(top, f.load(pair, "0"))
        f.set_variable(bottom, f.load(pair, "1"))
    with f.when(f.compare("eq", kind, str(OF_OUTCOMES))):
        picked, turn, first = f.addresses(KernelField.PICKED, KernelField.TURN, KernelField.OUTCOME_FIRST)
        with f.count("0", "%parts") as j:
            edge = f.load(picked, j)
            which = f.add(f.load(first, edge), f.load(turn, j))
            constant = f.item(KernelField.REWARD_UNITS, which)
            f.set_variable(units, f.checked_arithmetic("sadd", f.get(units), constant, OVERFLOW))
            function = f.item(KernelField.REWARD_OF, which)
            with f.when(f.compare("ne", function, "0")):
                called = f.value(f"inttoptr i64 {function} to ptr")
                pass_model_status(f, f.call(called, f.address(KernelField.NUMBERS), pair), edge)
                _emit_fraction_sum(f, top, bottom, f.load(pair, "0"), f.load(pair, "1"))
    scaled = f.checked_arithmetic("smul", f.get(top), scale, OVERFLOW)
    down, rest = f.variable(f.value(f"sdiv i64 {scaled}, {f.get(bottom)}")), f.variable()
    f.set_variable(rest, f.value(f"srem i64 {scaled}, {f.get(bottom)}"))
    below = f.value(f"zext i1 {f.compare('slt', f.get(rest), '0')} to i64")
    inexact = f.value(f"zext i1 {f.compare('ne', f.get(rest), '0')} to i64")
    low = f.checked_arithmetic("sadd", f.get(units), f.sub(f.get(down), below), OVERFLOW)
    store_field(f, reached, ReachedField.LOW, low)
    store_field(f, reached, ReachedField.HIGH, f.checked_arithmetic("sadd", low, inexact, OVERFLOW))
    f.do("ret i64 0")
    return f


def _fill_function() -> IrFunction:
    """Where a combination of outcomes of a record leads from a state."""
    f = KernelFunction("fill", ", i64 %state, i64 %record, i64 %combination, i64 %mask")
    record, picked, turn = (
        node_address(f, "%record"),
        f.address(KernelField.PICKED),
        f.address(KernelField.TURN),
    )
    parts, rest = load_field(f, record, RecordField.PARTS), f.variable("%combination")
    _unpack_state(f, "%state")
    with f.when(f.compare("ne", f.field(KernelField.FACT_COUNT), "0")):  # the reward may be about them
        f.own("judge_node", "%state", f.load(f.address(KernelField.NODE_OF), "%state"))
    with f.count("0", parts) as back:
        j = f.sub(f.sub(parts, "1"), back)
        part = part_address(f, record, j)
        f.store(picked, j, load_field(f, part, PartField.EDGE))
        count = load_field(f, part, PartField.COUNT)
        f.store(turn, j, f.value(f"urem i64 {f.get(rest)}, {count}"))
        f.set_variable(rest, f.value(f"udiv i64 {f.get(rest)}, {count}"))
    emit_updates(f, parts)
    reached = reached_address(f, record, parts, "%combination")
    f.pass_on(f.own("reward", parts, "%mask", f.value(f"ptrtoint ptr {reached} to i64")))
    target = f.own("find_state")
    f.negative(target)
    store_field(f, reached, ReachedField.STATE, target)
    f.do("ret i64 0")
    return f
