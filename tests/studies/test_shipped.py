"""The shipped policies give the verdicts that are written in expected.toml, each certified or replayed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from surefoot.cli import run_command_line
from surefoot.cli.engine_options import build_engines
from surefoot.problem.network import Network, dense_network
from surefoot.problem.problem import Problem
from surefoot.run import verify
from surefoot.verdict.verdict import Reason, Result, Unknown, Violated
from surefoot.work.budget import Budget
from surefoot_studies.assets import shipped_network
from surefoot_studies.aurora.problem import POLICIES, safety_excellent
from surefoot_studies.checkpoints import (
    CheckpointVerdict,
    TrainingRun,
    render_checkpoints,
    training_run,
    verify_checkpoints,
)
from surefoot_studies.comparison import Expectation, compare_study, load_study

NETWORKING = ("aurora", "deeprm", "pensieve")
EXPECTED = {
    f"{study}/{e.problem}": (study, e) for study in NETWORKING for e in load_study(study).expectations
}
SLOW = 5.0  # seconds; what takes longer is left to `surefoot study compare NAME`
OTHER_SEEDS = POLICIES[3:]


def decide(problem: Problem, engine: str, options: Mapping[str, Any]) -> Result:
    return verify(problem, build_engines(engine, options, None)[0], Budget(60))


def is_quick(expectation: Expectation) -> bool:
    other_seed = expectation.problem.split("/")[1] in OTHER_SEEDS
    return (expectation.seconds or 0) < SLOW and not other_seed and "near" not in expectation.problem


@pytest.mark.parametrize("name", [n for n, (_, e) in EXPECTED.items() if is_quick(e)])
def test_an_expectation_is_met_with_evidence(name: str) -> None:
    study, expectation = EXPECTED[name]
    (row,) = compare_study(replace(load_study(study), expectations=(expectation,)), decide)
    assert row.as_recorded, row.measured
    assert row.certified
    assert row.parameters


@pytest.mark.parametrize("study", NETWORKING)
def test_every_question_has_a_conclusive_expectation(study: str) -> None:
    loaded = load_study(study)
    assert {e.problem for e in loaded.expectations} == set(loaded.problems)
    kinds = [e.verdict for e in loaded.expectations]
    assert set(kinds) == {"proved", "violated"}
    assert all(e.simulator for e in loaded.expectations if e.verdict == "violated")
    assert sum(e.seconds or 0 for e in loaded.expectations) < 600


@pytest.mark.parametrize("study", NETWORKING)
def test_some_proof_needs_two_states_in_a_row(study: str) -> None:
    assert any((e.k or 0) >= 2 and e.verdict == "proved" for e in load_study(study).expectations)


@pytest.mark.parametrize(
    "name",
    [
        "aurora/liveness-loss/aurora-32x16-tanh",
        "deeprm/keeps-placing-cpu-jobs/deeprm-20",
        "pensieve/reaches-best/pensieve-32x16",
    ],
)
def test_a_proof_with_k_2_is_not_one_with_k_1(name: str) -> None:
    study, expectation = EXPECTED[name]
    assert expectation.k == 2
    shallow = replace(expectation, options={**expectation.options, "depth": 1})
    (row,) = compare_study(replace(load_study(study), expectations=(shallow,)), decide)
    assert not row.as_recorded
    assert row.measured == "unknown"


def flat(level: float) -> Network:
    """A policy that always says: rise by so much, less one hundred times the newest gradient."""
    weights = [[0.0] * 27 + [-100.0, 0.0, 0.0]]
    return dense_network([(weights, [level])])


def run_of(levels: dict[int, float], monkeypatch: pytest.MonkeyPatch) -> TrainingRun:
    run = training_run("aurora")
    monkeypatch.setattr("surefoot_studies.checkpoints.recipe_curve", lambda *_: dict.fromkeys(levels, 1.0))
    monkeypatch.setattr(TrainingRun, "network", lambda _, decisions: flat(levels[decisions]))
    return replace(run, decisions=tuple(levels))


def test_checkpoints_are_bracketed_between_a_proof_and_a_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The output is positive as long as epsilon stays below level / 100."""
    run = run_of({0: -1.0, 10: 1.0, 20: 2.0, 30: 20.0}, monkeypatch)
    points = tuple(verify_checkpoints(run, decide))
    assert [p.verdict for p in points] == ["violated", "proved", "proved", "proved"]
    assert points[0].holds_up_to is None
    assert points[3] == CheckpointVerdict(30, 1.0, "proved", Fraction(1, 20), None)
    for point, true in ((points[1], Fraction(1, 100)), (points[2], Fraction(1, 50))):
        assert point.holds_up_to is not None
        assert point.fails_from is not None
        assert point.holds_up_to <= true <= point.fails_from
        assert point.fails_from - point.holds_up_to <= Fraction(1, 2000)
    lines = render_checkpoints(run, points).splitlines()
    assert [line.count("#") for line in lines[3:]] == [0, 8, 16, 40]


def test_what_is_not_decided_is_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of({0: 1.0}, monkeypatch)
    unknown = Unknown(Reason.TIMEOUT, "too long")

    def tired(problem: Problem, engine: str, options: Mapping[str, Any]) -> Result:
        return replace(decide(problem, engine, options), verdict=unknown)

    assert tuple(verify_checkpoints(run, tired)) == (CheckpointVerdict(0, 1.0, "unknown", None, None),)


def test_the_shipped_checkpoints_lead_to_the_shipped_policy() -> None:
    run = training_run("aurora")
    networks = [run.network(d) for d in run.decisions]
    assert networks[-1].digest() == shipped_network("aurora", "aurora-48").digest()
    assert len({n.digest() for n in networks}) == len(networks) >= 6
    untrained = decide(safety_excellent(networks[0], run.usual), "bmc", {"solver": "native"})
    assert isinstance(untrained.verdict, Violated)


def test_a_study_without_checkpoints_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command_line(["study", "checkpoints", "toy", "--quiet"]) == 2
    assert "`toy` ships no checkpoints" in capsys.readouterr().err


def test_the_command_prints_every_checkpoint(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    short = run_of({0: -1.0, 10: 20.0}, monkeypatch)
    monkeypatch.setattr("surefoot_studies.checkpoints.training_run", lambda _: short)
    assert run_command_line(["study", "checkpoints", "aurora", "--quiet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "never decreased" in lines[0]
    assert [line.split()[2] for line in lines[3:]] == ["violated", "proved"]
    assert run_command_line(["study", "checkpoints", "aurora", "--quiet", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["checkpoints"]
    assert [(f["decisions"], f["verdict"], f["holds_up_to"]) for f in facts] == [
        (0, "violated", None),
        (10, "proved", "1/20"),
    ]


def test_a_comparison_prints_property_parameters_evidence_and_times(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = load_study("pensieve")
    some = [
        e for e in loaded.expectations if e.problem.startswith("poor-conditions") and "equal" in e.problem
    ]
    monkeypatch.setattr(
        "surefoot_studies.commands.options.load_study", lambda _: replace(loaded, expectations=tuple(some))
    )
    assert run_command_line(["study", "compare", "pensieve", "--quiet"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n  where     download times in [4, 15] s, all download times equal") == 2
    assert "(about 20 min)" in out
    assert "  asks      never output[0] <= output[5] and " in out
    assert "measured  proved up to 0 steps, certified, " in out
    assert "measured  violated after 0 steps, replayed, " in out
