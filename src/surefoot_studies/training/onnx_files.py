"""Write what was trained: the network as ONNX, and a recipe (TOML) with every seed and its learning curve."""

from __future__ import annotations

import hashlib
import platform
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot_studies.training.closed_loop.recipes import RegulatorRecipe
from surefoot_studies.training.imitation.recipes import ImitationRecipe
from surefoot_studies.training.racetrack.recipes import DriverRecipe
from surefoot_studies.training.recipes import Recipe
from surefoot_studies.training.rollout import Layers

AnyRecipe: TypeAlias = Recipe | DriverRecipe | ImitationRecipe | RegulatorRecipe

OPSET = 13
OPERATORS = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid"}
SHIPPED_SEED = 0  # its network is the file without a number


def onnx_bytes(
    layers: Sequence[tuple[NDArray[Any], NDArray[Any]]],
    activation: str,
    name: str,
    reach: NDArray[np.float64] | None = None,
) -> bytes:
    """Gemm, activation, Gemm, …: one observation in, the outputs before any softmax out.

    `reach`: the outputs go through tanh and are multiplied by it.
    """
    from onnx import TensorProto, helper, numpy_helper

    nodes, weights, value = [], [], "observation"
    for number, (matrix, bias) in enumerate(layers):
        last = number == len(layers) - 1
        weights.append(numpy_helper.from_array(np.ascontiguousarray(matrix, np.float32), f"weight{number}"))
        weights.append(numpy_helper.from_array(np.ascontiguousarray(bias, np.float32), f"bias{number}"))
        target = "output" if last and reach is None else f"sum{number}"
        reads = [value, f"weight{number}", f"bias{number}"]
        nodes.append(helper.make_node("Gemm", reads, [target], transB=1))
        if not last:
            value = f"hidden{number}"
            nodes.append(helper.make_node(OPERATORS[activation], [target], [value]))
    if reach is not None:
        weights.append(numpy_helper.from_array(np.asarray(reach, np.float32), "reach"))
        nodes.append(helper.make_node("Tanh", [f"sum{len(layers) - 1}"], ["share"]))
        nodes.append(helper.make_node("Mul", ["share", "reach"], ["output"]))
    shapes = {"observation": layers[0][0].shape[1], "output": layers[-1][0].shape[0]}
    ends = {n: helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, w]) for n, w in shapes.items()}
    graph = helper.make_graph(nodes, name, [ends["observation"]], [ends["output"]], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)
    return bytes(model.SerializeToString())


def network_file(folder: Path, recipe: AnyRecipe, seed: int) -> Path:
    return folder / (f"{recipe.name}.onnx" if seed == SHIPPED_SEED else f"{recipe.name}-{seed}.onnx")


def checkpoint_file(folder: Path, recipe: AnyRecipe, count: int) -> Path:
    """Saved after so many decisions, or episodes of a driver."""
    return folder / f"{recipe.name}-after-{count}.onnx"


def write_network(path: Path, layers: Layers, recipe: AnyRecipe) -> str:
    """Write the file; its SHA-256."""
    content = onnx_bytes(layers, recipe.activation, recipe.name)
    path.write_bytes(content)
    return hashlib.sha256(content).hexdigest()


def save_policy(
    folder: Path,
    recipe: AnyRecipe,
    seed: int,
    layers: Layers,
    entry: Mapping[str, Any],
    packages: Sequence[str] = ("numpy", "onnx"),
    **about: str,
) -> None:
    """Write the network and what this seed gave; `about` and the versions of the packages go with it."""
    digest = write_network(network_file(folder, recipe, seed), layers, recipe)
    about |= {"python": platform.python_version()} | {package: version(package) for package in packages}
    write_recipe(folder, recipe, about, seed, {**entry, "sha256": digest})


def write_recipe(
    folder: Path, recipe: AnyRecipe, about: Mapping[str, str], seed: int, entry: Mapping[str, Any]
) -> None:
    """Add what this seed gave to `NAME.toml`; entries of other seeds stay if their settings were the same."""
    path = folder / f"{recipe.name}.toml"
    settings = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(recipe).items()}
    seeds: dict[int, Mapping[str, Any]] = {}
    if path.exists():
        before = tomllib.loads(path.read_text("utf-8"))
        if before["settings"] == settings:
            seeds = {e["seed"]: e for e in before["seeds"]}
    seeds[seed] = {"seed": seed, **entry}
    lines = [
        f"# How `{recipe.name}` was trained: python -m surefoot_studies.training {recipe.study} --seed N"
    ]
    for title, table in (("about", about), ("settings", settings)):
        lines += ["", f"[{title}]", *(f"{k} = {toml_text(v)}" for k, v in table.items())]
    for number in sorted(seeds):
        lines += ["", "[[seeds]]", *(f"{k} = {toml_text(v)}" for k, v in seeds[number].items())]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def toml_text(value: object) -> str:
    """A value of a TOML file."""
    match value:
        case bool():
            return str(value).lower()
        case str():
            return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
        case list() | tuple():
            return "[" + ", ".join(map(toml_text, value)) + "]"
        case _:
            return repr(value)
