"""The search through the reachable abstract states, wave by wave, until an unsafe one is met."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product

from surefoot.engines.predicates.asked.conditions import cubes
from surefoot.engines.predicates.asked.cubes import Cube, Point, in_rows, meet
from surefoot.engines.predicates.asked.expansion import Expansion, Key
from surefoot.engines.predicates.asked.foreign import Answerers, refusal
from surefoot.engines.predicates.asked.space import space
from surefoot.engines.predicates.asked.ways import Way, alternatives, ways
from surefoot.engines.predicates.listed import listed
from surefoot.engines.predicates.moves import Dynamics
from surefoot.engines.predicates.tabulated.table import OutOfTime
from surefoot.query.linear import variable
from surefoot.work.budget import Budget


@dataclass(frozen=True, slots=True)
class Goal:
    """Something that no run should come to; `bad`: a violation, else an error of the model."""

    cube: Cube
    bad: bool


@dataclass(slots=True)
class Reached:
    """The abstract states so far: how each was met first, its distance, and all steps between them."""

    before: dict[Key, tuple[Key, int] | None] = field(default_factory=dict)
    distance: dict[Key, int] = field(default_factory=dict)
    edges: dict[tuple[Key, str, Key], None] = field(default_factory=dict)
    starts: list[Key] = field(default_factory=list)
    unsafe: dict[Key, tuple[Goal, Point | None]] = field(default_factory=dict)
    complete: bool = False

    def path(self, goal: Key) -> tuple[list[Key], list[int]]:
        """The abstract states from a start to this one, and the ways between them."""
        keys, taken = [goal], []
        while (step := self.before[keys[-1]]) is not None:
            keys.append(step[0])
            taken.append(step[1])
        return keys[::-1], taken[::-1]


@dataclass(slots=True)
class Search:
    """A system whose abstraction is searched for a growing list of predicates."""

    dynamics: Dynamics
    expansion: Expansion
    goals: tuple[Goal, ...]
    starts: list[Point] | None  # if they are a list
    met: list[tuple[Goal, Point]] = field(default_factory=list)  # points that are unsafe
    safe: list[tuple[int, set[Key]]] = field(default_factory=list)  # per number of predicates

    def run(self, budget: Budget, *, to_the_end: bool = False) -> Reached:
        """All waves; the search stops behind the first one with an unsafe state, unless `to_the_end`."""
        found = Reached()
        with suppress(OutOfTime):
            self._waves(found, budget, to_the_end)
        return found

    def _waves(self, found: Reached, budget: Budget, to_the_end: bool) -> None:
        found.starts = self.abstract_starts()
        wave = list(found.starts)
        for key in wave:
            found.before[key], found.distance[key] = None, 0
        while wave and not budget.spent():
            self._judge(found, wave)
            if found.unsafe and not to_the_end:
                return
            sizes = f"{len(found.before)} abstract states, {len(self.expansion.predicates)} predicates"
            budget.progress(f"predicates: {sizes}")
            after: list[Key] = []
            for (key, way), targets in self.expansion.expand(wave).items():
                for target in sorted(targets, key=lambda k: (k.places, k.bits)):
                    found.edges[key, self.expansion.ways[way].label, target] = None
                    if target not in found.before:
                        found.before[target] = (key, way)
                        found.distance[target] = found.distance[key] + 1
                        after.append(target)
            wave = after
        found.complete = not wave and not budget.spent()

    def abstract_starts(self) -> list[Key]:
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
        return list(dict.fromkeys(key for keys in found.values() for key in sorted(keys, key=_order)))

    def has_starts(self) -> bool:
        """Is there a start at all? An abstract one says so only if a test has looked at it."""
        if self.starts is not None:
            return bool(self.starts)
        conditions = [way.guard for way in self.expansion.ways[self.expansion.moves :]]
        return any(reply.possible for reply in self.expansion.space.ask("start", conditions, natively=True))

    def _judge(self, found: Reached, wave: Sequence[Key]) -> None:
        """Which abstract states of a wave contain an unsafe state."""
        expansion, count = self.expansion, len(self.expansion.predicates)
        known = {expansion.key(point): (goal, point) for goal, point in self.met}
        asked: list[tuple[Key, Goal, Cube]] = []
        for key in wave:
            if key in known:
                found.unsafe[key] = known[key]
            elif not any(key.coarser(n) in keys for n, keys in self.safe):
                inside = expansion.cubes(key)
                asked += [(key, g, c) for g in self.goals for c in meet(inside, (g.cube,), expansion.kinds)]
        replies = expansion.space.ask("unsafe", [c for *_, c in asked], natively=True)
        for (key, goal, _), reply in zip(asked, replies, strict=True):
            if reply.possible and key not in found.unsafe:
                found.unsafe[key] = (goal, reply.point)
                if reply.point is not None:
                    self.met.append((goal, reply.point))
        if not self.safe or self.safe[-1][0] != count:
            self.safe.append((count, set()))
        self.safe[-1][1].update(key for key in wave if key not in found.unsafe)


def _order(key: Key) -> tuple[tuple[int, ...], tuple[bool, ...]]:
    return key.places, key.bits


def begin(
    dynamics: Dynamics,
    tests: frozenset[str],
    budget: Budget,
    answerers: Answerers | None = None,
    leaves: bool = False,
) -> Search:
    """`Unsupported` says what cannot be asked; `OutOfTime`: it takes too long to put into questions."""
    kinds = dynamics.kinds
    made = ways(dynamics, budget)
    rows = listed(dynamics)
    starts: list[Point] | None = None
    extra: tuple[Way, ...] = ()
    if rows is None:
        same = {n: variable(n) for n in dynamics.scalars}
        extra = tuple(Way(-1, "start", c, c, same) for c in cubes(dynamics.initial, kinds, budget))
    else:
        starts = [
            {n: Fraction(int(v)) for n, v in zip(dynamics.scalars, row, strict=True)} for row in rows.tolist()
        ]
    names = tuple(n for n in dynamics.scalars if n.startswith("@"))
    asked = space(dynamics, budget, answerers or Answerers())
    refusal(asked.about, asked.answerers, [way.cube for way in made[:1]])
    own = frozenset(dynamics.scalars)
    expansion = Expansion(asked, kinds, (*made, *extra), len(made), own, names, tests, leaves)
    goals = [(c, True) for c in alternatives(dynamics.bad, dynamics, budget)]
    goals += [(c, False) for c in alternatives(dynamics.trouble, dynamics, budget)]
    about = tuple(Goal(in_rows(cube, dynamics.outputs), bad) for cube, bad in goals)
    return Search(dynamics, expansion, about, starts)
