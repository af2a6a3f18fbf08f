"""A problem about probabilities or rewards written out for a certificate (docs/certificates.md, section 11).

The environment is written as it is, component by component; nothing is combined or rewritten. What the
checker does not cover is refused with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from surefoot.certify.runs.canonical import normalised_entry, run_property_to_json, variable_to_json
from surefoot.certify.runs.policy import network_entry_to_json, rules_and_network
from surefoot.certify.term_json import exact_to_json, process_term_to_json
from surefoot.errors import Unsupported
from surefoot.problem.environment import Component, Edge, Environment, Outcome
from surefoot.problem.meaning.decision import action_names
from surefoot.problem.policy import Choose, Policy
from surefoot.problem.problem import Problem
from surefoot.problem.property import (
    STEPS,
    Bound,
    Eventually,
    Expected,
    Never,
    NeverBefore,
    Probability,
    Recurs,
    Within,
)
from surefoot.term.term import Const, Term
from surefoot.term.value_types import Arithmetic, Array, Real, ValueType


def process_problem_to_json(problem: Problem, inputs: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The problem as JSON data; `Unsupported` says why certificates do not cover it.

    `inputs`: files with their digests; a network that is one of them is named, another one written out.
    """
    environment = problem.environment
    if environment.arithmetic is not Arithmetic.EXACT or environment.flow is not None:
        raise Unsupported("the environment computes in float64, which certificates do not cover")
    if environment.controls:
        raise Unsupported("controls, which certificates of probabilities do not cover")
    return {
        "name": problem.name,
        **_environment_to_json(environment),
        "controls": [],
        "policy": None if problem.policy is None else _policy_to_json(problem, problem.policy, inputs or {}),
        "property": _property_to_json(problem),
        **normalised_entry(environment),
    }


def _policy_to_json(problem: Problem, policy: Policy, inputs: Mapping[str, str]) -> dict[str, Any]:
    rules, network = rules_and_network(policy)
    found: dict[str, Any] = {
        "rules": [{"when": process_term_to_json(rule.when), "then": rule.then} for rule in rules],
        "network": None,
        "observe": [],
        "choose": Choose.ARGMAX.value,
        "actions": [],
        "owns": list(action_names(policy, problem.environment)),
    }
    if network is None:
        return found
    if network.choose not in (Choose.ARGMAX, Choose.ARGMAX_APPLICABLE):
        raise Unsupported(f"`choose = {network.choose.value}`, which certificates do not cover")
    return found | {
        "network": network_entry_to_json(network.network, inputs),
        "observe": [process_term_to_json(t) for t in network.observe],
        "choose": network.choose.value,
        "actions": list(action_names(network, problem.environment)),
    }


def _environment_to_json(environment: Environment) -> dict[str, Any]:
    return {
        "variables": [_exact_variable_to_json(v.name, v.kind) for v in environment.variables],
        "initial": process_term_to_json(environment.initial),
        "components": [_component_to_json(c, {}) for c in environment.components],
        "synchronisations": [[list(s.actions), s.result] for s in environment.synchronisations],
    }


def _exact_variable_to_json(name: str, kind: ValueType) -> list[Any]:
    inner = kind
    while isinstance(inner, Array):
        inner = inner.element
    if isinstance(inner, Real) and inner.float32:
        raise Unsupported("float32 variables, which certificates of probabilities do not cover")
    return variable_to_json(name, kind)


def _component_to_json(component: Component, known: dict[int, Any]) -> dict[str, Any]:
    """`known`: rewards by the identity of their terms, which many outcomes have in common."""
    return {
        "name": component.name,
        "locations": list(component.locations),
        "initial": list(component.initial),
        "edges": [_edge_to_json(e, known) for e in component.edges],
    }


def _edge_to_json(edge: Edge, known: dict[int, Any]) -> dict[str, Any]:
    return {
        "source": edge.source,
        "action": edge.action,
        "guard": process_term_to_json(edge.guard),
        "chosen": [_exact_variable_to_json(c.name, c.kind) for c in edge.chosen],
        "assuming": process_term_to_json(edge.assuming),
        "outcomes": [_outcome_to_json(o, known) for o in edge.outcomes],
    }


def _outcome_to_json(outcome: Outcome, known: dict[int, Any]) -> dict[str, Any]:
    for _, amount in outcome.rewards:
        if id(amount) not in known:
            known[id(amount)] = process_term_to_json(amount)
    return {
        "probability": process_term_to_json(outcome.probability),
        "updates": [
            [process_term_to_json(u.target), process_term_to_json(u.value), u.index] for u in outcome.updates
        ],
        "rewards": [[name, known[id(amount)]] for name, amount in outcome.rewards],
        "target": outcome.target,
    }


def _property_to_json(problem: Problem) -> dict[str, Any]:
    match problem.property:
        case Probability(path, _, optimise, over, starts):
            return {
                "kind": "probability",
                "optimise": optimise,
                "operator": path.operator,
                "left": process_term_to_json(path.left),
                "right": process_term_to_json(path.right),
                "bounds": [_bound_to_json(b) for b in path.bounds],
                "over": over,
                "starts": None if starts is None else process_term_to_json(starts),
            }
        case Expected(reward, until, _, optimise, over, starts, steps):
            return {
                "kind": "expected",
                "optimise": optimise,
                "reward": _reward_to_json(reward),
                "until": process_term_to_json(until),
                "steps": steps,
                "over": over,
                "starts": None if starts is None else process_term_to_json(starts),
            }
        case Never() | NeverBefore() | Eventually() | Recurs() | Within():
            return run_property_to_json(problem.property, process_term_to_json)
        case other:
            raise Unsupported(f"certificates of probabilities do not cover this {type(other).__name__}")


def _reward_to_json(reward: str | Term) -> Any:
    """The name of a reward, null for steps, or what every step from a state pays."""
    if isinstance(reward, str):
        return None if reward == STEPS else reward
    return ["of", process_term_to_json(reward)]


def _bound_to_json(bound: Bound) -> dict[str, Any]:
    return {
        "reward": None if bound.reward == STEPS else bound.reward,
        "low": _constant_to_json(bound.low),
        "high": _constant_to_json(bound.high),
        "strict": bound.strict,
    }


def _constant_to_json(term: Term | None) -> int | str | None:
    match term:
        case None:
            return None
        case Const(int() | Fraction() as value) if not isinstance(value, bool):
            return exact_to_json(value)
        case _:
            raise Unsupported("a bound that is not a constant, which certificates do not cover")
