"""Abstract paths made concrete, or told to be spurious and why (after Vinzent, Sharma, Hoffmann, AAAI 2023).

A start is looked for from which the steps of the path are possible as far as the policy does not matter. From
there the run is followed exactly. Where it cannot go on there is a dead end, and a point that was found for
the abstract step: a guard, the update or the policy tells the two apart, and so does the new predicate. For
the policy it is a bound of one variable, at the place where the policy changes its mind on the way from one
point to the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import floor

from surefoot.engines.predicates.graph import state_from_scalars
from surefoot.engines.predicates.separating_predicate import (
    scalar_bound,
    state_comparisons,
    weakest_precondition,
)
from surefoot.engines.predicates.symbolic.conditions import condition_to_cubes
from surefoot.engines.predicates.symbolic.cubes import (
    EVERYTHING,
    Cube,
    Point,
    atoms_of,
    bound_linear_form,
    compose_linear,
    cube_precondition,
    fraction_bounds,
    integer_names,
    intersect_cubes,
    meet_cube_sets,
    names_in_formula,
    satisfies_cube,
)
from surefoot.engines.predicates.symbolic.expansion import AbstractKey, Expansion
from surefoot.engines.predicates.symbolic.search import AbstractReach, SymbolicSearch, UnsafeGoal
from surefoot.engines.predicates.symbolic.transition_cubes import (
    TransitionCube,
    compared_quantity,
    normalise_comparison,
    successor_point,
)
from surefoot.problem.semantics import Move, State
from surefoot.reductions.scalar_layout import invert_value
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.interval import Kinds
from surefoot.term.linear import LinearForm, term_from_linear, variable_form
from surefoot.term.term import Term
from surefoot.term.value_types import Bool
from surefoot.verdict.verdict import Reason, Refused, Trace

POINTS = 32  # on the way from one point to another
REPEATED = 3  # so many preconditions that compare the same quantity, then halving
MOST_COMPARED = 8  # comparisons of the property that are predicates as soon as one of them is


@dataclass(frozen=True, slots=True)
class ConcreteRun:
    """A run along the whole path: points (state and what is chosen in it), ways, and what it comes to."""

    points: tuple[Point, ...]
    ways: tuple[TransitionCube, ...]
    goal: UnsafeGoal


@dataclass(frozen=True, slots=True)
class Spurious:
    """Why the path cannot be run, and the predicate over scalars against it."""

    why: str
    condition: Term


def concretise_path(
    search: SymbolicSearch, reached: AbstractReach, key: AbstractKey
) -> ConcreteRun | Spurious | Refused:
    """A run along the path to an unsafe abstract state, a predicate against it, or why there is neither."""
    keys, numbers = reached.path(key)
    goal, unsafe = reached.unsafe[key]
    taken = [search.expansion.ways[n] for n in numbers]
    point = _path_start(search, keys, taken, goal)
    if point is None:
        return Refused(Reason.INCOMPLETE, "no start was found for an abstract path")
    points: list[Point] = []
    for place, way in enumerate(taken):
        going = _concrete_step(search.expansion, point, way, keys[place + 1])
        if going is None:
            witness = _step_witness(search.expansion, keys[place], numbers[place], keys[place + 1])
            if witness is None:
                return Refused(Reason.INCOMPLETE, "an abstract step could not be decided")
            return _halve_if_repeated(
                search, keys, _refinement_predicate(search, point, witness, way, keys[place + 1])
            )
        points.append(going)
        point = {**going, **successor_point(going, way)}
    if not _can_satisfy(search.expansion, point, goal.cube):
        if unsafe is None:
            return Refused(Reason.INCOMPLETE, "an abstract state could not be decided")
        about = [*search.dynamics.bad_conditions, *search.dynamics.trouble_conditions]
        return _separating_predicate(search, "unsafe", point, unsafe, about, goal.cube)
    return ConcreteRun((*points, point), tuple(taken), goal)


def _path_start(
    search: SymbolicSearch, keys: Sequence[AbstractKey], taken: Sequence[TransitionCube], goal: UnsafeGoal
) -> Point | None:
    """A start from which the path is possible as far as possible, whatever the policy does."""
    expansion = search.expansion
    ladder = list(_enumerate_path_demands(expansion, keys, taken, goal, search.starts is None))
    if search.starts is not None:
        able = [p for p in search.starts if expansion.key(p) == keys[0]]
        full = [{**{n: _lowest_value(expansion, n) for n in expansion.space.names}, **p} for p in able]
        best = max(full, key=lambda p: sum(_is_in_cubes(p, cubes) for cubes in ladder), default=None)
        return best
    first = _initial_cubes(search, keys[0])
    chains = [first]
    for demanded in ladder:
        chains.append(meet_cube_sets(chains[-1], demanded, expansion.kinds))
    asked = [(n, c) for n, several in enumerate(chains) for c in several]
    replies = expansion.space.ask("path", [c for _, c in asked], natively=True)
    found = [(n, r.point) for (n, _), r in zip(asked, replies, strict=True) if r.point is not None]
    return max(found, key=lambda f: f[0])[1] if found else None


def _initial_cubes(search: SymbolicSearch, key: AbstractKey) -> list[Cube]:
    expansion = search.expansion
    starts = [w.cube for w in expansion.ways[expansion.moves :]]
    return meet_cube_sets(expansion.cubes(key), starts, expansion.kinds)


def _enumerate_path_demands(
    expansion: Expansion,
    keys: Sequence[AbstractKey],
    taken: Sequence[TransitionCube],
    goal: UnsafeGoal,
    outputs: bool,
) -> Iterator[list[Cube]]:
    """What each step, and at last the goal, demands of the first state; values are chosen once for all.

    `outputs`: what the network says counts in the first state. In later ones the policy does what it likes.
    """
    after: dict[str, LinearForm] = {n: variable_form(n) for n in expansion.kinds}
    for place, way in enumerate(taken):
        first = outputs and not place
        here = meet_cube_sets(
            [way.cube if first else way.guard], expansion.cubes(keys[place]), expansion.kinds
        )
        yield here if first else _pull_back_cubes(here, after, expansion)
        after = {**after, **{n: compose_linear(v, after) for n, v in way.after.items()}}
    last = meet_cube_sets([goal.cube], expansion.cubes(keys[-1]), expansion.kinds)
    yield last if outputs and not taken else _pull_back_cubes(last, after, expansion)


def _pull_back_cubes(cubes: Sequence[Cube], after: dict[str, LinearForm], expansion: Expansion) -> list[Cube]:
    """Cubes over a later state as cubes over the first one; outputs of the network do not count."""
    found = []
    outputs = set(expansion.space.outputs)
    for cube in cubes:
        plain = [a for a in atoms_of(cube) if not outputs & names_in_formula(a)]
        rows = Cube({}, tuple(plain))
        if (made := cube_precondition(rows, after, expansion.kinds)) is not None:
            found.append(made)
    return found


def _lowest_value(expansion: Expansion, name: str) -> Fraction:
    low, _ = fraction_bounds(name, Cube({}, ()), expansion.kinds)
    return Fraction(0) if low is None else low


def _is_in_cubes(point: Point, cubes: Sequence[Cube]) -> bool:
    return any(satisfies_cube(point, c) for c in cubes)


def _state_cube(expansion: Expansion, point: Point) -> Cube:
    """The state of a point, whatever is chosen in it."""
    own = [n for n in expansion.space.names if n in expansion.scalars]
    return Cube({n: (point[n], point[n]) for n in own}, ())


def _concrete_step(
    expansion: Expansion, point: Point, way: TransitionCube, target: AbstractKey
) -> Point | None:
    """The point with values chosen so that the way leads to an abstract state; None if it does not."""
    here = meet_cube_sets([_state_cube(expansion, point)], [way.cube], expansion.kinds)
    there = [
        c
        for t in expansion.cubes(target)
        if (c := cube_precondition(t, way.after, expansion.kinds)) is not None
    ]
    replies = expansion.space.ask("run", meet_cube_sets(here, there, expansion.kinds), natively=True)
    return next((r.point for r in replies if r.point is not None), None)


def _can_satisfy(expansion: Expansion, point: Point, cube: Cube) -> bool:
    both = intersect_cubes(_state_cube(expansion, point), cube, expansion.kinds)
    return both is not None and expansion.space.ask("run", [both], natively=True)[0].point is not None


def _step_witness(expansion: Expansion, source: AbstractKey, way: int, target: AbstractKey) -> Point | None:
    several = expansion.witnesses.get((source, way), ())
    return next((w.point for w in several if w.target == target), None)


def _refinement_predicate(
    search: SymbolicSearch, stuck: Point, going: Point, way: TransitionCube, target: AbstractKey
) -> Spurious | Refused:
    """The first reason that applies: the guard, where the step leads, what the policy picks."""
    expansion, dynamics = search.expansion, search.dynamics
    step = dynamics.steps[way.step]
    fixed = _state_cube(expansion, stuck)
    if not expansion.space.index.settle_all(meet_cube_sets([fixed], [way.guard], expansion.kinds)):
        return _separating_predicate(search, "guard", stuck, going, [step.guard, *step.after.values()])
    after = {**stuck, **successor_point(stuck, way)}
    wrong = [p for p, bit in zip(expansion.predicates, target.bits, strict=True) if p.at(after) != bit]
    if wrong:
        terms = [weakest_precondition(p.condition, step.after) for p in wrong]
        return _separating_predicate(search, "transition", stuck, going, terms)
    return _policy_boundary(search, "policy", stuck, going, way.cube)


def _separating_predicate(
    search: SymbolicSearch,
    why: str,
    first: Point,
    second: Point,
    terms: Sequence[Term],
    said: Cube = EVERYTHING,
) -> Spurious | Refused:
    """A comparison that has another value in the two states, or a bound between them.

    `said`: what is demanded of the second state, by the network too, and perhaps not met in the first. A
    comparison that follows from it is taken before others, in which the states only happen to differ.
    """
    dynamics, differing = search.dynamics, list[tuple[Term, Term]]()  # the latter holds in the second
    for candidate in state_comparisons(dynamics, terms):
        try:
            values = [evaluate_term(candidate, _state_values(search, p)) for p in (first, second)]
        except Undefined:
            continue
        if values[0] != values[1]:
            differing.append((candidate, candidate if values[1] else ~candidate))
    if not differing:
        return _policy_boundary(search, why, first, second, said)
    follows = (c for c, held in differing if said != EVERYTHING and _is_implied(held, said, dynamics.kinds))
    return Spurious(why, normalise_comparison(dynamics, next(follows, differing[0][0])))


def _is_implied(condition: Term, said: Cube, kinds: Kinds) -> bool:
    """Does the cube, as far as its bounds tell, lie where the condition holds?"""
    return not meet_cube_sets(condition_to_cubes(~condition, kinds), [said], kinds)


def _halve_if_repeated(
    search: SymbolicSearch, keys: Sequence[AbstractKey], found: Spurious | Refused
) -> Spurious | Refused:
    """Preconditions of preconditions can go on for ever, each one step away from the last.

    After a few of them that compare the same quantity, the abstract state of the path in which it varies most
    is divided in the middle instead: the last one of these.
    """
    expansion, dynamics = search.expansion, search.dynamics
    if isinstance(found, Refused) or found.why == "policy":
        return found
    compares = compared_quantity(dynamics, found.condition)
    same = [p for p in expansion.predicates if compared_quantity(dynamics, p.condition) == compares]
    if compares is None or len(same) < REPEATED:
        return found
    widest, middle = Fraction(0), Fraction(0)
    for key in keys[:-1]:
        spans = [bound_linear_form(compares, cube, expansion.kinds) for cube in expansion.cubes(key)]
        low, high = min(s[0] for s in spans if s[0] is not None), max(s[1] for s in spans if s[1] is not None)
        if high - low >= widest:
            widest, middle = high - low, (low + high) / 2
    if {n for n, _ in compares.coefficients} <= integer_names(expansion.kinds):
        middle = Fraction(floor(middle))
    condition = term_from_linear(compares) <= middle.limit_denominator(1000)
    if widest < 1 or any(p.condition == condition for p in expansion.predicates):
        return found
    return Spurious(found.why, condition)


def property_comparisons(search: SymbolicSearch) -> list[Term]:
    """The comparisons of the property, over scalars; none if there are many."""
    parts = state_comparisons(search.dynamics, search.dynamics.bad_conditions)
    return [normalise_comparison(search.dynamics, c) for c in parts] if len(parts) <= MOST_COMPARED else []


def _state_values(search: SymbolicSearch, point: Point) -> dict[str, object]:
    """A state as the reference semantics has it."""
    kinds, whole = search.dynamics.layout.kinds, integer_names(search.dynamics.kinds)
    return {
        n: bool(point[n]) if isinstance(kinds[n], Bool) else int(point[n]) if n in whole else point[n]
        for n in search.dynamics.scalars
    }


def _bound_between(search: SymbolicSearch, why: str, first: Point, second: Point) -> Spurious | Refused:
    """A bound between two states, of the variable in which they differ most for its range."""
    names = [n for n in search.dynamics.scalars if first[n] != second[n]]
    if not names:
        return Refused(Reason.INCOMPLETE, "two points cannot be told apart")
    name = max(names, key=lambda n: abs(first[n] - second[n]) / _range_width(search.expansion, n))
    return _bound_predicate(search, why, name, (first[name] + second[name]) / 2)


def _range_width(expansion: Expansion, name: str) -> Fraction:
    low, high = fraction_bounds(name, Cube({}, ()), expansion.kinds)
    return max(Fraction(1, 10**6), (high or Fraction(0)) - (low or Fraction(0)))


def _bound_predicate(search: SymbolicSearch, why: str, name: str, value: Fraction) -> Spurious:
    whole = name in integer_names(search.dynamics.kinds)
    near = Fraction(floor(value)) if whole else value.limit_denominator(1000)
    return Spurious(why, scalar_bound(name, search.dynamics.layout.kinds[name], near))


def _policy_boundary(
    search: SymbolicSearch, why: str, stuck: Point, going: Point, said: Cube
) -> Spurious | Refused:
    """Change one variable after the other into that of the other point until the network says so too."""
    expansion, names = search.expansion, search.dynamics.scalars
    if not expansion.space.mentions_outputs(said):
        return _bound_between(search, why, stuck, going)
    order = sorted(
        (n for n in names if stuck[n] != going[n]),
        key=lambda n: -abs(stuck[n] - going[n]) / _range_width(expansion, n),
    )
    corners: list[dict[str, Fraction]] = [dict(stuck)]
    for name in order:
        corners.append({**corners[-1], name: going[name]})
    picks = _network_may_satisfy(expansion, corners, said)
    turn = next((n for n, picked in enumerate(picks) if picked), None)
    if turn is None or turn == 0:
        return _bound_between(search, why, stuck, going)
    name, low, high = order[turn - 1], corners[turn - 1][order[turn - 1]], going[order[turn - 1]]
    whole = integer_names(expansion.kinds)
    while abs(high - low) > 1:
        share = Fraction(1, POINTS)
        steps = [low + (high - low) * i * share for i in range(1, POINTS)]
        if name in whole:
            steps = sorted({Fraction(floor(s)) for s in steps} - {low, high}, reverse=high < low)
        if not steps:
            break
        picks = _network_may_satisfy(expansion, [{**corners[turn], name: s} for s in steps], said)
        first = next((i for i, picked in enumerate(picks) if picked), len(steps))
        low, high = steps[first - 1] if first else low, steps[first] if first < len(steps) else high
        if name not in whole:
            break
    return _bound_predicate(search, why, name, min(low, high) if name in whole else (low + high) / 2)


def _network_may_satisfy(
    expansion: Expansion, points: Sequence[dict[str, Fraction]], said: Cube
) -> list[bool]:
    """Whether the network may say what the comparisons of its outputs demand, point by point."""
    outputs = set(expansion.space.outputs)
    rows = tuple(a for a in said.rows if outputs & names_in_formula(a))
    clauses = tuple(c for c in said.clauses if outputs & names_in_formula(c))
    cubes = [Cube(_state_cube(expansion, p).box, rows, clauses) for p in points]
    return [reply.possible for reply in expansion.space.ask("run", cubes)]


def as_trace(search: SymbolicSearch, run: ConcreteRun) -> Trace:
    """The run as the reference semantics has it; whether it is one is decided elsewhere."""
    dynamics = search.dynamics
    states: list[State] = []
    moves: list[Move] = []
    for place, point in enumerate(run.points):
        states.append(state_from_scalars(dynamics, point))
        if place < len(run.ways):
            leap = dynamics.steps[run.ways[place].step].leap
            chosen = {n: invert_value(k, t, point) for n, k, t in leap.chosen}
            moves.append(Move(leap.transition, leap.outcomes, chosen))
    return Trace(tuple(states), tuple(moves))
