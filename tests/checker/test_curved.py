"""Enclosures of the activations that are bounded by constants, and what float32 adds to them."""

import random
from fractions import Fraction

import numpy as np
import pytest
from tests.checker.meaning import CURVES as KINDS
from tests.checker.meaning import curve

from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Activation, Network, Shape
from surefoot_checker.bounds.curved_functions import CURVES, curve_error
from surefoot_checker.kernel.inference import reference_outputs
from surefoot_checker.kernel.network import ActivationNode, FlatNetwork, read_network
from surefoot_checker.kernel.strict_json import BadCertificate

FACTOR = Fraction(13, 8)
SLACK = Fraction(1, 10**45)


def test_the_same_kinds() -> None:
    assert set(CURVES) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_values_lie_in_their_enclosures(kind: str) -> None:
    choice = random.Random(kind)
    for _ in range(150):
        bits = choice.choice((8, 20, 40, 64, 120))
        size = choice.choice((0.01, 1, 5, 40))
        low, high = sorted(int(choice.uniform(-size, size) * 2**40) << bits >> 40 for _ in range(2))
        if kind == "sqrt":
            low, high = sorted((abs(low), abs(high)))
        least, most = CURVES[kind](low, high, bits, [(13, 8)])
        inside = [choice.randint(low, high) for _ in range(3)]
        for x in (low, high, *inside):
            value = curve(kind, Fraction(x, 1 << bits), FACTOR) * (1 << bits)
            assert least - SLACK * (1 << bits) <= value <= most + SLACK * (1 << bits)
        least, most = CURVES[kind](low, low, bits, [(13, 8)])
        assert most - least <= 4


@pytest.mark.parametrize("kind", KINDS)
def test_the_reference_is_the_nearest_number_for_both(kind: str) -> None:
    given = (1.625,) if kind == "elu" else ()
    ours = Network(1, (Activation(0, Shape(kind), given),))
    theirs = FlatNetwork(1, (ActivationNode(0, kind, given),))
    points = np.random.default_rng(2).normal(size=30).astype(np.float32) * np.float32(4)
    points = np.abs(points) if kind == "sqrt" else points
    for x in points:
        (found,) = reference_outputs(theirs, [Fraction(float(x))])
        assert found == Fraction(float(infer_outputs(ours, np.array([[x]]))[0, 0]))


@pytest.mark.parametrize("kind", KINDS)
def test_errors_have_room_for_a_careless_float32(kind: str) -> None:
    """Formulas as some libraries compute them, in float32 throughout."""
    one, x = np.float32(1), np.random.default_rng(3).normal(size=2000).astype(np.float32) * np.float32(5)
    x = np.abs(x) if kind == "sqrt" else x
    careless = {
        "softplus": lambda: np.where(x > 0, x + np.log(np.exp(-np.abs(x)) + one), np.log(np.exp(x) + one)),
        "elu": lambda: np.where(x > 0, x, np.float32(1.625) * (np.exp(np.minimum(x, 0)) - one)),
        "exp": lambda: np.exp(x),
        "sqrt": lambda: np.sqrt(x),
        "sin": lambda: np.sin(x),
        "cos": lambda: np.cos(x),
    }
    if kind not in careless:
        pytest.skip("no formula to be careless with")
    for a, y in zip(x, careless[kind](), strict=True):
        true = curve(kind, Fraction(float(a)), FACTOR)
        error = curve_error(kind, int(abs(true) * 2**80), 80, (13, 8))
        assert error is not None
        assert abs(Fraction(float(y)) - true) <= Fraction(error, 2**80)


@pytest.mark.parametrize("node", [["elu", 0, "0"], ["elu", 0, "-1"], ["elu", 0], ["step", 0, "1"], ["erf"]])
def test_misshapen_nodes_are_refused(node: list[object]) -> None:
    with pytest.raises(BadCertificate):
        read_network({"width": 1, "nodes": [node]})
