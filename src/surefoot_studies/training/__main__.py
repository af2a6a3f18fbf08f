"""`python -m surefoot_studies.training STUDY --seed N`: train a study's policies, compare with a baseline."""

from __future__ import annotations

import argparse
import platform
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from surefoot.work.interrupt import exit_process, handle_interrupts
from surefoot_studies.training.imitation.recipes import IMITATORS
from surefoot_studies.training.imitation.write import train_imitators
from surefoot_studies.training.onnx_files import checkpoint_file, network_file, write_network, write_recipe
from surefoot_studies.training.racetrack.recipes import DRIVERS
from surefoot_studies.training.racetrack.write import train_drivers
from surefoot_studies.training.recipes import RECIPES, Recipe
from surefoot_studies.training.rollout import baseline_returns, greedy_actor, held_out_returns
from surefoot_studies.training.simulators import SIMULATORS

DRIVING = "racetrack"  # trained by deep Q-learning, without torch
IMITATING = sorted({recipe.study for recipe in IMITATORS.values()})  # an adviser; without torch
ENOUGH = 0.9  # of the baseline's return
PACKAGES = ("torch", "numpy", "onnx")


def train_from_arguments(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m surefoot_studies.training", description=__doc__)
    parser.add_argument("study", choices=sorted((*SIMULATORS, *IMITATING, DRIVING)))
    parser.add_argument("--seed", type=int, action="append", help="may be given several times; default 0")
    parser.add_argument(
        "--policy",
        choices=sorted((*RECIPES, *DRIVERS, *IMITATORS)),
        action="append",
        help="default: all of the study",
    )
    parser.add_argument("--output", type=Path, default=Path("."), metavar="DIR", help="default: here")
    parser.add_argument("--checkpoints", action="store_true", help="also write the networks along the way")
    given = parser.parse_args(arguments)
    if given.study == DRIVING:
        return _train_drivers(given.policy, given.seed or [0], given.output, given.checkpoints)
    if given.study in IMITATING:
        return _train_imitators(given.study, given.policy, given.seed or [0], given.output)
    if find_spec("torch") is None:
        print('error: training needs torch; fix: pip install "surefoot[train]"', file=sys.stderr)
        return 2
    given.output.mkdir(parents=True, exist_ok=True)
    wanted = given.policy or list(RECIPES)
    recipes = [r for r in RECIPES.values() if r.study == given.study and r.name in wanted]
    reached = [
        _train_recipe(r, s, given.output, given.checkpoints) for r in recipes for s in given.seed or [0]
    ]
    return 0 if all(reached) else 1


def _train_drivers(wanted: list[str] | None, seeds: list[int], folder: Path, checkpoints: bool) -> int:
    names = [name for name in DRIVERS if wanted is None or name in wanted]
    found = train_drivers(names, seeds, folder, checkpoints, lambda line: print(line, file=sys.stderr))
    for name, point in zip([n for n in names for _ in seeds], found, strict=True):
        print(f"{name}: {point.episodes} episodes, return {point.mean_return:.2f}, "
              f"goal probability {point.goal_probability:.3f}")  # fmt: skip
    return 0


def _train_imitators(study: str, wanted: list[str] | None, seeds: list[int], folder: Path) -> int:
    recipes = [r for r in IMITATORS.values() if r.study == study and (wanted is None or r.name in wanted)]
    tried = [(r, s) for r in recipes for s in seeds]
    found = train_imitators(tried, folder, lambda line: print(line, file=sys.stderr))
    for (recipe, seed), share_of_states in zip(tried, found, strict=True):
        print(f"{recipe.name}, seed {seed}: does what is advised in {share_of_states:.2%} of the states")
    return 0 if all(one >= ENOUGH for one in found) else 1


def _train_recipe(recipe: Recipe, seed: int, folder: Path, checkpoints: bool) -> bool:
    """Train, compare on held-out episodes, write; is it as good as it has to be?"""
    from surefoot_studies.training.ppo import train_ppo

    kind = SIMULATORS[recipe.study]
    trained = train_ppo(recipe, seed, lambda line: print(line, file=sys.stderr))
    own = float(held_out_returns(kind, greedy_actor(trained.layers, recipe.activation, kind)).mean())
    baseline = float(baseline_returns(kind).mean())
    ratio = baseline_share(own, baseline)
    if checkpoints:
        for point in trained.curve[:-1]:
            write_network(checkpoint_file(folder, recipe, point.decisions), point.layers, recipe)
    digest = write_network(network_file(folder, recipe, seed), trained.layers, recipe)
    entry = {
        "mean_return": round(own, 4),
        "baseline_return": round(baseline, 4),
        "share_of_baseline": round(ratio, 4),
        "decisions": trained.curve[-1].decisions,
        "cpu_seconds": round(trained.cpu_seconds, 1),
        "sha256": digest,
        "curve_decisions": [point.decisions for point in trained.curve],
        "curve_returns": [round(point.mean_return, 3) for point in trained.curve],
    }
    about = {"baseline": kind.baseline_name, "python": platform.python_version()}
    about |= {package: version(package) for package in PACKAGES}
    write_recipe(folder, recipe, about, seed, entry)
    print(f"{recipe.name}, seed {seed}: return {own:.4g}, baseline {baseline:.4g}, share {ratio:.3f}")
    return ratio >= ENOUGH


def baseline_share(own: float, baseline: float) -> float:
    """How much of the baseline's return was reached; of two costs (negative returns) the inverse ratio."""
    return baseline / own if own < 0 and baseline < 0 else own / baseline


if __name__ == "__main__":
    with handle_interrupts() as heard:
        try:
            code = train_from_arguments()
        except KeyboardInterrupt:
            print("interrupted: the training that was under way is lost", file=sys.stderr)
            exit_process(heard.code or 130)
    sys.exit(code)
