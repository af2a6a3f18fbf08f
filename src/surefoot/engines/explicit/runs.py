"""What all runs of a finite system do: never, eventually, recurs, within, by looking at the whole graph.

A violation is a shortest path to a bad state, or a path to an end or a cycle without good states. Its moves
are looked up in the reference semantics, so that the trace replays. Where a network decides, what holds must
hold for every order of summation: `rounding` adds the runs that other orders make possible.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from surefoot.engines.explicit.engine import asked_parts
from surefoot.engines.explicit.graph import (
    Flags,
    Lasso,
    StateGraph,
    distance_to,
    find_avoiding_lasso,
    find_avoiding_prefix,
    shortest_violation,
)
from surefoot.engines.explicit.rounding import TooMany, add_rounding_runs
from surefoot.explore.explored_model import ExploredModel
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property, Recurs, Within
from surefoot.problem.semantics import Move, State, enumerate_successors
from surefoot.verdict.verdict import Holds, ProofArgument, Reason, Trace, Unknown, Vacuous, Verdict, Violated
from surefoot.work.budget import Budget


def decide_runs(problem: Problem, explored: ExploredModel, condition: Flags, budget: Budget) -> Verdict:
    """`condition`: where the condition of the property holds."""
    asked, markov = problem.property, explored.markov
    if not len(markov.initial):
        return Vacuous("there is no start state")
    graph = _state_graph(explored)
    found = _find_violation(asked, graph, condition)
    if found is not None:
        return Violated(_lasso_to_trace(problem, explored, found))
    near = _may_differ(problem, explored)
    if markov.cut.any():
        known = _violation_free_depth(graph, markov.cut, near) if isinstance(asked, Never) else None
        detail = f"the exploration ended at {explored.why_cut}"
        return Unknown(Reason.DEPTH, detail, known, "explicit" if known is not None else "")
    how = "every reachable state was looked at"
    if near.any():
        doubt = _rounding_doubt(problem, explored, condition, near, budget)
        if doubt is not None:
            return doubt
        how = f"{how}, and every decision within rounding"
    limit = asked.steps if isinstance(asked, Never | Within) else None
    return Holds(limit, "explicit", as_asked=True, how=how, argument=ProofArgument("graph", 0))


def _state_graph(explored: ExploredModel) -> StateGraph:
    markov = explored.markov
    ends = (np.diff(markov.choices) == 0) & ~explored.blocked & ~markov.cut
    return StateGraph(markov.outcomes[markov.choices], markov.targets, markov.initial, ends)


def _find_violation(asked: Property, graph: StateGraph, condition: Flags) -> Lasso | None:
    match asked:
        case Never(_, limit):
            return shortest_violation(graph, condition, limit)
        case Eventually():
            return find_avoiding_lasso(graph, ~condition, everywhere=False)
        case Recurs():
            return find_avoiding_lasso(graph, ~condition, everywhere=True)
        case Within(_, limit, after):
            return find_avoiding_prefix(graph, ~condition, after, limit)
        case _:
            raise TypeError(f"not about runs: {asked!r}")


def _may_differ(problem: Problem, explored: ExploredModel) -> Flags:
    """Where another order of summation may decide otherwise; controls are never the same to the last bit."""
    asks = problem.policy is not None and any(True for _ in asked_parts(problem.policy))
    if problem.environment.controls and asks:
        return np.ones(explored.markov.states, dtype=np.bool_)
    return explored.near_tie


def _violation_free_depth(graph: StateGraph, cut: Flags, near: Flags) -> int | None:
    """So many steps exclude violations, whatever the order of summation."""
    ends = [distance_to(graph, cut), distance_to(graph, near)]
    least = min(d - number for number, d in enumerate(ends) if d is not None)
    return least if least >= 0 else None


def _rounding_doubt(
    problem: Problem, explored: ExploredModel, condition: Flags, near: Flags, budget: Budget
) -> Unknown | None:
    """Why nothing is known of what another order of summation makes possible; None: it holds as well."""
    reference = "it holds if sums are taken from the first input to the last"
    try:
        graph, flags, states = add_rounding_runs(
            problem, explored, _state_graph(explored), condition, near, budget
        )
    except TooMany as why:
        late = Reason.TIMEOUT if budget.is_spent() else Reason.INCOMPLETE
        return Unknown(late, f"{reference}; other orders may decide otherwise in {why}")
    found = _find_violation(problem.property, graph, flags)
    if found is None:
        return None
    where = next((s for s in found.states if near[s]), None) if len(near) else None
    state = states(found.states[-1] if where is None else where)
    shown = ", ".join(f"{n} = {v}" for n, v in state.items() if not isinstance(v, tuple))
    return Unknown(
        Reason.INCOMPLETE,
        f"{reference}, but outputs of the network are within rounding of each other where {shown}, "
        "and another decision there leads to a violation",
    )


def _lasso_to_trace(problem: Problem, explored: ExploredModel, found: Lasso) -> Trace:
    states = [explored.valuation(s) for s in found.states]
    moves = [_find_move(problem, a, b) for a, b in pairwise(states)]
    return Trace(tuple(states), tuple(moves), found.loop)


def _find_move(problem: Problem, state: State, after: State) -> Move:
    return next(s.move for s in enumerate_successors(problem, state) if s.state == after)
