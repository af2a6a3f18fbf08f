"""Exact output of commands: a change of wording shows up as a diff of `output.txt`.

Each folder holds a command, its input files and what it prints; timings and digests are masked. To accept new
wording: `python -m tests.golden.test_golden`.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import tempfile
from importlib.resources import files
from pathlib import Path

import pytest

from surefoot.cli import run_command_line

HERE = Path(__file__).parent
CASES = sorted(p.parent.name for p in HERE.glob("*/command.txt"))
MASKS = (
    (r"(obligations?) and \d+ steps?", r"\1 and N steps"),
    (r"\d+\.\d\d s$", "TIME s"),
    (r"sha256 [0-9a-f]+…", "sha256 DIGEST…"),
)


def printed(case: str, folder: Path) -> str:
    """What the command of a case prints, with its exit code, run in a folder of its own."""
    for name in ("toy.toml", "toy.onnx"):
        (folder / name).write_bytes(files("surefoot_studies.toy").joinpath("assets", name).read_bytes())
    for file in (HERE / case).iterdir():
        shutil.copy(file, folder)
    arguments = (HERE / case / "command.txt").read_text().split()
    stream, before = io.StringIO(), Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            code = run_command_line(arguments[1:])
    finally:
        os.chdir(before)
    text = f"{stream.getvalue()}exit {code}\n"
    for pattern, replacement in MASKS:
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text


@pytest.mark.parametrize("case", CASES)
def test_golden(case: str, tmp_path: Path) -> None:
    assert printed(case, tmp_path) == (HERE / case / "output.txt").read_text()


if __name__ == "__main__":
    for each in CASES:
        with tempfile.TemporaryDirectory() as place:
            (HERE / each / "output.txt").write_text(printed(each, Path(place)))
