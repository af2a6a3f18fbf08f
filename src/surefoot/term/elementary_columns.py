"""Elementary functions and broken powers over columns: as numpy rounds them, or with the reference's bits.

`term/elementary.py` rounds correctly, with 60 digits, a number at a time. Here a column is computed in the
platform's extended precision; where both ends of what its error leaves open round to the same double, that
is the one, and the few other rows ask the reference. Where there is no such precision, all of them do.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.term.elementary import elementary_value, real_power
from surefoot.term.term import Op

_LARGEST_ANGLE = 1e20  # of the reference
_WIDE = np.finfo(np.longdouble).nmant in (63, 112)  # bits that longdouble has after the first
_ERROR = {Op.TAN: 2.0**-60, Op.ACOS: 2.0**-60, Op.TANH: 2.0**-60}  # at most 1 to 3 last places of 64 bits
_OTHER_ERROR = 2.0**-61
_FUNCTIONS: dict[Op, Callable[[Any], Any]] = {
    Op.SQRT: np.sqrt,
    Op.EXP: np.exp,
    Op.LOG: np.log,
    Op.SIN: np.sin,
    Op.COS: np.cos,
    Op.TAN: np.tan,
    Op.ASIN: np.arcsin,
    Op.ACOS: np.arccos,
    Op.ATAN: np.arctan,
    Op.TANH: np.tanh,
}


def elementary_column(op: Op, *, exact: bool) -> Callable[[Any], Any]:
    """The function of a column; not a number where it has no value."""
    function = _FUNCTIONS[op]

    def apply(column: Any) -> Any:
        x = np.asarray(column, dtype=np.float64) + 0.0  # there is one zero
        if exact and op is not Op.SQRT:  # which numpy rounds correctly
            found = _round_correctly(
                lambda: function(x.astype(np.longdouble)),
                lambda place: elementary_value(op.value, Fraction(x[place])),
                np.isfinite(x),
                _ERROR.get(op, _OTHER_ERROR),
            )
        else:
            found = function(x)
        if op in (Op.SIN, Op.COS, Op.TAN):
            found = np.where(np.abs(x) <= _LARGEST_ANGLE, found, np.nan)
        return found

    return apply


def broken_power(base: Any, exponent: Any, *, exact: bool) -> Any:
    """base ^ exponent for exponents that are no integers by their kind."""
    wide, powers = np.broadcast_arrays(
        np.asarray(base, dtype=np.float64), np.asarray(exponent, dtype=np.float64)
    )
    positive = wide > 0
    if exact:
        found = _round_correctly(
            lambda: np.power(wide.astype(np.longdouble), powers.astype(np.longdouble)),
            lambda place: real_power(Fraction(wide[place]), Fraction(powers[place])),
            positive & np.isfinite(wide) & np.isfinite(powers),
            2.0**-60,
        )
    else:
        found = np.power(wide, powers)
    of_zero = np.where(powers == 0, 1.0, np.where(powers > 0, 0.0, np.nan))
    return np.where(positive, found, np.where(wide == 0, of_zero, np.nan))


def whole_power(base: Any, exponent: Any, most_products: int, *, exact: bool) -> Any:
    """base ^ exponent for exponents of the kind of integers: few factors one by one, more at once."""
    wide, powers = np.broadcast_arrays(np.asarray(base, dtype=np.float64), np.asarray(exponent))
    times = np.abs(powers)
    total = np.ones_like(wide)
    for done in range(min(int(times.max(initial=0)), most_products)):
        total = np.where(done < times, total * wide, total)
    total = np.where(powers < 0, np.where(np.isfinite(total), 1 / total, np.nan), total)
    many = times > most_products
    if many.any():
        size = broken_power(np.abs(wide), powers, exact=exact)
        total = np.where(many, np.where((wide < 0) & (powers % 2 == 1), -size, size), total)
    return total


def _round_correctly(
    close: Callable[[], NDArray[np.longdouble]],
    reference: Callable[[tuple[int, ...]], float],
    sensible: NDArray[np.bool_],
    error: float,
) -> NDArray[np.float64]:
    """The double nearest to a value that is known up to a relative error; others by the reference."""
    if _WIDE:
        value = close()
        spread = np.abs(value) * np.longdouble(error)
        found, other = (value - spread).astype(np.float64), (value + spread).astype(np.float64)
        open_places = sensible & np.isfinite(value) & (found != other)
        found = np.where(np.isfinite(value), found, value.astype(np.float64))
    else:
        found, open_places = np.full(sensible.shape, np.nan), sensible
    for where in np.argwhere(open_places):
        found[tuple(where)] = _value_or_nan(reference, tuple(where))
    return found


def _value_or_nan(reference: Callable[[tuple[int, ...]], float], place: tuple[int, ...]) -> float:
    try:
        return reference(place)
    except (ArithmeticError, ValueError):
        return float("nan")
