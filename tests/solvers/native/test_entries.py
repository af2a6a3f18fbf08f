"""Bounds of single entries, outward steps, and the quick test for overflow."""

from __future__ import annotations

import numpy as np
import pytest

from surefoot.network.back_substitution import back_substitute_rows, planes_below_entries
from surefoot.network.directed_rounding import round_down, round_up
from surefoot.problem.network import dense_network
from surefoot.solvers.native.bounding.gradients import forward_values
from surefoot.solvers.native.bounding.network_bounds import (
    bound_box_batch,
    build_bounding_plan,
    may_overflow_on_boxes,
)

RANDOM = np.random.default_rng(5)
NETWORK = dense_network(
    [
        (RANDOM.normal(size=(w, v)).tolist(), RANDOM.normal(size=w).tolist())
        for v, w in ((3, 8), (8, 8), (8, 2))
    ]
)


def test_entries_have_the_planes_of_unit_rows() -> None:
    every = {v: np.ones(w, dtype=np.bool_) for v, w in enumerate(NETWORK.widths()) if v}
    plan = build_bounding_plan(NETWORK, every)
    low = RANDOM.normal(size=(4, 3))
    found = bound_box_batch(plan, low, low + 1.0, {})
    entry, sign = RANDOM.integers(0, 8, size=(4, 5)), RANDOM.choice([-1.0, 0.0, 1.0], size=(4, 5))
    planes = planes_below_entries(found, 3, entry, sign)
    rows = sign[..., None] * (entry[..., None] == np.arange(8))
    others = back_substitute_rows(found, rows, 3)
    assert np.allclose(planes.coefficients, others.coefficients, rtol=0, atol=1e-12)
    some = sign != 0
    assert np.allclose(planes.constant[some], others.constant[some], rtol=0, atol=1e-9)
    points = low[:, None] + RANDOM.random((4, 50, 3))
    values = forward_values(NETWORK, points.reshape(-1, 3))[3].reshape(4, 50, 8)
    least = np.einsum("brw,bpw->bpr", rows, values).min(axis=1)
    assert (planes.minimum(found.boxes[0]) <= least).all()


def test_outward_steps_are_one_or_two_units() -> None:
    size = 2.0 ** RANDOM.integers(-900, 1000, size=1000)
    x = np.concatenate(
        [RANDOM.normal(size=1000) * size, 2.0 ** np.arange(-900, 1000), -(2.0 ** np.arange(-900, 1000))]
    )
    assert (round_up(x) >= np.nextafter(x, np.inf)).all()
    assert (round_up(x) <= np.nextafter(np.nextafter(x, np.inf), np.inf)).all()
    assert (round_down(x) == -round_up(-x)).all()


@pytest.mark.parametrize("x", [0.0, 5e-324, -5e-324, 1.7976931348623157e308, np.inf, -np.inf])
def test_outward_steps_at_the_ends_of_the_range(x: float) -> None:
    assert round_up(np.array([x]))[0] >= np.nextafter(x, np.inf)
    assert round_down(np.array([x]))[0] <= np.nextafter(x, -np.inf)


@pytest.mark.parametrize(("size", "expected"), [(1.0, False), (1e15, False), (1e30, True)])
def test_overflow_is_seen_whichever_test_sees_it(size: float, expected: bool) -> None:
    network = dense_network([([[size]], [0.0]), ([[size]], [0.0])])
    plan = build_bounding_plan(network, {v: np.ones(1, dtype=np.bool_) for v in (1, 2, 3)})
    assert may_overflow_on_boxes(plan, np.array([[-1.0]]), np.array([[1.0]])) is expected


def test_overflow_of_what_only_rounding_makes_not_zero() -> None:
    network = dense_network([([[0.0]], [0.0]), ([[3e38]], [0.0])])
    plan = build_bounding_plan(network, {v: np.ones(1, dtype=np.bool_) for v in (1, 2, 3)})
    assert not may_overflow_on_boxes(plan, np.array([[0.0]]), np.array([[0.0]]))
