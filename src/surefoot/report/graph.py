"""An abstract graph as a file for other tools: DOT for pictures, JSON with everything."""

from __future__ import annotations

import json

from surefoot.formats.result_json.artifacts import abstract_graph
from surefoot.problem.show import show
from surefoot.verdict.artifact import AbstractGraph, AbstractState
from surefoot.visible import make_visible


def as_json(graph: AbstractGraph) -> str:
    return json.dumps(abstract_graph(graph), indent=1) + "\n"


def as_dot(graph: AbstractGraph) -> str:
    """Starts have a double border, unsafe states are red; a node says what holds, an edge the actions."""
    lines = ["digraph abstraction {", "  node [shape=box, fontname=monospace];"]
    for number, state in enumerate(graph.states):
        look = ["peripheries=2"] * state.start + ["style=filled", "fillcolor=tomato"] * state.unsafe
        lines.append(f"  s{number} [{', '.join([f'label={_quoted(_label(graph, state))}', *look])}];")
    actions: dict[tuple[int, int], list[str]] = {}
    for source, label, target in graph.edges:
        actions.setdefault((source, target), []).append(label)
    for (source, target), labels in actions.items():
        lines.append(f"  s{source} -> s{target} [label={_quoted(make_visible(', '.join(labels)))}];")
    return "\n".join([*lines, "}"]) + "\n"


def _label(graph: AbstractGraph, state: AbstractState) -> str:
    places = [make_visible(f"{component} in {place}") for component, place in state.locations]
    truths = [
        show(predicate) if value else f"not ({show(predicate)})"
        for predicate, value in zip(graph.predicates, state.values, strict=True)
    ]
    return "\n".join([*places, *truths]) or "all states"


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
