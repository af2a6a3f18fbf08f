"""How each shipped policy is trained: its shape and every hyperparameter."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Recipe:
    name: str
    study: str
    hidden: tuple[int, ...]
    activation: str  # relu or tanh
    iterations: int  # of collecting episodes and updating
    episodes: int  # per iteration
    rate: float  # of learning
    discount: float
    entropy: float = 0.0  # weight of the entropy of the choice
    reward_scale: float = 1.0
    imitation: int = 0  # rounds of imitating the baseline on the policy's own episodes, before anything else
    epochs: int = 4
    batch: int = 1024
    clip: float = 0.2
    trace: float = 0.95  # of generalised advantage estimation
    value_hidden: tuple[int, ...] = (64, 64)


def _aurora_recipe(name: str, hidden: tuple[int, ...], activation: str) -> Recipe:
    return Recipe(name, "aurora", hidden, activation, iterations=150, episodes=48, rate=1e-3, discount=0.95)


RECIPES: dict[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        _aurora_recipe("aurora-48", (48,), "relu"),
        _aurora_recipe("aurora-32x16", (32, 16), "relu"),
        _aurora_recipe("aurora-32x16-tanh", (32, 16), "tanh"),
        Recipe(
            "pensieve-32x16", "pensieve", (32, 16), "relu",
            iterations=200, episodes=96, rate=1e-3, discount=0.97, entropy=0.1, reward_scale=0.1,
        ),
        Recipe(
            "deeprm-20", "deeprm", (20,), "relu",
            iterations=30, episodes=48, rate=3e-4, discount=0.99, entropy=0.005, reward_scale=0.05,
            imitation=12,
        ),
    )
}  # fmt: skip
