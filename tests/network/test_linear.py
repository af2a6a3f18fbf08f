"""Linear bounds: exact on linear functions, tight where intervals are not, sound on a real policy."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.exact_network import exact_values
from tests.network.planes import planes_below_outputs

from surefoot.network.back_substitution import Planes, linear_bounds
from surefoot.network.directed_rounding import BoxArray
from surefoot.network.exact import exact_outputs
from surefoot.network.interval import interval_bounds
from surefoot.network.relaxation import relax_node
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Network,
    Pairing,
    Shape,
    dense_network,
    freeze_float32,
)


def test_a_difference_that_cancels_is_seen() -> None:
    """(x + y) - (x + y): intervals cannot know, planes do."""
    network = Network(
        2,
        (
            Affine(0, freeze_float32([[1, 1], [1, 1]]), freeze_float32([0, 0])),
            Affine(1, freeze_float32([[1, -1]]), freeze_float32([0])),
        ),
    )
    box = linear_bounds(network, [-1, -1], [1, 1])[-1]
    assert -1e-13 < box.low[0] <= 0 <= box.high[0] < 1e-13
    assert interval_bounds(network, [-1, -1], [1, 1])[-1].high[0] > 3.9


def test_the_known_bounds_of_a_small_network() -> None:
    """relu(x + y) + relu(x - y) on [-1, 1]^2: the planes above sum to x + 2, the interval bound is 4."""
    network = dense_network([([[1, 1], [1, -1]], [0, 0]), ([[1, 1]], [0])])
    bounds = linear_bounds(network, [-1, -1], [1, 1])
    above = planes_below_outputs(network, bounds, [[-1.0]])
    np.testing.assert_allclose(-above.coefficients, [[1.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(-above.constant, [2.0], atol=1e-12)
    np.testing.assert_allclose(bounds[-1].high, [3.0], atol=1e-12)
    assert bounds[-1].high[0] >= 3


def test_margins_are_tighter_than_differences_of_bounds() -> None:
    rng = np.random.default_rng(3)
    network = dense_network(
        [(rng.normal(size=(8, 3)), rng.normal(size=8)), (rng.normal(size=(2, 8)), rng.normal(size=2))]
    )
    bounds = linear_bounds(network, [-0.2] * 3, [0.2] * 3)
    margin = planes_below_outputs(network, bounds, [[1.0, -1.0]]).minimum(bounds[0])
    assert margin[0] > bounds[-1].low[0] - bounds[-1].high[1]


@pytest.mark.parametrize("shape", [Shape.TANH, Shape.SIGMOID])
@pytest.mark.parametrize(
    ("low", "high"), [(-3, 5), (-5, 3), (0.5, 4), (-4, -0.5), (-0.01, 60), (-700, 2), (1, 1)]
)
@pytest.mark.parametrize("certified", [False, True])
def test_smooth_functions_lie_between_their_lines(
    shape: Shape, low: float, high: float, certified: bool
) -> None:
    box = BoxArray(np.array([[float(low)]]), np.array([[float(high)]]))
    lines = relax_node(Activation(0, shape), [box], certified=certified)
    network = Network(1, (Activation(0, shape),))
    worst = 0.0
    for x in np.linspace(low, high, 41):
        least, greatest = exact_values(network, [x])[-1][0]
        below, above = (
            Fraction(float(slope[0, 0])) * Fraction(float(x)) + Fraction(float(constant[0, 0]))
            for slope, constant in (
                (lines.below[0], lines.below_constant),
                (lines.above[0], lines.above_constant),
            )
        )
        assert below <= least
        assert above >= greatest
        worst = max(worst, float(above - below))
    assert worst <= 2.3 if shape is Shape.TANH else worst <= 1.15  # no worse than the constants, about


@pytest.mark.parametrize(
    ("shape", "parameters"), [(Shape.RELU, ()), (Shape.LEAKY_RELU, (0.125,)), (Shape.CLIP, (-1.0, 2.0))]
)
@pytest.mark.parametrize("certified", [False, True])
def test_piecewise_linear_functions_lie_between_their_lines_exactly(
    shape: Shape, parameters: tuple[float, ...], certified: bool
) -> None:
    rng = np.random.default_rng(3)
    sizes = rng.choice([1e-300, 1e-6, 1.0, 1e6, 1e300], size=(300, 1))
    ends = np.sort(rng.normal(size=(300, 2)) * sizes, axis=1)
    ends[::7, 0], ends[::11, 1] = -ends[::7, 1], np.maximum(ends[::11, 0], 0.0)
    ends = np.sort(ends, axis=1)
    node = Activation(0, shape, parameters)
    lines = relax_node(node, [BoxArray(ends[:, :1], ends[:, 1:])], certified=certified)
    kinks = (0.0,) if shape is not Shape.CLIP else parameters
    for member, (low, high) in enumerate(ends):
        for x in (low, high, 0.5 * low + 0.5 * high, *np.clip(kinks, low, high)):
            (true,) = exact_outputs(Network(1, (node,)), [Fraction(float(x))])
            assert _line(lines.below[0], lines.below_constant, member, x) <= true
            assert _line(lines.above[0], lines.above_constant, member, x) >= true


@pytest.mark.parametrize("shape", [Shape.TANH, Shape.SIGMOID])
def test_smooth_functions_are_bounded_for_any_slope_and_touch_point(
    shape: Shape, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The choice of the tangent is for tightness only: a bad one must not make the bounds wrong."""
    rng = np.random.default_rng(7)
    network = Network(1, (Activation(0, shape),))

    def careless(
        _: Shape, low: np.ndarray, bend: np.ndarray, high: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        return rng.uniform(-0.5, 1.5, low.shape), bend + rng.random(low.shape) * (high - bend)

    monkeypatch.setattr("surefoot.network.relaxation._tangent_slope", careless)
    ends = np.sort(rng.normal(size=(60, 2)) * 3, axis=1)
    lines = relax_node(Activation(0, shape), [BoxArray(ends[:, :1], ends[:, 1:])])
    for member, (low, high) in enumerate(ends):
        for x in np.linspace(low, high, 9):
            least, greatest = exact_values(network, [x])[-1][0]
            assert _line(lines.below[0], lines.below_constant, member, x) <= least
            assert _line(lines.above[0], lines.above_constant, member, x) >= greatest


def _line(slope: np.ndarray, constant: np.ndarray, member: int, x: float) -> Fraction:
    return Fraction(float(slope[member, 0])) * Fraction(float(x)) + Fraction(float(constant[member, 0]))


def test_the_least_value_of_a_plane_is_never_above_the_exact_one() -> None:
    rng = np.random.default_rng(8)
    coefficients, low = rng.normal(size=(200, 1, 7)), rng.normal(size=(200, 7)) * 100
    high = low + rng.choice([0.0, 1e-9, 1.0], size=(200, 7))
    least = Planes(coefficients, rng.normal(size=(200, 1))).minimum(BoxArray(low, high))
    planes = Planes(coefficients, -least)  # so that the exact minimum is close to 0
    again = planes.minimum(BoxArray(low, high))
    for member in range(200):
        terms = (
            min(Fraction(c) * Fraction(a), Fraction(c) * Fraction(b))
            for c, a, b in zip(coefficients[member, 0], low[member], high[member], strict=True)
        )
        exact = sum(terms, Fraction(float(planes.constant[member, 0])))
        assert Fraction(float(again[member, 0])) <= exact
        assert exact - Fraction(float(again[member, 0])) < Fraction(1, 10**9)


def test_products_use_the_corners() -> None:
    network = Network(
        2,
        (
            Affine(0, freeze_float32([[1, 0]]), freeze_float32([0])),
            Affine(0, freeze_float32([[0, 1]]), freeze_float32([0])),
            Combine(1, 2, Pairing.MULTIPLY),
        ),
    )
    box = linear_bounds(network, [1, 2], [3, 5])[-1]
    np.testing.assert_allclose([box.low[0], box.high[0]], [2, 15], rtol=1e-13)


def test_huge_numbers_give_up_rather_than_lie() -> None:
    network = Network(1, tuple(Combine(i, i, Pairing.MULTIPLY) for i in range(12)))
    bounds = linear_bounds(network, [1.5], [2.0])
    above = planes_below_outputs(network, bounds, [[-1.0]])
    assert bounds[-1].high[0] == np.inf
    assert above.constant[0] == -np.inf
    assert (above.coefficients == 0).all()


def test_a_network_without_nodes_is_the_identity() -> None:
    network = Network(2, ())
    bounds = linear_bounds(network, [0, 1], [1, 2])
    np.testing.assert_array_equal(planes_below_outputs(network, bounds, np.eye(2)).coefficients, np.eye(2))
    np.testing.assert_array_equal(bounds[-1].high, [1, 2])


@pytest.mark.shared_data
def test_the_published_congestion_controller_stays_in_its_bounds(shared_data: Path) -> None:
    """Excellent conditions: latency gradient within 0.01 of 0, latency ratio of 1, send ratio 1."""
    stored = np.load(shared_data / "policies" / "aurora_icml" / "aurora_icml.npz")
    network = dense_network([(stored[f"W{i}"].T, stored[f"b{i}"]) for i in range(3)], Shape.TANH)
    low, high = np.tile([-0.01, 1.0, 1.0], 10), np.tile([0.01, 1.01, 1.0], 10)
    bounds, plain = linear_bounds(network, low, high), interval_bounds(network, low, high)[-1]
    rng = np.random.default_rng(6)
    share = rng.random((1000, 30))
    share[:300] = rng.integers(0, 2, size=(300, 30))
    box = bounds[-1]
    outputs = infer_outputs(network, (low + share * (high - low)).astype(np.float32))[:, 0].astype(np.float64)
    rounding = 1e-5  # of float32, far more than was ever seen
    assert (outputs >= box.low[0] - rounding).all()
    assert (outputs <= box.high[0] + rounding).all()
    for point in share[:5] * (high - low) + low:
        least, greatest = exact_values(network, np.clip(point, low, high))[-1][0]
        assert box.low[0] <= least
        assert greatest <= box.high[0]
    assert box.high[0] - box.low[0] < 0.7 * (plain.high[0] - plain.low[0])
