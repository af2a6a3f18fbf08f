"""The list of planted bugs keeps up with the code."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.planted.__main__ import ROOT, Bug, read_bugs, run_tests

BUGS = read_bugs()


@pytest.mark.parametrize("bug", BUGS, ids=lambda bug: bug.name)
def test_a_planted_bug_has_one_place(bug: Bug) -> None:
    """What is replaced occurs once, the change is one, and the tests that ought to notice exist."""
    source = (ROOT / "src" / bug.file).read_text(encoding="utf-8")
    assert source.count(bug.old) == 1
    assert bug.new != bug.old
    compile(source.replace(bug.old, bug.new), bug.file, "exec")
    assert bug.tests
    assert all((ROOT / test.split("::")[0]).exists() for test in bug.tests)


def test_names_are_unique() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS)


def test_only_failed_tests_count(tmp_path: Path) -> None:
    """A run that collects nothing, or breaks before any test, has noticed nothing."""
    (tmp_path / "src").mkdir()
    (tmp_path / "test_passes.py").write_text("def test_it():\n    assert True\n")
    (tmp_path / "test_fails.py").write_text("def test_it():\n    assert False\n")
    (tmp_path / "test_broken.py").write_text("import nothing_of_that_name\n")
    codes = [run_tests(tmp_path, [f"test_{name}.py"], 60)[0] for name in ("passes", "fails", "broken")]
    assert codes[:2] == [0, 1]
    assert codes[2] not in (0, 1)
