"""`surefoot invariant`, and its use in `surefoot check`: text, JSON, picture, exit codes, bad use."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tests.cli.conftest import Command
from tests.report.test_page import Balanced

from surefoot.problem.problem import Problem
from surefoot.run import verify
from surefoot.verdict.verdict import Reason, Result, Unknown

COUNTER = """
name = "counter"
initial = "n = 0"
[variables]
n = "int 0..9"
[[edges]]
action = "up"
guard = "n < 9"
chosen = { by = "int 0..2" }
updates = { n = "min(n + by, 4)" }
[policy.program]
branches = [{ action = "up" }]
[properties]
low = "never n > 6"
"""


@pytest.fixture
def counter(tmp_path: Path) -> Path:
    model = tmp_path / "counter.toml"
    model.write_text(COUNTER)
    return model


@pytest.fixture
def stored(toy: Path, command: Command, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A tipping point whose proof is certified, as it is stored."""
    result = toy.with_name("stored.json")
    asked = ("--property", "never output[0] >= 13 at the start", "--tighten", "output[0]<=")
    more = ("--between", "-62", "2", "--precision", "32", "--solver", "native", "--json", result, "--quiet")
    command("invariant", toy, *asked, *more)
    data: dict[str, Any] = json.loads(result.read_text())
    assert data["certified"] is True
    return data


def test_the_bound_of_an_output_is_found_drawn_and_written(toy: Path, command: Command) -> None:
    result, picture = toy.with_name("result.json"), toy.with_name("search.svg")
    asked = ("--property", "never output[0] >= 13 at the start", "--tighten", "output[0]<=")
    more = ("--between", "-62", "2", "--precision", "0.5", "--json", result, "--plot", picture, "--quiet")
    code, out, _ = command("invariant", toy, *asked, *more)
    assert code == 0
    first, *lines = out.splitlines()
    assert first.startswith("found output[0] <= ")
    assert any(line.startswith("  proved    at ") for line in lines)
    assert any("trace replayed step by step" in line for line in lines if line.startswith("  refuted   at "))
    data = json.loads(result.read_text())
    found = data["verdict"]["artifact"]
    assert data["verdict"]["kind"] == "found"
    assert (found["kind"], found["reached"], found["precision"]) == ("tipping point", True, "0.5")
    assert 0 < float(found["proved"]["value"]) - float(found["refuted"]["value"]) <= 0.5
    assert found["refuted"]["verdict"]["trace"]["states"]
    assert found["condition"] == found["statement"]
    assert {t["answer"] for t in found["trials"]} >= {"proved", "refuted"}
    root = ElementTree.fromstring(picture.read_text())
    marks = [e for e in root.iter() if e.tag.endswith("title")]
    assert len(marks) == len(found["trials"])


@pytest.mark.parametrize(
    ("edit", "word"),
    [
        (lambda d: None, "accepted"),
        (lambda d: d["artifact"].update(statement="output[0] <= -50"), "rejected"),
        (lambda d: d["artifact"].update(condition="output[0] <= -50"), "rejected"),
        (lambda d: d["artifact"].update(precision="1/8"), "rejected"),
        (lambda d: d["artifact"]["proved"].update(value="-50"), "rejected"),
        (lambda d: d["artifact"]["refuted"].update(value="50"), "rejected"),
        (lambda d: d["artifact"]["refuted"]["verdict"]["trace"]["states"][0].update(x1="5"), "rejected"),
        (lambda d: d["artifact"].pop("proved"), "rejected"),
        (lambda d: d["artifact"]["refuted"].update(verdict={"kind": "vacuous", "why": ""}), "rejected"),
        (lambda d: d["certificate"]["content"]["claim"]["problem"].update(name="other"), "rejected"),
        (lambda d: d.update(certificate=None), "not certified"),
        (lambda d: d["artifact"].update(kind="something"), "not certified"),
    ],
)
def test_the_evidence_of_a_search_is_checked_again(
    edit: Callable[[Any], None], word: str, toy: Path, command: Command, stored: dict[str, Any]
) -> None:
    data = deepcopy(stored)
    edit(data["verdict"])
    result = toy.with_name("result.json")
    result.write_text(json.dumps(data))
    code, out, _ = command("certify", result)
    assert out.startswith(f"{word}: toy/"), out
    assert code == {"accepted": 0, "rejected": 1, "not certified": 3}[word]


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"property": "never output[0] > 1 at the start"}, "states another property"),
        ({"statement": ["Asked: nothing."]}, "states something else"),
        ({"arithmetic": "environment exact"}, "another arithmetic"),
    ],
)
def test_the_words_of_a_search_are_those_of_its_files(
    said: dict[str, Any], why: str, toy: Path, command: Command, stored: dict[str, Any]
) -> None:
    result = toy.with_name("result.json")
    assert said.keys() <= stored.keys()
    result.write_text(json.dumps(stored | said))
    code, out, _ = command("certify", result)
    assert (code, why in out) == (1, True), out


def test_the_words_of_an_invariant_are_those_of_its_files(counter: Path, command: Command) -> None:
    result = counter.with_name("invariant.json")
    asked = ("--inductive", "n<=", "0", "9", "--precision", "1", "--json", result, "--quiet")
    assert command("invariant", counter, *asked)[0] == 0
    assert command("certify", result)[0] == 0
    data = json.loads(result.read_text())
    for said in ({"property": "never n > 5"}, {"statement": ["Found."]}, {"arithmetic": "network float32"}):
        result.write_text(json.dumps(data | said))
        assert command("certify", result)[0] == 1


def test_the_evidence_of_a_search_is_about_its_problem(
    toy: Path, command: Command, stored: dict[str, Any]
) -> None:
    result = toy.with_name("result.json")
    result.write_text(json.dumps(stored | {"problem": "toy/another"}))
    code, out, _ = command("certify", result)
    assert (code, "the files describe problem `toy/" in out) == (1, True)


def test_an_invariant_is_found_and_assumed_in_a_later_proof(counter: Path, command: Command) -> None:
    result = counter.with_name("invariant.json")
    code, out, _ = command("invariant", counter, "--inductive", "n<=", "0", "9", "--precision", "1",
                           "--json", result, "--quiet")  # fmt: skip
    assert code == 0
    assert out.startswith("found the invariant n <= ")
    assert "  checked   no step leads out (" in out
    code, out, _ = command("check", counter, "--assume-invariant", result, "--quiet")
    assert out.startswith("proved (by induction with k = ")
    assert "with an invariant that was proved first): never n > 6" in out
    assert "with the invariant n <= " in out
    assert code == 0
    data = json.loads(result.read_text())
    data["verdict"]["artifact"]["condition"] = "n <= 3"
    result.write_text(json.dumps(data))
    code, _, err = command("check", counter, "--assume-invariant", result, "--quiet")
    assert code == 2
    assert "the assumed invariant is wrong" in err
    data["verdict"]["artifact"]["condition"] = "n <="
    result.write_text(json.dumps(data))
    assert command("check", counter, "--assume-invariant", result)[0] == 2
    result.write_text("{}")
    assert command("check", counter, "--assume-invariant", result)[0] == 2
    result.write_text("nothing")
    assert command("check", counter, "--assume-invariant", result)[0] == 2


def test_a_range_in_which_the_property_fails_everywhere(counter: Path, command: Command) -> None:
    failing = ("--property", "never n >= 0", "--tighten", "n<=", "--between", "3", "9", "--precision", "1")
    result = counter.with_name("result.json")
    code, out, _ = command("invariant", counter, *failing, "--json", result, "--quiet")
    assert code == 1
    assert out.startswith("violated after 0 steps")
    accepted = "accepted: counter/property: the trace replays exactly\n"
    assert command("certify", result)[:2] == (0, accepted)
    data = json.loads(result.read_text())
    assert (data["source"]["tighten"], data["source"]["at"]) == ("n<=", "3")
    data["source"]["at"] = "-1"
    result.write_text(json.dumps(data))
    assert command("certify", result)[0] in (1, 2)  # nothing is left of the problem there
    code, out, _ = command("invariant", counter, "--tighten", "n>=", "--between", "3", "9", "--quiet")
    assert code == 3
    assert out.startswith("vacuous")


def test_fewer_inputs_on_the_command_line(toy: Path, command: Command) -> None:
    asked = ("--property", "never output[0] >= 60 at the start", "--quiet")
    code, out, _ = command("check", toy, *asked, "--abstract", "keep=x1")
    assert code == 0
    assert out.splitlines()[0] == "proved (with 1 input free): never output[0] >= 60 at the start"
    assert "depends only on: x1" in out
    code, out, _ = command("check", toy, *asked, "--abstract", "auto")
    assert "depends only on: nothing" in out
    assert command("check", toy, *asked, "--abstract", "free=x3")[0] == 2


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ((), "what should move?"),
        (("--tighten", "n<=", "--inductive", "n<=", "0", "9"), "what should move?"),
        (("--tighten", "n<="), "where should the bound move?"),
        (("--tighten", "n<=", "--between", "0", "x"), "`x` is not a number"),
        (("--tighten", "n<=", "--between", "5", "2"), "not below"),
        (("--tighten", "m<=", "--between", "0", "9"), "`m`"),
        (("--tighten", "n<=", "--between", "0", "9", "--precision", "0"), "not positive"),
        (("--tighten", "n<=", "--between", "0", "9", "--json", "nowhere/x.json"), "does not exist"),
        (("--tighten", "n<=", "--between", "0", "9", "--plot", "nowhere/x.svg"), "does not exist"),
    ],
)
def test_bad_use_is_one_line(options: tuple[str, ...], why: str, counter: Path, command: Command) -> None:
    code, out, err = command("invariant", counter, *options, "--quiet")
    assert (code, out) == (2, "")
    assert why in err
    assert err.count("\n") == 1


def test_studies_can_be_named(command: Command) -> None:
    asked = ("--tighten", "output[0]<=", "--between", "0", "32", "--precision", "5", "--quiet")
    code, out, _ = command("invariant", "toy/always-positive", *asked)
    assert code == 0
    assert out.startswith("found output[0] <= ")
    assert "toy has no problem" in command("invariant", "toy/nothing", *asked)[2].replace("`", "")
    assert "needs a network" in command("invariant", "aurora/safety-excellent", *asked)[2]
    assert "has its own policy" in command("invariant", "toy/always-positive", "--policy", "x", *asked)[2]
    assert "no parameter" in command("invariant", "toy/always-positive", "--const", "e=1", *asked)[2]


def test_an_interrupt_writes_what_is_known(
    counter: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def interrupted(problem: Problem, *given: Any, **named: Any) -> Result:
        asked.append(problem)
        if len(asked) == 3:
            raise KeyboardInterrupt
        return verify(problem, *given, **named)

    monkeypatch.setattr("surefoot.search.verify", interrupted)
    result = counter.with_name("result.json")
    moving = ("--property", "never n > 3", "--tighten", "n<=", "--between", "1", "9", "--precision", "1")
    code, out, _ = command("invariant", counter, *moving, "--json", result, "--quiet")
    assert code == 130
    assert "gap       wider than 1: interrupted by the user" in out
    found = json.loads(result.read_text())["verdict"]["artifact"]
    assert (found["proved"]["value"], found["refuted"]["value"]) == ("1", "9")
    assert (found["reached"], len(found["trials"])) == (False, 2)


def test_an_interrupt_while_the_proof_is_certified_keeps_the_ends(
    counter: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(problem: Problem, *given: Any, certificates: bool = True, **named: Any) -> Result:
        found = verify(problem, *given, certificates=certificates, **named)
        stopped = Unknown(Reason.INTERRUPTED, "stopped")
        return replace(found, verdict=stopped, certified=False) if certificates else found

    monkeypatch.setattr("surefoot.search.verify", interrupted)
    moving = ("--property", "never n > 3", "--tighten", "n<=", "--between", "1", "9", "--precision", "1")
    code, out, _ = command("invariant", counter, *moving, "--quiet")
    assert code == 130
    assert "interrupted by the user" in out
    assert "no certificate" in out


@pytest.mark.parametrize("place", [1, 2, 5, 12, 13, 14])
def test_an_inductive_search_can_be_interrupted_at_every_question(
    place: int, counter: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also at the first, when nothing is known, and while the invariant is confirmed."""
    asked = []

    def interrupted(problem: Problem, *given: Any, **named: Any) -> Result:
        asked.append(problem)
        found = verify(problem, *given, **named)
        stopped = Unknown(Reason.INTERRUPTED, "stopped")
        return replace(found, verdict=stopped) if len(asked) >= place else found

    monkeypatch.setattr("surefoot.search.verify", interrupted)
    inductive = ("--inductive", "n<=", "0", "9", "--precision", "1", "--quiet")
    code, out, err = command("invariant", counter, *inductive)
    assert len(asked) == place
    assert (code, err) == (130, "")
    assert out.startswith("unknown (interrupted)")


def test_an_inductive_search_without_time_says_so(counter: Path, command: Command) -> None:
    code, out, _ = command(
        "invariant", counter, "--inductive", "n<=", "0", "9", "--timeout", "0.000001", "--quiet"
    )
    assert code == 3
    assert out.startswith("unknown (timeout)")


def test_an_interrupt_of_an_inductive_search_says_what_was_tried(
    counter: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def interrupted(problem: Problem, *given: Any, **named: Any) -> Result:
        asked.append(problem)
        if len(asked) == 9:
            raise KeyboardInterrupt
        return verify(problem, *given, **named)

    monkeypatch.setattr("surefoot.search.verify", interrupted)
    inductive = ("--inductive", "n<=", "0", "9", "--precision", "1", "--quiet")
    code, out, _ = command("invariant", counter, *inductive)
    assert code == 130
    assert out.startswith("unknown (interrupted)")
    assert "tried n <= 0: a step leaves it: weakened" in out


def test_a_signal_gives_the_partial_result(counter: Path) -> None:
    """As a terminal sends it, to the process and its children, in the middle of many questions."""
    result, report, queries = (counter.with_name(n) for n in ("result.json", "out.html", "queries"))
    moving = ("--property", "never n > 3", "--tighten", "n<=", "--between", "1", "9", "--probe", "1000")
    more = ("--precision", "1/100000", "--timeout", "300", "--dump-queries", queries)
    written = ("--json", result, "--report", report)
    arguments = [str(a) for a in ("invariant", counter, *moving, *more, *written)]
    process = subprocess.Popen(
        [sys.executable, "-m", "surefoot", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while len(list(queries.glob("*"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "interrupted by the user" in out
    verdict = json.loads(result.read_text())["verdict"]
    assert verdict.get("reason") == "interrupted" or verdict["artifact"]["reached"] is False
    assert "interrupted by the user" in report.read_text()


def test_the_report_shows_every_question(counter: Path, command: Command) -> None:
    report = counter.with_name("out.html")
    moving = ("--property", "never n > 3", "--tighten", "n<=", "--between", "1", "9", "--precision", "1")
    code, out, _ = command("invariant", counter, *moving, "--report", report, "--quiet")
    assert code == 0
    text = report.read_text()
    reader = Balanced()
    reader.feed(text)
    assert reader.open == []
    bound = out.splitlines()[0].removeprefix("found ").partition(":")[0]
    assert f"Proved with {escape(bound)}: certificate accepted by the independent checker." in text
    assert "Violated with n &lt;= " in text
    assert "The tipping point lies between" in text
    marks = re.search(r'role="img".*?</svg>', text, re.DOTALL)
    assert marks is not None
    rows = text.count("<tr>") - 1
    assert marks.group().count("<title>") == rows > 3
    inductive = ("--inductive", "n<=", "0", "9", "--precision", "1", "--report", report, "--quiet")
    assert command("invariant", counter, *inductive)[0] == 0
    text = report.read_text()
    assert "No run leaves <code>n &lt;= 4</code>" in text
    assert "Each of these rests on a certificate that the checker accepts." in text
    assert "a step leaves it: weakened" in text


def test_the_timeout_keeps_the_interval_that_is_known(counter: Path, command: Command) -> None:
    moving = ("--property", "never n > 3", "--tighten", "n<=", "--between", "1", "9", "--precision", "1")
    code, out, _ = command("invariant", counter, *moving, "--timeout", "0.000001", "--quiet")
    assert code == 3
    assert out.startswith("unknown (timeout)")


def test_an_invariant_proved_by_visiting_all_states_is_no_aid_of_a_certificate(
    counter: Path, command: Command
) -> None:
    result = counter.with_name("invariant.json")
    command("invariant", counter, "--inductive", "n<=", "0", "9", "--precision", "1", "--json", result)
    _, out, _ = command("check", counter, "--assume-invariant", result, "--engine", "explicit", "--quiet")
    assert out.startswith("holds (with an invariant that was proved first: n <= 4; ")
    assert "not certified: the assumed invariant has no certificate about runs" in out
