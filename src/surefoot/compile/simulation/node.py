"""The chain of a simulation, built as runs need it: nodes for states, records for what can happen there.

All in one array of i64. A node is what is known of a state; its records are a list, one for each combination
of enabled edges. A record has for each of its edges how an outcome is drawn, and for each combination of
outcomes the next state and the reward, found out when it is first drawn. So a step that was made once is a
look into a table from then on, and what no run draws is never computed.
"""

from __future__ import annotations

from enum import IntEnum

from surefoot.compile.emit.value import OVERFLOW
from surefoot.compile.llvm.moves import alone, apply_updates, model_status, vectors
from surefoot.compile.llvm.table import GROW_NODES, Field, Kernel
from surefoot.work.machine.text import Function

UNKNOWN, NOTHING, GIVE_UP = -1, -2, -3  # decisions that are not actions
DRAWN = -4  # and below: where the distribution is
RIGHT, LEFT, RESOLVED, JUDGED, BAD = 1, 2, 4, 8, 16
NO_REWARD, PER_STEP, PER_DECISION, OF_OUTCOMES, OF_STATE = range(5)


class Node(IntEnum):
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


class Record(IntEnum):
    ACTION = 0
    NEXT = 1
    PARTS = 2
    COMBINATIONS = 3
    READY = 4  # the thresholds are there
    SIZE = 5  # then the parts, then the combinations


class Part(IntEnum):
    EDGE = 0
    COUNT = 1  # of outcomes
    CERTAIN = 2
    THRESHOLDS = 3
    SIZE = 4


class Reached(IntEnum):
    STATE = 0  # -1: not computed yet
    LOW = 1
    HIGH = 2
    SIZE = 3


def node_functions() -> tuple[Function, ...]:
    several = (_node(), _judge(), _choice(), _records(), _resolve(), _share(), _ready(), _reward(), _fill())
    return several


def at_node(f: Kernel, node: str) -> str:
    return f.at(f.address(Field.NODES), node)


def get(f: Kernel, pointer: str, field: IntEnum) -> str:
    return f.load(pointer, str(int(field)))


def put(f: Kernel, pointer: str, field: IntEnum, value: str) -> None:
    f.store(pointer, str(int(field)), value)


def has(f: Kernel, flags: str, flag: int) -> str:
    return f.compare("ne", f.value(f"and i64 {flags}, {flag}"), "0")


def _mark(f: Kernel, pointer: str, flag: str) -> None:
    put(f, pointer, Node.FLAGS, f.value(f"or i64 {get(f, pointer, Node.FLAGS)}, {flag}"))


def _unpack(f: Kernel, state: str) -> str:
    numbers = f.address(Field.NUMBERS)
    packed = f.at(f.address(Field.STATES), f.mul(state, f.field(Field.WORDS)))
    f.call(f.address(Field.UNPACK), packed, numbers)
    return numbers


def _node() -> Function:
    """The node of a state, made if there is none; or -status."""
    f = Kernel("node", ", i64 %state")
    known = f.load(f.address(Field.NODE_OF), "%state")
    with f.when(f.compare("ne", known, "0")):
        f.do(f"ret i64 {known}")
    new = f.field(Field.NODE_COUNT)
    end = f.add(new, str(int(Node.SIZE)))
    f.fail(f.compare("sgt", end, f.field(Field.NODE_ROOM)), -GROW_NODES)
    pointer = at_node(f, new)
    for field in Node:
        if field is not Node.SIZE:
            start = {Node.DECISION: UNKNOWN, Node.JUMP: -1}.get(field, 0)
            put(f, pointer, field, str(start))
    f.put(Field.NODE_COUNT, end)
    f.store(f.address(Field.NODE_OF), "%state", new)
    with f.when(f.compare("eq", f.field(Field.FACT_COUNT), "0")):
        f.own("judge_node", "%state", new)
    f.do(f"ret i64 {new}")
    return f


def _judge() -> Function:
    """Do `right` and `left` hold? Facts are known by now."""
    f = Kernel("judge_node", ", i64 %state, i64 %node")
    numbers, pointer, facts = _unpack(f, "%state"), at_node(f, "%node"), f.address(Field.FACTS)
    with f.count("0", f.field(Field.FACT_COUNT)) as i:
        code, fact = f.item(Field.FACT_CODES, i), f.variable()
        f.set(fact, "0")
        with f.when(f.compare("eq", code, "-1")):
            f.set(fact, get(f, pointer, Node.STALLS))
        with f.when(f.compare("eq", code, "-2")):
            none = f.compare("eq", get(f, pointer, Node.RECORDS), "0")
            f.set(fact, f.value(f"zext i1 {none} to i64"))
        with f.when(f.compare("sge", code, "0")):
            shifted = f.value(f"lshr i64 {get(f, pointer, Node.CHOSEN)}, {code}")
            f.set(fact, f.value(f"and i64 {shifted}, 1"))
        f.store(facts, i, f.get(fact))
    out = f.address(Field.LABEL_BYTES)
    status = f.call(f.address(Field.LABELS), numbers, out, facts)
    with f.when(f.compare("ne", status, "0")):
        _mark(f, pointer, str(BAD))
        f.do("ret i64 0")
    for place, flag in (("0", RIGHT), ("1", LEFT)):
        holds = f.value(f"icmp ne i8 {f.load(out, place, 'i8')}, 0")
        _mark(f, pointer, f.value(f"select i1 {holds}, i64 {flag | JUDGED}, i64 {JUDGED}"))
    f.do("ret i64 0")
    return f


def _choice() -> Function:
    """Attach a record of the edges in PICKED to the node under way."""
    f = Kernel("choice", ", i64 %parts, i64 %code, i64 %action")
    picked, first = f.address(Field.PICKED), f.address(Field.OUTCOME_FIRST)
    new, combinations, extra = f.field(Field.NODE_COUNT), f.variable("1"), f.variable("0")
    with f.count("0", "%parts") as j:
        edge = f.load(picked, j)
        count = f.sub(f.load(first, f.add(edge, "1")), f.load(first, edge))
        f.set(combinations, f.checked("smul", f.get(combinations), count, OVERFLOW))
        with f.when(f.compare("eq", f.item(Field.THRESHOLD_OF, edge), "0")):
            f.set(extra, f.add(f.get(extra), count))
    f.fail(f.compare("sgt", f.get(combinations), str(2**40)), OVERFLOW)
    size = f.add(f.mul("%parts", str(int(Part.SIZE))), f.mul(f.get(combinations), str(int(Reached.SIZE))))
    end = f.add(f.add(new, str(int(Record.SIZE))), f.add(size, f.get(extra)))
    f.fail(f.compare("sgt", end, f.field(Field.NODE_ROOM)), GROW_NODES)
    pointer = at_node(f, new)
    put(f, pointer, Record.ACTION, "%action")
    put(f, pointer, Record.NEXT, "0")
    put(f, pointer, Record.PARTS, "%parts")
    put(f, pointer, Record.COMBINATIONS, f.get(combinations))
    none = f.compare("eq", f.get(extra), "0")
    put(f, pointer, Record.READY, f.value(f"zext i1 {none} to i64"))
    place = f.variable(f.sub(end, f.get(extra)))  # of thresholds that depend on the state
    part = f.variable(f.add(new, str(int(Record.SIZE))))
    with f.count("0", "%parts") as j:
        here, edge = at_node(f, f.get(part)), f.load(picked, j)
        count = f.sub(f.load(first, f.add(edge, "1")), f.load(first, edge))
        put(f, here, Part.EDGE, edge)
        put(f, here, Part.COUNT, count)
        put(f, here, Part.CERTAIN, f.item(Field.CERTAIN_OF, edge))
        put(f, here, Part.THRESHOLDS, f.item(Field.THRESHOLD_OF, edge))
        with f.when(f.compare("eq", f.item(Field.THRESHOLD_OF, edge), "0")):
            put(f, here, Part.THRESHOLDS, f.get(place))
            f.set(place, f.add(f.get(place), count))
        f.set(part, f.add(f.get(part), str(int(Part.SIZE))))
    reached = at_node(f, f.get(part))
    with f.count("0", f.get(combinations)) as c:
        f.store(reached, f.mul(c, str(int(Reached.SIZE))), "-1")
    f.put(Field.NODE_COUNT, end)
    f.do(f"store i64 {new}, ptr {f.address(Field.LAST_RECORD)}")
    f.put(Field.LAST_RECORD, f.value(f"ptrtoint ptr {f.at(pointer, str(int(Record.NEXT)))} to i64"))
    with f.when(f.compare("sge", "%action", "0")):
        mask = f.at(f.value(f"inttoptr i64 {f.field(Field.MASKS)} to ptr"), "0")
        bits = f.value(f"or i64 {f.get(mask)}, {f.value('shl i64 1, %action')}")
        f.do(f"store i64 {bits}, ptr {mask}")
    f.do("ret i64 0")
    return f


def _resolve() -> Function:
    """Find out what is enabled in a state; leaves nothing behind where there is no room."""
    f = Kernel("resolve", ", i64 %state, i64 %node")
    numbers, pointer, enabled = _unpack(f, "%state"), at_node(f, "%node"), f.address(Field.ENABLED)
    with f.count("0", f.field(Field.EDGE_COUNT)) as e:
        f.store(enabled, e, "0", "i8")
    with f.when(f.compare("ne", f.call(f.address(Field.GUARDS), numbers, enabled), "0")):
        _mark(f, pointer, str(BAD))
        f.do("ret i64 0")
    before = f.field(Field.NODE_COUNT)
    put(f, pointer, Node.MASK, "0")
    put(f, pointer, Node.RECORDS, "0")
    for field, place in ((Field.LAST_RECORD, Node.RECORDS), (Field.MASKS, Node.MASK)):
        f.put(field, f.value(f"ptrtoint ptr {f.at(pointer, str(int(place)))} to i64"))
    status = f.own("records")
    with f.when(f.compare("ne", status, "0")):
        f.put(Field.NODE_COUNT, before)
        put(f, pointer, Node.RECORDS, "0")
        with f.when(f.compare("ne", status, str(GROW_NODES))):
            _mark(f, pointer, str(BAD))
            f.do("ret i64 0")
        f.do(f"ret i64 {status}")
    _mark(f, pointer, str(RESOLVED))
    f.do("ret i64 0")
    return f


def _records() -> Function:
    """A record for each combination of edges that is enabled."""
    f = Kernel("records")
    choices, outcomes = f.field(Field.CHOICE_COUNT), f.field(Field.OUTCOME_COUNT)
    alone(f, choices, outcomes)
    vectors(f, choices, outcomes)
    f.do("ret i64 0")
    return f


def _share() -> Function:
    """The least integer not below 2^64 top / bottom, for 0 <= top < bottom: long division."""
    f = Kernel("share", ", i64 %top, i64 %bottom")
    rest, quotient = f.variable("%top"), f.variable("0")
    with f.count("0", "64"):
        doubled = f.value(f"shl i64 {f.get(rest)}, 1")
        fits = f.value(f"icmp uge i64 {doubled}, %bottom")
        less = f.value(f"select i1 {fits}, i64 %bottom, i64 0")
        f.set(rest, f.sub(doubled, less))
        bit = f.value(f"zext i1 {fits} to i64")
        f.set(quotient, f.value(f"or i64 {f.value(f'shl i64 {f.get(quotient)}, 1')}, {bit}"))
    up = f.value(f"zext i1 {f.compare('ne', f.get(rest), '0')} to i64")
    f.do(f"ret i64 {f.add(f.get(quotient), up)}")
    return f


def _ready() -> Function:
    """The thresholds of a record that depend on the state."""
    f = Kernel("ready", ", i64 %state, i64 %record")
    numbers, record, first = _unpack(f, "%state"), at_node(f, "%record"), f.address(Field.OUTCOME_FIRST)
    with f.count("0", get(f, record, Record.PARTS)) as j:
        part = f.at(record, f.add(f.mul(j, str(int(Part.SIZE))), str(int(Record.SIZE))))
        edge = get(f, part, Part.EDGE)
        function = f.item(Field.PROBABILITY_OF, edge)
        with f.when(f.compare("ne", function, "0")):
            pairs = f.at(f.address(Field.PAIRS), f.mul(f.load(first, edge), "2"))
            model_status(f, f.call(f.value(f"inttoptr i64 {function} to ptr"), numbers, pairs), edge)
            limits = at_node(f, get(f, part, Part.THRESHOLDS))
            top, bottom, certain = f.variable("0"), f.variable("1"), f.variable("-1")
            with f.count("0", get(f, part, Part.COUNT)) as k:
                a, b = f.load(pairs, f.mul(k, "2")), f.load(pairs, f.add(f.mul(k, "2"), "1"))
                _add(f, top, bottom, a, b)
                whole = f.compare("sge", f.get(top), f.get(bottom))
                limit = f.variable("0")
                with f.when(f.value(f"xor i1 {whole}, true")):
                    f.set(limit, f.own("share", f.get(top), f.get(bottom)))
                f.store(limits, k, f.get(limit))
                unset = f.compare("slt", f.get(certain), "0")
                with f.when(f.value(f"and i1 {whole}, {unset}")):
                    f.set(certain, k)
            put(f, part, Part.CERTAIN, f.get(certain))
    put(f, record, Record.READY, "1")
    f.do("ret i64 0")
    return f


def _add(f: Kernel, top: str, bottom: str, a: str, b: str) -> None:
    """top / bottom := top / bottom + a / b, with checks."""
    same = f.compare("eq", f.get(bottom), b)
    with f.when(same):
        f.set(top, f.checked("sadd", f.get(top), a, OVERFLOW))
    with f.when(f.value(f"xor i1 {same}, true")):
        left = f.checked("smul", f.get(top), b, OVERFLOW)
        right = f.checked("smul", a, f.get(bottom), OVERFLOW)
        f.set(top, f.checked("sadd", left, right, OVERFLOW))
        f.set(bottom, f.checked("smul", f.get(bottom), b, OVERFLOW))


def _reward() -> Function:
    """What the outcomes in TURN of the edges in PICKED give, in units: rounded down and up, at %reached."""
    f = Kernel("reward", ", i64 %parts, i64 %mask, i64 %reached")
    reached, kind = f.value("inttoptr i64 %reached to ptr"), f.field(Field.REWARD_KIND)
    units, top, bottom = f.variable("0"), f.variable("0"), f.variable("1")
    scale, pair = f.field(Field.REWARD_SCALE), f.address(Field.PAIR)
    with f.when(f.compare("eq", kind, str(PER_STEP))):
        f.set(units, "1")
    with f.when(f.compare("eq", kind, str(PER_DECISION))):
        f.set(units, f.value(f"zext i1 {f.compare('ne', '%mask', '0')} to i64"))
    with f.when(f.compare("eq", kind, str(OF_STATE))):
        f.pass_on(f.call(f.address(Field.QUANTITIES), f.address(Field.NUMBERS), pair, f.address(Field.FACTS)))
        f.set(top, f.load(pair, "0"))
        f.set(bottom, f.load(pair, "1"))
    with f.when(f.compare("eq", kind, str(OF_OUTCOMES))):
        picked, turn, first = f.address(Field.PICKED), f.address(Field.TURN), f.address(Field.OUTCOME_FIRST)
        with f.count("0", "%parts") as j:
            edge = f.load(picked, j)
            which = f.add(f.load(first, edge), f.load(turn, j))
            constant = f.item(Field.REWARD_UNITS, which)
            f.set(units, f.checked("sadd", f.get(units), constant, OVERFLOW))
            function = f.item(Field.REWARD_OF, which)
            with f.when(f.compare("ne", function, "0")):
                called = f.value(f"inttoptr i64 {function} to ptr")
                model_status(f, f.call(called, f.address(Field.NUMBERS), pair), edge)
                _add(f, top, bottom, f.load(pair, "0"), f.load(pair, "1"))
    scaled = f.checked("smul", f.get(top), scale, OVERFLOW)
    down, rest = f.variable(f.value(f"sdiv i64 {scaled}, {f.get(bottom)}")), f.variable()
    f.set(rest, f.value(f"srem i64 {scaled}, {f.get(bottom)}"))
    below = f.value(f"zext i1 {f.compare('slt', f.get(rest), '0')} to i64")
    inexact = f.value(f"zext i1 {f.compare('ne', f.get(rest), '0')} to i64")
    low = f.checked("sadd", f.get(units), f.sub(f.get(down), below), OVERFLOW)
    put(f, reached, Reached.LOW, low)
    put(f, reached, Reached.HIGH, f.checked("sadd", low, inexact, OVERFLOW))
    f.do("ret i64 0")
    return f


def _fill() -> Function:
    """Where a combination of outcomes of a record leads from a state."""
    f = Kernel("fill", ", i64 %state, i64 %record, i64 %combination, i64 %mask")
    record, picked, turn = at_node(f, "%record"), f.address(Field.PICKED), f.address(Field.TURN)
    parts, rest = get(f, record, Record.PARTS), f.variable("%combination")
    _unpack(f, "%state")
    with f.count("0", parts) as back:
        j = f.sub(f.sub(parts, "1"), back)
        part = f.at(record, f.add(f.mul(j, str(int(Part.SIZE))), str(int(Record.SIZE))))
        f.store(picked, j, get(f, part, Part.EDGE))
        count = get(f, part, Part.COUNT)
        f.store(turn, j, f.value(f"urem i64 {f.get(rest)}, {count}"))
        f.set(rest, f.value(f"udiv i64 {f.get(rest)}, {count}"))
    apply_updates(f, parts)
    offset = f.add(f.mul(parts, str(int(Part.SIZE))), str(int(Record.SIZE)))
    reached = f.at(record, f.add(offset, f.mul("%combination", str(int(Reached.SIZE)))))
    f.pass_on(f.own("reward", parts, "%mask", f.value(f"ptrtoint ptr {reached} to i64")))
    target = f.own("find_state")
    f.negative(target)
    put(f, reached, Reached.STATE, target)
    f.do("ret i64 0")
    return f
