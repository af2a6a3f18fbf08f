"""Starts that no admissible control can save: unsafe at once, or after one step whatever the control is.

Values are computed over boxes in the system's own arithmetic. Rounding to nearest is monotone, so the ends of
a sum or a product of two ranges, rounded in the same order, are the ends of what can be computed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import reduce
from itertools import product
from math import isfinite
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.reductions.barrier import ControlSystem
from surefoot.term.interval import INTERVAL
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import Leaf, fold_term
from surefoot.term.types import TRUTHS

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
    if _surely_holds(system.unsafe, state, system.rounded):
        return True
    if not system.has_control_ends:
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
            name: _computed_range(term, values, system.rounded)
            for name, term in zip(system.variables, system.next, strict=True)
        }
        finite = all(isfinite(end) for ends in following.values() for end in ends)
        if finite and _surely_holds(system.unsafe, following, system.rounded):
            return True
    return False


def _surely_holds(term: Term, values: Mapping[str, Ends], rounded: bool) -> bool:
    return _computed_range(term, values, rounded) == (1, 1)


def _computed_range(term: Term, values: Mapping[str, Ends], rounded: bool) -> Ends:
    """The interval of what the system computes, so not rounded outward; truth values are 0 and 1."""

    def leaf(part: Leaf) -> Ends:
        if isinstance(part, Var):
            return values[part.name]
        if isinstance(part.value, bool):
            return int(part.value), int(part.value)
        number = float(part.value) if rounded else Fraction(part.value)
        return number, number

    def apply_operator(part: Apply, ranges: list[Ends]) -> Ends:
        if part.op in TRUTHS:
            return INTERVAL[part.op](*ranges)
        match part:
            case Apply(Op.ADD, _):
                return reduce(lambda x, y: (x[0] + y[0], x[1] + y[1]), ranges)
            case Apply(Op.SUB, (_, _)):
                (a, b), (c, d) = ranges
                return a - d, b - c
            case Apply(Op.NEG, (_,)):
                return -ranges[0][1], -ranges[0][0]
            case Apply(Op.MUL, _):
                return reduce(_multiply_ranges, ranges)
            case Apply(Op.DIV, (_, Const(value))) if value:
                quotients = [end / ranges[1][0] for end in ranges[0]]
                return min(quotients), max(quotients)
            case Apply(Op.POW, (_, Const(int(exponent)))) if exponent > 0:
                return reduce(_multiply_ranges, [ranges[0]] * exponent)
        raise Unsupported(f"`{show_term(part)}` is not a polynomial")

    return fold_term(term, leaf, apply_operator)


def _multiply_ranges(left: Ends, right: Ends) -> Ends:
    products = [a * b for a in left for b in right]
    return min(products), max(products)
