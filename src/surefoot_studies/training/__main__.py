"""`python -m surefoot_studies.training STUDY --seed N`: train a study's policies, compare with a baseline."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path

from surefoot import api
from surefoot_studies.training.closed_loop.imitation import imitate_teacher
from surefoot_studies.training.closed_loop.recipes import REGULATORS, RegulatorRecipe
from surefoot_studies.training.imitation.behavioural_cloning import clone_adviser
from surefoot_studies.training.imitation.recipes import IMITATORS, ImitationRecipe
from surefoot_studies.training.onnx_files import AnyRecipe, checkpoint_file, save_policy, write_network
from surefoot_studies.training.racetrack.dqn import train_dqn
from surefoot_studies.training.racetrack.recipes import DRIVERS, DriverRecipe
from surefoot_studies.training.recipes import RECIPES, Recipe
from surefoot_studies.training.rollout import baseline_returns, greedy_actor, held_out_returns
from surefoot_studies.training.simulators import SIMULATORS

WITHOUT_TORCH = {r.study for table in (DRIVERS, IMITATORS, REGULATORS) for r in table.values()}
ENOUGH = 0.9  # of the baseline's return
NEAR = 0.05  # of the size of a teacher's outputs


def train_from_arguments(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m surefoot_studies.training", description=__doc__)
    parser.add_argument("study", choices=sorted((*SIMULATORS, *WITHOUT_TORCH)))
    parser.add_argument("--seed", type=int, action="append", help="may be given several times; default 0")
    parser.add_argument(
        "--policy",
        choices=sorted((*RECIPES, *DRIVERS, *IMITATORS, *REGULATORS)),
        action="append",
        help="default: all of the study",
    )
    parser.add_argument("--output", type=Path, default=Path("."), metavar="DIR", help="default: here")
    parser.add_argument("--checkpoints", action="store_true", help="also write the networks along the way")
    given = parser.parse_args(arguments)
    if given.study in SIMULATORS and find_spec("torch") is None:
        print('error: training needs torch; fix: pip install "surefoot[train]"', file=sys.stderr)
        return 2
    given.output.mkdir(parents=True, exist_ok=True)
    recipes: list[AnyRecipe] = [*RECIPES.values(), *DRIVERS.values(), *IMITATORS.values()]
    recipes += REGULATORS.values()
    wanted = [r for r in recipes if r.study == given.study and r.name in (given.policy or [r.name])]
    seeds = given.seed or [0]
    reached = [_train_policy(r, seed, given.output, given.checkpoints) for r in wanted for seed in seeds]
    return 0 if all(reached) else 1


def _train_policy(recipe: AnyRecipe, seed: int, folder: Path, checkpoints: bool) -> bool:
    """Train and write; is it as good as it has to be?"""
    match recipe:
        case DriverRecipe():
            return _train_driver(recipe, seed, folder, checkpoints)
        case ImitationRecipe():
            return _train_imitator(recipe, seed, folder)
        case RegulatorRecipe():
            return _train_regulator(recipe, seed, folder)
        case Recipe():
            return _train_by_ppo(recipe, seed, folder, checkpoints)


def _tell(line: str) -> None:
    print(line, file=sys.stderr)


def _train_driver(recipe: DriverRecipe, seed: int, folder: Path, checkpoints: bool) -> bool:
    """As in the paper the driver is the checkpoint with the highest return."""
    trained = train_dqn(recipe, seed, _tell)
    best = max(trained.curve, key=lambda point: point.mean_return)
    if checkpoints:
        for point in trained.curve:
            write_network(checkpoint_file(folder, recipe, point.episodes), point.layers, recipe)
    entry = {
        "episodes": best.episodes,
        "mean_return": round(best.mean_return, 4),
        "goal_probability": round(best.goal_probability, 6),
        "goal_probability_anywhere": round(best.goal_probability_anywhere, 6),
        "cpu_seconds": round(trained.cpu_seconds, 1),
        "curve_decisions": [point.decisions for point in trained.curve],
        "curve_returns": [round(point.mean_return, 3) for point in trained.curve],
        "curve_episodes": [point.episodes for point in trained.curve],
        "curve_goal_probabilities": [round(point.goal_probability, 4) for point in trained.curve],
    }
    save_policy(folder, recipe, seed, best.layers, entry)
    print(f"{recipe.name}: {best.episodes} episodes, return {best.mean_return:.2f}, "
          f"goal probability {best.goal_probability:.3f}")  # fmt: skip
    return True


def _train_imitator(recipe: ImitationRecipe, seed: int, folder: Path) -> bool:
    trained = clone_adviser(recipe, seed, _tell)
    entry = {
        "agreement": round(trained.agreement[-1], 4),
        "cpu_seconds": round(trained.cpu_seconds, 1),
        "curve_batches": list(trained.batches),
        "curve_agreement": [round(share, 4) for share in trained.agreement],
    }
    save_policy(folder, recipe, seed, trained.layers, entry)
    share = trained.agreement[-1]
    print(f"{recipe.name}, seed {seed}: does what is advised in {share:.2%} of the states")
    return share >= ENOUGH


def _train_regulator(recipe: RegulatorRecipe, seed: int, folder: Path) -> bool:
    trained = imitate_teacher(recipe, seed, _tell)
    entry = {
        "error": round(trained.errors[-1], 4),
        "cpu_seconds": round(trained.cpu_seconds, 1),
        "curve_updates": list(trained.updates),
        "curve_errors": [round(error, 4) for error in trained.errors],
    }
    save_policy(folder, recipe, seed, trained.layers, entry)
    error = trained.errors[-1]
    print(f"{recipe.name}, seed {seed}: differs from its teacher by {error:.2%} of the size of the outputs")
    return error <= NEAR


def _train_by_ppo(recipe: Recipe, seed: int, folder: Path, checkpoints: bool) -> bool:
    """Compared with the baseline on held-out episodes."""
    from surefoot_studies.training.ppo import train_ppo

    kind = SIMULATORS[recipe.study]
    trained = train_ppo(recipe, seed, _tell)
    own = float(held_out_returns(kind, greedy_actor(trained.layers, recipe.activation, kind)).mean())
    baseline = float(baseline_returns(kind).mean())
    ratio = baseline_share(own, baseline)
    if checkpoints:
        for point in trained.curve[:-1]:
            write_network(checkpoint_file(folder, recipe, point.decisions), point.layers, recipe)
    entry = {
        "mean_return": round(own, 4),
        "baseline_return": round(baseline, 4),
        "share_of_baseline": round(ratio, 4),
        "decisions": trained.curve[-1].decisions,
        "cpu_seconds": round(trained.cpu_seconds, 1),
        "curve_decisions": [point.decisions for point in trained.curve],
        "curve_returns": [round(point.mean_return, 3) for point in trained.curve],
    }
    packages = ("torch", "numpy", "onnx")
    save_policy(folder, recipe, seed, trained.layers, entry, packages, baseline=kind.baseline_name)
    print(f"{recipe.name}, seed {seed}: return {own:.4g}, baseline {baseline:.4g}, share {ratio:.3f}")
    return ratio >= ENOUGH


def baseline_share(own: float, baseline: float) -> float:
    """How much of the baseline's return was reached; of two costs (negative returns) the inverse ratio."""
    return baseline / own if own < 0 and baseline < 0 else own / baseline


if __name__ == "__main__":
    with api.handle_interrupts() as heard:
        try:
            code = train_from_arguments()
        except KeyboardInterrupt:
            print("interrupted: the training that was under way is lost", file=sys.stderr)
            api.exit_process(heard.code or 130)
    sys.exit(code)
