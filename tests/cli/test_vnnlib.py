"""`surefoot vnnlib`: proofs come with a certificate that other code accepts, and with nothing less."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Command
from tests.solvers.scripted import Scripted

import surefoot_checker
from surefoot.engines.bmc import Bmc
from surefoot.formats.model_file import file_sha256
from surefoot.formats.policy_file import load_policy
from surefoot.formats.vnnlib import problem_from_vnnlib, read_vnnlib_file
from surefoot.query.query import Proof, Query, QueryVariable, Sat, Unsat
from surefoot.run import verify
from surefoot.term.term import TRUE
from surefoot.term.value_types import Real
from surefoot.verdict.verdict import Unknown
from surefoot.work.budget import Budget

BOX = """
(declare-const X_0 Real) (declare-const X_1 Real) (declare-const Y_0 Real)
(assert (>= X_0 -1)) (assert (<= X_0 1)) (assert (>= X_1 {low})) (assert (<= X_1 {high}))
(assert (>= Y_0 {least}))
"""


def specification(folder: Path, least: str, low: str = "-1", high: str = "1") -> Path:
    path = folder / "spec.vnnlib"
    path.write_text(BOX.format(least=least, low=low, high=high))
    return path


def test_a_proof_is_certified_and_the_certificate_stands_alone(
    toy: Path, command: Command, tmp_path: Path
) -> None:
    network, spec = toy.with_name("toy.onnx"), specification(tmp_path, "13")
    certificate, result = tmp_path / "proof.json", tmp_path / "result.json"
    code, out, _ = command("vnnlib", network, spec, "--certificate", certificate, "--json", result, "--quiet")
    assert code == 0
    assert out.startswith("proved: ")
    assert "accepted by the independent checker" in out
    assert json.loads(result.read_text())["certified"] is True
    assert command("certify", result)[0] == 0
    assert command("certify", certificate)[0] == 0
    alone = tmp_path / "alone"
    shutil.copytree(Path(surefoot_checker.__file__).parent, alone)
    shown = subprocess.run(
        [sys.executable, "-S", "-E", str(alone), str(certificate)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert shown.stdout.startswith("accepted: ")


def test_a_certificate_is_about_its_files(toy: Path, command: Command, tmp_path: Path) -> None:
    network, spec = toy.with_name("toy.onnx"), specification(tmp_path, "13")
    result = tmp_path / "result.json"
    assert command("vnnlib", network, spec, "--json", result, "--quiet")[0] == 0
    specification(tmp_path, "10")
    code, out, _ = command("certify", result)
    assert code == 1
    assert out.startswith("rejected: ")
    data = json.loads(result.read_text())
    digest = file_sha256(spec)
    data["inputs"][str(spec)] = digest
    data["verdict"]["certificate"]["content"]["claim"]["property"]["sha256"] = digest
    result.write_text(json.dumps(data))
    code, out, _ = command("certify", result)  # every digest fits, but the claim is false
    assert code == 1
    assert out.startswith("rejected: ")


def test_a_certificate_is_about_the_output_and_arithmetic_of_its_result(
    toy: Path, command: Command, tmp_path: Path
) -> None:
    """Both certificates are sound; what they show is not what the result says."""
    network, spec = toy.with_name("toy.onnx"), specification(tmp_path, "13")
    result = tmp_path / "result.json"
    assert command("vnnlib", network, spec, "--json", result, "--quiet")[0] == 0
    data = json.loads(result.read_text())
    assert "arithmetic: float32" in command("certify", result)[1]
    content = data["verdict"]["certificate"]["content"]
    for part, value, word in ((content["claim"], "Y", "output"), (content, "real", "arithmetic")):
        kept = part[word]
        part[word] = value
        result.write_text(json.dumps(data))
        code, out, _ = command("certify", result)
        assert code == 1
        assert f"about another {word}" in out or f"about real {word}" in out
        part[word] = kept
    result.write_text(json.dumps(data))
    assert command("certify", result)[0] == 0


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"problem": "another.vnnlib"}, "the files describe problem `spec.vnnlib`"),
        ({"property": "never output[0] >= 10 at the start"}, "states another property"),
        ({"statement": ["Proved: no start satisfies `output[0] >= 10`."]}, "states something else"),
        ({"arithmetic": "network in exact real arithmetic, environment exact"}, "another arithmetic"),
    ],
)
def test_the_words_of_a_proof_are_those_of_its_files(
    said: dict[str, object], why: str, toy: Path, command: Command, tmp_path: Path
) -> None:
    result = tmp_path / "result.json"
    spec = specification(tmp_path, "13")
    assert command("vnnlib", toy.with_name("toy.onnx"), spec, "--json", result, "--quiet")[0] == 0
    data = json.loads(result.read_text())
    assert said.keys() <= data.keys()
    result.write_text(json.dumps(data | said))
    code, out, _ = command("certify", result)
    assert (code, why in out) == (1, True), out


def test_a_rejected_certificate_is_no_answer(
    toy: Path, command: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file that changes during the run, or a proof that is wrong: neither proved nor unsat."""
    network, spec = toy.with_name("toy.onnx"), specification(tmp_path, "13")
    monkeypatch.setattr("surefoot.search.vnnlib_question.file_sha256", lambda _: "0" * 64)
    code, out, _ = command("vnnlib", network, spec, "--quiet", "--solver", "native")
    assert code == 3
    assert "the checker rejects the certificate" in out
    code, out, _ = command("vnnlib", network, spec, "--quiet", "--solver", "native", "--format", "vnncomp")
    assert (code, out) == (3, "unknown\n")


def test_inputs_that_no_float32_number_meets(toy: Path, command: Command, tmp_path: Path) -> None:
    network = toy.with_name("toy.onnx")
    spec = specification(tmp_path, "13", "0.1", "0.1")
    code, out, _ = command("vnnlib", network, spec, "--quiet")
    assert code == 0
    assert out.startswith("proved")
    assert "real inputs, which the network gets rounded to float32" in out
    spec = specification(tmp_path, "-100", "0.1", "0.1")
    code, out, _ = command("vnnlib", network, spec, "--quiet")
    assert code == 3
    assert out.startswith("vacuous")


@pytest.mark.parametrize("arithmetic", ["float32", "real"])
def test_a_solver_that_lies_is_not_believed(toy: Path, tmp_path: Path, arithmetic: str) -> None:
    network, spec = toy.with_name("toy.onnx"), specification(tmp_path, "10")
    problem = problem_from_vnnlib(load_policy(network).network, read_vnnlib_file(spec), "lie")
    nothing = {"atoms": [], "sets": [[]], "steps": [["drop", [0], {}]]}
    claim = {"variables": [["X_0@0", "-1", "1", "float32"]]}
    liar = Scripted((Unsat(Proof(claim, arithmetic, (nothing,))), Sat({})))
    inputs = {str(p): file_sha256(p) for p in (network, spec)}
    source = {"kind": "vnnlib", "network": str(network), "specification": str(spec), "output": None}
    result = verify(problem, Bmc(liar), Budget(20), inputs=inputs, source=source)
    assert isinstance(result.verdict, Unknown)
    assert result.certified is False
    assert liar.objection(Query((QueryVariable("x", Real()),), (TRUE,))) is None


def test_what_becomes_of_the_certificate_is_told(toy: Path, command: Command, tmp_path: Path) -> None:
    network, target = toy.with_name("toy.onnx"), tmp_path / "proof.json"
    asked = ("vnnlib", network, specification(tmp_path, "13"), "--certificate", target)
    assert f"written: {target}" in command(*asked)[2]
    target.unlink()
    asked = ("vnnlib", network, specification(tmp_path, "10"), "--certificate", target)
    assert f"not written: {target} (there is no proof)" in command(*asked)[2]
    assert not target.exists()


def test_arguments_in_the_wrong_order(command: Command, tmp_path: Path) -> None:
    (tmp_path / "a.vnnlib").write_text("", encoding="utf-8")
    (tmp_path / "b.onnx").write_bytes(b"")
    code, _, error = command("vnnlib", tmp_path / "a.vnnlib", tmp_path / "b.onnx")
    assert code == 2
    assert "the network comes first" in error


def test_a_packed_certificate_is_accepted(toy: Path, command: Command, tmp_path: Path) -> None:
    network, target = toy.with_name("toy.onnx"), tmp_path / "proof.json.gz"
    asked = ("vnnlib", network, specification(tmp_path, "13"), "--certificate", target, "--quiet")
    assert command(*asked)[0] == 0
    assert target.read_bytes().startswith(b"\x1f\x8b")
    assert command("certify", target)[0] == 0
    target.write_bytes(target.read_bytes()[:-20])
    assert command("certify", target)[0] == 2
