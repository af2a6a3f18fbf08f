"""The last decision that could have been different where the game cannot be solved: by looking ahead.

State by state from the end of the run backwards. A state is lost if every pick is, against something that the
environment may do: that is a fact wherever all picks are tried. Otherwise it is looked for a pick after which
nothing goes wrong for some more steps than the run lasted: against everything that the environment may do
where that is finite and small enough, in drawn runs elsewhere. A shield's proved set is certain.
"""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.errors import InvalidProblem, SurefootError
from surefoot.fault_analysis.finite_fault import decision_at, make_fault
from surefoot.fault_analysis.local_game import LocalGame, TooManyStates, Value
from surefoot.fault_analysis.rollouts import OutOfTime, Rollout, Trials
from surefoot.problem.meaning.decision import decide_in_state
from surefoot.problem.meaning.transition import enabled_transitions
from surefoot.problem.policy import ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Recurs, Within
from surefoot.problem.semantics import State, holds_in_state, policy_decision
from surefoot.term.evaluate import evaluate_term
from surefoot.verdict.fault import EXACTLY, Alternative, Claim, FaultFinding
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Trace
from surefoot.work.budget import Budget

AHEAD = 50  # steps beyond the violation
NODES = 4_000  # states of one search
SEARCH_SHARE = 0.2  # of the time, for one search


@dataclass(frozen=True, slots=True)
class _Judgement:
    """Of one state: what is safe in it, or that nothing is."""

    safe: tuple[Alternative, ...]
    claim: Claim
    drawn: bool = False  # in runs in which something was left open


def bounded_objection(problem: Problem, trace: Trace) -> str | None:
    """Why it is not looked ahead, in a sentence."""
    asked = problem.property
    if isinstance(asked, Recurs):
        return "what recurs is not looked for step by step"
    if isinstance(asked, Eventually) and trace.recurrence:
        return "the run never returns to a state"
    return None


def fault_by_looking(
    problem: Problem,
    trace: Trace,
    budget: Budget,
    ahead: int = AHEAD,
    shield: ProgramPolicy | None = None,
    trials: Trials | None = None,
) -> FaultFinding:
    """The fault of a run as far as looking ahead tells; every claim says how it is known.

    `trials`: of this problem, where many of its runs are looked at.
    """
    if shield is not None:
        return _fault_by_shield(problem, trace, shield)
    game = LocalGame(problem, budget, NODES)
    searches = not problem.environment.controls
    last = len(trace.states) - (1 if trace.loop is None else 2)  # the state that it returns to is there twice
    later: Claim | None = EXACTLY
    for index in range(last, -1, -1):
        if budget.is_spent():
            return _ended_early(last - index)
        judged = None
        if searches:
            game.nodes, game.budget = NODES, budget.part(SEARCH_SHARE)
            judged = _judge_by_game(game, trace, index, ahead)
            searches = judged is not None  # earlier states have more before them
        if judged is None or _is_shallow(judged, _horizon(problem, trace, index, ahead) - index):
            try:
                trials = trials or Trials(problem, budget.seed)
            except SurefootError as why:
                return FaultFinding(unknown=f"other decisions are not tried: {why}")
            game.nodes, game.budget = NODES, budget
            try:
                tried = _judge_by_trials(game, trials, trace, index, ahead, budget)
                if judged is None or tried.safe or not tried.drawn:
                    judged = tried  # it looks further; where much is drawn, that nothing was good says little
            except (OutOfTime, TooManyStates):
                if judged is None:
                    return _ended_early(last - index)
        # What was picked is not safe, whatever the drawn runs say: the run itself shows it.
        picked = decision_at(problem, trace, index)[0] if index < len(trace.moves) else ()
        safe = tuple(one for one in judged.safe if one not in picked)
        if safe:
            untried = bool(problem.environment.controls)
            after = None if trace.loop is not None and index >= trace.loop else later
            return FaultFinding(make_fault(problem, trace, index, safe, judged.claim, after, untried=untried))
        claim = judged.claim
        if judged.safe:  # only what was picked seemed so
            claim = Claim("sampled", claim.steps, claim.runs or 1)
        later = _weaker(later, claim)
    return FaultFinding(lost=later)


def _is_shallow(judged: _Judgement, steps: int) -> bool:
    """Is the claim about fewer steps than it should be looked ahead?"""
    return judged.claim.kind == "bounded" and (judged.claim.steps or 0) < steps


def _ended_early(states: int) -> FaultFinding:
    if not states:
        return FaultFinding(unknown="the time ended before anything was tried")
    several = count_noun(states, "state")
    return FaultFinding(unknown=f"the time ended: nothing was found that helps in the last {several}")


def _weaker(one: Claim | None, other: Claim) -> Claim:
    """What is known of several states together."""
    if one is None or one.kind == "exact":
        return other
    if other.kind == "exact":
        return one
    return Claim(one.kind, one.steps, (one.runs or 0) + (other.runs or 0))


def _horizon(problem: Problem, trace: Trace, index: int, ahead: int) -> int:
    """The number of the last state that counts."""
    match problem.property:
        case Never(_, int() as steps):
            return min(steps, len(trace.states) - 1 + ahead)
        case Within(_, steps):
            return steps
        case Eventually():
            return index + ahead
        case _:
            return len(trace.states) - 1 + ahead


def _judge_by_game(game: LocalGame, trace: Trace, index: int, ahead: int) -> _Judgement | None:
    """By every pick against everything, deeper and deeper; None: there are too many states, or values."""
    problem, state = game.problem, trace.states[index]
    last = _horizon(problem, trace, index, ahead)
    found: _Judgement | None = None
    for horizon in _growing_horizons(problem, len(trace.states), last):
        try:
            value = game.value(state, index, horizon)
            if value is Value.LOST:
                return _Judgement(
                    (), EXACTLY if game.all_picks else _tried_picks(game, state, horizon - index)
                )
            if value is Value.OPEN and not isinstance(problem.property, Never):
                continue  # it is not reached within these steps: that says nothing
            if not game.all_choices:
                return None
            found = _judge_open(game, state, index, horizon)
        except TooManyStates:
            break
        if found.claim.kind == "exact":
            break
    return found


def _growing_horizons(problem: Problem, states: int, last: int) -> list[int]:
    """Numbers of states up to the last one that counts."""
    if isinstance(problem.property, Within):
        return [last]
    first = min(last, states if isinstance(problem.property, Never) else 0)
    return [*(h for h in (first + 2**k - 1 for k in range(last.bit_length())) if 0 < h < last), last]


def _judge_open(game: LocalGame, state: State, index: int, horizon: int) -> _Judgement:
    safe = game.safe_picks(state, index, horizon)
    if not safe:
        # Nobody picks here, or something in it has no value: the decision was an earlier one.
        return _Judgement((), Claim("bounded", horizon - index))
    surely = tuple(pick for pick, found in safe if found is Value.WON)
    if surely:
        return _Judgement(surely, EXACTLY)
    return _Judgement(tuple(pick for pick, _ in safe), Claim("bounded", horizon - index))


def _tried_picks(game: LocalGame, state: State, steps: int) -> Claim:
    return Claim("sampled", steps, len(game.options(state).picks))


def _judge_by_trials(
    game: LocalGame, trials: Trials, trace: Trace, index: int, ahead: int, budget: Budget
) -> _Judgement:
    state, horizon = trace.states[index], _horizon(game.problem, trace, index, ahead)
    if horizon <= index:
        return _Judgement((), Claim("sampled", 0, 0))
    found = trials.try_state(game, state, index, horizon, budget)
    sampled = Claim("sampled", found.steps, found.tried)
    if not found.good:
        return _Judgement((), sampled, found.drawn)
    if not found.drawn and not budget.is_spent():
        sure = tuple(
            pick for place, pick in enumerate(found.good) if _keeps(game, found, place, state, index)
        )
        if sure:
            return _Judgement(sure, Claim("bounded", found.steps))
    return _Judgement(found.good, sampled)


def _keeps(game: LocalGame, found: Rollout, place: int, state: State, index: int) -> bool:
    """Does the plan keep the property by the reference too, where nothing is left open?"""
    for step, number in enumerate(found.plans[place].tolist()):
        if number < -1:
            return False  # any action: which one is not written down
        try:
            pick = found.table[number] if number >= 0 else _policy_pick(game.problem, state)
            after = [] if pick is None else game.after_pick(state, pick)
            if not after and number >= 0 and step:  # the plan then leaves it to the policy
                pick = _policy_pick(game.problem, state)
                after = [] if pick is None else game.after_pick(state, pick)
        except InvalidProblem:
            return False
        if not after:
            return isinstance(game.problem.property, Never) and not enabled_transitions(
                game.problem.environment, state
            )
        if len(after) > 1:
            return False
        (state,) = after
        if _is_violated(game.problem, state, index + step + 1):
            return False
        if _is_reached(game.problem, state, index + step + 1):
            return True
    return isinstance(game.problem.property, Never)


def _policy_pick(problem: Problem, state: State) -> Alternative | None:
    made = policy_decision(problem, state)
    if made is None or made.stalls or len(made.actions) > 1:
        return None
    return Alternative(next(iter(made.actions), None), dict(made.controls))


def _is_violated(problem: Problem, state: State, number: int) -> bool:
    match problem.property:
        case Never(bad, steps):
            return (steps is None or number <= steps) and _holds(problem, state, bad)
    return False


def _is_reached(problem: Problem, state: State, number: int) -> bool:
    match problem.property:
        case Within(good, steps, after):
            return after <= number <= steps and _holds(problem, state, good)
        case Eventually(good):
            return _holds(problem, state, good)
    return False


def _holds(problem: Problem, state: State, condition: object) -> bool:
    try:
        return holds_in_state(problem, state, condition)  # type: ignore[arg-type]
    except InvalidProblem:
        return True  # nothing is claimed


def _fault_by_shield(problem: Problem, trace: Trace, shield: ProgramPolicy) -> FaultFinding:
    """The last state of the run in a set that the shield does not leave."""
    environment = problem.environment
    for index in range(len(trace.states) - 1, -1, -1):
        state = trace.states[index]
        if any(evaluate_term(b.when, state, environment.arithmetic) for b in shield.branches):
            made = decide_in_state(shield, environment, state)
            safe = (Alternative(controls=dict(made.controls)),)
            outside = Claim("by shield")
            return FaultFinding(
                make_fault(problem, trace, index, safe, Claim("by shield"), outside, untried=True)
            )
    return FaultFinding(unknown="no state of the run is in a proved set of the shield")
