"""Starts that no admissible control can save: unsafe at once, or after one step whatever the control is.

Values are computed over boxes in the system's own arithmetic. Rounding to nearest is monotone, so the ends of
a sum or a product of two ranges, rounded in the same order, are the ends of what can be computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from math import isfinite
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.reductions.barrier import ControlSystem
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Const, Op, Term, Var

Box: TypeAlias = tuple[tuple[Fraction, Fraction], ...]
Number: TypeAlias = Fraction | float
Ends: TypeAlias = tuple[Number, Number]
MOST_CORNERS = 6  # variables: corners are looked at up to this many


def unavoidable_parts(system: ControlSystem, part: Box) -> tuple[Box, ...]:
    """The whole part if it is lost; otherwise those of its faces and corners that are."""
    if system.motion is not None:
        return ()  # what happens within a period is not looked at
    if is_unavoidably_unsafe(system, part):
        return (part,)
    found: list[Box] = []
    for piece in _enumerate_faces(part):
        if not any(_is_box_within(piece, larger) for larger in found) and is_unavoidably_unsafe(
            system, piece
        ):
            found.append(piece)
    return tuple(found)


def _is_box_within(box: Box, other: Box) -> bool:
    return all(a <= low and high <= b for (low, high), (a, b) in zip(box, other, strict=True))


def _enumerate_faces(part: Box) -> Iterator[Box]:
    for i, (low, high) in enumerate(part):
        yield from ((*part[:i], (end, end), *part[i + 1 :]) for end in {low, high})
    if len(part) <= MOST_CORNERS:
        yield from product(*(sorted({(low, low), (high, high)}) for low, high in part))


def is_unavoidably_unsafe(system: ControlSystem, box: Box) -> bool:
    """Every state of the box is unsafe, or is after one step: for all controls and a possible disturbance."""

    def number(value: Fraction) -> Number:
        return float(value) if system.rounded else value

    state: dict[str, Ends] = {
        name: (number(low), number(high)) for name, (low, high) in zip(system.variables, box, strict=True)
    }
    if _interval_truth(system.unsafe, state, system.rounded) is True:
        return True
    if any(least is None or most is None for _, least, most in system.controls):
        return False
    controls: dict[str, Ends] = {
        name: (number(least), number(most))
        for name, least, most in system.controls
        if least is not None and most is not None
    }
    for share in (Fraction(0), Fraction(1, 2), Fraction(1)) if system.disturbances else (Fraction(0),):
        drawn = {n: number(low + (high - low) * share) for n, (low, high) in system.disturbances}
        values = state | controls | {n: (d, d) for n, d in drawn.items()}
        following = {
            name: _term_range(term, values, system.rounded)
            for name, term in zip(system.variables, system.next, strict=True)
        }
        finite = all(isfinite(end) for ends in following.values() for end in ends)
        if finite and _interval_truth(system.unsafe, following, system.rounded) is True:
            return True
    return False


def _interval_truth(term: Term, values: Mapping[str, Ends], rounded: bool) -> bool | None:
    """None: it depends."""
    match term:
        case Const(bool(value)):
            return value
        case Apply(Op.NOT, (inner,)):
            found = _interval_truth(inner, values, rounded)
            return None if found is None else not found
        case Apply(Op.IMPLIES, (left, right)):
            return _three_valued_or(
                [_interval_truth(~left, values, rounded), _interval_truth(right, values, rounded)]
            )
        case Apply(Op.OR, parts):
            return _three_valued_or([_interval_truth(p, values, rounded) for p in parts])
        case Apply(Op.AND, parts):
            found = _three_valued_or([_interval_truth(~p, values, rounded) for p in parts])
            return None if found is None else not found
        case Apply((Op.LT | Op.LE | Op.EQ) as op, (left, right)):
            return _compare_ranges(
                op, _term_range(left, values, rounded), _term_range(right, values, rounded)
            )
        case _:
            raise Unsupported(f"`{show_term(term)}` is not a comparison")


def _three_valued_or(parts: Sequence[bool | None]) -> bool | None:
    return True if True in parts else None if None in parts else False


def _compare_ranges(op: Op, left: Ends, right: Ends) -> bool | None:
    if op is Op.EQ:
        apart = left[1] < right[0] or right[1] < left[0]
        return False if apart else True if left[0] == left[1] == right[0] == right[1] else None
    if left[1] < right[0] or (op is Op.LE and left[1] <= right[0]):
        return True
    if right[1] < left[0] or (op is Op.LT and right[1] <= left[0]):
        return False
    return None


def _term_range(term: Term, values: Mapping[str, Ends], rounded: bool) -> Ends:
    match term:
        case Const(value):
            number: Number = float(value) if rounded else Fraction(value)
            return number, number
        case Var(name):
            return values[name]
        case Apply(Op.ADD, parts):
            total = _term_range(parts[0], values, rounded)
            for part in parts[1:]:
                other = _term_range(part, values, rounded)
                total = (total[0] + other[0], total[1] + other[1])
            return total
        case Apply(Op.SUB, (left, right)):
            first, second = _term_range(left, values, rounded), _term_range(right, values, rounded)
            return first[0] - second[1], first[1] - second[0]
        case Apply(Op.NEG, (inner,)):
            low, high = _term_range(inner, values, rounded)
            return -high, -low
        case Apply(Op.MUL, parts):
            total = _term_range(parts[0], values, rounded)
            for part in parts[1:]:
                total = _multiply_ranges(total, _term_range(part, values, rounded))
            return total
        case Apply(Op.DIV, (left, Const(value))) if value:
            first = _term_range(left, values, rounded)
            by = float(value) if rounded else Fraction(value)
            return min(first[0] / by, first[1] / by), max(first[0] / by, first[1] / by)
        case Apply(Op.POW, (base, Const(int(exponent)))) if exponent > 0:
            return _term_range(Apply(Op.MUL, (base,) * exponent) if exponent > 1 else base, values, rounded)
        case _:
            raise Unsupported(f"`{show_term(term)}` is not a polynomial")


def _multiply_ranges(left: Ends, right: Ends) -> Ends:
    products = [a * b for a in left for b in right]
    return min(products), max(products)
