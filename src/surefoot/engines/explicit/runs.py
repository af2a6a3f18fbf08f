"""What all runs of a finite system do: never, eventually, recurs, within, by looking at the whole graph.

A violation is a shortest path to a bad state, or a path to an end or a cycle without good states. Its moves
are looked up in the reference semantics, so that the trace replays. Where a network decides, what holds must
hold for every order of summation: `rounding` adds the runs that other orders make possible.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from surefoot.compile import Explored
from surefoot.engines.explicit.engine import asked_parts
from surefoot.engines.explicit.graph import Flags, Graph, Lasso, distance_to, first, late_run, quiet_run
from surefoot.engines.explicit.rounding import TooMany, rounded_anyhow
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property, Recurs, Within
from surefoot.problem.semantics import Move, State, successors
from surefoot.verdict.verdict import Argument, Holds, Reason, Trace, Unknown, Vacuous, Verdict, Violated
from surefoot.work.budget import Budget


def decide(problem: Problem, explored: Explored, condition: Flags, budget: Budget) -> Verdict:
    """`condition`: where the condition of the property holds."""
    asked, markov = problem.property, explored.markov
    if not len(markov.initial):
        return Vacuous("there is no start state")
    graph = _graph(explored)
    found = _violation(asked, graph, condition)
    if found is not None:
        return Violated(_trace(problem, explored, found))
    near = _may_differ(problem, explored)
    if markov.cut.any():
        known = _clear(graph, markov.cut, near) if isinstance(asked, Never) else None
        detail = f"the exploration ended at {explored.why_cut}"
        return Unknown(Reason.DEPTH, detail, known, "explicit" if known is not None else "")
    how = "every reachable state was looked at"
    if near.any():
        doubt = _otherwise(problem, explored, condition, near, budget)
        if doubt is not None:
            return doubt
        how = f"{how}, and every decision within rounding"
    limit = asked.steps if isinstance(asked, Never | Within) else None
    return Holds(limit, "explicit", as_asked=True, how=how, argument=Argument("graph", 0))


def _graph(explored: Explored) -> Graph:
    markov = explored.markov
    ends = (np.diff(markov.choices) == 0) & ~explored.blocked & ~markov.cut
    return Graph(markov.outcomes[markov.choices], markov.targets, markov.initial, ends)


def _violation(asked: Property, graph: Graph, condition: Flags) -> Lasso | None:
    match asked:
        case Never(_, limit):
            return first(graph, condition, limit)
        case Eventually():
            return quiet_run(graph, ~condition, everywhere=False)
        case Recurs():
            return quiet_run(graph, ~condition, everywhere=True)
        case Within(_, limit, after):
            return late_run(graph, ~condition, after, limit)
        case _:
            raise TypeError(f"not about runs: {asked!r}")


def _may_differ(problem: Problem, explored: Explored) -> Flags:
    """Where another order of summation may decide otherwise; controls are never the same to the last bit."""
    asks = problem.policy is not None and any(True for _ in asked_parts(problem.policy))
    if problem.environment.controls and asks:
        return np.ones(explored.markov.states, dtype=np.bool_)
    return explored.near_tie


def _clear(graph: Graph, cut: Flags, near: Flags) -> int | None:
    """So many steps exclude violations, whatever the order of summation."""
    ends = [distance_to(graph, cut), distance_to(graph, near)]
    least = min(d - number for number, d in enumerate(ends) if d is not None)
    return least if least >= 0 else None


def _otherwise(
    problem: Problem, explored: Explored, condition: Flags, near: Flags, budget: Budget
) -> Unknown | None:
    """Why nothing is known of what another order of summation makes possible; None: it holds as well."""
    reference = "it holds if sums are taken from the first input to the last"
    try:
        graph, flags, states = rounded_anyhow(problem, explored, _graph(explored), condition, near, budget)
    except TooMany as why:
        late = Reason.TIMEOUT if budget.spent() else Reason.INCOMPLETE
        return Unknown(late, f"{reference}; other orders may decide otherwise in {why}")
    found = _violation(problem.property, graph, flags)
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


def _trace(problem: Problem, explored: Explored, found: Lasso) -> Trace:
    states = [explored.valuation(s) for s in found.states]
    moves = [_move(problem, a, b) for a, b in pairwise(states)]
    return Trace(tuple(states), tuple(moves), found.loop)


def _move(problem: Problem, state: State, after: State) -> Move:
    return next(s.move for s in successors(problem, state) if s.state == after)
