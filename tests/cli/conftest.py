"""The toy problem in a folder of its own, and a way to run commands in this process."""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import pytest

from surefoot.cli import run_command_line

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    for name in ("toy.toml", "toy.onnx"):
        (tmp_path / name).write_bytes(files("surefoot_studies.toy").joinpath("assets", name).read_bytes())
    return tmp_path / "toy.toml"


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `surefoot ARGUMENTS` and gives exit code, stdout and stderr."""

    def call(*arguments: object) -> tuple[int, str, str]:
        code = run_command_line([str(a) for a in arguments])
        shown = capsys.readouterr()
        return code, shown.out, shown.err

    return call
