"""The reference network arithmetic: against slow Python, against decimals, against all neighbours."""

import struct
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest

from surefoot.problem.meaning.inference import infer_all_values, infer_outputs
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Join,
    Network,
    Pairing,
    Pick,
    Shape,
    dense_network,
    freeze_float32,
    freeze_indices,
)
from surefoot.term.float32 import round_to_float32

DIGITS = Context(prec=120)
LARGEST = float(np.finfo(np.float32).max)


def single(value: float) -> float:
    """Round a double to float32 without numpy."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def slow_affine(x: list[float], weights: np.ndarray, bias: np.ndarray) -> list[float]:
    """One rounding per product and per sum, first input to last, bias at the end."""
    results = []
    for row, offset in zip(weights, bias, strict=True):
        total = 0.0
        for value, weight in zip(x, row, strict=True):
            total = single(total + single(value * float(weight)))
        results.append(single(total + float(offset)))
    return results


def random_dense(seed: int, *widths: int) -> Network:
    rng = np.random.default_rng(seed)
    pairs = zip(widths[1:], widths[:-1], strict=True)
    return dense_network([(rng.normal(size=(n, m)), rng.normal(size=n)) for n, m in pairs])


@pytest.mark.parametrize("seed", range(5))
def test_dense_networks_equal_a_slow_float32_program(seed: int) -> None:
    network = random_dense(seed, 7, 9, 6, 3)
    rng = np.random.default_rng(100 + seed)
    batch = rng.normal(scale=3, size=(8, 7)).astype(np.float32)
    for row, computed in zip(batch, infer_outputs(network, batch), strict=True):
        values = [float(v) for v in row]
        for node in network.nodes:
            if isinstance(node, Affine):
                values = slow_affine(values, node.weights, node.bias)
            else:
                values = [max(v, 0.0) for v in values]
        assert values == [float(c) for c in computed]


def test_the_order_of_summation_is_first_to_last() -> None:
    network = dense_network([([[1.0, 1.0, -1.0]], [0.0])])
    big = 2.0**24
    assert infer_outputs(network, freeze_float32([[big, 1.0, big]]))[0, 0] == 0.0  # big + 1 is rounded to big
    assert infer_outputs(network, freeze_float32([[1.0, -big, -big]]))[0, 0] == 1.0  # 1 - big is exact


def test_the_batch_does_not_change_any_result() -> None:
    network = random_dense(3, 5, 8, 2)
    batch = np.random.default_rng(1).normal(size=(16, 5)).astype(np.float32)
    together = infer_outputs(network, batch)
    alone = np.concatenate([infer_outputs(network, row[None, :]) for row in batch])
    assert together.tobytes() == alone.tobytes()


def test_every_kind_of_node() -> None:
    nodes = (
        Elementwise(0, Constant.ADD, freeze_float32([1, 1, 1])),
        Elementwise(1, Constant.MULTIPLY, freeze_float32([2, 3, 4])),
        Elementwise(2, Constant.DIVIDE, freeze_float32([4, 2, 8])),
        Activation(3, Shape.LEAKY_RELU, (0.5,)),
        Activation(3, Shape.CLIP, (-1.0, 1.0)),
        Combine(4, 5, Pairing.ADD),
        Combine(4, 5, Pairing.MULTIPLY),
        Combine(6, 7, Pairing.MAXIMUM),
        Pick(8, freeze_indices([2, 0])),
        Join((9, 0)),
        Pick(10, freeze_indices([1, 2])),
        Combine(9, 11, Pairing.DIVIDE),
    )
    values = infer_all_values(Network(3, nodes), freeze_float32([[1, -5, 3]]))
    assert [v[0].tolist() for v in values[1:]] == [
        [2, -4, 4],
        [4, -12, 16],
        [1, -6, 2],
        [1, -3, 2],
        [1, -1, 1],
        [2, -4, 3],
        [1, 3, 2],
        [2, 3, 3],
        [3, 2],
        [3, 2, 1, -5, 3],
        [2, 1],
        [1.5, 2],
    ]


def test_a_quotient_is_rounded_once_and_division_by_zero_is_kept() -> None:
    parts = (Pick(0, freeze_indices([0])), Pick(0, freeze_indices([1])))
    network = Network(2, (*parts, Combine(1, 2, Pairing.DIVIDE)))
    assert not network.is_piecewise_linear()
    assert network.divisors() == {2}
    rows = freeze_float32([[1, 3], [-1, 0], [0, 0], [1e-30, 1e30]])
    third, infinite, nothing, tiny = infer_outputs(network, rows)[:, 0]
    assert third == nearest(Fraction(1, 3))
    assert infinite == -np.inf
    assert np.isnan(nothing)
    assert tiny == 0


def test_a_batch_of_the_wrong_width_is_refused() -> None:
    with pytest.raises(ValueError, match="expected a batch of 2 inputs"):
        infer_outputs(dense_network([([[1, 1]], [0])]), freeze_float32([[1, 2, 3]]))


def decimal_tanh(x: float) -> Decimal:
    e = DIGITS.exp(DIGITS.multiply(Decimal(x), Decimal(2)))
    return DIGITS.divide(DIGITS.subtract(e, Decimal(1)), DIGITS.add(e, Decimal(1)))


def decimal_sigmoid(x: float) -> Decimal:
    return DIGITS.divide(Decimal(1), DIGITS.add(Decimal(1), DIGITS.exp(-Decimal(x))))


def smooth(shape: Shape, points: np.ndarray) -> np.ndarray:
    network = Network(1, (Activation(0, shape),))
    return infer_outputs(network, points.astype(np.float32)[:, None])[:, 0]


@pytest.mark.parametrize(
    ("shape", "exact"),
    [(Shape.TANH, decimal_tanh), (Shape.SIGMOID, decimal_sigmoid)],
    ids=["tanh", "sigmoid"],
)
def test_smooth_activations_are_correctly_rounded(shape: Shape, exact: object) -> None:
    rng = np.random.default_rng(7)
    ordinary = rng.normal(scale=3, size=400)
    tiny = rng.normal(size=100) * 10.0 ** rng.uniform(-44, -3, size=100)
    edges = np.array([0.0, -0.0, 1e-45, 9.010913, -9.010913, 20.0, -20.0, 88.0, -88.0, -103.9, 0.00048828125])
    points = np.concatenate([ordinary, tiny, edges]).astype(np.float32)
    for x, computed in zip(points, smooth(shape, points), strict=True):
        assert float(computed) == float(nearest(Fraction(exact(float(x))))), float(x)  # type: ignore[operator]


def test_smooth_activations_of_points_next_to_a_rounding_boundary() -> None:
    """Among many points, those whose tanh lies nearest to the middle of two float32 numbers."""
    points = np.random.default_rng(11).uniform(0.1, 2, size=200_000).astype(np.float32)
    wide = np.tanh(points.astype(np.float64))
    below = wide.astype(np.float32)
    middle = (below.astype(np.float64) + np.nextafter(below, np.float32(2)).astype(np.float64)) / 2
    other = (below.astype(np.float64) + np.nextafter(below, np.float32(-2)).astype(np.float64)) / 2
    hard = np.argsort(np.minimum(abs(wide - middle), abs(wide - other)))[:60]
    for x, computed in zip(points[hard], smooth(Shape.TANH, points[hard]), strict=True):
        assert float(computed) == float(nearest(Fraction(decimal_tanh(float(x)))))


@pytest.mark.parametrize("shape", [Shape.TANH, Shape.SIGMOID])
def test_smooth_activations_keep_infinities_and_nan(shape: Shape) -> None:
    low, high, nothing = smooth(shape, np.array([-np.inf, np.inf, np.nan]))
    assert (low, high) == (-1.0 if shape is Shape.TANH else 0.0, 1.0)
    assert np.isnan(nothing)


def nearest(value: Fraction) -> np.float32:
    """The nearest float32 by enumerating neighbours and comparing exactly."""
    middle = int(np.float32(min(max(float(value), -LARGEST), LARGEST)).view(np.int32))
    patterns = [middle + offset for offset in range(-3, 4)]
    candidates = [np.array(p & 0xFFFFFFFF, dtype=np.uint32).view(np.float32)[()] for p in patterns]
    finite = [c for c in [*candidates, np.float32(0)] if np.isfinite(c)]
    best = min(abs(Fraction(float(c)) - value) for c in finite)
    ties = [c for c in finite if abs(Fraction(float(c)) - value) == best]
    return next((c for c in ties if not int(c.view(np.uint32)) & 1), ties[0])


def test_round_to_float32_takes_the_nearest_neighbour() -> None:
    rng = np.random.default_rng(5)
    for _ in range(500):
        base = Fraction(float(np.float32(rng.normal() * 10.0 ** rng.integers(-40, 30))))
        step = Fraction(float(np.spacing(np.float32(float(base)))))
        value = base + step * Fraction(int(rng.integers(-20, 21)), 20)
        assert round_to_float32(value) == nearest(value)


def test_round_to_float32_is_not_fooled_by_rounding_twice() -> None:
    """A hair above the middle of two neighbours: through float64 it would become a tie."""
    hair = Fraction(1, 2**80)
    for base in (1.0, 1.0 + 2.0**-23, 3.5, 2.0**100):
        step = Fraction(float(np.spacing(np.float32(base))))
        middle = Fraction(base) + step / 2
        assert round_to_float32(middle + hair) == np.nextafter(np.float32(base), np.float32(np.inf))
        assert round_to_float32(middle - hair) == np.float32(base)


def test_round_to_float32_at_the_ends() -> None:
    limit = Fraction(2**128 - 2**103)  # the middle between the largest number and 2^128
    assert round_to_float32(limit - Fraction(1, 2**90)) == np.float32(LARGEST)
    assert round_to_float32(-limit + Fraction(1, 2**90)) == np.float32(-LARGEST)
    assert np.isinf(round_to_float32(limit))
    assert np.isinf(round_to_float32(10**60))
    assert np.isinf(round_to_float32(10**400))
    assert round_to_float32(-(10**400)) == -np.inf
    assert round_to_float32(Fraction(1, 2**150)) == 0.0  # half of the smallest: a tie, to even
    assert round_to_float32(Fraction(1, 2**150) + Fraction(1, 2**300)) == np.float32(2.0**-149)


def test_round_to_float32_of_plain_values() -> None:
    assert round_to_float32(True) == 1.0
    assert round_to_float32(7) == 7.0
    assert round_to_float32(0.1) == np.float32(0.1)
    assert round_to_float32(Fraction(1, 10)) == np.float32(0.1)
