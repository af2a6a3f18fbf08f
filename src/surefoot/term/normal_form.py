"""Conditions with negation pushed down to their comparisons, and what is made of them from there up.

`ite` of conditions and the equality of two are disjunctions of two cases. What a literal becomes is for the
caller to say: a linear atom, a comparison of polynomials, a condition on what a network may say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from surefoot.term.term import Apply, Const, Op, Term
from surefoot.term.traverse import Leaf, fold_term

T = TypeVar("T")
_COMPARISONS = frozenset({Op.LE, Op.LT})


def fold_condition(
    whole: Term,
    positive: bool,
    literal: Callable[[Term, bool], T],
    conjoin: Callable[[Sequence[T]], T],
    disjoin: Callable[[Sequence[T]], T],
    *,
    is_truth: Callable[[Term], bool] | None = None,
    is_literal: Callable[[Term], bool] = lambda _: False,
) -> T:
    """The condition, or its negation, from its literals; `is_literal`: what is not to be taken apart.

    `is_truth` recognises operands of `=` that are conditions; without it `ite` and `=` are literals. What
    comes after a part that decides is not looked at.
    """
    joins: dict[int, Callable[[Sequence[T]], T]] = {}
    true, false = conjoin(()), disjoin(())
    decides = true != false

    def literal_value(term: Term) -> T:
        inner, sign = strip_negations(term)
        if isinstance(inner, Const) and isinstance(inner.value, bool):
            return true if inner.value is sign else false
        return literal(inner, sign)

    def arguments(term: Apply, values: list[T]) -> Iterator[Term]:
        if term.op in _COMPARISONS:
            return
        inner, sign = strip_negations(term)
        found = None if is_literal(inner) else _decompose(inner, sign, is_truth)
        if found is None:
            return
        is_conjunction, parts = found
        joins[id(term)], deciding = (conjoin, false) if is_conjunction else (disjoin, true)
        for part in parts:
            yield part
            if decides and values[-1] == deciding:
                return

    def apply(term: Apply, values: list[T]) -> T:
        join = joins.get(id(term))
        return literal_value(term) if join is None else join(values)

    leaf: Callable[[Leaf], T] = literal_value
    return fold_term(whole if positive else ~whole, leaf, apply, arguments)


def strip_negations(term: Term) -> tuple[Term, bool]:
    """What is negated, and whether it is so an even number of times."""
    sign = True
    while isinstance(term, Apply) and term.op is Op.NOT:
        term, sign = term.args[0], not sign
    return term, sign


def _decompose(
    term: Term, sign: bool, is_truth: Callable[[Term], bool] | None
) -> tuple[bool, tuple[Term, ...]] | None:
    """The conjunction (True) or disjunction that a condition or its negation is; None for a literal."""
    match term:
        case Apply(Op.AND | Op.OR as op, args):
            return (op is Op.AND) is sign, args if sign else tuple(~a for a in args)
        case Apply(Op.IMPLIES, (left, right)):
            return not sign, (~left, right) if sign else (left, ~right)
        case Apply(Op.ITE, (test, then, otherwise)) if is_truth is not None:
            yes, no = (then, otherwise) if sign else (~then, ~otherwise)
            return False, (Apply(Op.AND, (test, yes)), Apply(Op.AND, (~test, no)))
        case Apply(Op.EQ, (left, right)) if is_truth is not None and (is_truth(left) or is_truth(right)):
            one, other = (right, ~right) if sign else (~right, right)
            return False, (Apply(Op.AND, (left, one)), Apply(Op.AND, (~left, other)))
        case _:
            return None
