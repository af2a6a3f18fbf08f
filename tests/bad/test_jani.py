"""Each bad JANI file is refused in one line that says where, what and how to fix it."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.bad.make_jani import ALL, Bad, write
from tests.formats.jani.build import assign, automaton, edge, goes, model, op, variable
from tests.formats.jani.build import write as write_model
from tests.formats.jani.features import FEATURES
from tests.formats.jani.reachable import question, reachable, starts

from surefoot.errors import InvalidProblem, SurefootError
from surefoot.formats.jani import read_jani
from surefoot.problem.semantics import enumerate_successors
from surefoot.problem.validate import check_environment


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
        list(enumerate_successors(question(read.environment), start))
    assert str(error.value) == message


ODD = (
    None,
    True,
    -1,
    0.5,
    "",
    "x",
    [],
    {},
    {"op": "+"},
    {"op": "aa", "exp": "x", "index": 0},
    {"exp": True},
    10**30,
)


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every part of a model but the whole."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in parts:
        yield (*path, key)
        yield from _places(part, (*path, key))


@settings(max_examples=200, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_damaged_models_are_read_or_refused(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    random = Random(seed)
    content = json.loads(json.dumps(random.choice(FEATURES).content))
    for _ in range(random.randint(1, 2)):
        *path, last = random.choice(list(_places(content)))
        part = content
        for key in path:
            part = part[key]
        if random.random() < 0.3:
            del part[last]
        else:
            part[last] = json.loads(json.dumps(random.choice(ODD)))
    path = write_model(tmp_path_factory.getbasetemp(), content, "damaged.jani")
    try:
        read = read_jani(path, {"N": "3"} if "constants" in content else {})
    except SurefootError as error:
        told = str(error)
    else:
        told = "read"
        check_environment(read.environment)
    assert told.isprintable()


def test_expressions_of_many_levels_have_a_value(tmp_path: Path) -> None:
    guard: Any = op("<", "x", 3)
    for level in range(198):
        guard = op("∧∨"[level % 2], guard, op("=", "x", level))
    content = model(automaton("main", edge(goes("here", assign("x", 1)), guard=guard)))
    assert len(reachable(read_jani(write_model(tmp_path, content)).environment)) == 1
