"""Policies that are tables: an action for each state, or values of which the best is taken (a Q-table).

    {"observe": ["row", "column"], "actions": ["left", "right"], "table": [[0, 1], [1, "left"]]}
    [0, 2, 1]                       an action for each value of the one variable that is observed
    row,column,action               CSV: a line for each state, with the action's label or number,
    state,left,right                or with a value for each action
    .npy                            whole numbers: actions; a further axis of numbers: values of actions

Of equal values the first one counts, as with `argmax`. Where the table says nothing the policy decides
nothing.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan, prod
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean, locate_errors
from surefoot.formats.untrusted.regular_file import read_input_bytes
from surefoot.problem.policy import Branch, ProgramPolicy
from surefoot.term.arguments import describe_value
from surefoot.term.term import Apply, Const, Op, Term, conjunction_of, equal

TABLE_SUFFIXES = (".json", ".csv", ".npy")
MOST_ENTRIES = 5_000_000
_NOTHING = -1
_KEYS = ("observe", "first", "actions", "table")


@dataclass(frozen=True, slots=True)
class ActionTable:
    """Numbers of actions by observed values; None: nothing is said there."""

    observe: tuple[str, ...] | None  # names of variables; None: whoever wires it says so
    first: tuple[int, ...]  # the lowest value of each
    lengths: tuple[int, ...]
    actions: tuple[str, ...] | None  # labels by number, where the file has them
    entries: tuple[int | None, ...]  # in the order of the observed values, the last one fastest


def names_action_table(path: Path) -> bool:
    """Is this a table of actions, by its name?"""
    return path.suffix.lower() in TABLE_SUFFIXES


def read_action_table(path: Path, labels: Sequence[str]) -> ActionTable:
    """The table in a file; `labels`: the actions that there are, in their order."""
    data = read_input_bytes(path)
    with locate_errors(str(path)):
        match path.suffix.lower():
            case ".json":
                return _table_from_json(_parse_json(data), labels)
            case ".csv":
                return _read_csv(data, labels)
            case ".npy":
                return table_from_array(_read_npy(data), labels)
    raise Unsupported("this is no table of actions", fix="give .json, .csv or .npy", where=str(path))


def action_program(
    table: ActionTable, observe: Sequence[Term], labels: Sequence[str], ranges: Sequence[tuple[int, int]]
) -> ProgramPolicy:
    """The policy: a rule for each action, over one constant array.

    `ranges`: what values the observed terms can have; where they are within the table nothing is checked.
    """
    if len(observe) != len(table.lengths):
        what = f"a table over {len(table.lengths)} values, and {len(observe)} are observed"
        raise InvalidProblem(what, fix="observe one variable for each axis of the table", where="observe")
    inside: list[Term] = []
    place: Term = Const(0)
    for term, first, length, (low, high) in zip(observe, table.first, table.lengths, ranges, strict=True):
        if low < first:
            inside.append(Const(first) <= term)
        if high >= first + length:
            inside.append(term < first + length)
        offset = term - first if first else term
        place = offset if place == Const(0) else place * length + offset
    used = sorted({entry for entry in table.entries if entry is not None})
    if not used:
        raise InvalidProblem("the table has no action", fix="give at least one")
    entries = tuple(Const(_NOTHING if entry is None else entry) for entry in table.entries)
    chosen = Apply(Op.SELECT, (Apply(Op.ARRAY, entries), place))
    rules = [Branch(conjunction_of((*inside, equal(chosen, number))), labels[number]) for number in used]
    return ProgramPolicy(tuple(rules), tuple(labels))


def table_from_python(given: Any, labels: Sequence[str]) -> ActionTable:
    """A table from lists, numpy arrays, or the data of a JSON file."""
    if hasattr(given, "dtype"):
        return table_from_array(given, labels)
    return _table_from_json(given, labels)


def table_from_array(array: Any, labels: Sequence[str]) -> ActionTable:
    """Actions as whole numbers, or a last axis of values of actions."""
    import numpy as np

    if array.dtype.kind not in "iuf" or array.ndim == 0 or array.size == 0:
        what = f"an array of {array.dtype} with shape {array.shape} is no table of actions"
        raise InvalidProblem(what, fix="give whole numbers, or values of actions in the last axis")
    if array.size > MOST_ENTRIES:
        raise Unsupported(f"a table of {array.size} entries", fix=f"at most {MOST_ENTRIES} are read")
    if array.dtype.kind == "f" or (array.ndim > 1 and array.shape[-1] == len(labels) and array.min() < 0):
        if array.ndim == 1:
            fix = "give whole numbers, or a further axis with a value for each action"
            raise InvalidProblem("actions that are no whole numbers", fix=fix)
        if array.shape[-1] != len(labels):
            what = f"values of {array.shape[-1]} actions, and there are {len(labels)}: {_listed(labels)}"
            raise InvalidProblem(what, fix="give a value for each action in the last axis")
        if np.isnan(array).any():
            where = np.argwhere(np.isnan(array))[0][:-1]
            raise InvalidProblem(
                "a value that is no number", fix="replace NaN", where=f"entry {where.tolist()}"
            )
        shape, entries = array.shape[:-1], array.argmax(axis=-1)
    else:
        shape, entries = array.shape, array
    found = [_check_number(int(entry), labels, "the table") for entry in entries.ravel().tolist()]
    return ActionTable(None, (0,) * len(shape), tuple(map(int, shape)), None, tuple(found))


def _parse_json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidProblem("this is not JSON", fix="write a list with an action for each state") from None


def _table_from_json(given: Any, labels: Sequence[str]) -> ActionTable:
    observe: tuple[str, ...] | None = None
    own: Sequence[str] | None = None
    first: Any = None
    if isinstance(given, Mapping):
        for key in given:
            if key not in _KEYS:
                raise InvalidProblem(f"unknown key `{key}`", fix=did_you_mean(str(key), _KEYS))
        if "table" not in given:
            raise InvalidProblem("`table` is missing", fix="give an action for each state")
        observe = _take_names(given["observe"], "observe") if "observe" in given else None
        own = _take_names(given["actions"], "actions") if "actions" in given else None
        first, given = given.get("first"), given["table"]
    if own is not None:
        for label in own:
            _number_of(label, labels, "actions")
    lengths = _measure_axes(given)
    values = _is_value_axis(given, lengths, own or labels)
    if values:
        lengths = lengths[:-1]
    if prod(lengths) > MOST_ENTRIES:
        raise Unsupported(f"a table of {prod(lengths)} entries", fix=f"at most {MOST_ENTRIES} are read")
    entries: list[int | None] = []
    _collect_entries(given, lengths, "table", own or labels, labels, values, entries)
    starts = _take_first(first, len(lengths))
    if observe is not None and len(observe) != len(lengths):
        what = f"`observe` names {len(observe)} variables, and the table has {len(lengths)} axes"
        raise InvalidProblem(what, fix="nest one list for each variable", where="observe")
    return ActionTable(observe, starts, lengths, tuple(labels), tuple(entries))


def _take_first(first: Any, axes: int) -> tuple[int, ...]:
    if first is None:
        return (0,) * axes
    several = [first] if type(first) is int else first
    if not isinstance(several, list) or len(several) != axes or not all(type(n) is int for n in several):
        fix = "give the lowest value of each observed variable"
        raise InvalidProblem("`first` is no list of whole numbers, one for each axis", fix=fix, where="first")
    return tuple(several)


def _take_names(given: Any, where: str) -> tuple[str, ...]:
    several = [given] if isinstance(given, str) else given
    if not isinstance(several, list | tuple) or not several or not all(isinstance(n, str) for n in several):
        raise InvalidProblem("this is no list of names", fix='write ["row", "column"]', where=where)
    if len(set(several)) != len(several):
        raise InvalidProblem("a name is given twice", fix="keep one of them", where=where)
    return tuple(several)


def _measure_axes(given: Any) -> tuple[int, ...]:
    lengths: list[int] = []
    while isinstance(given, list | tuple):
        if not given:
            raise InvalidProblem("an empty list", fix="give an action for each state", where="table")
        lengths.append(len(given))
        given = given[0]
    if not lengths:
        what = f"{describe_value(given)} is no table"
        raise InvalidProblem(what, fix="write a list with an action for each state", where="table")
    return tuple(lengths)


def _is_value_axis(given: Any, lengths: tuple[int, ...], labels: Sequence[str]) -> bool:
    """Are these values of actions? Some number is then a float, or no number of an action."""
    if len(lengths) < 2 or lengths[-1] != len(labels):
        return False
    waiting = [given]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list | tuple):
            waiting.extend(part)
        elif isinstance(part, float) or (type(part) is int and not 0 <= part < len(labels)):
            return True
    return False


def _collect_entries(
    given: Any,
    lengths: tuple[int, ...],
    where: str,
    own: Sequence[str],
    labels: Sequence[str],
    values: bool,
    entries: list[int | None],
) -> None:
    """All entries in order; `own`: what numbers in the file stand for."""
    if lengths:
        if not isinstance(given, list | tuple) or len(given) != lengths[0]:
            what = f"this is no list of {lengths[0]} entries, as its neighbours are"
            raise InvalidProblem(what, fix="make all lists of an axis equally long", where=where)
        for number, part in enumerate(given):
            _collect_entries(part, lengths[1:], f"{where}[{number}]", own, labels, values, entries)
        return
    if values:
        entries.append(_number_of(own[_best_value(given, own, where)], labels, where))
    elif given is None:
        entries.append(None)
    elif isinstance(given, str):
        entries.append(_number_of(given, labels, where))
    elif type(given) is int:
        entries.append(_number_of(own[_check_number(given, own, where)], labels, where))
    else:
        fix = f"give the label or number of an action: {_listed(labels)}"
        raise InvalidProblem(f"{describe_value(given)} is no action", fix=fix, where=where)


def _best_value(given: Any, own: Sequence[str], where: str) -> int:
    good = isinstance(given, list | tuple) and len(given) == len(own)
    if not good or not all(type(value) in (int, float) and not isnan(value) for value in given):
        what = f"this is no list of {len(own)} numbers, the values of {_listed(own)}"
        raise InvalidProblem(what, fix="give a number for each action", where=where)
    return max(range(len(own)), key=lambda i: (given[i], -i))


def _check_number(number: int, labels: Sequence[str], where: str) -> int:
    if not 0 <= number < len(labels):
        what = f"there is no action number {number}"
        raise InvalidProblem(what, fix=f"the {len(labels)} actions are {_listed(labels)}", where=where)
    return number


def _number_of(label: str, labels: Sequence[str], where: str) -> int:
    if label not in labels:
        raise InvalidProblem(f"there is no action `{label}`", fix=did_you_mean(label, labels), where=where)
    return list(labels).index(label)


def _listed(labels: Sequence[str]) -> str:
    return ", ".join(labels[:12]) + (", …" if len(labels) > 12 else "")


# --- CSV ------------------------------------------------------------------------------------------------


def _read_csv(data: bytes, labels: Sequence[str]) -> ActionTable:
    try:
        lines = list(csv.reader(io.StringIO(data.decode("utf-8-sig"))))
    except (UnicodeDecodeError, csv.Error):
        raise InvalidProblem("this is no CSV file", fix="save it as UTF-8, with commas") from None
    rows = [(number, line) for number, line in enumerate(lines, start=1) if line]
    if len(rows) < 2:
        fix = "write a line such as `state,action`, and one for each state"
        raise InvalidProblem("the file has no line after the names of its columns", fix=fix)
    head = [name.strip() for name in rows[0][1]]
    observe, scored = _read_head(head, labels)
    found: dict[tuple[int, ...], int] = {}
    for number, line in rows[1:]:
        where = f"line {number}"
        if len(line) != len(head):
            what = f"{len(line)} entries, and the first line has {len(head)}"
            raise InvalidProblem(what, fix="give one for each column", where=where)
        key = tuple(_csv_integer(text, where) for text in line[: len(observe)])
        if key in found:
            raise InvalidProblem("a state that is there already", fix="keep one of the lines", where=where)
        found[key] = _csv_action(line[len(observe) :], scored, labels, where)
    lows = tuple(map(min, zip(*found, strict=True)))
    lengths = tuple(max(c) - low + 1 for c, low in zip(zip(*found, strict=True), lows, strict=True))
    if prod(lengths) > MOST_ENTRIES:
        raise Unsupported(f"a table of {prod(lengths)} entries", fix=f"at most {MOST_ENTRIES} are read")
    entries: list[int | None] = [None] * prod(lengths)
    for key, action in found.items():
        place = 0
        for value, low, length in zip(key, lows, lengths, strict=True):
            place = place * length + value - low
        entries[place] = action
    return ActionTable(observe, lows, lengths, tuple(labels), tuple(entries))


def _read_head(head: list[str], labels: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The observed variables, and the actions whose values follow (none: a column `action`)."""
    if head[-1] == "action" and "action" not in labels:
        observe, scored = head[:-1], []
    else:
        observe = [name for name in head if name not in labels]
        scored = head[len(observe) :]
        if not scored or any(name not in labels for name in scored):
            fix = f"end the first line with `action`, or with actions: {_listed(labels)}"
            raise InvalidProblem("the last columns are no actions", fix=fix, where="line 1")
    if not observe or len(set(head)) != len(head) or not all(head):
        fix = "write variables, then `action` or the actions, each once"
        raise InvalidProblem("the first line does not name the columns", fix=fix, where="line 1")
    return tuple(observe), tuple(scored)


def _csv_integer(text: str, where: str) -> int:
    try:
        return int(text.strip())
    except ValueError:
        fix = "give the value of the variable"
        raise InvalidProblem(f"`{text[:40]}` is no whole number", fix=fix, where=where) from None


def _csv_action(cells: list[str], scored: tuple[str, ...], labels: Sequence[str], where: str) -> int:
    if scored:
        values = []
        for text in cells:
            try:
                values.append(float(text))
            except ValueError:
                raise InvalidProblem(f"`{text[:40]}` is no number", fix="give a value", where=where) from None
        return _number_of(scored[_best_value(values, scored, where)], labels, where)
    text = cells[0].strip()
    if text not in labels and text.isascii() and text.isdigit():
        return _check_number(int(text[:9]), labels, where)
    return _number_of(text, labels, where)


# --- numpy ----------------------------------------------------------------------------------------------


def _read_npy(data: bytes) -> Any:
    """An array of numbers; a file that holds Python objects is refused, and nothing of it is run."""
    import numpy as np

    fix = "save it with numpy.save, whole numbers or floats"
    if data[:6] != b"\x93NUMPY":
        raise InvalidProblem("this is no .npy file", fix=fix)
    try:
        return np.load(io.BytesIO(data), allow_pickle=False)
    except (ValueError, OSError, EOFError, MemoryError):
        raise InvalidProblem("the array cannot be read", fix=fix) from None
