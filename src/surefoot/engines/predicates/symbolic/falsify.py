"""Runs of the reference semantics from some starts: a violation that is easy to find needs no abstraction."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import islice
from random import Random

from surefoot.engines.predicates.graph import state_from_scalars
from surefoot.engines.predicates.symbolic.cubes import Cube, Point, finite_bounds, meet_cube_sets
from surefoot.engines.predicates.symbolic.search import SymbolicSearch
from surefoot.errors import SurefootError
from surefoot.problem.environment import Choice, Law
from surefoot.problem.meaning.simulate import simulate_run
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import Move, State, holds_in_state, is_initial
from surefoot.term.value_types import Bool, Int, Real
from surefoot.verdict.verdict import Trace
from surefoot.work.budget import Budget

LENGTHS = ((8, 50), (4, 400))  # so many runs of so many steps
RUNS = 8
STEPS = 50  # made before time is looked at


def falsify_by_simulation(search: SymbolicSearch, budget: Budget, seconds: float) -> Trace | None:
    """A run to a bad state, if one is met within the time."""
    problem, rng = _with_laws(search.dynamics.problem), Random(budget.seed)
    assert isinstance(problem.property, Never)
    clock = Budget(min(seconds, budget.remaining()), budget.seed)
    starts = list(islice(some_starts(search, rng), RUNS))
    for count, length in LENGTHS:
        for start in starts[:count]:
            states: list[State] = [start]
            moves: list[Move] = []
            while len(moves) < length:
                if clock.is_spent():
                    return None
                try:
                    part = simulate_run(problem, states[-1], STEPS, rng)
                    bad = [holds_in_state(problem, s, problem.property.bad) for s in part.states]
                except SurefootError:  # an error of the model, or an assumption that is never met
                    break
                if True in bad:
                    place = bad.index(True)
                    made = (*moves, *part.moves[:place])
                    return Trace((*states[:-1], *part.states[: place + 1]), made)
                states = [*states[:-1], *part.states]
                moves = [*moves, *part.moves]
                if part.ending != "truncated":
                    break
    return None


def _with_laws(problem: Problem) -> Problem:
    """The same problem, in which values that are chosen freely are drawn between their bounds."""

    def add_law(choice: Choice) -> Choice:
        match choice.kind:
            case Int(int() as low, int() as high) if choice.law is None:
                return replace(choice, law=Law("integer", (Fraction(low), Fraction(high))))
            case Real(Fraction() | int() as low, Fraction() | int() as high) if choice.law is None:
                return replace(choice, law=Law("uniform", (Fraction(low), Fraction(high))))
            case Bool() if choice.law is None:
                return replace(choice, law=Law("uniform", ()))
            case _:
                return choice

    environment = problem.environment
    components = tuple(
        replace(c, edges=tuple(replace(e, chosen=tuple(map(add_law, e.chosen))) for e in c.edges))
        for c in environment.components
    )
    return replace(problem, environment=replace(environment, components=components))


def some_starts(search: SymbolicSearch, rng: Random) -> Iterator[State]:
    """Starts from the list, or corners of the start condition that satisfy it, and points in between."""
    dynamics, expansion = search.dynamics, search.expansion
    environment = dynamics.problem.environment
    if search.starts is not None:
        several = list(search.starts)
        rng.shuffle(several)
        yield from (state_from_scalars(dynamics, p) for p in several)
        return
    cubes = [w.cube for w in expansion.ways[expansion.moves :]]
    places = meet_cube_sets(cubes, [_initial_places(search, rng)], expansion.kinds)
    for _ in range(20 * RUNS):
        if not places:
            return
        state = state_from_scalars(dynamics, _random_corner(search, rng.choice(places), rng))
        try:
            if is_initial(environment, state):
                yield state
        except SurefootError:
            continue


def _initial_places(search: SymbolicSearch, rng: Random) -> Cube:
    """A location to start in for every component that has several."""
    components = search.dynamics.problem.environment.components
    several = [c for c in components if len(c.locations) > 1]
    places = [c.locations.index(rng.choice(c.initial)) for c in several]
    names = search.expansion.location_names
    return Cube({n: (p, p) for n, p in zip(names, places, strict=True)}, ())


def _random_corner(search: SymbolicSearch, cube: Cube, rng: Random) -> Point:
    """Each value at one of its two ends, or a whole number between them."""
    point = {}
    for name in search.expansion.space.names:
        low, high = finite_bounds(name, cube, search.expansion.kinds)
        between = low + rng.randint(0, max(0, int(high - low)))
        point[name] = rng.choice((low, high, between))
    return point
