"""PlaJA's property `PA`: can `reach` be reached from `start` under a policy? With predicates to abstract by.

A question stands among the properties of a model or in a file beside it; `start`, `reach`, `objective` and
`predicates` may be files of their own, `file` names the wiring of the policy. The start states are those of
the condition or list, and the initial state of the model; without `reach` only the abstraction is asked for.
Runs end in the goal of the objective, unless they are asked to go on. The model is read once more with these
starts, so that every condition is read as any other of a JANI model is. A key that would be left out is an
error; what an objective says about training is named in a note.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from surefoot.errors import InvalidProblem, SurefootError, Unsupported, did_you_mean, locate_errors
from surefoot.formats.jani.declarations import ConstantOverride
from surefoot.formats.jani.export.terms import balanced_expression
from surefoot.formats.jani.json_document import JsonNode, read_json_document
from surefoot.formats.jani.properties import TRAINING
from surefoot.formats.jani.reader import JaniModel, model_from_document
from surefoot.formats.jani2nnet import check_layers, read_jani2nnet, wire_to_model
from surefoot.formats.policy_file import load_policy
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, NeverBefore
from surefoot.term.term import Term

Json: TypeAlias = Any
KEYS = ("op", "file", "start", "reach", "objective", "predicates")
NOWHERE = {"op": "state-condition", "exp": False}


@dataclass(frozen=True, slots=True)
class PlajaProperty:
    problem: Problem
    predicates: tuple[Term, ...]
    files: tuple[Path, ...]  # that were read besides the model
    goal: Term | None = None  # of the objective, whether or not runs end in it
    wiring: Path | None = None  # of the policy that it names


def read_plaja_properties(
    path: Path,
    questions: Path | None = None,
    constants: Mapping[str, ConstantOverride] | None = None,
    wanted: Container[str] | None = None,
    *,
    goal: bool = True,
    normalise: bool = False,
) -> dict[str, PlajaProperty]:
    """All questions with the operator `PA`, or those that are wanted, by name.

    `goal`: runs end there. `normalise` as for a model.
    """
    where = questions or path
    model = _read_object(path)
    found: dict[str, PlajaProperty] = {}
    for entry in _read_object(where).get("properties", []):
        asked = entry.get("expression", {}) if isinstance(entry, dict) else {}
        if isinstance(asked, dict) and asked.get("op") == "PA":
            name = str(entry.get("name"))
            if wanted is not None and name not in wanted:
                continue
            try:
                _check_keys(entry, ("name", "expression"))
                found[name] = _read_property(model, name, asked, where, constants or {}, goal, normalise)
            except SurefootError as error:
                raise error.at(f"{where}: `{name}`") from None
            except (AttributeError, KeyError, TypeError) as error:
                what = f"the question is not written as PlaJA's are: {error}"
                fix = "compare `start`, `reach` and `predicates` with those of another model"
                raise InvalidProblem(what, fix=fix, where=f"{where}: `{name}`") from None
    return found


def _read_object(path: Path) -> dict[str, Json]:
    with locate_errors(str(path)):
        top = read_json_document(path).value
    if not isinstance(top, dict):
        raise InvalidProblem("an object is needed here", fix="write { … }", where=str(path))
    return top


def _read_property(
    model: dict[str, Json],
    name: str,
    asked: dict[str, Json],
    where: Path,
    constants: Mapping[str, ConstantOverride],
    goal: bool,
    normalise: bool,
) -> PlajaProperty:
    _check_keys(asked, KEYS)
    files: list[Path] = [] if where.suffix != ".jani" else [where]

    def inline_file(value: Json) -> Json:
        if isinstance(value, dict) and set(value) == {"file"}:
            files.append(where.parent / str(value["file"]))
            with locate_errors(str(files[-1])):
                value = read_json_document(files[-1]).value
        return _drop_empty_lets(value)

    given = inline_file(asked.get("predicates", []))
    if not isinstance(given, list):
        raise InvalidProblem("a list of predicates is needed", fix="write [ … ]")
    reach = inline_file(asked["reach"]) if "reach" in asked else NOWHERE
    aims = inline_file(asked.get("objective", {"op": "objective"}))
    _check_keys(aims, ("op", "goal", *TRAINING))
    conditions = [reach, aims.get("goal", NOWHERE), *({"op": "state-condition", "exp": p} for p in given)]
    document = dict(model)
    document["properties"] = [
        {"name": str(number), "expression": {"op": "PA", "reach": condition}}
        for number, condition in enumerate(conditions)
    ]
    if "start" in asked:
        document |= _with_starts(model, inline_file(asked["start"]))
    read = model_from_document(JsonNode(document), constants, normalise=normalise)
    for error in read.refused.values():
        raise error
    terms = [p.bad for p in read.properties.values() if isinstance(p, Never)]
    wiring = where.parent / str(asked["file"]) if "file" in asked else None
    policy = None if wiring is None else _read_policy(read, wiring, files)
    ends = terms[1] if "goal" in aims else None
    told = tuple(_objective_notes(aims, goal))
    environment = replace(read.environment, notes=(*read.environment.notes, *told))
    bad = Never(terms[0]) if ends is None or not goal else NeverBefore(terms[0], ends)
    problem = Problem(f"{read.name}/{name}", environment, policy, bad)
    return PlajaProperty(problem, tuple(terms[2:]), tuple(files), ends, wiring)


def _objective_notes(aims: Mapping[str, Json], goal: bool) -> Iterator[str]:
    """What of an objective is no part of the question."""
    if "goal" in aims and not goal:
        yield "runs go on beyond the goal of the objective, as asked"
    if training := [f"`{key}`" for key in TRAINING if key in aims]:
        yield f"{', '.join(training)} of the objective say what training was rewarded for; not asked about"


def _check_keys(table: Json, known: Sequence[str]) -> None:
    """Nothing of a question is passed over; `x-…` keys, `comment` and `metadata` tell nothing."""
    for key in table:
        if key not in (*known, "comment", "metadata") and not key.startswith("x-"):
            raise InvalidProblem(f"unknown key `{key}`", fix=did_you_mean(key, known))


def _drop_empty_lets(value: Json) -> Json:
    """Without `let` that declares nothing."""
    if isinstance(value, list):
        return [_drop_empty_lets(v) for v in value]
    if not isinstance(value, dict):
        return value
    if value.get("op") == "let":
        if value.get("variables"):
            raise Unsupported("`let` is not supported", fix="write the values where they are used")
        return _drop_empty_lets(value["expression"])
    return {key: _drop_empty_lets(v) for key, v in value.items()}


def _with_starts(model: dict[str, Json], start: Json) -> dict[str, Json]:
    """Variables and restriction of a model that starts there, or where it did before."""
    first = {
        v["name"]: v["initial-value"]
        for v in model.get("variables", [])
        if "initial-value" in v and not v.get("transient") and not _is_array(v)
    }
    match start:
        case {"op": "state-condition"}:
            _check_keys(start, ("op", "exp", "locations"))
            _check_places(model, start.get("locations", []))
            several = [start.get("exp", True)]
        case {"op": "states-values", "values": [*states]}:
            _check_keys(start, ("op", "values"))
            several = [_state_condition(first | _listed_values(model, s)) for s in states]
        case _:
            raise Unsupported(
                "such start states are not supported", fix="use `state-condition` or `states-values`"
            )
    variables = [
        {k: v for k, v in entry.items() if k != "initial-value" or entry["name"] not in first}
        for entry in model.get("variables", [])
    ]
    starts = balanced_expression("∨", [*several, _state_condition(first)])
    if "restrict-initial" in model:
        raise Unsupported(
            "other starts of a model with `restrict-initial` are not supported", fix="leave it out"
        )
    return {"variables": variables, "restrict-initial": {"exp": starts}}


def _listed_values(model: dict[str, Json], state: Json) -> dict[str, Json]:
    """The values that one state of a list gives to variables."""
    _check_keys(state, ("variables", "locations"))
    _check_places(model, state.get("locations", []))
    for value in state["variables"]:
        _check_keys(value, ("var", "value"))
    return {v["var"]: v["value"] for v in state["variables"]}


def _is_array(variable: dict[str, Json]) -> bool:
    return isinstance(variable["type"], dict) and variable["type"].get("kind") == "array"


def _state_condition(values: Mapping[str, Json]) -> Json:
    equalities = [_equality_condition(name, value) for name, value in values.items()]
    return balanced_expression("∧", equalities) if equalities else True


def _equality_condition(name: str, value: Json) -> Json:
    if isinstance(value, bool):
        return name if value else {"op": "¬", "exp": name}
    return {"op": "=", "left": name, "right": value}


def _check_places(model: dict[str, Json], places: Sequence[Json]) -> None:
    automata = {a["name"]: a for a in model["automata"]}
    for place in places:
        _check_keys(place, ("automaton", "index", "location"))
        automaton = automata.get(place["automaton"])
        if automaton is None or automaton["initial-locations"] != [place["location"]]:
            raise Unsupported(
                f"a start in `{place['location']}` is not supported", fix="start where the automaton starts"
            )


def _read_policy(model: JaniModel, path: Path, files: list[Path]) -> NeuralPolicy:
    if path.suffix != ".jani2nnet":
        raise Unsupported("a policy without its wiring is not supported", fix="name a .jani2nnet file")
    described = read_jani2nnet(path)
    network = path.parent / described.network
    files += [path, network]
    wiring = wire_to_model(model, described)
    loaded = load_policy(network)
    with locate_errors(str(path)):
        check_layers(described, loaded.network)
    return NeuralPolicy(loaded.network, wiring.observe, wiring.actions, wiring.choose)
