from fractions import Fraction
from random import Random
from time import perf_counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.exact_network import exact_values

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.network.exact import dyadic_integers, exact_outputs
from surefoot.problem.meaning.inference import infer_outputs
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
from surefoot.term.evaluate import Undefined

THIRD = Fraction(1, 3)


def after(*nodes: object) -> list[Fraction]:
    """A network of these nodes at 1/3, -2."""
    return exact_outputs(Network(2, nodes), [THIRD, Fraction(-2)])


def test_every_kind_of_node() -> None:
    assert after() == [THIRD, -2]
    assert after(Affine(0, freeze_float32([[3, 0.5], [0, 0]]), freeze_float32([1, -7]))) == [1, -7]
    assert after(Elementwise(0, Constant.ADD, freeze_float32([1, 0.5]))) == [1 + THIRD, Fraction(-3, 2)]
    assert after(Elementwise(0, Constant.MULTIPLY, freeze_float32([3, 0]))) == [1, 0]
    assert after(Elementwise(0, Constant.DIVIDE, freeze_float32([3, -5]))) == [Fraction(1, 9), Fraction(2, 5)]
    assert after(Activation(0, Shape.RELU)) == [THIRD, 0]
    assert after(Activation(0, Shape.LEAKY_RELU, (0.25,))) == [THIRD, Fraction(-1, 2)]
    assert after(Activation(0, Shape.LEAKY_RELU, (-0.5,))) == [THIRD, 1]
    assert after(Activation(0, Shape.CLIP, (-1.5, 0.25))) == [Fraction(1, 4), Fraction(-3, 2)]
    assert after(Activation(0, Shape.CLIP, (1.0, -1.0))) == [-1, -1]
    assert after(Pick(0, freeze_indices([1, 1, 0])), Join((1, 0))) == [-2, -2, THIRD, THIRD, -2]
    halves = Elementwise(0, Constant.MULTIPLY, freeze_float32([-0.5, -0.5]))
    assert after(halves, Combine(0, 1, Pairing.ADD)) == [Fraction(1, 6), -1]
    assert after(halves, Combine(0, 1, Pairing.MAXIMUM)) == [THIRD, 1]
    assert after(halves, Combine(0, 1, Pairing.MULTIPLY)) == [Fraction(-1, 18), -2]
    thirds = Elementwise(0, Constant.ADD, freeze_float32([1, 5]))
    assert after(thirds, Combine(0, 1, Pairing.DIVIDE)) == [Fraction(1, 4), Fraction(-2, 3)]


@settings(deadline=None)
@given(st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), max_size=5))
def test_dyadic_is_exact(numbers: list[float]) -> None:
    whole, exponent = dyadic_integers(freeze_float32(numbers))
    assert exponent >= 0
    assert [Fraction(int(n), 2**exponent) for n in whole] == [Fraction(x) for x in numbers]


@pytest.mark.parametrize("places", [37, 38, 39, 40, 100])
def test_dyadic_of_numbers_far_apart(places: int) -> None:
    numbers = [float(2**24 - 1), -float(2**24 - 1) / 2**places, 0.0]
    whole, exponent = dyadic_integers(freeze_float32(numbers))
    assert [Fraction(int(n), 2**exponent) for n in whole] == [Fraction(x) for x in numbers]


def test_inputs_that_are_zero_count_for_nothing() -> None:
    network = dense_network([([[1.0, 3.0], [-1.0, 2.0]], [0.5, -4.0]), ([[2.0, 7.0]], [0.25])])
    assert exact_outputs(network, [Fraction(0), THIRD]) == [Fraction(13, 4)]
    assert exact_outputs(network, [Fraction(0), Fraction(0)]) == [Fraction(5, 4)]
    endless = Network(1, (Affine(0, freeze_float32([[np.inf]]), freeze_float32([0.0])),))
    with pytest.raises(InvalidProblem, match="finite"):
        exact_outputs(endless, [Fraction(0)])


def random_network(seed: int, *widths: int) -> Network:
    generator = np.random.default_rng(seed)
    shapes = zip(widths[1:], widths, strict=False)
    return dense_network([(generator.normal(size=s), generator.normal(size=s[0])) for s in shapes])


def test_agrees_with_enclosures_and_is_close_to_float32() -> None:
    network, random = random_network(1, 4, 8, 8, 3), Random(1)
    for _ in range(5):
        inputs = [Fraction(random.randrange(-999, 999), 128) for _ in range(4)]
        exact = exact_outputs(network, inputs)
        assert [(v, v) for v in exact] == exact_values(network, inputs)[-1]
        floats = infer_outputs(network, np.array([[float(x) for x in inputs]], dtype=np.float32))[0]
        assert np.allclose([float(v) for v in exact], floats, rtol=1e-4, atol=1e-4)


def test_layers_of_a_hundred_take_a_moment() -> None:
    network = random_network(2, 100, 100, 100, 100)
    start = perf_counter()
    exact_outputs(network, [THIRD] * 100)
    assert perf_counter() - start < 2


def test_refuses_what_has_no_exact_value() -> None:
    with pytest.raises(Unsupported, match="tanh"):
        after(Activation(0, Shape.TANH))
    with pytest.raises(InvalidProblem, match="not a finite number"):
        after(Affine(0, freeze_float32([[np.nan, 1]]), freeze_float32([0])))
    with pytest.raises(InvalidProblem, match="divides by zero"):
        after(Elementwise(0, Constant.DIVIDE, freeze_float32([0, 1])))
    with pytest.raises(Undefined, match="divides by a value that is zero at these inputs"):
        after(Elementwise(0, Constant.ADD, freeze_float32([0, 2])), Combine(0, 1, Pairing.DIVIDE))
    with pytest.raises(InvalidProblem, match="2 inputs, not 1"):
        exact_outputs(Network(2, ()), [THIRD])
