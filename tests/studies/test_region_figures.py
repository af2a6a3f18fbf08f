"""Figures that show closed sets: measures, files, claims."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from surefoot.cli import run_command_line
from surefoot.query.polynomial import Polynomial
from surefoot_studies.control.figures import MEASURES as DUFFING
from surefoot_studies.paper_figures import load_study_figures
from surefoot_studies.pendulum.figures import MEASURES as PENDULUM
from surefoot_studies.region_figures import RegionResult, covered_box_share


def disc(radius: float, covered: Fraction = Fraction(1)) -> RegionResult:
    terms = {(2, 0): Fraction(1), (0, 2): Fraction(1), (0, 0): -(Fraction(radius) ** 2)}
    return RegionResult(((((Fraction(-2), Fraction(2)),) * 2, (Polynomial(terms),)),), covered, (3, 0))


def test_the_share_of_a_box() -> None:
    assert covered_box_share(disc(1), ((-1, 1), (-1, 1))) == pytest.approx(3.1416 / 4, abs=0.002)
    assert covered_box_share(disc(1), ((0, 1), (-1, 1))) == pytest.approx(3.1416 / 4, abs=0.002)
    assert covered_box_share(disc(1), ((1.5, 2), (1.5, 2))) == 0
    cut = RegionResult(((((Fraction(0), Fraction(2)),) * 2, disc(1).sets[0][1]),), Fraction(1), (0, 0))
    assert covered_box_share(cut, ((-1, 1), (-1, 1))) == pytest.approx(3.1416 / 16, abs=0.002)


def test_measures_of_the_pendulum() -> None:
    found = {"a": disc(1), "b": disc(0.4)}
    assert PENDULUM["restricted"](found) == pytest.approx(0.16, abs=0.01)
    assert PENDULUM["beyond"](found) == pytest.approx(1 - 1.0472**2 / 3.1416, abs=0.01)
    assert PENDULUM["permitted"](found) == pytest.approx(3.1416 / 3.1416**2, abs=0.01)
    assert PENDULUM["unsafe with the shield"](found) == 0
    assert PENDULUM["beyond"]({"a": disc(0.4)}) == pytest.approx(0, abs=0.01)


def test_almost_everything_is_not_everything() -> None:
    assert DUFFING["covered"]({"duffing": disc(1)}) == 1
    assert DUFFING["covered"]({"duffing": disc(1, 1 - Fraction(1, 10**9))}) < 1


@pytest.mark.parametrize("study", ["pendulum", "control"])
def test_every_claim_has_its_figure(study: str) -> None:
    found = load_study_figures(study)
    assert found.claims
    assert {c.figure for c in found.claims} == set(found.figures)


def test_a_figure_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.report.region.sample_runs.STEPS", 60)
    assert run_command_line(["study", "figure", "control", "6", "--folder", str(tmp_path), "--quiet"]) == 0
    out = capsys.readouterr().out
    assert "not reproduced" not in out
    assert "figure 6: covered" in out
    stem = tmp_path / "control-figure-6"
    assert stem.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in stem.with_suffix(".svg").read_text("utf-8")
    assert '<section class="region">' in stem.with_suffix(".html").read_text("utf-8")
    (panel,) = json.loads(stem.with_suffix(".json").read_text("utf-8"))["panels"]
    assert panel["certified"] is True
    assert not any(r["unsafe"] for r in panel["runs"])
