"""Terms of a problem as formulas: numbers that are linear in cases, truth values with both their signs.

A number is a list of pairs (condition, linear form): wherever a condition holds the number is that form, and
everywhere some condition holds. A truth value is a pair of formulas: where it may be true, and where it may
be false. For most terms these exclude each other; where the policy's choice is open (a tie) both may hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from ...kernel.query import Ends, Formula, Linear, add_scaled_form
from ...kernel.strict_json import Refused, limit_bits
from ...kernel.term import BOOLEAN, NUMBER, Term, atom_key, is_atom, is_number, term_type
from .formula import (
    FALSE,
    TRUE,
    form_comparison,
    form_multiple,
    formula_and,
    formula_or,
    simplify_by_bounds,
)

Number = tuple[tuple[Formula, Linear], ...]
Truth = tuple[Formula, Formula]
MOST_CASES = 256


@dataclass(frozen=True, slots=True)
class FormulaScope:
    """What names, and other atoms, stand for; a truth value that is among the numbers may be used as one."""

    numbers: Mapping[Any, Number] = field(default_factory=dict)  # by `atom_key`
    truths: Mapping[Any, Truth] = field(default_factory=dict)
    bounds: Mapping[str, Ends] = field(default_factory=dict)  # of the variables in all of these
    is_open: bool = False  # some truth value may be true and may be false at the same time


def constant_cases(value: Fraction | int) -> Number:
    return ((TRUE, {"": Fraction(value)} if value else {}),)


def variable_cases(name: str) -> Number:
    return ((TRUE, {name: Fraction(1)}),)


def _is_truth_valued(term: Term, scope: FormulaScope) -> bool:
    return term_type(term, lambda atom: BOOLEAN if atom_key(atom) in scope.truths else NUMBER) == BOOLEAN


def number_cases(term: Term, scope: FormulaScope) -> Number:
    """The value of a number-valued term."""
    if is_number(term):
        return constant_cases(term)
    if is_atom(term):
        if (key := atom_key(term)) not in scope.numbers:
            raise Refused(f"`{str(key)[:60]}` is not the name of a number here")
        return scope.numbers[key]
    word = term[0] if type(term) is tuple else ""
    match word:
        case "ite":
            test, then, otherwise = term[1:]
            yes, no = truth_formula(test, True, scope), truth_formula(test, False, scope)
            both = [(yes, number_cases(then, scope)), (no, number_cases(otherwise, scope))]
            return _possible_cases(
                [(formula_and((c, where)), line) for c, cases in both for where, line in cases], scope
            )
        case "+" | "-" | "*" | "/" | "negate" | "min" | "max" | "abs":
            return _combine_cases(word, [number_cases(part, scope) for part in term[1:]], scope)
    raise Refused("a truth value stands where a number is needed, or an operator that is not linear")


def _combine_cases(word: str, parts: list[Number], scope: FormulaScope) -> Number:
    """The operator applied to every combination of cases."""
    if prod(map(len, parts)) > MOST_CASES:
        raise Refused(f"a number with more than {MOST_CASES} cases")
    found: list[tuple[Formula, Linear]] = []
    for combination in product(*parts):
        where = formula_and(c for c, _ in combination)
        found += [
            (formula_and((where, more)), line)
            for more, line in _apply_operator(word, [x for _, x in combination])
        ]
    return _possible_cases(found, scope)


def _apply_operator(word: str, lines: list[Linear]) -> list[tuple[Formula, Linear]]:
    minus = Fraction(-1)
    match word:
        case "+":
            total: Linear = {}
            for line in lines:
                total = _limit_coefficients(add_scaled_form(total, Fraction(1), line))
            return [(TRUE, total)]
        case "-":
            return [(TRUE, _limit_coefficients(add_scaled_form(lines[0], minus, lines[1])))]
        case "negate":
            return [(TRUE, form_multiple(lines[0], minus))]
        case "*":
            result: Linear = {"": Fraction(1)}
            for line in lines:
                if line.keys() - {""} and result.keys() - {""}:
                    raise Refused("a product of two numbers that vary")
                varying, fixed = (line, result) if line.keys() - {""} else (result, line)
                result = _limit_coefficients(form_multiple(varying, fixed.get("", Fraction(0))))
            return [(TRUE, result)]
        case "/":
            if lines[1].keys() != {""}:
                raise Refused("a division by zero or by a number that varies")
            return [(TRUE, _limit_coefficients(form_multiple(lines[0], 1 / lines[1][""])))]
        case "abs":
            return _extreme_cases([lines[0], form_multiple(lines[0], minus)], "max")
        case _:
            return _extreme_cases(lines, word)


def _limit_coefficients(line: Linear) -> Linear:
    for coefficient in line.values():
        limit_bits(coefficient)
    return line


def _extreme_cases(lines: list[Linear], word: str) -> list[tuple[Formula, Linear]]:
    """The least or greatest of several forms, one case for each of them."""
    found = []
    for i, line in enumerate(lines):
        others = [other for j, other in enumerate(lines) if j != i]
        ahead = (
            form_comparison("<=", *((line, other) if word == "min" else (other, line))) for other in others
        )
        found.append((formula_and(ahead), line))
    return found


def _possible_cases(cases: list[tuple[Formula, Linear]], scope: FormulaScope) -> Number:
    """The cases that may occur, those with the same form together; or the first that is always there."""
    together: dict[tuple[tuple[str, Fraction], ...], list[Formula]] = {}
    for condition, line in cases:
        where = simplify_by_bounds(condition, scope.bounds, frozenset())
        if where == TRUE and not scope.is_open:
            return ((TRUE, line),)
        if where != FALSE:
            together.setdefault(tuple(sorted(line.items())), []).append(where)
    if len(together) > MOST_CASES:
        raise Refused(f"a number with more than {MOST_CASES} cases")
    if len(together) == 1:
        return tuple((TRUE, dict(line)) for line in together)
    return tuple((formula_or(several), dict(line)) for line, several in together.items())


def truth_formula(term: Term, wanted: bool, scope: FormulaScope) -> Formula:
    """Where a truth value may be `wanted`."""
    if type(term) is bool:
        return TRUE if term is wanted else FALSE
    if is_atom(term):
        if (key := atom_key(term)) not in scope.truths:
            raise Refused(f"`{str(key)[:60]}` is not the name of a truth value here")
        return scope.truths[key][0 if wanted else 1]
    word = term[0] if type(term) is tuple else ""
    match word:
        case "not":
            return truth_formula(term[1], not wanted, scope)
        case "and" | "or":
            parts = (truth_formula(part, wanted, scope) for part in term[1:])
            return formula_and(parts) if (word == "and") is wanted else formula_or(parts)
        case "=>":
            return truth_formula(("or", ("not", term[1]), term[2]), wanted, scope)
        case "ite":
            sides = ((True, term[2]), (False, term[3]))
            ways = [(truth_formula(term[1], v, scope), truth_formula(t, wanted, scope)) for v, t in sides]
            return formula_or(map(formula_and, ways))
        case "=" if _is_truth_valued(term[1], scope) and _is_truth_valued(term[2], scope):
            ways = [
                (truth_formula(term[1], v, scope), truth_formula(term[2], v is wanted, scope))
                for v in (True, False)
            ]
            return formula_or(map(formula_and, ways))
        case "<" | "<=" | "=":
            return _compare_cases(word, wanted, number_cases(term[1], scope), number_cases(term[2], scope))
    raise Refused("a number stands where a truth value is needed")


def _compare_cases(word: str, wanted: bool, left: Number, right: Number) -> Formula:
    if len(left) * len(right) > MOST_CASES:
        raise Refused(f"a comparison with more than {MOST_CASES} cases")
    found = []
    for (here, a), (there, b) in product(left, right):
        if wanted:
            said = form_comparison(word, a, b)
        elif word == "=":
            said = formula_or((form_comparison("<", a, b), form_comparison("<", b, a)))
        else:
            said = form_comparison("<" if word == "<=" else "<=", b, a)
        found.append(formula_and((here, there, said)))
    return formula_or(found)
