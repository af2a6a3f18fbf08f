"""An abstract graph as a file for other tools: DOT for pictures, JSON with everything."""

from __future__ import annotations

import json

from surefoot.formats.result_json.write import abstract_graph_to_json
from surefoot.term.printer import show_term
from surefoot.verdict.artifact import AbstractGraph, AbstractState
from surefoot.visible import make_visible


def render_graph_json(graph: AbstractGraph) -> str:
    return json.dumps(abstract_graph_to_json(graph), indent=1) + "\n"


def render_graph_dot(graph: AbstractGraph) -> str:
    """Starts have a double border, unsafe states are red; a node says what holds, an edge the actions."""
    lines = ["digraph abstraction {", "  node [shape=box, fontname=monospace];"]
    for number, state in enumerate(graph.states):
        look = ["peripheries=2"] * state.start + ["style=filled", "fillcolor=tomato"] * state.unsafe
        lines.append(
            f"  s{number} [{', '.join([f'label={_quote_dot(_state_label(graph, state))}', *look])}];"
        )
    actions: dict[tuple[int, int], list[str]] = {}
    for source, label, target in graph.edges:
        actions.setdefault((source, target), []).append(label)
    for (source, target), labels in actions.items():
        lines.append(f"  s{source} -> s{target} [label={_quote_dot(make_visible(', '.join(labels)))}];")
    return "\n".join([*lines, "}"]) + "\n"


def _state_label(graph: AbstractGraph, state: AbstractState) -> str:
    places = [make_visible(f"{component} in {place}") for component, place in state.locations]
    truths = [
        show_term(predicate) if value else f"not ({show_term(predicate)})"
        for predicate, value in zip(graph.predicates, state.values, strict=True)
    ]
    return "\n".join([*places, *truths]) or "all states"


def _quote_dot(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
