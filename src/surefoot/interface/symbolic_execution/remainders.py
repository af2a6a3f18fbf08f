"""Quotients and remainders as Python and numpy have them, to the last bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from surefoot.interface.symbolic_execution.arithmetic import (
    absolute,
    check_doubles,
    const,
    hint_interval,
    is_symbol,
    make,
    make_result,
    negative,
    number_term,
    numeric_kind,
    stays_within,
    subtract,
    term_of,
)
from surefoot.interface.symbolic_execution.path import current_path
from surefoot.interface.symbolic_execution.refusal import Refusal
from surefoot.interface.symbolic_execution.symbol import Unfollowed
from surefoot.term.term import Op


def split_quotient(left: Any, right: Any) -> tuple[Any, Any]:
    """Quotient and remainder as Python has them: the remainder has the divisor's sign."""
    if not is_symbol(right) and right == 0:
        raise ZeroDivisionError("modulo by zero")
    if numeric_kind((left, right)) is int:
        return _split_whole(left, right)
    return _split_doubles(left, right)


def _split_whole(left: Any, right: Any) -> tuple[Any, Any]:
    a, b = number_term(left), number_term(right)
    path = current_path()
    quotient = make(Op.FLOOR, make(Op.DIV, a, b))
    low, high = path.interval(b)
    if low > 0:
        rest = make(Op.MOD, a, b)
    elif high < 0:
        rest = make(Op.NEG, make(Op.MOD, make(Op.NEG, a), make(Op.NEG, b)))
    elif not path.decide(make(Op.EQ, b, const(0))):
        return _split_by_sign(left, right)
    else:
        raise ZeroDivisionError("integer modulo by zero")
    if not stays_within(a) or not stays_within(b):
        return Unfollowed("`//` of whole numbers that may be larger than 2**53", "give limits"), make_result(
            rest, int, (left, right)
        )
    return make_result(quotient, int, (left, right)), make_result(rest, int, (left, right))


def _split_by_sign(left: Any, right: Any) -> tuple[Any, Any]:
    path, divisor = current_path(), number_term(right)
    if not path.decide(make(Op.LT, const(0), divisor)):
        path.decide(make(Op.LT, divisor, const(0)))
    return _split_whole(left, right)


def _split_doubles(left: Any, right: Any) -> tuple[Any, Any]:
    """The remainder of C's fmod is exact; Python adds the divisor where the signs differ."""
    check_doubles(left, right)
    path = current_path()
    divisor = number_term(right)
    low, high = path.interval(divisor)
    if low <= 0 <= high:
        if path.decide(make(Op.EQ, divisor, const(0))):
            raise ZeroDivisionError("float modulo")
        if not path.decide(make(Op.LT, const(0), divisor)):
            path.decide(make(Op.LT, divisor, const(0)))
        low, high = path.interval(divisor)
    if high <= 0:
        turns, rest = _split_doubles(negative(left), negative(right))
        return turns, negative(rest)
    size = absolute(left)
    turns, rest = split_positive(size, right)
    least, most = path.interval(number_term(left))
    operands = (left, right)
    below = make(Op.LT, number_term(left), const(0))
    uneven = make(Op.NOT, make(Op.EQ, term_of(rest), const(0)))
    recording = path.recording
    if most <= 0:
        below = const(True)
    if least >= 0:
        below = const(False)
    moved = recording.choose(uneven, number_term(subtract(right, rest)), const(0))
    remainder_term = recording.choose(below, moved, term_of(rest))
    hint_interval(remainder_term, 0, high)
    down = make(Op.SUB, make(Op.NEG, number_term(turns)), recording.choose(uneven, const(1), const(0)))
    quotient = recording.choose(below, down, number_term(turns))
    return make_result(quotient, float, operands), make_result(remainder_term, float, operands)


def split_positive(size: Any, divisor: Any) -> tuple[Any, Any]:
    """Whole quotient and exact remainder of a number that is not negative and a positive one.

    The quotient of the doubles, rounded down, is right or one too large. With the divisor split into two
    halves of its digits, its multiples and both differences are exact.
    """
    path = current_path()
    recording = path.recording
    if not isinstance(divisor, float | int | np.floating | np.integer) or is_symbol(divisor):
        raise Refusal("a remainder by a divisor that is not a constant", "write a constant after `%`")
    by, most = float(divisor), path.interval(number_term(size))[1]
    if most < by:
        return make_result(const(0), float, (size,)), size
    coarse, fine = _halve_digits(by)
    limit = _largest_dividend(by, fine)
    guarded = most >= limit
    count = make(Op.FLOOR, make(Op.DIV, number_term(size), const(by)))
    rest = make(Op.SUB, number_term(size), make(Op.MUL, const(coarse), count))
    if fine:
        rest = make(Op.SUB, rest, make(Op.MUL, const(fine), count))
    hint_interval(rest, -by, by)
    if math.frexp(by)[0] == 0.5:  # dividing by a power of two is exact
        hint_interval(rest, 0, by)
        return make_result(count, float, (size,)), make_result(rest, float, (size,))
    over = make(Op.LT, rest, const(0))
    exact = recording.choose(over, make(Op.ADD, rest, const(by)), rest)
    hint_interval(exact, 0, by)
    number = recording.choose(over, make(Op.SUB, count, const(1)), count)
    if guarded:
        small = make(Op.LT, number_term(size), const(limit))
        exact, number = (recording.choose(small, t, make(Op.SQRT, const(-1))) for t in (exact, number))
        hint_interval(exact, 0, by)
    return make_result(number, float, (size,)), make_result(exact, float, (size,))


def _halve_digits(by: float) -> tuple[float, float]:
    """The number as a sum of two with half of its digits each; whole where its multiples are exact anyway."""
    mantissa, exponent = math.frexp(by)
    coarse = math.ldexp(math.floor(mantissa * 2**26), exponent - 26)
    return (by, 0.0) if by == int(by) and by < 2**20 else (coarse, by - coarse)


def _largest_dividend(by: float, fine: float) -> float:
    """Below it multiples and differences are exact; beyond, the remainder has no value in the model."""
    if math.frexp(by)[0] == 0.5:
        return math.inf
    if by == int(by) and by < 2**20:
        return by * 2.0**31
    turns = 2.0**25 if fine == 0 else min(2.0**25, (math.ldexp(1.0, math.frexp(by)[1]) - by) / abs(fine))
    return by * max(0.0, math.floor(turns * 0.999))


def floor_divide(left: Any, right: Any) -> Any:
    found = split_quotient(left, right)[0]
    if type(found) is Unfollowed:
        raise found.reason
    return found


def remainder(left: Any, right: Any) -> Any:
    return split_quotient(left, right)[1]


def c_remainder(left: Any, right: Any) -> Any:
    """fmod: the sign of the first."""
    if not is_symbol(right) and right == 0:
        raise ZeroDivisionError("math domain error")
    check_doubles(left, right)
    rest = split_positive(absolute(left), abs(right))[1]
    below = make(Op.LT, number_term(left), const(0))
    chosen = current_path().recording.choose(below, make(Op.NEG, term_of(rest)), term_of(rest))
    return make_result(chosen, float if numeric_kind((left, right)) is float else int, (left, right))
