"""`surefoot shield`: program, certificate, source code, partial answers."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from surefoot import api
from surefoot.cli import run_command_line
from surefoot.cli.commands.shield import write_shield_page
from surefoot.search import finite_shield
from surefoot.shields import synthesis
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate


def outcome(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run_command_line(["shield", *arguments])
    seen = capsys.readouterr()
    return code, seen.out, seen.err


def test_everything_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.report.region.sample_runs.STEPS", 60)
    names = {"--json": "all.json", "--certificate": "proof.json", "--python": "guard.py", "--c": "guard"}
    names["--report"] = "page.html"
    options = [text for option, name in names.items() for text in (option, str(tmp_path / name))]
    code, out, _ = outcome(capsys, "pendulum/within-90-degrees", "--degree", "2", *options)
    assert code == 0
    assert "certificate  accepted" in out
    assert "covered      100 %" in out
    assert "a = min(max(" in out
    data: dict[str, Any] = json.loads((tmp_path / "all.json").read_text())
    assert data["certified"] is True
    assert data["covered"] == "1"
    assert data["shield"] is True
    runs = data["picture"]["runs"]
    assert any(r["shielded"] for r in runs)
    assert all(r["unsafe"] is not r["shielded"] for r in runs)
    page = (tmp_path / "page.html").read_text()
    assert '<section class="region">' in page
    assert "certificate  accepted" in page
    proof = json.loads((tmp_path / "proof.json").read_text())
    assert proof == data["certificate"]
    assert judge_certificate(proof).accepted
    assert run_command_line(["certify", str(tmp_path / "proof.json")]) == 0
    capsys.readouterr()
    assert run_command_line(["certify", str(tmp_path / "all.json")]) == 0
    assert "only the certificate in it was checked" in capsys.readouterr().out
    data["certificate"]["claim"]["problem"]["initial"][1] = ["<=", "-9", ["name", "x0"]]
    (tmp_path / "other.json").write_text(json.dumps(data))
    assert run_command_line(["certify", str(tmp_path / "other.json")]) == 1
    assert (tmp_path / "guard.h").read_text().startswith("/* A shield")
    spec = importlib.util.spec_from_file_location("guard", tmp_path / "guard.py")
    assert spec is not None
    assert spec.loader is not None
    guard = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(guard)
    assert guard.step((0.0, 0.0), (0.5,)) == ((0.5,), 0)
    assert guard.step((0.0, 2.0), (0.5,))[1] == 2


WITHOUT_POLICY = """
arithmetic = "float64"
initial = "-0.5 <= x <= 0.5 and -0.5 <= v <= 0.5"
variables = { x = "real", v = "real" }
controls = { u = "[-2, 2]" }
edges = [{ chosen = { d = "real [-0.1, 0.1]" } }]
properties = { near = "never x > 1 or x < -1 or v > 1.5 or v < -1.5" }
[flow]
step = 0.02
derivatives = { x = "v", v = "-x - 0.2 * v + u + d" }
"""


def test_a_problem_file_needs_no_policy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "oscillator.toml"
    file.write_text(WITHOUT_POLICY)
    code, out, _ = outcome(capsys, str(file), "--degree", "2", "--quiet")
    assert code == 0
    assert "controlled whatever is proposed to its shield" in out
    for command in ("check", "starts"):
        assert run_command_line([command, str(file)]) == 2
        error = capsys.readouterr().err
        assert "nobody sets the controls `u`: there is no policy; fix: give a policy" in error


def test_a_polyhedron(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.report.region.sample_runs.STEPS", 20)
    options = [
        "--set",
        "polyhedron",
        "--json",
        str(tmp_path / "all.json"),
        "--report",
        str(tmp_path / "p.html"),
    ]
    code, out, _ = outcome(capsys, "control/pendulum", *options)
    assert code == 0
    assert "rules        1; polyhedra of 4 rows and a box" in out
    assert "# B0 = max(" in out
    data: dict[str, Any] = json.loads((tmp_path / "all.json").read_text())
    assert (data["set"], data["rules"][0]["rows"], data["rules"][0]["degree"]) == ("polyhedron", 4, 1)
    assert len(data["picture"]["regions"][0]["rows"]) == 4
    code, out, error = outcome(capsys, "control/pendulum", "--set", "polyhedron", "--degree", "2")
    assert code == 2
    assert "a polyhedron has no degree" in error
    code, out, _ = outcome(capsys, "control/duffing", "--set", "polyhedron")
    assert code == 3
    assert "polyhedra are for linear systems" in out


def test_sums_of_squares_in_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("control/satellite", "--set", "polynomial", "--squares", "sdsos", "--quiet", "--json", "-")
    code, out, _ = outcome(capsys, *arguments)
    data = json.loads(out)
    assert code == 0
    assert data["squares"] == "sdsos"
    assert data["rules"][0]["degree"] == 2
    assert judge_certificate(data["certificate"]).accepted
    code, _, err = outcome(capsys, "control/satellite", "--set", "polyhedron", "--squares", "sdsos")
    assert code == 2
    assert "error: --squares: a polyhedron is proved without sums of squares; fix: leave" in err


def test_what_is_wrong_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for wrong in (
        ["pendulum/within-90-degrees", "--degree", "3"],
        ["pendulum/within-90-degrees", "--python", str(tmp_path / "x.txt")],
        ["pendulum/within-90-degrees", "--c", str(tmp_path / "none" / "x")],
        ["toy/never-adjacent"],
        ["pendulum/nothing"],
        ["pendulum/within-90-degrees", "--seed", "-1"],
        ["pendulum/within-90-degrees", "--rule", "eta, x"],
        ["pendulum/within-90-degrees", "--rule", ""],
        ["pendulum/within-90-degrees", "--rule", "eta^6"],
        ["pendulum/within-90-degrees", "--rule", "eta", "--recheck", __file__],
        ["pendulum/within-90-degrees", "--invariant", "eta + omega"],
        ["pendulum/within-90-degrees", "--invariant", "1, eta^2", "--degree", "2"],
        ["pendulum/within-90-degrees", "--c", f"{tmp_path}/"],
        ["pendulum/within-90-degrees", "--c", str(tmp_path / "x"), "--json", str(tmp_path / "x.h")],
        ["pendulum/within-90-degrees", "--json", str(tmp_path / "x"), "--report", str(tmp_path / "x")],
        ["pendulum/within-90-degrees", "--bound", "0.9"],
        ["racetrack/never-crashes", "--runs", "10"],
        ["racetrack/never-crashes", "--degree", "2"],
        ["racetrack/never-crashes", "--set", "auto"],
        ["racetrack/never-crashes", "--squares", "sos"],
        ["racetrack/never-crashes", "--rule", "1"],
        ["racetrack/never-crashes", "--recheck", __file__],
        ["pendulum"],
        ["pendullum/within-90-degrees"],
    ):
        code, out, err = outcome(capsys, *wrong)
        assert code == 2, wrong
        assert out == ""
        assert err.count("\n") == 1
        assert "fix: " in err or wrong == ["toy/never-adjacent"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (
            "-0.5 <= x <= 0.5 and ",
            "",
            "`x` lacks a bound there; fix: bound it in `initial` from below and above",
        ),
        ("x <= 0.5", "x <= -1", "there is no start: the bounds of `x` exclude each other; fix: bound it"),
        (
            "-0.5 <= x <= 0.5",
            "x^2 <= 1",
            "the starts are not a box: `x^2 <= 1`; fix: give every variable two",
        ),
        ("-x - 0.2", "-sin(x) - 0.2", "`sin(x)` is not a polynomial; fix: write it by + - * /"),
        ("never x > 1 ", "never x > 1e400 ", "a number is larger than 1e+300; fix: write it in another unit"),
        ("[-0.1, 0.1]", "", "the disturbance `d` is not a real number between two ends; fix: give it both"),
    ],
)
def test_what_a_problem_file_lacks(
    old: str, new: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "wrong.toml"
    file.write_text(WITHOUT_POLICY.replace(old, new))
    code, out, error = outcome(capsys, str(file), "--quiet")
    assert (code, out) == (2, "")
    assert said in error


def test_coefficients_beyond_doubles_are_no_failure(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "strong.toml"
    file.write_text(WITHOUT_POLICY.replace("[-2, 2]", "[-1e299, 1e299]"))
    code, out, error = outcome(capsys, str(file), "--quiet", "--timeout", "20", "--degree", "2")
    assert code in (0, 3)
    assert "certificate  " in out
    assert error == ""


def test_source_code_is_float64(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "exact.toml"
    file.write_text(WITHOUT_POLICY.replace('arithmetic = "float64"', ""))
    for option, name in (("--python", "guard.py"), ("--c", "guard")):
        code, out, error = outcome(capsys, str(file), option, str(tmp_path / name))
        assert (code, out) == (2, "")
        assert f"error: {option}: source code computes in float64" in error
        assert 'fix: write arithmetic = "float64"' in error


def test_too_little_time_is_called_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "oscillator.toml"
    file.write_text(WITHOUT_POLICY)
    code, out, _ = outcome(capsys, str(file), "--quiet", "--timeout", "0.01")
    assert code == 3
    assert "certificate  none: no set was found: the time is over" in out


def test_sketches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("surefoot.shields.linear_controllers.WEIGHTS", (1.0,))
    told = tmp_path / "told.json"
    sketch = ("--rule", "eta, omega, eta^3", "--invariant", "1, eta^2, eta*omega, omega^2")
    code, out, _ = outcome(capsys, "pendulum/within-90-degrees", *sketch, "--json", str(told))
    assert code == 0
    assert "* eta * eta * eta, -15), 15)" in out
    facts = json.loads(told.read_text())
    assert facts["rule sketch"] == "eta, omega, eta^3"
    assert facts["invariant sketch"] == "1, eta^2, eta*omega, omega^2"
    assert judge_certificate(facts["certificate"]).accepted


def test_a_sketch_that_is_too_poor_proves_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {
        "synthesis.CANDIDATES": 1,
        "synthesis.SMALLEST": 1,
        "linear_controllers.ROUNDS": 1,
    }.items():
        monkeypatch.setattr(f"surefoot.shields.{name}", value)
    monkeypatch.setattr("surefoot.shields.linear_controllers.WEIGHTS", (1.0,))
    code, out, _ = outcome(capsys, "pendulum/within-90-degrees", "--invariant", "1, eta^2")
    assert code == 3
    assert "covered      0.00 %" in out
    assert "none is found with the given monomials" in out


def test_an_interruption_keeps_what_there_is(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(synthesis, "_find_rule", interrupted)
    target, page = tmp_path / "proof.json", tmp_path / "page.html"
    files = ("--certificate", str(target), "--report", str(page))
    code, out, err = outcome(capsys, "pendulum/within-90-degrees", *files)
    assert code == 130
    assert "No closed set was found." in page.read_text("utf-8")
    assert "covered      0.00 %" in out
    assert "certificate  none: no set was found: it was interrupted" in out
    assert "interrupted: this is what was found before" in out
    assert not target.exists()
    assert "not written" in err


def test_actions_of_a_finite_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    guard, proof, told = tmp_path / "guard.py", tmp_path / "proof.json", tmp_path / "told.json"
    files = ["--python", str(guard), "--c", str(tmp_path / "guard"), "--certificate", str(proof)]
    page = tmp_path / "page.html"
    assert run_command_line(["shield", "racetrack/never-crashes", "--quiet", "--report", str(page)]) == 2
    assert "pictures are of sets in real variables" in capsys.readouterr().err
    assert (
        run_command_line(["shield", "racetrack/never-crashes", "--quiet", *files, "--json", str(told)]) == 0
    )
    out, _ = capsys.readouterr()
    assert "anybody      never bad, proved" in out
    assert "3 of 3 kept safe with probability 1" in out
    assert judge_certificate(json.loads(proof.read_text())).accepted
    facts = json.loads(told.read_text())
    assert facts["certified"] is True
    assert facts["certified about"].startswith("never ")
    assert facts["interrupted"] is False
    assert len(facts["tree"]["column"]) == len(facts["tree"]["limit"])
    assert run_command_line(["certify", str(told)]) == 2
    assert "give what `surefoot shield --certificate FILE` wrote" in capsys.readouterr().err
    assert "action_masks" in guard.read_text()
    assert run_command_line(["shield", "racetrack/never-crashes", "--quiet", "--bound", "2"]) == 2
    assert "`2` is not a number above 0 and up to 1" in capsys.readouterr().err


def test_what_is_certified_of_a_bound_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    code = run_command_line(["shield", "racetrack/never-crashes", "--quiet", "--bound", "0.5", "--json", "-"])
    facts = json.loads(capsys.readouterr().out)
    assert code == (0 if facts["certified"] and facts["kept by anybody"] else 3)
    about = "the probability in `anybody`" if facts["certified"] else "nothing"
    assert facts["certified about"].startswith(about)
    assert "bad with probability" in facts["anybody"]
    assert "not certified" in facts["promise"]


@pytest.mark.parametrize("when", ["shield", "anybody", "policy"])
def test_an_interrupted_shield_of_actions(
    when: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before there is a shield there is no part of it; later what was proved stays."""
    asked, first = finite_shield.verify, []

    def interrupted(*given: Any, **named: Any) -> Any:
        if when != "policy" or named.get("certificates") is False:
            raise KeyboardInterrupt
        first.append(given)
        return asked(*given, **named)

    monkeypatch.setattr(finite_shield, "finite_shield" if when == "shield" else "verify", interrupted)
    guard, told = tmp_path / "guard.py", tmp_path / "told.json"
    files = ["--python", str(guard), "--json", str(told)]
    code, out, err = outcome(capsys, "racetrack/never-crashes", "--quiet", *files)
    facts = json.loads(told.read_text())
    assert code == 130
    assert facts["interrupted"] is True
    assert facts["certified"] is guard.exists() is (when == "policy")
    if when == "shield":
        assert "there is no shield of a part" in err
        assert "there is no shield of a part" in facts["reason"]
    if when == "anybody":
        assert "anybody      not asked" in out
        assert "interrupted: nothing of it is proved" in out
    if when == "policy":
        assert len(first) == 1
        assert "interrupted: the shield is whole" in out
        assert facts["policy"] is None


def test_an_interrupted_picture_is_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(api, "synthesis_scene", interrupted)
    made: Any = SimpleNamespace(problem=SimpleNamespace(name="x"))
    page = tmp_path / "page.html"
    assert write_shield_page(made, str(page), Budget(60.0), 1.0, quiet=True) is None
    assert not page.exists()
    assert "(interrupted)" in capsys.readouterr().err


def test_what_is_not_kept_safe_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "counter.toml"
    file.write_text(
        """initial = "x >= 3"
variables = { x = "int 0..9" }
edges = [
  { action = "up", guard = "x < 9", updates = { x = "x + 1" } },
  { action = "down", guard = "x > 0", updates = { x = "x - 1" } },
]
properties = { low = "never x > 8", nothing = "never false" }
"""
    )
    code, out, _ = outcome(capsys, str(file), "--property", "low", "--quiet")
    assert code == 3
    assert "starts       6 of 7 kept safe" in out
    assert "anybody      violated: bad from a start that is not kept safe\n" in out
    code, out, _ = outcome(capsys, str(file), "--property", "nothing", "--quiet")
    assert "anybody      vacuous: the condition of the property is false in every state\n" in out
    assert code == 3


def test_a_system_without_controls_has_no_shield(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "damped.toml"
    file.write_text(WITHOUT_POLICY.replace('controls = { u = "[-2, 2]" }\n', "").replace("u + ", ""))
    code, out, _ = outcome(capsys, str(file), "--degree", "2", "--quiet")
    assert code == 0
    assert "shield       none: there are no controls\n" in out
    code, out, error = outcome(capsys, str(file), "--python", str(tmp_path / "guard.py"))
    assert (code, out) == (2, "")
    assert "error: --python: there are no controls that a shield could set; fix: leave it out" in error
