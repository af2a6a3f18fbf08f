"""Fast evaluation and decisions where they are hardest: ties, neighbours in the last place, overflow, NaN."""

from itertools import pairwise

import numpy as np
import pytest

from surefoot.network.evaluate import decide_batch_actions, evaluate_network_batch
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import (
    Affine,
    Combine,
    Network,
    Pairing,
    Pick,
    Shape,
    dense_network,
    freeze_float32,
    freeze_indices,
)

DIVIDE = Pairing.DIVIDE


def policy(seed: int = 0, outputs: int = 9) -> Network:
    rng = np.random.default_rng(seed)
    sizes = [15, 64, 64, outputs]
    return dense_network(
        [(rng.normal(size=(b, a)) / np.sqrt(a), rng.normal(size=b)) for a, b in pairwise(sizes)]
    )


def batch(rows: int = 3000) -> np.ndarray:
    return np.random.default_rng(1).normal(size=(rows, 15)).astype(np.float32) * 5


def with_last_row_like_first(network: Network, steps: int) -> Network:
    """The last output computes the first one, its bias moved by some units in the last place."""
    *before, last = network.nodes
    assert isinstance(last, Affine)
    weights, bias = np.array(last.weights), np.array(last.bias)
    weights[-1], bias[-1] = weights[0], bias[0]
    for _ in range(abs(steps)):
        bias[-1] = np.nextafter(bias[-1], np.float32(np.inf * steps))
    return Network(
        network.width, (*before, Affine(last.source, freeze_float32(weights), freeze_float32(bias)))
    )


@pytest.mark.parametrize("steps", [0, 1, -1, 3])
def test_decisions_equal_the_reference_on_near_ties(steps: int) -> None:
    network, rows = with_last_row_like_first(policy(outputs=2), steps), batch()
    decisions, outputs = decide_batch_actions(network, rows), infer_outputs(network, rows)
    np.testing.assert_array_equal(decisions.actions, outputs.argmax(axis=1))
    assert decisions.near_ties.all()
    assert decisions.finite.all()
    if steps == 0:
        assert (decisions.actions == 0).all()  # the lowest index wins


def test_the_fast_outputs_really_differ_from_the_reference() -> None:
    """Otherwise the tests above would not show that near ties are decided by the reference."""
    rows = batch()
    fast, reference = evaluate_network_batch(policy(), rows), infer_outputs(policy(), rows)
    off = np.abs(fast.outputs.astype(np.float64) - reference)
    assert off.max() > 0
    assert (off <= fast.error).all()
    assert fast.error.max() < 0.05


def test_few_rows_of_an_ordinary_policy_need_the_reference() -> None:
    decisions = decide_batch_actions(policy(), batch())
    np.testing.assert_array_equal(decisions.actions, infer_outputs(policy(), batch()).argmax(axis=1))
    assert 0 <= decisions.near_ties.mean() < 0.05


def test_only_applicable_actions_are_chosen() -> None:
    rows, allowed = batch(500), np.random.default_rng(2).random((500, 9)) < 0.4
    allowed[7], allowed[8] = False, np.arange(9) == 4
    decisions = decide_batch_actions(policy(), rows, allowed)
    expected = np.where(allowed, infer_outputs(policy(), rows), -np.inf).argmax(axis=1)
    assert decisions.actions[7] == -1
    assert decisions.actions[8] == 4
    others = np.arange(500) != 7
    np.testing.assert_array_equal(decisions.actions[others], np.where(allowed.any(1), expected, -1)[others])


def test_rows_that_are_not_finite_are_flagged_and_decide_nothing() -> None:
    rows = batch(20)
    rows[3, 0], rows[4, 1], rows[5] = np.nan, np.inf, 3e38
    decisions = decide_batch_actions(policy(), rows)
    np.testing.assert_array_equal(np.flatnonzero(~decisions.finite), [3, 4, 5])
    np.testing.assert_array_equal(np.flatnonzero(decisions.actions == -1), [3, 4, 5])
    good = decisions.finite
    np.testing.assert_array_equal(decisions.actions[good], infer_outputs(policy(), rows)[good].argmax(axis=1))


@pytest.mark.parametrize("hidden", [Shape.RELU, Shape.TANH, Shape.SIGMOID])
def test_overflow_inside_is_flagged_although_the_output_is_finite(hidden: Shape) -> None:
    network = dense_network([([[-1e30], [1.0]], [0, 0]), ([[1.0, 1.0], [2.0, 0.0]], [0, 0])], hidden)
    decisions = decide_batch_actions(network, np.array([[1e20], [1.0]], dtype=np.float32))
    assert np.isfinite(infer_outputs(network, np.array([[1e20]], dtype=np.float32))).all()
    assert decisions.finite.tolist() == [False, True]


def test_one_huge_row_does_not_spoil_the_bounds_of_the_others() -> None:
    rows = batch(200)
    rows[0] = 1e25
    decisions = decide_batch_actions(policy(), rows)
    assert decisions.near_ties[1:].mean() < 0.05


def test_the_bounds_of_finite_rows_hold_beside_rows_that_are_not() -> None:
    rows = batch(300) * 1000
    rows[0], rows[1] = 0, np.nan
    fast, reference = evaluate_network_batch(policy(), rows), infer_outputs(policy(), rows)
    off = np.abs(fast.outputs[2:].astype(np.float64) - reference[2:])
    assert (off <= fast.error[2:]).all()
    assert (fast.error[2:] > 0.1).all()  # for their own magnitude, not for that of the first row
    assert np.isinf(fast.error[1]).all()


def test_an_empty_batch_has_no_decisions() -> None:
    assert decide_batch_actions(policy(), np.zeros((0, 15), dtype=np.float32)).actions.shape == (0,)


def test_wrong_widths_are_refused() -> None:
    with pytest.raises(ValueError, match="batch of 15 inputs"):
        evaluate_network_batch(policy(), np.zeros((2, 14), dtype=np.float32))
    with pytest.raises(ValueError, match="mask of shape"):
        decide_batch_actions(policy(), np.zeros((2, 15), dtype=np.float32), np.ones((2, 8), dtype=bool))


def test_divisors_near_zero_are_left_to_the_reference() -> None:
    """Both outputs of the policy over the first one: 1 and a ratio, unless the first is zero."""
    base = policy(outputs=2)
    first = Affine(len(base.nodes), freeze_float32([[1, 0], [1, 0]]), freeze_float32([0, 0]))
    ratio = Combine(len(base.nodes), len(base.nodes) + 1, DIVIDE)
    network, rows = Network(15, (*base.nodes, first, ratio)), batch(2000)
    decisions, outputs = decide_batch_actions(network, rows), infer_outputs(network, rows)
    np.testing.assert_array_equal(decisions.actions, outputs.argmax(axis=1))
    assert decisions.near_ties.mean() < 0.05
    zero = np.zeros((3, 15), dtype=np.float32)
    silent = Network(
        15, (Affine(0, freeze_float32(np.ones((2, 15))), freeze_float32([0, 0])), Combine(1, 1, DIVIDE))
    )
    assert np.isinf(evaluate_network_batch(silent, zero).error).all()
    assert decide_batch_actions(silent, zero).actions.tolist() == [-1, -1, -1]
    assert evaluate_network_batch(silent, zero + 1).error.max() < 1e-4


def test_the_smallest_divisor_of_a_batch_counts() -> None:
    base, rows = policy(outputs=1), batch()
    rows[:, 0] = np.random.default_rng(3).permutation(np.logspace(-9, 0, len(rows)))
    network = Network(
        15, (*base.nodes, Pick(0, freeze_indices([0])), Combine(len(base.nodes), len(base.nodes) + 1, DIVIDE))
    )
    fast, reference = evaluate_network_batch(network, rows), infer_outputs(network, rows)
    off = np.abs(fast.outputs.astype(np.float64) - reference)
    assert off.max() > 1
    assert (off <= fast.error).all()
    assert np.isfinite(fast.error).all()
