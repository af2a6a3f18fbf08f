"""Which steps of an environment are enabled, and which the policy permits, as terms over one state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from surefoot.problem.environment import Environment
from surefoot.problem.meaning.decision import action_of
from surefoot.problem.meaning.transition import Transition, joint_transitions
from surefoot.problem.problem import Problem
from surefoot.reductions.expand import ScalarTree, TreeScope, expand_scalar, undefined_condition
from surefoot.reductions.policy import EncodedDecision, PolicyContext, encode_decision
from surefoot.reductions.scalar_layout import ScalarLayout, in_location
from surefoot.term.interval import Kinds, decide_by_bounds
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_name, network_output_name
from surefoot.term.term import FALSE, TRUE, Term, conjunction_of, disjunction_of, negate_condition

Position: TypeAlias = tuple[int, int]  # component and edge


@dataclass(frozen=True, slots=True)
class EnabledEdges:
    """Which edges can move: in their source, guard true; and where a guard has no value."""

    edges: Mapping[Position, Term]
    unclear: Term

    def enabled_condition(self, transition: Transition) -> Term:
        return conjunction_of(tuple(self.edges[e] for e in transition.edges))

    def any_enabled(self, transitions: tuple[Transition, ...]) -> Term:
        """Is at least one of these enabled? A full product of edges is written as a product."""
        groups: dict[tuple[int, ...], list[tuple[Position, ...]]] = {}
        for transition in transitions:
            groups.setdefault(tuple(c for c, _ in transition.edges), []).append(transition.edges)
        return disjunction_of(tuple(self._group(combinations) for combinations in groups.values()))

    def _group(self, combinations: list[tuple[Position, ...]]) -> Term:
        distinct = dict.fromkeys(combinations)
        slots = [dict.fromkeys(slot) for slot in zip(*distinct, strict=True)]
        if len(distinct) == prod(len(s) for s in slots):
            return conjunction_of(tuple(disjunction_of(tuple(self.edges[e] for e in s)) for s in slots))
        return disjunction_of(tuple(conjunction_of(tuple(self.edges[e] for e in c)) for c in distinct))


def count_transition_branches(environment: Environment) -> int:
    """How many leaps there are at most, without making them."""
    components = environment.components
    alone = len(components) == 1 and not environment.synchronisations
    total = sum(len(e.outcomes) for c in components for e in c.edges if alone or e.action is None)
    for vector in environment.synchronisations:
        slots = zip(components, vector.actions, strict=True)
        total += prod(
            sum(len(e.outcomes) for e in c.edges if e.action == action)
            for c, action in slots
            if action is not None
        )
    return total


def _encode_guards(
    environment: Environment, layout: ScalarLayout, scope: TreeScope, kinds: Kinds
) -> EnabledEdges:
    edges: dict[Position, Term] = {}
    unclear = []
    for number, component in enumerate(environment.components):
        for e, edge in enumerate(component.edges):
            here = in_location(layout, environment, number, edge.source)
            guard = decide_by_bounds(expand_scalar(edge.guard, scope), kinds)
            trouble = undefined_condition(edge.guard, scope, kinds)
            edges[number, e] = conjunction_of((here, negate_condition(trouble), guard))
            unclear.append(conjunction_of((here, trouble)))
    return EnabledEdges(edges, disjunction_of(tuple(unclear)))


def _static_transitions(environment: Environment, ready: EnabledEdges) -> tuple[Transition, ...]:
    """Every joint step that may be enabled in some state."""
    able = [
        [e for e in range(len(component.edges)) if ready.edges[number, e] != FALSE]
        for number, component in enumerate(environment.components)
    ]
    return tuple(dict.fromkeys(joint_transitions(environment, able)))


@dataclass(frozen=True, slots=True)
class PolicyInState:
    """The policy in one state: which transitions it permits, and everything a property may ask."""

    decided: EncodedDecision
    ready: EnabledEdges
    transitions: tuple[Transition, ...]
    actions: Mapping[Transition, str | None]  # the policy's action that a transition carries out
    sets_controls: bool

    def permitted_condition(self, action: str | None) -> Term:
        if action is None:
            return TRUE
        return FALSE if self.sets_controls else self.decided.picks.get(action, FALSE)

    def transitions_of(self, action: str | None) -> tuple[Transition, ...]:
        return tuple(t for t in self.transitions if self.actions[t] == action)

    def may_end(self) -> Term:
        """Nothing of the environment's own is left, and the policy is not asked or may pick what is disabled.

        Where it has no value (`undefined`) nothing is said of its pick; such a state is one to escape to.
        """
        silent = negate_condition(self.ready.any_enabled(self.transitions_of(None)))
        if self.sets_controls:
            return silent
        return conjunction_of(
            (silent, disjunction_of((negate_condition(self._consulted_condition()), self.decided.stalls)))
        )

    def _consulted_condition(self) -> Term:
        """Is some action of the policy's enabled?"""
        return self.ready.any_enabled(tuple(t for t in self.transitions if self.actions[t] is not None))

    def reserved_terms(self, has_policy: bool) -> dict[str, Term]:
        names = {DEADLOCKED: negate_condition(self.ready.any_enabled(self.transitions))}
        if has_policy:
            consulted = FALSE if self.sets_controls else self._consulted_condition()
            names[STALLED] = conjunction_of((consulted, self.decided.stalls))
            for action, picked in self.decided.picks.items():
                names[chosen_name(action)] = conjunction_of((consulted, picked))
            for i, value in enumerate(self.decided.outputs or ()):
                names[network_output_name(i)] = value
        return names


def encode_policy_in_state(
    problem: Problem, layout: ScalarLayout, rounding: bool, taken: set[str]
) -> tuple[PolicyContext, PolicyInState]:
    """Controls come before the guards that mention them; without controls the guards come first."""
    environment, policy = problem.environment, problem.policy
    kinds = dict(layout.kinds)
    decided = EncodedDecision()
    first = PolicyContext(environment, layout.scope, {}, rounding, taken, kinds)
    if policy is not None and environment.controls:
        decided = encode_decision(policy, first)
    ready = _encode_guards(environment, layout, scope_with_controls(environment, layout, decided), kinds)
    transitions = _static_transitions(environment, ready)
    actions = {t: None if policy is None else action_of(policy, environment, t) for t in transitions}
    acting = PolicyInState(decided, ready, transitions, actions, bool(environment.controls))
    if policy is None or environment.controls:
        return first, acting
    enabled = {
        a: ready.any_enabled(acting.transitions_of(a))
        for a in dict.fromkeys(actions.values())
        if a is not None
    }
    setting = PolicyContext(environment, layout.scope, enabled, rounding, taken, kinds)
    return setting, PolicyInState(encode_decision(policy, setting), ready, transitions, actions, False)


def scope_with_controls(
    environment: Environment, layout: ScalarLayout, decided: EncodedDecision
) -> dict[str, ScalarTree]:
    values = {c.name: v for c, v in zip(environment.controls, decided.controls, strict=False)}
    return {**layout.scope, **values}
