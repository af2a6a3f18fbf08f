"""A violation that a table shows: the shortest run to a bad state that the reference semantics makes.

A table has every step that some float32 evaluation of the network makes, and calls a state bad if it is in
one of them. The search here goes along the steps of the reference alone: where rounding leaves a choice
between actions the reference is asked which one it picks, and so it is whether a state is bad. States that
are bad only within rounding are passed by.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from surefoot.engines.predicates.enumerative.columns import Mask
from surefoot.engines.predicates.enumerative.partition import (
    ConcreteReach,
    Ids,
    enumerate_levels,
    nothing_reached,
)
from surefoot.engines.predicates.enumerative.table import CHUNK, StateBatch, StateTable, lookups_of
from surefoot.engines.predicates.graph import state_from_scalars, trace_along
from surefoot.errors import InvalidProblem
from surefoot.problem.meaning.decision import action_of
from surefoot.problem.property import Never
from surefoot.problem.semantics import State, holds_in_state, permitted_transitions
from surefoot.verdict.artifact import AbstractGraph
from surefoot.verdict.verdict import Reason, Refused, Trace, Unknown, Verdict, Violated
from surefoot.work.budget import Budget


def find_table_violation(
    table: StateTable, concrete: ConcreteReach, graph: AbstractGraph, budget: Budget
) -> Verdict:
    """The verdict where a bad state is reached in some evaluation of the network."""
    what = "a bad state may be reached, but not in the reference evaluation"
    unclear = find_unclear_states(table, np.flatnonzero(concrete.reached))
    found = nothing_reached(table)
    select = partial(select_reference_steps, table, unclear=unclear, budget=budget)
    for frontier in enumerate_levels(table, found, select):
        for number in frontier[table.bad[frontier]].tolist():
            if budget.is_spent():
                return Unknown(Reason.TIMEOUT, "a bad state may be reached; the budget ended", artifact=graph)
            if is_bad_by_reference(table, number):
                run = _reference_trace(table, found, number)
                if isinstance(run, Trace):
                    return Violated(run, artifact=graph)
                return Unknown(Reason.NUMERICS, f"{what}: {run}", artifact=graph)
        if budget.is_spent():
            return Unknown(Reason.TIMEOUT, "a bad state may be reached; the budget ended", artifact=graph)
    why = "rounding decides whether a state is bad, or which action is picked on the way to it"
    return Unknown(Reason.NUMERICS, f"{what}: {why}", artifact=graph)


def select_reference_steps(table: StateTable, edges: Ids, unclear: Mask, budget: Budget) -> Mask:
    """Which of these steps the reference makes; when time is up, of those that it was asked about."""
    found = ~unclear[table.sources[edges]]
    permitted: dict[int, tuple[object, ...]] = {}
    for place in np.flatnonzero(~found).tolist():
        source = int(table.sources[edges[place]])
        if source not in permitted:
            if budget.is_spent():
                break
            try:
                permitted[source] = permitted_transitions(
                    table.dynamics.problem, _reference_state(table, source)
                )
            except InvalidProblem:
                permitted[source] = ()
        step = table.dynamics.steps[int(table.steps[edges[place]])]
        found[place] = step.leap.transition in permitted[source]
    return found


def find_unclear_states(table: StateTable, states: Ids) -> Mask:
    """In which of these states rounding may decide what the policy picks."""
    found = _several_actions(table)
    lookups = lookups_of(table)
    for first in range(0, len(states), CHUNK) if table.dynamics.call is not None else ():
        some = states[first : first + CHUNK]
        look = StateBatch(table.dynamics, table.columns(some), {}, lookups)
        look.evaluate_network(np.arange(len(some)))
        found[some] |= (look.high >= look.most).sum(axis=0) > 1
    return found


def _several_actions(table: StateTable) -> Mask:
    """States in which steps of several actions of the policy are possible."""
    several = np.zeros(len(table), dtype=np.bool_)
    problem = table.dynamics.problem
    if problem.policy is None or not table.steps.size:
        return several
    actions = [
        action_of(problem.policy, problem.environment, s.leap.transition) for s in table.dynamics.steps
    ]
    names = list(dict.fromkeys(actions))
    own = np.array([-1 if a is None else names.index(a) for a in actions], dtype=np.int64)[table.steps]
    sources, own = table.sources[own >= 0], own[own >= 0]
    some = np.zeros(len(table), dtype=np.int64)
    some[sources] = own  # of several, one
    several[sources[own != some[sources]]] = True
    return several


def is_bad_by_reference(table: StateTable, number: int) -> bool:
    """Is the state bad, with what the reference picks there?"""
    problem = table.dynamics.problem
    assert isinstance(problem.property, Never)
    try:
        return holds_in_state(problem, _reference_state(table, number), problem.property.bad)
    except InvalidProblem:
        return False


def _reference_state(table: StateTable, number: int) -> State:
    return state_from_scalars(table.dynamics, table.state(number))


def _reference_trace(table: StateTable, way: ConcreteReach, goal: int) -> Trace | Refused:
    start, edges = way.path(table, goal)
    numbers = [start, *(int(table.targets[e]) for e in edges)]
    taken = [table.dynamics.steps[int(table.steps[e])] for e in edges]
    return trace_along(table.dynamics, [table.state(n) for n in numbers], taken)
