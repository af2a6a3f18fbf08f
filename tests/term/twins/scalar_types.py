"""Twice on purpose: kinds of scalar terms by plain recursion, a question at a time."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from surefoot.term.float32 import round_to_float32
from surefoot.term.interval import Interval, Kinds, apply_interval, leaf_interval
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.value_types import Array, Bool, Int, Real, ValueType

_TRUTH = frozenset({Op.LT, Op.LE, Op.EQ, Op.NOT, Op.AND, Op.OR, Op.IMPLIES})
_ROUNDING = frozenset({Op.FLOOR, Op.CEIL, Op.TRUNC, Op.SIGN})
_CLOSED = frozenset({Op.ADD, Op.SUB, Op.MUL, Op.NEG, Op.MIN, Op.MAX, Op.ABS, Op.MOD})
_TRUTHS = frozenset({Op.LT, Op.LE, Op.EQ, Op.NOT, Op.AND, Op.OR, Op.IMPLIES})
_ROUNDED = frozenset(  # the reference rounds these to float64 even in exact arithmetic
    {Op.SQRT, Op.EXP, Op.LOG, Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.TANH}
)
_ALWAYS_WHOLE = frozenset({Op.FLOOR, Op.CEIL, Op.TRUNC, Op.SIGN, Op.MOD})
_KEEPS_WHOLE = frozenset({Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.MIN, Op.MAX, Op.ABS})
_KEEPS_VALUES = frozenset({Op.NEG, Op.MIN, Op.MAX, Op.ABS})  # float32 numbers stay float32 numbers
_WHOLE_FLOAT32 = 2**24  # whole numbers up to here are float32 numbers


def _is_truth_value(term: Term, kinds: Kinds) -> bool:
    """Is this a truth value rather than a number?"""
    match term:
        case Const(value):
            return isinstance(value, bool)
        case Var(name):
            return isinstance(kinds[name], Bool)
        case Apply(Op.ITE, (_, then, _)):
            return _is_truth_value(then, kinds)
        case Apply(op, _):
            return op in _TRUTHS


def is_whole_recursively(term: Term, kinds: Kinds) -> bool:
    """Is this surely a whole number wherever it is defined?"""
    match term:
        case Const(value):
            return isinstance(value, int)
        case Var(name):
            return isinstance(kinds[name], Int)
        case Apply(Op.ITE, (_, then, otherwise)):
            return is_whole_recursively(then, kinds) and is_whole_recursively(otherwise, kinds)
        case Apply(Op.POW, (base, Const(int(exponent)))) if exponent >= 0:
            return is_whole_recursively(base, kinds)
        case Apply(op, args):
            return op in _ALWAYS_WHOLE or (
                op in _KEEPS_WHOLE and all(is_whole_recursively(a, kinds) for a in args)
            )


def is_float32_recursively(term: Term, kinds: Kinds) -> bool:
    """Is this surely a float32 number wherever it is defined?"""
    if _is_truth_value(term, kinds):
        return True
    if is_whole_recursively(term, kinds):
        low, high = interval_recursively(term, kinds)
        return low >= -_WHOLE_FLOAT32 and high <= _WHOLE_FLOAT32
    match term:
        case Const(value):
            rounded = float(round_to_float32(value))
            return rounded - rounded == 0 and Fraction(rounded) == value
        case Var(name):
            kind = kinds[name]
            return isinstance(kind, Real) and kind.float32
        case Apply(Op.ITE, (_, then, otherwise)):
            return is_float32_recursively(then, kinds) and is_float32_recursively(otherwise, kinds)
        case Apply(op, args):
            return op in _KEEPS_VALUES and all(is_float32_recursively(a, kinds) for a in args)


def is_rounded_recursively(term: Term, kinds: Kinds) -> bool:
    """Does the term use an operator whose reference value is rounded although the arithmetic is exact?"""
    match term:
        case Apply(Op.POW, (_, exponent)) if not is_whole_recursively(exponent, kinds):
            return True
        case Apply(op, args):
            return op in _ROUNDED or any(is_rounded_recursively(a, kinds) for a in args)
        case _:
            return False


def sort_of_recursively(term: Term, kinds: Mapping[str, ValueType]) -> type[int] | type[bool] | None:
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
                return sort_of_recursively(args[0], kinds)
            if op in (Op.ITE, Op.ARRAY):
                sorts = {sort_of_recursively(a, kinds) for a in (args[1:] if op is Op.ITE else args)}
                return sorts.pop() if len(sorts) == 1 else None
            if op in _CLOSED and all(sort_of_recursively(a, kinds) is int for a in args):
                return int
            return None


def interval_recursively(term: Term, kinds: Kinds) -> Interval:
    if not isinstance(term, Apply):
        return leaf_interval(term, kinds)
    return apply_interval(term, [interval_recursively(a, kinds) for a in term.args])
