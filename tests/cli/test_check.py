"""`surefoot check` and `surefoot certify` on the toy problem: verdicts, JSON, exit codes, bad use."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.interrupts import processor_seconds
from tests.cli.conftest import Command

from surefoot.formats.model_file import file_sha256

HARD = """
name = "hard"
initial = "true"
[variables]
x1 = "real [-1, 1]"
x2 = "real [-1, 1]"
[controls]
y = ""
[[edges]]
chosen = { a = "real [-1, 1]", b = "real [-1, 1]" }
assuming = "a <= x1 + 1/2 and b <= x2 + 1/2 and a + b >= x1 + x2 - 1/8 and a - b <= y"
updates = { x1 = "a", x2 = "b" }
[policy]
file = "toy.onnx"
observe = ["x1", "x2"]
choose = "value"
[properties]
safe = "never output[0] >= 12.5"
"""


def test_a_violation_is_replayed_written_and_certified(toy: Path, command: Command) -> None:
    result = toy.with_name("result.json")
    code, out, _ = command(
        "check", toy, "--property", "below_ten", "--engine", "bmc", "--json", result, "--quiet"
    )
    assert code == 1
    assert out.startswith("violated after 2 steps: never output[0] >= 10\n")
    assert "replayed step by step with zero tolerance" in out
    data = json.loads(result.read_text())
    assert data["schema"] == 1
    assert data["verdict"]["kind"] == "violated"
    assert data["certified"] is True
    assert set(data["inputs"]) == {"toy.toml", "toy.onnx"}  # seen from the folder of the result
    assert command("certify", result)[:2] == (0, "accepted: toy/below_ten: the trace replays exactly\n")


def test_a_changed_trace_or_file_is_rejected(toy: Path, command: Command) -> None:
    result = toy.with_name("result.json")
    command("check", toy, "--property", "below_ten", "--engine", "bmc", "--json", result, "--quiet")
    data = json.loads(result.read_text())
    data["verdict"]["trace"]["states"][1]["x1"] = "0"
    changed = toy.with_name("changed.json")
    changed.write_text(json.dumps(data))
    code, out, _ = command("certify", changed)
    assert code == 1
    assert out.startswith("rejected: toy/below_ten: ")
    toy.write_text(toy.read_text() + "\n# another file\n")
    code, out, _ = command("certify", result)
    assert code == 1
    assert "is not the file that the verdict is about" in out


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda d: d["inputs"].clear(), "does not say which"),
        (lambda d: d["verdict"]["trace"].update(loop=0), "loop"),
        (lambda d: d["verdict"]["trace"]["states"][0].update(q="1"), "lacks or does not know `q`"),
        (lambda d: d["verdict"]["trace"]["moves"][0]["edges"].append([5, 5]), "is not permitted here"),
        (lambda d: d["verdict"]["trace"]["moves"][0]["outcomes"].append(0), "probability 0"),
    ],
)
def test_an_edited_result_is_rejected(
    edit: Callable[[Any], None], why: str, toy: Path, command: Command
) -> None:
    result = toy.with_name("result.json")
    command("check", toy, "--property", "below_ten", "--engine", "bmc", "--json", result, "--quiet")
    data = json.loads(result.read_text())
    edit(data)
    result.write_text(json.dumps(data))
    code, out, err = command("certify", result)
    assert (code, err) == (1, "")
    assert out.startswith("rejected: toy/below_ten: ")
    assert why in out


def test_a_missing_file_is_not_a_refutation(toy: Path, command: Command) -> None:
    result = toy.with_name("result.json")
    command("check", toy, "--property", "below_ten", "--engine", "bmc", "--json", result, "--quiet")
    toy.with_name("toy.onnx").unlink()
    code, _, err = command("certify", result)
    assert code == 2
    assert "`toy.onnx`, which is not in " in err


def test_several_properties_may_be_named(toy: Path, command: Command) -> None:
    names = ("--property", "below_thirteen", "--property", "below_ten")
    code, out, _ = command("check", toy, *names, "--quiet")
    assert code == 1
    assert [line.split(":")[0] for line in out.splitlines() if line[0] != " "] == [
        "proved",
        "violated after 2 steps",
    ]


def test_a_property_without_engine_does_not_stop_the_others(toy: Path, command: Command) -> None:
    names = ("--property", "P=? [ F x1 > 0 ]", "--property", "below_ten")
    code, out, _ = command("check", toy, *names, "--quiet")
    assert code == 1
    assert out.startswith("unknown (incomplete method): P=?")
    assert command("check", toy, "--property", "P=? [ F x1 > 0 ]", "--engine", "bmc")[0] == 2


def test_an_update_out_of_range_is_named(tmp_path: Path, command: Command) -> None:
    model = tmp_path / "climb.toml"
    model.write_text(
        'name = "climb"\ninitial = "n = 0"\n[variables]\nn = "int 0..2"\n[[edges]]\naction = "up"\n'
        'updates = { n = "n + 1" }\n[policy.program]\nbranches = [{ action = "up" }]\n'
        '[properties]\nlow = "never n > 2"\n'
    )
    code, out, _ = command("check", model, "--quiet")
    assert code == 3
    assert "after 2 steps `n` becomes 3, outside its kind, in transition `up" in out
    assert "no violation up to 1 step" in out


OTHER_WORDS: tuple[tuple[dict[str, object], str], ...] = (
    ({"problem": "toy/below_ten"}, "the files describe problem `toy/below_thirteen`"),
    ({"property": "never output[0] >= 1"}, "another property than its files"),
    (
        {"statement": ["Proved: no run reaches `output[0] >= 1`."]},
        "something else than what its verdict says",
    ),
    ({"arithmetic": "any network, any environment"}, "another arithmetic"),
    ({"inputs": {}}, "the result does not say which"),
    ({"source": {"kind": "model", "model": "toy.toml", "constants": 5}}, "not told in words"),
)


def test_a_bounded_property_is_proved(toy: Path, command: Command) -> None:
    result, certificate = toy.with_name("result.json"), toy.with_name("certificate.json")
    written = ("--json", result, "--certificate", certificate)
    code, out, _ = command("check", toy, "--property", "below_thirteen", *written, "--quiet")
    assert code == 0
    assert out.startswith("proved: never output[0] >= 13 for 2 steps")
    for file in (result, certificate):
        code, out, _ = command("certify", file)
        assert code == 0
        assert (
            "every run of the problem `toy/below_thirteen` keeps its property: never in states 0 to 2" in out
        )
    stored = json.loads(result.read_text())
    assert stored["verdict"]["certificate"]["content"]["claim"]["problem"]["policy"]["network"]["file"]
    for change, told in OTHER_WORDS:
        result.write_text(json.dumps(stored | change))
        code, out, err = command("certify", result)
        assert (code, told in out + err) == (2 if "source" in change else 1, True), change
    result.write_text(json.dumps(stored))
    toy.write_text(toy.read_text().replace("output[0] >= 13", "output[0] >= 12"))
    assert command("certify", result)[0] == 1  # the files are no longer those of the verdict
    stored["inputs"]["toy.toml"] = file_sha256(toy)
    result.write_text(json.dumps(stored))
    code, out, _ = command("certify", result)
    assert code == 1
    assert "about another problem" in out


def test_a_certificate_is_about_one_property(toy: Path, command: Command) -> None:
    code, _, err = command("check", toy, "--certificate", toy.with_name("c.json"), "--quiet")
    assert code == 2
    assert "a certificate is about one property; fix: name one with --property" in err


def test_parts_of_the_wiring_can_be_given_alone(toy: Path, command: Command) -> None:
    result = toy.with_name("result.json")
    toy.write_text(toy.read_text().replace('choose = "value"', 'choose = "argmax"\nactions = ["up"]'))
    asked = ("check", toy, "--property", "below_ten", "--json", result, "--quiet")
    assert command(*asked)[0] == 2
    assert command(*asked, "--choose", "value")[0] == 1
    assert command("certify", result)[0] == 0


def test_a_loop_is_replayed_written_and_certified(tmp_path: Path, command: Command) -> None:
    model = Path(__file__).parents[1] / "golden" / "lasso" / "crossing.toml"
    result = tmp_path / "result.json"
    code, out, _ = command("check", model, "--property", "drains", "--json", result, "--quiet")
    assert code == 1
    assert "returns to state 1" in out
    stored = json.loads(result.read_text())
    assert stored["verdict"]["trace"]["loop"] == 1
    assert command("certify", result)[0] == 0
    for wrong in (0, None):
        stored["verdict"]["trace"]["loop"] = wrong
        result.write_text(json.dumps(stored))
        assert command("certify", result)[0] == 1


def test_a_depth_limit_is_only_a_part_of_the_answer(toy: Path, command: Command) -> None:
    code, out, _ = command("check", toy, "--property", "never output[0] >= 13", "--engine", "bmc",
        "--depth", 1, "--quiet")  # fmt: skip
    assert code == 3
    assert out.startswith("holds up to 1 step (not certified)")


def test_every_property_is_checked_and_the_worst_counts(toy: Path, command: Command) -> None:
    code, out, err = command("check", toy, "--json", "-", "--quiet")
    assert code == 1
    assert [r["verdict"]["kind"] for r in json.loads(out)["results"]] == ["violated", "proved"]
    assert err == ""


def test_solvers_agree(toy: Path, command: Command) -> None:
    for solver in ("milp", "z3"):
        code, out, _ = command("check", toy, "--property", "below_ten", "--solver", solver, "--quiet")
        assert (code, out[:22]) == (1, "violated after 2 steps")


def test_the_same_seed_gives_the_same_answer(toy: Path, command: Command) -> None:
    documents = []
    for _ in range(2):
        _, out, _ = command("check", toy, "--property", "below_ten", "--json", "-", "--quiet", "--seed", 3)
        data = json.loads(out)
        documents.append({k: v for k, v in data.items() if k not in ("seconds", "timings")})
    assert documents[0] == documents[1]
    assert documents[0]["seed"] == 3


def test_queries_are_dumped(toy: Path, command: Command) -> None:
    folder = toy.parent / "queries"
    command("check", toy, "--property", "below_ten", "--dump-queries", folder, "--quiet")
    assert sorted(folder.glob("*.smt2"))
    z3 = pytest.importorskip("z3")
    answers = []
    for file in sorted(folder.glob("*.smt2")):
        solver = z3.Solver()
        solver.from_file(str(file))
        answers.append(str(solver.check()))
    assert "sat" in answers
    assert "unsat" in answers


def test_a_python_model_runs_only_when_trusted(tmp_path: Path, command: Command) -> None:
    model = tmp_path / "model.py"
    sentinel = tmp_path / "ran"
    model.write_text(
        f"from pathlib import Path\nPath({str(sentinel)!r}).touch()\n"
        "from surefoot_studies.toy.problem import below_ten\nproblem = below_ten()\n"
    )
    code, _, err = command("check", model)
    assert (code, sentinel.exists()) == (2, False)
    assert err == (
        f"error: {model}: a Python model is code that would be run; fix: read it, then pass --trust-python\n"
    )
    assert command("check", model, "--trust-python", "--quiet")[0] == 1


@pytest.mark.parametrize(
    ("code", "line", "said"),
    [
        ("import math\nmath.sqrt('x')\n", 2, "TypeError: must be real number, not str"),
        ("x = 1 +\n", 1, "SyntaxError: invalid syntax"),
        ("\n\nraise SystemExit\n", 3, "SystemExit: no reason given"),
    ],
)
def test_an_error_of_a_python_model_is_told_with_its_line(
    code: str, line: int, said: str, command: Command, tmp_path: Path
) -> None:
    model = tmp_path / "model.py"
    model.write_text(code)
    status, _, err = command("check", model, "--trust-python")
    assert status == 2
    assert err.startswith(f"error: {model}, line {line}: the Python model ends with {said}")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "nothing.toml"], "nothing.toml: there is no such file; fix: check the path"),
        (["check", "."], ".: this is a folder, not a file; fix: name a file in it"),
        (["check", "TOY", "--engine", "bcm"], "--engine: there is no engine `bcm`; fix: did you mean `bmc`?"),
        (["check", "TOY", "--solver", "cplex"], "Invalid value for '--solver': 'cplex' is not one of"),
        (
            ["check", "TOY", "--const", "N"],
            "--const: `N` does not give a constant its value; fix: write --const N=16",
        ),
        (["check", "TOY", "--json", "TOY"], "is an input of this run; fix: choose another name"),
        (["check", "TOY", "--json", "no/such/folder.json"], "folder `no/such` does not exist"),
        (["check", "TOY", "--policy", "x.onnx"], "x.onnx: there is no such file; fix: check the path"),
        (["check", "TOY", "--actions", "a,b"], 'chooses by argmax; fix: use `choose = "value"`'),
        (["check", "TOY", "--choose", "valu"], "--choose: unknown way to choose `valu`; fix: did you mean"),
        (["check"], "Missing argument 'MODEL'"),
        (["frobnicate"], "No such command 'frobnicate'"),
        (["certify", "TOY"], "not a JSON document; fix: give a file that --json wrote"),
    ],
)
def test_bad_use_is_one_line_and_exit_2(
    arguments: list[str], message: str, toy: Path, command: Command, tmp_path: Path
) -> None:
    before = sorted(tmp_path.iterdir())
    code, out, err = command(*[str(toy) if a == "TOY" else a for a in arguments])
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err
    assert sorted(tmp_path.iterdir()) == before


def start(toy: Path, *more: str) -> subprocess.Popen[str]:
    model = toy.with_name("hard.toml")
    model.write_text(HARD)
    arguments = ["check", str(model), "--engine", "bmc", "--json", str(toy.with_name("r.json")), *more]
    command = [sys.executable, "-m", "surefoot", *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.fixture
def second() -> float:
    """As long as a start of the command takes at present: a second if the machine is idle, or more."""
    started = time.monotonic()
    subprocess.run([sys.executable, "-m", "surefoot", "engines"], check=False, capture_output=True)
    return max(1.0, time.monotonic() - started)


def test_a_timeout_is_kept_inside_a_solver_call(toy: Path, second: float) -> None:
    started = time.monotonic()
    process = start(toy, "--timeout", "4")
    out, _ = process.communicate(timeout=200)
    assert time.monotonic() - started < 4 + 2 + 3 * second  # two seconds late at most, and interpreters start
    assert process.returncode == 3
    assert out.startswith("unknown (timeout)")
    assert json.loads(toy.with_name("r.json").read_text())["verdict"]["reason"] == "timeout"


def test_an_interrupt_writes_the_partial_result(toy: Path, second: float) -> None:
    process = start(toy, "--timeout", "300")
    while process.poll() is None and processor_seconds(process.pid) < 4.0:  # then a solver is at work
        time.sleep(0.1)
    os.kill(process.pid, signal.SIGINT)
    started = time.monotonic()
    out, err = process.communicate(timeout=200)
    assert time.monotonic() - started < 4 * second
    assert process.returncode == 130
    assert out.startswith("unknown (interrupted)")
    assert "Traceback" not in err
    assert json.loads(toy.with_name("r.json").read_text())["verdict"]["reason"] == "interrupted"


def test_an_interrupt_before_anything_is_known_says_so(
    command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("surefoot.api.read_json", interrupted)
    code, out, err = command("certify", tmp_path / "result.json")
    assert (code, out, err.strip()) == (130, "", "interrupted: nothing was found yet")


def test_a_report_is_written(command: Command, toy: Path) -> None:
    target = toy.with_name("out.html")
    code, out, _ = command("check", toy, "--property", "below_ten", "--report", target, "--json", "-")
    assert code == 1
    said = json.loads(out)["statement"]
    text = target.read_text(encoding="utf-8")
    assert re.fullmatch(
        r"Violated: `output\[0\]` is 1\d\.\d* after \d steps; it must stay below 10\.", said[0]
    )
    plain = text.replace("<code>", "`").replace("</code>", "`")
    assert all(html.escape(sentence) in plain for sentence in said)
    assert command("check", toy, "--report", toy)[0] == 2


def test_division_by_zero_is_refused_at_once(command: Command, toy: Path) -> None:
    code, out, error = command("check", toy, "--property", "never output[0] > 1/0")
    assert (code, out) == (2, "")
    assert "divides by zero" in error


def test_inspect_shows_the_wiring(command: Command, toy: Path) -> None:
    code, out, _ = command("inspect", toy)
    assert code == 0
    assert "  observes: x1, x2\n  chooses: value\n" in out
    assert "main: 1 location, 2 edges" in out
