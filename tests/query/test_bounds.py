"""Exact bounds of quantities: the float32 numbers next to them."""

from fractions import Fraction
from typing import TypeAlias

import numpy as np
import pytest

from surefoot.query.bounds import float32_near, float32_within, intersect_intervals
from surefoot.term.float32 import round_to_float32

Ends: TypeAlias = tuple[Fraction | None, Fraction | None]


@pytest.mark.parametrize(
    "value",
    [
        Fraction(0),
        Fraction(1, 2),
        Fraction(3, 5),
        Fraction(-3, 5),
        Fraction(2**25 + 1),
        Fraction(2**64),
        Fraction(-(2**65)),
        Fraction(1, 2**64),
        Fraction(1, 2**149),
        Fraction(1 + 2**30, 2**30),
        Fraction(2**24 + 1, 2**24) + Fraction(1, 2**60),  # rounded twice it is not the nearest
        Fraction(2**24 + 3, 2**24) - Fraction(1, 2**60),
        Fraction(679857769, 10**9),
        Fraction(float(np.float32(0.6))),
        Fraction(0.6),
    ],
)
def test_float32_numbers_next_to_a_value(value: Fraction) -> None:
    below, above = float32_near(value, up=False), float32_near(value, up=True)
    assert below <= value <= above
    assert all(Fraction(float(np.float32(float(end)))) == end for end in (below, above))
    after = np.nextafter(np.float32(float(below)), np.float32(np.inf))
    assert (below == above) or Fraction(float(after)) == above
    assert float32_within(value, (None, None)) == Fraction(float(round_to_float32(value)))


def test_float32_numbers_next_to_a_whole_number_are_fractions() -> None:
    ends = [float32_near(value, up) for value in (3, 2**25 + 1) for up in (False, True)]  # type: ignore[arg-type]
    assert all(type(end) is Fraction for end in ends)
    assert ends == [3, 3, 2**25, 2**25 + 4]


@pytest.mark.parametrize(
    ("left", "right", "both"),
    [
        ((None, None), (None, None), (None, None)),
        ((None, 2), (1, None), (1, 2)),
        ((0, 2), (1, 3), (1, 2)),
        ((1, 2), (None, 3), (1, 2)),
        ((3, None), (0, 1), (3, 1)),
    ],
)
def test_intersection(left: Ends, right: Ends, both: Ends) -> None:
    assert intersect_intervals(left, right) == intersect_intervals(right, left) == both
