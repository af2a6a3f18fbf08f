"""Checks of a property: numbers of steps, limits, rewards, and the names its terms may use."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean
from surefoot.problem.environment import Environment
from surefoot.problem.meaning.decision import action_names
from surefoot.problem.network import Network
from surefoot.problem.policy import NeuralPolicy, Policy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import (
    STEPS,
    Bound,
    Eventually,
    Expected,
    Filter,
    Never,
    NeverBefore,
    Path,
    Probability,
    Property,
    Recurs,
    Threshold,
    Timed,
    Within,
)
from surefoot.problem.seconds import time_objection
from surefoot.problem.validate.policy import draws_actions
from surefoot.problem.validate.scope import NameScope, state_scope
from surefoot.term.normal_form import fold_condition
from surefoot.term.printer import show_term
from surefoot.term.reserved_names import (
    DEADLOCKED,
    STALLED,
    chosen_action,
    chosen_name,
    is_reserved,
    location_name,
    location_parts,
    network_output_name,
)
from surefoot.term.term import Const, Term, Var, free_names
from surefoot.term.types import BOOL, REAL
from surefoot.term.value_types import ValueType


def check_property(problem: Problem) -> None:
    """Raise at the first defect."""
    _check_policy_present(problem)
    scope = property_scope(problem.environment, problem.policy)
    asked = problem.property
    if isinstance(asked, Timed):
        if (why := time_objection(asked, problem.environment.flow)) is not None:
            raise why
        asked = asked.asked
    match asked:
        case Never(bad, steps):
            _check_steps(0 if steps is None else steps, 0)
            scope.require(bad, BOOL, "property.bad")
        case NeverBefore(bad, goal, steps):
            _check_steps(0 if steps is None else steps, 0)
            scope.require(bad, BOOL, "property.bad")
            _check_state_condition(goal, problem.environment, "property.goal")
        case Eventually(good) | Recurs(good):
            scope.require(good, BOOL, "property.good")
        case Within(good, steps, after):
            _check_steps(steps, after)
            scope.require(good, BOOL, "property.good")
        case Probability(path, threshold, _, over, starts):
            _check_path(path, scope, problem.environment)
            _check_threshold(threshold)
            _check_filter(over, threshold)
            _check_starts(starts, problem.environment)
        case Expected(reward, until, threshold, _, over, starts, steps):
            _check_filter(over, threshold)
            _check_reward(reward, scope, problem.environment)
            _check_steps(0 if steps is None else steps, 0)
            scope.require(until, BOOL, "property.until")
            _check_starts(starts, problem.environment)
    if problem.policy is not None and draws_actions(problem.policy):
        _check_draws(problem.property)


def _check_draws(asked: Property) -> None:
    """What a policy draws is no part of a state: only that it never draws something is asked of all draws.

    In `never` a single `chosen(a)` or `stalled` that is not denied means: there is no such draw.
    """
    match asked:
        case Timed(inner):
            return _check_draws(inner)
        case Never(bad) | NeverBefore(bad):
            found = list(_drawn_names(bad))
            if found in ([], [True]):
                return
        case Eventually(good) | Recurs(good) | Within(good):
            found = list(_drawn_names(good))
        case Probability(path, starts=starts):
            found = [
                d for part in (path.left, path.right, starts) if part is not None for d in _drawn_names(part)
            ]
        case Expected(reward, until, starts=starts):
            terms = (until, starts, None if isinstance(reward, str) else reward)
            found = [d for part in terms if part is not None for d in _drawn_names(part)]
    if found:
        what = "the policy draws its action, so that a state does not say what is chosen or whether it stalls"
        fix = "ask `never chosen(a)`, `never stalled`, or about the states that follow"
        raise Unsupported(what, fix=fix, where="property")


def _drawn_names(condition: Term) -> tuple[bool, ...]:
    """For each `chosen(…)` or `stalled` in it, whether more of them can only make it true."""

    def literal(part: Term, sign: bool) -> tuple[bool, ...]:
        drawn = (n for n in free_names(part) if n == STALLED or chosen_action(n) is not None)
        return tuple(sign and isinstance(part, Var) for _ in drawn)

    return fold_condition(condition, True, literal, lambda some: sum(some, ()), lambda some: sum(some, ()))


def property_scope(environment: Environment, policy: Policy | None) -> NameScope:
    """State variables, controls, and the reserved names that this policy gives a meaning to."""
    reserved: dict[str, ValueType] = {
        location_name(c.name, location): BOOL for c in environment.components for location in c.locations
    }
    reserved[DEADLOCKED] = BOOL
    state = state_scope(environment)
    if policy is None:
        return state.with_reserved(reserved)
    reserved[STALLED] = BOOL
    reserved.update({chosen_name(a): BOOL for a in action_names(policy, environment)})
    scope = state.also({c.name: REAL for c in environment.controls})
    network = _output_network(policy)
    if network is not None and network.head:
        return replace(scope.with_reserved(reserved), headless=network)
    if network is not None:
        reserved.update({network_output_name(i): REAL for i in range(network.decided)})
    return scope.with_reserved(reserved)


def _output_network(policy: Policy) -> Network | None:
    """The network whose raw outputs a decision of this policy shows."""
    match policy:
        case NeuralPolicy(network):
            return network
        case ShieldedPolicy(inner, _, _):
            return _output_network(inner)
        case _:
            return None


def check_controlled(problem: Problem) -> None:
    """Raise if there are controls and nobody sets them."""
    if problem.policy is None and problem.environment.controls:
        names = ", ".join(f"`{control.name}`" for control in problem.environment.controls)
        fix = "give a policy in [policy] or with --policy FILE; `surefoot shield` finds one"
        raise InvalidProblem(f"nobody sets the controls {names}: there is no policy", fix=fix, where="policy")


def _check_policy_present(problem: Problem) -> None:
    """Without a policy: what all runs do, or an optimum."""
    asked = problem.property
    about_one = isinstance(asked, Probability | Expected) and asked.optimise is None
    if problem.policy is None and about_one:
        what = "the property needs a policy, and there is none"
        fix = "give one, or ask about the optimum with Pmin, Pmax, Emin or Emax"
        raise InvalidProblem(what, fix=fix, where="policy")


def _check_steps(steps: int, after: int) -> None:
    for number, name in ((steps, "steps"), (after, "after")):
        if number < 0:
            raise InvalidProblem(
                f"{number} steps: a number of steps is not negative", where=f"property.{name}"
            )
    if after > steps:
        what = f"the property looks at states from number {after} to number {steps}: there are none"
        raise InvalidProblem(what, fix="`after` is at most the number of steps", where="property.after")


def _check_path(path: Path, scope: NameScope, environment: Environment) -> None:
    scope.require(path.left, BOOL, "property.path.left")
    scope.require(path.right, BOOL, "property.path.right")
    for number, bound in enumerate(path.bounds):
        _check_bound(bound, scope, environment, f"property.path.bounds[{number}]")


def _check_bound(bound: Bound, scope: NameScope, environment: Environment, where: str) -> None:
    if bound.low is None and bound.high is None:
        raise InvalidProblem("a bound without a limit", fix="drop it", where=where)
    for limit in (bound.low, bound.high):
        if limit is not None:
            scope.require(limit, REAL, where)
            if isinstance(limit, Const) and bound.reward is None and not _is_step_count(limit):
                what = f"`{show_term(limit)}` is not a number of steps"
                raise InvalidProblem(what, fix="use a whole number from 0 on", where=where)
    if bound.reward is not None:
        _check_reward_name(bound.reward, environment, where)
    match bound:
        case Bound(Const(low), Const(high)) if low > high:
            what = (
                f"the lower limit {show_term(Const(low))} is above the upper limit {show_term(Const(high))}"
            )
            raise InvalidProblem(what, fix="swap them", where=where)


def _is_step_count(limit: Const) -> bool:
    return isinstance(limit.value, int) and limit.value >= 0


def _check_threshold(threshold: Threshold | None) -> None:
    if threshold is not None and not 0 <= threshold.value <= 1:
        what = f"{show_term(Const(Fraction(threshold.value)))} is not a probability"
        raise InvalidProblem(what, fix="use a number from 0 to 1", where="property.threshold")


def _check_filter(over: Filter, threshold: Threshold | None) -> None:
    if over == "count" and threshold is None:
        what = "`over count` counts the starts for which something is so, but this is a number"
        raise InvalidProblem(what, fix="compare it: P>=0.9 [ … ] over count", where="property.over")
    if over in ("argmin", "argmax") and threshold is not None:
        what = f"`over {over}` names starts, which cannot be compared with a number"
        raise InvalidProblem(what, fix="ask with =?", where="property.over")


def _check_reward(reward: str | Term, scope: NameScope, environment: Environment) -> None:
    if isinstance(reward, str):
        _check_reward_name(reward, environment, "property.reward")
    else:
        scope.require(reward, REAL, "property.reward")


def _check_reward_name(reward: str, environment: Environment, where: str) -> None:
    outcomes = [o for c in environment.components for e in c.edges for o in e.outcomes]
    known = dict.fromkeys((STEPS, *(name for o in outcomes for name, _ in o.rewards)))
    if reward not in known:
        raise InvalidProblem(f"there is no reward `{reward}`", fix=did_you_mean(reward, known), where=where)


def _check_starts(starts: Term | None, environment: Environment) -> None:
    if starts is not None:
        _check_state_condition(starts, environment, "property.starts")


def _check_state_condition(condition: Term, environment: Environment, where: str) -> None:
    """A condition over variables and locations alone, not over what the policy does."""
    for name in sorted(free_names(condition)):
        if is_reserved(name) and location_parts(name) is None:
            what = f"`{name}` is about what the policy does, and this is about states"
            raise InvalidProblem(what, fix="use variables and `at(component, location)`", where=where)
    places = {location_name(c.name, place): BOOL for c in environment.components for place in c.locations}
    state_scope(environment).with_reserved(places).require(condition, BOOL, where)
