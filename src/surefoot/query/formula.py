"""Negation normal form: linear atoms under `All` and `AnyOf`, strict comparisons kept apart from others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from math import floor, gcd, lcm
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.term.linear import LinearForm, linearise_term, scale_form, subtract_forms
from surefoot.term.normal_form import fold_condition
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Op, Term, Var


class Relation(Enum):
    LE = "<="
    LT = "<"
    EQ = "="


@dataclass(frozen=True, slots=True)
class LinearAtom:
    """`linear relation 0`. A truth value b is the number 1 or 0: `b` is 1 - b = 0, `not b` is b = 0."""

    linear: LinearForm
    relation: Relation


@dataclass(frozen=True, slots=True)
class All:
    """True if every part is; without parts, true."""

    parts: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True)
class AnyOf:
    """True if some part is; without parts, false."""

    parts: tuple[Formula, ...] = ()


Formula: TypeAlias = LinearAtom | All | AnyOf


def negation_normal_form(term: Term, positive: bool = True) -> Formula:
    """The normal form of a lowered term, or of its negation; `Unsupported` for what lowering removes."""
    return fold_condition(term, positive, _literal_formula, conjoin_formulas, disjoin_formulas)


def _literal_formula(term: Term, positive: bool) -> Formula:
    match term:
        case Apply(Op.LE | Op.LT | Op.EQ as op, (left, right)):
            return normalise_comparison(
                op, subtract_forms(linearise_term(left), linearise_term(right)), positive
            )
        case Var(name):
            sign, base = (Fraction(-1), Fraction(1)) if positive else (Fraction(1), Fraction(0))
            return LinearAtom(LinearForm(((name, sign),), base), Relation.EQ)
        case _:
            raise Unsupported(
                f"`{show_term(term)}` is not a comparison of linear terms", fix="lower the query first"
            )


def conjoin_formulas(parts: Iterable[Formula]) -> Formula:
    kept: list[Formula] = []
    for part in parts:
        if isinstance(part, AnyOf) and not part.parts:
            return AnyOf()
        kept.extend(part.parts if isinstance(part, All) else (part,))
    return kept[0] if len(kept) == 1 else All(tuple(kept))


def disjoin_formulas(parts: Iterable[Formula]) -> Formula:
    kept: list[Formula] = []
    for part in parts:
        if isinstance(part, All) and not part.parts:
            return All()
        kept.extend(part.parts if isinstance(part, AnyOf) else (part,))
    return kept[0] if len(kept) == 1 else AnyOf(tuple(kept))


def formula_atoms(formula: Formula) -> Iterable[LinearAtom]:
    """Every atom of a formula, from left to right."""
    if isinstance(formula, LinearAtom):
        yield formula
    else:
        for part in formula.parts:
            yield from formula_atoms(part)


def normalise_comparison(op: Op, difference: LinearForm, positive: bool) -> Formula:
    """`difference op 0` or its negation."""
    if op is Op.EQ and not positive:
        opposite = scale_form(difference, Fraction(-1))
        return disjoin_formulas((_make_atom(difference, Relation.LT), _make_atom(opposite, Relation.LT)))
    if op is Op.EQ:
        return _make_atom(difference, Relation.EQ)
    relation = Relation.LT if (op is Op.LT) is positive else Relation.LE
    return _make_atom(difference if positive else scale_form(difference, Fraction(-1)), relation)


def _make_atom(linear: LinearForm, relation: Relation) -> Formula:
    if not linear.is_constant():
        return LinearAtom(linear, relation)
    return All() if relation_holds(linear.constant, relation) else AnyOf()


def relation_holds(value: Fraction, relation: Relation) -> bool:
    """Does `value relation 0` hold?"""
    match relation:
        case Relation.LE:
            return value <= 0
        case Relation.LT:
            return value < 0
        case Relation.EQ:
            return value == 0


def sharpen_integer_atoms(formula: Formula, whole: frozenset[str]) -> Formula:
    """The same formula with comparisons of whole numbers made as tight as they are: 2x < 5 becomes x <= 2."""
    if not whole:
        return formula
    match formula:
        case All(parts):
            return conjoin_formulas(sharpen_integer_atoms(p, whole) for p in parts)
        case AnyOf(parts):
            return disjoin_formulas(sharpen_integer_atoms(p, whole) for p in parts)
        case LinearAtom(linear, relation) if all(n in whole for n, _ in linear.coefficients):
            return _sharpen_atom(linear, relation)
        case _:
            return formula


def _sharpen_atom(linear: LinearForm, relation: Relation) -> Formula:
    up = lcm(*(c.denominator for _, c in linear.coefficients))
    divisor = gcd(*(int(c * up) for _, c in linear.coefficients))
    exact = scale_form(linear, Fraction(up, divisor))  # whole coefficients without a common divisor
    if relation is Relation.EQ:
        return LinearAtom(exact, relation) if exact.constant.denominator == 1 else AnyOf()
    limit = -exact.constant
    largest = floor(limit) - (1 if relation is Relation.LT and limit.denominator == 1 else 0)
    return LinearAtom(LinearForm(exact.coefficients, Fraction(-largest)), Relation.LE)
