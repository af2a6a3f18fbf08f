"""Bounds of policy iteration are inductive, wherever the values come from that they are put around."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.query.markov import Optimise
from surefoot.solvers.markov import policy_iteration
from surefoot.solvers.markov.integer_vectors import IntegerVector
from surefoot.solvers.markov.policy_evaluation import quotient_to_floats, refine_chain_values
from surefoot.solvers.markov.quotient import QuotientProcess

UNIT, SCALE = 4, 1 << 60


def integers(values: list[int]) -> IntegerVector:
    return np.array([*values, None], dtype=np.object_)[:-1]


def ladder(nodes: int) -> QuotientProcess:
    """From every node two choices: one step up or to the start, with other weights; the last one is left."""
    targets, weights, constants, outcomes = [], [], [], [0]
    for n in range(nodes):
        for up in (2, 3):
            reached = [(n + 1, up), (0, 3 - up)] if n + 1 < nodes else [(0, 4 - up)]
            reached = [(t, w) for t, w in reached if w]
            targets += [t for t, _ in reached]
            weights += [w for _, w in reached]
            outcomes.append(len(targets))
            constants.append((UNIT - sum(w for _, w in reached)) * SCALE // (2 if up == 3 else 1))
    return QuotientProcess(
        choices=np.arange(0, 2 * nodes + 1, 2),
        outcomes=np.array(outcomes),
        targets=np.array(targets),
        weights=integers(weights),
        constants=integers(constants),
        unit=UNIT,
        scale=SCALE,
        origin=np.arange(2 * nodes),
        folded=np.array([], dtype=np.int64),
        node=np.arange(nodes),
        offset=integers([0] * nodes),
    )


@pytest.mark.parametrize("shift", [0, 1, 1 << 10, 1 << 20, 1 << 30])
@pytest.mark.parametrize("optimise", ["max", "min"])
def test_bounds_are_inductive_around_values_that_are_off(optimise: Optimise, shift: int) -> None:
    reduced = ladder(6)
    table, sign = quotient_to_floats(reduced), 1 if optimise == "max" else -1
    found = policy_iteration._howard_iteration(table, sign, reduced.choices[:-1], lambda: 1.0)
    assert found is not None
    refined = refine_chain_values(reduced, found, found.solve(table.constants[found.policy]))
    assert refined is not None
    values, size = refined
    values = values - sign * shift
    slack = sign * (reduced.unit * values[table.owners] - reduced.choice_values(values))
    bounds = policy_iteration._inductive_bounds(table, sign, found, values, size, slack, 16)
    assert bounds is not None
    outer = bounds.high if sign > 0 else bounds.low
    assert (sign * (reduced.unit * outer[table.owners] - reduced.choice_values(outer)) >= 0).all()
    own = bounds.low if sign > 0 else bounds.high
    after = reduced.choice_values(own)[bounds.policy]
    assert (sign * (after - reduced.unit * own) >= 0).all()
