"""`surefoot inspect FILE`: what surefoot sees in a file, before any work is spent on it."""

from __future__ import annotations

import json
from pathlib import Path

import click

from surefoot import api
from surefoot.cli.model import normalise_flag
from surefoot.cli.option_groups import seed_flag
from surefoot.cli.unused_options import refuse_given_options

SAMPLES = 10_000


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--output", metavar="NAME", help="Which output of an ONNX network, if it has several.")
@click.option("--normalize", type=click.Path(path_type=Path), metavar="FILE", help="Observation statistics.")
@click.option(
    "--activation", metavar="tanh|relu|…", help="Of the hidden layers, for SB3 zips that do not say it."
)
@click.option("--samples", type=click.IntRange(min=0), default=SAMPLES, show_default=True,
              help="Random inputs for the comparison with onnxruntime; 0 = none.")  # fmt: skip
@seed_flag
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
    """Describe a network, a policy, a VNN-LIB specification, a problem file, a JANI or PRISM model or an
    environment of Gymnasium (gym:CartPole-v1)."""
    library = api.names_gym_model(file)
    if not library:
        api.require_file(file)
    networks = {"--output": "output", "--normalize": "normalize", "--activation": "activation"}
    networks |= {"--samples": "samples", "--seed": "seed"}
    models = (".toml", ".jani", *api.PRISM_SUFFIXES)
    if library or file.suffix in models or ".vnnlib" in file.suffixes:
        refuse_given_options(networks, "on this file: it is about networks")
    if not library and file.suffix not in models:
        refuse_given_options({"--const": "constants"}, "on this file: it is about models")
    facts = api.describe_model_file(file, constants, normalise)
    if facts is None:
        facts = api.describe_policy_file(file, output, normalize, activation)
        if facts["kind"] != "onnx":
            refuse_given_options(
                {"--samples": "samples", "--seed": "seed"}, "on this file: it is about ONNX files"
            )
        facts |= api.compare_runtime(file, output, samples, seed) if facts["kind"] == "onnx" else {}
    named = {"model": str(file)} if library else {"file": str(file), "sha256": api.file_sha256(file)}
    facts = named | facts
    print(json.dumps(facts, indent=1, default=str) if as_json else api.render_facts(facts))
    return 0
