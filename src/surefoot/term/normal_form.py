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
_INEQUALITIES = frozenset({Op.LE, Op.LT})
_COMPARISONS = frozenset({Op.LE, Op.LT, Op.EQ})
_NOTHING: Iterator[Term] = iter(())


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
    compared = _COMPARISONS if is_truth is None else _INEQUALITIES
    joins: dict[int, Callable[[Sequence[T]], T]] = {}
    true, false = conjoin(()), disjoin(())
    decides = true != false

    def literal_value(term: Term) -> T:
        inner, sign = strip_negations(term)
        if isinstance(inner, Const) and isinstance(inner.value, bool):
            return true if inner.value is sign else false
        return literal(inner, sign)

    def arguments(term: Apply, values: list[T]) -> Iterator[Term]:
        if term.op in compared:
            return _NOTHING
        inner, sign = strip_negations(term)
        found = None if is_literal(inner) else _decompose(inner, sign, is_truth)
        if found is None:
            return _NOTHING
        is_conjunction, parts = found
        joins[id(term)], deciding = (conjoin, false) if is_conjunction else (disjoin, true)
        return _parts_until(parts, values, deciding) if decides else iter(parts)

    def apply_operator(term: Apply, values: list[T]) -> T:
        if term.op in compared:
            return literal(term, True)
        join = joins.get(id(term))
        return literal_value(term) if join is None else join(values)

    leaf: Callable[[Leaf], T] = literal_value
    return fold_term(whole if positive else ~whole, leaf, apply_operator, arguments)


def _parts_until(parts: tuple[Term, ...], values: list[T], deciding: T) -> Iterator[Term]:
    for part in parts:
        yield part
        if values[-1] == deciding:
            return


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
    if not isinstance(term, Apply):
        return None
    op, args = term.op, term.args
    if op is Op.AND or op is Op.OR:
        return (op is Op.AND) is sign, args if sign else tuple([~a for a in args])
    if op is Op.IMPLIES:
        return not sign, (~args[0], args[1]) if sign else (args[0], ~args[1])
    if is_truth is None:
        return None
    if op is Op.ITE:
        test, *branches = args
        yes, no = branches if sign else (~b for b in branches)
        return False, (Apply(Op.AND, (test, yes)), Apply(Op.AND, (~test, no)))
    if op is Op.EQ and any(map(is_truth, args)):
        left, right = args
        one, other = (right, ~right) if sign else (~right, right)
        return False, (Apply(Op.AND, (left, one)), Apply(Op.AND, (~left, other)))
    return None
