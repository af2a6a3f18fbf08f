"""Bounds of inputs, each with the place where it was stated: intersection for `and`, hull for `or`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple, TypeAlias

from surefoot.formats.vnnlib.sexpr import fault
from surefoot.formats.vnnlib.specification import input_bound
from surefoot.problem.parse.number import show_number
from surefoot.problem.term import Term


class Side(NamedTuple):
    value: Fraction
    offset: int


class Interval(NamedTuple):
    low: Side | None
    high: Side | None


Box: TypeAlias = dict[str, Interval]  # an input that is missing has no bound


def stated(comparison: Term, offset: int) -> Box:
    """The bound that a single comparison puts on an input, if it does."""
    bound = input_bound(comparison)
    if bound is None:
        return {}
    name, low, high = bound
    return {
        name: Interval(
            None if low is None else Side(low, offset),
            None if high is None else Side(high, offset),
        )
    }


def intersection(boxes: Sequence[Box], text: str) -> Box:
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
                raise fault(
                    text,
                    max(low.offset, high.offset),
                    f"input {name} has lower bound {shown_number(low.value)} "
                    f"above upper bound {shown_number(high.value)}",
                    "swap or correct the bounds",
                )
            result[name] = Interval(low, high)
    return result


def hull(boxes: Sequence[Box]) -> Box:
    """What at least one box allows."""
    result = dict(boxes[0])
    for box in boxes[1:]:
        for name, (low, high) in list(result.items()):
            if name not in box:
                del result[name]
                continue
            other = box[name]
            result[name] = Interval(
                min(low, other.low) if low and other.low else None,
                max(high, other.high) if high and other.high else None,
            )
    return result


def shown_number(value: Fraction, most: int = 40) -> str:
    """A number for a message: exact if that is short, else rounded."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) < 300:
        exact = show_number(value)
        if len(exact) <= most:
            return exact
    return f"about {float(value)!r}"
