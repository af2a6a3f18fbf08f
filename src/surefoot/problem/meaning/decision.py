"""The decision of a policy in a state: argmax over applicable actions, controls, what a shield permits.

Actions that are not enabled are filtered out before the argmax, unless the policy asks for a stall there.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from fractions import Fraction
from math import exp, isfinite
from typing import Any

import numpy as np

from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Environment
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.meaning.transition import Transition, enabled_transitions
from surefoot.problem.network import Array32
from surefoot.problem.policy import (
    Branch,
    Choose,
    EdgesOf,
    NeuralPolicy,
    OraclePolicy,
    Policy,
    ProgramPolicy,
    ShieldedPolicy,
)
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.float32 import round_to_float32
from surefoot.term.reserved_names import chosen_name
from surefoot.term.value_types import Arithmetic


@dataclass(frozen=True, slots=True)
class Decision:
    """`actions`: what the policy may pick (several only when it samples), with their probabilities."""

    actions: Mapping[str, float] = field(default_factory=dict)
    controls: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[float, ...] | None = None  # the network's float32 outputs
    stalls: bool = False  # an action was due and some possible pick is not enabled
    intervened: bool = False  # a shield replaced the proposal


def action_names(policy: Policy, environment: Environment) -> tuple[str, ...]:
    """The policy's actions in order: labels, or `component#edge` where it picks edges."""
    match policy:
        case NeuralPolicy(actions=EdgesOf(component, order)):
            edges = next(c.edges for c in environment.components if c.name == component)
            return tuple(f"{component}#{e}" for e in (order or range(len(edges))))
        case NeuralPolicy(actions=tuple() as labels):
            return labels
        case ProgramPolicy(branches, labels):
            inner = [n for b in branches for n in _branch_actions(b, environment)]
            return tuple(dict.fromkeys((*labels, *inner)))
        case ShieldedPolicy(inner_policy, _, fallback):
            both = (*action_names(inner_policy, environment), *action_names(fallback, environment))
            return tuple(dict.fromkeys(both))
        case OraclePolicy(actions=labels):
            return labels
        case _:
            raise InvalidProblem(f"unknown policy {policy!r}")


def _branch_actions(branch: Branch, environment: Environment) -> tuple[str, ...]:
    if isinstance(branch.then, str):
        return (branch.then,)
    return () if isinstance(branch.then, tuple) else action_names(branch.then, environment)


def action_of(policy: Policy, environment: Environment, transition: Transition) -> str | None:
    """Which of the policy's actions a transition carries out; None = the environment's own."""
    return action_among(action_names(policy, environment), environment, transition)


def action_among(names: tuple[str, ...], environment: Environment, transition: Transition) -> str | None:
    """`action_of` for many transitions: these are the names of the policy's actions."""
    if transition.label in names:
        return transition.label
    for component, edge in transition.edges:
        if (name := f"{environment.components[component].name}#{edge}") in names:
            return name
    return None


def observation_vector(policy: NeuralPolicy, environment: Environment, state: Mapping[str, Any]) -> Array32:
    """The observed terms, each rounded once to float32."""
    values = (evaluate_term(t, state, environment.arithmetic) for t in policy.observe)
    return np.array([round_to_float32(v) for v in values], dtype=np.float32)


def decide_in_state(policy: Policy, environment: Environment, state: Mapping[str, Any]) -> Decision:
    """The policy's decision. Actions are empty where none of its own is enabled."""
    if environment.controls:
        return _decide_controls(policy, environment, state)
    return decide_and_enable(policy, environment, state)[0]


def decide_and_enable(
    policy: Policy, environment: Environment, state: Mapping[str, Any]
) -> tuple[Decision, tuple[Transition, ...]]:
    """The policy's decision, and every transition that is then enabled, permitted or not.

    Guards may read controls, which are decided first; without controls actions depend on what is enabled.
    """
    if environment.controls:
        made = _decide_controls(policy, environment, state)
        return made, enabled_transitions(environment, state, made.controls)
    names, enabled = action_names(policy, environment), enabled_transitions(environment, state)
    own = {a for t in enabled if (a := action_among(names, environment, t)) is not None}
    return _decide_action(policy, environment, state, own), enabled


def _network_outputs(
    policy: NeuralPolicy, environment: Environment, state: Mapping[str, Any]
) -> tuple[float, ...]:
    if policy.network.memory:
        what = "the memory of the network is no part of the state yet"
        raise InvalidProblem(what, fix="ask about discretise(problem)")
    outputs = infer_outputs(policy.network, observation_vector(policy, environment, state)[None, :])[0]
    if not np.all(np.isfinite(outputs)):
        raise Undefined("the network's output is not finite here")
    return tuple(float(o) for o in outputs)


def _decide_action(
    policy: Policy, environment: Environment, state: Mapping[str, Any], own: set[str]
) -> Decision:
    match policy:
        case NeuralPolicy():
            return _neural_action(policy, environment, state, own)
        case ProgramPolicy(branches):
            for branch in branches:
                if evaluate_term(branch.when, state, environment.arithmetic):
                    if isinstance(branch.then, str):
                        return decision_for_action(branch.then, own)
                    if isinstance(branch.then, tuple):
                        if branch.then or own:
                            raise InvalidProblem("a branch sets controls, but the environment has none")
                        return Decision()  # nothing is to be decided
                    return _decide_action(branch.then, environment, state, own)
            return Decision(stalls=bool(own))
        case ShieldedPolicy(inner, permits, fallback):
            proposed = _decide_action(inner, environment, state, own)
            names = {
                **state,
                **{chosen_name(a): a in proposed.actions for a in action_names(inner, environment)},
            }
            if evaluate_term(permits, names, environment.arithmetic):
                return proposed
            return _overrule_decision(_decide_action(fallback, environment, state, own), proposed)
        case OraclePolicy(_, oracle):
            picked = oracle(state)
            if not isinstance(picked, str):
                raise InvalidProblem("the oracle must return an action label here")
            return decision_for_action(picked, own)


def decision_for_action(action: str, own: Set[str], outputs: tuple[float, ...] | None = None) -> Decision:
    """One action; it stalls where others are enabled and it is not."""
    return Decision({action: 1.0} if own else {}, outputs=outputs, stalls=bool(own) and action not in own)


def _overrule_decision(fallback: Decision, proposed: Decision) -> Decision:
    return Decision(fallback.actions, fallback.controls, proposed.outputs, fallback.stalls, intervened=True)


def _neural_action(
    policy: NeuralPolicy, environment: Environment, state: Mapping[str, Any], own: set[str]
) -> Decision:
    outputs = _network_outputs(policy, environment, state)
    return pick_network_action(policy.choose, action_names(policy, environment), outputs, own)


def pick_network_action(
    choose: Choose, names: tuple[str, ...], outputs: tuple[float, ...], own: Set[str]
) -> Decision:
    """What a network with these outputs does where the actions in `own` are enabled."""
    match choose:
        case Choose.ARGMAX:
            return decision_for_action(names[outputs.index(max(outputs))], own, outputs)
        case Choose.ARGMAX_APPLICABLE:
            if not own:
                return Decision(outputs=outputs)
            ready = [i for i, n in enumerate(names) if n in own]
            if not ready:
                raise Undefined("none of the actions of this network is enabled here")
            return decision_for_action(names[max(ready, key=lambda i: (outputs[i], -i))], own, outputs)
        case Choose.SAMPLE:
            largest = max(outputs)
            weights = [exp(o - largest) for o in outputs]
            shares = dict.fromkeys(names, 0.0)
            for name, weight in zip(names, weights, strict=True):
                shares[name] += weight / sum(weights)
            return Decision(
                shares if own else {}, outputs=outputs, stalls=bool(own) and not set(names) <= own
            )
        case Choose.VALUE:
            raise InvalidProblem('`choose = "value"` needs an environment with controls')


def _decide_controls(policy: Policy, environment: Environment, state: Mapping[str, Any]) -> Decision:
    match policy:
        case NeuralPolicy():
            outputs = _network_outputs(policy, environment, state)
            return Decision(controls=clip_controls(environment, outputs), outputs=outputs)
        case ProgramPolicy(branches):
            for branch in branches:
                if evaluate_term(branch.when, state, environment.arithmetic):
                    if isinstance(branch.then, str):
                        raise InvalidProblem("a branch picks an action, but the environment has controls")
                    if isinstance(branch.then, tuple):
                        values = tuple(evaluate_term(t, state, environment.arithmetic) for t in branch.then)
                        return Decision(controls=clip_controls(environment, values))
                    return _decide_controls(branch.then, environment, state)
            raise Undefined("no branch of the program applies in this state")
        case ShieldedPolicy(inner, permits, fallback):
            proposed = _decide_controls(inner, environment, state)
            if evaluate_term(permits, {**state, **proposed.controls}, environment.arithmetic):
                return proposed
            return _overrule_decision(_decide_controls(fallback, environment, state), proposed)
        case OraclePolicy(_, oracle):
            picked = oracle(state)
            if isinstance(picked, str):
                raise InvalidProblem("the oracle must return control values here")
            return Decision(controls=clip_controls(environment, picked))


def clip_controls(environment: Environment, values: tuple[Any, ...]) -> dict[str, Any]:
    """Numbers as the values of the controls, clipped to their bounds where these are so declared."""
    result: dict[str, Any] = {}
    exact = environment.arithmetic is Arithmetic.EXACT
    for control, value in zip(environment.controls, values, strict=True):
        if isinstance(value, float) and not isfinite(value):
            raise Undefined(f"control `{control.name}` is not finite")
        number = Fraction(value) if exact else float(value)
        if control.clipped:
            low, high = (b if b is None or exact else float(b) for b in (control.low, control.high))
            number = number if low is None else max(number, low)
            number = number if high is None else min(number, high)
        result[control.name] = number
    return result
