"""What is looked up, sorted by counting or asked of the best output alone is what direct evaluation says."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from surefoot.engines.predicates.dynamics import build_dynamics
from surefoot.engines.predicates.enumerative.columns import ColumnEvaluator, IntervalColumn, RationalColumn
from surefoot.engines.predicates.enumerative.lookups import LookupEvaluator, Lookups, scalar_column
from surefoot.engines.predicates.enumerative.partition import group_offsets
from surefoot.engines.predicates.enumerative.table import (
    BestOutput,
    StateBatch,
    columns_from_numbers,
    empty_table,
    lookups_of,
    order_conjuncts,
)
from surefoot.engines.predicates.enumerative.table import float32_output_ranges as spread_of
from surefoot.engines.predicates.graph import state_from_scalars, states_from_numbers
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.term import Apply, Const, Op, Term, Var, conjunction_of, equal, ite
from surefoot.term.value_types import Array, Bool, Int
from surefoot_studies.racetrack.abstraction_instances import AbstractionInstance

KINDS = {"a": Int(-3, 4), "b": Bool(), "c": Int(2, 60), "d": Int(0, 90)}
RANGES = {"a": range(-3, 5), "b": range(2), "c": range(2, 61), "d": range(91)}


def a_number(random: Random, depth: int) -> Term:
    if depth == 0 or random.random() < 0.2:
        return random.choice([Var("a"), Var("c"), Var("d"), Var("free"), Const(random.randint(-9, 9))])
    left, right = a_number(random, depth - 1), a_number(random, depth - 1)
    match random.randrange(5):
        case 0:
            return left + right
        case 1:
            return Apply(random.choice([Op.MIN, Op.MAX]), (left, right))
        case 2:
            return left * random.randint(-3, 3)
        case 3:
            return Apply(Op.MOD, (left, right))
        case _:
            return ite(a_condition(random, depth - 1), left, right)


def a_condition(random: Random, depth: int) -> Term:
    if depth == 0:
        return random.choice([Var("b"), a_number(random, 0) <= a_number(random, 0)])
    if random.random() < 0.4:
        return Apply(random.choice([Op.AND, Op.OR]), tuple(a_condition(random, depth - 1) for _ in range(3)))
    left, right = a_number(random, depth - 1), a_number(random, depth - 1)
    return random.choice([left <= right, left < right, equal(left, right), ~(left <= right)])


def test_looked_up_values_are_those_of_direct_evaluation() -> None:
    random, rng = Random(7), np.random.default_rng(7)
    size, looked_up = 300, 0
    given = {n: scalar_column(KINDS[n], rng.integers(r[0], r[-1] + 1, size), r) for n, r in RANGES.items()}
    given["free"] = RationalColumn(rng.integers(-5, 6, size), -5, 5)
    lookups = Lookups(KINDS, RANGES)
    looked, direct = LookupEvaluator(given, size, lookups), ColumnEvaluator(given, size)
    for number in range(300):
        rows = np.sort(rng.choice(size, size // 3, replace=False))
        condition, value = a_condition(random, 3), a_number(random, 3)
        for one, other in ((looked, direct), (looked.narrow(rows), direct.narrow(rows))):
            assert np.array_equal(one.condition(condition), other.condition(condition)), number
            assert np.array_equal(one.numbers(value), other.numbers(value)), number
        looked_up += lookups.of(value) is not None
    assert 30 < looked_up < 270


def test_terms_about_many_combinations_or_other_quantities_are_not_looked_up() -> None:
    lookups = Lookups(KINDS, RANGES)
    assert lookups.of(Var("c") + Var("d")) is None
    assert lookups.of(Var("a") + Var("free")) is None
    assert lookups.of(Const(1) + Const(2)) is None
    found = lookups.of(Var("a") + Var("c"))
    assert found is not None
    assert found.scalars == ("a", "c")
    huge = Var("a") * (1 << 60) * (1 << 60)
    assert lookups.of(huge) is None


@pytest.mark.parametrize("picked", [0, 1, 2])
def test_the_best_output_is_that_of_all_comparisons(picked: int) -> None:
    model, rng = build_dynamics(AbstractionInstance(16, 4, 1).problem()), np.random.default_rng(picked)
    table = empty_table(model)
    numbers = rng.choice(len(table), 200)
    here = columns_from_numbers(model, model.scalars, table.ranges, numbers)
    outputs = [Var(n) for n in model.outputs]
    for others in (range(9), rng.choice(9, 3, replace=False).tolist()):
        parts = tuple(outputs[j] <= outputs[picked] for j in others)
        order = order_conjuncts((conjunction_of(parts),), model.outputs)
        assert [type(c) for _, c in order] == [BestOutput]
        look = StateBatch(model, here, {0: order}, lookups_of(table))
        middle, radius = rng.normal(size=(9, 200)).round(1), rng.choice([0.0, 0.1, 0.4, np.inf], (9, 200))
        look.low[:], look.high[:], look.seen[:] = middle - radius, middle + radius, True
        look.most[:] = look.low.max(axis=0)
        spreads = {n: IntervalColumn(look.low[i], look.high[i]) for i, n in enumerate(model.outputs)}
        expected = np.logical_and.reduce([ColumnEvaluator(spreads, 200).condition(p) for p in parts])
        assert np.array_equal(look.rows(order, {})[1], np.flatnonzero(expected))
        assert 0 < expected.sum() < 200


def test_asked_for_the_best_alone_the_same_outputs_may_be_best() -> None:
    call = build_dynamics(AbstractionInstance(64, 4, 1).problem()).call
    assert call is not None
    points = np.random.default_rng(3).integers([0, 0, -5, -5], [35, 12, 6, 6], (2000, 4)).astype(np.float64)
    masks = []
    for only_best in (True, False):
        low, high = spread_of(call.network, points, only_best)
        masks.append(high >= low.max(axis=0))
    assert np.array_equal(*masks)


def test_where_groups_begin_is_counted() -> None:
    numbers = np.sort(np.random.default_rng(5).integers(0, 50, 30))
    assert np.array_equal(group_offsets(numbers, 60), np.searchsorted(numbers, np.arange(61)))
    assert np.array_equal(group_offsets(numbers[:0], 3), [0, 0, 0, 0])


def test_many_states_of_a_table_are_those_of_one_at_a_time() -> None:
    edges = (Edge("one", outcomes=(Outcome(Const(1), target="one"),)),)
    stay = Component("walker", edges, ("one", "two"), ("one",))
    variables = (
        Variable("x", Int(-2, 3)),
        Variable("on", Bool()),
        Variable("cells", Array(Int(1, 3), 2)),
    )
    environment = Environment("walk", variables, equal(Var("x"), 0), (stay,))
    table = empty_table(build_dynamics(Problem("walk", environment, None, Never(equal(Var("x"), 3)))))
    numbers = np.arange(0, len(table), 7)
    expected = [state_from_scalars(table.dynamics, table.state(int(n))) for n in numbers]
    found = states_from_numbers(table, numbers)
    assert found == expected
    assert [list(map(type, s.values())) for s in found] == [list(map(type, s.values())) for s in expected]
    nothing = Environment("nothing", (), Const(True), (Component("still", (Edge("here"),)),))
    table = empty_table(build_dynamics(Problem("nothing", nothing, None, Never(Const(False)))))
    assert states_from_numbers(table, np.arange(len(table))) == [{}]
