"""Terms as Python functions of a row: the meaning of `problem/meaning/evaluate.py`, several times faster.

What has no value raises `Undefined`, `ZeroDivisionError` or `OverflowError`; whoever calls asks the reference
for the message. Every operator has the reference's own function; the ones below are shorter ways for whole
numbers and truth values, whose results need no normalisation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from operator import itemgetter
from typing import Any, TypeAlias

from surefoot.compile.layout import Row
from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Arithmetic, Array, Bool, Int, Kind, Real
from surefoot.problem.meaning.evaluate import EXACT, LAZY, TABLES, Undefined, evaluate, is_real
from surefoot.problem.number import as_doubles, bounded
from surefoot.problem.term import Apply, Const, Op, Term, Var

Closure: TypeAlias = Callable[[Row], Any]
UNDEFINED = (Undefined, ZeroDivisionError, OverflowError)
_TRUTH = frozenset({Op.LT, Op.LE, Op.EQ, Op.NOT, Op.AND, Op.OR, Op.IMPLIES})
_ROUNDING = frozenset({Op.FLOOR, Op.CEIL, Op.TRUNC, Op.SIGN})
_CLOSED = frozenset({Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.MIN, Op.MAX, Op.ABS, Op.MOD})


def closure(
    term: Term, slots: Mapping[str, int], kinds: Mapping[str, Kind], arithmetic: Arithmetic
) -> Closure:
    """The function from a row to the value of the term."""
    return _built(term, slots, kinds, arithmetic)[0]


def _built(
    term: Term, slots: Mapping[str, int], kinds: Mapping[str, Kind], arithmetic: Arithmetic
) -> tuple[Closure, bool]:
    """The function, and whether it is a constant one."""
    match term:
        case Const():
            return _constant(evaluate(term, {}, arithmetic)), True
        case Var(name):
            if name not in slots:
                raise InvalidProblem(f"`{name}` is not declared")
            return itemgetter(slots[name]), False
        case Apply(op, args):
            built = [_built(a, slots, kinds, arithmetic) for a in args]
            made = _made(op, args, [part for part, _ in built], kinds, arithmetic)
            if all(constant for _, constant in built):
                try:
                    return _constant(made(())), True
                except UNDEFINED:
                    pass  # it has no value: an error if it is ever looked at
            return made, False


def _made(
    op: Op, args: tuple[Term, ...], parts: list[Closure], kinds: Mapping[str, Kind], arithmetic: Arithmetic
) -> Closure:
    if op is Op.ITE and arithmetic is Arithmetic.FLOAT64:
        parts = [parts[0], *_either(args[1:], parts[1:], kinds)]
    if op in LAZY:
        return _lazy(op, parts)
    if op in _SHORT and len(parts) == 2 and whole(args, kinds):
        return _SHORT[op](parts[0], parts[1], _number(args[1]))
    if op in (Op.NOT, Op.NEG) and whole(args, kinds):
        return _negated(op, parts[0])
    return _applied(TABLES[arithmetic][op], parts)


def _either(branches: tuple[Term, ...], parts: list[Closure], kinds: Mapping[str, Kind]) -> list[Closure]:
    """Both branches of a choice; an integer one gives a double where the other is real."""
    if any(sort_of(branch, kinds) is bool for branch in branches):
        return parts
    real = [is_real(branch, lambda name: _is_real_kind(kinds.get(name))) for branch in branches]
    if not any(real):
        return parts
    return [part if own else _in_doubles(part) for part, own in zip(parts, real, strict=True)]


def _is_real_kind(kind: Kind | None) -> bool:
    """Controls and outputs, which have no kind here, are real numbers."""
    while isinstance(kind, Array):
        kind = kind.element
    return kind is None or isinstance(kind, Real)


def _in_doubles(part: Closure) -> Closure:
    return lambda row: as_doubles(part(row))


def whole(terms: tuple[Term, ...], kinds: Mapping[str, Kind]) -> bool:
    """Are the values of all of these surely whole numbers or truth values?"""
    return all(sort_of(t, kinds) is not None for t in terms)


def sort_of(term: Term, kinds: Mapping[str, Kind]) -> type[int] | type[bool] | None:
    """`int` or `bool` where the value is surely that, else None; an array has the sort of its elements."""
    match term:
        case Const(value):
            return bool if isinstance(value, bool) else int if isinstance(value, int) else None
        case Var(name):
            kind = kinds.get(name)
            while isinstance(kind, Array):
                kind = kind.element
            return bool if isinstance(kind, Bool) else int if isinstance(kind, Int) else None
        case Apply(op, args):
            if op in _TRUTH:
                return bool
            if op in _ROUNDING:
                return int
            if op is Op.SELECT:
                return sort_of(args[0], kinds)
            if op in (Op.ITE, Op.ARRAY):
                sorts = {sort_of(a, kinds) for a in (args[1:] if op is Op.ITE else args)}
                return sorts.pop() if len(sorts) == 1 else None
            if op in _CLOSED and all(sort_of(a, kinds) is int for a in args):
                return int
            return None


def _constant(value: Any) -> Closure:
    return lambda _: value


def _number(term: Term) -> int | None:
    return term.value if isinstance(term, Const) and type(term.value) is int else None


def _lazy(op: Op, parts: list[Closure]) -> Closure:
    match op, parts:
        case Op.ITE, [condition, then, otherwise]:
            return lambda row: then(row) if condition(row) else otherwise(row)
        case Op.IMPLIES, [left, right]:
            return lambda row: not left(row) or bool(right(row))
        case Op.AND, [left, right]:
            return lambda row: bool(left(row) and right(row))
        case Op.OR, [left, right]:
            return lambda row: bool(left(row) or right(row))
        case Op.AND, _:
            return lambda row: all(part(row) for part in parts)
        case _:
            return lambda row: any(part(row) for part in parts)


def _applied(function: Callable[..., Any], parts: list[Closure]) -> Closure:
    """The reference's function; results that are whole become `int`, as there."""

    def value(row: Row) -> Any:
        result = function(*[part(row) for part in parts])
        if isinstance(result, Fraction) and result.denominator == 1:
            return result.numerator
        return result

    return value


def _negated(op: Op, part: Closure) -> Closure:
    if op is Op.NOT:
        return lambda row: not part(row)
    return lambda row: -part(row)


def _less(left: Closure, right: Closure, constant: int | None) -> Closure:
    if constant is not None:
        return lambda row: left(row) < constant
    return lambda row: left(row) < right(row)


def _at_most(left: Closure, right: Closure, constant: int | None) -> Closure:
    if constant is not None:
        return lambda row: left(row) <= constant
    return lambda row: left(row) <= right(row)


def _equal(left: Closure, right: Closure, constant: int | None) -> Closure:
    if constant is not None:
        return lambda row: left(row) == constant
    return lambda row: left(row) == right(row)


def _sum(left: Closure, right: Closure, constant: int | None) -> Closure:
    if constant is not None:
        return lambda row: left(row) + constant
    return lambda row: left(row) + right(row)


def _difference(left: Closure, right: Closure, constant: int | None) -> Closure:
    if constant is not None:
        return lambda row: left(row) - constant
    return lambda row: left(row) - right(row)


def _product(left: Closure, right: Closure, _: int | None) -> Closure:
    return lambda row: bounded(left(row) * right(row))


def _smaller(left: Closure, right: Closure, _: int | None) -> Closure:
    return lambda row: min(left(row), right(row))


def _larger(left: Closure, right: Closure, _: int | None) -> Closure:
    return lambda row: max(left(row), right(row))


def _select(array: Closure, index: Closure, _: int | None) -> Closure:
    pick = EXACT[Op.SELECT]
    return lambda row: pick(array(row), index(row))


# For two arguments that are whole; the third parameter is the second one if it is a constant.
_SHORT: dict[Op, Callable[[Closure, Closure, int | None], Closure]] = {
    Op.LT: _less,
    Op.LE: _at_most,
    Op.EQ: _equal,
    Op.ADD: _sum,
    Op.SUB: _difference,
    Op.MUL: _product,
    Op.MIN: _smaller,
    Op.MAX: _larger,
    Op.SELECT: _select,
}
