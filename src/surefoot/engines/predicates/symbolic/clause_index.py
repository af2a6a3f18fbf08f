"""Which clauses a box settles, and which a point: looked up in bit sets, for hundreds of clauses at once.

That the policy picks an action says of every other one that it is not applicable or its output not better. So
a step has as many clauses as there are actions, and steps share them. Every comparison of state and chosen
values in them is a row of one matrix; for a box, two products with it say which comparisons hold everywhere
in it and which nowhere. A clause then costs a few operations on whole numbers used as bit sets.

Products are exact where all numbers are whole and below 2^52. Elsewhere the comparisons of which rounding
might decide stay open in a box, and are evaluated in fractions at a point.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import inf, lcm
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.predicates.symbolic.conditions import split_clause
from surefoot.engines.predicates.symbolic.cubes import (
    Cube,
    Number,
    Point,
    cube_of,
    intersect_cubes,
    kind_range,
    unsettled_clauses,
)
from surefoot.network.directed_rounding import Array
from surefoot.query.formula import All, AnyOf, Formula, LinearAtom, Relation
from surefoot.term.interval import Kinds

EXACT = 2.0**52  # whole numbers below it are added without rounding
ROUNDING = 1e-12  # more than a sum of a hundred products loses, for its size
Bits: TypeAlias = int
Marks: TypeAlias = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class _Conjunction:
    """What has to hold at once: comparisons by their numbers, disjunctions, and perhaps more (`open`)."""

    atoms: Bits
    clauses: tuple[tuple[_Conjunction, ...], ...]
    open: bool  # it says something of outputs too
    speaks: bool  # it mentions outputs, here or further inside

    def is_possible(self, false: Bits) -> bool:
        return not self.atoms & false and all(
            any(part.is_possible(false) for part in clause) for clause in self.clauses
        )

    def holds(self, true: Bits) -> bool:
        return (
            not self.open
            and not self.atoms & ~true
            and all(any(part.holds(true) for part in clause) for clause in self.clauses)
        )


_ABOUT_OUTPUTS = _Conjunction(0, (), True, True)
_NOTHING_SAID = _Conjunction(0, (), False, True)


@dataclass(slots=True)
class ClauseIndex:
    """Clauses by identity, and the matrix of the comparisons in them. It grows as new ones are met."""

    names: tuple[str, ...]  # of state and chosen values, not of outputs
    kinds: Kinds
    numbers: dict[str, int] = field(init=False)
    outputs_have_ends: bool = field(init=False)
    ends: dict[str, tuple[float, float]] = field(default_factory=dict)  # of outputs
    known: dict[tuple[object, ...], int] = field(default_factory=dict)
    rows: list[tuple[Array, float, Relation]] = field(default_factory=list)
    parts: dict[int, tuple[Formula, _Conjunction]] = field(default_factory=dict)
    clauses: dict[int, tuple[AnyOf, tuple[_Conjunction, ...]]] = field(default_factory=dict)
    matrix: _ComparisonMatrix | None = None

    def __post_init__(self) -> None:
        self.numbers = {n: i for i, n in enumerate(self.names)}
        others = (kind_range(k) for n, k in self.kinds.items() if n not in self.numbers)
        self.outputs_have_ends = any(end is not None for ends in others for end in ends)

    def settle(self, cube: Cube) -> Cube | None:
        """The same points, without the clauses that all points of the box satisfy; None: there are none.

        Where the box leaves a clause a single alternative, that one is demanded instead.
        """
        several: Sequence[AnyOf] = cube.clauses
        while several:
            compiled = [self._clause(c) for c in several]
            true, false = self._settled_by_box(cube)
            kept: list[AnyOf] = []
            single: list[Formula] = []
            for clause, parts in zip(several, compiled, strict=True):
                possible = [n for n, part in enumerate(parts) if part.is_possible(false)]
                if any(parts[n].holds(true) for n in possible):
                    continue
                if not possible:
                    return None
                if len(possible) == 1:
                    single.append(clause.parts[possible[0]])
                else:
                    kept.append(clause)
            several = kept
            if not single:
                break
            atoms, more = _top_level(single)
            made = intersect_cubes(replace(cube, clauses=()), cube_of(atoms), self.kinds)
            if made is None:
                return None
            done = made.box == cube.box and not more
            cube, several = made, (*kept, *more)
            if done:
                break
        return replace(cube, clauses=tuple(several))

    def settle_all(self, several: Iterable[Cube]) -> list[Cube]:
        return [made for cube in several if (made := self.settle(cube)) is not None]

    def demand(self, condition: Formula, cube: Cube) -> Cube | None:
        """The cube where the condition holds too."""
        atoms, more = _top_level([condition])
        made = intersect_cubes(cube, replace(cube_of(atoms), clauses=tuple(more)), self.kinds)
        return None if made is None else self.settle(made)

    def split(self, cube: Cube, clause: AnyOf) -> list[Cube]:
        """The alternatives of one of its clauses that are possible, the first one last."""
        several = (self.demand(*part) for part in reversed(split_clause(cube, clause)))
        return [c for c in several if c is not None]

    def unsettled(
        self, several: Sequence[tuple[Sequence[AnyOf], Point]]
    ) -> list[list[tuple[AnyOf, Formula]]]:
        """For each point the clauses that it does not satisfy for all outputs, and what is left of them."""
        compiled = [[self._clause(c) for c in clauses] for clauses, _ in several]
        told = self._settled_at([point for _, point in several])
        found = []
        everything = (1 << len(self.rows)) - 1
        for (clauses, point), all_parts, (true, false) in zip(several, compiled, told, strict=True):
            if true | false != everything:  # rounding might decide
                found.append(unsettled_clauses(clauses, point))
                continue
            left: list[AnyOf] = []
            rests: list[tuple[AnyOf, Formula]] = []
            for clause, parts in zip(clauses, all_parts, strict=True):
                possible = [n for n, part in enumerate(parts) if part.is_possible(false)]
                if any(parts[n].holds(true) for n in possible):
                    continue
                if len(possible) == 1 and isinstance(clause.parts[possible[0]], LinearAtom):
                    rests.append((clause, clause.parts[possible[0]]))
                else:
                    left.append(clause)
            found.append([*rests, *unsettled_clauses(left, point)])
        return found

    def without_outputs(self, cube: Cube) -> Cube:
        """What is demanded of state and chosen values alone."""
        box = {n: ends for n, ends in cube.box.items() if n in self.numbers}
        rows = (r for r in cube.rows if all(n in self.numbers for n, _ in r.linear.coefficients))
        return Cube(box, tuple(rows), tuple(c for c in cube.clauses if not self.speaks_of_outputs(c)))

    def speaks_of_outputs(self, clause: AnyOf) -> bool:
        return any(part.speaks for part in self._clause(clause))

    def _clause(self, clause: AnyOf) -> tuple[_Conjunction, ...]:
        known = self.clauses.get(id(clause))
        if known is None:  # the clause is kept, so that its identity stays its own
            known = self.clauses[id(clause)] = clause, tuple(map(self._part, clause.parts))
        return known[1]

    def _part(self, part: Formula) -> _Conjunction:
        if isinstance(part, LinearAtom) and part.linear.coefficients[0][0] not in self.numbers:
            return _NOTHING_SAID if self._always_holds(part) else _ABOUT_OUTPUTS  # there are very many
        known = self.parts.get(id(part))
        if known is None:
            known = self.parts[id(part)] = part, self._compile_part(part)
        return known[1]

    def _compile_part(self, part: Formula) -> _Conjunction:
        atoms, clauses = _top_level([part])
        bits, is_open, speaks = 0, False, False
        for atom in atoms:
            if all(n in self.numbers for n, _ in atom.linear.coefficients):
                bits |= 1 << self._atom(atom)
            else:
                is_open = is_open or not self._always_holds(atom)
                speaks = True
        inner = tuple(self._clause(c) for c in clauses)
        speaks |= any(part.speaks for clause in inner for part in clause)
        return _Conjunction(bits, inner, is_open, speaks)

    def _always_holds(self, atom: LinearAtom) -> bool:
        """Do the ranges of the outputs say so, by more than rounding?"""
        if not self.outputs_have_ends:
            return False
        most = size = 0.0
        for name, factor in (*atom.linear.coefficients, ("", atom.linear.constant)):
            if name and name not in self.ends:
                least, greatest = kind_range(self.kinds[name])
                self.ends[name] = (
                    -inf if least is None else float(least),
                    inf if greatest is None else float(greatest),
                )
            low, high = self.ends[name] if name else (1.0, 1.0)
            end = float(factor) * (high if factor > 0 else low) if factor else 0.0
            most, size = most + end, size + abs(end)
        return atom.relation is not Relation.EQ and most < -ROUNDING * size

    def _atom(self, atom: LinearAtom) -> int:
        linear = atom.linear
        up = lcm(linear.constant.denominator, *(c.denominator for _, c in linear.coefficients))
        factors = tuple((n, int(c * up)) for n, c in linear.coefficients)
        end = int(linear.constant * up)
        key = (factors, end, atom.relation)
        if key not in self.known:
            row = np.zeros(len(self.names))
            for name, factor in factors:
                row[self.numbers[name]] = float(factor)
            self.known[key] = len(self.rows)
            self.rows.append((row, float(end), atom.relation))
            self.matrix = None
        return self.known[key]

    def _comparisons(self) -> _ComparisonMatrix:
        if self.matrix is None:
            self.matrix = _ComparisonMatrix.of(self.rows, len(self.names))
        return self.matrix

    def _settled_by_box(self, cube: Cube) -> tuple[Bits, Bits]:
        low, high = np.empty(len(self.names)), np.empty(len(self.names))
        whole = True
        for number, name in enumerate(self.names):
            least, most = kind_range(self.kinds[name])
            below, above = cube.box.get(name, (None, None))
            below = least if below is None else below if least is None else max(below, least)
            above = most if above is None else above if most is None else min(above, most)
            low[number] = -inf if below is None else float(below)
            high[number] = inf if above is None else float(above)
            whole = whole and _is_whole(below) and _is_whole(above)
        true, false = self._comparisons().over_boxes(low[None], high[None], whole)
        return _to_bits(true[0]), _to_bits(false[0])

    def _settled_at(self, points: Sequence[Point]) -> list[tuple[Bits, Bits]]:
        values = np.array([[float(p[n]) for n in self.names] for p in points]).reshape(
            len(points), len(self.names)
        )
        whole = all(p[n].denominator == 1 for p in points for n in self.names)
        true, false = self._comparisons().over_boxes(values, values, whole)
        return [(_to_bits(t), _to_bits(f)) for t, f in zip(true, false, strict=True)]


@dataclass(frozen=True, slots=True)
class _ComparisonMatrix:
    """Comparisons with zero, one a row: of a sum of products and a constant."""

    rising: Array
    falling: Array
    ends: Array
    strict: Marks
    equations: Marks

    @classmethod
    def of(cls, rows: Sequence[tuple[Array, float, Relation]], width: int) -> _ComparisonMatrix:
        matrix = np.array([row for row, *_ in rows]).reshape(len(rows), width)
        relations = [relation for *_, relation in rows]
        return cls(
            np.maximum(matrix, 0.0),
            np.minimum(matrix, 0.0),
            np.array([end for _, end, _ in rows]),
            np.array([r is Relation.LT for r in relations], dtype=np.bool_),
            np.array([r is Relation.EQ for r in relations], dtype=np.bool_),
        )

    def over_boxes(self, low: Array, high: Array, whole: bool) -> tuple[Marks, Marks]:
        """Box by box: which comparisons hold everywhere in it, and which nowhere.

        `whole`: all ends of the boxes are whole numbers.
        """
        with np.errstate(invalid="ignore"):  # no bound times zero is nothing
            least = _product(low, self.rising) + _product(high, self.falling) + self.ends
            most = _product(high, self.rising) + _product(low, self.falling) + self.ends
            size = _product(np.maximum(np.abs(low), np.abs(high)), self.rising - self.falling)
        size += np.abs(self.ends)
        error = ROUNDING * size if not whole else np.where(size < EXACT, 0.0, ROUNDING * size)
        exact = error == 0.0
        at_zero = exact & (most == 0.0)
        below = (most < -error) | (at_zero & ~self.strict)
        above = (least > error) | (exact & (least == 0.0) & self.strict)
        flat = exact & (least == 0.0) & (most == 0.0)
        true = np.where(self.equations, flat, below)
        false = above | (self.equations & (most < -error))
        return true, false


def _product(ends: Array, factors: Array) -> Array:
    """Sums of products in which nothing times infinity is nothing."""
    if np.isfinite(ends).all():
        return np.asarray(ends @ factors.T)
    terms = np.where(factors[None] == 0.0, 0.0, ends[:, None, :] * factors[None])
    return np.asarray(terms.sum(axis=2))


def _to_bits(marks: Marks) -> Bits:
    return int.from_bytes(np.packbits(marks, bitorder="little").tobytes(), "little")


def _is_whole(end: Number | None) -> bool:
    return end is None or end.denominator == 1


def _top_level(several: Iterable[Formula]) -> tuple[list[LinearAtom], list[AnyOf]]:
    """The comparisons and disjunctions of which a conjunction is made."""
    atoms: list[LinearAtom] = []
    clauses: list[AnyOf] = []
    todo = list(several)[::-1]
    while todo:
        match todo.pop():
            case LinearAtom() as atom:
                atoms.append(atom)
            case All(inner):
                todo += reversed(inner)
            case AnyOf() as clause:
                clauses.append(clause)
    return atoms, clauses
