"""Abstract states as products: the same partition and the same members as by sorting all states."""

from __future__ import annotations

from random import Random

import numpy as np

from surefoot.engines.predicates.dynamics import build_dynamics
from surefoot.engines.predicates.enumerative.lazy_table import (
    factor_conditions,
    product_partition,
    reachable_part,
    states_in,
)
from surefoot.engines.predicates.enumerative.partition import partition_states
from surefoot.engines.predicates.enumerative.table import StateTable, empty_table
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.reserved_names import location_name
from surefoot.term.term import Const, Term, Var, equal
from surefoot.term.value_types import Bool, Int
from surefoot.work.budget import Budget

A, B, C, ON = Var("a"), Var("b"), Var("c"), Var("on")


def table() -> StateTable:
    edges = (
        Edge("one", None, A < 4, outcomes=(Outcome(Const(1), (Update(A, A + 1),), target="two"),)),
        Edge("two", None, B < 3, outcomes=(Outcome(Const(1), (Update(B, B + 1),), target="one"),)),
    )
    walker = Component("walker", edges, ("one", "two"), ("one",))
    variables = (
        Variable("a", Int(-2, 4)),
        Variable("on", Bool()),
        Variable("b", Int(0, 5)),
        Variable("c", Int(1, 3)),
    )
    start = equal(A, -1) & equal(B, 0) & equal(C, 2)
    environment = Environment("walk", variables, start, (walker,))
    return empty_table(build_dynamics(Problem("walk", environment, None, Never(equal(A, 4)))))


def a_condition(random: Random) -> Term:
    return random.choice(
        [
            random.randint(-3, 4) >= A,
            random.randint(0, 5) >= B,
            equal(B, random.randint(0, 5)),
            random.randint(0, 9) >= A + 2 * C,
            C <= 2,
            ON,
            Const(random.random() < 0.5),
        ]
    )


def test_products_are_the_partition_by_sorting() -> None:
    random, whole = Random(11), table()
    products = 0
    for _ in range(200):
        given = [whole.dynamics.expand_predicate(a_condition(random)) for _ in range(random.randint(0, 5))]
        factors = factor_conditions(whole, given)
        if factors is None:
            continue
        products += 1
        expected, found = partition_states(whole, given), product_partition(whole, factors)
        assert np.array_equal(found.cell, expected.cell)
        assert np.array_equal(found.member, expected.member)
        some = np.array(random.sample(range(len(expected)), random.randint(0, len(expected))), dtype=np.int64)
        inside = np.flatnonzero(np.isin(expected.cell, some))
        assert np.array_equal(np.sort(states_in(factors, some)), inside)
    assert 50 < products < 200


def test_conditions_that_share_some_scalars_only_are_no_product() -> None:
    whole = table()
    assert (
        factor_conditions(whole, [whole.dynamics.expand_predicate(c) for c in (A <= 1, A + 2 * C <= 3)])
        is None
    )
    assert (
        factor_conditions(whole, [whole.dynamics.expand_predicate(Var(location_name("walker", "one")))])
        is None
    )


def test_only_states_of_reached_abstract_states_are_looked_at() -> None:
    model = table().dynamics
    for given in ((A <= 0, equal(C, 2)), (A <= 0, A + 2 * C <= 3, equal(C, 2))):
        found, parts, looked = reachable_part(model, [model.expand_predicate(c) for c in given], Budget())
        reached = np.unique(parts.cell[np.concatenate([found.starts, found.targets])])
        assert looked == np.isin(parts.cell, reached).sum() < len(found)
