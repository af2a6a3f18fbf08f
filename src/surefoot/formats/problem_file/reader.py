"""Read a problem file: one problem for each of its properties."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from surefoot.errors import InvalidProblem, SurefootError, did_you_mean, locate_errors
from surefoot.formats.output_nodes import CONTROLS
from surefoot.formats.problem_file.declarations import Declarations, Override, read_declarations
from surefoot.formats.problem_file.environment import read_environment_tables
from surefoot.formats.problem_file.policy import (
    Load,
    NetworkFile,
    ProgramTable,
    read_policy_table,
    wire_network_file,
)
from surefoot.formats.question_text import own_question_scope, parse_question_text, plain_question
from surefoot.formats.tables.action_table import names_action_table
from surefoot.formats.tables.policy_wiring import environment_action_table, table_is_no_network
from surefoot.formats.toml_document import TomlEntry, parse_toml_document, read_toml_document
from surefoot.formats.untrusted.regular_file import NO_SUCH_FILE, error_in_file
from surefoot.formats.wiring import PolicyWiring, WiringChanges, wiring_path
from surefoot.problem.environment import Environment
from surefoot.problem.policy import Branch, NeuralPolicy, Policy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Property
from surefoot.problem.property_parser import parse_property
from surefoot.problem.validate import environment_labels, validate_problem
from surefoot.problem.validate.distribution import normalise_probabilities

KEYS = (
    "name",
    "arithmetic",
    "initial",
    "starts",
    "constants",
    "variables",
    "windows",
    "controls",
    "edges",
    "components",
    "synchronisations",
    "flow",
    "definitions",
    "overapproximate",
    "normalised",
    "notes",
    "policy",
    "properties",
)


def read_problem_file(
    path: str | Path,
    *,
    property: str | None = None,
    constants: Mapping[str, Override] | None = None,
    policy: str | Path | None = None,
    wiring: PolicyWiring | WiringChanges | None = None,
    output: str | None = None,
    load: Load | None = None,
    normalise: bool = False,
) -> Problem:
    """The problem in a file. `property` is the name of one of its properties, or a property as text.

    `constants` replace values of the file, `policy` and `wiring` (or parts of it) its policy, `output` says
    which output of the network decides; `load` reads network files. `normalise`: probabilities that add up to
    1 within 1e-9 are divided by their sum.
    """
    file = _read_file(Path(path), constants or {}, normalise)
    name, asked = _select_property(file, property)
    return _build_problem(file, name, asked, _select_policy(file, policy, wiring, output, load))


def read_problems(
    path: str | Path,
    *,
    constants: Mapping[str, Override] | None = None,
    policy: str | Path | None = None,
    wiring: PolicyWiring | WiringChanges | None = None,
    output: str | None = None,
    load: Load | None = None,
    normalise: bool = False,
) -> dict[str, Problem]:
    """Every problem in a file, by the name of its property."""
    file = _read_file(Path(path), constants or {}, normalise)
    if not file.properties:
        raise _no_property(file)
    acting = _select_policy(file, policy, wiring, output, load)
    return {name: _build_problem(file, name, asked, acting) for name, asked in file.properties.items()}


def find_property_lines(path: str | Path) -> dict[str, int]:
    """In which lines of a problem file its properties stand, as far as there is no doubt about that."""
    with _name_file(Path(path)):
        top = read_toml_document(Path(path)).table(*KEYS)
        entries = top["properties"].table() if "properties" in top else {}
        return {name: line for name, entry in entries.items() if (line := entry.line()) is not None}


def list_network_files(path: Path) -> list[NetworkFile]:
    """The networks that the policy of a problem file names, each with how it is wired there."""
    own = _read_file(path, {}, False).policy
    named = [own] if isinstance(own, NetworkFile) else []
    if isinstance(own, ProgramTable):
        named += [then for _, then in own.branches if isinstance(then, NetworkFile)]
    return named


@dataclass(frozen=True, slots=True)
class _File:
    """A problem file before its network has been read."""

    path: Path
    name: str
    declared: Declarations
    environment: Environment
    policy: ProgramTable | NetworkFile | None
    properties: dict[str, Property]


def _read_file(path: Path, constants: Mapping[str, Override], normalise: bool) -> _File:
    with _name_file(path):
        return _read_tables(path, read_toml_document(path), constants, normalise)


def _read_tables(
    path: Path, document: TomlEntry, constants: Mapping[str, Override], normalise: bool
) -> _File:
    top = document.table(*KEYS)
    name = top["name"].string() if "name" in top else path.stem
    declared = read_declarations(top, constants)
    setting = read_environment_tables(name, top, declared)
    if normalise:
        setting = normalise_probabilities(setting)
    acting = read_policy_table(top["policy"], path.parent, declared) if "policy" in top else None
    if isinstance(acting, ProgramTable) and not acting.actions and not setting.controls:
        acting = replace(acting, actions=environment_labels(setting))
    meant = {**declared.constants, **dict(setting.definitions)}
    properties: dict[str, Property] = {}
    for key, entry in top["properties"].table().items() if "properties" in top else ():
        properties[key] = entry.inside(lambda t: parse_property(t, names=declared.acting, constants=meant))
        declared.places[f"property {key}"] = entry
    return _File(path, name, declared, setting, acting, properties)


def parse_problem_text(
    text: str, path: Path, *, load: Load | None = None
) -> tuple[Environment, Policy | None, dict[str, Property]]:
    """What the text of a problem file says; names of files in it are relative to the folder of `path`."""
    with _name_file(path):
        file = _read_tables(path, parse_toml_document(text), {}, False)
    return file.environment, _select_policy(file, None, None, None, load), file.properties


def _select_property(file: _File, asked: str | None) -> tuple[str, Property]:
    known = file.properties
    if asked is None:
        if len(known) == 1:
            return next(iter(known.items()))
        if not known:
            raise _no_property(file)
        fix = f"choose one of {', '.join(f'`{n}`' for n in known)}"
        raise InvalidProblem(
            f"the file has {len(known)} properties", fix=fix, where=f"{file.path}:properties"
        )
    if asked in known:
        return asked, known[asked]
    if asked.isidentifier():
        what = f"the file has no property `{asked}`"
        raise InvalidProblem(what, fix=did_you_mean(asked, known), where=f"{file.path}:properties")
    with locate_errors("property"):
        names = file.declared.acting
        meant = {**file.declared.constants, **dict(file.environment.definitions)}
        prism = own_question_scope(file.environment, meant)
        found = parse_question_text(asked, names=names, constants=meant, prism=prism)
        return "property", plain_question(found)


def _no_property(file: _File) -> InvalidProblem:
    fix = 'add [properties] with a line such as safe = "never x > 10"'
    return InvalidProblem("the file has no property", fix=fix, where=f"{file.path}:properties")


def _select_policy(
    file: _File,
    network: str | Path | None,
    wiring: PolicyWiring | WiringChanges | None,
    output: str | None,
    load: Load | None,
) -> Policy | None:
    """The given policy, else that of the file; wired as given, as told beside it, or as in the file."""
    own = file.policy
    changes, whole = (wiring, None) if isinstance(wiring, WiringChanges) else (None, wiring)
    if network is not None and names_action_table(Path(network)):
        if changes is not None or output is not None:
            raise table_is_no_network(Path(network))
        terms = None if whole is None else whole.observe
        return environment_action_table(network, file.environment, terms)
    if network is not None:
        given = NetworkFile(Path(network), whole)
        if whole is None and isinstance(own, NetworkFile) and not wiring_path(given.path).is_file():
            given = replace(own, path=given.path)
    elif isinstance(own, NetworkFile):
        given = own if whole is None else replace(own, wiring=whole)
    elif wiring is not None:
        what = "there is no network that could be wired"
        raise InvalidProblem(what, fix="give one with --policy", where=str(file.path))
    elif output is not None:
        what = f"there is no network that could have an output `{output}`"
        raise InvalidProblem(what, fix="leave --output out, or give --policy", where=str(file.path))
    elif isinstance(own, ProgramTable):
        rules = (
            (when, _wire_network(file, then, load) if isinstance(then, NetworkFile) else then)
            for when, then in own.branches
        )
        return ProgramPolicy(tuple(Branch(when, then) for when, then in rules), own.actions)
    else:
        return None
    given = replace(given, output=given.output if output is None else output, changes=changes)
    return _wire_network(file, given, load, named=network is not None)


def _wire_network(file: _File, given: NetworkFile, load: Load | None, *, named: bool = False) -> NeuralPolicy:
    """The policy in a network file; what is wrong in the problem file is told with its place there."""
    try:
        return wire_network_file(given, file.declared, load)
    except InvalidProblem as error:
        if not os.path.exists(given.path):
            if named:
                raise InvalidProblem(NO_SUCH_FILE, fix="check the path", where=str(given.path)) from None
            what, fix, key = NO_SUCH_FILE, "check the path, which is relative to this file", "file"
        elif error.where == CONTROLS:
            what, fix, key = error.what, error.fix, CONTROLS
        else:
            raise
        place = file.declared.places.get(f"{given.place}.{key}")
        if place is None:  # it stands in a file beside the network
            raise
        raise error_in_file(InvalidProblem(what, fix=fix, where=place.place()), file.path) from None


def _build_problem(file: _File, name: str, asked: Property, acting: Policy | None) -> Problem:
    problem = Problem(f"{file.name}/{name}", file.environment, acting, asked)
    with _name_file(file.path):
        try:
            validate_problem(problem, controlled=False)  # a question for `surefoot shield` has nobody yet
        except InvalidProblem as error:
            where = _place_in_file(error.where, name, file.declared.places)
            raise InvalidProblem(error.what, fix=error.fix, where=where) from None
    return problem


def _place_in_file(where: str, name: str, places: Mapping[str, TomlEntry]) -> str:
    """The place in the file of a part of the problem, or of the smallest part around it that is known."""
    known = re.sub(r"\Aproperty\b.*", lambda _: f"property {name}", where)
    while known and known not in places:
        known = re.sub(r"(?:\.[^.\[]*|\[\d*\]|[^.\[]+)\Z", "", known)
    return places[known].place() if known else where


@contextmanager
def _name_file(path: Path) -> Iterator[None]:
    """Errors get the name of the file in front."""
    try:
        yield
    except SurefootError as error:
        raise error_in_file(error, path) from None
