"""Train drivers and write them: the best checkpoint as ONNX, and the recipe with every learning curve."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from surefoot_studies.training.onnx_files import checkpoint_file, network_file, write_network, write_recipe
from surefoot_studies.training.racetrack.dqn import DriverCheckpoint, TrainedDriver, train_dqn
from surefoot_studies.training.racetrack.recipes import DRIVERS, DriverRecipe

PACKAGES = ("numpy", "onnx")


def train_drivers(
    names: Sequence[str],
    seeds: Sequence[int],
    folder: Path,
    checkpoints: bool,
    tell: Callable[[str], None],
) -> list[DriverCheckpoint]:
    """Every driver that is named with every seed; what is written of each."""
    folder.mkdir(parents=True, exist_ok=True)
    return [
        _write_driver(DRIVERS[name], seed, train_dqn(DRIVERS[name], seed, tell), folder, checkpoints)
        for name in names
        for seed in seeds
    ]


def _write_driver(
    recipe: DriverRecipe, seed: int, trained: TrainedDriver, folder: Path, checkpoints: bool
) -> DriverCheckpoint:
    """As in the paper the driver is the checkpoint with the highest return."""
    best = max(trained.curve, key=lambda point: point.mean_return)
    if checkpoints:
        for point in trained.curve:
            write_network(checkpoint_file(folder, recipe, point.episodes), point.layers, recipe)
    digest = write_network(network_file(folder, recipe, seed), best.layers, recipe)
    entry = {
        "episodes": best.episodes,
        "mean_return": round(best.mean_return, 4),
        "goal_probability": round(best.goal_probability, 6),
        "goal_probability_anywhere": round(best.goal_probability_anywhere, 6),
        "cpu_seconds": round(trained.cpu_seconds, 1),
        "sha256": digest,
        "curve_decisions": [point.decisions for point in trained.curve],
        "curve_returns": [round(point.mean_return, 3) for point in trained.curve],
        "curve_episodes": [point.episodes for point in trained.curve],
        "curve_goal_probabilities": [round(point.goal_probability, 4) for point in trained.curve],
    }
    about = {"python": platform.python_version()} | {package: version(package) for package in PACKAGES}
    write_recipe(folder, recipe, about, seed, entry)
    return best
