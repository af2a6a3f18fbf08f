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

from surefoot.engines.predicates.dynamics import OutOfTime
from surefoot.engines.predicates.symbolic.cubes import (
    EVERYTHING,
    MOST,
    Cube,
    bound_linear_form,
    cube_of,
    integer_names,
    intersect_cubes,
    is_row_impossible,
    names_in_formula,
    normal_atom,
)
from surefoot.errors import Unsupported
from surefoot.query.formula import (
    All,
    AnyOf,
    Formula,
    LinearAtom,
    Relation,
    conjoin_formulas,
    disjoin_formulas,
    negation_normal_form,
    normalise_comparison,
    sharpen_integer_atoms,
)
from surefoot.term.interval import Kinds
from surefoot.term.linear import (
    LinearForm,
    add_forms,
    constant_form,
    linearise_term,
    nonlinear_error,
    scale_form,
    subtract_forms,
    variable_form,
)
from surefoot.term.normal_form import fold_condition
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.types import is_truth_value
from surefoot.work.budget import Budget

FEW = 64  # alternatives that take no time
TRIES = 16  # for each alternative that there may be
MOST_QUOTIENTS = 64  # of a division
Cases: TypeAlias = list[tuple[Formula, LinearForm]]

UNHURRIED = Budget()
NOTHING: Set[str] = frozenset()


def condition_to_cubes(
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
    whole = sharpen_integer_atoms(condition_to_formula(condition, kinds), integer_names(kinds))
    return formula_to_cubes(whole, kinds, clock, undivided=undivided, most=most)


def condition_to_formula(term: Term, kinds: Kinds, positive: bool = True) -> Formula:
    """The negation normal form of a condition, or of its negation, with cases for what is not linear."""

    def literal(part: Term, sign: bool) -> Formula:
        match part:
            case Apply(Op.LE | Op.LT | Op.EQ as op, (left, right)):
                return disjoin_formulas(
                    conjoin_formulas((first, second, normalise_comparison(op, subtract_forms(a, b), sign)))
                    for first, a in term_cases(left, kinds)
                    for second, b in term_cases(right, kinds)
                )
            case _:
                return negation_normal_form(part, sign)

    def is_truth(part: Term) -> bool:
        return is_truth_value(part, kinds)

    return fold_condition(term, positive, literal, conjoin_formulas, disjoin_formulas, is_truth=is_truth)


def term_cases(term: Term, kinds: Kinds) -> Cases:
    """The values of a number-valued term, case by case; truth values are 1 and 0."""
    match term:
        case Const(value):
            return [(All(), constant_form(value))]
        case Var(name):
            return [(All(), variable_form(name))]
        case _ if is_truth_value(term, kinds):
            return [
                (condition_to_formula(term, kinds), constant_form(1)),
                (condition_to_formula(term, kinds, False), constant_form(0)),
            ]
        case Apply(Op.ITE, (test, then, otherwise)):
            first = [
                (conjoin_formulas((condition_to_formula(test, kinds), c)), v)
                for c, v in term_cases(then, kinds)
            ]
            return first + [
                (conjoin_formulas((condition_to_formula(test, kinds, False), c)), v)
                for c, v in term_cases(otherwise, kinds)
            ]
        case Apply(Op.MIN | Op.MAX as op, args):
            total = term_cases(args[0], kinds)
            for part in args[1:]:
                total = _extreme_cases(total, term_cases(part, kinds), op is Op.MIN)
            return total
        case Apply(Op.ABS, (inner,)):
            both = term_cases(inner, kinds)
            return _extreme_cases(
                both, [(c, scale_form(v, Fraction(-1))) for c, v in both], False, matching=True
            )
        case Apply(Op.MOD, (inner, Const(int() as divisor))) if divisor:
            return [
                (conjoin_formulas((c, d)), v)
                for c, a in term_cases(inner, kinds)
                for d, v in _remainder_cases(a, abs(divisor), kinds)
            ]
        case Apply(Op.ADD | Op.SUB | Op.NEG | Op.MUL | Op.DIV as op, args):
            return [
                _combine_case(op, choice, term)
                for choice in _case_combinations([term_cases(a, kinds) for a in args])
            ]
        case _:
            return [(All(), linearise_term(term))]


def _remainder_cases(value: LinearForm, divisor: int, kinds: Kinds) -> Cases:
    """What is left of a division by a whole number, for every quotient that is possible."""
    low, high = bound_linear_form(value, EVERYTHING, kinds)
    if low is None or high is None or (high - low) / divisor > MOST_QUOTIENTS:
        raise Unsupported("`%` has too many quotients for predicate abstraction", fix="narrow the ranges")
    found: Cases = []
    for quotient in range(floor(low / divisor), floor(high / divisor) + 1):
        left = subtract_forms(value, constant_form(quotient * divisor))
        at_least = normal_atom(LinearAtom(scale_form(left, Fraction(-1)), Relation.LE))
        below = normal_atom(LinearAtom(subtract_forms(left, constant_form(divisor)), Relation.LT))
        found.append((conjoin_formulas((at_least, below)), left))
    return [(c, v) for c, v in found if c != AnyOf()]


def _case_combinations(parts: list[Cases]) -> Iterable[tuple[tuple[Formula, LinearForm], ...]]:
    count = 1
    for part in parts:
        count *= len(part)
    if count > MOST:
        raise Unsupported("a term has too many cases for predicate abstraction")
    return product(*parts)


def _combine_case(
    op: Op, choice: tuple[tuple[Formula, LinearForm], ...], term: Term
) -> tuple[Formula, LinearForm]:
    values = [v for _, v in choice]
    total = values[0]
    for value in values[1:]:
        match op:
            case Op.ADD:
                total = add_forms(total, value)
            case Op.SUB:
                total = subtract_forms(total, value)
            case Op.MUL if total.is_constant():
                total = scale_form(value, total.constant)
            case Op.MUL if value.is_constant():
                total = scale_form(total, value.constant)
            case Op.DIV if value.is_constant() and value.constant:
                total = scale_form(total, 1 / value.constant)
            case _:
                raise nonlinear_error(term)
    return conjoin_formulas(c for c, _ in choice), scale_form(total, Fraction(-1)) if op is Op.NEG else total


def _extreme_cases(first: Cases, second: Cases, least: bool, matching: bool = False) -> Cases:
    """The smaller (larger) of two values, case by case."""
    pairs = list(zip(first, second, strict=True)) if matching else list(product(first, second))
    found: Cases = []
    for (here, a), (there, b) in pairs:
        difference = subtract_forms(a, b) if least else subtract_forms(b, a)
        within = normal_atom(LinearAtom(difference, Relation.LE))
        beyond = normal_atom(LinearAtom(scale_form(difference, Fraction(-1)), Relation.LT))
        found += [(conjoin_formulas((here, there, within)), a), (conjoin_formulas((here, there, beyond)), b)]
    return [(c, v) for c, v in found if c != AnyOf()]


def formula_to_cubes(
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
        if tried > FEW and clock.is_spent():
            raise OutOfTime
        cube = restrict_cube(*waiting.pop(), kinds)
        if cube is None:
            continue
        several = [c for c in cube.clauses if not undivided or undivided.isdisjoint(names_in_formula(c))]
        if several:
            waiting += reversed(split_clause(cube, min(several, key=lambda c: len(c.parts))))
        else:
            found.append(cube)
    return tuple(found)


def split_clause(cube: Cube, clause: AnyOf) -> list[tuple[Formula, Cube]]:
    """The parts of one of its clauses, each with the cube in which it is to hold."""
    rest = replace(cube, clauses=tuple(c for c in cube.clauses if c is not clause))
    return [(part, rest) for part in clause.parts]


def restrict_cube(condition: Formula, cube: Cube, kinds: Kinds) -> Cube | None:
    """The cube where the condition holds: with clauses of several alternatives each; None: nowhere.

    An alternative that the box of the cube excludes is left out; where one always holds nothing is said.
    """
    todo, several, seen = [condition], list(cube.clauses), cube
    while True:
        while todo:
            match todo.pop():
                case LinearAtom() as atom:
                    made = intersect_cubes(cube, cube_of((atom,)), kinds)
                    if made is None:
                        return None
                    cube = made
                case All(inner):
                    todo += reversed(inner)
                case AnyOf() as disjunction:
                    several.append(disjunction)
        kept: list[AnyOf] = []
        for disjunction in several:
            if _holds_everywhere(disjunction, cube, kinds):
                continue
            left = tuple(p for p in disjunction.parts if _is_possible_in(p, cube, kinds))
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


def _is_possible_in(part: Formula, cube: Cube, kinds: Kinds) -> bool:
    """Is it possible within the box of the cube, as far as single comparisons tell?"""
    match part:
        case All(parts):
            return all(_is_possible_in(p, cube, kinds) for p in parts)
        case AnyOf(parts):
            return any(_is_possible_in(p, cube, kinds) for p in parts)
        case LinearAtom():
            return not is_row_impossible(part, cube, kinds)


def _holds_everywhere(part: Formula, cube: Cube, kinds: Kinds) -> bool:
    """Does every point of the box satisfy this, as far as single comparisons tell?"""
    match part:
        case All(parts):
            return all(_holds_everywhere(p, cube, kinds) for p in parts)
        case AnyOf(parts):
            return any(_holds_everywhere(p, cube, kinds) for p in parts)
        case LinearAtom(linear, relation):
            low, high = bound_linear_form(linear, cube, kinds)
            if relation is Relation.EQ:
                return low == high == 0
            return high is not None and (high < 0 or (high == 0 and relation is Relation.LE))
