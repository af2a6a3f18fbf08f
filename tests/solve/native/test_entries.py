"""Bounds of single entries, outward steps, and the quick test for overflow."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.network.outward import down, up
from surefoot.problem.network import dense
from surefoot.solve.native.bounding.bounds import bounded, overflows
from surefoot.solve.native.bounding.layout import layout
from surefoot.solve.native.bounding.passes import forward
from surefoot.solve.native.bounding.substitute import entries_below, substituted

RANDOM = np.random.default_rng(5)
NETWORK = dense(
    [
        (RANDOM.normal(size=(w, v)).tolist(), RANDOM.normal(size=w).tolist())
        for v, w in ((3, 8), (8, 8), (8, 2))
    ]
)


def test_entries_have_the_planes_of_unit_rows() -> None:
    every = {v: np.ones(w, dtype=np.bool_) for v, w in enumerate(NETWORK.widths()) if v}
    plan = layout(NETWORK, every)
    low = RANDOM.normal(size=(4, 3))
    found = bounded(plan, low, low + 1.0, {})
    entry, sign = RANDOM.integers(0, 8, size=(4, 5)), RANDOM.choice([-1.0, 0.0, 1.0], size=(4, 5))
    planes = entries_below(found, 3, entry, sign)
    rows = sign[..., None] * (entry[..., None] == np.arange(8))
    others = substituted(found, rows, 3)
    assert np.allclose(planes.coefficients, others.coefficients, rtol=0, atol=1e-12)
    some = sign != 0
    assert np.allclose(planes.constant[some], others.constant[some], rtol=0, atol=1e-9)
    points = low[:, None] + RANDOM.random((4, 50, 3))
    values = forward(NETWORK, points.reshape(-1, 3))[3].reshape(4, 50, 8)
    least = np.einsum("brw,bpw->bpr", rows, values).min(axis=1)
    assert (planes.minimum(found.boxes[0]) <= least).all()


def test_outward_steps_are_one_or_two_units() -> None:
    size = 2.0 ** RANDOM.integers(-900, 1000, size=1000)
    x = np.concatenate(
        [RANDOM.normal(size=1000) * size, 2.0 ** np.arange(-900, 1000), -(2.0 ** np.arange(-900, 1000))]
    )
    assert (up(x) >= np.nextafter(x, np.inf)).all()
    assert (up(x) <= np.nextafter(np.nextafter(x, np.inf), np.inf)).all()
    assert (down(x) == -up(-x)).all()


@pytest.mark.parametrize("x", [0.0, 5e-324, -5e-324, 1.7976931348623157e308, np.inf, -np.inf])
def test_outward_steps_at_the_ends_of_the_range(x: float) -> None:
    assert up(np.array([x]))[0] >= np.nextafter(x, np.inf)
    assert down(np.array([x]))[0] <= np.nextafter(x, -np.inf)


@pytest.mark.parametrize(("size", "expected"), [(1.0, False), (1e15, False), (1e30, True)])
def test_overflow_is_seen_whichever_test_sees_it(size: float, expected: bool) -> None:
    network = dense([([[size]], [0.0]), ([[size]], [0.0])])
    plan = layout(network, {v: np.ones(1, dtype=np.bool_) for v in (1, 2, 3)})
    assert overflows(plan, np.array([[-1.0]]), np.array([[1.0]])) is expected


def test_overflow_of_what_only_rounding_makes_not_zero() -> None:
    network = dense([([[0.0]], [0.0]), ([[3e38]], [0.0])])
    plan = layout(network, {v: np.ones(1, dtype=np.bool_) for v in (1, 2, 3)})
    assert not overflows(plan, np.array([[0.0]]), np.array([[0.0]]))
