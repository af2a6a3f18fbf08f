"""`surefoot study abstraction racetrack pa-…`: pictures, numbers, claims, and time-outs that are drawn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from surefoot.errors import InvalidProblem
from surefoot.report.line_panels import DataLine, LinePanel, line_panels_svg
from surefoot_studies.commands import abstraction
from surefoot_studies.commands.abstraction import (
    AbstractionSettings,
    abstraction_claims,
    draw_abstraction_figures,
)
from surefoot_studies.paper_figures import Claim
from surefoot_studies.racetrack import abstraction_workers
from surefoot_studies.racetrack.abstraction_instances import ABSTRACTIONS, SAMPLE, AbstractionInstance
from surefoot_studies.racetrack.abstraction_log import StoredRuns, read_stored_runs
from surefoot_studies.racetrack.abstraction_runs import AbstractionRun, run_from_facts, run_instance
from surefoot_studies.racetrack.abstraction_workers import run_missing_instances

HOW = AbstractionSettings(60.0)


CLAIMS = abstraction_claims()


def reduce_figures(monkeypatch: pytest.MonkeyPatch, sizes: Sequence[int], claims: Sequence[Claim]) -> None:
    """One figure with so many predicates."""
    few = {
        "pa-1": replace(ABSTRACTIONS["pa-1"], instances=tuple(AbstractionInstance(16, n, 1) for n in sizes))
    }
    monkeypatch.setattr(abstraction, "ABSTRACTIONS", few)
    monkeypatch.setattr(abstraction, "abstraction_claims", lambda: claims)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    reduce_figures(monkeypatch, (130, 135, 145), ())


def test_a_figure_is_drawn_and_its_claims_are_measured(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    reduce_figures(monkeypatch, (20, 110, 145), CLAIMS)
    assert draw_abstraction_figures(["pa-1"], HOW, tmp_path, lambda _: None, False) == 0
    printed = capsys.readouterr().out
    assert (
        printed.count("reproduced ") + printed.count("differs (as recorded)") == printed.count("paper ") == 4
    )
    data = json.loads((tmp_path / "racetrack-figure-pa-1.json").read_text())
    sizes = [r["states"] for r in data["runs"]]
    assert sizes[0] < sizes[1] > sizes[2]
    assert all(r["finished"] and r["exact"] and r["configuration"] == "native" for r in data["runs"])
    assert all(c["as_recorded"] for c in data["claims"])
    assert (tmp_path / "racetrack-figure-pa-1.svg").read_text().startswith("<svg")


@pytest.mark.usefixtures("small")
def test_other_configurations_are_capped_and_run_on_every_so_many_th(
    capsys: pytest.CaptureFixture[str],
) -> None:
    how = AbstractionSettings(60.0, ("pa-milp",), 0.01, 3)
    seen: list[str] = []
    assert draw_abstraction_figures(["pa"], how, None, seen.append, True) in (0, 1)
    (figure,) = json.loads(capsys.readouterr().out)["figures"]
    others = [r for r in figure["runs"] if r["configuration"] == "pa-milp"]
    assert [r["predicates"] for r in others] == [130]
    assert not others[0]["finished"]


@pytest.mark.usefixtures("small")
def test_what_is_stored_is_not_run_again(tmp_path: Path) -> None:
    assert draw_abstraction_figures(["pa-1"], HOW, tmp_path, lambda _: None, False) == 0
    file = tmp_path / "racetrack-abstractions.jsonl"
    lines = file.read_text().splitlines()
    assert len(lines) == 3
    seen: list[str] = []
    assert draw_abstraction_figures(["pa-1"], HOW, tmp_path, seen.append, False) == 0
    assert not [line for line in seen if ": network 16, " in line]
    file.write_text("\n".join((lines[0], lines[1].replace('"study": "', '"study": "other'), lines[2][:40])))
    assert draw_abstraction_figures(["pa-1"], HOW, tmp_path, seen.append, False) == 0
    assert len([line for line in seen if ": network 16, " in line]) == 2  # of other networks; torn
    assert len(file.read_text().splitlines()) == 5
    file.write_text(lines[0].replace('"states"', '"stats"') + "\n")
    with pytest.raises(InvalidProblem, match="no run") as error:
        read_stored_runs(tmp_path)
    assert str(file) in str(error.value)


@pytest.mark.usefixtures("small")
def test_interrupted_it_draws_what_is_there_and_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(instance: AbstractionInstance, *rest: Any) -> AbstractionRun:
        if instance.predicates == 135:
            raise KeyboardInterrupt
        return run_instance(instance, *rest)

    monkeypatch.setattr(abstraction_workers, "run_instance", stopped)
    assert draw_abstraction_figures(["pa-1", "pa-1"], HOW, tmp_path, lambda _: None, False) == 130
    assert "interrupted: 2 runs are missing" in capsys.readouterr().err
    data = json.loads((tmp_path / "racetrack-figure-pa-1.json").read_text())
    assert (len(data["runs"]), data["missing"], data["claims"]) == (1, 2, [])
    monkeypatch.setattr(abstraction_workers, "run_instance", run_instance)
    assert draw_abstraction_figures(["pa-1"], HOW, tmp_path, lambda _: None, False) == 0
    data = json.loads((tmp_path / "racetrack-figure-pa-1.json").read_text())
    assert (len(data["runs"]), data["missing"]) == (3, 0)


def made_by(instance: AbstractionInstance, finished: bool, configuration: str = "pa") -> AbstractionRun:
    return AbstractionRun(instance, configuration, finished, True, 5, 1, 1, 9, 7.0, 0.1, ())


def test_what_was_stopped_is_not_run_with_more_starts() -> None:
    few, more, other = (
        AbstractionInstance(16, 30, 101),
        AbstractionInstance(16, 30, 501),
        AbstractionInstance(16, 35, 501),
    )
    runs = StoredRuns(None)
    runs.add(made_by(few, finished=False), 7.0)
    runs.add(made_by(few, finished=False, configuration="native"), 7.0)
    known = runs.of(more, "pa", 7.0)
    assert known is not None
    assert (known.instance, known.finished, known.known_from, known.seconds) == (more, False, 101, 7.0)
    assert run_from_facts(json.loads(json.dumps(known.facts()))) == known
    assert runs.of(more, "pa", 8.0) is None  # it would have had longer
    assert runs.of(AbstractionInstance(16, 30, 1), "pa", 7.0) is None  # fewer
    assert runs.of(other, "pa", 7.0) is None
    assert runs.of(more, "native", 7.0) is None
    runs.add(made_by(few, finished=True), 7.0)
    assert runs.of(more, "pa", 7.0) is None


def test_runs_from_few_starts_come_first_and_tell_of_those_from_more(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[AbstractionInstance] = []

    def slow(instance: AbstractionInstance, configuration: str, *_: Any) -> AbstractionRun:
        asked.append(instance)
        return made_by(instance, instance.predicates == 145, configuration)

    monkeypatch.setattr(abstraction_workers, "run_instance", slow)
    wanted = [(AbstractionInstance(16, n, s), "pa", 5.0) for n in (30, 145) for s in (1001, 101, 1)]
    runs = StoredRuns(None)
    run_missing_instances(wanted, runs, lambda _: None, 1)
    assert [(i.predicates, i.starts) for i in asked] == [(30, 1), (145, 1), (145, 101), (145, 1001)]
    assert all(runs.of(*one) for one in wanted)


@pytest.mark.usefixtures("small")
def test_several_processes_find_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert draw_abstraction_figures(["pa-1"], HOW, None, lambda _: None, True) == 0
    alone = json.loads(capsys.readouterr().out)["figures"][0]["runs"]
    assert draw_abstraction_figures(["pa-1"], replace(HOW, workers=2), tmp_path, lambda _: None, True) == 0
    together = json.loads(capsys.readouterr().out)["figures"][0]["runs"]
    sizes = [[(r["predicates"], r["states"], r["transitions"]) for r in one] for one in (alone, together)]
    assert sizes[0] == sizes[1]
    assert len((tmp_path / "racetrack-abstractions.jsonl").read_text().splitlines()) == 3


def test_a_longer_cap_asks_again_where_nothing_ended() -> None:
    runs = StoredRuns(None)
    for finished, cap, again in ((True, 1.0, False), (False, 1.0, True), (False, 10.0, False)):
        one = AbstractionRun(AbstractionInstance(16, 4, 1), "pa", finished, True, 5, 1, 1, 9, 0.5, 0.1, ())
        runs.add(one, cap)
        assert (runs.of(one.instance, "pa", 5.0) is None) is again
        assert run_from_facts(json.loads(json.dumps(one.facts()))) == one


def test_a_sample_has_every_network_and_figure_and_tells_what_is_claimed() -> None:
    assert {i.width for i in SAMPLE} == {16, 24, 32, 64}
    for figure in ABSTRACTIONS.values():
        wanted = AbstractionSettings(60.0, ("paper",), sample=True).planned_runs(
            figure, ["native", "pa-marabou"]
        )
        assert len(set(wanted)) == len(wanted)
        others = [i for i, c, _ in wanted if c == "pa-marabou"]
        assert len(others) >= 5
        assert {(i, "native", 60.0) for i in others} <= set(wanted)
        sizes = {i.predicates for i, *_ in wanted}
        assert {i.predicates for i in figure.instances if i.predicates in (4, 30, 145)} <= sizes


def test_every_claim_has_a_measure_and_a_figure() -> None:
    assert {c.figure for c in CLAIMS} >= set(ABSTRACTIONS)
    assert len({(c.figure, c.measure) for c in CLAIMS}) == len(CLAIMS)


def test_a_line_without_an_end_is_an_arrow() -> None:
    line = DataLine("a < b", "", ((1, 2.0), (2, 30.0)), late=((3, 60.0),))
    drawn = line_panels_svg(
        "t", [LinePanel("p", "x", "y", (line,), logarithmic=True), LinePanel("none", "", "", ())]
    )
    assert "a &lt; b: no end within 60 at 3" in drawn
    assert drawn.count("<circle") == 2
    alone = LinePanel("p", "x", "y", (DataLine("a", "", ((130.0, 2.0),)),))
    assert "130</text>" in line_panels_svg("t", [alone])
