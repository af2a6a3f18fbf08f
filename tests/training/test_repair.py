"""Counterexamples fed back into training."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from surefoot.cli import run_command_line
from surefoot.engines.bmc import Bmc
from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.run import verify
from surefoot.solvers.native import Native
from surefoot.verdict.verdict import Proved, Result
from surefoot.work.budget import Budget
from surefoot_studies.assets import shipped_network
from surefoot_studies.aurora.problem import safety_excellent
from surefoot_studies.pensieve.problem import PROBLEMS as PENSIEVE
from surefoot_studies.training.recipes import RECIPES

AURORA = "safety-excellent/aurora-48"


def decide(problem: Problem) -> Result:
    return verify(problem, Bmc(Native()), Budget(60))


@pytest.mark.train
def test_a_violated_policy_is_repaired_and_stays_good(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A3 of the shipped policy: violated, and proved after training on its counterexamples."""
    target = tmp_path / "repaired.onnx"
    asked = ["study", "retrain", "aurora", AURORA, "--output", str(target), "--json", "--quiet"]
    assert run_command_line(asked) == 0
    rounds = json.loads(capsys.readouterr().out)["rounds"]
    assert rounds[0]["verdict"] == "violated"
    assert rounds[-1]["verdict"] == "proved"
    assert rounds[-1]["certified"]
    assert rounds[-1]["counterexamples"] >= 1
    assert all(r["share"] >= 0.9 for r in rounds)
    again = decide(safety_excellent(read_onnx_network(target)))
    assert isinstance(again.verdict, Proved)
    assert read_onnx_network(target).digest() != shipped_network("aurora", "aurora-48").digest()


@pytest.mark.train
def test_the_same_training_without_the_counterexamples_does_not_help() -> None:
    from surefoot_studies.training.repair import RepairSettings, repair_policy

    problem = safety_excellent(shipped_network("aurora", "aurora-48"))
    done = repair_policy(RECIPES["aurora-48"], problem, decide, RepairSettings(rounds=1, weight=0.0))
    assert [r.verdict for r in done.rounds] == ["violated", "violated"]
    assert done.rounds[1].counterexamples == 2


@pytest.mark.train
def test_what_comes_before_the_layers_stays_and_is_read_through() -> None:
    from surefoot_studies.training.repair import _first_layer_inputs, policy_weights, replace_policy_weights

    problem = PENSIEVE["faster-than-playback-equal/pensieve-32x16"]()
    layers = policy_weights(problem)
    assert [w.shape for w, _ in layers] == [(32, 25), (16, 32), (6, 16)]
    same = replace_policy_weights(problem, layers).policy
    assert isinstance(same, NeuralPolicy)
    assert isinstance(problem.policy, NeuralPolicy)
    assert same.network.digest() == problem.policy.network.digest()
    point = np.array([[0.2, 2.0, *[0.0375] * 8, *[0.4] * 8, *[0.1] * 6, 0.5]])
    read = _first_layer_inputs(problem, point)
    assert np.allclose(read[0, 2:10], 0.0375 / 0.4)
    assert np.allclose(read[0, 10:18], 0.4)


@pytest.mark.train
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("output[0] < 0", [-1.0, 2.0]),
        ("output[0] <= output[1]", [1.0, 5.0]),
        ("not output[0] < 0", [1.0, -2.0]),
        ("output[0] < 0 and output[1] > 0", [-1.0, 2.0]),
        ("output[0] < 0 or output[1] > 0", [2.0, 3.0]),
        ("2 * output[0] - output[1] > 1", [-1.0, -8.0]),
    ],
)
def test_the_degree_of_a_condition_has_its_sign(text: str, expected: list[float]) -> None:
    import torch

    from surefoot.term.parser import parse_term
    from surefoot_studies.training.robustness import robustness_degree

    outputs = torch.tensor([[1.0, 2.0], [-2.0, 3.0]])
    assert robustness_degree(parse_term(text), outputs).tolist() == pytest.approx(expected)


@pytest.mark.train
def test_only_outputs_can_be_learnt() -> None:
    import torch

    from surefoot.errors import Unsupported
    from surefoot.term.term import Var
    from surefoot_studies.training.robustness import robustness_degree

    with pytest.raises(Unsupported, match="`speed"):
        robustness_degree(Var("speed") < Fraction(1), torch.zeros(1, 1))


@pytest.mark.train
def test_a_property_that_holds_needs_no_round() -> None:
    from surefoot_studies.training.repair import render_rounds, repair_policy

    problem = safety_excellent(shipped_network("aurora", "aurora-48"), Fraction(1, 250))
    done = repair_policy(RECIPES["aurora-48"], problem, decide)
    assert [(r.number, r.counterexamples, r.verdict) for r in done.rounds] == [(0, 0, "proved")]
    assert "certified" in render_rounds(done.rounds)


def test_without_torch_one_line_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("surefoot_studies.commands.training.find_spec", lambda _: None)
    assert run_command_line(["study", "retrain", "aurora", AURORA, "--quiet"]) == 2
    assert "surefoot[train]" in capsys.readouterr().err


def test_an_unknown_problem_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["study", "retrain", "aurora", "safety-excellent/aurora-84", "--quiet"]) == 2
    assert "did you mean `safety-excellent/aurora-48`" in capsys.readouterr().err
