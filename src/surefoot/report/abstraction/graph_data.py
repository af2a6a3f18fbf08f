"""What the page knows of a graph: states with places, distances, truth values, actions, a state of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from surefoot.errors import SurefootError
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State, holds_in_state, policy_decision
from surefoot.reductions.discretise import discretise
from surefoot.report.abstraction.layered_layout import distances_to_goals, nearest_states, place_states
from surefoot.report.run_table import format_number
from surefoot.term.printer import show_term
from surefoot.term.reserved_names import location_key
from surefoot.term.term import TRUE
from surefoot.verdict.artifact import AbstractGraph, AbstractState, PredicateSplit
from surefoot.verdict.verdict import Trace

MOST_STATES = 5000  # that are drawn
MOST_DECIDED = 1500  # in whose examples the policy is asked
MOST_SPLIT_STATES = 3000  # of all graphs behind a split that the page has


def graph_page_data(
    problem: Problem, graph: AbstractGraph, run: Trace | None = None, *, whole: bool = True
) -> dict[str, Any]:
    """Everything as JSON data; not `whole`: without what is the same for all splits of a graph.

    `run`: its states are found in the graph, to see where it goes.
    """
    unsafe = [i for i, s in enumerate(graph.states) if s.unsafe]
    to_unsafe = distances_to_goals(unsafe, graph.edges)
    kept = nearest_states([s.distance for s in graph.states], to_unsafe, MOST_STATES)
    new = {old: i for i, old in enumerate(kept)}
    edges = [(new[s], label, new[t]) for s, label, t in graph.edges if s in new and t in new]
    placed = place_states([graph.states[old].distance for old in kept], edges)
    decided = len(kept) <= MOST_DECIDED
    spots = list(dict.fromkeys(_describe_locations(s) for s in graph.states))
    labels = list(dict.fromkeys(label for _, label, _ in graph.edges))
    return {
        "predicates": [show_term(p) for p in graph.predicates],
        "places": spots,
        "labels": labels,
        "meanings": _edge_meanings(problem) if whole else {},
        "counts": [len(graph.states), len(graph.edges), len(unsafe), sum(s.start for s in graph.states)],
        "complete": graph.complete,
        "exact": graph.exact,
        "states": [
            [
                old,
                *(round(v, 2) for v in placed[i]),
                state.start + 2 * state.unsafe,
                state.distance,
                to_unsafe.get(old, -1),
                spots.index(_describe_locations(state)),
                "".join("01"[v] for v in state.values),
                *_describe_witness(problem, state, decided),
            ]
            for i, old in enumerate(kept)
            for state in (graph.states[old],)
        ],
        "edges": [v for s, label, t in edges for v in (s, labels.index(label), t)],
        "run": [new[i] for i in _trace_places(problem, graph, run) if i in new],
        "splits": _splits_data(problem, graph, kept) if whole else [],
    }


def _trace_places(problem: Problem, graph: AbstractGraph, run: Trace | None) -> Iterator[int]:
    """The abstract states of a run, as far as they are in the graph."""
    executed = discretise(problem)
    number = {(s.locations, s.values): i for i, s in enumerate(graph.states)}
    several = [c for c in executed.environment.components if len(c.locations) > 1]
    for state in run.states if run is not None else ():
        places = tuple((c.name, c.locations[state[location_key(c.name)]]) for c in several)
        values = tuple(holds_in_state(executed, state, p) for p in graph.predicates)
        if (places, values) not in number:
            return
        yield number[places, values]


def _describe_locations(state: AbstractState) -> str:
    return ", ".join(f"{component} in {place}" for component, place in state.locations)


def _describe_witness(problem: Problem, state: AbstractState, decided: bool) -> list[str]:
    """A state that belongs to it, and what the policy picks there."""
    if state.witness is None:
        return ["", ""]
    inside = {location_key(component) for component, _ in state.locations}
    shown = {n: v for n, v in state.witness.items() if n not in inside}
    text = ", ".join(f"{n} = {format_number(v)}" for n, v in shown.items())
    return [text, _describe_decision(problem, state.witness) if decided else ""]


def _describe_decision(problem: Problem, state: State) -> str:
    """By the reference evaluation."""
    try:
        made = policy_decision(problem, state)
    except SurefootError:
        return ""
    if made is None or not made.actions:
        return ""
    what = ", ".join(made.actions) + (" (not possible there)" if made.stalls else "")
    outputs = "" if not made.outputs else f"; outputs {', '.join(f'{v:.4g}' for v in made.outputs)}"
    return what + outputs


def _edge_meanings(problem: Problem) -> Mapping[str, str]:
    """What edges do that have no name of their own, by the names that steps of the graph have."""
    found: dict[str, str] = {}
    for component in problem.environment.components:
        for place, edge in enumerate(component.edges):
            parts = [f"if {show_term(edge.guard)}"] if edge.guard != TRUE else []
            for outcome in edge.outcomes:
                parts += [f"{show_term(u.target)} := {show_term(u.value)}" for u in outcome.updates]
                parts += [f"to {outcome.target}"] if outcome.target else []
            text = f"{edge.action or 'silent'}: {'; '.join(parts)}"
            found[f"{component.name}#{place}"] = text if len(text) <= 300 else f"{text[:299]}…"
    return found


def _splits_data(problem: Problem, graph: AbstractGraph, kept: Sequence[int]) -> list[dict[str, Any]]:
    room, found = MOST_SPLIT_STATES, []
    for split in graph.splits:
        shown = split.graph if split.graph is not None and split.states <= room else None
        room -= 0 if shown is None else split.states
        found.append(_split_data(problem, split, shown, kept))
    return found


def _split_data(
    problem: Problem, split: PredicateSplit, shown: AbstractGraph | None, kept: Sequence[int]
) -> dict[str, Any]:
    return {
        "predicate": show_term(split.predicate),
        "origin": split.origin,
        "counts": [split.states, split.edges, split.unsafe],
        "pieces": "".join(str(split.pieces[old]) for old in kept),
        "inside": list(split.inside) if shown is not None else [],
        "graph": None if shown is None else graph_page_data(problem, shown, whole=False),
    }
