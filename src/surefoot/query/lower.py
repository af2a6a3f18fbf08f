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
from surefoot.problem.meaning.evaluate import Undefined, evaluate
from surefoot.problem.show import show
from surefoot.problem.term import (
    FALSE,
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction,
    disjunction,
    free_names,
)
from surefoot.query.arithmetic import NUMBER
from surefoot.query.auxiliary import Auxiliaries, Value, negation
from surefoot.query.linear import as_term, constant, variable
from surefoot.query.query import Assignment, Query


@dataclass(frozen=True, slots=True)
class Lowered:
    """The rewritten query, and the names of the original quantities for the way back."""

    query: Query
    names: tuple[str, ...]
    definitions: int  # the last so many constraints define auxiliaries

    def back(self, assignment: Assignment) -> dict[str, bool | int | Fraction]:
        return {name: assignment[name] for name in self.names}


def lower(query: Query) -> Lowered:
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
        inputs = tuple(as_term(v.linear) for v in values)
        calls.append(replace(call, inputs=inputs))
    made = lowering.made
    lowered = Query(
        query.quantities + tuple(made.quantities), tuple(constraints) + tuple(made.constraints), tuple(calls)
    )
    return Lowered(lowered, tuple(q.name for q in query.quantities), len(made.constraints))


class Lowering:
    """The rewriting of one query: what it has made so far, and what it has seen."""

    def __init__(self, made: Auxiliaries) -> None:
        self.made = made
        # By identity, with the term kept alive: a subterm used by both truths is rewritten once.
        self._seen: dict[int, tuple[Term, Value]] = {}

    def number(self, term: Term) -> Value:
        """The value of a number-valued term and where it is defined."""
        if id(term) not in self._seen:
            self._seen[id(term)] = (term, self._number(term))
        return self._seen[id(term)][1]

    def _number(self, term: Term) -> Value:
        match term:
            case Const(value) if not isinstance(value, bool):
                return Value(constant(value))
            case Var(name) if name not in self.made.truths:
                return Value(variable(name))
            case Apply() if not free_names(term):
                return self._fold(term)
            case Apply(op, _):
                return NUMBER[op](self, term)
            case _:
                raise Unsupported(
                    f"`{show(term)}` is a truth value where a number is needed", fix="use ite(…, 1, 0)"
                )

    def _fold(self, term: Apply) -> Value:
        """A term in which nothing varies is its value."""
        try:
            value = evaluate(term, {})
        except Undefined:
            return Value(constant(0), FALSE)
        if isinstance(value, bool | tuple):
            raise Unsupported(f"`{show(term)}` is not a number", fix="compare it, or pick an element")
        return Value(constant(value))

    def truth(self, term: Term, wanted: bool) -> Term:
        """A lowered term that holds exactly where `term` is evaluated to `wanted`."""
        match term:
            case Const(bool(value)):
                return TRUE if value is wanted else FALSE
            case Var(name) if name in self.made.truths:
                return term if wanted else negation(term)
            case Apply(op, _):
                return TRUTH[op](self, term, wanted)
            case _:
                raise Unsupported(
                    f"`{show(term)}` is a number where a truth value is needed", fix="compare it"
                )

    def is_truth(self, term: Term) -> bool:
        """Is this term a truth value (rather than a number)?"""
        match term:
            case Const(value):
                return isinstance(value, bool)
            case Var(name):
                return name in self.made.truths
            case Apply(Op.ITE, (_, then, _)):
                return self.is_truth(then)
            case Apply(Op.SELECT | Op.ARRAY, args):
                return bool(args) and self.is_truth(args[0])
            case Apply(op, _):
                return op in _LOGICAL

    def is_total(self, term: Term) -> bool:
        """Is this truth value surely defined everywhere?"""
        return self.defined(term) == TRUE

    def defined(self, term: Term) -> Term:
        """Where a scalar or array term can be evaluated without trouble."""
        if isinstance(term, Apply) and term.op is Op.ARRAY:
            return conjunction(tuple(self.defined(a) for a in term.args))
        if not self.is_truth(term):
            return self.number(term).defined
        if isinstance(term, Apply) and term.op is not Op.SELECT:
            parts = [self.defined(a) for a in term.args]
            if all(p == TRUE for p in parts):
                return TRUE
        elif isinstance(term, Const | Var):
            return TRUE
        return disjunction((self.truth(term, True), self.truth(term, False)))

    def options(self, term: Apply) -> list[tuple[Term, Term]]:
        """The elements that an array access may yield, each with the condition under which it does."""
        found: list[tuple[Term, Term]] = []
        array, index_term = term.args
        index = self.number(index_term)
        for condition, elements in self.arrays(array):
            usable = conjunction((condition, index.defined, *(self.defined(e) for e in elements)))
            for where, element in self.made.runs(index.linear, elements):
                found.append((conjunction((usable, where)), element))
        return found

    def arrays(self, term: Term) -> list[tuple[Term, tuple[Term, ...]]]:
        """The arrays that a term may be, as their elements, each with the condition under which it is."""
        match term:
            case Apply(Op.ARRAY, elements):
                return [(TRUE, elements)]
            case Apply(Op.ITE, (test, then, otherwise)):
                yes, no = self.truth(test, True), self.truth(test, False)
                return [(conjunction((yes, c)), e) for c, e in self.arrays(then)] + [
                    (conjunction((no, c)), e) for c, e in self.arrays(otherwise)
                ]
            case Apply(Op.SELECT, _):
                return [
                    (conjunction((where, c)), e)
                    for where, row in self.options(term)
                    for c, e in self.arrays(row)
                ]
            case _:
                raise Unsupported(f"`{show(term)}` is not an array of known elements")


def _not(lowering: Lowering, term: Apply, wanted: bool) -> Term:
    return lowering.truth(term.args[0], not wanted)


def _sequence(stops_at: bool) -> Callable[[Lowering, Apply, bool], Term]:
    """`or` stops at the first true argument, `and` at the first false one."""

    def rewrite(lowering: Lowering, term: Apply, wanted: bool) -> Term:
        if wanted is not stops_at:
            return conjunction(tuple(lowering.truth(a, wanted) for a in term.args))
        result: Term = FALSE
        for argument in reversed(term.args):
            here = lowering.truth(argument, stops_at)
            if not lowering.is_total(argument):
                result = conjunction((lowering.truth(argument, not stops_at), result))
            result = disjunction((here, result))
        return result

    return rewrite


def _implies(lowering: Lowering, term: Apply, wanted: bool) -> Term:
    premise, conclusion = term.args
    inner = Apply(Op.OR, (Apply(Op.NOT, (premise,)), conclusion))
    return lowering.truth(inner, wanted)


def _compare(lowering: Lowering, term: Apply, wanted: bool) -> Term:
    plain = all(isinstance(a, Var | Const) for a in term.args)
    if plain and wanted and not any(map(lowering.is_truth, term.args)):
        return term
    left, right = (lowering.number(a) for a in term.args)
    holds = term if plain else Apply(term.op, (as_term(left.linear), as_term(right.linear)))
    if wanted and left.defined is TRUE and right.defined is TRUE:
        return holds
    return conjunction((left.defined, right.defined, holds if wanted else negation(holds)))


def _equal(lowering: Lowering, term: Apply, wanted: bool) -> Term:
    left, right = term.args
    if not lowering.is_truth(left):
        return _compare(lowering, term, wanted)
    both = [(lowering.truth(left, v), lowering.truth(right, v is wanted)) for v in (True, False)]
    return disjunction(tuple(conjunction(pair) for pair in both))


def _ite(lowering: Lowering, term: Apply, wanted: bool) -> Term:
    test, then, otherwise = term.args
    yes = conjunction((lowering.truth(test, True), lowering.truth(then, wanted)))
    return disjunction((yes, conjunction((lowering.truth(test, False), lowering.truth(otherwise, wanted)))))


def _select(lowering: Lowering, term: Apply, wanted: bool) -> Term:
    options = lowering.options(term)
    return disjunction(tuple(conjunction((c, lowering.truth(e, wanted))) for c, e in options))


def _refuse(lowering: Lowering, term: Apply, wanted: bool) -> Term:
    raise Unsupported(f"`{show(term)}` is a number where a truth value is needed", fix="compare it")


_LOGICAL = frozenset({Op.LT, Op.LE, Op.EQ, Op.NOT, Op.AND, Op.OR, Op.IMPLIES})
TRUTH: dict[Op, Callable[[Lowering, Apply, bool], Term]] = {
    **dict.fromkeys((Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.MOD, Op.POW, Op.MIN, Op.MAX), _refuse),
    **dict.fromkeys((Op.ABS, Op.SIGN, Op.FLOOR, Op.CEIL, Op.TRUNC, Op.ARRAY), _refuse),
    **dict.fromkeys((Op.SQRT, Op.EXP, Op.LOG, Op.SIN, Op.COS), _refuse),
    **dict.fromkeys((Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.TANH), _refuse),
    Op.LT: _compare,
    Op.LE: _compare,
    Op.EQ: _equal,
    Op.NOT: _not,
    Op.AND: _sequence(stops_at=False),
    Op.OR: _sequence(stops_at=True),
    Op.IMPLIES: _implies,
    Op.ITE: _ite,
    Op.SELECT: _select,
}
