"""State expansion (Vinzent and Hoffmann 2021, Algorithm 2) for a whole wave of abstract states.

A wave is all abstract states at one distance from the starts.

For an abstract state and an action: is the guard satisfied by one of its states (line 2), does the policy
pick the action in one of these, with variables as real numbers (line 3) and as they are (line 4)? Then the
successors: predicates whose value is entailed are fixed (line 7), the others are branched on, and a branch is
tested as it is made: without the network (line 11), relaxed (line 12), exactly (line 13). Each test may be
left out; then there are more steps than there should be, never fewer. With `leaves` a successor is tested
when all its values are there, as the paper has it (lines 10 to 13); line 4 is left out, as it does.

Beyond the paper: tests of a wave are asked together; values that follow from bounds are fixed without asking;
a point that was found is used for every later question that it answers; what was impossible for fewer
predicates stays impossible for more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from operator import is_
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.predicates.dynamics import OutOfTime
from surefoot.engines.predicates.symbolic.box_table import BoxTable
from surefoot.engines.predicates.symbolic.cubes import Cube, Point, meet_cube_sets
from surefoot.engines.predicates.symbolic.step_queries import StepQueries
from surefoot.engines.predicates.symbolic.transition_cubes import (
    Predicate,
    TransitionCube,
    predicate_precondition,
    successor_point,
)
from surefoot.term.interval import Kinds

Places: TypeAlias = tuple[int, ...]
Bits: TypeAlias = tuple[bool, ...]


@dataclass(frozen=True, slots=True, order=True)
class AbstractKey:
    """An abstract state: locations, and the truth values of the predicates."""

    places: Places
    bits: Bits

    def coarser(self, count: int) -> AbstractKey:
        return AbstractKey(self.places, self.bits[:count])


@dataclass(slots=True)
class TransitionWitness:
    """A point at which a way can be taken."""

    way: int
    point: Point
    source: AbstractKey
    target: AbstractKey


@dataclass(slots=True)
class SuccessorBranch:
    """A way out of an abstract state, and what is known of where it leads."""

    source: AbstractKey
    way: int
    places: Places
    values: dict[int, bool]
    cubes: list[Cube]


@dataclass(slots=True)
class Expansion:
    """Predicates, points that were found, and expansions for fewer predicates."""

    space: StepQueries
    kinds: Kinds
    ways: tuple[TransitionCube, ...]
    moves: int  # so many of the ways are steps; the others lead to the starts
    scalars: frozenset[str]
    location_names: tuple[str, ...]
    tests: frozenset[str]
    leaves: bool = False  # successors are tested when they are complete, as in the paper
    undecided: bool = False  # an exact test was left open, so that a step may be none
    predicates: list[Predicate] = field(default_factory=list)
    witnesses: dict[tuple[AbstractKey, int], list[TransitionWitness]] = field(default_factory=dict)
    known: dict[tuple[AbstractKey, int], frozenset[AbstractKey]] = field(default_factory=dict)
    earlier: list[tuple[int, dict[tuple[AbstractKey, int], frozenset[AbstractKey]]]] = field(
        default_factory=list
    )
    impossible: set[tuple[int, bool, int, bool]] = field(default_factory=set)
    composed: dict[tuple[int, int, bool], list[Cube]] = field(default_factory=dict)
    ways_by_box: BoxTable | None = None
    values_by_box: dict[int, tuple[tuple[Predicate, ...], BoxTable]] = field(default_factory=dict)

    def key(self, point: Point) -> AbstractKey:
        places = tuple(int(point[n]) for n in self.location_names)
        return AbstractKey(places, tuple(p.at(point) for p in self.predicates))

    def add(self, new: Predicate) -> None:
        """One more predicate; the points that were found are put in their new places."""
        if self.known:
            self.earlier.append((len(self.predicates), self.known))
            self.known = {}
        self.predicates.append(new)
        several = [w for group in self.witnesses.values() for w in group]
        self.witnesses = {}
        for witness in several:
            after = successor_point(witness.point, self.ways[witness.way])
            bits = (*witness.source.bits, new.at(witness.point)) if witness.way < self.moves else ()
            source = AbstractKey(witness.source.places, bits)
            target = AbstractKey(witness.target.places, (*witness.target.bits, new.at(after)))
            self.note(TransitionWitness(witness.way, witness.point, source, target))
        if "relations" in self.tests:
            self._relate(len(self.predicates) - 1)

    def note(self, witness: TransitionWitness) -> None:
        self.witnesses.setdefault((witness.source, witness.way), []).append(witness)

    def record_point(self, way: int, point: Point) -> None:
        after = successor_point(point, self.ways[way])
        if all(after[n].denominator == 1 for n in self.location_names):
            source = self.key(point)
            source = source if way < self.moves else source.coarser(0)
            self.note(TransitionWitness(way, point, source, self.key({**point, **after})))

    def cubes(self, key: AbstractKey) -> list[Cube]:
        """All states of an abstract state."""
        box = {n: (p, p) for n, p in zip(self.location_names, key.places, strict=True)}
        here = [Cube(box, ())]
        for predicate, value in zip(self.predicates, key.bits, strict=True):
            here = meet_cube_sets(here, predicate.cubes(value), self.kinds)
        return here

    def expand(self, wave: Sequence[AbstractKey]) -> Mapping[tuple[AbstractKey, int], frozenset[AbstractKey]]:
        """Where each way leads from each of these abstract states."""
        branches: list[SuccessorBranch] = []
        for key in wave:
            if self.space.budget.is_spent():
                raise OutOfTime
            inside = self.cubes(key)
            near = self._ways_at(inside)
            for number, way in enumerate(self.ways[: self.moves]):
                if not near[number]:
                    self.known[key, number] = frozenset()
                    continue
                if (key, number) in self.known or self._was_impossible(key, number):
                    self.known.setdefault((key, number), frozenset())
                    continue
                here = self.space.index.settle_all(meet_cube_sets(inside, (way.cube,), self.kinds))
                if here:
                    branches.append(SuccessorBranch(key, number, self._places(way, key), {}, here))
                else:
                    self.known[key, number] = frozenset()
        for pair, keys in self.follow(branches).items():
            self.known[pair] = frozenset(keys)
        return {(k, n): self.known[k, n] for k in wave for n in range(self.moves)}

    def _ways_at(self, inside: Sequence[Cube]) -> NDArray[np.bool_]:
        """Which ways can be taken from there, as far as boxes tell."""
        if self.ways_by_box is None:
            groups = [(way.cube,) for way in self.ways[: self.moves]]
            self.ways_by_box = BoxTable.of(self.space.names, self.kinds, groups)
        return self.ways_by_box.owners_met(inside)

    def _values_after(self, branch: SuccessorBranch) -> NDArray[np.bool_]:
        """For each predicate, whether it may be false and true behind the way, as far as boxes tell."""
        known, table = self.values_by_box.get(branch.way, ((), None))
        same = len(known) == len(self.predicates) and all(map(is_, known, self.predicates))
        if table is None or not same:
            both = ((i, v) for i in range(len(self.predicates)) for v in (False, True))
            groups = [self._before(branch.way, index, value) for index, value in both]
            table = BoxTable.of(self.space.names, self.kinds, groups)
            self.values_by_box[branch.way] = tuple(self.predicates), table
        return table.owners_met(branch.cubes).reshape(-1, 2)

    def follow(self, branches: Sequence[SuccessorBranch]) -> dict[tuple[AbstractKey, int], set[AbstractKey]]:
        """All abstract states to which these branches lead."""
        reached: dict[tuple[AbstractKey, int], set[AbstractKey]] = {
            (b.source, b.way): set() for b in branches
        }
        applicable = self._filter_by_tests(branches, "applicability")
        self._fix(applicable)
        complete: list[SuccessorBranch] = []
        while applicable:
            parts: list[SuccessorBranch] = []
            for branch in applicable:
                if self.space.budget.is_spent():
                    raise OutOfTime
                divided = self._branch_on_predicate(branch)
                if divided is None:
                    complete.append(branch)
                else:
                    parts += divided
            applicable = parts if self.leaves else self._filter_by_tests(parts, "transition")
        for branch in self._filter_by_tests(complete, "transition") if self.leaves else complete:
            bits = tuple(branch.values[i] for i in range(len(self.predicates)))
            reached[branch.source, branch.way].add(AbstractKey(branch.places, bits))
        return reached

    def start(self, places: Places, way: int) -> SuccessorBranch:
        """The starts in these locations: where a way leads that begins outside of everything."""
        box = {n: (p, p) for n, p in zip(self.location_names, places, strict=True)}
        return SuccessorBranch(
            AbstractKey(places, ()),
            way,
            places,
            {},
            meet_cube_sets([Cube(box, ())], (self.ways[way].cube,), self.kinds),
        )

    def _places(self, way: TransitionCube, key: AbstractKey) -> Places:
        after = [way.after[n] for n in self.location_names]
        return tuple(
            int(a.constant) if a.is_constant() else old for a, old in zip(after, key.places, strict=True)
        )

    def _was_impossible(self, key: AbstractKey, way: int) -> bool:
        return any(known.get((key.coarser(n), way)) == frozenset() for n, known in self.earlier)

    def _may_reach(self, branch: SuccessorBranch) -> bool:
        """Was the abstract state that this branch leads to a successor for fewer predicates?"""
        for count, known in self.earlier:
            before_then = known.get((branch.source.coarser(count), branch.way))
            if before_then is None:
                continue
            partial = {i: v for i, v in branch.values.items() if i < count}
            fits = (
                k.places == branch.places and all(k.bits[i] == v for i, v in partial.items())
                for k in before_then
            )
            if not any(fits):
                return False
        return True

    def _branch_on_predicate(self, branch: SuccessorBranch) -> list[SuccessorBranch] | None:
        """Values that follow are fixed; then both values of the first open predicate; None: none is open."""
        possible = self._values_after(branch) if self.predicates else None
        for index in range(len(self.predicates)):
            if index in branch.values:
                continue
            assert possible is not None
            if not possible[index].all():  # where one value is impossible the other one follows
                if not possible[index].any() or self._is_excluded(branch, index, bool(possible[index][1])):
                    return []
                branch.values[index] = bool(possible[index][1])
                continue
            parts = []
            for value in (True, False):
                if self._is_excluded(branch, index, value):
                    continue
                cubes = meet_cube_sets(branch.cubes, self._before(branch.way, index, value), self.kinds)
                if cubes:
                    parts.append(
                        SuccessorBranch(
                            branch.source, branch.way, branch.places, {**branch.values, index: value}, cubes
                        )
                    )
            if len(parts) != 1:
                return parts
            branch.values, branch.cubes = parts[0].values, parts[0].cubes
        return None

    def _before(self, way: int, index: int, value: bool) -> list[Cube]:
        if (way, index, value) not in self.composed:
            found = predicate_precondition(self.predicates[index], value, self.ways[way], self.kinds)
            self.composed[way, index, value] = found
        return self.composed[way, index, value]

    def _filter_by_tests(self, branches: Sequence[SuccessorBranch], what: str) -> list[SuccessorBranch]:
        """Those branches that no test refutes; points that were found before answer for many."""
        kept = [b for b in branches if self._may_reach(b)]
        sure = [b for b in kept if self._has_witness(b)]
        doubtful = [b for b in kept if not self._has_witness(b)]
        if "guard" in self.tests:
            silent = [b for b in doubtful if not any(map(self.space.mentions_outputs, b.cubes))]
            doubtful = [b for b in doubtful if any(map(self.space.mentions_outputs, b.cubes))]
            kind = f"{what} without network"
            sure += self._possible(silent, [b.cubes for b in silent], kind, False, True)
            plain = [[self.space.index.without_outputs(c) for c in b.cubes] for b in doubtful]
            doubtful = self._possible(doubtful, plain, kind, False, False)
        if "relaxed" in self.tests:
            doubtful = self._possible(doubtful, [b.cubes for b in doubtful], f"{what}, relaxed", True, False)
        if "exact" in self.tests and not (self.leaves and what == "applicability"):
            doubtful = self._possible(doubtful, [b.cubes for b in doubtful], f"{what}, exact", False, True)
        return sure + doubtful

    def _has_witness(self, branch: SuccessorBranch) -> bool:
        return any(
            w.target.places == branch.places and all(w.target.bits[i] == v for i, v in branch.values.items())
            for w in self.witnesses.get((branch.source, branch.way), ())
        )

    def _possible(
        self,
        branches: list[SuccessorBranch],
        cubes: Sequence[Sequence[Cube]],
        kind: str,
        relaxed: bool,
        exact: bool,
    ) -> list[SuccessorBranch]:
        asked = [(b, c) for b, several in zip(branches, cubes, strict=True) for c in several]
        replies = self.space.ask(kind, [c for _, c in asked], relaxed=relaxed)
        possible: dict[int, SuccessorBranch] = {}
        for (branch, _), reply in zip(asked, replies, strict=True):
            if reply.possible:
                possible[id(branch)] = branch
                if exact and reply.point is not None:
                    self.record_point(branch.way, reply.point)
                self.undecided |= exact and reply.point is None
        return list(possible.values())

    def _fix(self, branches: Sequence[SuccessorBranch]) -> None:
        """Line 7: is a value of a predicate excluded by the state and the guard alone?"""
        if "fixing" not in self.tests:
            return
        asked: list[tuple[SuccessorBranch, int, bool, Cube]] = []
        for branch in branches:
            plain = [self.space.index.without_outputs(c) for c in branch.cubes]
            for index in range(len(self.predicates)):
                for value in (True, False):
                    for cube in meet_cube_sets(plain, self._before(branch.way, index, value), self.kinds):
                        asked.append((branch, index, value, cube))
        replies = self.space.ask("fixing", [c for *_, c in asked])
        open_values: dict[tuple[int, int], set[bool]] = {}
        for (branch, index, value, _), reply in zip(asked, replies, strict=True):
            if reply.possible:
                open_values.setdefault((id(branch), index), set()).add(value)
        for branch in branches:
            for index in range(len(self.predicates)):
                values = open_values.get((id(branch), index), set())
                if len(values) == 1:
                    (value,) = values
                    branch.values[index] = value
                    branch.cubes = meet_cube_sets(
                        branch.cubes, self._before(branch.way, index, value), self.kinds
                    )

    def _relate(self, new: int) -> None:
        """Which values of two predicates exclude each other."""
        asked: list[tuple[int, bool, bool, Cube]] = []
        for old in range(new):
            for first in (True, False):
                for second in (True, False):
                    both = meet_cube_sets(
                        self.predicates[old].cubes(first), self.predicates[new].cubes(second), self.kinds
                    )
                    asked += [(old, first, second, cube) for cube in both]
        replies = self.space.ask("relations", [c for *_, c in asked])
        possible = {
            (old, first, second)
            for (old, first, second, _), reply in zip(asked, replies, strict=True)
            if reply.possible
        }
        for old, first, second in product(range(new), (True, False), (True, False)):
            if (old, first, second) not in possible:
                self.impossible |= {(old, first, new, second), (new, second, old, first)}

    def _is_excluded(self, branch: SuccessorBranch, index: int, value: bool) -> bool:
        """Is the value excluded by that of another predicate?"""
        return any((i, v, index, value) in self.impossible for i, v in branch.values.items())
