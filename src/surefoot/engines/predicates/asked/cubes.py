"""Conditions as alternatives of linear comparisons: boxes with rows, as a batch of questions takes them.

`ite`, `min`, `max`, `abs` and `%` by a constant are cases. Comparisons of whole numbers are made as tight as
they are. A cube that contradicts itself at sight is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import floor
from typing import TypeAlias

from surefoot.encode.interval import Kinds, Scalar
from surefoot.engines.predicates.tabulated.table import OutOfTime
from surefoot.errors import Unsupported
from surefoot.problem.environment import Bool, Int, Real
from surefoot.problem.term import Apply, Const, Op, Term, Var
from surefoot.query.formula import All, AnyOf, Atom, Formula, Relation, all_of, any_of, holds, normal, sharpen
from surefoot.query.linear import Linear, constant, linearise, minus, not_linear, plus, scaled, variable
from surefoot.work.budget import Budget

MOST = 16_384  # alternatives of one condition
FEW = 64  # alternatives that take no time
MOST_QUOTIENTS = 64  # of a division
Ends: TypeAlias = tuple[Fraction | None, Fraction | None]
Cases: TypeAlias = list[tuple[Formula, Linear]]
Side: TypeAlias = tuple[tuple[tuple[str, int, int], ...], tuple[int, int] | None]


@dataclass(frozen=True, slots=True)
class Cube:
    """Bounds of single names, and comparisons of several."""

    box: Mapping[str, Ends]
    rows: tuple[Atom, ...]


EVERYTHING = Cube({}, ())
UNHURRIED = Budget()


def whole_names(kinds: Kinds) -> frozenset[str]:
    return frozenset(n for n, k in kinds.items() if isinstance(k, Bool | Int))


def cubes(condition: Term, kinds: Kinds, clock: Budget = UNHURRIED) -> tuple[Cube, ...]:
    """The alternatives of a condition over scalars; raises `OutOfTime`."""
    return of_formula(sharpen(formula(condition, kinds), whole_names(kinds)), kinds, clock)


def formula(term: Term, kinds: Kinds, positive: bool = True) -> Formula:
    """The negation normal form of a condition, or of its negation, with cases for what is not linear."""
    match term:
        case Apply(Op.NOT, (inner,)):
            return formula(inner, kinds, not positive)
        case Apply(Op.AND | Op.OR as op, args):
            parts = (formula(a, kinds, positive) for a in args)
            return all_of(parts) if (op is Op.AND) is positive else any_of(parts)
        case Apply(Op.IMPLIES, (left, right)):
            return formula(~left | right, kinds, positive)
        case Apply(Op.ITE, (test, then, otherwise)):
            first = all_of((formula(test, kinds), formula(then, kinds, positive)))
            return any_of((first, all_of((formula(test, kinds, False), formula(otherwise, kinds, positive)))))
        case Apply(Op.EQ, (left, right)) if _is_condition(left, kinds) or _is_condition(right, kinds):
            same = any_of((_both(left, right, kinds, True, True), _both(left, right, kinds, False, False)))
            other = any_of((_both(left, right, kinds, True, False), _both(left, right, kinds, False, True)))
            return same if positive else other
        case Apply(Op.LE | Op.LT | Op.EQ as op, (left, right)):
            return any_of(
                all_of((first, second, _compared(op, minus(a, b), positive)))
                for first, a in numbers(left, kinds)
                for second, b in numbers(right, kinds)
            )
        case _:
            return normal(term, positive)


def _both(left: Term, right: Term, kinds: Kinds, first: bool, second: bool) -> Formula:
    return all_of((formula(left, kinds, first), formula(right, kinds, second)))


def _is_condition(term: Term, kinds: Kinds) -> bool:
    match term:
        case Const(value):
            return isinstance(value, bool)
        case Var(name):
            return isinstance(kinds.get(name), Bool)
        case Apply(Op.ITE, (_, then, _)):
            return _is_condition(then, kinds)
        case Apply(op, _):
            return op in (Op.AND, Op.OR, Op.NOT, Op.IMPLIES, Op.LE, Op.LT, Op.EQ)


def _compared(op: Op, difference: Linear, positive: bool) -> Formula:
    term = Apply(op, (Var("difference"), Const(0)))
    found = normal(term, positive)

    def filled(part: Formula) -> Formula:
        if isinstance(part, Atom):
            sign = part.linear.coefficients[0][1]
            return _atom(Atom(plus(scaled(difference, sign), constant(part.linear.constant)), part.relation))
        combine = all_of if isinstance(part, All) else any_of
        return combine(filled(p) for p in part.parts)

    return filled(found)


def _atom(atom: Atom) -> Formula:
    if not atom.linear.is_constant():
        return atom
    return All() if holds(atom.linear.constant, atom.relation) else AnyOf()


def numbers(term: Term, kinds: Kinds) -> Cases:
    """The values of a number-valued term, case by case; truth values are 1 and 0."""
    match term:
        case Const(value):
            return [(All(), constant(value))]
        case Var(name):
            return [(All(), variable(name))]
        case _ if _is_condition(term, kinds):
            return [(formula(term, kinds), constant(1)), (formula(term, kinds, False), constant(0))]
        case Apply(Op.ITE, (test, then, otherwise)):
            first = [(all_of((formula(test, kinds), c)), v) for c, v in numbers(then, kinds)]
            return first + [
                (all_of((formula(test, kinds, False), c)), v) for c, v in numbers(otherwise, kinds)
            ]
        case Apply(Op.MIN | Op.MAX as op, args):
            total = numbers(args[0], kinds)
            for part in args[1:]:
                total = _extreme(total, numbers(part, kinds), op is Op.MIN)
            return total
        case Apply(Op.ABS, (inner,)):
            both = numbers(inner, kinds)
            return _extreme(both, [(c, scaled(v, Fraction(-1))) for c, v in both], False, matching=True)
        case Apply(Op.MOD, (inner, Const(int() as divisor))) if divisor > 0:
            return [
                (all_of((c, d)), v) for c, a in numbers(inner, kinds) for d, v in _rest(a, divisor, kinds)
            ]
        case Apply(Op.ADD | Op.SUB | Op.NEG | Op.MUL | Op.DIV as op, args):
            return [_combined(op, choice, term) for choice in _several([numbers(a, kinds) for a in args])]
        case _:
            return [(All(), linearise(term))]


def _rest(value: Linear, divisor: int, kinds: Kinds) -> Cases:
    """What is left of a division by a whole number, for every quotient that is possible."""
    low, high = span(value, EVERYTHING, kinds)
    if low is None or high is None or (high - low) / divisor > MOST_QUOTIENTS:
        raise Unsupported("`%` has too many quotients for predicate abstraction", fix="narrow the ranges")
    found: Cases = []
    for quotient in range(floor(low / divisor), floor(high / divisor) + 1):
        left = minus(value, constant(quotient * divisor))
        at_least = _atom(Atom(scaled(left, Fraction(-1)), Relation.LE))
        below = _atom(Atom(minus(left, constant(divisor)), Relation.LT))
        found.append((all_of((at_least, below)), left))
    return [(c, v) for c, v in found if c != AnyOf()]


def _several(parts: list[Cases]) -> Iterable[tuple[tuple[Formula, Linear], ...]]:
    count = 1
    for part in parts:
        count *= len(part)
    if count > MOST:
        raise Unsupported("a term has too many cases for predicate abstraction")
    return product(*parts)


def _combined(op: Op, choice: tuple[tuple[Formula, Linear], ...], term: Term) -> tuple[Formula, Linear]:
    values = [v for _, v in choice]
    total = values[0]
    for value in values[1:]:
        match op:
            case Op.ADD:
                total = plus(total, value)
            case Op.SUB:
                total = minus(total, value)
            case Op.MUL if total.is_constant():
                total = scaled(value, total.constant)
            case Op.MUL if value.is_constant():
                total = scaled(total, value.constant)
            case Op.DIV if value.is_constant() and value.constant:
                total = scaled(total, 1 / value.constant)
            case _:
                raise not_linear(term)
    return all_of(c for c, _ in choice), scaled(total, Fraction(-1)) if op is Op.NEG else total


def _extreme(first: Cases, second: Cases, least: bool, matching: bool = False) -> Cases:
    """The smaller (larger) of two values, case by case."""
    pairs = list(zip(first, second, strict=True)) if matching else list(product(first, second))
    found: Cases = []
    for (here, a), (there, b) in pairs:
        difference = minus(a, b) if least else minus(b, a)
        within = _atom(Atom(difference, Relation.LE))
        beyond = _atom(Atom(scaled(difference, Fraction(-1)), Relation.LT))
        found += [(all_of((here, there, within)), a), (all_of((here, there, beyond)), b)]
    return [(c, v) for c, v in found if c != AnyOf()]


def of_formula(whole: Formula, kinds: Kinds, clock: Budget = UNHURRIED) -> tuple[Cube, ...]:
    """Multiplied out: the disjunction with the fewest alternatives that a cube leaves is taken first.

    Raises `OutOfTime`.
    """
    found: list[Cube] = []
    waiting: list[tuple[tuple[Formula, ...], Cube]] = [((whole,), EVERYTHING)]
    tried = 0
    while waiting:
        tried += 1
        if len(found) > MOST:
            raise Unsupported("a condition has too many cases for predicate abstraction")
        if tried > FEW and clock.spent():
            raise OutOfTime
        left = _propagated(*waiting.pop(), kinds)
        if left is None:
            continue
        several, cube = left
        if not several:
            found.append(cube)
            continue
        first = min(several, key=lambda s: len(s.parts))
        others = tuple(s for s in several if s is not first)
        waiting += [((*others, part), cube) for part in reversed(first.parts)]
    return tuple(found)


def _propagated(
    parts: tuple[Formula, ...], cube: Cube, kinds: Kinds
) -> tuple[tuple[AnyOf, ...], Cube] | None:
    """The cube with all that holds in it, and disjunctions of several alternatives each; None: nothing does.

    An alternative that the box of the cube excludes is left out; where one always holds nothing is said.
    """
    todo, several, seen = list(reversed(parts)), list[AnyOf](), cube
    while True:
        while todo:
            match todo.pop():
                case Atom() as atom:
                    made = joined(cube, cube_of((atom,)), kinds)
                    if made is None:
                        return None
                    cube = made
                case All(inner):
                    todo += reversed(inner)
                case AnyOf() as disjunction:
                    several.append(disjunction)
        kept: list[AnyOf] = []
        for disjunction in several:
            if any(isinstance(p, Atom) and _always(p, cube, kinds) for p in disjunction.parts):
                continue
            left = tuple(p for p in disjunction.parts if _fits(p, cube, kinds))
            if not left:
                return None
            if len(left) == 1:
                todo.append(left[0])
            else:
                kept.append(disjunction if len(left) == len(disjunction.parts) else AnyOf(left))
        several = kept
        if not todo and seen.box == cube.box:
            return tuple(several), cube
        seen = cube


def _fits(part: Formula, cube: Cube, kinds: Kinds) -> bool:
    """Is it possible within the box of the cube, as far as single comparisons tell?"""
    match part:
        case All(parts):
            return all(_fits(p, cube, kinds) for p in parts)
        case AnyOf(parts):
            return any(_fits(p, cube, kinds) for p in parts)
        case Atom():
            return not _impossible(part, cube, kinds)


def _always(atom: Atom, cube: Cube, kinds: Kinds) -> bool:
    """Does every point of the box satisfy this comparison?"""
    low, high = span(atom.linear, cube, kinds)
    match atom.relation:
        case Relation.LE:
            return high is not None and high <= 0
        case Relation.LT:
            return high is not None and high < 0
        case Relation.EQ:
            return low == high == 0


def meet(first: Sequence[Cube], second: Sequence[Cube], kinds: Kinds) -> list[Cube]:
    """All pairs of alternatives that do not contradict each other."""
    if len(first) * len(second) > 16 * MOST:
        raise Unsupported("a condition has too many cases for predicate abstraction")
    return [c for a in first for b in second if (c := joined(a, b, kinds)) is not None]


def cube_of(atoms: Iterable[Atom]) -> Cube:
    """Comparisons of one name bound it; strict ones of real numbers stay rows as well."""
    box: dict[str, Ends] = {}
    rows: list[Atom] = []
    for atom in atoms:
        if len(atom.linear.coefficients) != 1:
            rows.append(atom)
            continue
        ((name, factor),) = atom.linear.coefficients
        end = -atom.linear.constant / factor
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
    made = Cube(box, rows)
    doubtful = (
        [r for r in first.rows if any(n in changed for n, _ in r.linear.coefficients)] if changed else []
    )
    return None if any(_impossible(row, made, kinds) for row in (*new, *doubtful)) else made


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


def _beyond(low: Fraction | None, high: Fraction | None, kind: Scalar) -> bool:
    """Has no value of this kind these bounds?"""
    least, most = _range(kind)
    return (low is not None and most is not None and low > most) or (
        high is not None and least is not None and high < least
    )


def _impossible(row: Atom, cube: Cube, kinds: Kinds) -> bool:
    """Does no point of the box satisfy this comparison?"""
    low, high = span(row.linear, cube, kinds)
    if low is not None and (low > 0 or (low == 0 and row.relation is Relation.LT)):
        return True
    return row.relation is Relation.EQ and high is not None and high < 0


def span(linear: Linear, cube: Cube, kinds: Kinds) -> Ends:
    """Between which numbers a linear form lies on the box of a cube."""
    low: Fraction | None = linear.constant
    high: Fraction | None = linear.constant
    for name, factor in linear.coefficients:
        below, above = ends(name, cube, kinds)
        if factor < 0:
            below, above = above, below
        low = None if low is None or below is None else low + factor * below
        high = None if high is None or above is None else high + factor * above
    return low, high


def ends(name: str, cube: Cube, kinds: Kinds) -> Ends:
    """The bounds of a name: those of the cube within those of its kind."""
    least, most = _range(kinds[name])
    below, above = cube.box.get(name, (None, None))
    below = least if below is None else below if least is None else max(below, least)
    above = most if above is None else above if most is None else min(above, most)
    return below, above


@lru_cache(1 << 12)
def _range(kind: Scalar) -> Ends:
    match kind:
        case Bool():
            return Fraction(0), Fraction(1)
        case Int(low, high) | Real(low, high):
            return None if low is None else Fraction(low), None if high is None else Fraction(high)


def composed(cube: Cube, after: Mapping[str, Linear], kinds: Kinds) -> Cube | None:
    """What must hold before an update so that the cube holds after it; None: it never does."""
    whole = whole_names(kinds)
    atoms: list[Atom] = []
    for atom in atoms_of(cube):
        total = constant(atom.linear.constant)
        for name, factor in atom.linear.coefficients:
            total = plus(total, scaled(after.get(name, variable(name)), factor))
        part = sharpen(_atom(Atom(total, atom.relation)), whole)
        if isinstance(part, AnyOf):
            return None
        if isinstance(part, Atom):
            atoms.append(part)
    return joined(EVERYTHING, cube_of(atoms), kinds)


def atoms_of(cube: Cube) -> Iterable[Atom]:
    """The comparisons of a cube, bounds included."""
    for name, (low, high) in cube.box.items():
        if low is not None:
            yield Atom(minus(constant(low), variable(name)), Relation.LE)
        if high is not None:
            yield Atom(minus(variable(name), constant(high)), Relation.LE)
    yield from cube.rows
