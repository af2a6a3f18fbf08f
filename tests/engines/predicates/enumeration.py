"""The policy predicate abstraction by definition: every state of the ranges is looked at by the reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from surefoot.problem.problem import Problem
from surefoot.problem.semantics import (
    Move,
    NotAStep,
    State,
    apply_move,
    free_choices,
    holds_in_state,
    is_initial,
    permitted_transitions,
)
from surefoot.term.reserved_names import location_key
from surefoot.term.term import Term
from surefoot.term.value_types import Bool, Int

Cell = tuple[tuple[int, ...], tuple[bool, ...]]


def states(problem: Problem) -> list[State]:
    environment = problem.environment
    names, domains = [], []
    for variable in environment.variables:
        names.append(variable.name)
        match variable.kind:
            case Bool():
                domains.append([False, True])
            case Int(int() as low, int() as high):
                domains.append(list(range(low, high + 1)))
    for component in environment.components:
        if len(component.locations) > 1:
            names.append(location_key(component.name))
            domains.append(list(range(len(component.locations))))
    return [dict(zip(names, values, strict=True)) for values in product(*domains)]


def cell(problem: Problem, predicates: Sequence[Term], state: State) -> Cell:
    places = tuple(v for n, v in state.items() if n.startswith("@"))
    return places, tuple(holds_in_state(problem, state, p) for p in predicates)


def steps(problem: Problem, state: State) -> Iterator[tuple[str, State]]:
    """Every step; `Undefined` where one has no value."""
    environment = problem.environment
    for transition in permitted_transitions(problem, state):
        label = transition.label or transition.describe(environment)
        edges = [environment.components[c].edges[e] for c, e in transition.edges]
        free = free_choices(environment, transition)
        for picked in product((0, 1), repeat=len(free)):
            chosen = {c.name: v for c, v in zip(free, picked, strict=True)}
            for outcomes in product(*(range(len(e.outcomes)) for e in edges)):
                try:
                    yield label, apply_move(problem, state, Move(transition, outcomes, chosen))
                except NotAStep:
                    continue  # an outcome of probability 0


def reachable(problem: Problem, predicates: Sequence[Term]) -> tuple[set[Cell], set[tuple[Cell, str, Cell]]]:
    """The abstract states that can be reached from the abstract starts, and their transitions."""
    edges: dict[Cell, set[tuple[str, Cell]]] = {}
    starts: set[Cell] = set()
    for state in states(problem):
        here = cell(problem, predicates, state)
        if is_initial(problem.environment, state):
            starts.add(here)
        for label, after in steps(problem, state):
            edges.setdefault(here, set()).add((label, cell(problem, predicates, after)))
    found, waiting = set(starts), list(starts)
    while waiting:
        for _, after in edges.get(waiting.pop(), ()):
            if after not in found:
                found.add(after)
                waiting.append(after)
    return found, {(s, label, t) for s in found for label, t in edges.get(s, ())}
