"""What a term means: exact rationals, or float64 in the order written.

`and`, `or`, `=>` and `ite` look at later arguments only when they matter, so a guarded array access is fine.
Anything undefined (division by zero, an index out of range, overflow) raises `Undefined`, never a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial, reduce
from typing import Any, TypeAlias

from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Arithmetic
from surefoot.problem.meaning import elementary
from surefoot.problem.term import Apply, Const, Op, Term, Var

Value: TypeAlias = "bool | int | Fraction | float | tuple[Value, ...]"
LARGEST_EXPONENT = 10_000
LAZY = frozenset({Op.AND, Op.OR, Op.IMPLIES, Op.ITE})


class Undefined(InvalidProblem):
    """A term has no value in some state."""


def evaluate(term: Term, names: Mapping[str, Any], arithmetic: Arithmetic = Arithmetic.EXACT) -> Any:
    """The value of a term: bool, int, Fraction (exact) or float (float64), or a tuple for an array."""
    match term:
        case Const(value):
            return (
                value if arithmetic is Arithmetic.EXACT or not isinstance(value, Fraction) else float(value)
            )
        case Var(name):
            return names[name]
        case Apply(op, args) if op in LAZY:
            return _lazy(op, args, names, arithmetic)
        case Apply(op, args):
            values = [evaluate(a, names, arithmetic) for a in args]
            try:
                return _plain(TABLES[arithmetic][op](*values))
            except ZeroDivisionError:
                raise Undefined(f"division by zero in `{op.value}`") from None
            except OverflowError:
                raise Undefined(f"overflow in `{op.value}`") from None


def _lazy(op: Op, args: tuple[Term, ...], names: Mapping[str, Any], arithmetic: Arithmetic) -> Any:
    """Plain loops: a term of 200 levels, which a reader lets pass, must not exhaust Python's stack."""
    if op is Op.ITE:
        return evaluate(args[1 if evaluate(args[0], names, arithmetic) else 2], names, arithmetic)
    if op is Op.IMPLIES:
        return not evaluate(args[0], names, arithmetic) or bool(evaluate(args[1], names, arithmetic))
    for argument in args:
        if bool(evaluate(argument, names, arithmetic)) is (op is Op.OR):
            return op is Op.OR
    return op is Op.AND


def _plain(value: Any) -> Any:
    """Whole numbers are `int`, whatever computed them."""
    return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value


def _modulo(a: Any, b: Any) -> Any:
    if isinstance(a, Fraction | float) or isinstance(b, Fraction | float):
        raise Undefined("`%` needs whole numbers")
    return a % abs(b)


def _select(array: Any, index: Any) -> Any:
    if not isinstance(index, int) or not 0 <= index < len(array):
        raise Undefined(f"index {index} is outside an array of {len(array)}")
    return array[index]


def _elementary(name: str, x: Any) -> float:
    try:
        return float(_finite(elementary.elementary(name, Fraction(x))))
    except (ArithmeticError, ValueError):
        raise Undefined(f"`{name}` is not defined at {x}") from None


def _exact_elementary(name: str, x: Any) -> Fraction:
    return Fraction(_elementary(name, x))


def _fractional_power(base: Any, exponent: Any) -> float:
    if base < 0 or (base == 0 and exponent < 0):
        raise Undefined(f"{base} ^ {exponent} is not defined")
    return 0.0 if base == 0 else float(_finite(elementary.power(Fraction(base), Fraction(exponent))))


def _exact_power(base: Any, exponent: Any) -> Any:
    if not isinstance(exponent, int):
        return Fraction(_fractional_power(base, exponent))
    if abs(exponent) > LARGEST_EXPONENT:
        raise Undefined(f"exponent {exponent} is too large")
    return Fraction(base) ** exponent


def _float_power(base: Any, exponent: Any) -> Any:
    """Whole exponents by repeated multiplication from the left, so that compiled code can do the same."""
    if not isinstance(exponent, int) or abs(exponent) > 64:
        return _fractional_power(base, exponent)
    product = reduce(lambda p, _: _finite(p * base), range(abs(exponent)), 1)
    return product if exponent >= 0 else _finite(1 / product)


def _finite(x: Any) -> Any:
    if isinstance(x, float) and not math.isfinite(x):
        raise Undefined("overflow in float64")
    return x


def _float_fold(combine: Callable[[Any, Any], Any], *values: Any) -> Any:
    return reduce(lambda a, b: _finite(combine(a, b)), values)


def _sign(x: Any) -> int:
    return int(x > 0) - int(x < 0)


_SHARED: dict[Op, Callable[..., Any]] = {
    Op.NEG: lambda x: -x,
    Op.MIN: lambda *xs: min(xs),
    Op.MAX: lambda *xs: max(xs),
    Op.ABS: abs,
    Op.SIGN: _sign,
    Op.MOD: _modulo,
    Op.FLOOR: math.floor,
    Op.CEIL: math.ceil,
    Op.TRUNC: math.trunc,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.EQ: lambda a, b: a == b,
    Op.NOT: lambda a: not a,
    Op.ARRAY: lambda *xs: tuple(xs),
    Op.SELECT: _select,
}
_ELEMENTARY = (Op.SQRT, Op.EXP, Op.LOG, Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.TANH)

EXACT: dict[Op, Callable[..., Any]] = {
    **_SHARED,
    Op.ADD: lambda *xs: reduce(lambda a, b: a + b, xs),
    Op.SUB: lambda a, b: a - b,
    Op.MUL: lambda *xs: reduce(lambda a, b: a * b, xs),
    Op.DIV: lambda a, b: Fraction(a) / Fraction(b),
    Op.POW: _exact_power,
    **{op: partial(_exact_elementary, op.value) for op in _ELEMENTARY},
}
FLOAT64: dict[Op, Callable[..., Any]] = {
    **_SHARED,
    Op.ADD: partial(_float_fold, lambda a, b: a + b),
    Op.SUB: lambda a, b: _finite(a - b),
    Op.MUL: partial(_float_fold, lambda a, b: a * b),
    Op.DIV: lambda a, b: _finite(a / b),
    Op.POW: _float_power,
    **{op: partial(_elementary, op.value) for op in _ELEMENTARY},
}
TABLES = {Arithmetic.EXACT: EXACT, Arithmetic.FLOAT64: FLOAT64}
