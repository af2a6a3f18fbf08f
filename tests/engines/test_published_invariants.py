"""Invariants A and B of whiRL 2.0 and the inputs that a proof needs, on the published Aurora network."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from surefoot.engines.bmc import Bmc
from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.network import Network
from surefoot.problem.problem import Problem
from surefoot.reductions.abstraction_request import parse_abstraction_request
from surefoot.reductions.bound_template import parse_bound_template
from surefoot.search import SearchSettings, find_tipping_point, verify_abstracted
from surefoot.solvers.native import Native
from surefoot.verdict.artifact import TippingPoint
from surefoot.verdict.verdict import Found, Proved
from surefoot.work.budget import Budget
from surefoot_studies.aurora.problem import safety_excellent, safety_shallow_buffer

pytestmark = pytest.mark.shared_data


@pytest.fixture
def original(shared_data: Path) -> Network:
    return read_onnx_network(shared_data / "policies" / "aurora_icml" / "aurora_icml.onnx")


def ends(problem: Problem, text: str, low: str, high: str, precision: str) -> tuple[Fraction, Fraction]:
    between, asking = (Fraction(low), Fraction(high)), SearchSettings(Bmc(Native()), Budget(120))
    tighten = parse_bound_template(text, problem)
    _, result = find_tipping_point(problem, tighten, between, Fraction(precision), asking)
    assert isinstance(result.verdict, Found)
    found = result.verdict.artifact
    assert isinstance(found, TippingPoint)
    assert found.is_within_precision
    assert found.proved is not None
    assert found.refuted is not None
    assert found.refuted.certified
    assert result.certified
    assert isinstance(found.proved.verdict, Proved)
    return found.proved.value, found.refuted.value


def test_invariant_a_the_least_rate_change_in_excellent_conditions(original: Network) -> None:
    """Algorithm 1 at epsilon 0.01: gradient search finds 0.135 and nothing below."""
    assert ends(safety_excellent(original), "output[0]>=", "0", "1", "0.01") == (
        Fraction("0.13"),
        Fraction("0.14"),
    )


def test_invariant_b_from_which_send_ratio_on_the_rate_is_decreased(original: Network) -> None:
    """Algorithm 2 at epsilon 0.01 with largest send ratio 10, to the resolution of the paper."""
    assert ends(safety_shallow_buffer(original), "send_ratio>=", "4", "5", "1") == (5, 4)


def test_the_proof_needs_two_of_thirty_inputs(original: Network) -> None:
    """Excellent conditions (0.01) in the two newest gradients are enough if all else keeps twice as much."""
    problem = safety_excellent(original)
    twice = "auto=latency_gradient@-0.02:0.02,latency_ratio@1:1.02"
    request = parse_abstraction_request(twice, problem)
    result = verify_abstracted(
        problem, request.freed, SearchSettings(Bmc(Native()), Budget(60)), request.ranges
    )
    assert isinstance(result.verdict, Proved)
    claim: Any = result.verdict.certificate.content["claim"]
    assert len(claim["argument"]["free"]["inputs"]) == 28
    assert any("proved with 2 of 30 inputs" in note for note in result.notes)
    assert any("depends only on: latency_gradient_8..9" in note for note in result.notes)
