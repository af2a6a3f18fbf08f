"""The work of the engine: explore, pose the question, solve it, and fold the starts.

The values of all states in the order of the certificate: sorted by what the states are.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.explicit.engine import Explicit
from surefoot.engines.explicit.packed_values import pack_values
from surefoot.engines.explicit.runs import decide_runs
from surefoot.engines.explicit.subproblem import Subproblem, build_subproblem
from surefoot.engines.pctl_question import PctlQuestion, pctl_question
from surefoot.engines.process_certificate import encode_bounds, process_certificate
from surefoot.engines.start_filters import TABLES, End, count_starts, fold_start_bounds, select_starts
from surefoot.explore.delayed.model import DelayedQuestion
from surefoot.explore.exploration import explore_problem
from surefoot.explore.explored_model import ExploredModel, States
from surefoot.explore.limits import TIME
from surefoot.problem.problem import Problem
from surefoot.problem.property import Expected, Never, Probability
from surefoot.query.markov import MarkovAnswer, Until
from surefoot.solvers.markov import GoalMayBeMissed, MarkovUndecided, solve_markov
from surefoot.solvers.markov.interval_iteration import iterate_intervals
from surefoot.solvers.markov.reward_unfolding import UnfoldedProcess
from surefoot.term.term import FALSE, Term
from surefoot.verdict.verdict import Certificate, Exact, PerStart, Reason, Unknown, Verdict
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time


def sort_states(
    states: States, unfolded: UnfoldedProcess, among: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """The states of the process, or those `among` them, sorted by their entries.

    Entries are variables, locations, then counters.
    """
    some = np.arange(len(unfolded.state), dtype=np.int64) if among is None else among
    places, counts = unfolded.state[some], unfolded.counts[some]
    columns = [states.column(name)[places] for name in states.names]
    if all(c.dtype != object for c in columns):
        keys = columns + list(counts.T)
        return some[np.lexsort(keys[::-1])] if keys else some
    rows = list(zip(*(c.tolist() for c in (*columns, *counts.T)), strict=True))
    return some[sorted(range(len(rows)), key=rows.__getitem__)]


EXPLORING = 0.6  # of the time
POSING = 0.4  # of what is left then, to find out which states matter
SOLVING = 0.6  # of what is left then, for an answer as narrow as asked for; the rest is for a wider one


@dataclass(frozen=True, slots=True, eq=False)
class SolvedProcess:
    """What was explored, and one side of the question, or both: least and greatest."""

    explored: ExploredModel
    sides: tuple[tuple[PctlQuestion, Subproblem, MarkovAnswer], ...]
    fused: bool  # some states may have been passed through
    late: bool = False  # the time ended: bounds are wider than was asked for


def explicit_verdict(limits: Explicit, problem: Problem, budget: Budget) -> Verdict:
    """The verdict about a probability, an expected reward or all runs."""
    if not isinstance(problem.property, Probability | Expected):
        return _check_runs(limits, problem, budget)
    found = solve_process(limits, problem, budget, bounds_only=True)
    if isinstance(found, Unknown):
        return found
    if found.explored.why_cut and problem.property.starts is not None:
        why = f"{found.explored.why_cut} ended the exploration, and there may be starts beyond"
        return Unknown(Reason.TIMEOUT if found.late else Reason.INCOMPLETE, why)
    starts = _start_states(found)
    if not len(starts):
        return Unknown(Reason.INCOMPLETE, "no reachable state is a start state")
    bounds = value_bounds(found, starts)
    if found.late:
        return _answer_in_part(problem.property, found, bounds)
    cut = any(what.unfolded.markov.cut.any() for _, what, _ in found.sides)
    whole = None if cut or found.fused else _process_certificate(problem, found)
    which, threshold = problem.property.over, problem.property.threshold
    if which == "count" and threshold is not None:
        return Exact(*count_starts(threshold, bounds), None)  # nor has the checker a claim about that
    if which not in TABLES or (which == "values" and len(bounds) == 1):
        return Exact(*fold_start_bounds(which, bounds), whole)
    if which != "values":
        whole = None  # the checker has no claim about which starts are the best
    states = found.sides[0][1].unfolded.state
    part = None if whole is None else Certificate("part", {})
    table = [
        (found.explored.valuation(int(states[starts[i]])), Exact(*bounds[i], part))
        for i in select_starts(which, bounds)
    ]
    return PerStart(tuple(table), whole)


def _answer_in_part(
    wanted: Probability | Expected, found: SolvedProcess, bounds: list[tuple[End, End]]
) -> Verdict:
    """What is known when the time is over, if that is anything: one interval, no table of vague ones."""
    states = found.explored.markov.states
    late = f"the time ended after {states} states{'' if found.explored.why_cut else ', which are all'}"
    single = len(bounds) == 1 and wanted.over == "values"
    if wanted.over == "count" or (wanted.over in TABLES and not single):
        return Unknown(Reason.TIMEOUT, late)
    low, high = fold_start_bounds(wanted.over, bounds)
    if low == 0 and high == 1:
        return Unknown(Reason.TIMEOUT, f"{late}, and the value may be anything")
    return Exact(low, high, None, Reason.TIMEOUT.value)


def _check_runs(limits: Explicit, problem: Problem, budget: Budget) -> Verdict:
    asked_of = problem.property
    condition = asked_of.bad if isinstance(asked_of, Never) else asked_of.good  # type: ignore[union-attr]
    labels = {"condition": condition}
    explored = explore_problem(
        problem,
        labels=labels,
        budget=budget,
        max_states=limits.max_states,
        memory=limits.bytes(),
        tier=limits.tier,
    )
    if budget.is_spent() and explored.markov.cut.any():
        return Unknown(Reason.TIMEOUT, f"the time ended after {explored.markov.states} states")
    return decide_runs(problem, explored, explored.markov.labels["condition"], budget)


def solve_process(
    limits: Explicit, problem: Problem, budget: Budget, *, bounds_only: bool = False
) -> SolvedProcess | Unknown:
    """One question, or two where the property leaves open whether least or greatest is meant.

    `bounds_only`: only the values of the start states are wanted: no choices, and outcomes may stay open.
    """
    assert isinstance(problem.property, Probability | Expected)
    first = pctl_question(problem.property, "min")
    starts = problem.property.starts
    labels = first.labels() | ({} if starts is None else {"starts": starts})
    through = first.skippable_states(problem.environment) if limits.fuse and starts is None else FALSE
    explored = explore_problem(
        problem,
        labels=labels,
        rewards=first.rewards(),
        quantities=first.quantities(),
        budget=budget.part(EXPLORING),
        max_states=limits.max_states,
        memory=limits.bytes(),
        until=first.decided_states(problem.environment) if starts is None else FALSE,
        through=through,
        delayed=_delayed_question(first, starts) if bounds_only and through == FALSE else None,
        tier=limits.tier,
    )
    if explored.blocked.any():
        why = "an assumption about the environment cannot be kept in a reachable state"
        return Unknown(Reason.INCOMPLETE, why)
    one_side = problem.property.optimise is not None or explored.markov.is_chain
    wanted = [first] if one_side else [first, pctl_question(problem.property, "max")]
    sides, late = [], False
    for number, side in enumerate(wanted):
        share = 1 / (len(wanted) - number)
        part = budget.part(POSING * share)
        try:
            what = build_subproblem(explored, side, starts is not None, part.remaining)
        except MarkovUndecided as why:
            return Unknown(Reason.TIMEOUT if part.is_spent() else Reason.INCOMPLETE, str(why))
        budget.progress(f"solving for {what.unfolded.markov.states} states")
        found = None if late else _solve_side(limits, what, budget.part(SOLVING * share), bounds_only)
        if isinstance(found, Unknown):
            return found
        if found is None:
            late, found = True, _enclose_side(what, budget.part(0.9 * share))
        if found is None:
            return Unknown(Reason.TIMEOUT, f"the time ended after {explored.markov.states} states")
        sides.append((side, what, found))
    return SolvedProcess(explored, tuple(sides), through != FALSE, late or explored.why_cut == TIME)


def _delayed_question(wanted: PctlQuestion, starts: Term | None) -> DelayedQuestion | None:
    """The question, if outcomes may stay open for it: no rewards to be counted, no other start states."""
    if starts is not None or wanted.after or wanted.bounds:
        return None
    return DelayedQuestion(wanted.left, wanted.right, wanted.reward)


def _solve_side(
    limits: Explicit, what: Subproblem, budget: Budget, bounds_only: bool
) -> MarkovAnswer | Unknown | None:
    """None: the time was over."""
    markov = what.unfolded.markov

    def attempt() -> MarkovAnswer:
        return solve_markov(
            markov,
            what.question,
            width=limits.width,
            exact=limits.exact,
            seconds_left=budget.remaining,
            bounds_only=bounds_only,
        )

    try:
        return call_in_time(budget, attempt, lambda: None, strictly=True)
    except MarkovUndecided as why:
        incomplete = isinstance(why, GoalMayBeMissed) or markov.cut.any()
        other = Reason.INCOMPLETE if incomplete else Reason.NUMERICS
        return None if budget.is_spent() else Unknown(other, str(why))


def _enclose_side(what: Subproblem, budget: Budget) -> MarkovAnswer | None:
    """Bounds that hold but are not as narrow as was asked for."""
    markov, question = what.unfolded.markov, what.question
    if not isinstance(question, Until):
        return None
    found = iterate_intervals(markov, question, budget.remaining)
    if found is None:
        return None
    nowhere = np.zeros(markov.states, dtype=np.bool_)
    low, high = (cast(NDArray[np.object_], side) for side in found)  # floats, which are exact numbers too
    return MarkovAnswer(low, high, 1, nowhere, np.full(markov.states, -1, dtype=np.int64))


def _process_certificate(problem: Problem, solved: SolvedProcess) -> Certificate:
    values: list[dict[str, Any] | None] = []
    states = solved.explored.states
    assert isinstance(problem.property, Probability | Expected)
    listed = problem.property.starts  # then the checker has to find out which states are reached
    packable = listed is None and solved.explored.tier != "delayed"
    for side, what, answer in solved.sides:
        if side.steps is not None:
            values.append(None)
        elif packable and (packed := pack_values(problem.environment, states, what, answer)) is not None:
            values.append(packed)
        else:
            order = sort_states(states, what.unfolded)
            low, high = answer.low[order].tolist(), answer.high[order].tolist()
            values.append(encode_bounds(low, high, answer.scale))
    return process_certificate(solved.explored, values)


def _start_states(solved: SolvedProcess) -> NDArray[np.int64]:
    """The start states of the process, as the property means them, sorted by what they are."""
    unfolded = solved.sides[0][1].unfolded
    is_start = np.zeros(unfolded.markov.states, dtype=np.bool_)
    is_start[unfolded.markov.initial] = True
    is_start = unfolded.markov.labels.get("starts", is_start)
    return sort_states(solved.explored.states, unfolded, np.flatnonzero(is_start))


def value_bounds(solved: SolvedProcess, some: NDArray[np.int64] | None = None) -> list[tuple[End, End]]:
    """Bounds of all states, or of some: the lower end of the first answer, the upper end of the last one."""
    columns: list[list[tuple[End, End]]] = []
    for side, _, answer in solved.sides:
        known: dict[tuple[Any, Any, bool], tuple[End, End]] = {}  # most values occur often
        column: list[tuple[End, End]] = []
        ends = (v if some is None else v[some] for v in (answer.low, answer.high, answer.infinite))
        for key in zip(*(v.tolist() for v in ends), strict=True):
            if (found := known.get(key)) is None:
                low, high = Fraction(key[0]) / answer.scale, Fraction(key[1]) / answer.scale
                found = (1 - high, 1 - low) if side.negated else (low, high)
                known[key] = found = (None, None) if key[2] else found
            column.append(found)
        columns.append(column)
    return [(first[0], last[1]) for first, last in zip(columns[0], columns[-1], strict=True)]
