"""Constant parts of terms, evaluated once: what is left mentions the state wherever it can."""

from __future__ import annotations

from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term, conjunction_of, disjunction_of

MOST_PARTS = 1_000_000


def fold_constant_parts(whole: Term) -> Term:
    """The same value in every state, with constant parts evaluated; those without a value stay."""
    done: dict[int, Term] = {}  # by identity: large terms share their parts
    waiting: list[Term] = [whole]
    while waiting:
        term = waiting[-1]
        if not isinstance(term, Apply):
            done[id(term)] = term
        elif missing := [a for a in _needed_arguments(term, done) if id(a) not in done]:
            waiting.extend(missing)
            continue
        else:
            done[id(term)] = _fold_operation(term, done)
        waiting.pop()
    return done[id(whole)]


def _needed_arguments(term: Apply, done: dict[int, Term]) -> tuple[Term, ...]:
    """The condition of `ite` first: the branch that is never taken may have no value at all."""
    if term.op is Op.ITE:
        condition = done.get(id(term.args[0]))
        if condition is None:
            return term.args[:1]
        if condition in (TRUE, FALSE):
            return (term.args[1 if condition == TRUE else 2],)
    return term.args


def _fold_operation(term: Apply, done: dict[int, Term]) -> Term:
    if term.op is Op.ITE and (condition := done[id(term.args[0])]) in (TRUE, FALSE):
        return done[id(term.args[1 if condition == TRUE else 2])]
    args = tuple(done[id(a)] for a in term.args)
    match term.op, args:
        case Op.AND, _:
            return conjunction_of(args)
        case Op.OR, _:
            return disjunction_of(args)
        case Op.IMPLIES, (left, right) if left in (TRUE, FALSE) or right == TRUE:
            return TRUE if left == FALSE else right
        case Op.ITE, (condition, left, right):
            if (simpler := _simplify_ite(condition, left, right)) is not None:
                return simpler
        case Op.NOT, (Apply(Op.NOT, (inner,)),):
            return inner
        case Op.SELECT, (Apply(Op.ARRAY, elements), Const(int() as index)) if 0 <= index < len(elements):
            return elements[index]
        case Op.ARRAY, _:
            pass
        case _ if all(isinstance(a, Const) for a in args):
            try:
                return Const(evaluate_term(Apply(term.op, args), {}))
            except Undefined:
                pass
    unchanged = all(a is b for a, b in zip(args, term.args, strict=True))
    return term if unchanged else Apply(term.op, args)


def _simplify_ite(condition: Term, left: Term, right: Term) -> Term | None:
    """`ite` as a connective where a branch is a truth value; later parts are read only when they matter."""
    if left == right:
        return left
    if left == TRUE:
        return disjunction_of((condition, right))
    if right == FALSE:
        return conjunction_of((condition, left))
    if left == FALSE:
        return conjunction_of((fold_constant_parts(~condition), right))
    return disjunction_of((fold_constant_parts(~condition), left)) if right == TRUE else None


def count_term_parts(whole: Term) -> int:
    """How many operators and leaves a term has, shared parts counted as often as they occur."""
    sizes: dict[int, int] = {}
    waiting: list[Term] = [whole]
    while waiting:
        term = waiting[-1]
        if not isinstance(term, Apply):
            sizes[id(term)] = 1
        elif missing := [a for a in term.args if id(a) not in sizes]:
            waiting.extend(missing)
            continue
        else:
            sizes[id(term)] = 1 + sum(sizes[id(a)] for a in term.args)
        waiting.pop()
    return sizes[id(whole)]
