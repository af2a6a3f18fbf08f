"""Boxes with rows: bounds of single names, and linear comparisons of several; cases that are left open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from surefoot.encode.interval import Kinds, Scalar
from surefoot.errors import Unsupported
from surefoot.problem.environment import Bool, Int, Real
from surefoot.query.bounds import Interval, simplify
from surefoot.query.formula import All, AnyOf, Atom, Formula, Relation, atoms, holds, sharpen
from surefoot.query.linear import Linear, constant, minus, plus, scaled, variable

MOST = 16_384  # alternatives of one condition
Point: TypeAlias = Mapping[str, Fraction]
Number: TypeAlias = Fraction | int  # whole ends are ints, which compare much faster
Ends: TypeAlias = tuple[Number | None, Number | None]
Side: TypeAlias = tuple[tuple[tuple[str, int, int], ...], tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class Cube:
    """Bounds of single names, comparisons of several, and disjunctions that are not multiplied out."""

    box: Mapping[str, Ends]
    rows: tuple[Atom, ...]
    clauses: tuple[AnyOf, ...] = ()


EVERYTHING = Cube({}, ())


def whole_names(kinds: Kinds) -> frozenset[str]:
    return frozenset(n for n, k in kinds.items() if isinstance(k, Bool | Int))


def named(condition: Formula) -> frozenset[str]:
    return frozenset(n for atom in atoms(condition) for n, _ in atom.linear.coefficients)


def plain(number: Number) -> Number:
    return number.numerator if number.denominator == 1 else number


def normal_atom(atom: Atom) -> Formula:
    if not atom.linear.is_constant():
        return atom
    return All() if holds(atom.linear.constant, atom.relation) else AnyOf()


def meet(first: Sequence[Cube], second: Sequence[Cube], kinds: Kinds) -> list[Cube]:
    """All pairs of alternatives that do not contradict each other."""
    if len(first) * len(second) > 16 * MOST:
        raise Unsupported("a condition has too many cases for predicate abstraction")
    return [c for a in first for b in second if (c := joined(a, b, kinds)) is not None]


def cube_of(several: Iterable[Atom]) -> Cube:
    """Comparisons of one name bound it; strict ones of real numbers stay rows as well."""
    box: dict[str, Ends] = {}
    rows: list[Atom] = []
    for atom in several:
        if len(atom.linear.coefficients) != 1:
            rows.append(atom)
            continue
        ((name, factor),) = atom.linear.coefficients
        end = plain(-atom.linear.constant / factor)
        low, high = box.get(name, (None, None))
        if factor < 0 or atom.relation is Relation.EQ:
            low = end if low is None else max(low, end)
        if factor > 0 or atom.relation is Relation.EQ:
            high = end if high is None else min(high, end)
        box[name] = (low, high)
        if atom.relation is Relation.LT:
            rows.append(atom)
    return Cube(box, tuple(rows))


def joined(first: Cube, second: Cube, kinds: Kinds) -> Cube | None:
    """Both at once; None where that is impossible at sight.

    What is new is looked at: rows of the second, and rows of the first whose names got other bounds.
    """
    box = dict(first.box)
    changed = set()
    for name, (low, high) in second.box.items():
        below, above = box.get(name, (None, None))
        low = below if low is None else low if below is None else max(low, below)
        high = above if high is None else high if above is None else min(high, above)
        if low is not None and high is not None and low > high:
            return None
        if _beyond(low, high, kinds[name]):
            return None
        if low is not below or high is not above:
            box[name] = (low, high)
            changed.add(name)
    rows, new = first.rows, list[Atom]()
    if second.rows:
        kept: dict[Side, Atom] = {}
        for number, row in enumerate((*first.rows, *second.rows)):
            side = _side(row)
            if side not in kept or _tighter(row, kept[side]):
                kept[side] = row
                new += [row] if number >= len(first.rows) else []
        if any(_apart(row, kept) for row in new):
            return None
        rows = tuple(kept.values())
    made = Cube(box, rows, first.clauses + second.clauses)
    doubtful = (
        [r for r in first.rows if any(n in changed for n, _ in r.linear.coefficients)] if changed else []
    )
    return None if any(impossible(row, made, kinds) for row in (*new, *doubtful)) else made


def _side(row: Atom) -> Side:
    """What a row bounds from above: of two rows with the same side one says all. Equations are apart."""
    names = tuple((n, c.numerator, c.denominator) for n, c in row.linear.coefficients)
    end = row.linear.constant
    return names, (end.numerator, end.denominator) if row.relation is Relation.EQ else None


def _tighter(row: Atom, other: Atom) -> bool:
    end, limit = row.linear.constant, other.linear.constant
    return end > limit or (end == limit and (row.relation, other.relation) == (Relation.LT, Relation.LE))


def _apart(row: Atom, rows: Mapping[Side, Atom]) -> bool:
    """Does another row bound the same quantity from below, above the bound of this row?"""
    names, end = _side(row)
    other = rows.get((tuple((n, -above, below) for n, above, below in names), None))
    if other is None or end is not None:
        return False
    gap = row.linear.constant + other.linear.constant
    return gap > 0 or (gap == 0 and Relation.LT in (row.relation, other.relation))


def _beyond(low: Number | None, high: Number | None, kind: Scalar) -> bool:
    """Has no value of this kind these bounds?"""
    least, most = _range(kind)
    return (low is not None and most is not None and low > most) or (
        high is not None and least is not None and high < least
    )


def impossible(row: Atom, cube: Cube, kinds: Kinds) -> bool:
    """Does no point of the box satisfy this comparison?"""
    low, high = span(row.linear, cube, kinds)
    if low is not None and (low > 0 or (low == 0 and row.relation is Relation.LT)):
        return True
    return row.relation is Relation.EQ and high is not None and high < 0


def span(linear: Linear, cube: Cube, kinds: Kinds) -> tuple[Fraction | None, Fraction | None]:
    """Between which numbers a linear form lies on the box of a cube."""
    low: Fraction | None = linear.constant
    high: Fraction | None = linear.constant
    for name, factor in linear.coefficients:
        below, above = limits(name, cube, kinds)
        if factor < 0:
            below, above = above, below
        low = None if low is None or below is None else low + factor * below
        high = None if high is None or above is None else high + factor * above
    return low, high


def limits(name: str, cube: Cube, kinds: Kinds) -> Ends:
    """The bounds of a name: those of the cube within those of its kind."""
    least, most = _range(kinds[name])
    below, above = cube.box.get(name, (None, None))
    below = least if below is None else below if least is None else max(below, least)
    above = most if above is None else above if most is None else min(above, most)
    return below, above


def ends(name: str, cube: Cube, kinds: Kinds) -> tuple[Fraction | None, Fraction | None]:
    """The bounds of a name as fractions, to calculate with."""
    low, high = limits(name, cube, kinds)
    return None if low is None else Fraction(low), None if high is None else Fraction(high)


@lru_cache(1 << 12)
def _range(kind: Scalar) -> Ends:
    match kind:
        case Bool():
            return 0, 1
        case Int(low, high) | Real(low, high):
            return None if low is None else plain(low), None if high is None else plain(high)


def composed(cube: Cube, after: Mapping[str, Linear], kinds: Kinds) -> Cube | None:
    """What must hold before an update so that the cube, without its clauses, holds after it; None: never."""
    whole = whole_names(kinds)
    several: list[Atom] = []
    for atom in atoms_of(cube):
        total = constant(atom.linear.constant)
        for name, factor in atom.linear.coefficients:
            total = plus(total, scaled(after.get(name, variable(name)), factor))
        part = sharpen(normal_atom(Atom(total, atom.relation)), whole)
        if isinstance(part, AnyOf):
            return None
        if isinstance(part, Atom):
            several.append(part)
    return joined(EVERYTHING, cube_of(several), kinds)


def atoms_of(cube: Cube) -> Iterable[Atom]:
    """The comparisons of a cube, bounds included, clauses not."""
    for name, (low, high) in cube.box.items():
        if low is not None:
            yield Atom(minus(constant(low), variable(name)), Relation.LE)
        if high is not None:
            yield Atom(minus(variable(name), constant(high)), Relation.LE)
    yield from cube.rows


def in_rows(cube: Cube, names: Iterable[str]) -> Cube:
    """Bounds of these names as comparisons: a box is about what a question is asked of, not about outputs."""
    own = set(names)
    bounds = Cube({n: e for n, e in cube.box.items() if n in own}, ())
    kept = {n: e for n, e in cube.box.items() if n not in own}
    return Cube(kept, tuple(dict.fromkeys((*cube.rows, *atoms_of(bounds)))), cube.clauses)


def value(linear: Linear, point: Point) -> Fraction:
    total = linear.constant
    for name, factor in linear.coefficients:
        total += point[name] if factor == 1 else factor * point[name]
    return total


def left_of(clauses: Iterable[AnyOf], point: Point) -> list[tuple[AnyOf, Formula]]:
    """The clauses that the point does not settle, and what is left of them: what it has no values for."""
    box: dict[str, Interval] = {n: (v, v) for n, v in point.items()}
    found = []
    for clause in clauses:
        free: dict[str, Interval] = dict.fromkeys(named(clause) - point.keys(), (None, None))
        if (rest := simplify(clause, {**box, **free})) != All():
            found.append((clause, rest))
    return found


def satisfies(point: Point, cube: Cube) -> bool:
    """For cubes that mention nothing but what the point has values for."""
    inside = all(
        (low is None or low <= point[name]) and (high is None or point[name] <= high)
        for name, (low, high) in cube.box.items()
    )
    held = inside and all(holds(value(row.linear, point), row.relation) for row in cube.rows)
    return held and not left_of(cube.clauses, point)
