"""The search through the reachable abstract states, wave by wave, until an unsafe one is met."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from surefoot.engines.predicates.dynamics import Dynamics, OutOfTime
from surefoot.engines.predicates.listed_starts import listed_starts
from surefoot.engines.predicates.symbolic.cubes import Cube, Point, bounds_to_rows, meet_cube_sets
from surefoot.engines.predicates.symbolic.expansion import AbstractKey, Expansion
from surefoot.engines.predicates.symbolic.external_solvers import SolversByTest, require_solver_support
from surefoot.engines.predicates.symbolic.step_queries import step_queries
from surefoot.engines.predicates.symbolic.transition_cubes import (
    ChoiceClauses,
    TransitionCube,
    few_cubes,
    step_cases,
    transition_cubes,
    unsafe_cubes,
)
from surefoot.errors import SurefootError
from surefoot.term.linear import variable_form
from surefoot.work.budget import Budget

MOST_STARTS = 2048  # alternatives of the start condition that are told apart; of more, clauses stay
AT_ONCE = 256  # abstract states of a wave that are expanded together


@dataclass(frozen=True, slots=True)
class UnsafeGoal:
    """Something that no run should come to; `bad`: a violation, else an error of the model."""

    cube: Cube
    bad: bool


@dataclass(slots=True)
class AbstractReach:
    """The abstract states so far: how each was met first, its distance, and all steps between them."""

    before: dict[AbstractKey, tuple[AbstractKey, int] | None] = field(default_factory=dict)
    distance: dict[AbstractKey, int] = field(default_factory=dict)
    edges: dict[tuple[AbstractKey, str, AbstractKey], None] = field(default_factory=dict)
    starts: list[AbstractKey] = field(default_factory=list)
    unsafe: dict[AbstractKey, tuple[UnsafeGoal, Point | None]] = field(default_factory=dict)
    complete: bool = False

    def path(self, goal: AbstractKey) -> tuple[list[AbstractKey], list[int]]:
        """The abstract states from a start to this one, and the ways between them."""
        keys, taken = [goal], []
        while (step := self.before[keys[-1]]) is not None:
            keys.append(step[0])
            taken.append(step[1])
        return keys[::-1], taken[::-1]


@dataclass(slots=True)
class SymbolicSearch:
    """A system whose abstraction is searched for a growing list of predicates."""

    dynamics: Dynamics
    expansion: Expansion
    goals: tuple[UnsafeGoal, ...]
    starts: list[Point] | None  # if they are a list
    met: list[tuple[UnsafeGoal, Point]] = field(default_factory=list)  # points that are unsafe
    safe: list[tuple[int, set[AbstractKey]]] = field(default_factory=list)  # per number of predicates

    def search_waves(self, budget: Budget, *, to_the_end: bool = False) -> AbstractReach:
        """All waves; the search stops behind the first one with an unsafe state, unless `to_the_end`."""
        found = AbstractReach()
        with suppress(OutOfTime):
            self._waves(found, budget, to_the_end)
        return found

    def _waves(self, found: AbstractReach, budget: Budget, to_the_end: bool) -> None:
        found.starts = self.abstract_starts()
        wave = list(found.starts)
        for key in wave:
            found.before[key], found.distance[key] = None, 0
        while wave and not budget.is_spent():
            self._judge(found, wave)
            if found.unsafe and not to_the_end:
                return
            sizes = f"{len(found.before)} abstract states, {len(self.expansion.predicates)} predicates"
            budget.progress(f"predicates: {sizes}")
            after: list[AbstractKey] = []
            reached: dict[tuple[AbstractKey, int], frozenset[AbstractKey]] = {}
            for first in range(0, len(wave), AT_ONCE):
                if budget.is_spent():  # what was expanded is known when the search begins again
                    return
                reached.update(self.expansion.expand(wave[first : first + AT_ONCE]))
            for (key, way), targets in reached.items():
                for target in sorted(targets):
                    found.edges[key, self.expansion.ways[way].label, target] = None
                    if target not in found.before:
                        found.before[target] = (key, way)
                        found.distance[target] = found.distance[key] + 1
                        after.append(target)
            wave = after
        found.complete = not wave and not budget.is_spent()

    def abstract_starts(self) -> list[AbstractKey]:
        """Where the abstraction begins."""
        expansion, components = self.expansion, self.dynamics.problem.environment.components
        if self.starts is not None:
            return list(dict.fromkeys(expansion.key(p) for p in self.starts))
        several = [
            [c.locations.index(place) for place in c.initial] for c in components if len(c.locations) > 1
        ]
        branches = [
            branch
            for places in product(*several)
            for way in range(expansion.moves, len(expansion.ways))
            if (branch := expansion.start(places, way)).cubes
        ]
        found = expansion.follow(branches)
        return list(dict.fromkeys(key for keys in found.values() for key in sorted(keys)))

    def has_starts(self) -> bool:
        """Is there a start at all? An abstract one says so only if a test has looked at it."""
        if self.starts is not None:
            return bool(self.starts)
        conditions = [way.guard for way in self.expansion.ways[self.expansion.moves :]]
        return any(reply.possible for reply in self.expansion.space.ask("start", conditions, natively=True))

    def _judge(self, found: AbstractReach, wave: Sequence[AbstractKey]) -> None:
        """Which abstract states of a wave contain an unsafe state."""
        expansion, count = self.expansion, len(self.expansion.predicates)
        known = {expansion.key(point): (goal, point) for goal, point in self.met}
        asked: list[tuple[AbstractKey, UnsafeGoal, Cube]] = []
        for key in wave:
            if key in known:
                found.unsafe[key] = known[key]
            elif not any(key.coarser(n) in keys for n, keys in self.safe):
                inside = expansion.cubes(key)
                asked += [
                    (key, g, c)
                    for g in self.goals
                    for c in meet_cube_sets(inside, (g.cube,), expansion.kinds)
                ]
        replies = expansion.space.ask("unsafe", [c for *_, c in asked], natively=True)
        for (key, goal, _), reply in zip(asked, replies, strict=True):
            if reply.possible and key not in found.unsafe:
                found.unsafe[key] = (goal, reply.point)
                if reply.point is not None:
                    self.met.append((goal, reply.point))
        if not self.safe or self.safe[-1][0] != count:
            self.safe.append((count, set()))
        self.safe[-1][1].update(key for key in wave if key not in found.unsafe)


def question_objection(
    dynamics: Dynamics, budget: Budget, answerers: SolversByTest | None = None
) -> str | None:
    """Why steps, starts or bad states cannot be asked about. What the policy picks is left for later."""
    try:
        asked = step_queries(dynamics, budget, answerers or SolversByTest())
        cases = step_cases(dynamics, budget)
        ways = [TransitionCube(c.step, "", c.guard, c.guard, c.after) for c in cases[:1]]
        require_solver_support(asked.about, asked.answerers, [way.cube for way in ways])
        if listed_starts(dynamics) is None:
            few_cubes(dynamics.initial, dynamics, frozenset(dynamics.kinds), budget, MOST_STARTS)
        for case in (*dynamics.bad, *dynamics.trouble):
            few_cubes(case.about, dynamics, frozenset(dynamics.outputs), budget)
    except SurefootError as error:
        return str(error)
    return None


def symbolic_search(
    dynamics: Dynamics,
    tests: frozenset[str],
    budget: Budget,
    answerers: SolversByTest | None = None,
    leaves: bool = False,
) -> SymbolicSearch:
    """`Unsupported` says what cannot be asked; `OutOfTime`: it takes too long to put into questions."""
    kinds = dynamics.kinds
    asked = step_queries(dynamics, budget, answerers or SolversByTest())
    choices = ChoiceClauses(asked.index, frozenset(dynamics.outputs))
    made = transition_cubes(dynamics, step_cases(dynamics, budget), choices, budget)
    rows = listed_starts(dynamics)
    starts: list[Point] | None = None
    extra: tuple[TransitionCube, ...] = ()
    if rows is None:
        same = {n: variable_form(n) for n in dynamics.scalars}
        extra = tuple(
            TransitionCube(-1, "start", c, c, same)
            for c in few_cubes(dynamics.initial, dynamics, frozenset(kinds), budget, MOST_STARTS)
        )
    else:
        starts = [
            {n: Fraction(int(v)) for n, v in zip(dynamics.scalars, row, strict=True)} for row in rows.tolist()
        ]
    names = tuple(n for n in dynamics.scalars if n.startswith("@"))
    require_solver_support(asked.about, asked.answerers, [way.cube for way in made[:1]])
    own = frozenset(dynamics.scalars)
    expansion = Expansion(asked, kinds, (*made, *extra), len(made), own, names, tests, leaves)
    goals = [(c, True) for c in unsafe_cubes(dynamics.bad, dynamics, choices, budget)]
    goals += [(c, False) for c in unsafe_cubes(dynamics.trouble, dynamics, choices, budget)]
    about = tuple(UnsafeGoal(bounds_to_rows(cube, dynamics.outputs), bad) for cube, bad in goals)
    return SymbolicSearch(dynamics, expansion, about, starts)
