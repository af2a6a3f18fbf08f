"""`surefoot demo`: five jobs, each with the answer that is expected, and a page that links their pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.timeout(900)
def test_five_jobs_and_the_page_that_links_them(tmp_path: Path) -> None:
    folder = tmp_path / "a demo"
    done = subprocess.run(
        [sys.executable, "-W", "error::UserWarning", "-m", "surefoot", "demo", "--folder", str(folder)],
        capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "100"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Warning" not in done.stderr
    index = (folder / "index.html").read_text("utf-8")
    linked = re.findall(r'href="([^"]+)"', index)
    assert len(linked) == 5
    for page in linked:
        text = (folder / page).read_text("utf-8")
        assert "<svg" in text or "<canvas" in text, page
    answers = re.findall(r"<b>(.*?)</b>", index)
    words = [
        "violated after",
        "proved: within 200",
        "least 0, greatest 1",
        "accepted: no run",
        "proved: at time 10",
    ]
    assert [answer.startswith(word) for answer, word in zip(answers, words, strict=True)] == [True] * 5
    assert (folder / "guard.c").exists()
    assert done.stdout.count("\naccepted: ") == 1  # the certificate, by the checker in a process of its own


def test_toy_of_the_readme_is_there(tmp_path: Path) -> None:
    """Before the first job has ended: the files are put first."""
    process = subprocess.Popen([sys.executable, "-m", "surefoot", "demo", "--folder", str(tmp_path)],
                               stdout=subprocess.PIPE, text=True)  # fmt: skip
    try:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("1. ")
        assert {p.name for p in tmp_path.iterdir()} >= {"toy.toml", "toy.onnx", "below_thirteen.vnnlib"}
    finally:
        process.kill()
        process.wait()
