"""Error bounds: zero where nothing is rounded, modest elsewhere, infinite where it may overflow."""

from itertools import pairwise

import numpy as np
import pytest

from surefoot.network.back_substitution import linear_bounds
from surefoot.network.float32_error import ACTIVATION_ULPS, LARGEST, error_bounds, may_overflow_float32
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Network,
    Node,
    Pairing,
    Pick,
    Shape,
    dense_network,
    freeze_float32,
    freeze_indices,
)


def test_exact_nodes_add_no_error() -> None:
    nodes: tuple[Node, ...] = (
        Activation(0, Shape.RELU),
        Activation(1, Shape.CLIP, (0.0, 1.0)),
        Combine(1, 2, Pairing.MAXIMUM),
    )
    assert (error_bounds(Network(2, nodes), [-1, -1], [1, 1], input_rounding=False) == 0).all()
    rounded = error_bounds(Network(2, nodes), [-1, -1], [1, 1], input_rounding=True)
    np.testing.assert_allclose(rounded, 2.0**-24, rtol=1e-6)


def test_one_dot_product_has_the_textbook_bound() -> None:
    """gamma_{n+1} (|w| . |x| + |b|): n products and n sums."""
    network = Network(3, (Affine(0, freeze_float32([[1, -2, 3]]), freeze_float32([4])),))
    bound = error_bounds(network, [-1, -1, -1], [1, 1, 1], input_rounding=False)
    np.testing.assert_allclose(bound, 4 * 2.0**-24 * 10, rtol=1e-5)


def test_inner_errors_are_carried_by_the_weights() -> None:
    network = Network(
        1, (Activation(0, Shape.TANH), Elementwise(1, Constant.MULTIPLY, freeze_float32([1024])))
    )
    bound = error_bounds(network, [-9], [9], input_rounding=False)
    assert bound[0] == pytest.approx(1024 * (ACTIVATION_ULPS * 2.0**-23 + 2.0**-24), rel=1e-4)


def test_a_layer_carries_the_error_of_its_input_in_full() -> None:
    network = Network(1, (Affine(0, freeze_float32([[8]]), freeze_float32([0])),))
    bound = error_bounds(network, [1], [1], input_rounding=True)
    assert bound[0] == pytest.approx(8 * (1 + 2) * 2.0**-24, rel=1e-5)  # the input, a product and a sum


def test_a_product_carries_the_errors_of_both_sides() -> None:
    nodes: tuple[Node, ...] = (
        Pick(0, freeze_indices([0])),
        Pick(0, freeze_indices([1])),
        Combine(1, 2, Pairing.MULTIPLY),
    )
    bound = error_bounds(Network(2, nodes), [2, 3], [2, 3], input_rounding=True)
    assert bound[0] == pytest.approx(3 * 6 * 2.0**-24, rel=1e-5)


def quotient() -> Network:
    """The first input over the second."""
    parts = (Pick(0, freeze_indices([0])), Pick(0, freeze_indices([1])))
    return Network(2, (*parts, Combine(1, 2, Pairing.DIVIDE)))


def test_a_quotient_carries_the_errors_of_both_sides() -> None:
    bound = error_bounds(quotient(), [6, -2], [6, -2], input_rounding=True)
    assert bound[0] == pytest.approx(3 * 3 * 2.0**-24, rel=1e-5)  # relative errors add up, and its own
    wider = error_bounds(quotient(), [6, 1], [6, 2], input_rounding=True)
    assert wider[0] == pytest.approx((6 * 2 + 6 + 6) * 2.0**-24, rel=1e-5)
    exact_inputs = error_bounds(quotient(), [6, -2], [6, -2], input_rounding=False)
    assert exact_inputs[0] == pytest.approx(3 * 2.0**-24, rel=1e-5)


@pytest.mark.parametrize(
    ("low", "high"), [(0.0, 1.0), (-1.0, 0.0), (-1.0, 1.0), (0.0, 0.0), (1e-46, 1e-46), (1e-39, 1.0)]
)
def test_a_divisor_that_may_vanish_counts_as_overflow(low: float, high: float) -> None:
    for dividend in (0.0, 1e-30):
        box = [dividend, low], [dividend, high]
        assert may_overflow_float32(quotient(), *box)
        assert error_bounds(quotient(), *box, input_rounding=True)[0] == np.inf
        clipped = Network(2, (*quotient().nodes, Activation(3, Shape.CLIP, (0.0, 1.0))))
        assert may_overflow_float32(clipped, *box)


def test_a_divisor_that_rounding_may_bring_to_zero_counts_as_overflow() -> None:
    """At (1, 1) the divisor is a tenth, but sums of numbers of this size are off by more."""
    for weight, doubtful in ((1e8, True), (1e2, False)):
        total = Affine(0, freeze_float32([[weight, -weight]]), freeze_float32([0.1]))
        network = Network(2, (total, Combine(1, 1, Pairing.DIVIDE)))
        assert may_overflow_float32(network, [1, 1], [1, 1]) is doubtful


def test_a_quotient_may_overflow() -> None:
    assert may_overflow_float32(quotient(), [1e20, 1e-20], [1e20, 1e-20])
    assert not may_overflow_float32(quotient(), [1e18, 1e-19], [1e18, 1e-19])


def test_a_policy_of_usual_size_has_a_small_bound_and_better_values_make_it_smaller() -> None:
    rng = np.random.default_rng(0)
    sizes = [4, 32, 32, 2]
    network = dense_network(
        [(rng.normal(size=(b, a)) / np.sqrt(a), rng.normal(size=b)) for a, b in pairwise(sizes)]
    )
    low, high = [-0.5] * 4, [0.5] * 4
    plain = error_bounds(network, low, high, input_rounding=True)
    better = error_bounds(network, low, high, input_rounding=True, values=linear_bounds(network, low, high))
    assert (plain < 1e-3).all()
    assert (better < plain).all()
    assert (better > 1e-8).all()


def test_a_larger_box_has_a_larger_error() -> None:
    network = dense_network([([[1, 2], [3, -4]], [1, 1]), ([[1, 1]], [0])])
    bounds = [error_bounds(network, [-r, -r], [r, r], input_rounding=True)[0] for r in (0.1, 1.0, 10.0)]
    assert bounds[0] < bounds[1] < bounds[2]


def test_partial_sums_may_overflow_although_the_sum_does_not() -> None:
    network = Network(2, (Affine(0, freeze_float32([[1, -1]]), freeze_float32([0])),))
    point = [3e38, 3e38]
    assert may_overflow_float32(network, point, point)
    assert not may_overflow_float32(network, [1e38, 1e38], [1e38, 1e38])
    assert error_bounds(network, point, point, input_rounding=False)[0] == np.inf


def test_an_overflow_that_is_clipped_away_still_counts() -> None:
    nodes: tuple[Node, ...] = (Combine(0, 0, Pairing.MULTIPLY), Activation(1, Shape.CLIP, (0.0, 1.0)))
    assert may_overflow_float32(Network(1, nodes), [0], [1e20])
    assert not may_overflow_float32(Network(1, nodes), [0], [1e18])


def test_inputs_beyond_float32_overflow() -> None:
    network = Network(1, (Activation(0, Shape.TANH),))
    assert may_overflow_float32(network, [0], [LARGEST * 1.01])
    assert not may_overflow_float32(network, [0], [LARGEST * 0.99])


def test_division_by_zero_counts_as_overflow() -> None:
    assert may_overflow_float32(Network(1, (Elementwise(0, Constant.DIVIDE, freeze_float32([0])),)), [1], [2])


@pytest.mark.parametrize("shape", [Shape.TANH, Shape.SIGMOID])
def test_smooth_functions_of_a_common_runtime_are_within_the_bound(shape: Shape) -> None:
    """Where its tanh is worst (about 2.7 units near 8.5), and elsewhere."""
    onnxruntime = pytest.importorskip("onnxruntime")
    helper = pytest.importorskip("onnx.helper")
    points = np.linspace(-20, 20, 400_001, dtype=np.float32)
    points = np.concatenate([points, np.linspace(7, 9.2, 400_001, dtype=np.float32)])
    name = "Tanh" if shape is Shape.TANH else "Sigmoid"
    ends = [helper.make_tensor_value_info(n, 1, [None]) for n in "xy"]
    graph = helper.make_graph([helper.make_node(name, ["x"], ["y"])], "one", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    computed = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": points})[0]
    x = points.astype(np.float64)
    exact = np.tanh(x) if shape is Shape.TANH else 1.0 / (1.0 + np.exp(-x))
    network = Network(1, (Activation(0, shape),))
    bound = error_bounds(network, x[:, None], x[:, None], input_rounding=False)[:, 0]
    assert (np.abs(computed - exact) <= bound).all()
