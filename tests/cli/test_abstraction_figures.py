"""`surefoot study racetrack --figure pa-…`: pictures, numbers, claims, and time-outs that are drawn."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from surefoot.cli.commands.heatmap import abstraction_figures
from surefoot.cli.commands.heatmap.abstraction_figures import Making, abstraction_claims, drawn_abstractions
from surefoot.report.lines import Line, LinePanel, lines_svg
from surefoot.studies.racetrack.abstraction import ABSTRACTIONS, Instance

HOW = Making((), 60.0, 1, 60.0)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    instances = tuple(Instance(16, n, 1) for n in (30, 85, 145))
    few = {"pa-1": replace(ABSTRACTIONS["pa-1"], instances=instances)}
    monkeypatch.setattr(abstraction_figures, "ABSTRACTIONS", few)
    monkeypatch.setattr(abstraction_figures, "abstraction_claims", lambda: CLAIMS)


CLAIMS = abstraction_claims()


@pytest.mark.usefixtures("small")
def test_a_figure_is_drawn_and_its_claims_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert drawn_abstractions(["pa-1"], HOW, tmp_path, lambda _: None, False) == 0
    printed = capsys.readouterr().out
    assert printed.count("met    ") == printed.count("paper ") == 4
    data = json.loads((tmp_path / "racetrack-figure-pa-1.json").read_text())
    sizes = [r["states"] for r in data["runs"]]
    assert sizes[0] < sizes[1] > sizes[2]
    assert all(r["finished"] and r["exact"] and r["configuration"] == "native" for r in data["runs"])
    assert all(c["met"] for c in data["claims"])
    assert (tmp_path / "racetrack-figure-pa-1.svg").read_text().startswith("<svg")


@pytest.mark.usefixtures("small")
def test_other_configurations_are_capped_and_run_on_every_so_many_th(
    capsys: pytest.CaptureFixture[str],
) -> None:
    how = Making(("pa-milp",), 0.01, 3, 60.0)
    seen: list[str] = []
    assert drawn_abstractions(["pa"], how, None, seen.append, True) in (0, 1)
    (figure,) = json.loads(capsys.readouterr().out)["figures"]
    others = [r for r in figure["runs"] if r["configuration"] == "pa-milp"]
    assert [r["predicates"] for r in others] == [30]
    assert not others[0]["finished"]


def test_every_claim_has_a_measure_and_a_figure() -> None:
    assert {c.figure for c in CLAIMS} >= set(ABSTRACTIONS)
    assert len({(c.figure, c.measure) for c in CLAIMS}) == len(CLAIMS)


def test_a_line_without_an_end_is_an_arrow() -> None:
    line = Line("a < b", ((1, 2.0), (2, 30.0)), late=((3, 60.0),), dash=1)
    drawn = lines_svg(
        "t", [LinePanel("p", "x", "y", (line,), logarithmic=True), LinePanel("none", "", "", ())]
    )
    assert "a &lt; b: no end within 60 at 3" in drawn
    assert drawn.count("<circle") == 2
