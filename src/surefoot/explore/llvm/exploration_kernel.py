"""The explorer, written once for all models: breadth-first search over packed states in machine code.

`expand` adds the choices of states from `POSITION` on. It combines the enabled edges as the vectors say, at
run time: no product of edges is ever built. When there is no room left it returns to the beginning of the
state and says what has to grow; states found meanwhile keep their numbers and are found again in that order.
"""

from __future__ import annotations

from contextlib import nullcontext

from surefoot.explore.llvm.edge_combinations import (
    count_outcomes,
    emit_next_combination,
    emit_single_edges,
    emit_sync_vectors,
    emit_updates,
    pass_model_status,
)
from surefoot.explore.llvm.hash_tables import store_functions
from surefoot.explore.llvm.kernel_table import (
    GROW_CHOICES,
    GROW_OUTCOMES,
    NEEDS_POLICY,
    ONE,
    ZERO,
    KernelField,
    KernelFunction,
)
from surefoot.explore.llvm.lookahead import lookahead_function
from surefoot.work.machine.llvm_ir import OVERFLOWING, IrFunction


def exploration_kernel_text(*, passing: bool = False) -> str:
    """`passing`: states may be passed through without being stored."""
    ahead = (lookahead_function(),) if passing else ()
    functions = (
        *store_functions(),
        *ahead,
        _outcome_function(passing),
        _choice_function(passing),
        _expand_function(),
        _judge_function(),
    )
    return "\n".join([OVERFLOWING, *(f.text() for f in functions), ""])


def _outcome_function(passing: bool) -> IrFunction:
    """Add one outcome of the edges in PICKED, with the turns in TURN, unless its probability is 0."""
    f = KernelFunction("outcome", ", i64 %parts")
    picked, turn, first = f.addresses(KernelField.PICKED, KernelField.TURN, KernelField.OUTCOME_FIRST)
    pairs = f.address(KernelField.PAIRS)
    weight = f.variable(str(ONE))
    with f.count("0", "%parts") as j:
        which = f.add(f.load(first, f.load(picked, j)), f.load(turn, j))
        share = f.variable(f.item(KernelField.OUTCOME_WEIGHTS, which))
        with f.when(f.compare("slt", f.get(share), "0")):
            place = f.mul(which, "2")
            pair = f.load(pairs, place), f.load(pairs, f.add(place, "1"))
            f.set_variable(share, f.own("find_number", *pair))
            f.negative(f.get(share))
        f.set_variable(weight, f.own("product", f.get(weight), f.get(share)))
        f.negative(f.get(weight))
    with f.when(f.compare("eq", f.get(weight), str(ZERO))):
        f.do("ret i64 0")
    number = f.field(KernelField.OUTCOME_COUNT)
    f.fail(f.compare("sge", number, f.field(KernelField.OUTCOME_ROOM)), GROW_OUTCOMES)
    emit_updates(f, "%parts")
    if passing:
        with f.when(f.compare("ne", f.field(KernelField.INNER), "0")):
            f.pass_on(f.own("look_ahead"))
    target = f.variable()
    with f.when(f.compare("eq", f.field(KernelField.AHEAD), "0")) if passing else nullcontext():
        f.set_variable(target, f.own("find_state"))
        f.negative(f.get(target))
    f.store(f.address(KernelField.TARGETS), number, f.get(target))
    f.store(f.address(KernelField.WEIGHTS), number, f.value(f"trunc i64 {f.get(weight)} to i32"), "i32")
    _emit_rewards(f, number)
    f.put_field(KernelField.OUTCOME_COUNT, f.add(number, "1"))
    f.do("ret i64 0")
    return f


def _emit_rewards(f: KernelFunction, number: str) -> None:
    picked, turn, first = f.addresses(KernelField.PICKED, KernelField.TURN, KernelField.OUTCOME_FIRST)
    rewards, pair = f.field(KernelField.REWARDS), f.address(KernelField.PAIR)
    with f.count("0", rewards) as r:
        total = f.variable(str(ZERO))
        f.set_variable(total, str(ZERO))
        with f.count("0", "%parts") as j:
            edge = f.load(picked, j)
            which = f.add(f.load(first, edge), f.load(turn, j))
            place, part = f.add(f.mul(which, rewards), r), f.variable()
            f.set_variable(part, f.item(KernelField.OUTCOME_REWARDS, place))
            with f.when(f.compare("slt", f.get(part), "0")):
                function = f.value(f"inttoptr i64 {f.item(KernelField.REWARD_OF, place)} to ptr")
                pass_model_status(f, f.call(function, f.address(KernelField.NUMBERS), pair), edge)
                f.set_variable(part, f.own("find_number", f.load(pair, "0"), f.load(pair, "1")))
                f.negative(f.get(part))
            f.set_variable(total, f.own("sum", f.get(total), f.get(part)))
            f.negative(f.get(total))
        column = f.add(f.mul(r, f.field(KernelField.OUTCOME_ROOM)), number)
        narrow = f.value(f"trunc i64 {f.get(total)} to i32")
        f.store(f.address(KernelField.REWARD_COLUMNS), column, narrow, "i32")


def _choice_function(passing: bool) -> IrFunction:
    """Add the choice that consists of the edges in PICKED, unless the policy does not take it."""
    f = KernelFunction("choice", ", i64 %parts, i64 %code, i64 %action")
    state, acts = f.field(KernelField.POSITION), f.compare("sge", "%action", "0")
    if passing:
        f.fail(f.value(f"and i1 {acts}, {f.compare('ne', f.field(KernelField.AHEAD), '0')}"), NEEDS_POLICY)
    masks = f.field(KernelField.MASKS)
    with f.when(f.compare("ne", masks, "0")):
        place = f.at(f.value(f"inttoptr i64 {masks} to ptr"), state)
        shift = f.value(f"select i1 {acts}, i64 %action, i64 63")
        bits = f.value(f"or i64 {f.value(f'shl i64 1, {shift}')}, {-(2**63)}")
        f.do(f"store i64 {f.value(f'or i64 {f.get(place)}, {bits}')}, ptr {place}")
        f.do("ret i64 0")
    decided = f.field(KernelField.DECIDED)
    filtered = f.value(f"and i1 {acts}, {f.compare('ne', decided, '0')}")
    with f.when(filtered):
        taken = f.load(f.value(f"inttoptr i64 {decided} to ptr"), state)
        with f.when(f.compare("ne", taken, "%action")):
            f.do("ret i64 0")
    number = f.field(KernelField.CHOICE_COUNT)
    f.fail(f.compare("sge", number, f.field(KernelField.CHOICE_ROOM)), GROW_CHOICES)
    picked, turn, first = f.addresses(KernelField.PICKED, KernelField.TURN, KernelField.OUTCOME_FIRST)
    with f.count("0", "%parts") as j:
        f.store(turn, j, "0")
        edge = f.load(picked, j)
        function = f.item(KernelField.PROBABILITY_OF, edge)
        with f.when(f.compare("ne", function, "0")):
            pairs = f.at(f.address(KernelField.PAIRS), f.mul(f.load(first, edge), "2"))
            called = f.value(f"inttoptr i64 {function} to ptr")
            pass_model_status(f, f.call(called, f.address(KernelField.NUMBERS), pairs), edge)
    with f.loop() as done:
        f.pass_on(f.own("outcome", "%parts"))
        emit_next_combination(f, turn, "%parts", lambda j: count_outcomes(f, f.load(picked, j)), done)
    f.store(f.address(KernelField.OUTCOMES_OF), f.add(number, "1"), f.field(KernelField.OUTCOME_COUNT))
    f.store(f.address(KernelField.CODES), number, "%code")
    f.put_field(KernelField.CHOICE_COUNT, f.add(number, "1"))
    f.do("ret i64 0")
    return f


def _expand_function() -> IrFunction:
    f = KernelFunction("expand", internal=False)
    states, words, numbers = (
        f.address(KernelField.STATES),
        f.field(KernelField.WORDS),
        f.address(KernelField.NUMBERS),
    )
    enabled, edges = f.address(KernelField.ENABLED), f.field(KernelField.EDGE_COUNT)
    with f.loop() as done:
        state = f.field(KernelField.POSITION)
        f.leave(f.compare("sge", state, f.field(KernelField.LIMIT)), done)
        f.leave(f.compare("sge", state, f.field(KernelField.STATE_COUNT)), done)
        f.leave(f.compare("sge", f.field(KernelField.STATE_COUNT), f.field(KernelField.STATE_LIMIT)), done)
        f.put_field(KernelField.EDGE, "-1")
        choices, outcomes = f.field(KernelField.CHOICE_COUNT), f.field(KernelField.OUTCOME_COUNT)
        f.call(f.address(KernelField.UNPACK), f.at(states, f.mul(state, words)), numbers)
        with f.when(f.compare("eq", _is_final(f, numbers), "0")):
            with f.count("0", edges) as e:
                f.store(enabled, e, "0", "i8")
            f.pass_on(f.call(f.address(KernelField.GUARDS), numbers, enabled))
            emit_single_edges(f, choices, outcomes)
            emit_sync_vectors(f, choices, outcomes)
        with f.when(f.compare("eq", f.field(KernelField.MASKS), "0")):
            f.store(f.address(KernelField.CHOICES_OF), f.add(state, "1"), f.field(KernelField.CHOICE_COUNT))
            f.put_field(KernelField.KNOWN, f.field(KernelField.STATE_COUNT))
        f.put_field(KernelField.POSITION, f.add(state, "1"))
    f.do("ret i64 0")
    return f


def _is_final(f: KernelFunction, numbers: str) -> str:
    """Not 0 where the state is not to be left."""
    final, until = f.variable(), f.field(KernelField.UNTIL)
    with f.when(f.compare("ne", until, "0")):
        scratch = f.address(KernelField.KEY)
        f.pass_on(f.call(f.value(f"inttoptr i64 {until} to ptr"), numbers, scratch))
        f.set_variable(final, f.load(scratch, "0"))
    return f.get(final)


def _judge_function() -> IrFunction:
    """Which labels hold in states POSITION to LIMIT - 1, and what the quantities are."""
    f = KernelFunction("judge", internal=False)
    states, words, numbers = (
        f.address(KernelField.STATES),
        f.field(KernelField.WORDS),
        f.address(KernelField.NUMBERS),
    )
    labels, quantities = f.field(KernelField.LABEL_COUNT), f.field(KernelField.QUANTITY_COUNT)
    with f.loop() as done:
        state = f.field(KernelField.POSITION)
        f.leave(f.compare("sge", state, f.field(KernelField.LIMIT)), done)
        f.call(f.address(KernelField.UNPACK), f.at(states, f.mul(state, words)), numbers)
        facts = f.at(f.address(KernelField.FACTS), f.mul(state, f.field(KernelField.FACT_COUNT)))
        place = f.at(f.address(KernelField.LABEL_BYTES), f.mul(state, labels), "i8")
        f.pass_on(f.call(f.address(KernelField.LABELS), numbers, place, facts))
        pairs = f.address(KernelField.PAIR)
        f.pass_on(f.call(f.address(KernelField.QUANTITIES), numbers, pairs, facts))
        with f.count("0", quantities) as q:
            top = f.load(pairs, f.mul(q, "2"))
            index = f.own("find_number", top, f.load(pairs, f.add(f.mul(q, "2"), "1")))
            f.negative(index)
            where = f.add(f.mul(state, quantities), q)
            f.store(
                f.address(KernelField.QUANTITY_COLUMN), where, f.value(f"trunc i64 {index} to i32"), "i32"
            )
        f.put_field(KernelField.POSITION, f.add(state, "1"))
    f.do("ret i64 0")
    return f
