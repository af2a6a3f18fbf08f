"""`surefoot inspect FILE`: what surefoot sees in a file, before any work is spent on it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from surefoot.cli.model import load_model, normalise_flag
from surefoot.cli.unused_options import refuse_given_options
from surefoot.errors import MissingBackend
from surefoot.formats.model_file import file_sha256, parse_constants
from surefoot.formats.untrusted.regular_file import require_file
from surefoot.problem.network import Activation, Combine, Elementwise, Node
from surefoot.problem.policy import EdgesOf, NeuralPolicy, Policy
from surefoot.verdict.sentences import count_noun
from surefoot.visible import join_visible

SAMPLES = 10_000


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--output", metavar="NAME", help="Which output of an ONNX network, if it has several.")
@click.option("--normalize", type=click.Path(path_type=Path), metavar="FILE", help="Observation statistics.")
@click.option(
    "--activation", type=click.Choice(["tanh", "relu", "leaky_relu", "sigmoid"]), help="For SB3 zips."
)
@click.option("--samples", type=click.IntRange(min=0), default=SAMPLES, show_default=True,
              help="Random inputs for the comparison with onnxruntime; 0 = none.")  # fmt: skip
@click.option("--seed", type=int, default=0, show_default=True)
@click.option("--const", "constants", multiple=True, metavar="N=16", help="Set a constant of a model.")
@normalise_flag
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def inspect(
    file: Path,
    output: str | None,
    normalize: Path | None,
    activation: str | None,
    samples: int,
    seed: int,
    constants: tuple[str, ...],
    normalise: bool,
    as_json: bool,
) -> int:
    """Describe a network, a policy, a VNN-LIB specification, a problem file or a JANI model."""
    require_file(file)
    networks = {"--output": "output", "--normalize": "normalize", "--activation": "activation"}
    networks |= {"--samples": "samples", "--seed": "seed"}
    if file.suffix in (".toml", ".jani") or ".vnnlib" in file.suffixes:
        refuse_given_options(networks, "on this file: it is about networks")
    if file.suffix not in (".toml", ".jani"):
        refuse_given_options({"--const": "constants"}, "on this file: it is about models")
    if file.suffix == ".toml":
        facts = _problem_facts(file, constants, normalise)
    elif file.suffix == ".jani":
        from surefoot.formats.jani_model import describe_jani_model

        facts = describe_jani_model(file, parse_constants(constants), normalise=normalise)
    elif ".vnnlib" in file.suffixes:
        facts = _specification_facts(file)
    else:
        facts = _policy_facts(file, output, normalize, activation)
        if facts["kind"] != "onnx":
            refuse_given_options(
                {"--samples": "samples", "--seed": "seed"}, "on this file: it is about ONNX files"
            )
        facts |= _compare_runtime(file, output, samples, seed) if facts["kind"] == "onnx" else {}
    facts = {"file": str(file), "sha256": file_sha256(file), **facts}
    print(json.dumps(facts, indent=1, default=str) if as_json else _render_facts(facts))
    return 0


def _policy_facts(
    file: Path, output: str | None, normalize: Path | None, activation: str | None
) -> dict[str, Any]:
    from surefoot.formats.normalization import read_normalization
    from surefoot.formats.policy_file import load_policy

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
        case _:
            return type(node).__name__.lower()


def _compare_runtime(file: Path, output: str | None, samples: int, seed: int) -> dict[str, Any]:
    """How far the deployed runtime is from the reference arithmetic on random inputs."""
    if not samples:
        return {}
    from surefoot.formats.onnx.runtime_comparison import compare_with_onnxruntime
    from surefoot.formats.policy_file import load_policy

    network = load_policy(file, output=output).network
    try:
        found = compare_with_onnxruntime(file, network, samples=samples, seed=seed, output=output)
    except MissingBackend as error:
        return {"onnxruntime": f"not compared: {error}"}
    return {"onnxruntime": asdict(found)}


def _specification_facts(file: Path) -> dict[str, Any]:
    from surefoot.formats.vnnlib import no_float32_point, read_vnnlib_file
    from surefoot.term.printer import show_term

    spec = read_vnnlib_file(file)
    return {
        "kind": "VNN-LIB specification",
        "inputs": spec.inputs,
        "outputs": spec.outputs,
        "box": [f"[{float(a)!r}, {float(b)!r}]" for a, b in zip(spec.low, spec.high, strict=True)],
        "constraint": show_term(spec.constraint)[:2000],
        "vacuous": no_float32_point(spec),
    }


def _problem_facts(file: Path, constants: tuple[str, ...], normalise: bool) -> dict[str, Any]:
    from surefoot.problem.property_printer import show_property

    loaded = load_model(file, constants=constants, normalise=normalise)
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
    from surefoot.term.printer import show_term

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
        case _:
            return type(policy).__name__


def _render_facts(facts: dict[str, Any]) -> str:
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
