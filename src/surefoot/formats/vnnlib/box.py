"""Bounds of inputs, each with the place where it was stated: intersection for `and`, hull for `or`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from surefoot.formats.vnnlib.sexpr import error_at_offset
from surefoot.formats.vnnlib.specification import input_bound
from surefoot.term.decimal_literals import show_number
from surefoot.term.term import Term


class _StatedBound(NamedTuple):
    value: Fraction
    offset: int


class _StatedInterval(NamedTuple):
    low: _StatedBound | None
    high: _StatedBound | None


Box: TypeAlias = dict[str, _StatedInterval]  # an input that is missing has no bound


def box_from_comparison(comparison: Term, offset: int) -> Box:
    """The bound that a single comparison puts on an input, if it does."""
    bound = input_bound(comparison)
    if bound is None:
        return {}
    name, low, high = bound
    return {
        name: _StatedInterval(
            None if low is None else _StatedBound(low, offset),
            None if high is None else _StatedBound(high, offset),
        )
    }


def intersect_boxes(boxes: Sequence[Box], text: str) -> Box:
    """What all boxes allow; an input whose lower bound is above its upper bound is an error."""
    if len(boxes) == 1:
        return boxes[0]
    result: Box = {}
    for box in boxes:
        for name, (low, high) in box.items():
            if name in result:
                known = result[name]
                low = max((s for s in (known.low, low) if s), key=lambda s: s.value, default=None)
                high = min((s for s in (known.high, high) if s), key=lambda s: s.value, default=None)
            if low and high and low.value > high.value:
                raise error_at_offset(
                    text,
                    max(low.offset, high.offset),
                    f"input {name} has lower bound {shorten_number(low.value)} "
                    f"above upper bound {shorten_number(high.value)}",
                    "swap or correct the bounds",
                )
            result[name] = _StatedInterval(low, high)
    return result


def hull_of_boxes(boxes: Sequence[Box]) -> Box:
    """What at least one box allows."""
    result = dict(boxes[0])
    for box in boxes[1:]:
        for name, (low, high) in list(result.items()):
            if name not in box:
                del result[name]
                continue
            other = box[name]
            result[name] = _StatedInterval(
                min(low, other.low) if low and other.low else None,
                max(high, other.high) if high and other.high else None,
            )
    return result


def shorten_number(value: Fraction, most: int = 40) -> str:
    """A number for a message: exact if that is short, else rounded."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) < 300:
        exact = show_number(value)
        if len(exact) <= most:
            return exact
    return f"about {float(value)!r}"
