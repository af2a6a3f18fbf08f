"""Each bad problem file is refused in one line that says where, what and how to fix it."""

import time
from pathlib import Path

import pytest
from tests.bad.make_problems import ALL, Bad, asked, write

from surefoot.errors import InvalidProblem
from surefoot.formats.problem_file import read_problem_file, read_problems
from surefoot.problem.property import Never
from surefoot.term.term import FALSE, TRUE


@pytest.mark.parametrize("bad", ALL, ids=lambda bad: bad.name)
def test_is_refused_in_one_line(bad: Bad, tmp_path: Path) -> None:
    path = write(bad, tmp_path)
    before = sorted(tmp_path.iterdir())
    started = time.monotonic()
    with pytest.raises(InvalidProblem) as error:
        read_problem_file(path)
    assert time.monotonic() - started < 2
    assert str(error.value) == f"{path}{bad.message}"
    assert error.value.exit_code == 2
    assert str(error.value).isprintable()
    assert sorted(tmp_path.iterdir()) == before
    with pytest.raises(InvalidProblem, match=r".*"):
        read_problems(path)


def test_names_are_unique() -> None:
    assert len({bad.name for bad in ALL}) == len(ALL)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (".", "this is a folder, not a file; fix: name a file in it"),
        ("missing.toml", "there is no such file; fix: check the path"),
        ("x" * 5000, "the file cannot be read (File name too long); fix: check path and permissions"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InvalidProblem) as error:
        read_problem_file(tmp_path / name)
    assert str(error.value) == f"{tmp_path / name}: {message}"


@pytest.mark.parametrize(("text", "bad"), [("never true", TRUE), ("never false", FALSE)])
def test_a_property_that_decides_itself_is_no_error(tmp_path: Path, text: str, bad: object) -> None:
    """That it is vacuous is for the verdict to say."""
    path = tmp_path / "model.toml"
    path.write_text(asked(text), encoding="utf-8")
    assert read_problem_file(path).property == Never(bad)


def test_strict_and_non_strict_comparisons_differ(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text(asked("never x > 5"), encoding="utf-8")
    assert read_problem_file(path).property != read_problem_file(path, property="never x >= 5").property


def test_a_number_of_5000_digits_is_read_exactly(tmp_path: Path) -> None:
    path = tmp_path / "model.toml"
    path.write_text(asked("never x > " + "1" + "0" * 5000), encoding="utf-8")
    assert read_problem_file(path).property == read_problem_file(path, property="never x > 1e5000").property
