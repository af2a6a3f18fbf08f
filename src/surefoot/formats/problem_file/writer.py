"""Environment, policy and properties as the text of a problem file that reads back as the same data.

What is written is read again before it is given to anybody: what a problem file cannot say is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem, SurefootError, Unsupported
from surefoot.formats.loaded_policy import LoadedPolicy
from surefoot.formats.normalization import Normalization, prepend_normalization, read_normalization
from surefoot.formats.output_nodes import append_output_terms
from surefoot.formats.policy_file import load_policy
from surefoot.formats.problem_file.canonical_terms import (
    canonical_environment,
    count_written_parts,
    with_canonical_terms,
)
from surefoot.formats.problem_file.environment import MAIN
from surefoot.formats.problem_file.policy import NetworkFile
from surefoot.formats.problem_file.reader import list_network_files, parse_problem_text
from surefoot.formats.toml_document import MOST_BYTES
from surefoot.formats.toml_text import write_toml_document
from surefoot.formats.wiring import read_wiring, wiring_path
from surefoot.problem.environment import Choice, Component, Control, Edge, Environment, Law, Outcome, Update
from surefoot.problem.flow import Flow
from surefoot.problem.network import Network
from surefoot.problem.policy import EdgesOf, NeuralPolicy, OraclePolicy, Policy, ProgramPolicy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Property
from surefoot.problem.property_printer import show_property
from surefoot.problem.validate import environment_labels
from surefoot.term.decimal_literals import show_number
from surefoot.term.printer import show_term
from surefoot.term.term import TRUE, Const, Term, Var
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, ValueType

_REPEATED = ("edges", "components", "outcomes", "synchronisations")
_HERE = Component("", ()).locations  # of a component that does not say
WIRING_SUFFIX = ".wiring.toml"  # of what stands beside a network
_MOST_GROUPS = 1_000  # of updates that happen one after the other


def write_problem_file(
    environment: Environment,
    properties: Mapping[str, Property] | None = None,
    policy: Policy | None = None,
    *,
    path: Path,
    networks: Sequence[Path] = (),
) -> str:
    """The text of a problem file that will stand at `path`; a network is named by its file.

    `networks` are the files that the networks of the policy may have come from, and those of statistics.
    """
    if (parts := count_written_parts(environment, tuple((properties or {}).values()), policy)) > MOST_BYTES:
        raise _too_large(f"more than {parts}" if parts < 10**12 else "more than 10^12")
    arithmetic = environment.arithmetic
    environment = canonical_environment(environment)
    asked: dict[str, Property] = {
        name: with_canonical_terms(one, arithmetic) for name, one in (properties or {}).items()
    }
    policy = with_canonical_terms(policy, arithmetic)
    labels = () if environment.controls else environment_labels(environment)
    top = _environment_table(environment)
    if policy is not None:
        top["policy"] = _policy_table(policy, labels, path, networks)
    if asked:
        top["properties"] = {name: show_property(one) for name, one in asked.items()}
    text = write_toml_document(top, _REPEATED)
    if (size := len(text.encode())) > MOST_BYTES:
        raise _too_large(str(size))
    _check_same(text, path, environment, asked, policy)
    return text


def write_problems(problems: Mapping[str, Problem], *, path: Path, networks: Sequence[Path] = ()) -> str:
    """The text of one problem file for problems that differ in what is asked, by the name of the property."""
    if not problems:
        raise InvalidProblem("there is no problem to be written", fix="give at least one")
    first, *others = problems.values()
    for other in others:
        if other.environment != first.environment:
            raise InvalidProblem(
                "the problems have different environments", fix="write one of them (--property)"
            )
        if other.policy is not first.policy and _policy_content(other.policy) != _policy_content(
            first.policy
        ):
            raise InvalidProblem("the problems have different policies", fix="write one of them (--property)")
    asked = {name: problem.property for name, problem in problems.items()}
    return write_problem_file(first.environment, asked, first.policy, path=path, networks=networks)


def _check_same(
    text: str, path: Path, environment: Environment, asked: Mapping[str, Property], policy: Policy | None
) -> None:
    """Refuse what would be read back as something else, by the name of the part."""
    known: dict[tuple[Path, str | None], LoadedPolicy] = {}

    def load(file: Path, output: str | None) -> LoadedPolicy:
        if (file, output) not in known:
            known[file, output] = load_policy(file, output=output)
        return known[file, output]

    try:
        copy, acting, questions = parse_problem_text(text, path, load=load)
    except SurefootError as error:
        what = f"the problem file could not be read back: {error.what}"
        raise Unsupported(what, fix=error.fix or "write it as JANI") from None
    for part in fields(Environment):
        if getattr(copy, part.name) != getattr(environment, part.name):
            raise _unequal_part(f"`{part.name}` of the environment")
    if questions != asked:
        raise _unequal_part("a property")
    if _policy_content(acting) != _policy_content(policy):
        raise _unequal_part("the policy")


def _too_large(size: str) -> Unsupported:
    what = f"the problem file would have {size} bytes, and {MOST_BYTES} are read"
    return Unsupported(what, fix="make the model smaller, or write it as JANI")


def _unequal_part(what: str) -> Unsupported:
    fix = "write it as JANI, or build it in Python"
    return Unsupported(f"{what} says what a problem file cannot say in the same words", fix=fix)


def _policy_content(policy: Policy | None) -> object:
    """What makes two policies the same: networks by what they compute."""
    match policy:
        case NeuralPolicy(network, observe, actions, choose):
            wired = (network.digest(), network.head, network.scores, network.indices)
            return ("network", wired, observe, actions, choose)
        case ProgramPolicy(branches, actions):
            told = [
                (b.when, b.then if isinstance(b.then, str | tuple) else _policy_content(b.then))
                for b in branches
            ]
            return ("program", told, actions)
        case _:
            return policy


# --- the environment -------------------------------------------------------------------------------------


def _environment_table(environment: Environment) -> dict[str, Any]:
    top: dict[str, Any] = {"name": environment.name}
    if environment.arithmetic is not Arithmetic.EXACT:
        top["arithmetic"] = environment.arithmetic.value
    if environment.initial != TRUE:
        top["initial"] = show_term(environment.initial)
    if environment.overapproximate:
        top["overapproximate"] = True
    for key in ("notes", "normalised"):
        if told := getattr(environment, key):
            top[key] = list(told)
    top["variables"] = _unique("variable", [(v.name, _kind_text(v.kind)) for v in environment.variables])
    optional: dict[str, list[tuple[str, Any]]] = {
        "starts": [(name, _law_text(law)) for name, law in environment.start_laws],
        "controls": [(c.name, _control_value(c)) for c in environment.controls],
        "definitions": [(name, show_term(term)) for name, term in environment.definitions],
    }
    top |= {key: _unique(key, pairs) for key, pairs in optional.items() if pairs}
    if environment.flow is not None:
        top["flow"] = _flow_table(environment.flow)
    match environment.components:
        case (Component(name, edges, locations, initial),) if (
            name == MAIN and locations == _HERE and initial == _HERE
        ):
            top["edges"] = [_edge_table(edge) for edge in edges]
        case components:
            top["components"] = [_component_table(component) for component in components]
    if environment.synchronisations:
        names = [c.name for c in environment.components]
        top["synchronisations"] = [
            _synchronisation_table(names, vector.actions, vector.result)
            for vector in environment.synchronisations
        ]
    return top


def _unique(what: str, pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise Unsupported(f"a name stands twice among what a table holds ({what})", fix="rename one of them")
    return table


def _kind_text(kind: ValueType) -> str:
    match kind:
        case Bool():
            return "bool"
        case Int(None, None):
            return "int"
        case Int(int(low), int(high)):
            return f"int {show_number(low)}..{show_number(high)}"
        case Int(low, high):
            return f"int {_limits_text(low, high)}"
        case Array(element, length):
            return f"array {length} of {_kind_text(element)}"
        case _:
            return f"{'float32' if kind.float32 else 'real'} {_limits_text(kind.low, kind.high)}".rstrip()


def _limits_text(low: Fraction | int | None, high: Fraction | int | None) -> str:
    if low is None:
        return "" if high is None else f"<= {show_number(high)}"
    return f">= {show_number(low)}" if high is None else f"[{show_number(low)}, {show_number(high)}]"


def _law_text(law: Law) -> str:
    return f"{law.name}({', '.join(map(show_number, law.parameters))})"


def _control_value(control: Control) -> str | dict[str, Any]:
    limits = _limits_text(control.low, control.high)
    return limits if control.clipped else {"limits": limits, "clipped": False}


def _flow_table(flow: Flow) -> dict[str, Any]:
    table: dict[str, Any] = {"step": show_number(flow.step)}
    if flow.period is not None:
        table["period"] = show_number(flow.period)
    table["method"] = flow.method
    if flow.continuous:
        table["time"] = "continuous"
    rates = [(name, show_term(rate)) for name, rate in flow.derivatives]
    return {**table, "derivatives": _unique("derivatives", rates)}


def _component_table(component: Component) -> dict[str, Any]:
    table: dict[str, Any] = {"name": component.name}
    if component.locations != _HERE or component.initial != _HERE:
        table |= {"locations": list(component.locations), "initial": list(component.initial)}
    return {**table, "edges": [_edge_table(edge) for edge in component.edges]}


def _synchronisation_table(
    components: Sequence[str], actions: Sequence[str | None], result: str | None
) -> dict[str, Any]:
    taking = {c: a for c, a in zip(components, actions, strict=True) if a is not None}
    table: dict[str, Any] = {"actions": taking}
    labels = set(taking.values())
    common = labels.pop() if len(labels) == 1 else None
    if result != common:
        table |= {"silent": True} if result is None else {"result": result}
    return table


def _edge_table(edge: Edge) -> dict[str, Any]:
    table: dict[str, Any] = {}
    if edge.action is not None:
        table["action"] = edge.action
    if edge.source not in _HERE:
        table["source"] = edge.source
    if edge.guard != TRUE:
        table["guard"] = show_term(edge.guard)
    if edge.chosen:
        table["chosen"] = _unique("chosen", [(c.name, _choice_value(c)) for c in edge.chosen])
    if edge.assuming != TRUE:
        table["assuming"] = show_term(edge.assuming)
    match edge.outcomes:
        case (Outcome(probability=Const(1)) as alone,):
            return table | _outcome_table(alone, edge.source)
        case outcomes:
            told = [
                {"probability": show_term(o.probability)} | _outcome_table(o, edge.source) for o in outcomes
            ]
            return table | {"outcomes": told}


def _choice_value(choice: Choice) -> str | dict[str, Any]:
    kind = _kind_text(choice.kind)
    return kind if choice.law is None else {"kind": kind, "law": _law_text(choice.law)}


def _outcome_table(outcome: Outcome, source: str) -> dict[str, Any]:
    table: dict[str, Any] = {}
    if outcome.target != source:
        table["target"] = outcome.target
    if outcome.updates:
        groups = _update_groups(outcome.updates)
        table["updates"] = groups[0] if len(groups) == 1 else groups
    if outcome.rewards:
        amounts = [(name, show_term(amount)) for name, amount in outcome.rewards]
        table["rewards"] = _unique("rewards", amounts)
    return table


def _update_groups(updates: Sequence[Update]) -> list[dict[str, Any]]:
    """A table for all updates that happen at once; a number of the order that nobody has is an empty one."""
    last = max(update.index for update in updates)
    if last >= _MOST_GROUPS or min(update.index for update in updates) < 0:
        what = f"updates are numbered beyond 0 to {_MOST_GROUPS - 1}"
        raise Unsupported(what, fix="number them from 0")
    groups: list[list[tuple[str, Any]]] = [[] for _ in range(last + 1)]
    for update in updates:
        groups[update.index].append((_target_key(update.target), show_term(update.value)))
    return [_unique("updates", group) for group in groups]


def _target_key(target: Term) -> str:
    """The name of a variable as it is; other targets as terms."""
    return target.name if isinstance(target, Var) else show_term(target)


# --- the policy ------------------------------------------------------------------------------------------


def _policy_table(
    policy: Policy, labels: tuple[str, ...], path: Path, networks: Sequence[Path]
) -> dict[str, Any]:
    match policy:
        case NeuralPolicy():
            return _network_table(policy, path, networks)
        case ProgramPolicy(branches, actions):
            rules = [_branch_table(b.when, b.then, path, networks) for b in branches]
            if labels and not actions:
                what = "the program has no action of its own, although the environment has actions"
                raise Unsupported(what, fix="list its actions")
            told = {} if actions == labels else {"actions": list(actions)}
            return {"program": {**told, "branches": rules}}
        case ShieldedPolicy():
            what = "a shield around a policy cannot be written into a problem file"
            raise Unsupported(what, fix="save the shield, and leave the policy out (--no-policy)")
        case OraclePolicy(name):
            what = f"the policy `{name}` is a Python function"
            raise Unsupported(what, fix="write it as a program, or leave it out (--no-policy)")


def _branch_table(
    when: Term, then: str | tuple[Term, ...] | Policy, path: Path, networks: Sequence[Path]
) -> dict[str, Any]:
    table: dict[str, Any] = {} if when == TRUE else {"when": show_term(when)}
    match then:
        case str():
            return table | {"action": then}
        case tuple():
            return table | {"controls": [show_term(t) for t in then]}
        case NeuralPolicy():
            return table | {"network": _network_table(then, path, networks)}
        case _:
            what = "a program or a shield inside a program cannot be written into a problem file"
            raise Unsupported(what, fix="write all rules into one program")


def _network_table(policy: NeuralPolicy, path: Path, files: Sequence[Path]) -> dict[str, Any]:
    table = _find_network_file(policy.network, path, files)
    table["observe"] = [show_term(t) for t in policy.observe]
    if isinstance(policy.actions, EdgesOf):
        table["edges_of"] = policy.actions.component
        table |= {"order": list(policy.actions.order)} if policy.actions.order else {}
    elif policy.actions:
        table["actions"] = list(policy.actions)
    return {**table, "choose": policy.choose.value}


def _find_network_file(network: Network, path: Path, files: Sequence[Path]) -> dict[str, Any]:
    """The file that holds this network, and what stands before and after what was read from it."""
    wanted = network.digest()
    for candidate in _list_candidates(files):
        try:
            found = candidate.wired_network()
        except SurefootError:
            continue  # no network, or statistics of another one
        if found.digest() == wanted:
            return candidate.table(path)
    if not files:
        what = "a network that was built and not read has no file to be named"
        raise Unsupported(what, fix="save it as ONNX and read it, or leave the policy out (--no-policy)")
    what = "no file holds the network as it is wired (with nodes before or after what was read)"
    raise Unsupported(what, fix="leave the policy out (--no-policy), and name it with `check --policy`")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A file that may hold a network, and how its network may have been changed."""

    file: Path
    output: str | None = None
    statistics: Normalization | Path | None = None
    controls: tuple[Term, ...] = ()

    def wired_network(self) -> Network:
        network = load_policy(self.file, output=self.output).network
        if self.statistics is not None:
            given = self.statistics
            told = read_normalization(given) if isinstance(given, Path) else given
            network = prepend_normalization(network, told)
        return append_output_terms(network, self.controls) if self.controls else network

    def table(self, path: Path) -> dict[str, Any]:
        table: dict[str, Any] = {"file": _relative_name(self.file, path)}
        if self.output is not None:
            table["output"] = self.output
        match self.statistics:
            case Path() as file:
                table["normalize"] = _relative_name(file, path)
            case Normalization(mean, variance, epsilon, clip):
                told = {"mean": [float(m) for m in mean], "variance": [float(v) for v in variance]}
                table["normalize"] = {**told, "epsilon": float(epsilon), "clip": float(clip)}
        if self.controls:
            table["controls"] = [show_term(t) for t in self.controls]
        return table


def _list_candidates(files: Sequence[Path]) -> Iterator[_Candidate]:
    """Files as they are, as problem files wire them, and behind the statistics in other files."""
    others = [f for f in files if f.suffix != ".toml"]
    yield from map(_Candidate, others)
    for file in files:
        if file.suffix == ".toml" and not file.name.endswith(WIRING_SUFFIX):
            try:
                named = list_network_files(file)
            except SurefootError:
                continue
            yield from map(_candidate_of, named)
    yield from (_Candidate(f, statistics=other) for f in others for other in others if f != other)


def _candidate_of(named: NetworkFile) -> _Candidate:
    """As a problem file wires it, or as the file beside the network does."""
    wiring = named.wiring
    if wiring is None:
        try:
            wiring = read_wiring(wiring_path(named.path))
        except SurefootError:
            return _Candidate(named.path, named.output)
    output = wiring.output if named.output is None else named.output
    return _Candidate(named.path, output, wiring.normalize, wiring.controls)


def _relative_name(file: Path, path: Path) -> str:
    return Path(os.path.relpath(file.resolve(), path.resolve().parent)).as_posix()
