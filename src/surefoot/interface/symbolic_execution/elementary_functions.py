"""Elementary functions of symbols, of which platforms round some in their own way."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from surefoot.interface.symbolic_execution import arithmetic
from surefoot.interface.symbolic_execution.arithmetic import (
    absolute,
    add,
    choose,
    divide,
    equal,
    is_symbol,
    less,
    less_equal,
    make,
    multiply,
    negative,
    note_inexact,
    number_term,
    subtract,
)
from surefoot.interface.symbolic_execution.refusal import Refusal
from surefoot.interface.symbolic_execution.symbol import Symbol
from surefoot.term.term import Op

_OPS = {
    "sin": Op.SIN, "cos": Op.COS, "tan": Op.TAN, "asin": Op.ASIN, "acos": Op.ACOS, "atan": Op.ATAN,
    "tanh": Op.TANH, "exp": Op.EXP, "log": Op.LOG, "sqrt": Op.SQRT,
}  # fmt: skip


def _elementary(name: str) -> Callable[[Any], Any]:
    def apply(value: Any) -> Any:
        if not is_symbol(value):
            return getattr(math, name)(value)
        if name != "sqrt":  # which every platform rounds correctly
            note_inexact(f"`{name}`")
        return Symbol(make(_OPS[name], number_term(value)), float, value.boxed)

    return apply


sine, cosine, tangent = (_elementary(name) for name in ("sin", "cos", "tan"))
arc_sine, arc_cosine, arc_tangent = (_elementary(name) for name in ("asin", "acos", "atan"))
exponential, logarithm, square_root = (_elementary(name) for name in ("exp", "log", "sqrt"))


def hyperbolic_sine(value: Any) -> Any:
    return divide(subtract(exponential(value), exponential(negative(value))), 2.0)


def hyperbolic_cosine(value: Any) -> Any:
    return divide(add(exponential(value), exponential(negative(value))), 2.0)


def logarithm_to(base: float) -> Callable[[Any], Any]:
    return lambda value: divide(logarithm(value), math.log(base))


def hypotenuse(*sides: Any) -> Any:
    """The root of the sum of squares; libraries round it less often."""
    note_inexact("`hypot`")
    total: Any = 0.0
    for side in sides:
        total = add(total, multiply(side, side))
    return square_root(total) if is_symbol(total) else math.sqrt(total)


def arc_tangent_of_two(y: Any, x: Any) -> Any:
    """The angle of a point. Zeros have no sign here, so that of (-1, -0.0) is that of (-1, 0.0)."""
    note_inexact("`atan2`")
    y, x = arithmetic.to_float(y), arithmetic.to_float(x)
    flat = less_equal(absolute(y), absolute(x))
    near = arc_tangent(_divide_safely(y, x, flat))
    turned = choose(less(y, 0.0), subtract(near, math.pi), add(near, math.pi))
    beside = choose(less(x, 0.0), turned, near)
    quarter = choose(less(y, 0.0), -math.pi / 2, math.pi / 2)
    steep = subtract(quarter, arc_tangent(_divide_safely(x, y, arithmetic.invert_truth(flat))))
    origin = arithmetic.connect_truths(Op.AND, equal(x, 0.0), equal(y, 0.0))
    found = choose(origin, 0.0, choose(flat, beside, steep))
    return _bounded(found, math.pi)


def _divide_safely(above: Any, below: Any, wanted: Any) -> Any:
    """A quotient that is needed only where it is wanted, and has a value elsewhere too."""
    usable = arithmetic.connect_truths(Op.AND, wanted, arithmetic.not_equal(below, 0.0))
    return divide(above, choose(usable, below, _larger_size(above)))


def _larger_size(value: Any) -> Any:
    return add(absolute(value), 1.0)


def _bounded(value: Any, size: float) -> Any:
    if is_symbol(value):
        arithmetic.hint_interval(value.term, -size, size)
    return value


def copy_sign(size: Any, sign: Any) -> Any:
    """Zeros have no sign here, so that a size other than zero needs a sign that is not zero."""
    whole = absolute(arithmetic.to_float(size))
    if _may_be_zero(sign) and not _may_be_zero(whole):
        what = "`copysign` asks for the sign of a value that may be 0.0 or -0.0"
        raise Refusal(what, "write size if x >= 0 else -size, with np.where in arrays")
    return choose(less(sign, 0), negative(whole), whole)


def _may_be_zero(value: Any) -> bool:
    if not is_symbol(value):
        return bool(value == 0)
    low, high = value.interval()
    return bool(low <= 0 <= high)


def exponential_less_one(value: Any) -> Any:
    """Libraries round it less often."""
    note_inexact("`expm1`")
    return subtract(exponential(value), 1.0)


def logarithm_of_one_more(value: Any) -> Any:
    note_inexact("`log1p`")
    return logarithm(add(1.0, value))


def to_degrees(value: Any) -> Any:
    return multiply(value, 180.0 / math.pi)


def to_radians(value: Any) -> Any:
    return multiply(value, math.pi / 180.0)


def is_close(a: Any, b: Any, rel_tol: float = 1e-9, abs_tol: float = 0.0) -> Any:
    """Python's `math.isclose`."""
    apart = absolute(subtract(a, b))
    near = [less_equal(apart, absolute(multiply(rel_tol, v))) for v in (b, a)]
    return arithmetic.connect_truths(Op.OR, equal(a, b), *near, less_equal(apart, abs_tol))


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _elementary(name) for name in _OPS},
    "sinh": hyperbolic_sine,
    "cosh": hyperbolic_cosine,
    "log2": logarithm_to(2.0),
    "log10": logarithm_to(10.0),
    "expm1": exponential_less_one,
    "log1p": logarithm_of_one_more,
    "degrees": to_degrees,
    "radians": to_radians,
    "hypot": hypotenuse,
    "atan2": arc_tangent_of_two,
    "copysign": copy_sign,
}
