"""A repository with three policies: one passes, one fails with its run, one is unknown."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest

from surefoot.integrations.pytest_plugin import UNKNOWN

TESTS = """
import pytest
import surefoot as sf

def test_passes(verify):
    result = verify("toy.toml", property="below_thirteen")
    assert result.certified

def test_fails(verify):
    verify("toy.toml", property="below_ten")

@pytest.mark.surefoot("toy.toml", property="never output[0] >= 13", engine="bmc", depth=1)
def test_unknown(surefoot_result):
    raise AssertionError("not reached unless unknown passes")

def test_python(verify):
    x = sf.integer("x", 0, 9)
    env = sf.Environment("counter", start=x == 0).edge("up", guard=x < 9, update={x: x + 1})
    verify(env, sf.Policy.program([(sf.TRUE, "up")]), sf.never(x == 10))

def test_wrong(verify):
    verify("missing.toml")
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    for name in ("toy.toml", "toy.onnx"):
        (tmp_path / name).write_bytes(files("surefoot_studies.toy").joinpath("assets", name).read_bytes())
    (tmp_path / "test_policies.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\nsurefoot_timeout = 40\n")
    return tmp_path


def run_pytest(folder: Path, *arguments: str) -> tuple[int, str]:
    """A process of its own, as a user has it."""
    environment = {**os.environ, "PYTEST_ADDOPTS": "", "COLUMNS": "200"}
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:xdist", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    return found.returncode, found.stdout + found.stderr


def test_one_passes_one_fails_one_is_unknown(repository: Path) -> None:
    code, said = run_pytest(repository, "-q", "-rA")
    assert code == 1
    assert re.search(r"3 failed, 2 passed|2 failed, 2 passed, 1 error", said), said
    assert "PASSED test_policies.py::test_passes" in said
    assert "PASSED test_policies.py::test_python" in said
    assert "violated after 2 steps: never output[0] >= 10" in said
    assert "replayed step by step with zero tolerance" in said
    assert "missing.toml" in said
    assert "Traceback" not in said
    assert "not reached" not in said
    kept = list((repository / ".pytest_cache" / "d" / "surefoot").iterdir())
    assert len(kept) == 2  # what passed, and nothing else

    # What is kept is not asked again: it would not be answered in this time. A changed question is.
    code, said = run_pytest(repository, "-q", "-k", "passes", "-o", "surefoot_timeout=0.001")
    assert code == 0, said
    code, said = run_pytest(
        repository, "-q", "-k", "passes", "--surefoot-timeout=0.001", "--surefoot-no-cache"
    )
    assert code == 1
    assert "unknown" in said
    text = (repository / "toy.toml").read_text()
    (repository / "toy.toml").write_text(text.replace("output[0] >= 13 for 2", "output[0] >= 9 for 2"))
    code, said = run_pytest(repository, "-q", "-k", "passes")
    assert code == 1
    assert "violated" in said


@pytest.mark.parametrize(("word", "code", "said"), [("skip", 0, "1 skipped"), ("xfail", 0, "1 xfailed")])
def test_what_unknown_does(repository: Path, word: str, code: int, said: str) -> None:
    found, text = run_pytest(repository, "-q", "-k", "test_unknown", f"--surefoot-unknown={word}")
    assert (found, said in text) == (code, True), text


def test_files_that_the_configuration_names(repository: Path) -> None:
    code, said = run_pytest(repository, "-q", "-o", "surefoot_files=*.toml", "toy.toml", "-rA")
    assert code == 1
    assert "PASSED toy.toml::below_thirteen" in said
    assert "FAILED toy.toml::below_ten" in said
    (repository / "toy.toml").write_text("nmae = 3\n")
    code, said = run_pytest(repository, "-q", "-o", "surefoot_files=*.toml", "toy.toml")
    assert code == 2
    assert "unknown key `nmae`" in said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("surefoot_unknown=perhaps", f"`perhaps` is none of {', '.join(UNKNOWN)}"),
        ("surefoot_timeout=soon", "`soon` is not a positive number of seconds"),
        ("surefoot_timeout=-1", "`-1` is not a positive number of seconds"),
    ],
)
def test_a_wrong_configuration_is_told_at_once(repository: Path, option: str, message: str) -> None:
    code, said = run_pytest(repository, "-q", "-o", option)
    assert code == 4
    assert message in said
    assert "Traceback" not in said


def test_a_mark_without_question(repository: Path) -> None:
    (repository / "test_policies.py").write_text(
        "import pytest\n@pytest.mark.surefoot(timeout=3)\ndef test_a(): pass\n"
        "def test_b(surefoot_result): pass\n"
        "def test_c(verify): verify('toy.toml', property='below_ten', unknown='maybe')\n"
        "def test_d(verify): verify('toy.toml', property='below_ten', engine='bcm')\n"
    )
    code, said = run_pytest(repository, "-q")
    assert code == 1
    assert "the mark is @pytest.mark.surefoot(problem" in said
    assert "`surefoot_result` needs the mark" in said
    assert "unknown='maybe' is none of" in said
    assert "bcm" in said
    assert "did you mean" in said
    assert "Traceback" not in said
