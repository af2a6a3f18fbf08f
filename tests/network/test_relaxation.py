"""Lines around functions of two values enclose them in exact arithmetic, down to the last bit."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from surefoot.network.interval import BoxArray
from surefoot.network.relaxation import relax_node
from surefoot.problem.network import Combine, Pairing

EXACT: dict[Pairing, Callable[[Fraction, Fraction], Fraction]] = {
    Pairing.ADD: lambda x, y: x + y,
    Pairing.MULTIPLY: lambda x, y: x * y,
    Pairing.MAXIMUM: max,
    Pairing.DIVIDE: lambda x, y: x / y,
}


@pytest.mark.parametrize("pairing", list(Pairing))
def test_lines_enclose_functions_of_two_values(pairing: Pairing) -> None:
    rng = np.random.default_rng(7)
    size = 150
    ends = [np.sort(rng.normal(size=(2, size)) * rng.choice([1e-3, 1, 1e3], size), axis=0) for _ in range(2)]
    if pairing is Pairing.DIVIDE:
        ends[1] = np.sort(np.abs(ends[1]) + 1e-3, axis=0)
    boxes = [BoxArray(low, high) for low, high in ends]
    found = relax_node(Combine(0, 1, pairing), boxes)
    for i in range(size):
        inner = [rng.uniform(*(end[i] for end in (box.low, box.high)), 2) for box in boxes]
        points = [[box.low[i], box.high[i], *more] for box, more in zip(boxes, inner, strict=True)]
        for x, y in product(*([Fraction(float(v)) for v in several] for several in points)):
            true = EXACT[pairing](x, y)
            below, above = (
                Fraction(float(slopes[0][i])) * x
                + Fraction(float(slopes[1][i])) * y
                + Fraction(float(constant[i]))
                for slopes, constant in (
                    (found.below, found.below_constant),
                    (found.above, found.above_constant),
                )
            )
            assert below <= true <= above
