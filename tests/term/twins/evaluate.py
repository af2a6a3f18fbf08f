"""Twice on purpose: the value of a term by plain recursion, which tests compare the traversal with."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from surefoot.term.evaluate import TABLES, Undefined
from surefoot.term.number import as_doubles, holds_doubles
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.value_types import Arithmetic

REAL = (Op.DIV, Op.SQRT, Op.EXP, Op.LOG, Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.TANH)
WHOLE = (Op.MOD, Op.SIGN, Op.FLOOR, Op.CEIL, Op.TRUNC)


def evaluate_recursively(term: Term, names: Mapping[str, Any], arithmetic: Arithmetic) -> Any:
    match term:
        case Const(value):
            exact = arithmetic is Arithmetic.EXACT or not isinstance(value, Fraction)
            return value if exact else _nearest_double(value)
        case Var(name):
            return names[name]
        case Apply(Op.AND | Op.OR | Op.IMPLIES | Op.ITE as op, args):
            return _evaluate_lazily(op, args, names, arithmetic)
        case Apply(op, args):
            values = [evaluate_recursively(a, names, arithmetic) for a in args]
            try:
                value = TABLES[arithmetic][op](*values)
            except (ZeroDivisionError, OverflowError):
                raise Undefined("no value") from None
            return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def _evaluate_lazily(op: Op, args: tuple[Term, ...], names: Mapping[str, Any], arithmetic: Arithmetic) -> Any:
    if op is Op.ITE:
        taken, other = args[1:] if evaluate_recursively(args[0], names, arithmetic) else (args[2], args[1])
        value = evaluate_recursively(taken, names, arithmetic)
        exact = arithmetic is Arithmetic.EXACT or isinstance(value, bool) or holds_doubles(value)
        if exact or not is_real_recursively(other, lambda n: holds_doubles(names.get(n))):
            return value
        return _nearest_double(value)
    if op is Op.IMPLIES:
        return not evaluate_recursively(args[0], names, arithmetic) or bool(
            evaluate_recursively(args[1], names, arithmetic)
        )
    for argument in args:
        if bool(evaluate_recursively(argument, names, arithmetic)) is (op is Op.OR):
            return op is Op.OR
    return op is Op.AND


def is_real_recursively(term: Term, name_is_real: Callable[[str], bool]) -> bool:
    match term:
        case Const(value):
            return isinstance(value, Fraction)
        case Var(name):
            return name_is_real(name)
        case Apply(op, args):
            if op in REAL or (op is Op.POW and isinstance(args[1], Const) and args[1].value < 0):
                return True
            if op in WHOLE:
                return False
            parts = args[1:] if op is Op.ITE else args[:1] if op is Op.SELECT else args
            return any(is_real_recursively(a, name_is_real) for a in parts)


def _nearest_double(value: Any) -> Any:
    try:
        return as_doubles(value)
    except OverflowError:
        raise Undefined("a number is beyond float64") from None
