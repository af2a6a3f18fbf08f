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
from itertools import islice, product
from math import ceil, log2
from random import Random

import numpy as np

from surefoot.encode.leap import Leap
from surefoot.engines.predicates.asked.cubes import Cube, Point, in_rows
from surefoot.engines.predicates.asked.runs.attack import some_starts
from surefoot.engines.predicates.asked.search import Goal, Search
from surefoot.engines.predicates.graph import as_state
from surefoot.engines.predicates.moves import Dynamics, domain
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Array, Bool
from surefoot.problem.meaning.simulate import initial_states
from surefoot.problem.property import Never
from surefoot.problem.semantics import Move, State, holds, step, successors
from surefoot.query.formula import AnyOf, Atom, Formula, Relation
from surefoot.query.linear import constant, plus
from surefoot.solve.native.cells.points import apart
from surefoot.verdict.verdict import Trace
from surefoot.work.budget import Budget

MOST_STATES = 100_000  # that are remembered
SOME_STARTS = 64  # where not all can be listed
LEAST = Fraction(1, 2**30)  # where rounding changes nothing
TIMES = 4  # a margin is so many times what rounding may change


@dataclass(frozen=True, slots=True)
class Looked:
    """What the reference comes to: a run to a bad state, or how many states, and whether these are all."""

    run: Trace | None
    states: int
    all_of_them: bool


def explored(search: Search, budget: Budget, seconds: float) -> Looked:
    """States that the reference reaches, nearest first, until one is bad or time is up."""
    problem = search.dynamics.problem
    assert isinstance(problem.property, Never)
    clock = Budget(min(seconds, budget.remaining()), budget.seed)
    starts, complete = _starts(search, budget.seed)
    before: dict[Hashable, tuple[Hashable, Move] | None] = {}
    known: dict[Hashable, State] = {}
    waiting: deque[Hashable] = deque()

    def met(state: State, how: tuple[Hashable, Move] | None) -> None:
        name = tuple(state.values())
        if name not in before:
            before[name], known[name] = how, state
            waiting.append(name)

    for state in starts:
        met(state, None)
    while waiting:
        if clock.spent() or len(before) > MOST_STATES:
            return Looked(None, len(before), False)
        name = waiting.popleft()
        with suppress(InvalidProblem):
            if holds(problem, known[name], problem.property.bad):
                return Looked(_trace(name, before, known), len(before), complete)
        try:
            for move, after in _moves(search.dynamics, known[name]):
                met({n: after[n] for n in known[name]}, (name, move))
        except Unsupported:
            complete = False
    return Looked(None, len(before), complete)


def _starts(search: Search, seed: int) -> tuple[list[State], bool]:
    """The starts, and whether these are all."""
    dynamics = search.dynamics
    if search.starts is not None:
        return [as_state(dynamics, p) for p in search.starts], True
    with suppress(Unsupported):
        return list(initial_states(dynamics.problem.environment, MOST_STATES)), True
    return list(islice(some_starts(search, Random(seed)), SOME_STARTS)), False


def _moves(dynamics: Dynamics, state: State) -> Iterator[tuple[Move, State]]:
    """Every step of the reference; one that is an error of the model is left out."""
    problem = dynamics.problem
    try:
        yield from [(s.move, s.state) for s in successors(problem, state)]
    except InvalidProblem:
        for leap in {(s.leap.transition, s.leap.outcomes): s.leap for s in dynamics.steps}.values():
            for chosen in _chosen(leap):
                move = Move(leap.transition, leap.outcomes, chosen)
                with suppress(InvalidProblem):
                    yield move, step(problem, state, move)


def _chosen(leap: Leap) -> Iterator[dict[str, bool | int]]:
    """All values that the environment may choose."""
    spans = [None if isinstance(kind, Array) else domain(kind) for _, kind, _ in leap.chosen]
    if None in spans:
        raise Unsupported("values are chosen among infinitely many")
    for values in product(*(s for s in spans if s is not None)):
        yield {
            name: bool(v) if isinstance(kind, Bool) else v
            for (name, kind, _), v in zip(leap.chosen, values, strict=True)
        }


def _trace(
    last: Hashable, before: Mapping[Hashable, tuple[Hashable, Move] | None], known: Mapping[Hashable, State]
) -> Trace:
    states, moves = [known[last]], []
    while (how := before[last]) is not None:
        last = how[0]
        states.append(known[last])
        moves.append(how[1])
    return Trace(tuple(states[::-1]), tuple(moves[::-1]))


def margin_at(search: Search, points: Sequence[Point]) -> Fraction:
    """Some times what rounding may change in an output at these points: a power of two."""
    space = search.expansion.space
    values = np.array([[float(p[n]) for n in space.names] for p in points])
    _, radius = apart(space.network, values, True)
    most = TIMES * float(np.where(np.isfinite(radius), radius, 1.0).max(initial=0.0))
    return Fraction(2) ** ceil(log2(most)) if most > 0 else LEAST


def beyond(search: Search, margin: Fraction) -> Search:
    """The same search for runs to bad states in which comparisons of outputs hold by a margin.

    What was impossible or safe without it still is.
    """
    old = search.expansion
    outputs = frozenset(old.space.outputs)
    ways = tuple(replace(w, cube=_apart(w.cube, outputs, margin)) for w in old.ways)
    earlier = [*old.earlier, (len(old.predicates), old.known)]
    new = replace(old, ways=ways, witnesses={}, known={}, earlier=earlier)
    goals = tuple(Goal(_apart(g.cube, outputs, margin), True) for g in search.goals if g.bad)
    return Search(search.dynamics, new, goals, search.starts, [], list(search.safe))


def _apart(cube: Cube, outputs: frozenset[str], margin: Fraction) -> Cube:
    found = in_rows(cube, outputs)
    rows = tuple(_by_margin(row, outputs, margin) for row in found.rows)
    clauses = (tuple(_shifted(p, outputs, margin) for p in c.parts) for c in found.clauses)
    return Cube(found.box, rows, tuple(map(AnyOf, clauses)))


def _shifted(condition: Formula, outputs: frozenset[str], margin: Fraction) -> Formula:
    if isinstance(condition, Atom):
        return _by_margin(condition, outputs, margin)
    return replace(condition, parts=tuple(_shifted(p, outputs, margin) for p in condition.parts))


def _by_margin(row: Atom, outputs: frozenset[str], margin: Fraction) -> Atom:
    """The comparison, by a margin; what demands equality stays as it is."""
    weight = sum((abs(c) for n, c in row.linear.coefficients if n in outputs), Fraction(0))
    if not weight or row.relation is Relation.EQ:
        return row
    return Atom(plus(row.linear, constant(weight * margin)), row.relation)
