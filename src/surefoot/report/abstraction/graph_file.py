"""The abstract graph beside a verdict: with what further predicates would make of it, and as a file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from surefoot.engines.predicates import Predicates
from surefoot.engines.protocol import Engine
from surefoot.formats.result_json.write import abstract_graph_to_json
from surefoot.problem.problem import Problem
from surefoot.report.abstraction.html import graph_page
from surefoot.term.printer import show_term
from surefoot.verdict.artifact import AbstractGraph, AbstractState
from surefoot.verdict.verdict import (
    Holds,
    Proved,
    Reason,
    Result,
    Unknown,
    Verdict,
    Violated,
    is_interrupted,
)
from surefoot.visible import make_visible
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time

CUT = "interrupted: further predicates were not tried"
LARGE = 300  # states of a graph that is still written after an interrupt


def verdict_graph(verdict: Verdict) -> AbstractGraph | None:
    found = verdict.artifact if isinstance(verdict, Proved | Violated | Holds | Unknown) else None
    return found if isinstance(found, AbstractGraph) else None


def with_splits_tried(
    problem: Problem, result: Result, engines: Sequence[Engine], most: int, budget: Budget
) -> Result:
    """The result with what further predicates would make of its graph, if it has one and time is left."""
    graph, verdict = verdict_graph(result.verdict), result.verdict
    engine = next((e for e in engines if isinstance(e, Predicates)), None)
    if graph is None or engine is None or not most or budget.is_spent():
        return result
    if isinstance(verdict, Unknown) and verdict.reason is Reason.INTERRUPTED:
        return result
    assert isinstance(verdict, Proved | Violated | Holds | Unknown)
    from surefoot.engines.predicates.split_preview import with_splits  # with all that it needs

    try:
        tests = engine.asked_tests()
        artifact = call_in_time(
            budget, lambda: with_splits(problem, graph, tests, most, budget), lambda: graph
        )
    except KeyboardInterrupt:  # the answer is known; only the picture has less to show
        return replace(result, notes=(*result.notes, CUT))
    return replace(result, verdict=replace(verdict, artifact=artifact))


def omit_large_graph(result: Result) -> Result:
    """Without the graph, if an interrupt has left no time to write so many states to a result or a page."""
    graph, verdict = verdict_graph(result.verdict), result.verdict
    if graph is None or len(graph.states) <= LARGE or not (is_interrupted(verdict) or CUT in result.notes):
        return result
    assert isinstance(verdict, Proved | Violated | Holds | Unknown)
    note = f"interrupted: the abstract graph with {len(graph.states)} states is left out; --graph writes it"
    return replace(result, verdict=replace(verdict, artifact=None), notes=(*result.notes, note))


def render_graph(problem: Problem, verdict: Verdict, graph: AbstractGraph, ending: str) -> str:
    """As a page (.html), for Graphviz (.dot) or as JSON."""
    if ending == ".html":
        return graph_page(problem, graph, verdict.trace if isinstance(verdict, Violated) else None)
    return (
        _render_dot(graph) if ending == ".dot" else json.dumps(abstract_graph_to_json(graph), indent=1) + "\n"
    )


def _render_dot(graph: AbstractGraph) -> str:
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
