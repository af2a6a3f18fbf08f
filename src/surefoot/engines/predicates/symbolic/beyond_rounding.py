"""What is looked for once a run to a bad state is there only within rounding of the network.

Such a run is no violation, and no proof is possible any more. Two ways to a run that the reference makes: all
states that the reference reaches, if they are few; and the abstraction without what is close, in which every
comparison of outputs that a step or a bad state needs has to hold by some margin.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import islice
from math import ceil, log2
from random import Random

import numpy as np

from surefoot.engines.predicates.dynamics import Dynamics
from surefoot.engines.predicates.graph import enumerate_moves, state_from_scalars
from surefoot.engines.predicates.symbolic.cubes import Cube, Point, bounds_to_rows
from surefoot.engines.predicates.symbolic.falsify import some_starts
from surefoot.engines.predicates.symbolic.search import SymbolicSearch, UnsafeGoal
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.property import Never
from surefoot.problem.semantics import Move, State, apply_move, enumerate_successors, holds_in_state
from surefoot.query.formula import AnyOf, Formula, LinearAtom, Relation
from surefoot.solvers.native.batch_queries.point_evaluation import evaluate_each_point
from surefoot.term.linear import add_forms, constant_form
from surefoot.verdict.verdict import Trace
from surefoot.work.budget import Budget

MOST_STATES = 100_000  # that are remembered
SOME_STARTS = 64  # where not all can be listed
LEAST = Fraction(1, 2**30)  # where rounding changes nothing
TIMES = 4  # a margin is so many times what rounding may change


@dataclass(frozen=True, slots=True)
class ReferenceExploration:
    """What the reference comes to: a run to a bad state, or how many states, and whether these are all."""

    run: Trace | None
    states: int
    all_of_them: bool


def explore_reference(search: SymbolicSearch, budget: Budget, seconds: float) -> ReferenceExploration:
    """States that the reference reaches, nearest first, until one is bad or time is up."""
    problem = search.dynamics.problem
    assert isinstance(problem.property, Never)
    clock = Budget(min(seconds, budget.remaining()), budget.seed)
    starts, complete = _reference_starts(search, budget.seed)
    before: dict[Hashable, tuple[Hashable, Move] | None] = {}
    known: dict[Hashable, State] = {}
    waiting: deque[Hashable] = deque()

    def enqueue(state: State, how: tuple[Hashable, Move] | None) -> None:
        name = tuple(state.values())
        if name not in before:
            before[name], known[name] = how, state
            waiting.append(name)

    for state in starts:
        enqueue(state, None)
    while waiting:
        if clock.is_spent() or len(before) > MOST_STATES:
            return ReferenceExploration(None, len(before), False)
        name = waiting.popleft()
        with suppress(InvalidProblem):
            if holds_in_state(problem, known[name], problem.property.bad):
                return ReferenceExploration(_trace_to_state(name, before, known), len(before), complete)
        try:
            for move, after in _reference_moves(search.dynamics, known[name]):
                enqueue({n: after[n] for n in known[name]}, (name, move))
        except Unsupported:
            complete = False
    return ReferenceExploration(None, len(before), complete)


def _reference_starts(search: SymbolicSearch, seed: int) -> tuple[list[State], bool]:
    """The starts, and whether these are all."""
    dynamics = search.dynamics
    if search.starts is not None:
        return [state_from_scalars(dynamics, p) for p in search.starts], True
    with suppress(Unsupported):
        return list(enumerate_initial_states(dynamics.problem.environment, MOST_STATES)), True
    return list(islice(some_starts(search, Random(seed)), SOME_STARTS)), False


def _reference_moves(dynamics: Dynamics, state: State) -> Iterator[tuple[Move, State]]:
    """Every step of the reference; one that is an error of the model is left out."""
    problem = dynamics.problem
    try:
        yield from [(s.move, s.state) for s in enumerate_successors(problem, state)]
    except InvalidProblem:
        for leap in {(s.leap.transition, s.leap.outcomes): s.leap for s in dynamics.steps}.values():
            moves = enumerate_moves(leap)
            if moves is None:
                raise Unsupported("values are chosen among infinitely many") from None
            for move in moves:
                with suppress(InvalidProblem):
                    yield move, apply_move(problem, state, move)


def _trace_to_state(
    last: Hashable, before: Mapping[Hashable, tuple[Hashable, Move] | None], known: Mapping[Hashable, State]
) -> Trace:
    states, moves = [known[last]], []
    while (how := before[last]) is not None:
        last = how[0]
        states.append(known[last])
        moves.append(how[1])
    return Trace(tuple(states[::-1]), tuple(moves[::-1]))


def margin_at(search: SymbolicSearch, points: Sequence[Point]) -> Fraction:
    """Some times what rounding may change in an output at these points: a power of two."""
    space = search.expansion.space
    values = np.array([[float(p[n]) for n in space.names] for p in points])
    _, radius = evaluate_each_point(space.network, values, True)
    most = TIMES * float(np.where(np.isfinite(radius), radius, 1.0).max(initial=0.0))
    return Fraction(2) ** ceil(log2(most)) if most > 0 else LEAST


def require_margin(search: SymbolicSearch, margin: Fraction) -> SymbolicSearch:
    """The same search for runs to bad states in which comparisons of outputs hold by a margin.

    What was impossible or safe without it still is.
    """
    old = search.expansion
    outputs = frozenset(old.space.outputs)
    ways = tuple(replace(w, cube=_shift_cube(w.cube, outputs, margin)) for w in old.ways)
    earlier = [*old.earlier, (len(old.predicates), old.known)]
    new = replace(old, ways=ways, witnesses={}, known={}, earlier=earlier)
    goals = tuple(UnsafeGoal(_shift_cube(g.cube, outputs, margin), True) for g in search.goals if g.bad)
    return SymbolicSearch(search.dynamics, new, goals, search.starts, [], list(search.safe))


def _shift_cube(cube: Cube, outputs: frozenset[str], margin: Fraction) -> Cube:
    found = bounds_to_rows(cube, outputs)
    rows = tuple(_by_margin(row, outputs, margin) for row in found.rows)
    clauses = (tuple(_shift_formula(p, outputs, margin) for p in c.parts) for c in found.clauses)
    return Cube(found.box, rows, tuple(map(AnyOf, clauses)))


def _shift_formula(condition: Formula, outputs: frozenset[str], margin: Fraction) -> Formula:
    if isinstance(condition, LinearAtom):
        return _by_margin(condition, outputs, margin)
    return replace(condition, parts=tuple(_shift_formula(p, outputs, margin) for p in condition.parts))


def _by_margin(row: LinearAtom, outputs: frozenset[str], margin: Fraction) -> LinearAtom:
    """The comparison, by a margin; what demands equality stays as it is."""
    weight = sum((abs(c) for n, c in row.linear.coefficients if n in outputs), Fraction(0))
    if not weight or row.relation is Relation.EQ:
        return row
    return LinearAtom(add_forms(row.linear, constant_form(weight * margin)), row.relation)
