"""What kind of value a scalar term has: a truth value, surely a whole number, surely a float32 number."""

from __future__ import annotations

from fractions import Fraction

from surefoot.term.float32 import round_to_float32
from surefoot.term.interval import Kinds, term_interval
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.value_types import Bool, Int, Real

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


def is_whole(term: Term, kinds: Kinds) -> bool:
    """Is this surely a whole number wherever it is defined?"""
    match term:
        case Const(value):
            return isinstance(value, int)
        case Var(name):
            return isinstance(kinds[name], Int)
        case Apply(Op.ITE, (_, then, otherwise)):
            return is_whole(then, kinds) and is_whole(otherwise, kinds)
        case Apply(Op.POW, (base, Const(int(exponent)))) if exponent >= 0:
            return is_whole(base, kinds)
        case Apply(op, args):
            return op in _ALWAYS_WHOLE or (op in _KEEPS_WHOLE and all(is_whole(a, kinds) for a in args))


def is_float32(term: Term, kinds: Kinds) -> bool:
    """Is this surely a float32 number wherever it is defined?"""
    if _is_truth_value(term, kinds):
        return True
    if is_whole(term, kinds):
        low, high = term_interval(term, kinds)
        return low >= -_WHOLE_FLOAT32 and high <= _WHOLE_FLOAT32
    match term:
        case Const(value):
            rounded = float(round_to_float32(value))
            return rounded - rounded == 0 and Fraction(rounded) == value
        case Var(name):
            kind = kinds[name]
            return isinstance(kind, Real) and kind.float32
        case Apply(Op.ITE, (_, then, otherwise)):
            return is_float32(then, kinds) and is_float32(otherwise, kinds)
        case Apply(op, args):
            return op in _KEEPS_VALUES and all(is_float32(a, kinds) for a in args)


def as_number(term: Term, kinds: Kinds) -> Term:
    """The term itself, or 1 and 0 for a truth value."""
    return Apply(Op.ITE, (term, Const(1), Const(0))) if _is_truth_value(term, kinds) else term


def is_rounded(term: Term, kinds: Kinds) -> bool:
    """Does the term use an operator whose reference value is rounded although the arithmetic is exact?"""
    match term:
        case Apply(Op.POW, (_, exponent)) if not is_whole(exponent, kinds):
            return True
        case Apply(op, args):
            return op in _ROUNDED or any(is_rounded(a, kinds) for a in args)
        case _:
            return False
