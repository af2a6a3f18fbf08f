"""Policies of the study `closed-loop`: what is recorded is what the files do, and training gets there."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import Affine
from surefoot_studies.assets import shipped_names
from surefoot_studies.closed_loop.plants import read_plant
from surefoot_studies.training.__main__ import NEAR, train_from_arguments
from surefoot_studies.training.closed_loop.imitation import HELD_OUT, imitate_teacher
from surefoot_studies.training.closed_loop.recipes import REGULATORS
from surefoot_studies.training.closed_loop.teachers import TEACHERS, linearise_plant, regulator_gain
from surefoot_studies.training.control.dense import backpropagate_layers, forward_layers, initialise_layers

FOLDER = Path(str(files("surefoot_studies.closed_loop").joinpath("assets")))


def test_every_shipped_policy_has_its_recipe() -> None:
    assert set(shipped_names("closed-loop")) == set(REGULATORS)
    assert {recipe.teacher for recipe in REGULATORS.values()} == set(TEACHERS)


@pytest.mark.parametrize("name", REGULATORS)
def test_the_shipped_network_is_the_recorded_one_and_does_what_is_recorded(name: str) -> None:
    recipe = REGULATORS[name]
    found = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))
    settings = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(recipe).items()}
    assert found["settings"] == settings
    (entry,) = found["seeds"]
    path = FOLDER / f"{name}.onnx"
    assert path.stat().st_size < 100_000
    assert hashlib.sha256(path.read_bytes()).hexdigest() == entry["sha256"]
    network = read_onnx_network(path)
    widths = [len(node.bias) for node in network.nodes if isinstance(node, Affine)]
    assert tuple(widths[:-1]) == recipe.hidden
    seen, wanted = TEACHERS[recipe.teacher]().draw_lesson(HELD_OUT, np.random.default_rng(1_000_003))
    said = infer_outputs(network, seen.astype(np.float32))
    size = np.maximum(wanted.std(axis=0), 1e-9 + np.abs(wanted).max(axis=0) / 10)
    error = float(np.sqrt(((said - wanted) ** 2).mean(axis=0) / size**2).max())
    assert error == pytest.approx(entry["error"], rel=0.01, abs=2e-4)
    assert (error <= NEAR) == (not name.endswith("-early"))


def test_a_recipe_gives_the_bytes_of_its_file(tmp_path: Path) -> None:
    """Of the shortest trainings; numpy and BLAS of another machine may round otherwise."""
    name = "gym-cartpole-early"
    assert train_from_arguments(["closed-loop", "--policy", name, "--output", str(tmp_path)]) == 1
    said = tomllib.loads((tmp_path / f"{name}.toml").read_text("utf-8"))["seeds"][0]
    kept = tomllib.loads((FOLDER / f"{name}.toml").read_text("utf-8"))["seeds"][0]
    assert said["curve_errors"] == pytest.approx(kept["curve_errors"], abs=2e-3)
    ours, theirs = (read_onnx_network(folder / f"{name}.onnx") for folder in (tmp_path, FOLDER))
    rows = np.random.default_rng(0).uniform(-1, 1, (50, 4)).astype(np.float32)
    assert infer_outputs(ours, rows) == pytest.approx(infer_outputs(theirs, rows), abs=1e-3)


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_a_short_training_comes_near_its_teacher(activation: str) -> None:
    recipe = replace(REGULATORS["tora-relu"], hidden=(16, 16), activation=activation, updates=600)
    made = imitate_teacher(recipe, 1)
    assert made.errors[-1] < 0.25 < made.errors[0]
    again = imitate_teacher(recipe, 1)
    for ours, theirs in zip(made.layers, again.layers, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("activation", ["relu", "tanh", "sigmoid"])
def test_slopes_are_those_of_the_values(activation: str) -> None:
    generator = np.random.default_rng(0)
    layers = initialise_layers((3, 5, 4, 2), generator, 0.5)
    rows, towards = generator.normal(size=(6, 3)), generator.normal(size=(6, 2))

    def worth() -> float:
        return float((forward_layers(layers, rows, activation)[-1] * towards).sum())

    values = forward_layers(layers, rows, activation)
    slopes, inward = backpropagate_layers(layers, values, towards, activation)
    for changed, found in zip([*layers[0], *layers[1], rows], [*slopes[0], *slopes[1], inward], strict=True):
        place = tuple(0 for _ in changed.shape)
        before = changed[place]
        changed[place] = before + 1e-6
        high = worth()
        changed[place] = before - 1e-6
        low = worth()
        changed[place] = before
        assert (high - low) / 2e-6 == pytest.approx(found[place], rel=1e-5, abs=1e-7)


def test_a_regulator_stabilises_what_it_is_for() -> None:
    plant = read_plant("cartpole")
    a, b = linearise_plant(plant)
    assert a[0, 1] == pytest.approx(1)
    assert a[3, 2] == pytest.approx(9.8 / (0.5 * (4 / 3 - 0.1 / 1.1)), rel=1e-6)
    gain = regulator_gain(plant, (1.0, 0.5, 10.0, 1.0), (0.1,))
    assert max(np.linalg.eigvals(a).real) > 1
    assert max(np.linalg.eigvals(a - b @ gain).real) < 0
