"""Negation normal form: linear atoms under `All` and `AnyOf`, strict comparisons kept apart from others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import floor, gcd, lcm
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.problem.show import show
from surefoot.problem.term import Apply, Const, Op, Term, Var
from surefoot.query.linear import Linear, linearise, minus, scaled


class Relation(Enum):
    LE = "<="
    LT = "<"
    EQ = "="


@dataclass(frozen=True, slots=True)
class Atom:
    """`linear relation 0`. A truth value b is the number 1 or 0: `b` is 1 - b = 0, `not b` is b = 0."""

    linear: Linear
    relation: Relation


@dataclass(frozen=True, slots=True)
class All:
    """True if every part is; without parts, true."""

    parts: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """True if some part is; without parts, false."""

    parts: tuple[Formula, ...] = ()


Formula: TypeAlias = Atom | All | AnyOf


def normal(term: Term, positive: bool = True) -> Formula:
    """The normal form of a lowered term, or of its negation; `Unsupported` for what lowering removes."""
    match term:
        case Apply(Op.LE | Op.LT | Op.EQ as op, (left, right)):
            return _comparison(op, minus(linearise(left), linearise(right)), positive)
        case Const(bool(value)):
            return All() if value is positive else AnyOf()
        case Var(name):
            sign, base = (Fraction(-1), Fraction(1)) if positive else (Fraction(1), Fraction(0))
            return Atom(Linear(((name, sign),), base), Relation.EQ)
        case Apply(Op.NOT, (inner,)):
            return normal(inner, not positive)
        case Apply(Op.AND | Op.OR as op, args):
            parts = (normal(a, positive) for a in args)
            return all_of(parts) if (op is Op.AND) is positive else any_of(parts)
        case _:
            raise Unsupported(
                f"`{show(term)}` is not a comparison of linear terms", fix="lower the query first"
            )


def all_of(parts: Iterable[Formula]) -> Formula:
    kept: list[Formula] = []
    for part in parts:
        if isinstance(part, AnyOf) and not part.parts:
            return AnyOf()
        kept.extend(part.parts if isinstance(part, All) else (part,))
    return kept[0] if len(kept) == 1 else All(tuple(kept))


def any_of(parts: Iterable[Formula]) -> Formula:
    kept: list[Formula] = []
    for part in parts:
        if isinstance(part, All) and not part.parts:
            return All()
        kept.extend(part.parts if isinstance(part, AnyOf) else (part,))
    return kept[0] if len(kept) == 1 else AnyOf(tuple(kept))


def atoms(formula: Formula) -> Iterable[Atom]:
    """Every atom of a formula, from left to right."""
    if isinstance(formula, Atom):
        yield formula
    else:
        for part in formula.parts:
            yield from atoms(part)


def _comparison(op: Op, difference: Linear, positive: bool) -> Formula:
    if op is Op.EQ and not positive:
        opposite = scaled(difference, Fraction(-1))
        return any_of((_atom(difference, Relation.LT), _atom(opposite, Relation.LT)))
    if op is Op.EQ:
        return _atom(difference, Relation.EQ)
    relation = Relation.LT if (op is Op.LT) is positive else Relation.LE
    return _atom(difference if positive else scaled(difference, Fraction(-1)), relation)


def _atom(linear: Linear, relation: Relation) -> Formula:
    if not linear.is_constant():
        return Atom(linear, relation)
    return All() if holds(linear.constant, relation) else AnyOf()


def holds(value: Fraction, relation: Relation) -> bool:
    """Does `value relation 0` hold?"""
    match relation:
        case Relation.LE:
            return value <= 0
        case Relation.LT:
            return value < 0
        case Relation.EQ:
            return value == 0


def sharpen(formula: Formula, whole: frozenset[str]) -> Formula:
    """The same formula with comparisons of whole numbers made as tight as they are: 2x < 5 becomes x <= 2."""
    if not whole:
        return formula
    match formula:
        case All(parts):
            return all_of(sharpen(p, whole) for p in parts)
        case AnyOf(parts):
            return any_of(sharpen(p, whole) for p in parts)
        case Atom(linear, relation) if all(n in whole for n, _ in linear.coefficients):
            return _sharp(linear, relation)
        case _:
            return formula


def _sharp(linear: Linear, relation: Relation) -> Formula:
    up = lcm(*(c.denominator for _, c in linear.coefficients))
    divisor = gcd(*(int(c * up) for _, c in linear.coefficients))
    exact = scaled(linear, Fraction(up, divisor))  # whole coefficients without a common divisor
    if relation is Relation.EQ:
        return Atom(exact, relation) if exact.constant.denominator == 1 else AnyOf()
    limit = -exact.constant
    largest = floor(limit) - (1 if relation is Relation.LT and limit.denominator == 1 else 0)
    return Atom(Linear(exact.coefficients, Fraction(-largest)), Relation.LE)
