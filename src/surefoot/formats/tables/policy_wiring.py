"""Policies in files, as they act in a table: one-hot or plain entries of the state, or an action by state."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite
from os import PathLike
from pathlib import Path

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.formats.onnx.choice_operators import WHOLE_FLOAT32
from surefoot.formats.policy_file import load_policy
from surefoot.formats.tables.action_table import (
    ActionTable,
    action_program,
    names_action_table,
    read_action_table,
    table_from_python,
)
from surefoot.formats.tables.table_environment import ELAPSED, LOT
from surefoot.formats.tables.table_model import TableModel, one_hot_terms
from surefoot.formats.untrusted.regular_file import require_file
from surefoot.problem.environment import Environment
from surefoot.problem.network import Network
from surefoot.problem.policy import Choose, NeuralPolicy, ProgramPolicy
from surefoot.problem.validate import environment_labels
from surefoot.term.interval import term_interval
from surefoot.term.printer import show_term
from surefoot.term.term import Term, Var
from surefoot.term.types import is_whole
from surefoot.term.value_types import Int


def read_table_policy(model: TableModel, path: Path) -> NeuralPolicy | ProgramPolicy:
    """The policy in a file, wired by itself; refused with both sides where it does not fit."""
    names = tuple(v.name for v in model.encoding.variables)
    if names_action_table(path):
        table = read_action_table(path, model.actions)
        return wire_action_table(table, model.environment, model.actions, path, default=names)
    loaded = load_policy(path)
    network, where = loaded.network, str(path)
    if loaded.head == "value" or network.decided != len(model.actions):
        what = f"the network has {network.decided} outputs, and the {len(model.actions)} actions are "
        fix = "give a policy that was trained on this environment"
        raise InvalidProblem(what + ", ".join(model.actions[:12]), fix=fix, where=where)
    for observe in _possible_observations(model, names, network.observed):
        if len(observe) == network.observed:
            _check_known_values(model, network, observe, where)
            return NeuralPolicy(network, observe, model.actions, Choose.ARGMAX, loaded.notes)
    sizes = ", ".join(f"{name} ({_count_values(model, name)} values)" for name in names)
    what = f"the network reads {network.observed} numbers, and the state has {sizes}"
    fix = "it has to read one number for each value (one-hot), or one for each variable"
    raise InvalidProblem(what, fix=fix, where=where)


def _check_known_values(model: TableModel, network: Network, observe: Sequence[Term], where: str) -> None:
    """Refuse a network that knows more or fewer values of a state than the table has."""
    for index in network.indices:
        term = observe[index.place]
        if index.count >= WHOLE_FLOAT32 or not isinstance(term, Var) or term.name not in model.ranges:
            continue
        low, high = model.ranges[term.name]
        if (low, high) != (0, index.count - 1):
            what = (
                f"the policy was trained for {index.count} values of `{term.name}`, and the table has "
                f"{high - low + 1}"
            )
            fix = "give a policy that was trained on this environment"
            raise InvalidProblem(what, fix=fix, where=where)


def _count_values(model: TableModel, name: str) -> int:
    kind = next(v.kind for v in model.encoding.variables if v.name == name)
    assert isinstance(kind, Int)
    assert kind.high is not None
    assert kind.low is not None
    return kind.high - kind.low + 1


def _possible_observations(model: TableModel, names: Sequence[str], width: int) -> list[tuple[Term, ...]]:
    """One-hot as Stable-Baselines3 shows Discrete and MultiDiscrete spaces, or the entries themselves."""
    found: list[tuple[Term, ...]] = []
    if sum(_count_values(model, name) for name in names) == width:
        found.append(tuple(t for name in names for t in one_hot_terms(name, model.encoding)))
    if _count_values(model, names[0]) == width and len(names) > 1 and model.encoding.cell_name() == names[0]:
        found.append(one_hot_terms(names[0], model.encoding))
    found.append(tuple(Var(name) for name in names))
    return found


def wire_action_table(
    table: ActionTable,
    environment: Environment,
    labels: Sequence[str],
    path: Path | None = None,
    *,
    observe: Sequence[Term] | None = None,
    default: Sequence[str] = (),
) -> ProgramPolicy:
    """The table as a policy; it observes what its file says, or `observe`, or the variables `default`."""
    where = "" if path is None else str(path)
    kinds = {v.name: v.kind for v in environment.variables}
    terms = tuple(observe or ())
    if not terms:
        names = table.observe or tuple(default)
        if table.observe is None and len(names) > 1 and len(table.lengths) == 1:
            names = names[:1]
        for name in names:
            if name not in kinds:
                raise InvalidProblem(
                    f"there is no variable `{name}`", fix=did_you_mean(name, kinds), where=where
                )
        terms = tuple(Var(name) for name in names)
    ranges = []
    for term in terms:
        low, high = term_interval(term, kinds)
        if not (isfinite(low) and isfinite(high) and is_whole(term, kinds)):
            what = f"`{show_term(term)}`, which the table observes, is no whole number with bounds"
            raise InvalidProblem(what, fix="observe bounded whole numbers", where=where)
        ranges.append((int(low), int(high)))
    return action_program(table, terms, tuple(labels), ranges)


def table_is_no_network(path: Path) -> InvalidProblem:
    """Options that are about networks were given."""
    what = "a table of actions has no outputs that could be wired, chosen among or normalised"
    fix = "leave out --actions, --choose, --output and --normalize; labels stand in the table"
    return InvalidProblem(what, fix=fix, where=str(path))


def environment_action_table(
    given: object, environment: Environment, observe: Sequence[Term] | None = None
) -> ProgramPolicy:
    """A table, of Python or in a file, as a policy of any environment with actions."""
    labels = environment_labels(environment)
    if not labels:
        raise InvalidProblem("the environment has no actions that a table could name", where="table")
    path = Path(given) if isinstance(given, str | PathLike) else None
    if path is None:
        table = table_from_python(given, labels)
    else:
        require_file(path)
        table = read_action_table(path, labels)
    names = [v.name for v in environment.variables if isinstance(v.kind, Int)]
    default = [n for n in names if n not in (ELAPSED, LOT)][: len(table.lengths)]
    return wire_action_table(table, environment, labels, path, observe=observe, default=default)
