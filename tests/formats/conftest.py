"""Fixtures that the tests of file formats share."""

from pathlib import Path

import pytest


@pytest.fixture
def write(tmp_path: Path):
    def written(text: str, name: str = "model.toml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return written
