"""Finite problems from tables and from Python functions that list successors."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem, WrongType
from surefoot.formats.tables import (
    TableLimits,
    TableModel,
    TableQuestions,
    TransitionTable,
    build_table_model,
    explore_transitions,
)
from surefoot.formats.tables.transition_table import show_state
from surefoot.interface.expression import Operand, expression_from
from surefoot.interface.policy import FilePolicy
from surefoot.interface.ready_environment import ReadyEnvironment
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.policy import Policy as PolicyData
from surefoot.term.arguments import (
    describe_value,
    take_in_range,
    take_named_tuple,
    take_text,
    whole_number,
)

MOST_STATES = 1_000_000
SECONDS = 60.0
_FORMAT = "give {state: {action: [(probability, next state, reward, terminated), …]}}"


class TableEnvironment(ReadyEnvironment):
    """A finite environment from a table or a function; `model` has its states, actions and successors."""

    __slots__ = ("model",)

    model: TableModel

    @property
    def table(self) -> TransitionTable:
        return self.model.table


def from_transitions(
    initial: object,
    actions: object,
    successors: Callable[[Any, Any], Iterable[Any]],
    *,
    name: str = "table",
    names: Sequence[str] | None = None,
    variables: Sequence[str] | None = None,
    goal: object = None,
    bad: object = None,
    labels: Mapping[str, object] | None = None,
    max_steps: int | None = None,
    max_states: int = MOST_STATES,
    seconds: float = SECONDS,
) -> TableEnvironment:
    """The environment whose steps a function lists: `successors(state, action)` gives pairs of a probability
    and a next state, with a reward and whether the episode ends if there are such. States are numbers, texts,
    tuples, named tuples, frozen dataclasses, or other values that can be hashed; entries of tuples become
    variables, called `variables`. `initial`: a state, a list of equally likely ones, or {state: probability};
    `actions`: a list, or a function from a state to what can be done there, with `names` as labels.

    `goal`, `bad` and `labels` are conditions: texts, expressions, or functions of a state. Every state is
    looked at, up to `max_states` and `seconds`. With `max_steps` the properties that are there by name are
    about so many steps.

    >>> from fractions import Fraction
    >>> from surefoot import Policy, TRUE, check, from_transitions
    >>> def move(x, by):
    ...     return [("2/3", min(x + by, 5), 0, x + by >= 5), ("1/3", max(x - 1, 0), 0, x <= 1)]
    >>> walk = from_transitions(2, [1, 2], move, names=["walk", "run"], goal="state = 5 and terminated")
    >>> value = check(walk, Policy.program([(TRUE, "walk")]), "P goal")
    >>> value.low <= Fraction(24, 31) <= value.high, value.certified
    (True, True)
    """
    limits = TableLimits(_positive(whole_number, max_states, "max_states"), _take_seconds(seconds))
    table = explore_transitions(initial, actions, successors, limits)
    return _build_environment(table, None, name, names, variables, goal, bad, labels, max_steps)


def from_table(
    table: object,
    initial: object = 0,
    *,
    name: str = "table",
    names: Sequence[str] | None = None,
    variables: Sequence[str] | None = None,
    goal: object = None,
    bad: object = None,
    labels: Mapping[str, object] | None = None,
    max_steps: int | None = None,
) -> TableEnvironment:
    """The environment of a table in the format of Gymnasium's toy text, `env.unwrapped.P`:
    `table[state][action]` lists (probability, next state, reward, terminated). `initial` may also be an array
    with the probability of every state. Other arguments as of `from_transitions`.

    >>> from surefoot import from_table, probability
    >>> table = {0: {0: [(0.5, 1, 0, True), (0.5, 2, 1, True)]}, 1: {0: []}, 2: {0: []}}
    >>> coin = from_table(table, names=["toss"])
    >>> round(float(probability(coin, "Pmax goal").low), 6)
    0.5
    """
    rows = dict(enumerate(table)) if isinstance(table, list | tuple) else table
    if not isinstance(rows, Mapping) or not rows:
        raise WrongType(f"{describe_value(table)} is not a table", fix=_FORMAT, where="table")
    rows = {state: _take_row(state, row) for state, row in rows.items()}

    def row_of(state: Any) -> Mapping[Any, Any]:
        if state not in rows:
            what = "an episode goes on in a state that the table does not have"
            raise InvalidProblem(what, fix="add it to the table", where=f"state {show_state(state)}")
        return rows[state]

    def successors(state: Any, action: Any) -> Any:
        return row_of(state)[action]

    def choose(state: Any) -> Any:
        return [action for action, outcomes in row_of(state).items() if len(outcomes)]

    every = list(dict.fromkeys(action for row in rows.values() for action in row))
    full = all(len(row) == len(every) and all(map(len, row.values())) for row in rows.values())
    limits = TableLimits(max(len(rows) * 2, MOST_STATES))
    starts, able = _take_starts(initial, rows), every if full else choose
    found = explore_transitions(starts, able, successors, limits, order=every)
    ranges = None
    if all(type(state) is int for state in rows):
        ranges = {"state": (min(rows), max(rows))}
    return _build_environment(found, ranges, name, names, variables, goal, bad, labels, max_steps)


def _take_row(state: Any, row: Any) -> Mapping[Any, Any]:
    found = dict(enumerate(row)) if isinstance(row, list | tuple) else row
    if not isinstance(found, Mapping):
        raise WrongType(f"{describe_value(row)} is not a row", fix=_FORMAT, where=f"table[{state!r}]")
    for action, outcomes in found.items():
        if not isinstance(outcomes, list | tuple):
            what = f"{describe_value(outcomes)} is not a list of successors"
            raise WrongType(what, fix=_FORMAT, where=f"table[{state!r}][{action!r}]")
    return found


def _take_starts(initial: Any, rows: Mapping[Any, Any]) -> object:
    """Where runs start; an array has the probability of every state, in order."""
    if hasattr(initial, "tolist"):
        initial = initial.tolist()
        if isinstance(initial, list) and all(isinstance(share, float) for share in initial):
            if len(initial) != len(rows):
                what = f"{len(initial)} probabilities for {len(rows)} states"
                raise InvalidProblem(what, fix="give one for each state of the table", where="initial")
            found = {state: share for state, share in zip(rows, initial, strict=True) if share}
            return list(found) if len(set(found.values())) == 1 else found
    return initial


def _build_environment(
    table: TransitionTable,
    ranges: Mapping[str, tuple[int, int]] | None,
    name: str,
    names: Sequence[str] | None,
    variables: Sequence[str] | None,
    goal: object,
    bad: object,
    labels: Mapping[str, object] | None,
    max_steps: int | None,
) -> TableEnvironment:
    if labels is not None and not isinstance(labels, Mapping):
        fix = 'give {"name": function of a state}'
        raise WrongType(f"{describe_value(labels)} does not name conditions", fix=fix, where="labels")
    limit = None if max_steps is None else _positive(whole_number, max_steps, "max_steps")
    asked = TableQuestions(
        labels={key: _take_label(label, key) for key, label in (labels or {}).items()},
        goal=None if goal is None else _take_label(goal, "goal"),
        bad=None if bad is None else _take_label(bad, "bad"),
        limit=limit,
    )
    called = None if variables is None else take_named_tuple("variables", variables, take_text)
    given = None if names is None else take_named_tuple("names", names, take_text)
    model = build_table_model(name, table, given, variables=called, ranges=ranges, asked=asked)
    made = TableEnvironment.from_data(
        model.environment, model.properties, model.absent, lambda path: _wire_file(model, path)
    )
    assert isinstance(made, TableEnvironment)
    object.__setattr__(made, "model", model)
    return made


def _take_label(given: Any, name: str) -> Any:
    if callable(given):
        return given
    try:
        operand: Operand = given
        return expression_from(operand).term
    except WrongType as error:
        raise error.at(name) from None


def _positive(take: Any, given: object, where: str) -> Any:
    try:
        return take_in_range(take, 1)(given)
    except WrongType as error:
        raise error.at(where) from None


def _take_seconds(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not given > 0:
        what = f"{describe_value(given)} is not a positive number of seconds"
        raise WrongType(what, fix="give seconds=60", where="seconds")
    return float(given)


def _wire_file(model: TableModel, path: Path) -> PolicyData:
    """The policy in a file: a network over one-hot or plain entries of the state, or a table."""
    from surefoot.formats.model_file import file_sha256
    from surefoot.formats.tables.policy_wiring import read_table_policy

    made = read_table_policy(model, path)
    if not isinstance(made, NeuralPolicy):
        return made
    inputs = {str(path): file_sha256(path)}
    return FilePolicy(made.network, made.observe, made.actions, made.choose, made.notes, inputs)
