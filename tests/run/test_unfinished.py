"""A search that ended is an answer, whatever its check would take; what is missing can be done later."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.certify.test_replay import counter

from surefoot.certify import evidence
from surefoot.certify.checker_process import NOT_IN_TIME, CheckerAnswer
from surefoot.cli import run_command_line
from surefoot.engines.bmc import Bmc
from surefoot.engines.explicit import Explicit
from surefoot.engines.induction import Induction
from surefoot.engines.predicates import Predicates
from surefoot.engines.protocol import Engine
from surefoot.formats.result_json import result_from_json, result_to_json
from surefoot.problem.property import Never
from surefoot.run import verify
from surefoot.search.stored_result import judge_certificate_content
from surefoot.term.term import Var
from surefoot.verdict.exit_code import exit_code
from surefoot.verdict.verdict import Holds, Result
from surefoot.work.budget import Budget
from surefoot_checker.check import judge_certificate
from surefoot_checker.kernel.strict_json import BadCertificate

X = Var("x")
ENGINES: list[Engine] = [
    Induction(),
    Bmc(depth=9),
    Predicates(means="table"),
    Predicates(means="cells"),
    Explicit(),
]


def late_answer(monkeypatch: pytest.MonkeyPatch, engine: Engine, *, prove: bool) -> Result:
    """What is answered where proving, or checking, takes longer than there is time."""
    with monkeypatch.context() as patched:
        if prove:
            patched.setattr(evidence, "_certify_runs", lambda *_, **__: "time was up after 1 obligations")
        patched.setattr(evidence, "ask_checker", lambda *_: CheckerAnswer(False, NOT_IN_TIME))
        return verify(counter(Never(X >= 6)), engine, Budget(60))


@pytest.mark.parametrize("prove", [True, False])
@pytest.mark.parametrize("engine", ENGINES, ids=lambda e: f"{e.name}-{getattr(e, 'means', '')}")
def test_what_holds_is_told_and_finished_later(
    monkeypatch: pytest.MonkeyPatch, engine: Engine, prove: bool
) -> None:
    """Of every kind of argument; the file has everything in it."""
    result = late_answer(monkeypatch, engine, prove=prove)
    assert isinstance(result.verdict, Holds)
    assert result.verdict.as_asked
    assert exit_code(result) == 3  # nobody else has checked it
    assert not result.certified
    assert any(note.startswith("not certified: ") for note in result.notes)
    assert result.unchecked is not None
    written = json.loads(json.dumps(result.unchecked.content))
    kept: list[Any] = []
    word, why = judge_certificate_content(written, Path("/"), keep=kept.append)
    assert word == "accepted", why
    (finished,) = kept
    assert judge_certificate(json.loads(json.dumps(finished))).accepted


def test_an_unfinished_certificate_proves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    result = late_answer(monkeypatch, Induction(), prove=True)
    assert result.unchecked is not None
    assert "unfinished" in result.unchecked.content
    with pytest.raises(BadCertificate, match="unfinished"):
        judge_certificate(result.unchecked.content)


def test_a_false_claim_is_not_finished(monkeypatch: pytest.MonkeyPatch) -> None:
    """The claim says that 4 is never reached, which it is."""
    result = late_answer(monkeypatch, Induction(), prove=True)
    assert result.unchecked is not None
    content = json.loads(json.dumps(result.unchecked.content).replace('["<=", 6, "x"]', '["<=", 4, "x"]'))
    said = content["claim"]["problem"]["property"]["condition"]
    other = json.loads(json.dumps(result.unchecked.content["claim"]))["problem"]["property"]["condition"]
    content["claim"]["problem"]["property"]["condition"] = _with_number(said, 6, 4)
    assert content["claim"]["problem"]["property"]["condition"] != other
    word, why = judge_certificate_content(content, Path("/"))
    assert word != "accepted", why


def _with_number(term: Any, old: int, new: int) -> Any:
    if isinstance(term, list):
        return [_with_number(part, old, new) for part in term]
    return new if term in (old, str(old)) else term


@pytest.mark.parametrize("damage", ["unfinished", "problem"])
def test_a_damaged_file_is_not_certified(monkeypatch: pytest.MonkeyPatch, damage: str) -> None:
    result = late_answer(monkeypatch, Induction(), prove=True)
    assert result.unchecked is not None
    content = json.loads(json.dumps(result.unchecked.content))
    if damage == "unfinished":
        content["unfinished"] = {"kind": "told"}
    else:
        content["claim"]["problem"] = []
    assert judge_certificate_content(content, Path("/"))[0] == "not certified"


def test_json_keeps_what_was_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    result = late_answer(monkeypatch, Explicit(), prove=False)
    data = json.loads(json.dumps(result_to_json(result)))
    read = result_from_json(data).result
    assert read.unchecked is not None
    assert result.unchecked is not None
    assert read.unchecked.content == json.loads(json.dumps(result.unchecked.content))


def test_certify_finishes_what_check_has_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By way of the files: the certificate alone, and the whole result; elsewhere, with files that moved."""
    model = tmp_path / "walk.prism"
    model.write_text(
        "dtmc\nmodule m\n x:[0..5] init 0;\n [] x<5 -> 0.5:(x'=x+1) + 0.5:(x'=0);\nendmodule\n",
        encoding="utf-8",
    )
    proof, whole = tmp_path / "p.json", tmp_path / "r.json"
    for question in ("never x > 5", "P=? [ F x=5 ]"):
        with monkeypatch.context() as patched:
            patched.setattr(evidence, "ask_checker", lambda *_: CheckerAnswer(False, NOT_IN_TIME))
            command = ["check", str(model), "--property", question, "--engine", "explicit"]
            run_command_line([*command, "--certificate", str(proof), "--json", str(whole), "--timeout", "60"])
        told = capsys.readouterr()
        assert "not certified" in told.out
        assert "surefoot certify" in told.err
        finished = tmp_path / "f.json"
        assert run_command_line(["certify", str(proof), "--certificate", str(finished)]) == 0
        assert run_command_line(["certify", str(whole)]) == 0
        assert judge_certificate(json.loads(finished.read_text(encoding="utf-8"))).accepted
        capsys.readouterr()


def test_without_certificates_the_answer_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "walk.prism"
    model.write_text(
        "dtmc\nmodule m\n x:[0..5] init 0;\n [] x<5 -> 0.5:(x'=x+1) + 0.5:(x'=0);\nendmodule\n",
        encoding="utf-8",
    )
    for question, code in (("never x > 5", 3), ("P=? [ F x=5 ]", 0)):
        assert run_command_line(["check", str(model), "--property", question, "--no-certificate"]) == code
        assert "not certified: no other code" in capsys.readouterr().out
