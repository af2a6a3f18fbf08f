"""What is recorded about the shipped policies is what the shipped files do."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Activation, Affine
from surefoot_studies import STUDIES
from surefoot_studies.training.__main__ import ENOUGH, baseline_share
from surefoot_studies.training.onnx_files import network_file, onnx_bytes, write_recipe
from surefoot_studies.training.recipes import RECIPES, Recipe
from surefoot_studies.training.rollout import (
    Layers,
    baseline_returns,
    forward_dense,
    greedy_actor,
    held_out_returns,
)
from surefoot_studies.training.simulators import SIMULATORS


def assets(recipe: Recipe) -> Path:
    return Path(str(files(STUDIES[recipe.study]).joinpath("assets")))


def recorded(recipe: Recipe) -> dict[str, Any]:
    return tomllib.loads((assets(recipe) / f"{recipe.name}.toml").read_text("utf-8"))


def layers_of(path: Path) -> Layers:
    nodes = read_onnx_network(path).nodes
    return [(np.array(n.weights), np.array(n.bias)) for n in nodes if isinstance(n, Affine)]


@pytest.mark.parametrize("name", RECIPES)
def test_five_seeds_are_recorded_and_good_enough(name: str) -> None:
    recipe = RECIPES[name]
    found = recorded(recipe)
    settings = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(recipe).items()}
    assert found["settings"] == settings
    assert [entry["seed"] for entry in found["seeds"]] == [0, 1, 2, 3, 4]
    for entry in found["seeds"]:
        assert entry["share_of_baseline"] >= ENOUGH
        assert entry["share_of_baseline"] == pytest.approx(
            baseline_share(entry["mean_return"], entry["baseline_return"]), abs=1e-3
        )
        assert entry["cpu_seconds"] < 240
        assert len(entry["curve_decisions"]) == len(entry["curve_returns"]) >= 10


@pytest.mark.parametrize("name", RECIPES)
def test_the_shipped_network_is_the_recorded_one_and_returns_what_is_recorded(name: str) -> None:
    recipe = RECIPES[name]
    for entry in recorded(recipe)["seeds"]:
        path = network_file(assets(recipe), recipe, entry["seed"])
        if entry["seed"] and not path.exists():
            continue  # only the first seed of a large network is shipped
        assert path.stat().st_size < 600_000
        assert hashlib.sha256(path.read_bytes()).hexdigest() == entry["sha256"]
        layers = layers_of(path)
        assert tuple(len(bias) for _, bias in layers[:-1]) == recipe.hidden
        if entry["seed"] == 0:
            kind = SIMULATORS[recipe.study]
            mean = held_out_returns(kind, greedy_actor(layers, recipe.activation, kind)).mean()
            assert mean == pytest.approx(entry["mean_return"], rel=1e-3)
            assert baseline_returns(kind).mean() == pytest.approx(entry["baseline_return"], rel=1e-3)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_a_written_network_is_read_back_as_the_same_function(tmp_path: Path, activation: str) -> None:
    rng = np.random.default_rng(1)
    shapes = ((7, 5), (4, 7), (2, 4))
    layers: Layers = [
        (rng.normal(size=s).astype(np.float32), rng.normal(size=s[0]).astype(np.float32)) for s in shapes
    ]
    path = tmp_path / "net.onnx"
    path.write_bytes(onnx_bytes(layers, activation, "net"))
    network = read_onnx_network(path)
    assert {n.shape.value for n in network.nodes if isinstance(n, Activation)} == {activation}
    seen = rng.normal(size=(20, 5))
    assert infer_outputs(network, seen.astype(np.float32)) == pytest.approx(
        forward_dense(layers, activation, seen), abs=1e-5
    )


def test_a_recipe_keeps_other_seeds_only_if_nothing_else_changed(tmp_path: Path) -> None:
    recipe = RECIPES["aurora-48"]
    about = {"baseline": 'a "quoted" \\ name'}
    for seed in (3, 1, 1):
        write_recipe(tmp_path, recipe, about, seed, {"mean_return": 0.5 + seed, "curve_returns": [1.0, 2.0]})
    found = tomllib.loads((tmp_path / "aurora-48.toml").read_text("utf-8"))
    assert found["about"] == about
    assert [(e["seed"], e["mean_return"]) for e in found["seeds"]] == [(1, 1.5), (3, 3.5)]
    changed = Recipe(**{**asdict(recipe), "rate": 0.5})
    write_recipe(tmp_path, changed, about, 0, {"mean_return": 0.0})
    found = tomllib.loads((tmp_path / "aurora-48.toml").read_text("utf-8"))
    assert [e["seed"] for e in found["seeds"]] == [0]


def test_shares_of_gains_and_of_costs() -> None:
    assert baseline_share(9, 10) == pytest.approx(0.9)
    assert baseline_share(-10, -9) == pytest.approx(0.9)
    assert baseline_share(-1, 10) < 0
