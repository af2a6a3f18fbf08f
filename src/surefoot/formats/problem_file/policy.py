"""The policy of a problem file: a network with its wiring, or a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from surefoot.errors import InvalidProblem
from surefoot.formats.loaded_policy import LoadedPolicy
from surefoot.formats.policy_file import load_policy
from surefoot.formats.problem_file.declarations import Declarations
from surefoot.formats.toml_document import TomlEntry
from surefoot.formats.wiring import (
    KEYS,
    PolicyWiring,
    Vocabulary,
    WiringChanges,
    change_wiring,
    read_wiring,
    resolve_observations,
    wire_network,
    wiring_from_table,
    wiring_path,
)
from surefoot.problem.policy import NeuralPolicy
from surefoot.term.term import TRUE, Term

Load: TypeAlias = Callable[[Path, str | None], LoadedPolicy]  # a file, and which of its outputs


@dataclass(frozen=True, slots=True)
class NetworkFile:
    """A network that has not been read yet; without wiring, the file beside it says how it is wired."""

    path: Path
    wiring: PolicyWiring | None = None
    output: str | None = None  # which one, if the file has several
    changes: WiringChanges | None = None
    place: str = "policy"  # of it in the problem


@dataclass(frozen=True, slots=True)
class ProgramTable:
    """A program whose networks have not been read yet."""

    branches: tuple[tuple[Term, str | tuple[Term, ...] | NetworkFile], ...]
    actions: tuple[str, ...] = ()


def read_policy_table(entry: TomlEntry, folder: Path, declared: Declarations) -> ProgramTable | NetworkFile:
    """A program, or the file of a network with what the table says about it."""
    fields = entry.table("file", "program", *KEYS)
    declared.places["policy"] = entry
    if "program" in fields:
        if len(fields) > 1:
            entry.fail("a program beside other keys", "keep only `program`")
        return _read_program(fields["program"], folder, declared)
    if "file" not in fields:
        entry.fail("the policy has neither `file` nor `program`", 'write file = "policy.onnx"')
    return _read_network(fields, "policy", folder, declared)


def _read_network(
    fields: Mapping[str, TomlEntry], path: str, folder: Path, declared: Declarations
) -> NetworkFile:
    for key in ("file", *KEYS):
        if key in fields:
            declared.places[f"{path}.{key}"] = fields[key]
    network = folder / fields["file"].string()
    output = fields["output"].string() if "output" in fields else None
    wiring = {key: own for key, own in fields.items() if key not in ("file", "output")}
    known = wiring_from_table(wiring, folder, _model_vocabulary(declared)) if wiring else None
    return NetworkFile(network, known, output, place=path)


def _model_vocabulary(declared: Declarations) -> Vocabulary:
    return Vocabulary(declared.seen, declared.constants, declared.windows)


def wire_network_file(network: NetworkFile, declared: Declarations, load: Load | None) -> NeuralPolicy:
    """The policy in a network file."""
    wiring = network.wiring
    if wiring is None:
        beside = wiring_path(network.path)
        if not beside.is_file():
            what = "nothing says what the network observes"
            fix = f"add `observe` and `actions`, or write {beside.name} beside it"
            raise InvalidProblem(what, fix=fix, where=str(network.path))
        wiring = read_wiring(beside, _model_vocabulary(declared))
    if network.changes is not None:
        wiring = change_wiring(wiring, network.changes)
    output = wiring.output if network.output is None else network.output
    loaded = load_policy(network.path, output=output) if load is None else load(network.path, output)
    known = replace(wiring, observe=resolve_observations(wiring.observe, _model_vocabulary(declared)))
    return wire_network(loaded.network, known, loaded.notes)


def _read_program(entry: TomlEntry, folder: Path, declared: Declarations) -> ProgramTable:
    fields = entry.table("branches", "actions")
    if "branches" not in fields:
        entry.fail("the program has no `branches`", 'write branches = [{ when = "x > 0", action = "left" }]')
    branches: list[tuple[Term, str | tuple[Term, ...] | NetworkFile]] = []
    for own in fields["branches"].entries():
        path = f"policy.branches[{len(branches)}]"
        declared.places[path] = own
        branches.append(_read_branch(own, path, folder, declared))
    return ProgramTable(tuple(branches), fields["actions"].strings() if "actions" in fields else ())


def _read_branch(
    entry: TomlEntry, path: str, folder: Path, declared: Declarations
) -> tuple[Term, str | tuple[Term, ...] | NetworkFile]:
    fields: Mapping[str, TomlEntry] = entry.table("when", "action", "controls", "network")
    when: Term = TRUE
    if "when" in fields:
        declared.places[f"{path}.when"] = fields["when"]
        when = fields["when"].term(declared.seen, declared.constants)
    if sum(key in fields for key in ("action", "controls", "network")) != 1:
        entry.fail("a branch needs one of `action`, `controls` and `network`", 'write action = "left"')
    if "action" in fields:
        declared.places[f"{path}.then"] = fields["action"]
        return when, fields["action"].string()
    if "network" in fields:
        own = fields["network"].table("file", *KEYS)
        if "file" not in own:
            fields["network"].fail("the network has no `file`", 'write file = "policy.onnx"')
        declared.places[f"{path}.then"] = fields["network"]
        return when, _read_network(own, f"{path}.then", folder, declared)
    values = fields["controls"].entries()
    declared.places.update({f"{path}.then[{i}]": e for i, e in enumerate(values)})
    return when, tuple(e.term(declared.seen, declared.constants) for e in values)
