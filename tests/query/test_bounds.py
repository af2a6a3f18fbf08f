"""Exact bounds of quantities: the float32 numbers next to them."""

from fractions import Fraction

import numpy as np
import pytest

from surefoot.problem.meaning.inference import round_to_float32
from surefoot.query.bounds import float32_near, float32_within


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
