"""The .jani2nnet file beside a network: what each input reads, what each output means."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean, locate_errors
from surefoot.formats.jani import JaniModel
from surefoot.formats.untrusted.regular_file import read_input_bytes
from surefoot.formats.wiring import PolicyWiring as ModelWiring
from surefoot.problem.network import Affine, Network
from surefoot.problem.policy import Choose
from surefoot.term.reserved_names import location_key
from surefoot.term.term import Const, Term, Var

MOST_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Automaton:
    """An automaton instance: its name and its position in the model's composition."""

    name: str
    index: int


@dataclass(frozen=True, slots=True)
class WiredInput:
    """One network input: a variable, an array element (`index`), or the location number of an automaton."""

    name: str | None  # None: the location of `automaton`
    automaton: Automaton | None = None  # None: the variable is global
    index: int | None = None


@dataclass(frozen=True, slots=True)
class Jani2NnetWiring:
    network: str  # as written: relative to the folder of the .jani2nnet file
    inputs: tuple[WiredInput, ...]
    outputs: tuple[str, ...]  # action labels
    hidden: tuple[int, ...]  # sizes of the hidden layers
    filtered: bool = False  # whether the policy chooses among the applicable actions only


def read_jani2nnet(path: Path) -> Jani2NnetWiring:
    """The wiring of a network to a JANI model."""
    where = str(path)
    data = read_input_bytes(path)
    if len(data) > MOST_BYTES:
        raise InvalidProblem(f"the file has {len(data)} bytes, more than {MOST_BYTES}", where=where)
    try:
        fields = json.loads(data, object_pairs_hook=_without_duplicates)
    except InvalidProblem as problem:
        raise problem.at(where) from None
    except json.JSONDecodeError as problem:
        at = f"{where}:{problem.lineno}:{problem.colno}"
        raise InvalidProblem(f"not JSON: {problem.msg}", where=at) from problem
    except (ValueError, RecursionError) as problem:
        raise InvalidProblem("not JSON", where=where) from problem
    with locate_errors(where):
        return _parse_wiring(fields)


def wire_to_model(model: JaniModel, wiring: Jani2NnetWiring) -> ModelWiring:
    """The same wiring in the names of a model; `filter` means: choose among the applicable actions."""
    observe = tuple(_observed_term(model, entry, f"input[{i}]") for i, entry in enumerate(wiring.inputs))
    choose = Choose.ARGMAX_APPLICABLE if wiring.filtered else Choose.ARGMAX
    return ModelWiring(observe, wiring.outputs, choose)


def check_layers(wiring: Jani2NnetWiring, network: Network) -> None:
    """The sizes of hidden layers that the file states are those of the network."""
    sizes = [node.bias.size for node in network.nodes if isinstance(node, Affine)][:-1]
    stated = list(wiring.hidden)
    if stated and stated != sizes[-len(stated) :]:
        what = f"`elements` says that the hidden layers have {stated} neurons, in the network it is {sizes}"
        raise InvalidProblem(what, fix="name the network that is meant", where="elements")


def _observed_term(model: JaniModel, entry: WiredInput, where: str) -> Term:
    components = model.environment.components
    owner = entry.automaton
    if owner is not None and owner.index >= len(components):
        raise InvalidProblem(f"the model has {len(components)} automata", where=f"{where}.automaton.index")
    found = "" if owner is None else components[owner.index].name
    if owner is not None and found != owner.name and not found.startswith(f"{owner.name}_"):
        what = f"automaton {owner.index} of the model is `{found}`, not `{owner.name}`"
        raise InvalidProblem(what, fix="give the index of the one that is meant", where=f"{where}.automaton")
    if entry.name is None:
        component = components[owner.index if owner else 0]
        return Var(location_key(component.name)) if len(component.locations) > 1 else Const(0)
    place = None if owner is None else owner.index
    if (place, entry.name) not in model.names:
        known = [name for at, name in model.names if at == place]
        fix = did_you_mean(entry.name, known)
        raise InvalidProblem(f"the model has no variable `{entry.name}`", fix=fix, where=where)
    variable = Var(model.names[place, entry.name])
    return variable if entry.index is None else variable[entry.index]


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise InvalidProblem("a key occurs twice in one object")
    return fields


def _parse_wiring(fields: Any) -> Jani2NnetWiring:
    if not isinstance(fields, dict):
        raise InvalidProblem("an object expected")
    _check_keys(fields, ("file", "input", "output", "elements", "filter"), "")
    inputs = [_parse_input(entry, f"input[{i}]") for i, entry in enumerate(_require_list(fields, "input"))]
    outputs = [
        _parse_output(entry, f"output[{i}]") for i, entry in enumerate(_require_list(fields, "output"))
    ]
    if len(set(inputs)) != len(inputs):
        raise InvalidProblem("two inputs read the same", where="input")
    if len(set(outputs)) != len(outputs):
        raise InvalidProblem("two outputs mean the same action", where="output")
    file = fields.get("file")
    if not isinstance(file, str) or not file:
        raise InvalidProblem("the name of the network file is missing", where="file")
    hidden = fields.get("elements", [])
    if not isinstance(hidden, list) or not all(type(n) is int and n > 0 for n in hidden):
        raise InvalidProblem("a list of positive layer sizes expected", where="elements")
    filtered = fields.get("filter", False)
    if not isinstance(filtered, bool):
        raise InvalidProblem("true or false expected", where="filter")
    return Jani2NnetWiring(file, tuple(inputs), tuple(outputs), tuple(hidden), filtered)


def _check_keys(table: dict[str, Any], known: tuple[str, ...], where: str) -> None:
    """Nothing is passed over; `x-…` keys, `comment` and `metadata` tell nothing."""
    for key in table:
        if key not in (*known, "comment", "metadata") and not key.startswith("x-"):
            raise InvalidProblem(f"unknown key `{key}`", fix=did_you_mean(key, known), where=where)


def _require_list(fields: dict[str, Any], key: str) -> list[Any]:
    entries = fields.get(key)
    if not isinstance(entries, list) or not entries:
        raise InvalidProblem("a list with at least one entry expected", where=key)
    return entries


def _parse_input(entry: Any, where: str) -> WiredInput:
    """An object with `automaton` is a variable or array element; without it, the location of an automaton."""
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        raise InvalidProblem('an object with a "name" expected', where=where)
    _check_keys(entry, ("name", "automaton", "index"), where)
    if "automaton" not in entry:
        return WiredInput(None, _parse_automaton(entry, where))
    owner = entry["automaton"]
    automaton = None if owner is None else _parse_automaton(owner, f"{where}.automaton")
    return WiredInput(name, automaton, _parse_index(entry, where) if "index" in entry else None)


def _parse_automaton(entry: Any, where: str) -> Automaton:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name:
        raise InvalidProblem("an automaton with name and index expected", where=where)
    _check_keys(entry, ("name", "index"), where)
    return Automaton(name, _parse_index(entry, where))


def _parse_index(entry: dict[str, Any], where: str) -> int:
    index = entry.get("index")
    if type(index) is not int or index < 0:
        raise InvalidProblem("an index of 0 or more expected", where=where)
    return index


def _parse_output(entry: Any, where: str) -> str:
    if isinstance(entry, dict):
        raise Unsupported("an output that lists edges", fix="name the action label", where=where)
    if not isinstance(entry, str) or not entry:
        raise InvalidProblem("an action label expected", where=where)
    return entry
