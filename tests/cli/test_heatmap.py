"""`surefoot heatmap`: what is drawn, where it goes, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from importlib import import_module
from math import log2
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import Command
from tests.report.heatmap.tables import write_constant

from surefoot.engines.explicit import Explicit
from surefoot.problem.problem import Problem
from surefoot.run import verify
from surefoot.verdict.verdict import Exact
from surefoot.work.budget import Budget
from surefoot_studies.racetrack import problem as racetrack
from surefoot_studies.racetrack.track import DIRECTIONS

POND = Path(__file__).parents[2] / "docs" / "reference" / "pond.toml"
ARRIVES = (POND, "--property", "arrives", "--quiet")


@pytest.fixture
def drawn(command: Command, tmp_path: Path) -> Drawn:
    return Drawn(command, tmp_path / "out.json")


class Drawn:
    """The JSON of a command that succeeds."""

    def __init__(self, command: Command, file: Path) -> None:
        self.command, self.file = command, file

    def __call__(self, *arguments: object, code: int = 0) -> dict:
        found, _, err = self.command("heatmap", *arguments, "--json", self.file, "--quiet")
        assert found == code, err
        return json.loads(self.file.read_text())


def middle(cell: dict) -> float:
    return float((Fraction(cell["low"]) + Fraction(cell["high"])) / 2)


def values(panel: dict) -> dict[tuple[int, int], float]:
    return {(c["column"], c["row"]): middle(c) for c in panel["cells"]}


def by_hand(slip: float) -> dict[tuple[int, int], float]:
    """How likely the policy of the pond arrives, by the equations themselves."""
    holes, found = {(3, 1), (3, 2), (5, 4)}, {}
    for x in reversed(range(8)):
        for y in reversed(range(6)):
            if (x, y) == (7, 5):
                found[x, y] = 1.0
            elif (x, y) in holes:
                found[x, y] = 0.0
            elif x == 7:
                found[x, y] = 1.0  # north, or staying where it is
            elif y == 5:
                found[x, y] = found[x + 1, y]  # east, or staying where it is
            else:
                found[x, y] = (1 - slip) * found[x + 1, y] + slip * found[x, y + 1]
    return {place: value for place, value in found.items() if place not in holes | {(7, 5)}}


def test_values_are_those_of_the_equations(drawn: Drawn) -> None:
    (panel,) = drawn(*ARRIVES[:-1])["panels"]
    assert (panel["x"]["name"], panel["y"]["name"], panel["unit"]) == ("x", "y", "probability")
    assert values(panel) == pytest.approx(by_hand(0.2))


def test_optimum_and_gap(drawn: Drawn) -> None:
    asked = ("--quantity", "value", "--quantity", "optimum", "--quantity", "gap", "--optimise", "max")
    mine, best, gap = (values(p) for p in drawn(*ARRIVES[:-1], *asked)["panels"])
    for place, value in mine.items():
        assert best[place] >= value - 1e-9
        assert gap[place] == pytest.approx(best[place] - value)
    assert max(gap.values()) > 0.5


def test_sweep_has_one_scale_and_the_values_of_each_constant(drawn: Drawn) -> None:
    figure = drawn(*ARRIVES[:-1], "--sweep", "slip=0.1:0.5:0.2")
    assert [p["title"] for p in figure["panels"]] == ["slip = 0.1", "slip = 0.3", "slip = 0.5"]
    for panel, slip in zip(figure["panels"], (0.1, 0.3, 0.5), strict=True):
        assert values(panel) == pytest.approx(by_hand(slip))
    assert figure["scales"] == {"probability": {"low": 0.0, "high": 1.0}}


def test_two_sweeps_are_a_table(drawn: Drawn, tmp_path: Path) -> None:
    model = tmp_path / "pond.toml"
    model.write_text(
        POND.read_text().replace("slip = 0.2", "slip = 0.2\nfar = 5").replace("x = 5 and", "x = far and")
    )
    figure = drawn(model, "--property", "arrives", "--sweep", "slip=0.1,0.2", "--sweep", "far=4:6:1")
    assert figure["columns"] == 3
    assert [p["title"] for p in figure["panels"]][:2] == ["slip = 0.1, far = 4", "slip = 0.1, far = 5"]


def test_several_properties_and_models(drawn: Drawn) -> None:
    both = drawn(POND)
    assert [p["title"] for p in both["panels"]] == ["arrives", "drowns"]
    arrives, drowns = map(values, both["panels"])
    assert all(arrives[place] + drowns[place] == pytest.approx(1) for place in arrives)
    twice = drawn(POND, POND, "--property", "arrives")
    assert [p["title"] for p in twice["panels"]] == ["pond", "pond"]


def test_one_axis_aggregates_the_other(drawn: Drawn, command: Command) -> None:
    (panel,) = drawn(*ARRIVES[:-1], "--x", "x", "--aggregate", "min")["panels"]
    assert panel["y"] is None
    assert (panel["aggregate"], panel["aggregated"]) == ("min", ["y"])
    expected = by_hand(0.2)
    assert values(panel) == pytest.approx(
        {(x, 0): min(v for (a, _), v in expected.items() if a == x) for x in range(8)}
    )
    _, out, _ = command("heatmap", *ARRIVES, "--x", "x", "--aggregate", "mean", "--where", "y < 3")
    assert "a cell shows the mean value of its starts over y" in out
    assert "only starts with y < 3" in out


def test_files_are_written(command: Command, tmp_path: Path) -> None:
    places = [f"--{kind}={tmp_path / ('a.' + kind)}" for kind in ("svg", "png")]
    code, out, _ = command("heatmap", *ARRIVES, *places, "--report", tmp_path / "a.html")
    assert code == 0
    assert "5 99999999999999··" in out
    assert (tmp_path / "a.svg").read_text().startswith("<svg")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")
    assert "figure class=" in (tmp_path / "a.html").read_text()


def test_a_property_in_words_is_told_once(drawn: Drawn) -> None:
    figure = drawn(POND, "--property", "Emin=? [ steps until (x = 7 and y = 5) ]", "--quantity", "value")
    assert (figure["title"], figure["panels"][0]["title"]) == (
        "Emin=? [ steps until x = 7 and y = 5 ]",
        "pond",
    )
    assert figure["panels"][0]["unit"] == "expected steps"
    assert {c["low"] for c in figure["panels"][0]["cells"]} >= {"infinite"}


def test_json_alone_on_stdout(command: Command) -> None:
    code, out, _ = command("heatmap", *ARRIVES, "--json", "-")
    assert code == 0
    assert json.loads(out)["kind"] == "heatmap"


def test_the_picture_in_the_manual_is_what_its_command_makes(command: Command, tmp_path: Path) -> None:
    asked = ("--quantity", "value", "--quantity", "optimum", "--quantity", "gap", "--optimise", "max")
    command("heatmap", *ARRIVES, *asked, "--exact", "--svg", tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text() == (POND.parent / "heatmap.svg").read_text()


@pytest.mark.parametrize(
    ("threshold", "code", "count"), [("<= 0.1", 1, 21), ("<= 1", 0, 0), (">= 0", 0, 0), ("< 0.9", 1, 2)]
)
def test_critical_starts(command: Command, tmp_path: Path, threshold: str, code: int, count: int) -> None:
    file = tmp_path / "critical.json"
    asked = (POND, "--property", "drowns", "--threshold", threshold, "--critical", file, "--quiet")
    assert command("heatmap", *asked)[0] == code
    starts = json.loads(file.read_text())["starts"]
    drowns = {place: 1 - value for place, value in by_hand(0.2).items()}
    limit = float(threshold.split()[1])
    bad = {p for p, v in drowns.items() if (v > limit + 1e-9 if threshold[0] == "<" else v < limit - 1e-9)}
    assert {(int(s["start"]["x"]), int(s["start"]["y"])) for s in starts} == bad
    assert len(bad) == count
    assert all(s["certain"] for s in starts)


def test_checkpoints_beside_their_learning_curve(drawn: Drawn, tmp_path: Path, command: Command) -> None:
    """Two networks that always take one action each, saved at steps 10 and 200."""
    folder = tmp_path / "run"
    folder.mkdir()
    for step, biases in ((200, (0.0, 1.0)), (10, (1.0, 0.0))):
        write_constant(folder / f"agent-{step}.nnet", biases)
    (folder / "notes.txt").write_text("no network")
    (folder / "curve.csv").write_text("step,return\n0,-1\n10,2\n200,5\n")
    wired = ("--observe", "x, y", "--actions", "east,north", "--choose", "argmax-applicable")
    asked = (POND, "--property", "arrives", *wired, "--checkpoints", folder, "--curve", folder / "curve.csv")
    figure = drawn(*asked)
    assert [p["title"] for p in figure["panels"]] == ["step 10", "step 200"]
    assert figure["curve"]["checkpoints"][1] == {"x": 200.0, "name": "agent-200.nnet"}
    east, north = map(values, figure["panels"])
    assert east == pytest.approx(by_hand(0.2))
    assert north[0, 0] != pytest.approx(east[0, 0])
    _, out, _ = command("heatmap", *asked, "--quiet")
    assert "return at the checkpoints" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--property", "arrives", "--x", "z"), "no state variable `z`"),
        (("--property", "arrives", "--quantity", "gap"), "which value is the best one is not said"),
        (("--property", "arrives", "--quantity", "effort"), "`explicit` makes no runs"),
        (("--property", "never x = 3"), "is no probability and no expected value"),
        (("--property", "arrives", "--sweep", "slip"), "does not say which values"),
        (("--property", "arrives", "--sweep", "slip=0:1"), "is not FIRST:LAST:STEP"),
        (("--property", "arrives", "--sweep", "slip=1:0:1"), "contains no value"),
        (("--property", "arrives", "--sweep", "slip=0:1:0.0001"), "too many"),
        (("--property", "arrives", "--sweep", "slipp=0,1"), "slipp"),
        (("--property", "arrives", "--sweep", "slip=0,1", "--const", "slip=0.2"), "`slip` is given twice"),
        (("--property", "arrives", "--sweep", "slip=0,1", "--sweep", "slip=0.2"), "`slip` is given twice"),
        (("--property", "arrives", "--range", "1:0"), "is not LOW:HIGH"),
        (("--property", "arrives", "--threshold", "0.1"), "is no threshold"),
        (("--property", "arrives", "--critical", "a.json"), "one problem and a threshold"),
        (("--property", "arrives", "--critical", "a.xml", "--threshold", "<= 1"), "JSON or CSV"),
        (("--property", "arrives", "--curve", "a.csv"), "belongs to checkpoints"),
        (("--property", "arrives", "--checkpoints", "nowhere"), "not a folder"),
        (("--property", "arrives", "--engine", "explicitt"), "did you mean `explicit`"),
        (("--property", "arrives", "--svg", "no/such/folder/a.svg"), "does not exist"),
        (("--property", "arrives", "--starts", "x = 1 and y = 1"), "one start only"),
    ],
)
def test_refused_in_one_line(command: Command, arguments: tuple[str, ...], said: str) -> None:
    code, out, err = command("heatmap", POND, *arguments, "--quiet")
    assert code == 2
    assert out == ""
    assert said in err
    assert err.count("\n") == 1


def test_other_starts(drawn: Drawn) -> None:
    (panel,) = drawn(*ARRIVES[:-1], "--starts", "x <= 1")["panels"]
    assert {c["column"] for c in panel["cells"]} == {0, 1}


def test_without_time_there_is_no_picture(command: Command, tmp_path: Path) -> None:
    code, out, err = command("heatmap", *ARRIVES, "--timeout", "1e-9", "--svg", tmp_path / "a.svg")
    assert code == 3
    assert out == ""
    assert "unknown" in err
    assert not (tmp_path / "a.svg").exists()


def test_a_study(drawn: Drawn) -> None:
    (panel,) = drawn("racetrack/crash-probability")["panels"]
    assert panel["source"]["study"] == "racetrack/crash-probability"
    assert [c["starts"][0]["car_x"] for c in panel["cells"]] == ["0", "0", "0"]


@pytest.mark.parametrize(
    "place", ["surefoot.engines.explicit.engine.Explicit.check", "surefoot.run.certify_verdict"]
)
def test_an_interrupt_leaves_what_there_is(
    place: str, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second map is interrupted, inside the engine or while its certificate is checked."""
    folder, name = place.rsplit(".", 1)
    owner = Explicit if name == "check" else import_module(folder)
    original, calls = getattr(owner, name), []

    def counted(*given: Any, **named: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return original(*given, **named)

    monkeypatch.setattr(owner, name, counted)
    file = tmp_path / "out.json"
    code, out, err = command("heatmap", *ARRIVES, "--sweep", "slip=0.1:0.5:0.1", "--json", file)
    assert code == 130
    assert [p["title"] for p in json.loads(file.read_text())["panels"]] == ["slip = 0.1"]
    assert "slip = 0.2: unknown (interrupted)" in err
    assert "slip = 0.2: unknown (interrupted)" in out


def test_stored_results_are_drawn_again(drawn: Drawn, command: Command, tmp_path: Path) -> None:
    stored = tmp_path / "stored.json"
    asked = "P=? [ F (x = 7 and y = 5) ] over values"
    assert command("check", POND, "--property", asked, "--json", stored, "--quiet")[0] == 0
    figure = drawn(stored, "--where", "x < 7")
    (panel,) = figure["panels"]
    assert figure["title"] == "P=? [ F (x = 7 and y = 5) ]"
    assert values(panel) == pytest.approx({p: v for p, v in by_hand(0.2).items() if p[0] < 7})
    assert len(drawn(stored, stored)["panels"]) == 2


def test_stored_results_that_cannot_be_drawn(command: Command, tmp_path: Path) -> None:
    broken = str(tmp_path / "broken.json")
    Path(broken).write_text('{"schema": 1}')
    stored = tmp_path / "stored.json"
    command("check", POND, "--property", "P=? [ F (x = 7 and y = 5) ]", "--json", stored, "--quiet")
    for arguments, said in (
        ((stored,), "`exact` is no table of starts"),
        ((broken,), "broken.json:verdict: expected this key"),
        ((stored, POND), "cannot be drawn together"),
        ((stored, "--quantity", "gap"), "is no table of starts"),
    ):
        code, _, err = command("heatmap", *arguments, "--quiet")
        assert (code, said in err) == (2, True)


def test_estimates_and_their_effort(drawn: Drawn, command: Command) -> None:
    asked = ("--engine", "statistical", "--eps", "0.05", "--family-wise", "--seed", "3")
    figure = drawn(*ARRIVES[:-1], *asked, "--quantity", "value", "--quantity", "effort", "--columns", "2")
    value, effort = figure["panels"]
    expected = by_hand(0.2)
    for cell, work in zip(value["cells"], effort["cells"], strict=True):
        assert cell["confidence"] == "879/880"  # of 44 starts
        true = expected[cell["column"], cell["row"]]
        assert (
            Fraction(cell["low"]) - Fraction(1, 10**9) <= true <= Fraction(cell["high"]) + Fraction(1, 10**9)
        )
        assert middle(work) == pytest.approx(log2(cell["counts"]["runs"]), abs=1e-4)
    _, out, _ = command("heatmap", *ARRIVES, *asked, "--where", "y = 3")
    assert "drawn: the middle of each confidence interval" in out
    assert "confidence of each interval: 0.99375; of all in a map together: at least 0.95" in out  # of 8


def test_a_parameter_of_a_study_is_swept(drawn: Drawn, monkeypatch: pytest.MonkeyPatch) -> None:
    def slippery(slip: Fraction = Fraction(1, 5)) -> Problem:
        return racetrack.racetrack_problem(racetrack.crash_probability(), slip=slip)

    monkeypatch.setitem(racetrack.PROBLEMS, "slippery", slippery)
    swept = drawn("racetrack/slippery", "--sweep", "slip=0.1,0.4", "--no-certificates")["panels"]
    assert [p["title"] for p in swept] == ["slip = 0.1", "slip = 0.4"]
    for panel, slip in zip(swept, (Fraction(1, 10), Fraction(2, 5)), strict=True):
        asked = slippery(slip)
        alone = verify(replace(asked, property=replace(asked.property, over="max")), Explicit(), Budget(60))
        assert isinstance(alone.verdict, Exact)
        assert alone.verdict.high is not None
        assert max(values(panel).values()) == pytest.approx(float(alone.verdict.high))


def test_the_published_model_and_ours_have_the_same_map(
    drawn: Drawn, shared_data: Path, tmp_path: Path
) -> None:
    """A published policy on Barto-small: the mean over all cells is what a random start is known to have."""
    folder = shared_data / "jani"
    observed = ("car_dx", "car_dy", "car_x", "car_y", *(f"dist_{d}" for d in DIRECTIONS))
    published = drawn(
        folder / "racetrack" / "racetrack_barto_sml.jani",
        *("--property", "goalProbability", "--x", "car_x", "--y", "car_y", "--no-certificates"),
        *("--policy", folder / "racetrack-policies" / "ep10999.onnx", "--actions", "edges_of(car)"),
        *("--observe", ", ".join((*observed, "goal_dist", "goal_dist_x", "goal_dist_y"))),
        *("--starts", "car_dx = 0 and car_dy = 0 and at(environment, wait_for_car) and at(Distance, done)"),
    )["panels"][0]
    found = values(published)
    assert len(found) == 233
    assert sum(found.values()) / len(found) == pytest.approx(0.906802, abs=1e-6)
    model = tmp_path / "ours.py"
    model.write_text(OURS.format(folder=str(folder)))
    ours = drawn(model, "--trust-python", "--no-certificates")["panels"][0]
    assert (ours["x"], ours["y"]) == (published["x"], published["y"])
    assert values(ours) == pytest.approx(found, abs=1e-9)


OURS = """
from fractions import Fraction
from pathlib import Path
from surefoot.formats.onnx import read_onnx_network
from surefoot_studies.racetrack.policies import racetrack_policy
from surefoot_studies.racetrack.problem import goal_probability, racetrack_problem as posed
from surefoot_studies.racetrack.track import parse_track

folder = Path("{folder}")
track = parse_track((folder / "tracks" / "barto-small.track").read_text(), "barto-small")
network = read_onnx_network(folder / "racetrack-policies" / "ep10999.onnx")
problem = posed(goal_probability(), racetrack_policy(network, track), track, Fraction(1, 10), anywhere=True)
"""
