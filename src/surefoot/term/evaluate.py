"""What a term means: exact rationals, or float64 in the order written.

`and`, `or`, `=>` and `ite` look at later arguments only when they matter, so a guarded array access is fine.
Anything undefined (division by zero, an index out of range, overflow) raises `Undefined`, never a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial, reduce
from typing import Any, TypeAlias

from surefoot.errors import InvalidProblem
from surefoot.term import elementary
from surefoot.term.number import as_doubles, brief_number, check_bit_length, holds_doubles, integer_power
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import LAZY, Leaf, fold_term, is_constant_array, needed_arguments
from surefoot.term.types import ELEMENTARY, INT, REAL, term_sort
from surefoot.term.value_types import Arithmetic

_Value: TypeAlias = "bool | int | Fraction | float | tuple[_Value, ...]"
LARGEST_EXPONENT = 10_000
MOST_PRODUCTS = 64  # a larger power of a double is rounded once


class Undefined(InvalidProblem):
    """A term has no value in some state."""


def evaluate_term(term: Term, names: Mapping[str, Any], arithmetic: Arithmetic = Arithmetic.EXACT) -> Any:
    """The value of a term: bool, int, Fraction (exact) or float (float64), or a tuple for an array."""
    return make_evaluator(names, arithmetic)(term)


def make_evaluator(names: Mapping[str, Any], arithmetic: Arithmetic) -> Callable[[Term], Any]:
    """`evaluate_term` of several terms, which exist all the while: what they share is looked at once."""
    table, exact = TABLES[arithmetic], arithmetic is Arithmetic.EXACT

    def leaf(part: Leaf) -> Any:
        if part.__class__ is Var:
            return names[part.name]
        value = part.value  # type: ignore[union-attr]
        return value if exact or not isinstance(value, Fraction) else _nearest_double(value)

    def apply_operator(part: Apply, values: list[Any]) -> Any:
        op = part.op
        if op is Op.ARRAY and not values:
            values = constant_elements(part.args, arithmetic)  # type: ignore[arg-type]
        if op in LAZY:
            if op is Op.ITE:
                return values[1] if exact else _promote_branch(part, values, names)
            if op is Op.IMPLIES:
                return len(values) == 1 or bool(values[1])
            return bool(values[-1]) if values else op is Op.AND
        try:
            value = table[op](*values)
        except ZeroDivisionError:
            raise Undefined(f"division by zero in `{op.value}`") from None
        except OverflowError:
            raise Undefined(f"overflow in `{op.value}`") from None
        # Whole numbers are `int`, whatever computed them.
        return value.numerator if isinstance(value, Fraction) and value.denominator == 1 else value

    done: dict[int, Any] = {}
    return lambda term: fold_term(term, leaf, apply_operator, _arguments_to_evaluate, done)


def _arguments_to_evaluate(part: Apply, values: list[Any]) -> Iterator[Term]:
    """Those of an array of constants are taken at once."""
    return iter(()) if is_constant_array(part) else needed_arguments(part, values)


def constant_elements(parts: Sequence[Const], arithmetic: Arithmetic) -> list[Any]:
    """The values of constants."""
    if arithmetic is Arithmetic.EXACT:
        return [part.value for part in parts]
    return [_nearest_double(p.value) if isinstance(p.value, Fraction) else p.value for p in parts]


def constant_value(op: Op, parts: Sequence[Term]) -> Const | None:
    """The value of an operator on constants; None if a part is no constant, or if there is no such value."""
    for part in parts:
        if part.__class__ is not Const:
            return None
    try:
        value = evaluate_term(Apply(op, tuple(parts)), {})
    except Undefined:
        return None
    return None if isinstance(value, tuple) else Const(value)


def _promote_branch(term: Apply, values: list[Any], names: Mapping[str, Any]) -> Any:
    """The branch of `ite` that was taken; in doubles where the other one is real."""
    taken, other = values[1], term.args[2 if values[0] else 1]
    if isinstance(taken, bool) or holds_doubles(taken):
        return taken
    sort = term_sort(other, lambda name: REAL if holds_doubles(names.get(name)) else INT)
    return _nearest_double(taken) if sort is REAL else taken


def _nearest_double(value: Any) -> Any:
    try:
        return as_doubles(value)
    except OverflowError:
        raise Undefined("a number is beyond float64") from None


def _euclidean_modulo(a: Any, b: Any) -> Any:
    if isinstance(a, Fraction | float) or isinstance(b, Fraction | float):
        raise Undefined("`%` needs whole numbers")
    return a % abs(b)


def _select_element(array: Any, index: Any) -> Any:
    if not isinstance(index, int) or not 0 <= index < len(array):
        raise Undefined(f"index {brief_number(index)} is outside an array of {len(array)}")
    return array[index]


def _float_elementary(name: str, x: Any) -> float:
    return _call_elementary(name, float(x))


def _call_elementary(name: str, x: Any) -> float:
    try:
        return float(_require_finite(elementary.elementary_value(name, Fraction(x))))
    except (ArithmeticError, ValueError):
        raise Undefined(f"`{name}` is not defined at {brief_number(x)}") from None


def _exact_elementary(name: str, x: Any) -> Fraction:
    return Fraction(_call_elementary(name, x))


def _fractional_power(base: Any, exponent: Any) -> float:
    if base < 0 or (base == 0 and exponent < 0):
        raise Undefined(f"{brief_number(base)} ^ {brief_number(exponent)} is not defined")
    if base == 0:
        return 1.0 if exponent == 0 else 0.0
    try:
        return float(_require_finite(elementary.real_power(Fraction(base), Fraction(exponent))))
    except ArithmeticError:
        raise Undefined("overflow in `^`") from None


def _exact_power(base: Any, exponent: Any) -> Any:
    if not isinstance(exponent, int):
        return Fraction(_fractional_power(base, exponent))
    if abs(exponent) > LARGEST_EXPONENT:
        raise Undefined("an exponent is too large")
    return integer_power(base, exponent)


def _float_power(base: Any, exponent: Any) -> Any:
    """Whole exponents by repeated multiplication from the left, so that compiled code can do the same."""
    if not isinstance(exponent, int):
        return _fractional_power(float(base), exponent)
    if isinstance(base, int) and exponent >= 0:
        return _exact_power(base, exponent)
    real = float(base)
    if abs(exponent) > MOST_PRODUCTS:
        size = _fractional_power(abs(real), exponent)
        return -size if real < 0 and exponent % 2 else size
    product = reduce(lambda p, _: _require_finite(p * real), range(abs(exponent)), 1.0)
    return product if exponent >= 0 else _require_finite(1 / product)


def _require_finite(x: Any) -> Any:
    """A double that is a number, or an exact integer that is not too long."""
    if not isinstance(x, float):
        return check_bit_length(x)
    if not math.isfinite(x):
        raise Undefined("overflow in float64")
    return x


def _float_fold(combine: Callable[[Any, Any], Any], *values: Any) -> Any:
    """From the left; an integer that meets a float is made one by Python, rounded to nearest."""
    return reduce(lambda a, b: _require_finite(combine(a, b)), values)


def _apply_promoted(function: Callable[..., Any], *values: Any) -> Any:
    """Of several numbers or arrays; integers are made doubles where some of the others are."""
    if any(map(holds_doubles, values)) and not all(map(holds_doubles, values)):
        values = tuple(as_doubles(v) for v in values)
    return function(*values)


def _sign_of(x: Any) -> int:
    return int(x > 0) - int(x < 0)


_SHARED: dict[Op, Callable[..., Any]] = {
    Op.NEG: lambda x: -x,
    Op.MIN: lambda *xs: min(xs),
    Op.MAX: lambda *xs: max(xs),
    Op.ABS: abs,
    Op.SIGN: _sign_of,
    Op.MOD: _euclidean_modulo,
    Op.FLOOR: math.floor,
    Op.CEIL: math.ceil,
    Op.TRUNC: math.trunc,
    Op.LT: lambda a, b: a < b,
    Op.LE: lambda a, b: a <= b,
    Op.EQ: lambda a, b: a == b,
    Op.NOT: lambda a: not a,
    Op.ARRAY: lambda *xs: tuple(xs),
    Op.SELECT: _select_element,
}

EXACT: dict[Op, Callable[..., Any]] = {
    **_SHARED,
    Op.ADD: lambda *xs: reduce(lambda a, b: check_bit_length(a + b), xs),
    Op.SUB: lambda a, b: check_bit_length(a - b),
    Op.MUL: lambda *xs: reduce(lambda a, b: check_bit_length(a * b), xs),
    Op.DIV: lambda a, b: check_bit_length(Fraction(a) / Fraction(b)),
    Op.POW: _exact_power,
    **{op: partial(_exact_elementary, op.value) for op in ELEMENTARY},
}
FLOAT64: dict[Op, Callable[..., Any]] = {
    **_SHARED,
    **{op: partial(_apply_promoted, _SHARED[op]) for op in (Op.MIN, Op.MAX, Op.LT, Op.LE, Op.EQ, Op.ARRAY)},
    Op.ADD: partial(_float_fold, lambda a, b: a + b),
    Op.SUB: lambda a, b: _require_finite(a - b),
    Op.MUL: partial(_float_fold, lambda a, b: a * b),
    Op.DIV: lambda a, b: _require_finite(float(a) / float(b)),
    Op.POW: _float_power,
    **{op: partial(_float_elementary, op.value) for op in ELEMENTARY},
}
TABLES = {Arithmetic.EXACT: EXACT, Arithmetic.FLOAT64: FLOAT64}
