"""Whether the trace of a violation is a run of the oracle's graph, and violates the question."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

from tests.laws.oracle.graph import Graph
from tests.laws.oracle.meaning import Meaning, State
from tests.laws.oracle.questions import AboutRuns
from tests.laws.oracle.terms import UndefinedError, Value, number


def read_value(said: Any) -> Value:
    if isinstance(said, list):
        return tuple(map(read_value, said))
    if isinstance(said, bool):
        return said
    if isinstance(said, dict):
        return number(Fraction(float.fromhex(said["hex"])))
    above, _, below = said.partition("/")
    return number(Fraction(above) / Fraction(below or 1))


def read_state(meaning: Meaning, said: dict[str, Any]) -> State:
    values = [read_value(said[name]) for name in meaning.names]
    places = [int(said.get(f"@{c.name}", "0")) for c in meaning.model.components]
    return (*values, *places)


def object_to(meaning: Meaning, graph: Graph, question: AboutRuns, trace: dict[str, Any]) -> str:
    """What is wrong with a trace; empty if nothing is."""
    states = [read_state(meaning, said) for said in trace["states"]]
    if states[0] not in [s for s, _ in graph.starts]:
        return "the trace does not begin in a start"
    possible = [{n for _, n in graph.places[states[0]]}]
    for before, after in pairwise(states):
        reached = {
            m
            for n in possible[-1]
            for m in graph.nodes[n].successors() | graph.nodes[n].beside
            if graph.nodes[m].state == after
        }
        if not reached:
            return f"there is no step from {before} to {after}"
        possible.append(reached)
    if question.kind in ("never", "always"):
        bad = question.condition if question.kind == "never" else ("not", question.condition)
        if not any(holds(graph, bad, n) for n in possible[-1]):
            return "the last state is not bad"
        return "" if question.steps is None or len(states) <= question.steps + 1 else "the trace is too long"
    loop, last = trace["loop"], len(states) - 1
    if question.kind == "within":
        looked_at = range(question.after, last + 1)
        complete = last == question.steps or any(graph.nodes[n].status == "end" for n in possible[-1])
    else:
        first = 0 if question.kind == "eventually" else last if loop is None else loop
        looked_at = range(first, last + 1)
        complete = (
            any(graph.nodes[n].status == "end" for n in possible[-1])
            if loop is None
            else states[loop] == states[-1]
        )
    if not complete and "recurrence" not in trace:
        return "the trace neither ends nor returns"
    if any(all(holds(graph, question.condition, n) for n in possible[i]) for i in looked_at):
        return "a state that should not be good is"
    return ""


def holds(graph: Graph, term: Any, node: int) -> bool:
    try:
        return graph.holds(term, node)
    except UndefinedError:
        return False
