"""Interval bounds of single nodes, by hand, and at the edges of float64."""

import numpy as np
import pytest

from surefoot.network.directed_rounding import BoxArray
from surefoot.network.interval import ACTIVATION, CONSTANT, PAIRING, RULES, interval_bounds, node_interval
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Network,
    Node,
    Pairing,
    Shape,
    freeze_float32,
)


def last(node: Node, low: list[float], high: list[float]) -> BoxArray:
    return interval_bounds(Network(len(low), (node,)), low, high)[-1]


def test_every_kind_of_node_has_a_rule() -> None:
    assert set(RULES) == set(Node.__args__)
    assert set(ACTIVATION) == set(Shape)
    assert set(CONSTANT) == set(Constant)
    assert set(PAIRING) == set(Pairing)


@pytest.mark.parametrize(
    ("node", "low", "high"),
    [
        (Affine(0, freeze_float32([[1, -2]]), freeze_float32([3])), [-4.0], [7.0]),
        (Elementwise(0, Constant.ADD, freeze_float32([1, 2])), [0.0, 1.0], [3.0, 5.0]),
        (Elementwise(0, Constant.MULTIPLY, freeze_float32([-1, 2])), [-2.0, -2.0], [1.0, 6.0]),
        (Elementwise(0, Constant.DIVIDE, freeze_float32([-2, 4])), [-1.0, -0.25], [0.5, 0.75]),
        (Activation(0, Shape.RELU), [0.0, 0.0], [2.0, 3.0]),
        (Activation(0, Shape.LEAKY_RELU, (-0.5,)), [0.0, 0.0], [2.0, 3.0]),
        (Activation(0, Shape.CLIP, (-0.5, 2.5)), [-0.5, -0.5], [2.0, 2.5]),
        (Combine(0, 0, Pairing.ADD), [-2.0, -2.0], [4.0, 6.0]),
        (Combine(0, 0, Pairing.MULTIPLY), [0.0, 0.0], [4.0, 9.0]),
        (Combine(0, 0, Pairing.MAXIMUM), [-1.0, -1.0], [2.0, 3.0]),
    ],
)
def test_bounds_are_the_best_possible_but_for_the_last_places(
    node: Node, low: list[float], high: list[float]
) -> None:
    box = last(node, [-1.0, -1.0], [2.0, 3.0])
    assert (box.low <= low).all()
    assert (box.high >= high).all()
    np.testing.assert_allclose(box.low, low, atol=1e-13)
    np.testing.assert_allclose(box.high, high, atol=1e-13)


def test_smooth_functions_stay_in_their_range() -> None:
    for shape, least in ((Shape.TANH, -1.0), (Shape.SIGMOID, 0.0)):
        box = last(Activation(0, shape), [-1e300], [1e300])
        assert box.low[0] == least
        assert box.high[0] == 1.0


def test_a_cancelling_overflow_gives_the_bound_up() -> None:
    network = Network(2, (Affine(0, freeze_float32([[3e38, -3e38]]), freeze_float32([0])),))
    box = interval_bounds(network, [1e300, 1e300], [1e300, 1e300])[-1]
    assert box.low[0] == -np.inf
    assert box.high[0] == np.inf


def test_division_by_zero_has_no_bounds() -> None:
    box = last(Elementwise(0, Constant.DIVIDE, freeze_float32([0])), [1.0], [2.0])
    assert box.low[0] == -np.inf
    assert box.high[0] == np.inf


@pytest.mark.parametrize(
    ("dividend", "divisor", "low", "high"),
    [
        ((-1.0, 2.0), (0.5, 4.0), -2.0, 4.0),
        ((1.0, 2.0), (-4.0, -0.5), -4.0, -0.25),
        ((1.0, 2.0), (0.25, np.inf), 0.0, 8.0),
        ((1.0, 2.0), (0.0, 1.0), -np.inf, np.inf),
        ((0.0, 0.0), (-1.0, 0.0), -np.inf, np.inf),
        ((1.0, 2.0), (-1.0, 1.0), -np.inf, np.inf),
        ((1.0, np.inf), (1.0, np.inf), -np.inf, np.inf),
    ],
)
def test_a_quotient_is_bounded_while_its_divisor_keeps_its_sign(
    dividend: tuple[float, float], divisor: tuple[float, float], low: float, high: float
) -> None:
    boxes = [BoxArray(np.array([a]), np.array([b])) for a, b in (dividend, divisor)]
    box = node_interval(Combine(0, 1, Pairing.DIVIDE), boxes)
    assert box.low[0] <= low
    assert box.high[0] >= high
    np.testing.assert_allclose([box.low[0], box.high[0]], [low, high], atol=1e-13)


def test_unbounded_inputs_are_allowed() -> None:
    network = Network(
        2, (Affine(0, freeze_float32([[1, 0], [0, 1]]), freeze_float32([0, 0])), Activation(1, Shape.TANH))
    )
    box = interval_bounds(network, [-np.inf, 0.0], [np.inf, 1.0])[-1]
    assert box.low[0] == -1.0
    assert box.high[0] == 1.0


def test_extra_bounds_narrow_and_contradictions_are_empty() -> None:
    network = Network(1, (Activation(0, Shape.RELU), Elementwise(1, Constant.ADD, freeze_float32([1]))))
    low, high = np.array([[-1.0], [-1.0]]), np.array([[2.0], [2.0]])
    extra = {1: BoxArray(np.array([[0.5], [3.0]]), np.array([[1.0], [4.0]]))}
    boxes = interval_bounds(network, low, high, extra)
    assert boxes[1].empty.tolist() == [False, True]
    np.testing.assert_allclose([boxes[2].low[0, 0], boxes[2].high[0, 0]], [1.5, 2.0])


@pytest.mark.parametrize(("low", "high"), [([1.0], [0.0]), ([np.nan], [1.0]), ([0.0, 0.0], [1.0, 1.0])])
def test_bounds_that_are_none_are_refused(low: list[float], high: list[float]) -> None:
    with pytest.raises(ValueError, match="bound"):
        interval_bounds(Network(1, (Activation(0, Shape.RELU),)), low, high)
