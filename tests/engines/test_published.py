"""Whole executions of published Aurora networks: the reference values of whiRL's properties A1 and A2."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.network import Network
from surefoot.problem.problem import Problem
from surefoot.run import verify
from surefoot.solvers.native import Native
from surefoot.verdict.verdict import Proved, Reason, Unknown, Verdict, Violated
from surefoot.work.budget import Budget
from surefoot_studies.aurora.problem import liveness_excellent, liveness_loss

pytestmark = pytest.mark.shared_data


@pytest.fixture
def original(shared_data: Path) -> Network:
    return read_onnx_network(shared_data / "policies" / "aurora_icml" / "aurora_icml.onnx")


@pytest.fixture
def small(shared_data: Path) -> Network:
    return read_onnx_network(shared_data / "policies" / "aurora_nn4sys_small" / "aurora_small_simple.onnx")


def induction(problem: Problem, depth: int) -> Verdict:
    return verify(problem, Induction(Native(), depth), Budget(60)).verdict


def good_within(verdict: Verdict) -> object:
    """Of how many states in a row one is good, as the accepted certificate says."""
    assert isinstance(verdict, Proved)
    claim = verdict.certificate.content["claim"]
    assert isinstance(claim, dict)
    return claim["argument"]["good"]


def test_the_original_increases_its_rate_again_and_again_unless_conditions_vary_more(
    original: Network,
) -> None:
    assert good_within(induction(liveness_excellent(original), 2)) == 1
    verdict = verify(liveness_excellent(original, Fraction(1, 40)), Bmc(Native()), Budget(60)).verdict
    assert isinstance(verdict, Violated)
    assert verdict.trace.loop == 0


def test_the_small_network_needs_two_states_under_loss(small: Network) -> None:
    one = induction(liveness_loss(small), 1)
    assert isinstance(one, Unknown)
    assert one.reason is Reason.DEPTH
    assert good_within(induction(liveness_loss(small), 2)) == 2
