"""Constant parts of terms, evaluated once: what is left mentions the state wherever it can."""

from __future__ import annotations

from collections.abc import Iterator

from surefoot.term.evaluate import constant_value
from surefoot.term.term import FALSE, TRUE, Apply, Const, Op, Term, conjunction_of, disjunction_of
from surefoot.term.traverse import fold_term, rebuild_term


def fold_constant_parts(whole: Term) -> Term:
    """The same value in every state, with constant parts evaluated; those without a value stay."""
    return fold_term(whole, lambda leaf: leaf, _fold_operation, _needed_arguments)


def _needed_arguments(term: Apply, values: list[Term]) -> Iterator[Term]:
    """The condition of `ite` first: the branch that is never taken may have no value at all."""
    yield from term.args[:1]
    if term.op is Op.ITE and values[0] in (TRUE, FALSE):
        yield term.args[1 if values[0] == TRUE else 2]
    else:
        yield from term.args[1:]


def _fold_operation(term: Apply, args: list[Term]) -> Term:
    if term.op is Op.ITE and len(args) == 2:
        return args[1]
    match term.op, args:
        case Op.AND, _:
            return conjunction_of(tuple(args))
        case Op.OR, _:
            return disjunction_of(tuple(args))
        case Op.IMPLIES, (left, right) if left in (TRUE, FALSE) or right == TRUE:
            return TRUE if left == FALSE else right
        case Op.ITE, (condition, left, right):
            if (simpler := _simplify_ite(condition, left, right)) is not None:
                return simpler
        case Op.NOT, (Apply(Op.NOT, (inner,)),):
            return inner
        case Op.SELECT, (Apply(Op.ARRAY, elements), Const(int() as index)) if 0 <= index < len(elements):
            return elements[index]
    value = constant_value(term.op, args)
    return rebuild_term(term, args) if value is None else value


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
