"""Bad tables, functions that list successors, and tables of actions: one line each, quickly."""
# ruff: noqa: E501 - messages in one piece

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot import Policy, check, from_table, from_transitions
from surefoot.cli import run_command_line
from surefoot.errors import SurefootError

SUCCESSOR = "give (probability, next state, reward, terminated)"
SUM = "they have to add up to 1, within 1e-9 where they are floats"


def raise_key_error(_: Any) -> Any:
    raise KeyError("lost")


def lead_to(*outcomes: Any, **more: Any) -> Callable[[], Any]:
    return lambda: from_transitions(0, ["go"], lambda s, a: list(outcomes), **more)


def table_with(row: Any, **more: Any) -> Callable[[], Any]:
    return lambda: from_table({0: {0: row}}, **more)


GOOD = [(1, 0, 0, True)]
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "sum": (
        lead_to((0.5, 0, 0, True), (0.4, 1)),
        f"state `0`, action `'go'`: its probabilities add up to 0.9; fix: {SUM}",
    ),
    "exact sum": (
        lead_to(("1/3", 0), ("1/3", 1), ("333333333333/1000000000000", 2)),
        f"state `0`, action `'go'`: its probabilities add up to 2999999999999/3000000000000; fix: {SUM}",
    ),
    "nothing": (lead_to(), f"state `0`, action `'go'`: its probabilities add up to 0; fix: {SUM}"),
    "negative": (
        lead_to((-0.5, 0), (1.5, 1)),
        "state `0`, action `'go'`: the probability -0.5 is out of range; fix: give a number from 0 to 1",
    ),
    "no number": (
        lead_to((float("nan"), 0)),
        "state `0`, action `'go'`: the probability is `nan`; fix: give a number",
    ),
    "truth value": (
        lead_to((True, 0)),
        "state `0`, action `'go'`: the probability is `True`; fix: give a number",
    ),
    "reward": (
        lead_to((1, 0, "much", True)),
        "state `0`, action `'go'`: the reward is no number: the text 'much' is not a number; fix: give a number",
    ),
    "ends": (lead_to((1, 0, 0, 2)), f"state `0`, action `'go'`: `terminated` is `2`; fix: {SUCCESSOR}"),
    "pair": (lead_to(1), f"state `0`, action `'go'`: `1` is not a successor; fix: {SUCCESSOR}"),
    "list as state": (
        lead_to((1, [0])),
        "state `0`, action `'go'`: the state `[0]` cannot be hashed; fix: use tuples, numbers, texts or frozen "
        "dataclasses",
    ),
    "function": (
        lambda: from_transitions(0, [0], lambda s, a: raise_key_error(s)),
        "state `0`, action `0`: `successors` ends with KeyError: 'lost'; fix: correct the function",
    ),
    "no function": (
        lambda: from_transitions(0, [0], [1]),  # type: ignore[arg-type]
        "successors: a value of type `list` cannot be called; fix: give a function of a state and an action that "
        "lists what may happen",
    ),
    "no action": (
        lambda: from_transitions(0, [], lambda s, a: GOOD),
        "actions: there is no action; fix: list at least one, also if it is the only one",
    ),
    "no start": (
        lambda: from_transitions([], [0], lambda s, a: GOOD),
        "initial: there is no start; fix: give a state or a list of them",
    ),
    "starts": (
        lambda: from_transitions({0: 0.5, 1: 0.2}, [0], lambda s, a: GOOD),
        f"initial: the probabilities of the starts add up to 0.7; fix: {SUM}",
    ),
    "too many": (
        lambda: from_transitions(0, [0], lambda s, a: [(1, s + 1)], max_states=100),
        "successors: 101 states were found with a limit of 100, and there are more; fix: merge states that behave "
        "alike, or allow more: max_states=…",
    ),
    "names": (
        table_with(GOOD, names=["a", "b"]),
        "names: 2 different names for 1 actions; fix: give one for each of `0`",
    ),
    "variables": (
        lambda: from_transitions((0, 1), [0], lambda s, a: [(1, s)], variables=["x"]),
        "variables: 1 names for the 2 entries of a state such as `(0, 1)`; fix: give one name for each entry",
    ),
    "own name": (
        lambda: from_transitions((0, 1), [0], lambda s, a: [(1, s)], variables=["x", "terminated"]),
        "variables: `terminated` is an entry of the states, and a name of this tool; fix: call the entries "
        "otherwise: variables=[…]",
    ),
    "label": (
        table_with(GOOD, labels={"hole": lambda s: "wet"}),
        "hole: it returns the text 'wet'; fix: return True or False, or an int",
    ),
    "goal": (
        table_with(GOOD, goal=lambda s: s),
        "goal: `goal` is a number; fix: give a function of a state that returns True or False",
    ),
    "no table": (
        lambda: from_table(3),
        "table: `3` is not a table; fix: give {state: {action: [(probability, next state, reward, terminated), "
        "…]}}",
    ),
    "beyond the table": (
        table_with([(1, 5, 0, False)]),
        "state `5`: an episode goes on in a state that the table does not have; fix: add it to the table",
    ),
    "property": (
        lambda: check(from_table({0: {0: GOOD}}), None, "saef"),
        "property: there is no property `saef`; fix: known names: `return`, `steps`",
    ),
    "entries": (
        lambda: Policy.from_table([0, 7], from_table({0: {0: GOOD}, 1: {0: GOOD}})),
        "table[1]: there is no action number 7; fix: the 1 actions are a0",
    ),
    "ragged": (
        lambda: Policy.from_table([[0], [0, 0]], from_table({0: {0: GOOD}})),
        "table[1]: this is no list of 1 entries, as its neighbours are; fix: make all lists of an axis equally long",
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_the_call_is_refused(name: str) -> None:
    call, message = CALLS[name]
    start = time.process_time()
    with pytest.raises(SurefootError) as caught:
        call()
    assert time.process_time() - start < 2
    assert str(caught.value) == message
    assert caught.value.exit_code == 2


GRID = """
name = "grid"
initial = "x = 0"
[variables]
x = "int 0..2"
[[edges]]
action = "east"
updates = { x = "min(2, x + 1)" }
[[edges]]
action = "west"
updates = { x = "max(0, x - 1)" }
[properties]
safe = "never x = 2"
"""
ACTIONS = "give the label or number of an action: east, west"
FILES: dict[str, tuple[str | bytes, str]] = {
    "broken.json": ("[0, 1", "this is not JSON; fix: write a list with an action for each state"),
    "label.json": ('["east", "wets", 0]', "table[1]: there is no action `wets`; fix: did you mean `west`?"),
    "number.json": ("[0, 1, 2]", "table[2]: there is no action number 2; fix: the 2 actions are east, west"),
    "bool.json": ("[0, true, 1]", f"table[1]: `True` is no action; fix: {ACTIONS}"),
    "key.json": ('{"tabel": [0, 1, 0]}', "unknown key `tabel`; fix: did you mean `table`?"),
    "variable.json": (
        '{"observe": ["y"], "table": [0, 1, 0]}',
        "there is no variable `y`; fix: known names: `x`",
    ),
    "axes.json": (
        '{"observe": ["x"], "table": [[0], [1], [0]]}',
        "observe: `observe` names 1 variables, and the table has 2 axes; fix: nest one list for each variable",
    ),
    "empty.json": ("[]", "table: an empty list; fix: give an action for each state"),
    "head.csv": (
        "x,move\n0,east\n",
        "line 1: the last columns are no actions; fix: end the first line with `action`, or with actions: east, west",
    ),
    "line.csv": (
        "x,action\n0,east\n1\n",
        "line 3: 1 entries, and the first line has 2; fix: give one for each column",
    ),
    "twice.csv": (
        "x,action\n0,east\n0,west\n",
        "line 3: a state that is there already; fix: keep one of the lines",
    ),
    "value.csv": ("x,east,west\n0,1,high\n", "line 2: `high` is no number; fix: give a value"),
    "nan.csv": (
        "x,east,west\n0,1,nan\n",
        "line 2: this is no list of 2 numbers, the values of east, west; fix: give a number for each action",
    ),
    "text.npy": (b"hello", "this is no .npy file; fix: save it with numpy.save, whole numbers or floats"),
}


@pytest.mark.parametrize("name", FILES)
def test_the_file_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    content, message = FILES[name]
    Path(name).write_bytes(content if isinstance(content, bytes) else content.encode())
    Path("grid.toml").write_text(GRID)
    start = time.process_time()
    code = run_command_line(["check", "grid.toml", "--policy", name])
    assert time.process_time() - start < 2
    told = capsys.readouterr()
    separator = ":" if message.startswith(("table[", "table:", "line", "observe")) else ": "
    assert told.err == f"error: {name}{separator}{message}\n"
    assert (code, told.out) == (2, "")


def test_no_object_of_an_array_is_made(tmp_path: Path) -> None:
    path = tmp_path / "objects.npy"
    np.save(path, np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(SurefootError, match="the array cannot be read"):
        Policy.from_table(path, from_table({0: {0: GOOD}}))
