"""The environment in which only permitted actions can be taken: what any policy behind the shield may do.

A proof about it, without a policy, holds for every policy that keeps to what is permitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from surefoot.errors import Unsupported
from surefoot.problem.environment import Component, Edge, Environment
from surefoot.problem.validate import environment_labels
from surefoot.term.term import Term, conjunction_of

Place = tuple[int, int]  # component, edge


def restrict_to_permitted(environment: Environment, permitted: Mapping[str, Term]) -> Environment:
    """Steps that carry out an action have its condition in their guards."""
    labels = environment_labels(environment)
    places = _named_edges(environment, {n: t for n, t in permitted.items() if n not in labels})
    by_label = {n: t for n, t in permitted.items() if n in labels}
    if len({number for number, _ in places}) > 1 or (places and by_label):
        # Guards of two edges that move together would both have to hold: fewer steps than are permitted.
        raise Unsupported("a shield needs a policy that picks labels, or edges of one component")
    if environment.synchronisations:
        places |= _synchronised_places(environment, by_label)
    else:
        places |= {
            (number, index): by_label[edge.action]
            for number, component in enumerate(environment.components)
            for index, edge in enumerate(component.edges)
            if edge.action is not None and edge.action in by_label
        }
    parts = [_strengthen_guards(number, part, places) for number, part in enumerate(environment.components)]
    return replace(environment, components=tuple(parts))


def _strengthen_guards(number: int, component: Component, places: Mapping[Place, Term]) -> Component:
    def edge_with(index: int, edge: Edge) -> Edge:
        more = places.get((number, index))
        return edge if more is None else replace(edge, guard=conjunction_of((edge.guard, more)))

    return replace(component, edges=tuple(edge_with(i, e) for i, e in enumerate(component.edges)))


def _named_edges(environment: Environment, permitted: Mapping[str, Term]) -> dict[Place, Term]:
    """`car#3`: the fourth edge of the component `car`."""
    named = {
        f"{component.name}#{index}": (number, index)
        for number, component in enumerate(environment.components)
        for index in range(len(component.edges))
    }
    return {named[name]: term for name, term in permitted.items() if name in named}


def _synchronised_places(environment: Environment, permitted: Mapping[str, Term]) -> dict[Place, Term]:
    """For every action a component all of whose steps by that name carry out this very action."""
    together = environment.synchronisations
    found: dict[Place, Term] = {}
    for step in together:
        if step.result is None or step.result not in permitted:
            continue
        for number, action in enumerate(step.actions):
            others = {s.result for s in together if action is not None and s.actions[number] == action}
            if others == {step.result}:
                edges = environment.components[number].edges
                term = permitted[step.result]
                found |= {(number, i): term for i, e in enumerate(edges) if e.action == action}
                break
        else:
            raise Unsupported(
                f"the steps of `{step.result}` also carry out other actions, so that their guards cannot say "
                "what is permitted"
            )
    return found
