"""What Python's and numpy's operators mean as terms, to the last bit.

Each operation takes symbols and numbers. A term of a `float` may be one of whole numbers (`2.0 * n`) as long
as it stays within the whole numbers that are doubles; beyond, its operands are made doubles first.
"""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from surefoot.interface.symbolic_execution.path import current_path
from surefoot.interface.symbolic_execution.recording import WHOLE_DOUBLES
from surefoot.interface.symbolic_execution.refusal import Refusal, is_inside_try
from surefoot.interface.symbolic_execution.symbol import Symbol, Unfollowed
from surefoot.term.interval import is_infinite
from surefoot.term.term import Apply, Const, Op, Term
from surefoot.term.types import INT

_INT64 = 2**63
_FLOAT32 = "float32 is not followed: it rounds in another way than the model"


def is_symbol(value: object) -> bool:
    return type(value) is Symbol


def kind_of(value: Any) -> type:
    """`bool`, `int` or `float`: of a symbol, or of a number of Python or numpy."""
    if type(value) is Symbol:
        return value.kind
    if isinstance(value, bool | np.bool_):
        return bool
    if isinstance(value, np.floating) and not isinstance(value, np.float64):
        raise Refusal(_FLOAT32, "write np.float64, or leave the type out")
    if isinstance(value, int | np.integer):
        return int
    if isinstance(value, float):
        return float
    if type(value) is Unfollowed:
        raise value.reason
    raise TypeError(f"unsupported operand type: '{type(value).__name__}'")


def is_boxed(value: Any) -> bool:
    """One of numpy's scalars?"""
    return value.boxed if type(value) is Symbol else isinstance(value, np.generic)


def term_of(value: Any) -> Term:
    """The term of a symbol or of a number; truth values as they are."""
    if type(value) is Symbol:
        return value.term
    kind = kind_of(value)
    if kind is float and not math.isfinite(value):
        raise Refusal(f"{float(value)} would become part of the model", "give a finite number")
    return current_path().recording.constant(kind(value))


def number_term(value: Any) -> Term:
    """The same; a truth value is 0 or 1."""
    term = term_of(value)
    if kind_of(value) is not bool:
        return term
    recording = current_path().recording
    return recording.choose(term, recording.constant(1), recording.constant(0))


def make(op: Op, *terms: Term) -> Term:
    return current_path().recording.apply(op, *terms)


def const(value: Any) -> Term:
    return current_path().recording.constant(value)


def is_whole_term(term: Term) -> bool:
    return current_path().recording.sort(term) is INT


def stays_within(term: Term, limit: int = WHOLE_DOUBLES) -> bool:
    low, high = current_path().interval(term)
    return -limit <= low and high <= limit


def note_inexact(what: str) -> None:
    """The platform may round this in another way than the model, in the last places."""
    current_path().recording.inexact[what] = None


def numeric_kind(values: tuple[Any, ...]) -> type:
    return float if any(kind_of(v) is float for v in values) else int


def make_result(term: Term, kind: type, operands: tuple[Any, ...]) -> Any:
    boxed = any(is_boxed(v) for v in operands)
    if isinstance(term, Const):
        value = kind(term.value)
        return {bool: np.bool_, int: np.int64, float: np.float64}[kind](value) if boxed else value
    if kind is int and boxed and not stays_within(term, _INT64):
        path = current_path()
        if not any(is_infinite(end) for end in path.interval(term)):
            raise Refusal("whole numbers of numpy could pass 64 bits here", "give limits, or use float")
    return Symbol(term, kind, boxed)


def _combine(op: Op, left: Any, right: Any) -> Any:
    """Sums, differences and products."""
    if not is_symbol(left) and not is_symbol(right):
        return {Op.ADD: lambda a, b: a + b, Op.SUB: lambda a, b: a - b, Op.MUL: lambda a, b: a * b}[op](
            left, right
        )
    kind = numeric_kind((left, right))
    if kind_of(left) is kind_of(right) is bool and is_boxed(left) and is_boxed(right):
        if op is Op.SUB:
            raise TypeError("numpy boolean subtract is not supported")
        return _connect(Op.OR if op is Op.ADD else Op.AND, left, right)
    a, b = number_term(left), number_term(right)
    for x, y in ((a, b), (b, a)):  # neutral elements change no bit (there is one zero)
        neutral = 1 if op is Op.MUL else 0
        same = isinstance(x, Const) and x.value == neutral and not (op is Op.SUB and x is a)
        if same and (kind is int or not is_whole_term(y) or stays_within(y)):
            return make_result(y, kind, (left, right))
    return make_result(
        _double_combination(op, a, b) if kind is float else make(op, a, b), kind, (left, right)
    )


def _double_combination(op: Op, a: Term, b: Term) -> Term:
    """Of doubles, whose terms may both be of whole numbers."""
    term = make(op, a, b)
    if is_whole_term(term) and not stays_within(term):
        term = make(op, make(Op.DIV, a, const(1)), b)
    return term


def divide(left: Any, right: Any) -> Any:
    if not is_symbol(right) and right == 0:
        raise ZeroDivisionError("division by zero")
    check_doubles(left, right)
    a, b = number_term(left), number_term(right)
    if not is_boxed(left) and not is_boxed(right):
        raise_where(lambda: make(Op.EQ, b, const(0)), b, (0, 0), ZeroDivisionError("division by zero"))
    if isinstance(b, Const) and b.value == 1 and kind_of(left) is float:
        return make_result(a, float, (left, right))
    return make_result(make(Op.DIV, a, b), float, (left, right))


def raise_where(
    condition: Callable[[], Term], term: Term, range_of: tuple[Any, Any], error: Exception
) -> None:
    """Python's exception, on a path of its own, where the step may catch it."""
    low, high = current_path().interval(term)
    if low <= range_of[1] and range_of[0] <= high and is_inside_try() and current_path().decide(condition()):
        raise error


def check_doubles(*values: Any) -> None:
    """Whole numbers that meet real ones are doubles."""
    for value in values:
        if kind_of(value) is int and not stays_within(number_term(value)):
            what = "a whole number that may be larger than 2**53 meets a real number"
            raise Refusal(what, "give the whole number limits")


def hint_interval(term: Term, low: float, high: Any) -> None:
    """What is known about the size of a term beyond the rules of its operators."""
    if not isinstance(term, Const):
        current_path().recording.hints[id(term)] = (low, high)


# Powers


def power(left: Any, right: Any) -> Any:
    if is_symbol(right) and kind_of(right) is not float:
        right = right.pick_value()  # each exponent on a path of its own
    if not is_symbol(left) and not is_symbol(right):
        return left**right
    if is_symbol(right):
        return _real_power(left, right)
    exponent = right
    if kind_of(left) is float or kind_of(exponent) is float or exponent < 0:
        return _double_power(left, exponent)
    if exponent == 0:
        return make_result(const(1), int, (left, right))
    base = number_term(left)
    return make_result(
        base if exponent == 1 else make(Op.POW, base, const(int(exponent))), int, (left, right)
    )


def _double_power(left: Any, exponent: Any) -> Any:
    """C's pow is nearly rounded to nearest; products round at each step."""
    check_doubles(left, exponent)
    operands = (left, exponent)
    if exponent == 0:
        return make_result(const(1), float, operands)
    if exponent == 1:
        return make_result(number_term(left), float, operands)
    note_inexact("`**`")
    if exponent == 2:
        return make_result(_double_combination(Op.MUL, number_term(left), number_term(left)), float, operands)
    if exponent == 0.5:
        return make_result(make(Op.SQRT, number_term(left)), float, operands)
    if exponent == int(exponent) and abs(exponent) <= 64:
        base = number_term(left)
        if is_whole_term(base):
            base = make(Op.DIV, base, const(1))
        return make_result(make(Op.POW, base, const(int(exponent))), float, operands)
    return _real_power(left, exponent)


def _real_power(left: Any, right: Any) -> Any:
    check_doubles(left, right)
    note_inexact("`**`")
    base, exponent = number_term(left), number_term(right)
    if is_whole_term(exponent):
        exponent = make(Op.DIV, exponent, const(1))
    if current_path().interval(base)[0] < 0:
        raise Refusal(
            "a broken power of a number that may be negative", "write abs(x) ** p, or give x limits"
        )
    return make_result(make(Op.POW, base, exponent), float, (left, right))


# Signs, and rounding to whole numbers


def negative(value: Any) -> Any:
    if not is_symbol(value):
        return -value
    if kind_of(value) is bool and is_boxed(value):
        raise TypeError("numpy boolean negative is not supported")
    term = number_term(value)
    if isinstance(term, Apply) and term.op is Op.NEG:
        return make_result(term.args[0], numeric_kind((value,)), (value,))
    return make_result(make(Op.NEG, term), numeric_kind((value,)), (value,))


def positive(value: Any) -> Any:
    return make_result(number_term(value), numeric_kind((value,)), (value,))


def absolute(value: Any) -> Any:
    if not is_symbol(value):
        return abs(value)
    low, high = current_path().interval(number_term(value))
    if low >= 0:
        return positive(value)
    if high <= 0:
        return negative(value)
    return make_result(make(Op.ABS, number_term(value)), numeric_kind((value,)), (value,))


def sign(value: Any) -> Any:
    return make_result(make(Op.SIGN, number_term(value)), numeric_kind((value,)), (value,))


def invert(value: Any) -> Any:
    if kind_of(value) is bool and is_boxed(value):
        return make_result(current_path().recording.negate(term_of(value)), bool, (value,))
    return negative(value) - 1


def _rounding(op: Op, kind: type | None) -> Callable[[Any], Any]:
    """To a whole number: of `kind`, or of the kind of its argument as numpy does."""

    def round_value(value: Any) -> Any:
        wanted = kind or (float if kind_of(value) is float else int)
        term = number_term(value)
        if not is_whole_term(term):
            if wanted is float and not stays_within(term):
                # Beyond 2**53 every double is whole; an exact integer would not be rounded like one.
                term = make(Op.DIV, make(op, term), const(1))
            else:
                term = make(op, term)
        return make_result(term, wanted, (value,) if kind is None else (float(0),))

    return round_value


def round_half_even(value: Any, kind: type) -> Any:
    """To the nearest whole number, half to even."""
    if not is_symbol(value):
        return kind(round(float(value)))
    term = number_term(value)
    if is_whole_term(term):
        return make_result(term, kind, (value,))
    recording = current_path().recording
    below = make(Op.FLOOR, term)
    part, half = make(Op.SUB, term, below), const(0.5)
    odd = make(Op.AND, make(Op.EQ, part, half), make(Op.EQ, make(Op.MOD, below, const(2)), const(1)))
    up = make(Op.OR, make(Op.LT, half, part), odd)
    rounded = recording.choose(up, make(Op.ADD, below, const(1)), below)
    if kind is float and not stays_within(rounded):
        rounded = make(Op.DIV, rounded, const(1))
    return make_result(rounded, kind, (value,))


def round_python(value: Any, digits: Any = None) -> Any:
    """`round(x)` gives an int; `round(x, 2)` of Python's floats works on decimal digits."""
    if digits is None:
        found = round_half_even(value, int)
        return Symbol(found.term, int) if is_symbol(found) else found
    if kind_of(value) is not float and digits >= 0:
        return positive(value)
    if is_boxed(value):
        return round_numpy(value, digits)
    raise Refusal("round(x, digits) of a Python float rounds its decimal digits", "write np.round(x, digits)")


def round_numpy(value: Any, decimals: int = 0) -> Any:
    """Multiply, round half to even, divide."""
    if kind_of(value) is not float:
        return positive(value)
    if decimals == 0:
        return round_half_even(value, float)
    if decimals < 0:
        return multiply(round_half_even(divide(value, 10.0**-decimals), float), 10.0**-decimals)
    return divide(round_half_even(multiply(value, 10.0**decimals), float), 10.0**decimals)


# Comparisons and truth


def _compare(op: Op) -> Callable[[Any, Any], Any]:
    def compare(left: Any, right: Any) -> Any:
        if not is_symbol(left) and not is_symbol(right):
            return bool({Op.LT: operator.lt, Op.LE: operator.le, Op.EQ: operator.eq}[op](left, right))
        for value, other, less in ((left, right, False), (right, left, True)):
            if not is_symbol(value) and isinstance(value, float) and not math.isfinite(value):
                kind_of(other)
                return bool(value == value and op is not Op.EQ and (value > 0) is less)
        try:
            both = kind_of(left), kind_of(right)
        except TypeError:
            if op is Op.EQ:
                return False
            raise
        if both == (bool, bool):
            a, b = (term_of(left), term_of(right)) if op is Op.EQ else (number_term(left), number_term(right))
        else:
            a, b = number_term(left), number_term(right)
            if float in both:
                check_doubles(left, right)
        if op is Op.EQ and both == (bool, bool):
            for x, y in ((a, b), (b, a)):
                if isinstance(x, Const):
                    return make_result(
                        y if x.value else current_path().recording.negate(y), bool, (left, right)
                    )
        return make_result(make(op, a, b), bool, (left, right))

    return compare


less, less_equal, equal = _compare(Op.LT), _compare(Op.LE), _compare(Op.EQ)


def not_equal(left: Any, right: Any) -> Any:
    same = equal(left, right)
    return invert_truth(same)


def invert_truth(value: Any) -> Any:
    """`not`, as numpy's logical_not."""
    held = truth(value)
    if not is_symbol(held):
        return not held
    return Symbol(current_path().recording.negate(held.term), bool, held.boxed)


def truth(value: Any) -> Any:
    """Is it true, or not zero?"""
    if not is_symbol(value):
        return bool(value)
    return value if value.kind is bool else not_equal(value, 0)


def _connect(op: Op, left: Any, right: Any) -> Any:
    """`and`, `or` of truth values, both looked at."""
    if not is_symbol(left) and not is_symbol(right):
        return bool(left and right) if op is Op.AND else bool(left or right)
    for one, other in ((left, right), (right, left)):
        if not is_symbol(one):
            decides = bool(one) is (op is Op.OR)
            return make_result(const(bool(one)), bool, (left, right)) if decides else other
    return make_result(make(op, left.term, right.term), bool, (left, right))


def connect_truths(op: Op, *values: Any) -> Any:
    """Any number of values, each by its truth."""
    found: Any = op is Op.AND
    for value in values:
        found = _connect(op, found, truth(value))
    return found


def exclusive(left: Any, right: Any) -> Any:
    return not_equal(truth(left), truth(right))


def _bit_operation(name: str, of_truths: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def operate(left: Any, right: Any) -> Any:
        if kind_of(left) is kind_of(right) is bool:
            return of_truths(left, right)
        if float in (kind_of(left), kind_of(right)):
            raise TypeError(f"unsupported operand type(s) for {name}: 'float'")
        a, b = (v.pick_value() if is_symbol(v) else int(v) for v in (left, right))
        return {"&": a & b, "|": a | b, "^": a ^ b}[name]

    return operate


# Choices


def choose(condition: Any, then: Any, otherwise: Any) -> Any:
    """One of two values, both of which are computed; an int becomes a float where the other is one."""
    held = truth(condition)
    kinds = {kind_of(then), kind_of(otherwise)}
    kind = bool if kinds == {bool} else numeric_kind((then, otherwise))
    a, b = (term_of(v) if kind is bool else number_term(v) for v in (then, otherwise))
    if kind is float:
        check_doubles(then, otherwise)
    if not is_symbol(held):
        return make_result(a if held else b, kind, (then, otherwise))
    return make_result(current_path().recording.choose(held.term, a, b), kind, (then, otherwise, condition))


def _extreme(op: Op) -> Callable[..., Any]:
    def pick(*values: Any) -> Any:
        """The smallest or largest; an infinity that never is one is left out."""
        never = math.inf if op is Op.MIN else -math.inf
        kept = [v for v in values if is_symbol(v) or not (isinstance(v, float) and v == never)]
        if not kept:
            return never
        kind = bool if all(kind_of(v) is bool for v in kept) else numeric_kind(tuple(kept))
        if kind is bool:
            return connect_truths(Op.AND if op is Op.MIN else Op.OR, *kept)
        if kind is float:
            check_doubles(*kept)
        terms = [number_term(v) for v in kept]
        found = terms[0]
        for term in terms[1:]:
            found = _extreme_of_two(op, found, term)
        return make_result(found, kind, tuple(kept))

    return pick


def _extreme_of_two(op: Op, a: Term, b: Term) -> Term:
    path = current_path()
    if a is b:
        return a
    (low, high), (least, most) = path.interval(a), path.interval(b)
    if high <= least:
        return a if op is Op.MIN else b
    if most <= low:
        return b if op is Op.MIN else a
    return make(op, a, b)


smallest, largest = _extreme(Op.MIN), _extreme(Op.MAX)


floor_value, ceil_value, trunc_value = (_rounding(op, None) for op in (Op.FLOOR, Op.CEIL, Op.TRUNC))
floor_to_int, ceil_to_int, truncate = (_rounding(op, int) for op in (Op.FLOOR, Op.CEIL, Op.TRUNC))
bit_and = _bit_operation("&", lambda a, b: connect_truths(Op.AND, a, b))
bit_or = _bit_operation("|", lambda a, b: connect_truths(Op.OR, a, b))
bit_xor = _bit_operation("^", exclusive)


def to_float(value: Any) -> Any:
    """`float(x)`; the same number."""
    if not is_symbol(value):
        return float(value)
    check_doubles(value)
    return Symbol(number_term(value), float, False)


def to_int(value: Any) -> Any:
    """`int(x)`: towards zero."""
    if not is_symbol(value):
        return int(value)
    found = truncate(value)
    return Symbol(found.term, int, False) if is_symbol(found) else int(found)


def add_in_order(values: list[Any]) -> Any:
    """Python's `sum`. From 3.12 on it keeps the rounding errors of floats and adds them at the end."""
    total: Any = 0
    for value in values:
        total = add(total, value)
    if sys.version_info >= (3, 12) and kind_of(total) is float and len(values) > 2:
        note_inexact("`sum`")
    return total


def add(left: Any, right: Any) -> Any:
    return _combine(Op.ADD, left, right)


def subtract(left: Any, right: Any) -> Any:
    return _combine(Op.SUB, left, right)


def multiply(left: Any, right: Any) -> Any:
    return _combine(Op.MUL, left, right)
