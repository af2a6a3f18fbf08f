"""Every activation, constant operation and pairing has its place in everything that interprets networks."""

from fractions import Fraction
from types import ModuleType

import numpy as np
import pytest
from tests.exact_network import contains, exact_values
from tests.random_networks import of_one_node

from surefoot.errors import Unsupported
from surefoot.network import interval
from surefoot.network.back_substitution import linear_bounds
from surefoot.network.evaluate import evaluate_network_batch
from surefoot.network.exact import exact_outputs
from surefoot.network.float32_error import error_bounds
from surefoot.problem.meaning import inference
from surefoot.problem.network import CURVED, Constant, Pairing, Shape

NETWORKS = of_one_node()
LOW, HIGH = np.array([0.5, 1.0]), np.array([0.75, 2.0])


@pytest.mark.parametrize("module", [inference, interval])
def test_no_member_is_missing(module: ModuleType) -> None:
    assert set(module.ACTIVATION) == set(Shape)
    assert set(module.CONSTANT) == set(Constant)
    assert set(module.PAIRING) == set(Pairing)


@pytest.mark.parametrize("name", NETWORKS)
def test_values_bounds_and_errors(name: str) -> None:
    network, point = NETWORKS[name], LOW.astype(np.float32)
    value = exact_values(network, point)[-1]
    reference, fast = (
        inference.infer_outputs(network, point[None]),
        evaluate_network_batch(network, point[None]),
    )
    np.testing.assert_allclose(reference[0], [float(low) for low, _ in value], rtol=1e-6)
    assert (np.abs(fast.outputs - reference) <= fast.error).all()
    assert (fast.error < 2e-6 * np.maximum(1, np.abs(reference))).all()
    box = linear_bounds(network, LOW, HIGH)[-1]
    assert contains(box.low, box.high, value)
    assert (box.high - box.low < 5).all()
    rounded = error_bounds(network, LOW, HIGH, input_rounding=True)
    assert (rounded < (5 if name == "trees" else 1e-5)).all()  # trees jump


@pytest.mark.parametrize("name", NETWORKS)
def test_exact_values_or_a_refusal(name: str) -> None:
    network, inputs = NETWORKS[name], [Fraction(1, 3), Fraction(-2)]
    if name in {shape.value for shape in CURVED - {Shape.STEP}}:
        with pytest.raises(Unsupported, match=name):
            exact_outputs(network, inputs)
    else:
        assert [(v, v) for v in exact_outputs(network, inputs)] == exact_values(network, inputs)[-1]
