"""Parts of the starts: regions around a start that no set contains yet, and what is left without them.

Lines 4 to 8 of Algorithm 2 (Zhu et al., PLDI 2019). A region is a box around the start, at first so wide that
it holds everything, then half as wide again and again. Here it lies within the part that is still open, so
that the boxes of different rules share no more than their sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.barrier.float_system import evaluate_polynomial
from surefoot.engines.barrier.invariant_set import InvariantSet
from surefoot.reductions.barrier import ControlSystem, barrier_rows
from surefoot.shields.linear_controllers import Floats, Range, sample_starts

Box = tuple[Range, ...]
SLICE = Fraction(1, 512)  # of the starts: how much is given up around starts that are lost
SLIVER = Fraction(1, 128)  # of the starts: no region leaves a thinner rest of its part


def uncovered_start(
    system: ControlSystem, sets: Sequence[InvariantSet], part: Box, generator: np.random.Generator
) -> Floats | None:
    """Line 4: a start of this part that no set contains; None: none was met among many random ones.

    This only directs the search: what a set contains is decided by proofs.
    """
    states = sample_starts(part, generator)
    open_ones = states[~states_in_sets(system, sets, states)]
    if not len(open_ones):
        return None
    found: Floats = open_ones[int(generator.integers(len(open_ones)))]
    return found


def states_in_sets(system: ControlSystem, sets: Sequence[InvariantSet], states: Floats) -> NDArray[np.bool_]:
    """Which states are in one of the sets, as floats see it."""
    found = np.zeros(len(states), dtype=bool)
    for one in sets:
        low, high = (np.array([float(ends[i]) for ends in one.domain]) for i in (0, 1))
        inside = ((low <= states) & (states <= high)).all(axis=1)
        for row in barrier_rows(one.barrier):
            inside &= evaluate_polynomial(system.state_polynomial(row), states) <= -float(one.margin)
        found |= inside
    return found


def region_around(start: Floats, radius: Fraction, part: Box, starts: Sequence[Range]) -> Box:
    """Lines 7 and 8: the states of the part that are near; the radius is a share of the starts' width."""
    found = []
    for value, (low, high), (a, b) in zip(start.tolist(), part, starts, strict=True):
        reach, sliver = float(radius * (b - a)), SLIVER * (b - a)
        below, above = Fraction(value - reach), Fraction(value + reach)
        found.append((low if below < low + sliver else below, high if above > high - sliver else above))
    return tuple(found)


def subtract_region(part: Box, region: Box) -> list[Box]:
    """What is left of a part: boxes that meet at their sides only."""
    found: list[Box] = []
    rest = list(part)
    for i, ((low, high), (below, above)) in enumerate(zip(part, region, strict=True)):
        for ends in ((low, below), (above, high)):
            if ends[0] < ends[1]:
                found.append((*rest[:i], ends, *rest[i + 1 :]))
        rest[i] = (below, above)
    return found


def widest_share(part: Box, starts: Sequence[Range]) -> tuple[Fraction, int]:
    """The largest share of the starts that a part has in a variable, and which variable that is."""
    shares = [
        (high - low) / (b - a) if b > a else Fraction(0)
        for (low, high), (a, b) in zip(part, starts, strict=True)
    ]
    place = max(range(len(shares)), key=lambda i: shares[i])
    return shares[place], place


def halve_part(part: Box, place: int) -> list[Box]:
    """Cut in the middle of a variable's range."""
    low, high = part[place]
    middle = Fraction(float((low + high) / 2))
    return [(*part[:place], ends, *part[place + 1 :]) for ends in ((low, middle), (middle, high))]


def slice_off_piece(part: Box, lost: Box, starts: Sequence[Range]) -> list[Box] | None:
    """What is left, and a slice around the lost piece; None: the part is such a slice on all sides."""
    for i, ((low, high), (at, until), (a, b)) in enumerate(zip(part, lost, starts, strict=True)):
        slice_ = (b - a) * SLICE
        if at != until or high - low <= slice_:
            continue
        where = Fraction(float(high - slice_ if at == high else low + slice_))
        if low < where < high:
            halves = [(*part[:i], ends, *part[i + 1 :]) for ends in ((low, where), (where, high))]
            return halves if at == high else halves[::-1]
    return None
