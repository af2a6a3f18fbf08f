"""The pages of docs/ build without a warning: every page has its place and every link its target."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FETCHED = re.compile(r'<(?:script|link|img|iframe)[^>]+(?:src|href)="?(https?:[^" >]+)')


def test_pages_build_without_a_warning_and_fetch_nothing(tmp_path: Path) -> None:
    pytest.importorskip("mkdocs")
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(site)],
        cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    pages = list(site.rglob("*.html"))
    assert len(pages) > 60
    fetched = {url for page in pages for url in FETCHED.findall(page.read_text("utf-8"))}
    assert fetched == set()
