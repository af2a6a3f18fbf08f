"""From the reachable part of a tabulated abstraction to the graph that is reported."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.predicates.dynamics import Dynamics, PolicyStep, scalar_domain
from surefoot.engines.predicates.enumerative.partition import Partition, ReachedCells, step_labels
from surefoot.engines.predicates.enumerative.table import StateTable
from surefoot.errors import InvalidProblem
from surefoot.problem.semantics import Move, State, apply_move
from surefoot.reductions.expand import ScalarTree
from surefoot.reductions.scalar_layout import state_kinds
from surefoot.reductions.transition_branch import TransitionBranch
from surefoot.term.reserved_names import location_key
from surefoot.term.term import Term, Var
from surefoot.term.value_types import Array, Bool, ValueType
from surefoot.verdict.artifact import AbstractGraph, AbstractState, QueryStatistics
from surefoot.verdict.verdict import Reason, Refused, Trace

Scalars = Mapping[str, int | Fraction]


def state_from_scalars(dynamics: Dynamics, scalars: Scalars) -> State:
    """A state of the reference semantics from its scalars, in which truth values are 0 and 1."""
    return dynamics.layout.invert(dynamics.problem.environment, scalars)


def states_from_numbers(table: StateTable, numbers: NDArray[np.int64]) -> list[State]:
    """The same for many states of a table."""
    dynamics, trees = table.dynamics, table.dynamics.layout.trees
    if not dynamics.scalars:
        return [{} for _ in numbers]
    places = np.unravel_index(numbers, tuple(map(len, table.ranges)))
    values = dict(zip(dynamics.scalars, places, strict=True))
    begin = {n: r.start for n, r in zip(dynamics.scalars, table.ranges, strict=True)}

    def column(kind: ValueType, tree: ScalarTree) -> list[Any]:
        if isinstance(kind, Array):
            assert isinstance(tree, tuple)
            parts = [column(kind.element, t) for t in tree]
            return list(zip(*parts, strict=True)) if parts else [()] * len(numbers)
        assert isinstance(tree, Var)
        found = values[tree.name]
        own: list[Any] = (found > 0 if isinstance(kind, Bool) else found + begin[tree.name]).tolist()
        return own

    kinds = dict(state_kinds(dynamics.problem.environment))
    columns = [column(kind, trees[name]) for name, kind in kinds.items()]
    return [dict(zip(kinds, row, strict=True)) for row in zip(*columns, strict=True)]


def abstract_state(
    dynamics: Dynamics,
    places: Sequence[int],
    values: Sequence[bool],
    witness: State | None,
    *,
    start: bool,
    unsafe: bool,
    distance: int,
) -> AbstractState:
    """`places`: the positions of the locations of those components that have several."""
    several = [c for c in dynamics.problem.environment.components if len(c.locations) > 1]
    named = tuple((c.name, c.locations[p]) for c, p in zip(several, places, strict=True))
    return AbstractState(named, tuple(values), start, unsafe, distance, witness)


def enumerative_graph(
    table: StateTable,
    given: Sequence[Term],
    parts: Partition,
    reached: ReachedCells,
    tests: Sequence[QueryStatistics],
) -> AbstractGraph:
    """All reachable abstract states, each with the first of its states as a witness."""
    dynamics = table.dynamics
    number = {cell: i for i, cell in enumerate(reached.states.tolist())}
    names, _ = step_labels(dynamics.steps)
    starts, unsafe = set(reached.starts.tolist()), set(reached.unsafe.tolist())
    members = parts.member[reached.states]
    bits = table.at(members, [dynamics.expand_predicate(p) for p in given]).T.tolist()
    several = [c for c in dynamics.problem.environment.components if len(c.locations) > 1]
    states = []
    for cell, witness, values in zip(number, states_from_numbers(table, members), bits, strict=True):
        states.append(
            abstract_state(
                dynamics,
                [witness[location_key(c.name)] for c in several],
                values,
                witness,
                start=cell in starts,
                unsafe=cell in unsafe,
                distance=reached.distance[cell],
            )
        )
    edges = tuple((number[s], names[label], number[t]) for s, label, t in reached.edges.tolist())
    return AbstractGraph(tuple(given), tuple(states), edges, "table", True, tuple(tests))


def trace_along(
    dynamics: Dynamics, states: Sequence[Scalars], taken: Sequence[PolicyStep]
) -> Trace | Refused:
    """The run through these states by these steps, or why the reference semantics does not make it."""
    run, moves = [state_from_scalars(dynamics, states[0])], []
    for number, made in enumerate(taken):
        wanted = state_from_scalars(dynamics, states[number + 1])
        found = _find_reference_move(dynamics, run[-1], made, wanted)
        if found is None:
            return Refused(
                Reason.NUMERICS, f"step {number} is only possible within the rounding error of the network"
            )
        moves.append(found)
        run.append(wanted)
    return Trace(tuple(run), tuple(moves))


def _find_reference_move(dynamics: Dynamics, state: State, made: PolicyStep, wanted: State) -> Move | None:
    """The move that leads to the next state, with the values that the environment has to choose for it."""
    for move in enumerate_moves(made.leap) or ():
        with suppress(InvalidProblem):
            if apply_move(dynamics.problem, state, move) == wanted:
                return move
    return None


def enumerate_moves(leap: TransitionBranch) -> Iterator[Move] | None:
    """The branch with all values that the environment may choose; None: there is no end of them."""
    spans = [None if isinstance(kind, Array) else scalar_domain(kind) for _, kind, _ in leap.chosen]
    if None in spans:
        return None
    names = [(name, isinstance(kind, Bool)) for name, kind, _ in leap.chosen]
    return (
        Move(
            leap.transition,
            leap.outcomes,
            {name: bool(v) if boolean else v for (name, boolean), v in zip(names, values, strict=True)},
        )
        for values in product(*(s for s in spans if s is not None))
    )
