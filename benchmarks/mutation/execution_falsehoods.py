"""Changes to a problem that make its property false, found by visiting its states.

Random damage leaves most claims true. Here a state that runs reach becomes bad or stops being good, a new
start or a new edge leads to a violation, a loop appears that is never good, a step leaves a range. Whether
the claim is false then is asked again afterwards.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from random import Random
from typing import Any

from benchmarks.mutation.execution_mutations import Mutants
from benchmarks.mutation.execution_truth import NotFinite, Runs, State

EACH = 3  # changes of one kind


def false_mutants(certificate: Mapping[str, Any], seed: int = 0) -> Mutants:
    """Copies of the certificate that most probably claim something false; the proofs stay."""
    try:
        runs = Runs(certificate["claim"]["problem"])
        reached, everything = sorted(runs.reached()), list(product(*runs.ranges))
        good = {s: runs.look(s)[3] for s in everything}
    except NotFinite:
        return
    draw = Random(seed)
    for name, change in _changes(runs, reached, everything, good, draw):
        made = copy.deepcopy(dict(certificate))
        change(made["claim"]["problem"])
        yield name, made


Change = Callable[[dict[str, Any]], object]


def _changes(
    runs: Runs, reached: list[State], everything: list[State], good: Mapping[State, bool], draw: Random
) -> Iterator[tuple[str, Change]]:
    never = runs.asked["kind"] == "never"
    bad = [s for s in everything if good[s] is never]  # where the property is in trouble
    for state in _some(draw, reached):
        here = at(runs, state)
        if never:
            yield f"bad too: {state}", lambda p, t=here: _condition(p, ["or", p["property"]["condition"], t])
            yield f"bad instead: {state}", lambda p, t=here: _condition(p, t)
    for state in _some(draw, [s for s in reached if good[s]]) if not never else ():
        here = at(runs, state)
        yield (
            f"not good: {state}",
            lambda p, t=here: _condition(p, ["and", p["property"]["condition"], ["not", t]]),
        )
    for state in _some(draw, bad):
        here = at(runs, state)
        yield f"start: {state}", lambda p, t=here: p.update(initial=["or", p["initial"], t])
        for source in _some(draw, reached)[:1]:
            new = edge(runs, source, state)
            yield f"edge: {source} to {state}", lambda p, e=new: p["edges"].append(e)
    for state in _some(draw, [s for s in reached if s in bad]):
        new = edge(runs, state, state)
        yield f"loop: {state}", lambda p, e=new: p["edges"].append(e)
    for state in _some(draw, reached)[:2]:
        new = _out(runs, state)
        yield f"escape: {state}", lambda p, e=new: p["edges"].append(e)


def _some(draw: Random, states: list[State]) -> list[State]:
    return draw.sample(states, min(EACH, len(states)))


def _condition(problem: dict[str, Any], term: Any) -> None:
    problem["property"]["condition"] = term


def at(runs: Runs, state: State) -> list[Any]:
    """The term that is true in this state alone."""
    parts: list[Any] = []
    for name, value in zip(runs.names, state, strict=True):
        if type(value) is bool:
            parts.append(["name", name] if value else ["not", ["name", name]])
        else:
            parts.append(["=", ["name", name], int(value)])
    return ["and", *parts]


def edge(runs: Runs, source: State, target: State) -> dict[str, Any]:
    """A step that the environment may always make from one state to another."""
    values = [v if type(v) is bool else int(v) for v in target]
    outcome = [[name, value] for name, value in zip(runs.names, values, strict=True)]
    return {
        "action": None,
        "guard": at(runs, source),
        "chosen": [],
        "assuming": True,
        "outcomes": [outcome],
    }


def _out(runs: Runs, source: State) -> dict[str, Any]:
    """A step out of the range of a number."""
    made = edge(runs, source, source)
    places = [i for i, v in enumerate(source) if type(v) is not bool]
    if places:
        made["outcomes"][0][places[0]][1] = int(runs.ranges[places[0]][-1]) + 1
    return made
