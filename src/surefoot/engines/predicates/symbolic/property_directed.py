"""Property-directed invariants: IC3 (Bradley 2011), in the form PDR of Een, Mishchenko and Brayton (2011).

Frame F_i is a condition that holds of every state that is reached in at most i steps: the starts for F_0, and
for others a conjunction of clauses, each of which excludes a *region*. A bad state in the last frame is to be
excluded: if no step leads from F_{i-1}, outside the region, into it, it is ("relative induction"), after as
many of its bounds were dropped as can be; otherwise the state that was found before it is to be excluded one
frame earlier. When all is excluded clauses move to the next frame where they hold there too; when two frames
are the same, that is an inductive invariant. A state that cannot be excluded from the starts begins a run.

In the papers a region is a conjunction of Boolean literals, and a SAT solver answers. Here the literals are
bounds of *quantities*: the variables, the sums that the model compares, and those that no step changes, for
which linear relations are read off the updates (Karr 1976). Steps ask the network, by the queries of the
abstraction. A bound that cannot be dropped is moved outward as far as a few bisections go.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from heapq import heappop, heappush
from math import floor
from typing import TypeAlias

from surefoot.engines.predicates.separating_predicate import state_comparisons
from surefoot.engines.predicates.symbolic.conserved import conserved_quantities
from surefoot.engines.predicates.symbolic.cubes import (
    EVERYTHING,
    Cube,
    Point,
    bound_linear_form,
    compose_linear,
    cube_of,
    evaluate_linear_form,
    integer_names,
    intersect_cubes,
    meet_cube_sets,
)
from surefoot.engines.predicates.symbolic.search import SymbolicSearch, UnsafeGoal
from surefoot.engines.predicates.symbolic.spurious_paths import ConcreteRun
from surefoot.engines.predicates.symbolic.transition_cubes import compared_quantity
from surefoot.errors import SurefootError
from surefoot.query.formula import AnyOf, LinearAtom, Relation, sharpen_integer_atoms
from surefoot.term.linear import (
    LinearForm,
    add_forms,
    constant_form,
    scale_form,
    term_from_linear,
    variable_form,
)
from surefoot.term.reserved_names import location_key, location_name
from surefoot.term.term import FALSE, TRUE, Term, Var, conjunction_of, disjunction_of
from surefoot.term.value_types import Bool

BISECTIONS = 4  # of a bound that is moved outward
MOST_SUMS = 40  # quantities beside the variables
Bound: TypeAlias = tuple[int, bool]  # of a quantity: at most, or at least
Region: TypeAlias = Mapping[Bound, Fraction]
Turn: TypeAlias = Generator[None, None, "ConcreteRun | Term | None"]


class _Undecided(Exception):
    """A query was left open, so that nothing can be excluded by it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Excluded:
    """A region and the clause that says that a state is not in it."""

    region: Region
    clause: AnyOf


@dataclass(frozen=True, slots=True, eq=False)
class _Obligation:
    """States that must not be reached, and the step from them to the next ones."""

    region: Region
    point: Point
    way: int | None  # to the state of the obligation after it; None: it is bad
    after: _Obligation | None


@dataclass(slots=True)
class PropertyDirected:
    """Frames that grow; `search` gives the steps, starts and bad states."""

    search: SymbolicSearch
    quantities: tuple[LinearForm, ...] = field(init=False)
    whole: tuple[bool, ...] = field(init=False)
    frames: list[list[_Excluded]] = field(default_factory=lambda: [[], []])
    goals: dict[int, UnsafeGoal] = field(default_factory=dict)
    integers: frozenset[str] = field(init=False)
    composed: dict[tuple[int, int], LinearForm] = field(default_factory=dict)

    def __post_init__(self) -> None:
        dynamics, names = self.search.dynamics, integer_names(self.search.expansion.kinds)
        self.integers = names
        terms = [dynamics.initial, *dynamics.bad_conditions, *(s.guard for s in dynamics.steps)]
        compared = (compared_quantity(dynamics, c) for c in _linear_comparisons(self.search, terms))
        sums = [q for q in compared if q is not None and len(q.coefficients) > 1]
        ways = self.search.expansion.ways[: self.search.expansion.moves]
        places = self.search.expansion.location_names
        sums += conserved_quantities([n for n in dynamics.scalars if n not in places], ways)
        kinds = self.search.expansion.kinds
        no_sum = {n for n in dynamics.scalars if n in places or isinstance(kinds[n], Bool)}
        sums = [q for q in sums if no_sum.isdisjoint(n for n, _ in q.coefficients)]
        single = [variable_form(n) for n in dynamics.scalars]
        self.quantities = tuple(dict.fromkeys((*single, *dict.fromkeys(sums[:MOST_SUMS]))))
        self.whole = tuple(
            all(n in names and c.denominator == 1 for n, c in q.coefficients) for q in self.quantities
        )

    def turns(self) -> Turn:
        """To be continued as long as one likes: a run, an invariant, or None: it gives up."""
        try:
            if (bad := (yield from self._bad_state(0))) is not None:
                return self._concrete_run(bad)
            while True:
                last = len(self.frames) - 1
                while (bad := (yield from self._bad_state(last))) is not None:
                    met = yield from self._exclude(bad, last)
                    if met is not None:
                        return self._concrete_run(met)
                self.frames.append([])
                if (yield from self._propagate_clauses()):
                    return self._invariant()
        except _Undecided:
            return None

    # Queries.

    def _ask(self, what: str, cubes: Sequence[Cube]) -> Generator[None, None, tuple[int, Point] | None]:
        """The first cube with a point, and the point; None: all are empty."""
        yield
        index = self.search.expansion.space.index
        settled = [(n, made) for n, c in enumerate(cubes) if (made := index.settle(c)) is not None]
        replies = self.search.expansion.space.ask(what, [c for _, c in settled], natively=True)
        found = [(n, r) for (n, _), r in zip(settled, replies, strict=True) if r.possible]
        for number, reply in found:
            if reply.point is not None:
                return number, reply.point
        if found:
            raise _Undecided
        return None

    def _frame(self, level: int) -> list[Cube]:
        """The states of a frame, as cubes with clauses."""
        if level > 0:
            clauses = tuple(e.clause for frame in self.frames[level:] for e in frame)
            return [Cube({}, (), clauses)]
        search = self.search
        if search.starts is not None:
            own = search.dynamics.scalars
            return [Cube({n: (p[n], p[n]) for n in own}, ()) for p in search.starts]
        return [w.cube for w in search.expansion.ways[search.expansion.moves :]]

    def _bad_state(self, level: int) -> Generator[None, None, _Obligation | None]:
        kinds = self.search.expansion.kinds
        asked = [
            (g, c) for g in self.search.goals for c in meet_cube_sets(self._frame(level), [g.cube], kinds)
        ]
        met = yield from self._ask("invariants, bad", [c for _, c in asked])
        if met is None:
            return None
        number, point = met
        found = _Obligation(self._point_region(point), point, None, None)
        self.goals[id(found)] = asked[number][0]
        return found

    def _meets_start(self, region: Region) -> Generator[None, None, bool]:
        both = meet_cube_sets(self._frame(0), [self._cube(region)], self.search.expansion.kinds)
        return (yield from self._ask("invariants, start", both)) is not None

    def _step_into(
        self, region: Region, level: int, clause: AnyOf | None
    ) -> Generator[None, None, tuple[int, Point] | None]:
        """A step from a frame, where the clause holds too, into the region: its way and where it begins."""
        expansion, frame = self.search.expansion, self._frame(level)
        asked: list[tuple[int, Cube]] = []
        for number, way in enumerate(expansion.ways[: expansion.moves]):
            before = self._precondition(region, number)
            if before is None or (here := intersect_cubes(way.cube, before, expansion.kinds)) is None:
                continue
            if clause is not None:
                here = Cube(here.box, here.rows, (*here.clauses, clause))
            asked += [(number, c) for c in meet_cube_sets(frame, [here], expansion.kinds)]
        met = yield from self._ask("invariants, step", [c for _, c in asked])
        return None if met is None else (asked[met[0]][0], met[1])

    def _precondition(self, region: Region, way: int) -> Cube | None:
        """Where the way leads into the region, as far as its update tells; None: from nowhere."""
        atoms: list[LinearAtom] = []
        for (number, upper), end in region.items():
            form = self._after(way, number)
            if form.is_constant():
                if form.constant > end if upper else form.constant < end:
                    return None
                continue
            part = sharpen_integer_atoms(_bound_atom(form, upper, end), self.integers)
            if isinstance(part, LinearAtom):
                atoms.append(part)
            elif part == AnyOf():
                return None
        return intersect_cubes(EVERYTHING, cube_of(atoms), self.search.expansion.kinds)

    def _after(self, way: int, number: int) -> LinearForm:
        """A quantity after the way, in terms of the state before."""
        if (way, number) not in self.composed:
            after = self.search.expansion.ways[way].after
            self.composed[way, number] = compose_linear(self.quantities[number], after)
        return self.composed[way, number]

    # The main loop of the papers.

    def _exclude(self, bad: _Obligation, last: int) -> Generator[None, None, _Obligation | None]:
        """Exclude a bad state from the last frame; a start from which it is reached, if there is one."""
        count = 0
        waiting: list[tuple[int, int, _Obligation]] = [(last, count, bad)]
        while waiting:
            level, _, asked = heappop(waiting)
            if self._is_excluded(asked.region, level):
                continue
            if level == 0 or (yield from self._meets_start(asked.region)):
                return asked
            met = yield from self._step_into(asked.region, level - 1, self._clause(asked.region))
            count += 1
            if met is None:
                yield from self._learn_clause(asked.region, level)
                if level < last:  # what follows is excluded while it is at hand
                    heappush(waiting, (level + 1, count, asked))
                continue
            way, point = met
            before = _Obligation(self._point_region(point), point, way, asked)
            heappush(waiting, (level, count, asked))
            heappush(waiting, (level - 1, count + 1, before))
            count += 1
        return None

    def _is_excluded(self, region: Region, level: int) -> bool:
        return any(
            all(
                b in region and (region[b] <= end if b[1] else region[b] >= end)
                for b, end in e.region.items()
            )
            for frame in self.frames[level:]
            for e in frame
        )

    def _learn_clause(self, region: Region, level: int) -> Generator[None, None, None]:
        """Exclude more than this region, as early and as late as that can be."""
        general = yield from self._drop_bounds(dict(region), level)
        general = yield from self._move_bounds(general, level)
        made = _Excluded(general, self._clause(general))
        while level < len(self.frames) - 1:
            if (yield from self._step_into(general, level, made.clause)) is not None:
                break
            level += 1
        for frame in self.frames[1 : level + 1]:  # those that say less are no longer needed
            frame[:] = [e for e in frame if not _says_less(e.region, general)]
        self.frames[level].append(made)

    def _is_inductive(self, region: Region, level: int) -> Generator[None, None, bool]:
        """May the region be excluded, from the starts on, relative to the frame before?"""
        if not region or (yield from self._meets_start(region)):
            return False
        return (yield from self._step_into(region, level - 1, self._clause(region))) is None

    def _drop_bounds(self, region: dict[Bound, Fraction], level: int) -> Generator[None, None, Region]:
        """Bounds of variables first, so that sums are what is left where they suffice; halves at a time."""
        singles = len(self.search.dynamics.scalars)
        groups = [[b for b in region if b[0] < singles], [b for b in region if b[0] >= singles]]
        stack = [group for group in reversed(groups) if group]
        while stack:
            group = stack.pop()
            left = {b: end for b, end in region.items() if b not in group}
            if (yield from self._is_inductive(left, level)):
                region = left
            elif len(group) > 1:
                middle = len(group) // 2
                stack += [group[middle:], group[:middle]]
        return region

    def _move_bounds(self, region: Region, level: int) -> Generator[None, None, Region]:
        """Bounds as far out as a few bisections find them inductive."""
        moved = dict(region)
        for bound, end in region.items():
            number, upper = bound
            low, high = bound_linear_form(self.quantities[number], EVERYTHING, self.search.expansion.kinds)
            far = high if upper else low
            near = end
            for _ in range(BISECTIONS):
                if far is None or abs(far - near) < 1:
                    break
                middle = near + (far - near) / 2
                tried = (
                    Fraction(floor(middle) if not upper else -floor(-middle))
                    if self.whole[number]
                    else middle
                )
                if (yield from self._is_inductive({**moved, bound: tried}, level)):
                    near = tried
                else:
                    far = tried - 1 if upper else tried + 1
            moved[bound] = near
        return moved

    def _propagate_clauses(self) -> Generator[None, None, bool]:
        """Move clauses to later frames; is one frame the same as the next?"""
        for level in range(1, len(self.frames) - 1):
            for excluded in list(self.frames[level]):
                if (yield from self._step_into(excluded.region, level, excluded.clause)) is None:
                    self.frames[level].remove(excluded)
                    self.frames[level + 1].append(excluded)
            if not self.frames[level]:
                del self.frames[1 : level + 1]
                return True
        return False

    # Regions.

    def _point_region(self, point: Point) -> Region:
        values = [evaluate_linear_form(q, point) for q in self.quantities]
        return {(n, upper): v for n, v in enumerate(values) for upper in (False, True)}

    def _cube(self, region: Region) -> Cube:
        return cube_of(_bound_atom(self.quantities[n], upper, end) for (n, upper), end in region.items())

    def _clause(self, region: Region) -> AnyOf:
        return AnyOf(tuple(self._opposite(b, end) for b, end in region.items()))

    def _opposite(self, bound: Bound, end: Fraction) -> LinearAtom:
        number, upper = bound
        if self.whole[number]:
            return _bound_atom(self.quantities[number], not upper, end + 1 if upper else end - 1)
        atom = _bound_atom(self.quantities[number], not upper, end)
        return LinearAtom(atom.linear, Relation.LT)

    def _invariant(self) -> Term:
        """No state of an excluded region, as the model would write it."""
        return conjunction_of(
            tuple(
                disjunction_of(tuple(self._opposite_term(b, end) for b, end in e.region.items()))
                for frame in self.frames[1:]
                for e in frame
            )
        )

    def _opposite_term(self, bound: Bound, end: Fraction) -> Term:
        number, upper = bound
        dynamics = self.search.dynamics
        if number < len(dynamics.scalars):

            def wanted(value: int) -> bool:
                return value > end if upper else value < end

            name = dynamics.scalars[number]
            if name in self.search.expansion.location_names:
                return self._place_condition(name, wanted)
            if isinstance(self.search.expansion.kinds[name], Bool):
                shown = dynamics.model_term(Var(name))
                truths = [shown if value else ~shown for value in (0, 1) if wanted(value)]
                return truths[0] if len(truths) == 1 else TRUE if truths else FALSE
        value = dynamics.model_term(term_from_linear(self.quantities[number]))
        if self.whole[number]:
            return value >= end + 1 if upper else value <= end - 1
        return value > end if upper else value < end

    def _place_condition(self, name: str, wanted: Callable[[int], bool]) -> Term:
        """A component is in one of these places."""
        components = self.search.dynamics.problem.environment.components
        (here,) = (c for c in components if location_key(c.name) == name)
        places = (location_name(here.name, p) for n, p in enumerate(here.locations) if wanted(n))
        return disjunction_of(tuple(Var(p) for p in places))

    def _concrete_run(self, first: _Obligation) -> ConcreteRun:
        points, ways, here = [first.point], list[int](), first
        while here.after is not None and here.way is not None:
            ways.append(here.way)
            here = here.after
            points.append(here.point)
        expansion = self.search.expansion
        return ConcreteRun(tuple(points), tuple(expansion.ways[w] for w in ways), self.goals[id(here)])


def _bound_atom(quantity: LinearForm, upper: bool, end: Fraction) -> LinearAtom:
    """The quantity is at most, or at least, this number."""
    difference = add_forms(quantity, constant_form(-end))
    return LinearAtom(difference if upper else scale_form(difference, Fraction(-1)), Relation.LE)


def _says_less(region: Region, general: Region) -> bool:
    """Is all of the first region in the second?"""
    return all(b in region and (region[b] <= e if b[1] else region[b] >= e) for b, e in general.items())


def _linear_comparisons(search: SymbolicSearch, terms: Iterable[Term]) -> list[Term]:
    found = []
    for condition in state_comparisons(search.dynamics, [t for t in terms if t != FALSE]):
        try:
            compared_quantity(search.dynamics, condition)
        except SurefootError:
            continue
        found.append(condition)
    return found
