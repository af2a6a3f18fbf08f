"""A probability between two bounds, closer with every predicate: abstraction, solution, refinement.

Refined are abstract states with reachable states in them. If others in it are worth more, or less, than these
a predicate is looked for between the two; otherwise between the reachable ones that are worth more and those
that are worth less than the middle. The bounds hold whatever the predicates are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.pctl_question import PctlQuestion as Wanted
from surefoot.engines.pctl_question import pctl_question
from surefoot.engines.predicates.dynamics import build_dynamics, count_states
from surefoot.engines.predicates.enumerative.columns import Mask
from surefoot.engines.predicates.enumerative.distributions import (
    ASTRAY,
    Distributions,
    choice_distributions,
    outcome_probability,
)
from surefoot.engines.predicates.enumerative.game_abstraction import (
    ReachabilityQuestion,
    bound_game_value,
    build_abstract_game,
)
from surefoot.engines.predicates.enumerative.partition import (
    Ids,
    Partition,
    partition_states,
    reach_states,
    refine_partition,
)
from surefoot.engines.predicates.enumerative.table import StateTable, tabulate_states
from surefoot.engines.predicates.graph import state_from_scalars
from surefoot.engines.predicates.separating_predicate import best_separating_predicate, weakest_precondition
from surefoot.engines.predicates.value_certificate import reachable_bounds
from surefoot.engines.start_filters import fold_start_bounds
from surefoot.errors import SurefootError
from surefoot.problem.policy import Choose, NeuralPolicy, Policy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Probability
from surefoot.reductions.transition_system import encoding_objection as encoding_objection
from surefoot.solvers.markov import MarkovUndecided
from surefoot.term.reserved_names import location_parts
from surefoot.term.term import TRUE, Term, free_names
from surefoot.verdict.verdict import Certificate, Exact, PerStart, Reason, Unknown, Verdict
from surefoot.work.budget import Budget

PRECISION = Fraction(1, 1000)  # no predicate is added where the bounds are as close as that
FOLDS = ("min", "max", "sum", "avg", "values")
Pair: TypeAlias = tuple[NDArray[np.object_], NDArray[np.object_]]
AT_ONCE, TRIED = 4, 16  # predicates that are added together, abstract states looked at for them
SLIGHT = 1e-9  # what is left to be gained where all states are worth the same
SAMPLE = 1000  # states that a predicate is looked for with


def probability_objection(problem: Problem, given: Sequence[Term], most: int) -> str | None:
    """Why this probability cannot be bounded."""
    wanted = problem.property
    assert isinstance(wanted, Probability)
    if wanted.path.operator == "X" or wanted.path.bounds or wanted.starts is not None:
        return "predicates bounds probabilities of runs of any length, from the initial states"
    if wanted.over not in FOLDS:
        return f"predicates does not cover `{wanted.over}` over starts"
    if not _is_covered(problem.policy):
        return "predicates bounds probabilities under networks that do not draw, and under plain programs"
    if problem.environment.controls:
        return "predicates takes policies that pick actions; this one sets controls"
    own = {v.name for v in problem.environment.variables}
    names = free_names(wanted.path.left) | free_names(wanted.path.right)
    if not all(n in own or location_parts(n) for n in names):
        return "predicates bounds probabilities of conditions on variables and locations"
    edges = [e for c in problem.environment.components for e in c.edges]
    if any(e.assuming != TRUE for e in edges):
        return "predicates bounds probabilities where nothing is assumed of chosen values"
    reaching = _as_reachability(problem)
    if (why := encoding_objection(reaching)) is not None:
        return why
    try:
        model = build_dynamics(reaching)
        for predicate in given:
            model.expand_predicate(predicate)
        for step in model.steps:
            outcome_probability(problem, step)
    except SurefootError as error:
        return str(error)
    return (
        None
        if count_states(model.layout) <= most
        else f"predicates bounds probabilities of up to {most} states"
    )


def _is_covered(policy: Policy | None) -> bool:
    match policy:
        case None:
            return True
        case NeuralPolicy(choose=choose):
            return choose is not Choose.SAMPLE
        case ProgramPolicy(branches):
            return all(isinstance(branch.then, str) for branch in branches)
        case _:
            return False


def _as_reachability(problem: Problem) -> Problem:
    """The same with the goal as what must not be reached."""
    assert isinstance(problem.property, Probability)
    return replace(problem, property=Never(pctl_question(problem.property, "max").right))


def bound_probability(
    problem: Problem, given: Sequence[Term], fixed: bool, most: int, budget: Budget
) -> Verdict:
    """The interval; refined until it is narrow, unless the predicates are fixed."""
    assert isinstance(problem.property, Probability)
    wanted = pctl_question(problem.property, "max")
    model = build_dynamics(_as_reachability(problem))
    if model.doubt:
        return Unknown(Reason.NUMERICS, model.doubt.detail)
    table = tabulate_states(model, budget)
    if not table.starts.size:
        return Unknown(Reason.INCOMPLETE, "no reachable state is a start state")
    reached = reach_states(table).reached
    if (reached & table.trouble).any():
        what = "a run comes to a state in which the model has no value, or leaves the range of a variable"
        return Unknown(Reason.INCOMPLETE, what)
    conditions = [
        model.expand_predicate(wanted.right),
        model.expand_predicate(wanted.left),
        *map(model.expand_predicate, given),
    ]
    goal, left = (table.evaluate(c) for c in conditions[:2])
    found, parts = choice_distributions(table, budget), partition_states(table, conditions)
    either = problem.property.optimise is None
    seen = reachable_bounds(problem, table, budget)
    best: Pair | None = None  # of every start, over all abstractions so far
    while True:
        try:
            low, high = _abstract_bounds(table, parts, found, wanted, either, goal, left, budget)
        except MarkovUndecided as why:
            if best is None:
                return Unknown(Reason.TIMEOUT if budget.is_spent() else Reason.NUMERICS, str(why))
            break
        cells = parts.cell[table.starts]
        here = low[cells], high[cells]
        if seen is not None:
            seen.improve(parts, low, high)
        best = here if best is None else (np.maximum(best[0], here[0]), np.minimum(best[1], here[1]))
        gap = max(best[1] - best[0])
        budget.progress(f"predicates: {len(parts)} abstract states, bounds {float(gap):.4g} apart")
        enough = fixed or gap <= PRECISION or len(conditions) - 2 >= most or budget.is_spent()
        more = (
            []
            if enough
            else list(_enumerate_refinements(table, parts, low, high, found, reached, conditions))
        )
        if not more:
            break
        for predicate in more:
            parts = refine_partition(table, parts, predicate)
        conditions += more
    shown = None if seen is None else seen.certificate(problem.property)
    return _fold_verdict(problem.property, table, *best, wanted.negated, shown)


def _abstract_bounds(
    table: StateTable,
    parts: Partition,
    found: Distributions,
    wanted: Wanted,
    either: bool,
    goal: Mask,
    left: Mask,
    budget: Budget,
) -> Pair:
    """Bounds of each abstract state; `either`: least and greatest, whatever is left open."""
    at_goal, inside = goal[parts.member], left[parts.member]
    made = build_abstract_game(parts, found, table.trouble, at_goal | ~inside)
    starts = parts.cell[table.starts]
    ends = []
    for upper in (False, True):
        optimise = ("max" if upper else "min") if either else wanted.optimise
        question = ReachabilityQuestion("max" if optimise == "max" else "min", inside & ~at_goal, at_goal)
        ends.append(bound_game_value(made, question, starts, upper, budget)[: len(parts)])
    return ends[0], ends[1]


def _enumerate_refinements(
    table: StateTable,
    parts: Partition,
    low: NDArray[np.object_],
    high: NDArray[np.object_],
    found: Distributions,
    reached: Mask,
    conditions: Sequence[Term],
) -> Iterator[Term]:
    """A few more predicates; none where no two states of an abstract state are worth different things."""
    middle = np.append(((low + high) / 2).astype(np.float64), 0.5)  # the last one: astray
    worth = np.zeros(len(table))
    for group in found.choices:
        to = np.where(group.targets == ASTRAY, len(parts), parts.cell[group.targets])
        value = middle[to] @ np.array([float(p) for p in group.shares])
        np.maximum.at(worth, group.sources, value)
    count, cell = len(parts), parts.cell
    least, most = _worth_range(cell, worth, count)
    lower, upper = _worth_range(cell[reached], worth[reached], count)
    inner, outer = upper - lower, np.maximum(most - upper, lower - least)
    spread = np.where((high - low).astype(np.float64) > 0, np.maximum(inner, outer) + SLIGHT, 0.0)
    spread[~np.isfinite(lower)] = 0.0  # nothing of it is reached
    seen: set[Term] = set(conditions)
    for place in np.argsort(-spread, kind="stable")[:TRIED].tolist():
        if len(seen) >= len(conditions) + AT_ONCE or not spread[place] > 0:
            return
        inside = np.flatnonzero(cell == place)
        own, others = inside[reached[inside]], inside[~reached[inside]]
        apart = (worth[others] < lower[place]) | (worth[others] > upper[place])
        if inner[place] > outer[place] or not len(others):
            above = worth[own] > (lower[place] + upper[place]) / 2
            above[0] |= not above.any()
            made = _separating_condition(table, own[above], own[~above], conditions)
        else:
            made = _separating_condition(table, own, others[apart] if apart.any() else others, conditions)
        if made is not None and made not in seen:
            seen.add(made)
            yield made


def _worth_range(
    cell: Ids, worth: NDArray[np.float64], count: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The least and the greatest worth in each abstract state."""
    least, most = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(least, cell, worth)
    np.maximum.at(most, cell, worth)
    return least, most


def _separating_condition(
    table: StateTable,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    conditions: Sequence[Term],
) -> Term | None:
    model = table.dynamics
    terms = [s.guard for s in model.steps] + [
        weakest_precondition(c, s.after) for s in model.steps for c in conditions
    ]
    if not len(first) or not len(second):
        return None
    rows = [table.scalar_rows(some[:: max(1, len(some) // SAMPLE)]) for some in (first, second)]
    return best_separating_predicate(model, rows[0], rows[1], terms)


def _fold_verdict(
    wanted: Probability,
    table: StateTable,
    low: NDArray[np.object_],
    high: NDArray[np.object_],
    negated: bool,
    shown: Certificate | None,
) -> Verdict:
    pairs = [(1 - b, 1 - a) if negated else (a, b) for a, b in zip(low, high, strict=True)]
    if wanted.over == "values" and len(pairs) > 1:
        states = [state_from_scalars(table.dynamics, table.state(int(s))) for s in table.starts]
        part = None if shown is None else Certificate("part", {})
        return PerStart(tuple((s, Exact(*p, part)) for s, p in zip(states, pairs, strict=True)), shown)
    return Exact(*fold_start_bounds(wanted.over, pairs), shown)
