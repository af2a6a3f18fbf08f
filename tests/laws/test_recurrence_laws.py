"""What the checker computes for itself about a claimed run: the network's outputs, bit for bit."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.random_networks import networks

from surefoot.certify.checker.execution.inference import is_single, outputs
from surefoot.certify.checker.network import read_network
from surefoot.certify.checker.number import Refused
from surefoot.problem.meaning.inference import infer, round_to_float32
from surefoot.problem.network import Network
from surefoot.query.claim import network_written

exact_numbers = st.one_of(
    st.fractions(-50, 50, max_denominator=10**9),
    st.floats(allow_nan=False, allow_infinity=False, width=32).map(Fraction),
    st.floats(-1e-37, 1e-37, width=64).map(Fraction),
)


@settings(deadline=None, max_examples=150)
@given(networks(), st.data())
def test_the_checker_evaluates_networks_as_the_reference_does(network: Network, data: st.DataObject) -> None:
    inputs = data.draw(st.lists(exact_numbers, min_size=network.width, max_size=network.width))
    row = np.array([[round_to_float32(x) for x in inputs]], dtype=np.float32)
    expected = infer(network, row)[0]
    try:
        found = outputs(read_network(json.loads(json.dumps(network_written(network)))), inputs)
    except Refused:
        return  # too large, a division by zero: never a value
    assert [Fraction(float(x)) for x in expected] == list(found)


@given(exact_numbers)
def test_which_numbers_are_float32_numbers(value: Fraction) -> None:
    nearest = round_to_float32(value)
    assert is_single(value) is bool(np.isfinite(nearest) and Fraction(float(nearest)) == value)
