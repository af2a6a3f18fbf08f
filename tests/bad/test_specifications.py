"""Each bad VNN-LIB file is refused in one line that says where, what and how to fix it."""

import time
from fractions import Fraction
from pathlib import Path

import pytest
from tests.bad.make_specifications import ALL, BOX, START, Bad, term, write

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.vnnlib import no_float32_point, parse_vnnlib, read_vnnlib_file
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import Var


@pytest.mark.parametrize("bad", ALL, ids=lambda bad: bad.name)
def test_is_refused_in_one_line(bad: Bad, tmp_path: Path) -> None:
    path = write(bad, tmp_path)
    started = time.monotonic()
    with pytest.raises((InvalidProblem, Unsupported)) as error:
        read_vnnlib_file(path)
    assert time.monotonic() - started < 2
    assert str(error.value) == f"{path}:{'' if bad.message[0].isdigit() else ' '}{bad.message}"
    assert error.value.exit_code == 2


def test_names_are_unique() -> None:
    assert len({bad.name for bad in ALL}) == len(ALL)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (".", "this is a directory; fix: give the .vnnlib file inside it"),
        ("missing.vnnlib", "there is no such file; fix: check the path"),
        ("x" * 5000, "cannot be read: File name too long"),
    ],
)
def test_files_that_cannot_be_read(tmp_path: Path, name: str, message: str) -> None:
    with pytest.raises(InvalidProblem) as error:
        read_vnnlib_file(tmp_path / name)
    assert str(error.value) == f"{tmp_path / name}: {message}"


def test_a_fixed_input_that_float32_cannot_represent_is_no_error() -> None:
    """The verdict will be vacuous, and this is its sentence."""
    text = START + "(assert (= X_0 0.1))(assert (<= Y_0 0))"
    sentence = "input X_0 lies between 0.1 and 0.1, where there is no float32 number"
    assert no_float32_point(parse_vnnlib(text)) == sentence


def test_a_product_of_variables_is_no_error() -> None:
    """Which solver can treat it is not the reader's business."""
    parsed = parse_vnnlib(term("(assert (<= (* X_0 Y_0 Y_0) 1))"))
    assert evaluate_term(parsed.constraint, {"X_0": 1, "Y_0": 1})
    assert not evaluate_term(parsed.constraint, {"X_0": 1, "Y_0": 2})


@pytest.mark.parametrize(("formula", "always"), [("(<= Y_0 Y_0)", True), ("(< Y_0 Y_0)", False)])
def test_a_formula_that_decides_itself_is_no_error(formula: str, always: bool) -> None:
    parsed = parse_vnnlib(START + BOX + f"(assert {formula})")
    assert evaluate_term(parsed.constraint, {"X_0": Fraction(1, 2), "Y_0": Fraction(3)}) is always


def test_a_later_assertion_is_not_another_disjunct() -> None:
    parsed = parse_vnnlib(term("(assert (or (<= Y_0 0) (>= Y_0 4)))(assert (>= Y_0 2))"))
    answers = [evaluate_term(parsed.constraint, {"X_0": 0, Var("Y_0").name: y}) for y in (-1, 1, 3, 5)]
    assert answers == [False, False, False, True]
