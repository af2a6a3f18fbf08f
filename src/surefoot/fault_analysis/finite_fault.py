"""The last decision that could have been different, by the winning region of a finite system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import inf

from surefoot.errors import InvalidProblem
from surefoot.fault_analysis.winning_region import WinningRegion
from surefoot.problem.meaning.decision import Decision, action_of, observation_vector
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State, policy_decision
from surefoot.verdict.fault import COMPUTED, EXACTLY, Alternative, Claim, Fault, FaultFinding
from surefoot.verdict.verdict import Trace

LEAST_REGRET = 1e-9  # of a decision that is told: smaller differences may be rounding
TOO_LARGE = "the exploration ended before it was known which states of the run are lost"


def fault_by_region(
    problem: Problem,
    trace: Trace,
    region: WinningRegion,
    seconds_left: Callable[[], float] = lambda: inf,
) -> FaultFinding:
    """The fault of a run, or that its start is lost; `unknown` where the exploration does not tell."""
    numbers = region.place_run(trace)
    if len(numbers) < len(trace.states):
        return FaultFinding(unknown=TOO_LARGE)
    costliest = _costliest_decision(problem, trace, region, numbers, seconds_left)
    return replace(_last_decision(problem, trace, region, numbers), costliest=costliest)


def _last_decision(
    problem: Problem, trace: Trace, region: WinningRegion, numbers: Sequence[int]
) -> FaultFinding:
    if trace.loop is not None:
        found = _fault_in_loop(problem, trace, region, numbers)
        if found is not None:
            return found
    for index in range(len(numbers) - 1, -1, -1):
        if region.surely_won(index)[numbers[index]]:
            safe = region.safe_actions(numbers[index], index)
            return FaultFinding(make_fault(problem, trace, index, name_alternatives(safe), EXACTLY, EXACTLY))
        if region.maybe_won(index)[numbers[index]]:
            return FaultFinding(unknown=TOO_LARGE)
    return FaultFinding(lost=EXACTLY)


def _costliest_decision(
    problem: Problem,
    trace: Trace,
    region: WinningRegion,
    numbers: Sequence[int],
    seconds_left: Callable[[], float],
) -> Fault | None:
    """The decision that made a violation more likely than any other of the run, if one did."""
    risks = region.action_risks(seconds_left)
    if risks is None:
        return None
    worst: tuple[float, int] = (LEAST_REGRET, -1)
    for index, number in enumerate(numbers[:-1]):
        picked = decision_at(problem, trace, index)[0]
        places = [region.actions.index(p.action) for p in picked if p.action in region.actions]
        if places and (row := risks[number]).min() <= 1:
            offered = [row[p] for p in places if row[p] <= 1]
            regret = max(offered, default=row.min()) - row.min()
            worst = max(worst, (float(regret), -index)) if regret > worst[0] else worst
    if worst[0] <= LEAST_REGRET:
        return None
    index = -worst[1]
    row = risks[numbers[index]]
    best = float(row.min())
    better = name_alternatives(
        tuple(a for a, r in zip(region.actions, row, strict=True) if r <= best + LEAST_REGRET)
    )
    after = min(1.0, best + worst[0])
    return make_fault(problem, trace, index, better, COMPUTED, None, risk=(best, after))


def _fault_in_loop(
    problem: Problem, trace: Trace, region: WinningRegion, numbers: Sequence[int]
) -> FaultFinding | None:
    """A run that returns to won states could have come to a good one each time: the last time it did not.

    None: no state of the loop is won.
    """
    assert trace.loop is not None
    inside = range(len(numbers) - 2, trace.loop - 1, -1)
    if not any(region.maybe_won(0)[numbers[i]] for i in inside):
        return None
    for index in inside:
        here, following = numbers[index], numbers[index + 1]
        if region.surely_won(0)[here] and not region.is_nearer(following, here):
            better = region.progress_actions(here)
            return FaultFinding(make_fault(problem, trace, index, name_alternatives(better), EXACTLY, None))
    return FaultFinding(unknown=TOO_LARGE)


def name_alternatives(actions: Sequence[str]) -> tuple[Alternative, ...]:
    return tuple(Alternative(a) for a in actions)


def decision_at(
    problem: Problem, trace: Trace, index: int
) -> tuple[tuple[Alternative, ...], Decision | None]:
    """What the policy picked in a state of the run: what was carried out, or what it may have picked."""
    state = trace.states[index]
    try:
        made = policy_decision(problem, state)
    except InvalidProblem:
        made = None
    if made is not None and problem.environment.controls:
        return (Alternative(controls=dict(made.controls)),), made
    taken = None
    if problem.policy is not None and index < len(trace.moves):
        taken = action_of(problem.policy, problem.environment, trace.moves[index].transition)
    if taken is not None:
        return (Alternative(taken),), made
    return name_alternatives(tuple(made.actions) if made is not None else ()), made


def observation_of(problem: Problem, state: State) -> tuple[float, ...]:
    """What a network reads in a state; nothing for other policies."""
    if not isinstance(problem.policy, NeuralPolicy):
        return ()
    try:
        return tuple(float(v) for v in observation_vector(problem.policy, problem.environment, state))
    except InvalidProblem:
        return ()


def make_fault(
    problem: Problem,
    trace: Trace,
    index: int,
    safe: tuple[Alternative, ...],
    saved: Claim,
    lost: Claim | None,
    *,
    untried: bool = False,
    risk: tuple[float, float] | None = None,
) -> Fault:
    """The decision in a state of the run, with what would have been better."""
    state = trace.states[index]
    chosen, made = decision_at(problem, trace, index)
    if len(chosen) > 1:  # the policy draws: those of its draws that are at fault
        chosen = tuple(c for c in chosen if c not in safe) or chosen
    return Fault(
        step=index,
        state=state,
        observation=observation_of(problem, state),
        chosen=chosen,
        stalls=bool(made is not None and made.stalls),
        safe=safe,
        saved=saved,
        lost=lost,
        untried=untried,
        risk=risk,
    )
