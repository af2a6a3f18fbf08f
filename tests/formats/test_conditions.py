"""Lists of conditions, in text or in a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from surefoot.errors import InvalidProblem
from surefoot.formats.predicate_list import read_conditions
from surefoot.term.term import Var

X = Var("x")


def test_text_and_files_say_the_same(tmp_path: Path) -> None:
    file = tmp_path / "few.txt"
    file.write_text("x < 3  # small\n\n2 <= x\n")
    assert (
        read_conditions("x < 3; 2 <= x")
        == read_conditions(str(file))
        == (X < 3, read_conditions("2 <= x")[0])
    )


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(InvalidProblem, match=r"no file `few\.txt`") as error:
        read_conditions("few.txt")
    assert "one condition a line" in str(error.value.fix)
