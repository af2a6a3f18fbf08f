"""Checks of a policy against its environment: widths, actions, and the terms of programs and shields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.problem.environment import Component, Environment
from surefoot.problem.meaning.decision import action_names
from surefoot.problem.policy import (
    Choose,
    EdgesOf,
    NeuralPolicy,
    OraclePolicy,
    Policy,
    ProgramPolicy,
    ShieldedPolicy,
)
from surefoot.problem.validate.dropped_head import check_action_selection
from surefoot.problem.validate.scope import NameScope, state_scope
from surefoot.term.interval import defined_span
from surefoot.term.printer import abbreviate_term, show_term
from surefoot.term.reserved_names import chosen_name
from surefoot.term.term import free_names
from surefoot.term.types import BOOL, INT, REAL, unbounded_type


def check_policy(policy: Policy, environment: Environment, where: str = "policy") -> None:
    """Raise at the first defect."""
    state = state_scope(environment)
    match policy:
        case NeuralPolicy():
            _check_neural(policy, environment, state, where)
        case ProgramPolicy():
            _check_program(policy, environment, state, where)
        case ShieldedPolicy(inner, permits, fallback):
            check_policy(inner, environment, f"{where}.policy")
            check_policy(fallback, environment, f"{where}.fallback")
            proposed = {chosen_name(a): BOOL for a in action_names(inner, environment)}
            scope = state.also({c.name: REAL for c in environment.controls}).with_reserved(proposed)
            scope.require(permits, BOOL, f"{where}.permits")
            if draws_actions(inner) and free_names(permits) & set(proposed):
                what = "a shield that looks at the proposed action needs a policy that proposes one"
                raise InvalidProblem(
                    f"{what}, and this draws",
                    fix="choose by argmax, or permit by what is known of the state alone",
                    where=f"{where}.permits",
                )
        case OraclePolicy(actions=actions):
            _check_labels(actions, environment, where)


def draws_actions(policy: Policy) -> bool:
    """May it propose several actions in one state?"""
    match policy:
        case NeuralPolicy(choose=choose):
            return choose is Choose.SAMPLE
        case ProgramPolicy(branches):
            return any(draws_actions(b.then) for b in branches if not isinstance(b.then, str | tuple))
        case ShieldedPolicy(inner, _, fallback):
            return draws_actions(inner) or draws_actions(fallback)
        case OraclePolicy():
            return False


def environment_labels(environment: Environment) -> tuple[str, ...]:
    """The labels of joint steps, in order."""
    if environment.synchronisations:
        labels = [s.result for s in environment.synchronisations]
    elif len(environment.components) == 1:
        labels = [e.action for e in environment.components[0].edges]
    else:
        labels = []
    return tuple(dict.fromkeys(a for a in labels if a is not None))


def _check_neural(policy: NeuralPolicy, environment: Environment, state: NameScope, where: str) -> None:
    for number, term in enumerate(policy.observe):
        place = f"{where}.observe[{number}]"
        if state.kind(term, place) != BOOL:
            state.require(term, REAL, place)
    check_action_selection(policy, f"{where}.choose")
    if policy.network.memory and where != "policy":
        what = "a policy with memory is a part of another one"
        raise InvalidProblem(what, fix="let it act alone, without rules or a shield", where=where)
    _check_count("inputs", policy.network.observed, "observed terms", policy.observe, where, show_term)
    _check_indices(policy, state, where)
    outputs = policy.network.decided
    if environment.controls or policy.choose is Choose.VALUE:
        _check_control_values(policy, environment, where)
        controls = [c.name for c in environment.controls]
        _check_count("outputs", outputs, "controls", controls, where)
        return
    if isinstance(policy.actions, EdgesOf):
        _check_edge_order(policy.actions, environment, f"{where}.actions")
    else:
        _check_labels(policy.actions, environment, where)
    _check_count("outputs", outputs, "actions", action_names(policy, environment), where)


def _check_indices(policy: NeuralPolicy, state: NameScope, where: str) -> None:
    """Where the network reads an index, a whole number of its range is observed."""
    for index in policy.network.indices:
        term = policy.observe[index.place]
        place, wanted = f"{where}.observe[{index.place}]", f"a whole number from 0 to {index.count - 1}"
        found = state.kind(term, place)
        span = defined_span(term, state.kinds) if unbounded_type(found) == INT else None
        low, high = (0, 1) if found == BOOL else (None, None) if span is None else (span.low, span.high)
        if low is None or high is None or low < 0 or high > index.count - 1:
            shown = abbreviate_term(term)
            what = f"input {index.place} of the network is {wanted}, but `{shown}` may be another"
            fix = f"observe an integer variable of that range, or limit it: min(max(x, 0), {index.count - 1})"
            raise InvalidProblem(what, fix=fix, where=place)


def _check_control_values(policy: NeuralPolicy, environment: Environment, where: str) -> None:
    if not environment.controls:
        what = '`choose = "value"` needs an environment with controls'
        raise InvalidProblem(what, fix="declare controls, or choose among actions", where=f"{where}.choose")
    if policy.choose is not Choose.VALUE:
        what = f"the environment has controls, but the policy chooses by {policy.choose.value}"
        raise InvalidProblem(what, fix='use `choose = "value"`', where=f"{where}.choose")
    if policy.actions != ():
        what = "the policy sets controls, so it has no actions"
        raise InvalidProblem(what, fix="leave `actions` out", where=f"{where}.actions")


def _check_count(
    side: str, count: int, what: str, given: Sequence[Any], where: str, show: Callable[[Any], str] = str
) -> None:
    if count != len(given):  # to show terms that are tables takes longer than all other checks
        listed = [show(one) for one in given]
        numbers = _list_names([str(i) for i in range(count)])
        text = f"the network has {count} {side} ({numbers}) for {len(listed)} {what} ({_list_names(listed)})"
        raise InvalidProblem(text, fix=f"list exactly one for each of the {count} {side}", where=where)


def _list_names(names: list[str], most: int = 40) -> str:
    if not names:
        return "none"
    return ", ".join(names if len(names) <= most else [*names[:most], "…"])


def _check_labels(actions: Iterable[str], environment: Environment, where: str) -> None:
    known = environment_labels(environment)
    seen: set[str] = set()
    for number, action in enumerate(actions):
        place = f"{where}.actions[{number}]"
        if action not in known:
            what = f"the environment has no action `{action}`"
            raise InvalidProblem(what, fix=did_you_mean(action, known), where=place)
        if action in seen:
            raise InvalidProblem(f"action `{action}` is listed twice", fix="list it once", where=place)
        seen.add(action)


def _check_edge_order(actions: EdgesOf, environment: Environment, where: str) -> None:
    named: dict[str, Component] = {c.name: c for c in environment.components}
    if actions.component not in named:
        what = f"there is no component `{actions.component}`"
        raise InvalidProblem(what, fix=did_you_mean(actions.component, named), where=where)
    count = len(named[actions.component].edges)
    for number, edge in enumerate(actions.order):
        if not 0 <= edge < count:
            what = f"component `{actions.component}` has no edge {edge}"
            fix = f"its edges are numbered from 0 to {count - 1}"
            raise InvalidProblem(what, fix=fix, where=f"{where}.order[{number}]")
    if len(set(actions.order)) != len(actions.order):
        raise InvalidProblem("an edge is listed twice", fix="list each edge once", where=f"{where}.order")


def _check_program(policy: ProgramPolicy, environment: Environment, state: NameScope, where: str) -> None:
    if not policy.branches:
        raise InvalidProblem("the program has no branch", fix="add one", where=f"{where}.branches")
    _check_labels(policy.actions, environment, where)
    for number, branch in enumerate(policy.branches):
        place = f"{where}.branches[{number}]"
        state.require(branch.when, BOOL, f"{place}.when")
        if isinstance(branch.then, str):
            _check_branch_action(branch.then, environment, place)
        elif isinstance(branch.then, tuple):
            names = [c.name for c in environment.controls]
            if len(branch.then) != len(names):
                terms = _list_names([show_term(t) for t in branch.then])
                there = f"{len(names)} ({_list_names(names)})"
                what = f"the branch sets {len(branch.then)} controls ({terms}), but there are {there}"
                raise InvalidProblem(what, fix="write one term for each control", where=place)
            for position, value in enumerate(branch.then):
                state.require(value, REAL, f"{place}.then[{position}]")
        else:
            check_policy(branch.then, environment, f"{place}.then")


def _check_branch_action(action: str, environment: Environment, where: str) -> None:
    if environment.controls:
        what = f"the branch picks action `{action}`, but the environment has controls"
        raise InvalidProblem(what, fix="write one term for each control", where=f"{where}.then")
    known = environment_labels(environment)
    if action not in known and action not in _edge_names(environment):
        what = f"the environment has no action `{action}`"
        raise InvalidProblem(what, fix=did_you_mean(action, known), where=f"{where}.then")


def _edge_names(environment: Environment) -> set[str]:
    """`component#edge`: how a program picks one of several edges that share a label."""
    return {f"{c.name}#{number}" for c in environment.components for number in range(len(c.edges))}
