"""The checker as a program: from the package, from a copy of its folder, and with files that mean harm."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.checker.making import affine, certificate, claim

import surefoot_checker
from surefoot_checker.__main__ import main
from surefoot_checker.check import judge_certificate, read_certificate
from surefoot_checker.kernel.strict_json import BadCertificate

ATOM = ["<=", {"y": -1, "": 3}]
CASE = {"atoms": [ATOM], "sets": [[0]], "steps": [["drop", [0], {"atoms": [[0, 1]]}]]}
GOOD = certificate(claim([["x", 0, 1, "real"]], [affine(0, [[2.0]], [0.0])], ATOM), CASE)
BAD = certificate(claim([["x", 0, 2, "real"]], [affine(0, [[2.0]], [0.0])], ATOM), CASE)


def written(folder: Path, data: object, name: str = "certificate.json") -> Path:
    path = folder / name
    path.write_text(data if isinstance(data, str) else json.dumps(data), encoding="utf-8")
    return path


def test_exit_codes_and_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(written(tmp_path, GOOD))]) == 0
    said = capsys.readouterr().out
    assert said.startswith("accepted: nothing satisfies the query in the certificate")
    assert "not certified: where the query comes from" in said
    assert main([str(written(tmp_path, BAD))]) == 1
    assert capsys.readouterr().out.startswith("rejected: case 0: step 0 ('drop')")
    assert main([str(written(tmp_path, "{"))]) == 2
    assert main([str(tmp_path / "missing.json")]) == 2
    assert capsys.readouterr().out.count("error:") == 2


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(written(tmp_path, GOOD)), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["accepted"] is True
    assert (found["cases"], found["steps"], found["states"]) == (1, 1, 1)


def test_gzipped(tmp_path: Path) -> None:
    path = tmp_path / "certificate.json.gz"
    path.write_bytes(gzip.compress(json.dumps(GOOD).encode()))
    assert judge_certificate(read_certificate(path)).accepted


def test_runs_from_a_copy_of_its_folder(tmp_path: Path) -> None:
    """With the standard library alone: -I ignores the environment, -S what is installed."""
    copy = tmp_path / "somewhere"
    shutil.copytree(
        Path(surefoot_checker.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__")
    )
    for data, code in ((GOOD, 0), (BAD, 1)):
        command = [sys.executable, "-I", "-S", str(copy), str(written(tmp_path, data))]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (code, "")


def test_runs_as_a_module_without_heavy_packages(tmp_path: Path) -> None:
    code = (
        "import sys, runpy\n"
        "try: runpy.run_module('surefoot_checker', run_name='__main__')\n"
        "except SystemExit as end: assert end.code == 0\n"
        "print(sorted({'numpy', 'onnx', 'click', 'surefoot.query'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, str(written(tmp_path, GOOD))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "null",
        "{}",
        "[" * 200000,
        '{"a":' * 100000,
        '{"surefoot-certificate": 1, "surefoot-certificate": 1}',
        json.dumps(GOOD).replace("3", "3.5", 1),
        json.dumps(GOOD).replace('"": 3', '"": NaN', 1),
        json.dumps(GOOD).replace('"": 3', '"": ' + "9" * 5000, 1),
        json.dumps({**GOOD, "surefoot-certificate": 3}),
        json.dumps({**GOOD, "surefoot-certificate": True}),
        json.dumps({**GOOD, "arithmetic": "float64"}),
        json.dumps({**GOOD, "cases": {}}),
        json.dumps({**GOOD, "extra": 0}),
        "\x00\x01\x02",
    ],
)
def test_what_is_no_certificate(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadCertificate):
        judge_certificate(read_certificate(written(tmp_path, text)))


def _formula(depth: int) -> list[Any]:
    found: list[Any] = ATOM
    for _ in range(depth):
        found = ["and", found]
    return found


def test_hostile_claims_end_quickly() -> None:
    deep = {**GOOD, "claim": {**GOOD["claim"], "formula": _formula(150)}}
    with pytest.raises(BadCertificate, match="nested"):
        judge_certificate(deep)
    wide = [["join", [n, n]] for n in range(40)]
    with pytest.raises(BadCertificate, match="does not fit"):
        judge_certificate(certificate(claim([["x", 0, 1, "real"]], wide, ATOM), CASE))
    calls = [[0, [{"x": 1}], []] for _ in range(3)]
    network = {"width": 1, "nodes": [["join", [0, 0]], ["pick", 1, []]]}
    many = {**GOOD["claim"], "calls": calls, "networks": [network], "formula": ["<=", {"x": -1, "": 2}]}
    many["variables"] = [["x", 0, 1, "real"]]
    case = {**CASE, "atoms": [many["formula"]]}
    assert judge_certificate(certificate(many, case)).accepted


def test_many_splits_need_no_recursion() -> None:
    """A chain of 20,000 splits, each closing its first part."""
    atom = ["<=", {"x": -1, "": 2}]
    drop = ["drop", [0], {"atoms": [[0, 1]]}]
    steps: list[Any] = []
    for n in range(20000):
        steps += [["split", 0, 0, f"{n}/20001"], drop]
    data = certificate(
        claim([["x", 0, 1, "real"]], [["relu", 0]], atom), {**CASE, "atoms": [atom], "steps": [*steps, drop]}
    )
    found = judge_certificate(data)
    assert found.accepted
    assert found.states == 20001


def test_files_are_found_and_compared(tmp_path: Path) -> None:
    entry = {"file": "net.onnx", "sha256": "0" * 64}
    data = certificate(
        {"kind": "vnnlib", "network": entry, "property": {**entry, "file": "p.vnnlib"}, "inputs": "real"},
        CASE,
    )
    with pytest.raises(BadCertificate, match="no such file"):
        judge_certificate(data, base=tmp_path)
    (tmp_path / "net.onnx").write_bytes(b"nonsense")
    with pytest.raises(BadCertificate, match="digest differs"):
        judge_certificate(data, base=tmp_path)
