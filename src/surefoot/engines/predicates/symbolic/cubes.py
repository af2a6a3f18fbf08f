"""Boxes with rows: bounds of single names, and linear comparisons of several; cases that are left open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.query.bounds import Interval, simplify_formula
from surefoot.query.formula import (
    All,
    AnyOf,
    Formula,
    LinearAtom,
    Relation,
    formula_atoms,
    relation_holds,
    sharpen_integer_atoms,
)
from surefoot.term.interval import Kinds, Scalar
from surefoot.term.linear import (
    LinearForm,
    add_forms,
    constant_form,
    scale_form,
    subtract_forms,
    variable_form,
)
from surefoot.term.value_types import Bool, Int, Real

MOST = 16_384  # alternatives of one condition
Point: TypeAlias = Mapping[str, Fraction]
Number: TypeAlias = Fraction | int  # whole ends are ints, which compare much faster
Ends: TypeAlias = tuple[Number | None, Number | None]
Side: TypeAlias = tuple[tuple[tuple[str, int, int], ...], tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class Cube:
    """Bounds of single names, comparisons of several, and disjunctions that are not multiplied out."""

    box: Mapping[str, Ends]
    rows: tuple[LinearAtom, ...]
    clauses: tuple[AnyOf, ...] = ()


EVERYTHING = Cube({}, ())


def integer_names(kinds: Kinds) -> frozenset[str]:
    return frozenset(n for n, k in kinds.items() if isinstance(k, Bool | Int))


def names_in_formula(condition: Formula) -> frozenset[str]:
    return frozenset(n for atom in formula_atoms(condition) for n, _ in atom.linear.coefficients)


def _int_if_whole(number: Number) -> Number:
    return number.numerator if number.denominator == 1 else number


def normal_atom(atom: LinearAtom) -> Formula:
    if not atom.linear.is_constant():
        return atom
    return All() if relation_holds(atom.linear.constant, atom.relation) else AnyOf()


def meet_cube_sets(first: Sequence[Cube], second: Sequence[Cube], kinds: Kinds) -> list[Cube]:
    """All pairs of alternatives that do not contradict each other."""
    if len(first) * len(second) > 16 * MOST:
        raise Unsupported("a condition has too many cases for predicate abstraction")
    return [c for a in first for b in second if (c := intersect_cubes(a, b, kinds)) is not None]


def cube_of(several: Iterable[LinearAtom]) -> Cube:
    """Comparisons of one name bound it; strict ones of real numbers stay rows as well."""
    box: dict[str, Ends] = {}
    rows: list[LinearAtom] = []
    for atom in several:
        if len(atom.linear.coefficients) != 1:
            rows.append(atom)
            continue
        ((name, factor),) = atom.linear.coefficients
        end = _int_if_whole(-atom.linear.constant / factor)
        low, high = box.get(name, (None, None))
        if factor < 0 or atom.relation is Relation.EQ:
            low = end if low is None else max(low, end)
        if factor > 0 or atom.relation is Relation.EQ:
            high = end if high is None else min(high, end)
        box[name] = (low, high)
        if atom.relation is Relation.LT:
            rows.append(atom)
    return Cube(box, tuple(rows))


def intersect_cubes(first: Cube, second: Cube, kinds: Kinds) -> Cube | None:
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
        if _is_out_of_range(low, high, kinds[name]):
            return None
        if low is not below or high is not above:
            box[name] = (low, high)
            changed.add(name)
    rows, new = first.rows, list[LinearAtom]()
    if second.rows:
        kept: dict[Side, LinearAtom] = {}
        for number, row in enumerate((*first.rows, *second.rows)):
            side = _row_side(row)
            if side not in kept or _is_tighter(row, kept[side]):
                kept[side] = row
                new += [row] if number >= len(first.rows) else []
        if any(_are_rows_disjoint(row, kept) for row in new):
            return None
        rows = tuple(kept.values())
    made = Cube(box, rows, first.clauses + second.clauses)
    doubtful = (
        [r for r in first.rows if any(n in changed for n, _ in r.linear.coefficients)] if changed else []
    )
    return None if any(is_row_impossible(row, made, kinds) for row in (*new, *doubtful)) else made


def _row_side(row: LinearAtom) -> Side:
    """What a row bounds from above: of two rows with the same side one says all. Equations are apart."""
    names = tuple((n, c.numerator, c.denominator) for n, c in row.linear.coefficients)
    end = row.linear.constant
    return names, (end.numerator, end.denominator) if row.relation is Relation.EQ else None


def _is_tighter(row: LinearAtom, other: LinearAtom) -> bool:
    end, limit = row.linear.constant, other.linear.constant
    return end > limit or (end == limit and (row.relation, other.relation) == (Relation.LT, Relation.LE))


def _are_rows_disjoint(row: LinearAtom, rows: Mapping[Side, LinearAtom]) -> bool:
    """Does another row bound the same quantity from below, above the bound of this row?"""
    names, end = _row_side(row)
    other = rows.get((tuple((n, -above, below) for n, above, below in names), None))
    if other is None or end is not None:
        return False
    gap = row.linear.constant + other.linear.constant
    return gap > 0 or (gap == 0 and Relation.LT in (row.relation, other.relation))


def _is_out_of_range(low: Number | None, high: Number | None, kind: Scalar) -> bool:
    """Has no value of this kind these bounds?"""
    least, most = kind_range(kind)
    return (low is not None and most is not None and low > most) or (
        high is not None and least is not None and high < least
    )


def is_row_impossible(row: LinearAtom, cube: Cube, kinds: Kinds) -> bool:
    """Does no point of the box satisfy this comparison?"""
    low, high = bound_linear_form(row.linear, cube, kinds)
    if low is not None and (low > 0 or (low == 0 and row.relation is Relation.LT)):
        return True
    return row.relation is Relation.EQ and high is not None and high < 0


def bound_linear_form(
    linear: LinearForm, cube: Cube, kinds: Kinds
) -> tuple[Fraction | None, Fraction | None]:
    """Between which numbers a linear form lies on the box of a cube."""
    low: Fraction | None = linear.constant
    high: Fraction | None = linear.constant
    for name, factor in linear.coefficients:
        below, above = name_bounds(name, cube, kinds)
        if factor < 0:
            below, above = above, below
        low = None if low is None or below is None else low + factor * below
        high = None if high is None or above is None else high + factor * above
    return low, high


def name_bounds(name: str, cube: Cube, kinds: Kinds) -> Ends:
    """The bounds of a name: those of the cube within those of its kind."""
    least, most = kind_range(kinds[name])
    below, above = cube.box.get(name, (None, None))
    below = least if below is None else below if least is None else max(below, least)
    above = most if above is None else above if most is None else min(above, most)
    return below, above


def fraction_bounds(name: str, cube: Cube, kinds: Kinds) -> tuple[Fraction | None, Fraction | None]:
    """The bounds of a name as fractions, to calculate with."""
    low, high = name_bounds(name, cube, kinds)
    return None if low is None else Fraction(low), None if high is None else Fraction(high)


def finite_bounds(name: str, cube: Cube, kinds: Kinds) -> tuple[Fraction, Fraction]:
    """The bounds of a name that has some: `step_queries` refuses others."""
    low, high = fraction_bounds(name, cube, kinds)
    assert low is not None
    assert high is not None
    return low, high


@lru_cache(1 << 12)
def kind_range(kind: Scalar) -> Ends:
    match kind:
        case Bool():
            return 0, 1
        case Int(low, high) | Real(low, high):
            return None if low is None else _int_if_whole(low), None if high is None else _int_if_whole(high)


def cube_precondition(cube: Cube, after: Mapping[str, LinearForm], kinds: Kinds) -> Cube | None:
    """What must hold before an update so that the cube, without its clauses, holds after it; None: never."""
    whole = integer_names(kinds)
    several: list[LinearAtom] = []
    for atom in atoms_of(cube):
        total = compose_linear(atom.linear, after)
        part = sharpen_integer_atoms(normal_atom(LinearAtom(total, atom.relation)), whole)
        if isinstance(part, AnyOf):
            return None
        if isinstance(part, LinearAtom):
            several.append(part)
    return intersect_cubes(EVERYTHING, cube_of(several), kinds)


def compose_linear(linear: LinearForm, after: Mapping[str, LinearForm]) -> LinearForm:
    """The form after an update; names that it does not mention stay as they are."""
    total = constant_form(linear.constant)
    for name, factor in linear.coefficients:
        total = add_forms(total, scale_form(after.get(name, variable_form(name)), factor))
    return total


def atoms_of(cube: Cube) -> Iterable[LinearAtom]:
    """The comparisons of a cube, bounds included, clauses not."""
    for name, (low, high) in cube.box.items():
        if low is not None:
            yield LinearAtom(subtract_forms(constant_form(low), variable_form(name)), Relation.LE)
        if high is not None:
            yield LinearAtom(subtract_forms(variable_form(name), constant_form(high)), Relation.LE)
    yield from cube.rows


def bounds_to_rows(cube: Cube, names: Iterable[str]) -> Cube:
    """Bounds of these names as comparisons: a box is about what a question is asked of, not about outputs."""
    own = set(names)
    bounds = Cube({n: e for n, e in cube.box.items() if n in own}, ())
    kept = {n: e for n, e in cube.box.items() if n not in own}
    return Cube(kept, tuple(dict.fromkeys((*cube.rows, *atoms_of(bounds)))), cube.clauses)


def evaluate_linear_form(linear: LinearForm, point: Point) -> Fraction:
    total = linear.constant
    for name, factor in linear.coefficients:
        total += point[name] if factor == 1 else factor * point[name]
    return total


def unsettled_clauses(clauses: Iterable[AnyOf], point: Point) -> list[tuple[AnyOf, Formula]]:
    """The clauses that the point does not settle, and what is left of them: what it has no values for."""
    box: dict[str, Interval] = {n: (v, v) for n, v in point.items()}
    found = []
    for clause in clauses:
        free: dict[str, Interval] = dict.fromkeys(names_in_formula(clause) - point.keys(), (None, None))
        if (rest := simplify_formula(clause, {**box, **free})) != All():
            found.append((clause, rest))
    return found


def satisfies_cube(point: Point, cube: Cube) -> bool:
    """For cubes that mention nothing but what the point has values for."""
    inside = all(
        (low is None or low <= point[name]) and (high is None or point[name] <= high)
        for name, (low, high) in cube.box.items()
    )
    held = inside and all(
        relation_holds(evaluate_linear_form(row.linear, point), row.relation) for row in cube.rows
    )
    return held and not unsettled_clauses(cube.clauses, point)
