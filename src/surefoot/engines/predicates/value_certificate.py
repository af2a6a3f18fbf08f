"""Bounds from an abstraction as values of all reachable states: what the checker looks at, one by one.

The bound of an abstract state is one of each of its states. Whoever plays there may pick the choices of any
of them, so the inequalities that the solver has shown for the abstract state hold for every choice of every
state (of the picked choice, where the bound rests on one). Of several such bounds the best of each state
satisfies the inequalities as well: what is worse in the states behind it was enough already.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.pctl_question import pctl_question
from surefoot.engines.predicates.enumerative.partition import Partition
from surefoot.engines.predicates.enumerative.table import Indices, StateTable
from surefoot.engines.process_certificate import encode_bounds, process_certificate
from surefoot.errors import SurefootError
from surefoot.explore.exploration import explore_problem
from surefoot.explore.explored_model import ExploredModel, States
from surefoot.problem.problem import Problem
from surefoot.problem.property import Probability
from surefoot.reductions.expand import ScalarTree
from surefoot.solvers.markov.reward_unfolding import unfold_rewards
from surefoot.term.evaluate import Undefined
from surefoot.term.term import Var
from surefoot.verdict.verdict import Certificate
from surefoot.work.budget import Budget

MOST_STATES = 100_000  # that can be reached, for a certificate
SHARE = 0.25  # of the time, to find them
Values = NDArray[np.object_]


@dataclass(slots=True)
class StateBounds:
    """The reachable states by their numbers in the table, in order, and the best bounds of each so far."""

    explored: ExploredModel
    numbers: Indices
    low: Values
    high: Values

    def improve(self, parts: Partition, low: Values, high: Values) -> None:
        """Bounds of abstract states are bounds of their states."""
        cells = parts.cell[self.numbers]
        self.low, self.high = np.maximum(self.low, low[cells]), np.minimum(self.high, high[cells])

    def certificate(self, property: Probability) -> Certificate:
        """One entry for the question; two, least and greatest, where the property does not say which."""
        nothing, everything = np.zeros_like(self.low), np.ones_like(self.high)
        if property.optimise is not None:
            entries = [encode_bounds(self.low.tolist(), self.high.tolist())]
        else:
            ends = {"min": (self.low, everything), "max": (nothing, self.high)}
            asked = (ends[pctl_question(property, side).optimise] for side in ("min", "max"))
            entries = [encode_bounds(low.tolist(), high.tolist()) for low, high in asked]
        return process_certificate(self.explored, entries)


def reachable_bounds(problem: Problem, table: StateTable, budget: Budget) -> StateBounds | None:
    """The states that the checker will see, in its order; None: too many, or they are not all known."""
    assert isinstance(problem.property, Probability)
    wanted = pctl_question(problem.property, "max")
    clock = budget.begin_part(SHARE * budget.remaining())
    until = wanted.decided_states(problem.environment)
    try:
        found = explore_problem(
            problem, labels=wanted.labels(), budget=clock, max_states=MOST_STATES, until=until
        )
    except (SurefootError, Undefined):
        return None
    if found.markov.cut.any() or found.blocked.any():
        return None
    left, right = found.markov.labels["left"], found.markov.labels["right"]
    rows = unfold_rewards(found.markov, (), lambda states, _: right[states] | ~left[states]).state
    numbers = np.sort(_table_numbers(table, found.states, rows))
    return StateBounds(found, numbers, np.full(len(rows), Fraction(0)), np.full(len(rows), Fraction(1)))


def _table_numbers(table: StateTable, states: States, rows: Indices) -> Indices:
    """Where these states stand in the table, which is sorted as a certificate is: variables, then places."""
    columns: dict[str, NDArray[Any]] = {}

    def visit(tree: ScalarTree, column: NDArray[Any]) -> None:
        if isinstance(tree, tuple):
            for i, part in enumerate(tree):
                visit(part, np.array([v[i] for v in column], dtype=object))
        elif isinstance(tree, Var):
            columns[tree.name] = column.astype(np.int64)

    for name in states.names:
        visit(table.dynamics.layout.trees[name], states.column(name)[rows])
    number = np.zeros(len(rows), dtype=np.int64)
    for name, span in zip(table.dynamics.scalars, table.ranges, strict=True):
        number = number * len(span) + columns[name] - span.start
    return number
