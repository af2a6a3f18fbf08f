"""Each bad JANI file is refused in one line that says where, what and how to fix it."""

import time
from pathlib import Path

import pytest
from tests.bad.make_jani import ALL, Bad, write
from tests.formats.jani.build import assign, automaton, edge, goes, model, op, variable
from tests.formats.jani.build import write as write_model
from tests.formats.jani.reachable import question, reachable, starts

from surefoot.errors import InvalidProblem, SurefootError
from surefoot.formats.jani import read_jani
from surefoot.problem.semantics import successors


@pytest.mark.parametrize("bad", ALL, ids=lambda bad: bad.name)
def test_is_refused_in_one_line(bad: Bad, tmp_path: Path) -> None:
    path = write(bad, tmp_path)
    started = time.process_time()
    error = _refusal(path, bad)
    assert time.process_time() - started < 2
    assert str(error) == (bad.message if bad.message.startswith("--const") else f"{path}{bad.message}")
    assert error.exit_code == 2
    assert str(error).isprintable()
    assert list(tmp_path.iterdir()) == [path]


def _refusal(path: Path, bad: Bad) -> SurefootError:
    try:
        read = read_jani(path, bad.constants)
    except SurefootError as error:
        return error
    return read.refused["question"]


def test_names_are_unique() -> None:
    assert len({bad.name for bad in ALL}) == len(ALL)


def test_a_byte_order_mark_is_passed_over(tmp_path: Path) -> None:
    path = write_model(tmp_path, model())
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert len(reachable(read_jani(path).environment)) == 6


def test_ten_tenths_are_one(tmp_path: Path) -> None:
    tenths = [goes("here", assign("x", i % 6), probability=0.1) for i in range(10)]
    read = read_jani(write_model(tmp_path, model(automaton("main", edge(*tenths)))))
    assert len(reachable(read.environment)) == 6


def test_odd_names_are_kept(tmp_path: Path) -> None:
    name = "<script>\u202ex\u2028"
    read = read_jani(write_model(tmp_path, model(automaton("main"), variables=[variable(name, "int", 1)])))
    assert read.environment.variables[0].name == name


@pytest.mark.parametrize("name", ["stalled", "deadlocked", "at(a, b)", "@main", "output[1]"])
def test_names_with_a_meaning_of_their_own_are_changed(tmp_path: Path, name: str) -> None:
    read = read_jani(write_model(tmp_path, model(automaton("main"), variables=[variable(name, "int", 1)])))
    assert read.environment.variables[0].name == f"model.{name}"


def test_contradictory_starts_leave_no_state(tmp_path: Path) -> None:
    """That everything holds of no runs at all is for the verdict to say."""
    read = read_jani(write_model(tmp_path, model(**{"restrict-initial": {"exp": op("=", "x", 3)}})))
    assert not list(starts(read.environment))


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            goes("here", assign("x", op("+", "x", 1))),
            "`x` becomes 6, outside its kind, in transition `silent (main#0)`",
        ),
        (goes("here", assign("x", op("%", 1, op("-", 5, "x")))), "division by zero in `%`"),
        (goes("here", probability=op("-", "x", 3)), "probability 2 in transition `silent (main#0)`"),
    ],
)
def test_what_goes_wrong_in_a_reachable_state_only_is_an_error_there(
    tmp_path: Path, step: dict, message: str
) -> None:
    content = model(
        automaton("main", edge(step)), variables=[variable("x", model()["variables"][0]["type"], 5)]
    )
    read = read_jani(write_model(tmp_path, content))
    (start,) = starts(read.environment)
    with pytest.raises(InvalidProblem) as error:
        list(successors(question(read.environment), start))
    assert str(error.value) == message
