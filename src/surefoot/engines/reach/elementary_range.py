"""Elementary functions and their first two derivatives over intervals, in float64 with outward rounding.

The library's functions are taken to be right within four units in the last place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Range: TypeAlias = tuple[Array, Array]
OFF = 2.0**-50  # relative error of a library function, and of what is done with it
LEAST = 2.0**-1000
LARGEST_ANGLE = 2.0**20  # beyond it the sine of an interval is anything


def widen_range(low: Array, high: Array, by: float = OFF) -> Range:
    return low - (np.abs(low) * by + LEAST), high + (np.abs(high) * by + LEAST)


def multiply_ranges(a: Range, b: Range) -> Range:
    w, x, y, z = a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]
    low, high = np.minimum(np.minimum(w, x), np.minimum(y, z)), np.maximum(np.maximum(w, x), np.maximum(y, z))
    return widen_range(low, high, 2.0**-52)


def square_range(a: Range) -> Range:
    low, high = a[0] * a[0], a[1] * a[1]
    least = np.where((a[0] <= 0) & (a[1] >= 0), 0.0, np.minimum(low, high))
    down, up = widen_range(least, np.maximum(low, high), 2.0**-52)
    return np.maximum(down, 0.0), up


def _sine_range(low: Array, high: Array) -> Range:
    """Of all angles between; peaks are at pi/2 + 2 pi k."""
    turn, quarter = 2 * np.pi, np.pi / 2
    slack = 1e-9 + 1e-15 * np.maximum(np.abs(low), np.abs(high))  # a peak too many is only wider

    def has(peak: float) -> NDArray[np.bool_]:
        k = np.ceil((low - slack - peak) / turn)
        found: NDArray[np.bool_] = peak + turn * k <= high + slack
        return found

    a, b = np.sin(low), np.sin(high)
    wild = (np.abs(low) >= LARGEST_ANGLE) | (np.abs(high) >= LARGEST_ANGLE)
    least, most = widen_range(np.minimum(a, b), np.maximum(a, b))
    return (
        np.where(has(-quarter) | wild, -1.0, np.maximum(least - 2.0**-52, -1.0)) + _nowhere(low, high),
        np.where(has(quarter) | wild, 1.0, np.minimum(most + 2.0**-52, 1.0)) + _nowhere(low, high),
    )


def _nowhere(low: Array, high: Array) -> Array:
    """NaN where an argument has no value somewhere, else 0."""
    return np.where(np.isnan(low) | np.isnan(high), np.nan, 0.0)


def _cosine_range(low: Array, high: Array) -> Range:
    turn = 2 * np.pi
    slack = 1e-9 + 1e-15 * np.maximum(np.abs(low), np.abs(high))

    def has(peak: float) -> NDArray[np.bool_]:
        k = np.ceil((low - slack - peak) / turn)
        found: NDArray[np.bool_] = peak + turn * k <= high + slack
        return found

    a, b = np.cos(low), np.cos(high)
    wild = (np.abs(low) >= LARGEST_ANGLE) | (np.abs(high) >= LARGEST_ANGLE)
    least, most = widen_range(np.minimum(a, b), np.maximum(a, b))
    return (
        np.where(has(np.pi) | wild, -1.0, np.maximum(least - 2.0**-52, -1.0)) + _nowhere(low, high),
        np.where(has(0.0) | wild, 1.0, np.minimum(most + 2.0**-52, 1.0)) + _nowhere(low, high),
    )


def _rising(f: Callable[[Array], Array]) -> Callable[[Array, Array], Range]:
    return lambda low, high: widen_range(f(low), f(high))


def _root_range(low: Array, high: Array) -> Range:
    down, up = widen_range(np.sqrt(low), np.sqrt(high))
    return np.maximum(down, 0.0), up


def _inverse_range(low: Array, high: Array) -> Range:
    apart = (low > 0) | (high < 0)
    a, b = np.where(apart, low, np.nan), np.where(apart, high, np.nan)
    return widen_range(1 / b, 1 / a)


def _tan_range(low: Array, high: Array) -> Range:
    """Only between two poles, and where it is known well enough where these are."""
    k = np.round(low / np.pi)
    pole = (np.abs(low - np.pi * k) >= 1.5707963) | (np.abs(high - np.pi * k) >= 1.5707963)
    pole |= (np.abs(low) >= LARGEST_ANGLE) | (np.abs(high) >= LARGEST_ANGLE)
    return widen_range(np.where(pole, np.nan, np.tan(low)), np.where(pole, np.nan, np.tan(high)))


RANGES: dict[str, Callable[[Array, Array], Range]] = {
    "sin": _sine_range,
    "cos": _cosine_range,
    "exp": _rising(np.exp),
    "log": _rising(np.log),
    "sqrt": _root_range,
    "atan": _rising(np.arctan),
    "asin": _rising(np.arcsin),
    "tanh": _rising(np.tanh),
    "tan": _tan_range,
    "inverse": _inverse_range,
    "acos_at_zero": lambda low, _: widen_range(low + np.pi / 2, low + np.pi / 2),
}


def function_range(name: str, low: Array, high: Array) -> Range:
    """Where a function has no value somewhere the range is NaN."""
    with np.errstate(all="ignore"):
        return RANGES[name](low, high)


def slopes_at(name: str, x: Array) -> tuple[Array, Array]:
    """Value and derivative at points, as the library has them."""
    with np.errstate(all="ignore"):
        match name:
            case "sin":
                return np.sin(x), np.cos(x)
            case "cos":
                return np.cos(x), -np.sin(x)
            case "exp":
                value = np.exp(x)
                return value, value
            case "log":
                return np.log(x), 1 / x
            case "sqrt":
                value = np.sqrt(x)
                return value, 0.5 / value
            case "atan":
                return np.arctan(x), 1 / (1 + x * x)
            case "asin":
                return np.arcsin(x), 1 / np.sqrt(1 - x * x)
            case "tanh":
                value = np.tanh(x)
                return value, 1 - value * value
            case "tan":
                value = np.tan(x)
                return value, 1 + value * value
            case "inverse":
                return 1 / x, -1 / (x * x)
            case "acos_at_zero":
                return np.full_like(x, np.pi / 2), np.zeros_like(x)
    raise AssertionError(name)


def curvature_range(name: str, low: Array, high: Array) -> Range:
    """The second derivative over an interval."""
    with np.errstate(all="ignore"):
        match name:
            case "sin":
                a, b = _sine_range(low, high)
                return -b, -a
            case "cos":
                a, b = _cosine_range(low, high)
                return -b, -a
            case "exp":
                return RANGES["exp"](low, high)
            case "log":
                a, b = square_range(_inverse_range(low, high))
                return -b, -a
            case "sqrt":  # -1 / (4 x^(3/2)), rising
                return widen_range(-0.25 * low**-1.5, -0.25 * high**-1.5)
            case "inverse":  # 2 / x^3
                i = _inverse_range(low, high)
                a, b = multiply_ranges(i, square_range(i))
                return 2 * a, 2 * b
            case "atan":  # -2 x / (1 + x^2)^2
                g = _inverse_range(*_shift(square_range((low, high)), 1.0))
                a, b = multiply_ranges((low, high), square_range(g))
                return -2 * b, -2 * a
            case "asin":  # x / (1 - x^2)^(3/2), rising
                a, b = (x * ((1 - x) * (1 + x)) ** -1.5 for x in (low, high))
                return widen_range(a, b, 2.0**-48)
            case "tanh":  # -2 t (1 - t^2)
                t = RANGES["tanh"](low, high)
                s = square_range(t)
                a, b = multiply_ranges(t, _shift((-s[1], -s[0]), 1.0))
                return -2 * b, -2 * a
            case "tan":
                t = _tan_range(low, high)
                a, b = multiply_ranges(t, _shift(square_range(t), 1.0))
                return 2 * a, 2 * b
            case "acos_at_zero":
                return np.zeros_like(low), np.zeros_like(high)
    raise AssertionError(name)


def _shift(a: Range, by: float) -> Range:
    return widen_range(a[0] + by, a[1] + by, 2.0**-52)
