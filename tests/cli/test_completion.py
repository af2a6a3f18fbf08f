"""Shell completion, and the step for workflows."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.cli.conftest import Command

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_a_shell_reads(shell: str, command: Command) -> None:
    code, out, _ = command("completion", shell)
    assert code == 0
    assert f"_SUREFOOT_COMPLETE={shell}_complete" in out


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("surefoot ch", ["check"]),
        ("surefoot check --ju", ["--junit"]),
        ("surefoot check --engine fal", ["falsify"]),
        ("surefoot schema pro", ["problem"]),
    ],
)
def test_what_is_completed(words: str, expected: list[str]) -> None:
    asked = {"_SUREFOOT_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    found = subprocess.run(
        [sys.executable, "-m", "surefoot"],
        env={**os.environ, **asked},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [line.partition(",")[2] for line in found.stdout.split()] == expected


@pytest.mark.parametrize(
    ("answer", "unknown", "code"),
    [(0, "fail", 0), (1, "pass", 1), (3, "fail", 3), (3, "pass", 0), (2, "pass", 2)],
)
def test_the_step_for_workflows(tmp_path: Path, answer: int, unknown: str, code: int) -> None:
    """Its script, with a command that writes down what it was given."""
    text = (ROOT / "action.yml").read_text()
    found = re.search(r"\n      run: \|\n((?:        .*\n)+)", text)
    assert found is not None
    script = "\n".join(line[8:] for line in found[1].split("\n"))
    stub = tmp_path / "surefoot"
    stub.write_text(f'#!/bin/sh\nfor a in "$@"; do echo "<$a>"; done > "{tmp_path}/given"\nexit {answer}\n')
    stub.chmod(0o755)
    environment = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "MODEL": "my model.toml",
        "POLICY": "",
        "PROPERTY": "never x > 1",
        "TIMEOUT": "9",
        "UNKNOWN": unknown,
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    ended = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", script], env=environment, check=False)
    assert ended.returncode == code
    given = (tmp_path / "given").read_text().split("\n")
    assert given[:4] == ["<check>", "<my model.toml>", "<--property>", "<never x > 1>"]
    assert "<--policy>" not in given
    assert (tmp_path / "output").read_text() == f"exit-code={answer}\n"
