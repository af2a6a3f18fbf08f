"""Rewrite a query so that only linear comparisons, `and`, `or`, `not` and truth values remain.

Everything else (ite, min, max, abs, sgn, floor, ceil, trc, %, array access, products and powers in which all
but one factor have few whole values) becomes an auxiliary quantity with defining constraints that some value
always satisfies, so the new query has a solution exactly where the old one has one: drop the auxiliaries.

Undefined terms. The evaluator raises where an array index is out of range or a divisor is zero, and looks at
later arguments of `and`, `or`, `=>`, `ite` only when they matter. So a truth value has two rewritings:
`truth(t, True)` holds where t is evaluated without trouble to true, `truth(t, False)` where it is to false.
A constraint counts as satisfied only in the first case; an access that is not looked at does no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from surefoot.errors import Unsupported
from surefoot.query.auxiliary import Auxiliaries, LoweredNumber
from surefoot.query.lower_arithmetic import NUMBER_RULES
from surefoot.query.query import Assignment, Query
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.linear import constant_form, term_from_linear, variable_form
from surefoot.term.printer import show_term
from surefoot.term.term import (
    FALSE,
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    free_names,
    negate_condition,
)
from surefoot.term.types import BOOL, ELEMENTARY, REAL, is_truth
from surefoot.term.value_types import Bool, Real


@dataclass(frozen=True, slots=True)
class LoweredQuery:
    """The rewritten query, and the names of the original quantities for the way back."""

    query: Query
    names: tuple[str, ...]
    definitions: int  # the last so many constraints define auxiliaries

    def invert(self, assignment: Assignment) -> dict[str, bool | int | Fraction]:
        return {name: assignment[name] for name in self.names}


def lower_query(query: Query) -> LoweredQuery:
    """The same question with linear comparisons only; `Unsupported` names a term that has no such form."""
    lowering = Lowering(Auxiliaries(query.quantities))
    constraints: list[Term] = [lowering.truth(c, True) for c in query.constraints]
    calls = []
    truths = lowering.made.truths
    for call in query.calls:
        if all(isinstance(t, Var) and t.name not in truths for t in call.inputs):
            calls.append(call)
            continue
        values = [lowering.number(t) for t in call.inputs]
        constraints.extend(v.defined for v in values if v.defined != TRUE)
        inputs = tuple(term_from_linear(v.linear) for v in values)
        calls.append(replace(call, inputs=inputs))
    made = lowering.made
    lowered = Query(
        query.quantities + tuple(made.quantities), tuple(constraints) + tuple(made.constraints), tuple(calls)
    )
    return LoweredQuery(lowered, tuple(q.name for q in query.quantities), len(made.constraints))


class Lowering:
    """The rewriting of one query: what it has made so far, and what it has seen.

    Not on `fold_term`: an operator asks for its arguments as numbers or as truths, some of them twice, and
    the auxiliaries are named in the order in which it does.
    """

    def __init__(self, made: Auxiliaries) -> None:
        self.made = made
        # By identity, with the term kept alive: a subterm used by both truths is rewritten once.
        self._seen: dict[int, tuple[Term, LoweredNumber]] = {}

    def number(self, term: Term) -> LoweredNumber:
        """The value of a number-valued term and where it is defined."""
        if id(term) not in self._seen:
            self._seen[id(term)] = (term, self._number(term))
        return self._seen[id(term)][1]

    def _number(self, term: Term) -> LoweredNumber:
        match term:
            case Const(value) if not isinstance(value, bool):
                return LoweredNumber(constant_form(value))
            case Var(name) if name not in self.made.truths:
                return LoweredNumber(variable_form(name))
            case Apply() if not free_names(term):
                return self._fold(term)
            case Apply(op, _):
                return NUMBER_RULES[op](self, term)
            case _:
                raise Unsupported(
                    f"`{show_term(term)}` is a truth value where a number is needed", fix="use ite(…, 1, 0)"
                )

    def _fold(self, term: Apply) -> LoweredNumber:
        """A term in which nothing varies is its value."""
        try:
            value = evaluate_term(term, {})
        except Undefined:
            return LoweredNumber(constant_form(0), FALSE)
        if isinstance(value, bool | tuple):
            raise Unsupported(f"`{show_term(term)}` is not a number", fix="compare it, or pick an element")
        return LoweredNumber(constant_form(value))

    def truth(self, term: Term, wanted: bool) -> Term:
        """A lowered term that holds exactly where `term` is evaluated to `wanted`."""
        match term:
            case Const(bool(value)):
                return TRUE if value is wanted else FALSE
            case Var(name) if name in self.made.truths:
                return term if wanted else negate_condition(term)
            case Apply(op, _):
                return TRUTH_RULES[op](self, term, wanted)
            case _:
                raise Unsupported(
                    f"`{show_term(term)}` is a number where a truth value is needed", fix="compare it"
                )

    def is_truth(self, term: Term) -> bool:
        """Is this term a truth value (rather than a number), or an array of them?"""
        return is_truth(term, self._sort_of_name)

    def _sort_of_name(self, name: str) -> Bool | Real:
        return BOOL if name in self.made.truths else REAL

    def is_total(self, term: Term) -> bool:
        """Is this truth value surely defined everywhere?"""
        return self.defined_condition(term) == TRUE

    def defined_condition(self, term: Term) -> Term:
        """Where a scalar or array term can be evaluated without trouble."""
        if isinstance(term, Apply) and term.op is Op.ARRAY:
            return conjunction_of(tuple(self.defined_condition(a) for a in term.args))
        if not self.is_truth(term):
            return self.number(term).defined
        if isinstance(term, Apply) and term.op is not Op.SELECT:
            parts = [self.defined_condition(a) for a in term.args]
            if all(p == TRUE for p in parts):
                return TRUE
        elif isinstance(term, Const | Var):
            return TRUE
        return disjunction_of((self.truth(term, True), self.truth(term, False)))

    def options(self, term: Apply) -> list[tuple[Term, Term]]:
        """The elements that an array access may yield, each with the condition under which it does."""
        found: list[tuple[Term, Term]] = []
        array, index_term = term.args
        index = self.number(index_term)
        for condition, elements in self.arrays(array):
            usable = conjunction_of(
                (condition, index.defined, *(self.defined_condition(e) for e in elements))
            )
            for where, element in self.made.runs(index.linear, elements):
                found.append((conjunction_of((usable, where)), element))
        return found

    def arrays(self, term: Term) -> list[tuple[Term, tuple[Term, ...]]]:
        """The arrays that a term may be, as their elements, each with the condition under which it is."""
        match term:
            case Apply(Op.ARRAY, elements):
                return [(TRUE, elements)]
            case Apply(Op.ITE, (test, then, otherwise)):
                yes, no = self.truth(test, True), self.truth(test, False)
                return [(conjunction_of((yes, c)), e) for c, e in self.arrays(then)] + [
                    (conjunction_of((no, c)), e) for c, e in self.arrays(otherwise)
                ]
            case Apply(Op.SELECT, _):
                return [
                    (conjunction_of((where, c)), e)
                    for where, row in self.options(term)
                    for c, e in self.arrays(row)
                ]
            case _:
                raise Unsupported(f"`{show_term(term)}` is not an array of known elements")


def _lower_not(lowering: Lowering, term: Apply, wanted: bool) -> Term:
    return lowering.truth(term.args[0], not wanted)


def _lower_connective(stops_at: bool) -> Callable[[Lowering, Apply, bool], Term]:
    """`or` stops at the first true argument, `and` at the first false one."""

    def rewrite(lowering: Lowering, term: Apply, wanted: bool) -> Term:
        if wanted is not stops_at:
            return conjunction_of(tuple(lowering.truth(a, wanted) for a in term.args))
        result: Term = FALSE
        for argument in reversed(term.args):
            here = lowering.truth(argument, stops_at)
            if not lowering.is_total(argument):
                result = conjunction_of((lowering.truth(argument, not stops_at), result))
            result = disjunction_of((here, result))
        return result

    return rewrite


def _lower_implies(lowering: Lowering, term: Apply, wanted: bool) -> Term:
    premise, conclusion = term.args
    inner = Apply(Op.OR, (Apply(Op.NOT, (premise,)), conclusion))
    return lowering.truth(inner, wanted)


def _lower_comparison(lowering: Lowering, term: Apply, wanted: bool) -> Term:
    plain = all(isinstance(a, Var | Const) for a in term.args)
    if plain and wanted and not any(map(lowering.is_truth, term.args)):
        return term
    left, right = (lowering.number(a) for a in term.args)
    holds = term if plain else Apply(term.op, (term_from_linear(left.linear), term_from_linear(right.linear)))
    if wanted and left.defined is TRUE and right.defined is TRUE:
        return holds
    return conjunction_of((left.defined, right.defined, holds if wanted else negate_condition(holds)))


def _lower_equality(lowering: Lowering, term: Apply, wanted: bool) -> Term:
    left, right = term.args
    if not lowering.is_truth(left):
        return _lower_comparison(lowering, term, wanted)
    both = [(lowering.truth(left, v), lowering.truth(right, v is wanted)) for v in (True, False)]
    return disjunction_of(tuple(conjunction_of(pair) for pair in both))


def _lower_ite(lowering: Lowering, term: Apply, wanted: bool) -> Term:
    test, then, otherwise = term.args
    yes = conjunction_of((lowering.truth(test, True), lowering.truth(then, wanted)))
    return disjunction_of(
        (yes, conjunction_of((lowering.truth(test, False), lowering.truth(otherwise, wanted))))
    )


def _lower_select(lowering: Lowering, term: Apply, wanted: bool) -> Term:
    options = lowering.options(term)
    return disjunction_of(tuple(conjunction_of((c, lowering.truth(e, wanted))) for c, e in options))


def _refuse_number(lowering: Lowering, term: Apply, wanted: bool) -> Term:
    raise Unsupported(f"`{show_term(term)}` is a number where a truth value is needed", fix="compare it")


TRUTH_RULES: dict[Op, Callable[[Lowering, Apply, bool], Term]] = {
    **dict.fromkeys((Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.MOD, Op.POW, Op.MIN, Op.MAX), _refuse_number),
    **dict.fromkeys((Op.ABS, Op.SIGN, Op.FLOOR, Op.CEIL, Op.TRUNC, Op.ARRAY, *ELEMENTARY), _refuse_number),
    Op.LT: _lower_comparison,
    Op.LE: _lower_comparison,
    Op.EQ: _lower_equality,
    Op.NOT: _lower_not,
    Op.AND: _lower_connective(stops_at=False),
    Op.OR: _lower_connective(stops_at=True),
    Op.IMPLIES: _lower_implies,
    Op.ITE: _lower_ite,
    Op.SELECT: _lower_select,
}
