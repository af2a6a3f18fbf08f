"""The last decision that could have been different, by the winning region of a finite system."""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.errors import InvalidProblem
from surefoot.fault_analysis.winning_region import WinningRegion
from surefoot.problem.meaning.decision import Decision, action_of, observation_vector
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State, policy_decision
from surefoot.verdict.fault import EXACTLY, Alternative, Claim, Fault, FaultFinding
from surefoot.verdict.verdict import Trace

TOO_LARGE = "the exploration ended before it was known which states of the run are lost"


def fault_by_region(problem: Problem, trace: Trace, region: WinningRegion) -> FaultFinding:
    """The fault of a run, or that its start is lost; `unknown` where the exploration does not tell."""
    numbers = region.place_run(trace)
    if len(numbers) < len(trace.states):
        return FaultFinding(unknown=TOO_LARGE)
    if trace.loop is not None:
        found = _fault_in_loop(problem, trace, region, numbers)
        if found is not None:
            return found
    for index in range(len(numbers) - 1, -1, -1):
        if region.surely_won(index)[numbers[index]]:
            safe = region.safe_actions(numbers[index], index)
            return FaultFinding(make_fault(problem, trace, index, named(safe), EXACTLY, EXACTLY))
        if region.maybe_won(index)[numbers[index]]:
            return FaultFinding(unknown=TOO_LARGE)
    return FaultFinding(lost=EXACTLY)


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
            return FaultFinding(make_fault(problem, trace, index, named(better), EXACTLY, None))
    return FaultFinding(unknown=TOO_LARGE)


def named(actions: Sequence[str]) -> tuple[Alternative, ...]:
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
    return named(tuple(made.actions) if made is not None else ()), made


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
