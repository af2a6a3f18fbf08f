"""Which joint steps of the components are enabled in a state."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from surefoot.problem.environment import Component, Environment
from surefoot.term.evaluate import make_evaluator
from surefoot.term.reserved_names import location_key


@dataclass(frozen=True, slots=True)
class Transition:
    """The edges that move together, as (component, edge) positions, and the label of the joint step."""

    edges: tuple[tuple[int, int], ...]
    label: str | None

    def describe(self, environment: Environment) -> str:
        known = environment.components
        parts = [f"{known[c].name}#{e}" if 0 <= c < len(known) else f"{c}#{e}" for c, e in self.edges]
        return f"{self.label or 'silent'} ({', '.join(parts)})"


def enabled_transitions(
    environment: Environment, state: Mapping[str, Any], controls: Mapping[str, Any] | None = None
) -> tuple[Transition, ...]:
    """Every joint step whose guards hold, in the order of declaration."""
    holds = make_evaluator({**state, **(controls or {})}, environment.arithmetic)

    def ready(component: Component) -> list[int]:
        here = component.locations[state.get(location_key(component.name), 0)]
        return [i for i, edge in enumerate(component.edges) if edge.source == here and holds(edge.guard)]

    return tuple(joint_transitions(environment, [ready(c) for c in environment.components]))


def joint_transitions(environment: Environment, ready: list[list[int]]) -> Iterator[Transition]:
    """Combine the ready edges of each component as the synchronisations say."""
    alone = len(environment.components) == 1 and not environment.synchronisations
    for number, (component, edges) in enumerate(zip(environment.components, ready, strict=True)):
        for e in edges:
            action = component.edges[e].action
            if action is None or alone:
                yield Transition(((number, e),), action)
    for vector in environment.synchronisations:
        slots = [
            [(n, e) for e in ready[n] if environment.components[n].edges[e].action == action]
            for n, action in enumerate(vector.actions)
            if action is not None
        ]
        for combination in product(*slots):
            yield Transition(combination, vector.result)
