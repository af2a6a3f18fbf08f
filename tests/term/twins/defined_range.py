"""Twice on purpose: the range of a term that has a value everywhere, computed apart from its bounds.

It knows fewer operators and looks at each product and each branch alone, so that its ranges may be wider.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce

from surefoot.term.interval import Span, span_of
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.value_types import Array, Bool, ValueType

_UNIT = Span(Fraction(0), Fraction(1))


def term_span(term: Term, kinds: Mapping[str, ValueType]) -> Span | None:
    """Numbers between which the term always lies; truth values count as 0 and 1."""
    match term:
        case Const(value):
            return Span(Fraction(value), Fraction(value))
        case Var(name):
            kind = kinds.get(name)
            return None if kind is None else _UNIT if isinstance(kind, Bool) else span_of(kind)
        case Apply(Op.SELECT, (Var(name), Const(int() as index))):
            return _element_span(kinds.get(name), index)
        case Apply(op, args):
            spans = [term_span(a, kinds) for a in args]
            known = [s for s in spans if s is not None and s.low is not None and s.high is not None]
            if len(known) != len(spans) or op not in _RULES:
                return None
            return _RULES[op](known)


def _element_span(kind: ValueType | None, index: int) -> Span | None:
    if not isinstance(kind, Array) or not 0 <= index < kind.length:
        return None
    return _UNIT if isinstance(kind.element, Bool) else span_of(kind.element)


def _finite_ends(span: Span) -> tuple[Fraction, Fraction]:
    assert span.low is not None
    assert span.high is not None
    return span.low, span.high


def _add_spans(left: Span, right: Span) -> Span:
    (a, b), (c, d) = _finite_ends(left), _finite_ends(right)
    return Span(a + c, b + d)


def _negate_span(span: Span) -> Span:
    low, high = _finite_ends(span)
    return Span(-high, -low)


def _multiply_spans(left: Span, right: Span) -> Span:
    products = [x * y for x in _finite_ends(left) for y in _finite_ends(right)]
    return Span(min(products), max(products))


def _divide_spans(spans: list[Span]) -> Span | None:
    low, high = _finite_ends(spans[1])
    if low <= 0 <= high:
        return None
    return _multiply_spans(spans[0], Span(1 / high, 1 / low))


def _absolute_span(spans: list[Span]) -> Span:
    low, high = _finite_ends(spans[0])
    least = Fraction(0) if low <= 0 <= high else min(abs(low), abs(high))
    return Span(least, max(abs(low), abs(high)))


def _hull_span(spans: list[Span]) -> Span:
    ends = [_finite_ends(s) for s in spans]
    return Span(min(low for low, _ in ends), max(high for _, high in ends))


def _minimum_span(spans: list[Span]) -> Span:
    ends = [_finite_ends(s) for s in spans]
    return Span(min(low for low, _ in ends), min(high for _, high in ends))


def _maximum_span(spans: list[Span]) -> Span:
    ends = [_finite_ends(s) for s in spans]
    return Span(max(low for low, _ in ends), max(high for _, high in ends))


def _truth_span(_: list[Span]) -> Span:
    return _UNIT


_RULES: dict[Op, Callable[[list[Span]], Span | None]] = {
    Op.ADD: lambda spans: reduce(_add_spans, spans),
    Op.SUB: lambda spans: _add_spans(spans[0], _negate_span(spans[1])),
    Op.NEG: lambda spans: _negate_span(spans[0]),
    Op.MUL: lambda spans: reduce(_multiply_spans, spans),
    Op.DIV: _divide_spans,
    Op.MIN: _minimum_span,
    Op.MAX: _maximum_span,
    Op.ABS: _absolute_span,
    Op.ITE: lambda spans: _hull_span(spans[1:]),
    Op.LT: _truth_span,
    Op.LE: _truth_span,
    Op.EQ: _truth_span,
    Op.NOT: _truth_span,
    Op.AND: _truth_span,
    Op.OR: _truth_span,
    Op.IMPLIES: _truth_span,
}
