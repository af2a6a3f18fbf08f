"""Policies that imitate: what is recorded is what the shipped files do, and training gets there."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import asdict, replace
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.network import Affine
from surefoot_studies import STUDIES
from surefoot_studies.training.__main__ import train_from_arguments
from surefoot_studies.training.imitation.advisers import ADVISERS
from surefoot_studies.training.imitation.behavioural_cloning import (
    adviser_agreement,
    clone_adviser,
    margin_gradient,
)
from surefoot_studies.training.imitation.recipes import IMITATORS


@pytest.mark.parametrize("name", IMITATORS)
def test_the_shipped_network_is_the_recorded_one_and_does_what_is_recorded(name: str) -> None:
    recipe = IMITATORS[name]
    folder = Path(str(files(STUDIES[recipe.study]).joinpath("assets")))
    found = tomllib.loads((folder / f"{name}.toml").read_text("utf-8"))
    settings = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(recipe).items()}
    assert found["settings"] == settings
    (entry,) = found["seeds"]
    path = folder / f"{name}.onnx"
    assert path.stat().st_size < 100_000
    assert hashlib.sha256(path.read_bytes()).hexdigest() == entry["sha256"]
    adviser = ADVISERS[recipe.adviser]()
    adviser.scales = np.ones_like(adviser.scales)  # they are folded into the network
    nodes = [n for n in read_onnx_network(path).nodes if isinstance(n, Affine)]
    layers = [(np.array(n.weights, dtype=np.float32), np.array(n.bias, dtype=np.float32)) for n in nodes]
    assert tuple(len(bias) for _, bias in layers[:-1]) == recipe.hidden
    share = adviser_agreement(adviser, layers, np.random.default_rng(1_000_003))
    assert share == pytest.approx(entry["agreement"], abs=0.002)
    assert share >= 0.99


def test_the_loss_falls_where_its_slope_says() -> None:
    rng = np.random.default_rng(3)
    outputs, wanted = rng.normal(size=(5, 3)).astype(np.float32), np.array([0, 2, 1, 1, 0])

    def loss(at: np.ndarray) -> float:
        above = at - at[np.arange(5), wanted][:, None] + 1.0
        above[np.arange(5), wanted] = 0
        within, beyond = np.clip(above, 0, 1), np.maximum(above - 1, 0)
        return float((within**2 / 2 + beyond).sum() / 5)

    found = margin_gradient(outputs.copy(), wanted, 1.0)
    for place in np.ndindex(5, 3):
        changed = outputs.astype(np.float64)
        changed[place] += 1e-4
        assert (loss(changed) - loss(outputs.astype(np.float64))) / 1e-4 == pytest.approx(
            found[place], abs=1e-3
        )


def test_training_learns_the_same_from_the_same_seed() -> None:
    recipe = replace(IMITATORS["puzzle-3x3"], batches=300)
    first, second = clone_adviser(recipe, 1), clone_adviser(recipe, 1)
    assert first.agreement[-1] > first.agreement[0] + 0.2
    assert all(np.array_equal(a[0], b[0]) for a, b in zip(first.layers, second.layers, strict=True))


def test_the_command_writes_network_and_recipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(IMITATORS, "one-way", replace(IMITATORS["one-way"], batches=500))
    assert train_from_arguments(
        ["line-transport", "--policy", "one-way", "--seed", "3", "--output", str(tmp_path)]
    ) in (0, 1)
    assert "one-way, seed 3: does what is advised in" in capsys.readouterr().out
    assert {p.name for p in tmp_path.iterdir()} == {"one-way-3.onnx", "one-way.toml"}
