"""Results are about files, and those move together with them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.cli.conftest import Command

from surefoot_checker.check import judge_certificate


@pytest.fixture
def proved(toy: Path, command: Command) -> Path:
    """A folder `run` with model, network, a result with a certificate, and the certificate alone."""
    folder = toy.parent / "run"
    folder.mkdir()
    for name in ("toy.toml", "toy.onnx"):
        shutil.copy(toy.with_name(name), folder)
    files = ("--json", folder / "result.json", "--certificate", folder / "proof.json")
    assert command("check", folder / "toy.toml", "--property", "never output[0] >= 100", *files)[0] == 0
    return folder


def violated(folder: Path, command: Command) -> Path:
    result = folder / "violated.json"
    assert command("check", folder / "toy.toml", "--property", "below_ten", "--json", result)[0] == 1
    return result


def test_names_are_told_from_the_folder_of_the_result(
    proved: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = json.loads((proved / "result.json").read_text())
    assert set(data["inputs"]) == {"toy.toml", "toy.onnx"}
    assert data["source"]["model"] == "toy.toml"
    assert str(proved) not in (proved / "result.json").read_text()
    assert str(proved) not in (proved / "proof.json").read_text()
    monkeypatch.chdir(proved.parent)
    elsewhere = proved.parent / "answers"
    elsewhere.mkdir()
    asked = ("--property", "never output[0] >= 100", "--json", "answers/r.json")
    assert command("check", "run/toy.toml", *asked)[0] == 0
    assert set(json.loads((elsewhere / "r.json").read_text())["inputs"]) == {
        "../run/toy.toml",
        "../run/toy.onnx",
    }
    assert command("certify", "answers/r.json")[0] == 0


@pytest.mark.parametrize("kind", ["proved", "violated"])
def test_a_folder_can_be_moved_and_certified_from_anywhere(
    kind: str, proved: Path, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    result = proved / "result.json" if kind == "proved" else violated(proved, command)
    moved = tmp_path / "somewhere" / "else"
    moved.parent.mkdir()
    proved.rename(moved)
    other = tmp_path / "current"
    other.mkdir()
    shutil.copy(moved / "toy.toml", other / "toy.onnx")  # of the same name, and something else
    monkeypatch.chdir(other)
    for named in (moved / result.name, Path("../somewhere/else") / result.name):
        code, out, err = command("certify", named)
        assert (code, out.partition(":")[0]) == (0, "accepted"), (out, err)
    if kind == "proved":
        assert command("certify", moved / "proof.json")[0] == 0
        assert judge_certificate(json.loads((moved / "proof.json").read_text()), base=moved).accepted


def test_a_result_apart_from_its_files_needs_a_base(
    proved: Path, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    apart = tmp_path / "apart"
    apart.mkdir()
    for name in ("result.json", "proof.json"):
        shutil.move(proved / name, apart / name)
    monkeypatch.chdir(tmp_path / "apart")
    code, _, err = command("certify", "result.json")
    assert code == 2
    assert "which is not in" in err
    assert "--base DIR" in err
    assert command("certify", "result.json", "--base", proved)[0] == 0
    assert command("certify", "proof.json", "--base", proved)[0] == 0
    (proved / "toy.onnx").write_bytes((proved / "toy.toml").read_bytes())
    assert command("certify", "result.json", "--base", proved)[0] == 1  # not the file that it is about
    assert command("certify", "result.json", "--base", tmp_path / "nowhere")[0] == 2


def test_results_of_old_are_read_from_the_folder_of_the_run(
    proved: Path, command: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They told names from the current folder, or whole."""
    for prefix in ("run/", f"{proved}/"):
        text = (proved / "result.json").read_text()
        old = text.replace('"toy.toml"', f'"{prefix}toy.toml"').replace('"toy.onnx"', f'"{prefix}toy.onnx"')
        (proved / "old.json").write_text(old)
        monkeypatch.chdir(proved.parent)
        code, out, err = command("certify", "run/old.json")
        assert code == 0, (out, err)


def test_a_vnnlib_result_moves_too(
    toy: Path, command: Command, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "spec"
    folder.mkdir()
    shutil.copy(toy.with_name("toy.onnx"), folder)
    box = "".join(f"(assert (>= X_{i} -1)) (assert (<= X_{i} 1))\n" for i in range(2))
    names = "".join(f"(declare-const {n} Real)\n" for n in ("X_0", "X_1", "Y_0"))
    (folder / "far.vnnlib").write_text(f"{names}{box}(assert (>= Y_0 1000))\n")
    asked = ("vnnlib", folder / "toy.onnx", folder / "far.vnnlib", "--json", folder / "r.json")
    assert command(*asked)[0] == 0
    folder.rename(tmp_path / "moved")
    monkeypatch.chdir("/")
    code, out, err = command("certify", tmp_path / "moved" / "r.json")
    assert code == 0, (out, err)
