"""The shield paper's own actors behind shields that are synthesised with them as oracle."""

from __future__ import annotations

from pathlib import Path

import pytest

from surefoot.formats.policy_file import load_policy
from surefoot.shields.certified_shield import make_certified_shield
from surefoot.shields.evaluation.comparison import EvaluationSize, evaluate_shield
from surefoot.work.budget import Budget
from surefoot_studies.control.problem import stays_safe

pytestmark = pytest.mark.shared_data


def test_the_quadcopter_s_actor_is_saved(shared_data: Path) -> None:
    network = load_policy(shared_data / "control" / "nets" / "quadcopter.onnx").network
    problem = stays_safe("quadcopter", network)
    made = make_certified_shield(problem, (2,), Budget(100))
    assert made.accepted
    found = evaluate_shield(made, problem.policy, EvaluationSize(100, 30), lambda _: None)
    assert found.alone is not None
    assert found.shielded is not None
    assert found.alone.failures > 5  # the paper: 182 of 1000
    assert found.shielded.failures == found.shielded.outside == 0
    assert found.shielded.interventions >= found.alone.failures
