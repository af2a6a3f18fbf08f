"""Train imitators and write them: the network as ONNX, and the recipe with every learning curve."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from surefoot_studies.training.imitation.behavioural_cloning import clone_adviser
from surefoot_studies.training.imitation.recipes import ImitationRecipe
from surefoot_studies.training.onnx_files import network_file, write_network, write_recipe

PACKAGES = ("numpy", "onnx")


def train_imitators(
    wanted: Sequence[tuple[ImitationRecipe, int]], folder: Path, tell: Callable[[str], None]
) -> list[float]:
    """Every recipe with its seed; in which share of the states each does what is advised."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_train_and_write(recipe, seed, folder, tell) for recipe, seed in wanted]


def _train_and_write(recipe: ImitationRecipe, seed: int, folder: Path, tell: Callable[[str], None]) -> float:
    trained = clone_adviser(recipe, seed, tell)
    digest = write_network(network_file(folder, recipe, seed), trained.layers, recipe)
    entry = {
        "agreement": round(trained.agreement[-1], 4),
        "cpu_seconds": round(trained.cpu_seconds, 1),
        "sha256": digest,
        "curve_batches": list(trained.batches),
        "curve_agreement": [round(share, 4) for share in trained.agreement],
    }
    about = {"python": platform.python_version()} | {package: version(package) for package in PACKAGES}
    write_recipe(folder, recipe, about, seed, entry)
    return trained.agreement[-1]
