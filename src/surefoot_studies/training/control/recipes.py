"""How an actor of a given size is trained, and the text beside its file that says how it was.

The paper's actors have up to 1200 and 900 hidden units (Zhu et al., PLDI 2019, Tables 1 and 3). Layers of
that size learn in fewer and smaller steps than those that are shipped; their critic is smaller than they are.
"""

from __future__ import annotations

import tomllib
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from surefoot_studies.training.control.ddpg import ActorRecipe, TrainedActor
from surefoot_studies.training.onnx_files import toml_text

LARGE = 20_000  # weights between hidden layers


def actor_recipe(hidden: tuple[int, ...], imitate: bool) -> ActorRecipe:
    """`imitate`: what a regulator does comes first, and is changed with care."""
    if sum(a * b for a, b in pairwise(hidden)) < LARGE:
        recipe = ActorRecipe(hidden=hidden, critic=hidden)
        careful = 3e-5
    else:
        recipe = ActorRecipe(hidden=hidden, critic=(300, 200), updates=300, actor_rate=1e-4, single=True)
        careful = 1e-5
    if not imitate:
        return recipe
    rounds = min(1000, recipe.updates)
    return replace(recipe, imitation=rounds, patience=4 * rounds // 10, actor_rate=careful)


def training_text(problem: str, recipe: ActorRecipe, seed: int, made: TrainedActor) -> str:
    """A TOML file: every setting, the seed, the learning curve and the time."""
    update, worth, fallen = made.best_point()
    about = {
        "problem": problem,
        "seed": seed,
        "kept_after_updates": update,
        "mean_return": round(worth, 6),
        "held_out_unsafe": fallen,
        "cpu_seconds": round(made.cpu_seconds, 1),
        "interrupted": made.interrupted,
    }
    lines = ["# How this actor was trained: surefoot study train", "", "[about]"]
    lines += [f"{name} = {toml_text(value)}" for name, value in about.items()]
    lines += ["", "[settings]"]
    lines += [f"{name} = {toml_text(value)}" for name, value in asdict(recipe).items()]
    lines += ["", "[curve]", f"after_updates = {toml_text([u for u, _, _ in made.curve])}"]
    lines.append(f"mean_return = {toml_text([round(w, 6) for _, w, _ in made.curve])}")
    lines.append(f"held_out_unsafe = {toml_text([f for _, _, f in made.curve])}")
    return "\n".join(lines) + "\n"


def text_file(network: Path) -> Path:
    """`NAME.training.toml` beside `NAME.onnx`."""
    return network.with_suffix(".training.toml")


def training_seconds(network: Path) -> float | None:
    """Of an actor with such a text beside it."""
    path = text_file(network)
    if not path.is_file():
        return None
    try:
        about: Any = tomllib.loads(path.read_text("utf-8")).get("about")
    except (tomllib.TOMLDecodeError, UnicodeDecodeError):
        return None
    found = about.get("cpu_seconds") if isinstance(about, dict) else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None
