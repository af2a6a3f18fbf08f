"""What surefoot sees in a file, before any work is spent on it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from surefoot.errors import MissingBackend
from surefoot.formats.gymnasium.gym_name import names_gym_model
from surefoot.formats.gymnasium.model_facts import describe_gym_model
from surefoot.formats.jani_model import describe_jani_model
from surefoot.formats.model_file import PRISM_SUFFIXES, parse_constants, read_model
from surefoot.formats.normalization import read_normalization
from surefoot.formats.onnx.runtime_comparison import compare_with_onnxruntime
from surefoot.formats.policy_file import load_policy
from surefoot.formats.prism_model import describe_prism_model
from surefoot.formats.vnnlib import no_float32_point, read_vnnlib_file
from surefoot.problem.network import Activation, Combine, Elementwise, Node
from surefoot.problem.policy import Branch, EdgesOf, NeuralPolicy, Policy, ProgramPolicy
from surefoot.problem.property_printer import show_property
from surefoot.problem.tree_ensemble import TreeEnsemble
from surefoot.term.printer import show_term
from surefoot.verdict.sentences import count_noun
from surefoot.visible import join_visible


def describe_model_file(file: Path, constants: tuple[str, ...], normalise: bool) -> dict[str, Any] | None:
    """A problem file, library environment, JANI or PRISM model, VNN-LIB specification; None for others."""
    if names_gym_model(file):
        return describe_gym_model(str(file), parse_constants(constants))
    if file.suffix == ".toml":
        return _describe_problem_file(file, constants, normalise)
    if file.suffix == ".jani":
        return describe_jani_model(file, parse_constants(constants), normalise=normalise)
    if file.suffix in PRISM_SUFFIXES:
        return describe_prism_model(file, parse_constants(constants), normalise=normalise)
    return _describe_specification(file) if ".vnnlib" in file.suffixes else None


def describe_policy_file(
    file: Path, output: str | None, normalize: Path | None, activation: str | None
) -> dict[str, Any]:

    statistics = read_normalization(normalize) if normalize else None
    loaded = load_policy(file, output=output, normalization=statistics, activation=activation)
    network = loaded.network
    widths = network.widths()
    nodes = [f"{_node_kind(n)} {w}" for n, w in zip(network.nodes, widths[1:], strict=True)]
    return {
        "kind": loaded.kind,
        "inputs": network.width,
        "outputs": network.outputs,
        "head": loaded.head,
        "nodes": nodes,
        "piecewise linear": network.is_piecewise_linear(),
        "network digest": network.digest(),
        "notes": list(dict.fromkeys((*loaded.notes, *network.notes))),
    }


def _node_kind(node: Node) -> str:
    """A node in one word: what it computes."""
    match node:
        case Activation(shape=shape):
            return shape.value
        case Elementwise(kind=kind):
            return f"{kind.value} constant"
        case Combine(pairing=pairing):
            return pairing.value
        case TreeEnsemble(roots=roots, leaves=leaves):
            return f"{roots.size} trees ({len(leaves)} leaves)"
        case _:
            return type(node).__name__.lower()


def compare_runtime(file: Path, output: str | None, samples: int, seed: int) -> dict[str, Any]:
    """How far the deployed runtime is from the reference arithmetic on random inputs."""
    if not samples:
        return {}

    network = load_policy(file, output=output).network
    try:
        found = compare_with_onnxruntime(file, network, samples=samples, seed=seed, output=output)
    except MissingBackend as error:
        return {"onnxruntime": f"not compared: {error}"}
    return {"onnxruntime": asdict(found)}


def _describe_specification(file: Path) -> dict[str, Any]:

    spec = read_vnnlib_file(file)
    return {
        "kind": "VNN-LIB specification",
        "inputs": spec.inputs,
        "outputs": spec.outputs,
        "box": [f"[{float(a)!r}, {float(b)!r}]" for a, b in zip(spec.low, spec.high, strict=True)],
        "constraint": show_term(spec.constraint)[:2000],
        "vacuous": no_float32_point(spec),
    }


def _describe_problem_file(file: Path, constants: tuple[str, ...], normalise: bool) -> dict[str, Any]:

    loaded = read_model(file, constants=constants, normalise=normalise)
    first = next(iter(loaded.problems.values()))
    environment = first.environment
    return {
        "kind": "problem file",
        "variables": [v.name for v in environment.variables],
        "controls": [c.name for c in environment.controls],
        "components": [
            f"{c.name}: {count_noun(len(c.locations), 'location')}, {count_noun(len(c.edges), 'edge')}"
            for c in environment.components
        ],
        "arithmetic": environment.arithmetic.value,
        "policy": _describe_wiring(first.policy),
        "properties": {p.name: show_property(p.property) for p in loaded.problems.values()},
    }


def _describe_wiring(policy: Policy | None) -> dict[str, Any] | str:
    """How a policy is connected to the environment."""
    match policy:
        case NeuralPolicy(network, observe, actions, choose):
            wired: dict[str, Any] = {
                "network": f"{network.name}, {count_noun(network.width, 'input')}, "
                f"{count_noun(network.outputs, 'output')}, digest {network.digest()[:16]}…",
                "observes": ", ".join(show_term(term) for term in observe),
                "chooses": choose.value,
            }
            if isinstance(actions, EdgesOf):
                return wired | {"actions": f"the enabled edges of {actions.component}"}
            return wired | ({"actions": ", ".join(actions)} if actions else {})
        case None:
            return "none"
        case ProgramPolicy(branches):
            return {
                f"rule {number}": f"when {show_term(rule.when)}: {_describe_rule(rule)}"
                for number, rule in enumerate(branches, 1)
            }
        case _:
            return type(policy).__name__


def _describe_rule(rule: Branch) -> str:
    match rule.then:
        case str(action):
            return action
        case tuple() as values:
            return ", ".join(show_term(value) for value in values) or "nothing to decide"
        case policy:
            described = _describe_wiring(policy)
            return described if isinstance(described, str) else "; ".join(described.values())


def render_facts(facts: dict[str, Any]) -> str:
    lines = []
    for name, value in facts.items():
        if value in ([], {}):
            continue
        if isinstance(value, dict):
            lines += [f"{name}:", *(f"  {k}: {v}" for k, v in value.items())]
        elif isinstance(value, list) and len(value) > 6:
            lines += [f"{name}:", *(f"  {v}" for v in value)]
        else:
            lines.append(f"{name}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
    return join_visible(lines)
