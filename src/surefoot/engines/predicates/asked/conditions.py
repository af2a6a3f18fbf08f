"""Conditions as alternatives of linear comparisons: boxes with rows, as a batch of questions takes them.

`ite`, `min`, `max`, `abs` and `%` by a constant are cases. Comparisons of whole numbers are made as tight as
they are. A cube that contradicts itself at sight is dropped.
"""

from __future__ import annotations

from collections.abc import Iterable, Set
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import floor
from typing import TypeAlias

from surefoot.encode.interval import Kinds
from surefoot.engines.predicates.asked.cubes import (
    EVERYTHING,
    MOST,
    Cube,
    cube_of,
    impossible,
    joined,
    named,
    normal_atom,
    span,
    whole_names,
)
from surefoot.engines.predicates.tabulated.table import OutOfTime
from surefoot.errors import Unsupported
from surefoot.problem.environment import Bool
from surefoot.problem.term import Apply, Const, Op, Term, Var
from surefoot.query.formula import All, AnyOf, Atom, Formula, Relation, all_of, any_of, normal, sharpen
from surefoot.query.linear import Linear, constant, linearise, minus, not_linear, plus, scaled, variable
from surefoot.work.budget import Budget

FEW = 64  # alternatives that take no time
TRIES = 16  # for each alternative that there may be
MOST_QUOTIENTS = 64  # of a division
Cases: TypeAlias = list[tuple[Formula, Linear]]

UNHURRIED = Budget()
NOTHING: Set[str] = frozenset()


def cubes(
    condition: Term,
    kinds: Kinds,
    clock: Budget = UNHURRIED,
    *,
    undivided: Set[str] = NOTHING,
    most: int = MOST,
) -> tuple[Cube, ...]:
    """The alternatives of a condition over scalars, multiplied out.

    A disjunction that mentions an `undivided` name stays a clause. Raises `OutOfTime`, and `Unsupported` if
    there are more than `most`.
    """
    whole = sharpen(formula(condition, kinds), whole_names(kinds))
    return of_formula(whole, kinds, clock, undivided=undivided, most=most)


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
            return normal_atom(
                Atom(plus(scaled(difference, sign), constant(part.linear.constant)), part.relation)
            )
        combine = all_of if isinstance(part, All) else any_of
        return combine(filled(p) for p in part.parts)

    return filled(found)


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
        case Apply(Op.MOD, (inner, Const(int() as divisor))) if divisor:
            return [
                (all_of((c, d)), v)
                for c, a in numbers(inner, kinds)
                for d, v in _rest(a, abs(divisor), kinds)
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
        at_least = normal_atom(Atom(scaled(left, Fraction(-1)), Relation.LE))
        below = normal_atom(Atom(minus(left, constant(divisor)), Relation.LT))
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
        within = normal_atom(Atom(difference, Relation.LE))
        beyond = normal_atom(Atom(scaled(difference, Fraction(-1)), Relation.LT))
        found += [(all_of((here, there, within)), a), (all_of((here, there, beyond)), b)]
    return [(c, v) for c, v in found if c != AnyOf()]


def of_formula(
    whole: Formula,
    kinds: Kinds,
    clock: Budget = UNHURRIED,
    *,
    undivided: Set[str] = NOTHING,
    most: int = MOST,
) -> tuple[Cube, ...]:
    """See `cubes`. The disjunction with the fewest alternatives that a cube leaves is taken first."""
    found: list[Cube] = []
    waiting: list[tuple[Formula, Cube]] = [(whole, EVERYTHING)]
    tried = 0
    while waiting:
        tried += 1
        if len(found) > most or tried > TRIES * most:
            raise Unsupported("a condition has too many cases for predicate abstraction")
        if tried > FEW and clock.spent():
            raise OutOfTime
        cube = within(*waiting.pop(), kinds)
        if cube is None:
            continue
        several = [c for c in cube.clauses if not undivided or undivided.isdisjoint(named(c))]
        if several:
            waiting += reversed(divided(cube, min(several, key=lambda c: len(c.parts))))
        else:
            found.append(cube)
    return tuple(found)


def divided(cube: Cube, clause: AnyOf) -> list[tuple[Formula, Cube]]:
    """The parts of one of its clauses, each with the cube in which it is to hold."""
    rest = replace(cube, clauses=tuple(c for c in cube.clauses if c is not clause))
    return [(part, rest) for part in clause.parts]


def within(condition: Formula, cube: Cube, kinds: Kinds) -> Cube | None:
    """The cube where the condition holds: with clauses of several alternatives each; None: nowhere.

    An alternative that the box of the cube excludes is left out; where one always holds nothing is said.
    """
    todo, several, seen = [condition], list(cube.clauses), cube
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
            if _always(disjunction, cube, kinds):
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
            return replace(cube, clauses=tuple(several))
        seen = cube


def _fits(part: Formula, cube: Cube, kinds: Kinds) -> bool:
    """Is it possible within the box of the cube, as far as single comparisons tell?"""
    match part:
        case All(parts):
            return all(_fits(p, cube, kinds) for p in parts)
        case AnyOf(parts):
            return any(_fits(p, cube, kinds) for p in parts)
        case Atom():
            return not impossible(part, cube, kinds)


def _always(part: Formula, cube: Cube, kinds: Kinds) -> bool:
    """Does every point of the box satisfy this, as far as single comparisons tell?"""
    match part:
        case All(parts):
            return all(_always(p, cube, kinds) for p in parts)
        case AnyOf(parts):
            return any(_always(p, cube, kinds) for p in parts)
        case Atom(linear, relation):
            low, high = span(linear, cube, kinds)
            if relation is Relation.EQ:
                return low == high == 0
            return high is not None and (high < 0 or (high == 0 and relation is Relation.LE))
