"""Bounds contain the exact function, error bounds every order of summation; decisions are the reference's."""

from fractions import Fraction

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.exact_network import FAR, Enclosure, contains, distance, exact_values
from tests.network.planes import planes_below_outputs
from tests.random_networks import boxes, networks, points

from surefoot.network.back_substitution import linear_bounds
from surefoot.network.evaluate import decide_batch_actions, evaluate_network_batch
from surefoot.network.float32_error import error_bounds, may_overflow_float32
from surefoot.network.interval import interval_bounds
from surefoot.problem.meaning.inference import ACTIVATION, CONSTANT, PAIRING, infer_all_values, infer_outputs
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Elementwise,
    Join,
    Network,
    Node,
    Pick,
    dense_network,
)
from surefoot.problem.tree_ensemble import TreeEnsemble, find_leaves
from surefoot.simulate.batch.network_columns import compile_column_network
from surefoot.term.evaluate import Undefined

ROWS = (1, 16, 37)
law = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
seeds = st.integers(0, 2**32 - 1)


def _values(network: Network, low: np.ndarray, high: np.ndarray, point: np.ndarray) -> list[list[Enclosure]]:
    """Every exact value at a point of a box; none if it divides by zero, which the box must admit."""
    try:
        return exact_values(network, point)
    except Undefined:
        assert may_overflow_float32(network, low, high)
        return []


@law
@given(networks(), seeds)
def test_columns_have_the_outputs_of_the_reference(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    compiled = compile_column_network(network)
    for count in ROWS:
        batch = (rng.normal(size=(count, network.width)) * 10.0 ** rng.uniform(-3, 3)).astype(np.float32)
        found = compiled.outputs(list(batch.T), count).T
        expected = infer_outputs(network, batch)
        assert found.shape == expected.shape
        assert ((found == expected) | (np.isnan(found) & np.isnan(expected))).all()


def test_columns_do_not_depend_on_the_number_of_threads() -> None:
    rng = np.random.default_rng(1)
    shapes = ((20, 3), (20, 20), (5, 20))
    network = dense_network(
        [(rng.normal(size=s).astype(np.float32), np.ones(s[0], np.float32)) for s in shapes]
    )
    compiled, columns = compile_column_network(network), list(rng.normal(size=(3, 9001)))
    alone = compiled.outputs(columns, 9001)
    assert (alone == compiled.outputs(columns, 9001, threads=3)).all()
    assert (infer_outputs(network, np.array(columns, np.float32).T[:2000]) == alone[:, :2000].T).all()


@law
@given(networks(), seeds)
def test_interval_and_linear_bounds_contain_the_exact_values(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = boxes(rng, network.width, 2)
    interval, linear = interval_bounds(network, low, high), linear_bounds(network, low, high)
    for member in range(2):
        for point in points(rng, low[member], high[member], 6):
            values = _values(network, low[member], high[member], point)
            for plain, tight, value in zip(interval, linear, values, strict=bool(values)):
                assert contains(plain.low[member], plain.high[member], value)
                assert contains(tight.low[member], tight.high[member], value)


@law
@given(networks(), seeds)
def test_planes_bound_the_outputs_and_any_combination_of_them(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = (ends[0] for ends in boxes(rng, network.width, 1))
    bounds = linear_bounds(network, low, high)
    rows = rng.normal(size=(2, network.outputs))
    combined = planes_below_outputs(network, bounds, rows)
    below, above = (planes_below_outputs(network, bounds, s * np.eye(network.outputs)) for s in (1, -1))
    for point in points(rng, low, high, 6):
        values = _values(network, low, high, point)
        if not values:
            continue
        outputs = values[-1]
        for i, (least, greatest) in enumerate(outputs):
            assert _plane(below.coefficients[i], below.constant[i], point) <= least
            assert _plane(-above.coefficients[i], -above.constant[i], point, sign=-1) >= greatest
        for row, coefficients, constant in zip(rows, combined.coefficients, combined.constant, strict=True):
            ends = [[Fraction(float(r)) * end for end in x] for r, x in zip(row, outputs, strict=True)]
            assert _plane(coefficients, constant, point) <= sum(min(e) for e in ends)


def _plane(coefficients: np.ndarray, constant: float, point: np.ndarray, sign: int = 1) -> Fraction:
    """The exact value of a plane; a constant that says nothing counts as very far on the safe side."""
    if not np.isfinite(constant):
        assert constant == -sign * np.inf
        return Fraction(-sign * 10**400)
    pairs = zip(coefficients, point, strict=True)
    return sum((Fraction(float(c)) * Fraction(float(x)) for c, x in pairs), Fraction(float(constant)))


@law
@given(networks(), seeds)
def test_linear_bounds_are_never_looser_than_interval_bounds(network: Network, seed: int) -> None:
    low, high = boxes(np.random.default_rng(seed), network.width, 3)
    interval, linear = interval_bounds(network, low, high), linear_bounds(network, low, high)
    for plain, tight in zip(interval, linear, strict=True):
        assert (tight.low >= plain.low).all()
        assert (tight.high <= plain.high).all()
        assert not tight.empty.any()


@law
@given(networks(), seeds)
def test_batch_members_are_bounded_independently(network: Network, seed: int) -> None:
    low, high = boxes(np.random.default_rng(seed), network.width, 3)
    together = linear_bounds(network, low, high)[-1]
    for member in range(3):
        alone = linear_bounds(network, low[member], high[member])[-1]
        np.testing.assert_allclose(alone.low, together.low[member], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(alone.high, together.high[member], rtol=1e-9, atol=1e-9)


def _reversed(products: np.ndarray, bias: np.ndarray) -> np.ndarray:
    total = bias.astype(np.float32)
    for i in reversed(range(products.shape[0])):
        total = total + products[i].astype(np.float32)
    return total


def _pairwise(products: np.ndarray, bias: np.ndarray) -> np.ndarray:
    terms = [*products.astype(np.float32), bias]
    while len(terms) > 1:
        terms = [a + b for a, b in zip(terms[::2], terms[1::2], strict=False)] + terms[len(terms) & ~1 :]
    return terms[0]


def _fused(products: np.ndarray, bias: np.ndarray) -> np.ndarray:
    """Products of float32 are exact in float64; every partial sum is rounded to float32."""
    total = np.zeros(products.shape[1], dtype=np.float32)
    for product in products:
        total = (total.astype(np.float64) + product).astype(np.float32)
    return total + bias


def _wide(products: np.ndarray, bias: np.ndarray) -> np.ndarray:
    return (products.sum(axis=0) + bias).astype(np.float32)


def _in_another_order(network: Network, point: np.ndarray, add: object) -> np.ndarray:
    values = [point.astype(np.float32)]
    with np.errstate(all="ignore"):
        for node in network.nodes:
            values.append(_computed(node, values, add))
    return values[-1]


def _computed(node: Node, values: list[np.ndarray], add: object) -> np.ndarray:
    match node:
        case Affine(source, weights, bias):
            products = values[source].astype(np.float64)[:, None] * weights.T.astype(np.float64)
            return add(products, bias).astype(np.float32)
        case Elementwise(source, kind, constant):
            return CONSTANT[kind](values[source], constant)
        case Activation(source, shape, parameters):
            return ACTIVATION[shape](values[source], tuple(np.float32(p) for p in parameters))
        case Combine(left, right, pairing):
            return PAIRING[pairing](values[left], values[right])
        case Pick(source, indices):
            return values[source][indices]
        case Join(several):
            return np.concatenate([values[s] for s in several])
        case TreeEnsemble(source):
            leaves = node.leaves[find_leaves(node, values[source][None])[0]]
            return add(leaves.astype(np.float64), node.start).astype(np.float32)


@law
@given(networks(), seeds)
def test_error_bounds_hold_for_every_order_of_summation(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = (ends[0] for ends in boxes(rng, network.width, 1))
    bound = error_bounds(network, low, high, input_rounding=False)
    tighter = error_bounds(network, low, high, input_rounding=False, values=linear_bounds(network, low, high))
    for point in points(rng, low, high, 4):
        values = _values(network, low, high, point)
        if not values:
            continue
        results = [infer_outputs(network, point[None])[0]]
        results += [_in_another_order(network, point, add) for add in (_reversed, _pairwise, _fused, _wide)]
        for result in results:
            for off, b, t in zip(distance(result, values[-1]), bound, tighter, strict=True):
                assert off <= _fraction(b)
                assert off <= _fraction(t)


@law
@given(networks(), seeds)
def test_error_bounds_hold_for_inputs_that_are_rounded_first(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    low, high = (ends[0] for ends in boxes(rng, network.width, 1))
    bound = error_bounds(network, low, high, input_rounding=True)
    for share in rng.random((4, network.width)):
        point = np.clip(low + share * (high - low), low, high)  # float64: not a float32 in general
        result = infer_outputs(network, point.astype(np.float32)[None])[0]
        for value in _values(network, low, high, point)[-1:]:
            for off, b in zip(distance(result, value), bound, strict=True):
                assert off <= _fraction(b)


def _fraction(bound: float) -> Fraction:
    return Fraction(float(bound)) if np.isfinite(bound) else FAR


@law
@given(networks(), seeds, st.booleans())
def test_a_network_said_not_to_overflow_does_not(network: Network, seed: int, huge: bool) -> None:
    rng = np.random.default_rng(seed)
    low, high = (ends[0] * (1e36 if huge else 1.0) for ends in boxes(rng, network.width, 1))
    if not may_overflow_float32(network, low, high):
        for value in infer_all_values(network, points(rng, low, high, 8)):
            assert np.isfinite(value).all()


@law
@given(networks(), seeds)
def test_fast_evaluation_stays_within_its_error_of_the_reference(network: Network, seed: int) -> None:
    rng = np.random.default_rng(seed)
    batch = (rng.normal(size=(40, network.width)) * rng.choice([1.0, 1e-20, 1e15], size=(40, 1))).astype(
        np.float32
    )
    fast, reference = evaluate_network_batch(network, batch), infer_outputs(network, batch)
    sure = np.isfinite(fast.error)
    off = np.abs(fast.outputs[sure].astype(np.float64) - reference[sure].astype(np.float64))
    assert (off <= fast.error[sure]).all()


@law
@given(networks(), seeds, st.booleans())
def test_decisions_are_those_of_the_reference(network: Network, seed: int, masked: bool) -> None:
    rng = np.random.default_rng(seed)
    batch = (
        rng.normal(size=(60, network.width)) * rng.choice([1.0, 1e30], size=(60, 1), p=[0.9, 0.1])
    ).astype(np.float32)
    batch[::7] = np.round(batch[::7])
    batch[5, 0] = np.nan
    allowed = (
        rng.random((60, network.outputs)) < 0.6 if masked else np.ones((60, network.outputs), dtype=bool)
    )
    decisions = decide_batch_actions(network, batch, allowed if masked else None)
    values = infer_all_values(network, batch)
    finite = np.logical_and.reduce([np.isfinite(v).all(axis=1) for v in values])
    expected = np.where(allowed, values[-1], -np.inf).argmax(axis=1)
    expected[~finite | ~allowed.any(axis=1)] = -1
    np.testing.assert_array_equal(decisions.finite, finite)
    np.testing.assert_array_equal(decisions.actions, expected)
