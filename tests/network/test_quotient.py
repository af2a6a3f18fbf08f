"""Planes around quotients: exact by fractions, for every sign, for any slopes, given up near zero."""

from fractions import Fraction

import numpy as np
import pytest

from surefoot.network.back_substitution import linear_bounds
from surefoot.network.directed_rounding import BoxArray
from surefoot.network.relaxation import Relaxation, relax_node
from surefoot.problem.network import Affine, Combine, Network, Pairing, Pick, freeze_float32, freeze_indices

QUOTIENT = Combine(0, 1, Pairing.DIVIDE)
BOXES = [
    ((1, 3), (2, 5)),
    ((-3, -1), (2, 5)),
    ((-3, 1), (2, 5)),
    ((1, 3), (-5, -2)),
    ((-3, 1), (-5, -0.125)),
    ((-2, 7), (1e-3, 100)),
    ((0, 0), (1, 2)),
    ((0, 1), (1, 1)),
    ((3, 3), (0.1, 10)),
    ((-1e20, 1e-20), (1e-10, 1e10)),
    ((1, 2), (1e-200, 1e-190)),
]


def box(low: float, high: float) -> BoxArray:
    return BoxArray(np.array([[float(low)]]), np.array([[float(high)]]))


def gaps(
    planes: Relaxation, left: BoxArray, right: BoxArray, member: int = 0
) -> list[tuple[Fraction, Fraction]]:
    """How far the planes are below and above the quotient, exactly, on a grid of points."""
    ends = [(b.low[member, 0], b.high[member, 0]) for b in (left, right)]
    grid = [np.clip(np.linspace(low, high, 9), low, high) for low, high in ends]
    found = []
    for x, y in ((Fraction(float(x)), Fraction(float(y))) for x in grid[0] for y in grid[1]):
        below, above = (
            Fraction(float(slopes[0][member, 0])) * x
            + Fraction(float(slopes[1][member, 0])) * y
            + Fraction(float(constant[member, 0]))
            for slopes, constant in (
                (planes.below, planes.below_constant),
                (planes.above, planes.above_constant),
            )
        )
        found.append((x / y - below, above - x / y))
    return found


@pytest.mark.parametrize(("dividend", "divisor"), BOXES)
def test_quotients_lie_between_their_planes(
    dividend: tuple[float, float], divisor: tuple[float, float]
) -> None:
    left, right = box(*dividend), box(*divisor)
    found = gaps(relax_node(QUOTIENT, [left, right]), left, right)
    assert min(min(pair) for pair in found) >= 0
    corners = [Fraction(x) / Fraction(y) for x in dividend for y in divisor]
    width = max(corners) - min(corners) + Fraction(1, 10**12)
    assert max(max(pair) for pair in found) <= 2 * width


def test_planes_touch_a_quotient_of_positive_numbers() -> None:
    left, right = box(1, 3), box(2, 5)
    below, above = zip(*gaps(relax_node(QUOTIENT, [left, right]), left, right), strict=True)
    assert min(below) < Fraction(1, 50)
    assert min(above) < Fraction(1, 10**12)


def test_bounds_hold_for_any_slopes_and_touch_points(monkeypatch: pytest.MonkeyPatch) -> None:
    """These are chosen for tightness only: a bad choice must not make the bounds wrong."""
    rng = np.random.default_rng(3)

    def careless(x: BoxArray, _: BoxArray) -> tuple[tuple[np.ndarray, np.ndarray], ...]:
        first, second = rng.normal(size=(2, 2, *x.low.shape))
        return (first[0], first[1]), (second[0], second[1])

    def anywhere(_: np.ndarray, y: BoxArray, __: np.ndarray) -> np.ndarray:
        return y.low + rng.random(y.low.shape) * (y.high - y.low)

    monkeypatch.setattr("surefoot.network.quotient_relaxation._mccormick_slopes", careless)
    monkeypatch.setattr("surefoot.network.quotient_relaxation._touch_point", anywhere)
    ends = np.sort(rng.normal(size=(80, 2)) * 2, axis=1)
    sizes = np.sort(rng.uniform(0.1, 4, size=(80, 2)), axis=1)
    sizes[::2] = -sizes[::2, ::-1]
    left, right = BoxArray(ends[:, :1], ends[:, 1:]), BoxArray(sizes[:, :1], sizes[:, 1:])
    planes = relax_node(QUOTIENT, [left, right])
    for member in range(80):
        assert min(min(pair) for pair in gaps(planes, left, right, member)) >= 0
        assert planes.below[0][member, 0] != 0


@pytest.mark.parametrize("divisor", [(0, 1), (-1, 0), (-1, 1), (0, 0)])
def test_a_divisor_that_may_be_zero_leaves_no_bounds(divisor: tuple[float, float]) -> None:
    planes = relax_node(QUOTIENT, [box(1, 2), box(*divisor)])
    assert planes.below_constant[0, 0] == -np.inf
    assert planes.above_constant[0, 0] == np.inf
    assert not any(slope.any() for slope in (*planes.below, *planes.above))


def test_a_share_of_a_sum_is_bounded_better_than_by_intervals() -> None:
    """x / (x + y) for x, y in [1, 2] is within [1/3, 2/3]; intervals say [1/4, 1]."""
    total = Affine(0, freeze_float32([[1, 1]]), freeze_float32([0]))
    network = Network(2, (Pick(0, freeze_indices([0])), total, Combine(1, 2, Pairing.DIVIDE)))
    found = linear_bounds(network, [1, 1], [2, 2])[-1]
    assert 0.25 <= found.low[0] <= 1 / 3
    assert 2 / 3 <= found.high[0] < 0.9
