"""The benchmark of shields at run time measures all of its columns."""

from __future__ import annotations

import shutil

import pytest

pytest.importorskip("gymnasium")

from benchmarks import shields
from surefoot_studies.control import runtime_overhead
from surefoot_studies.control.paper_tables import read_paper_rows


def test_a_row_has_all_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("gcc") is None:
        pytest.skip("no C compiler")
    monkeypatch.setattr(runtime_overhead, "ROUNDS", 1)
    (row,) = read_paper_rows(1, ("pendulum",))
    found = shields.measured("pendulum", row, None, (4,))
    assert found["certified"]
    assert (found["variables"], found["degree"], found["rules"]) == (2, 4, 1)
    assert set(found["ns"]) == {"c", "python", "library", "wrapper", "library in wrapper"}
    assert found["ns"]["python"] > 10 * found["ns"]["c"] > 0
    assert found["network"] == {"hidden": "64x64", "weights": "own"}
    assert found["% of numpy"]["python"] > 0
    assert found["paper %"] == 9.65
