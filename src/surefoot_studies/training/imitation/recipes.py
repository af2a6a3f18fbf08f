"""How each policy that imitates an adviser is trained: its network and every setting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ImitationRecipe:
    name: str
    study: str
    adviser: str
    hidden: tuple[int, ...]
    batches: int = 20_000
    batch: int = 256
    margin: float = 1.0  # by which the advised output is to lead
    rate: float = 3e-3  # falls linearly
    last_rate: float = 1e-5
    decay: float = 1e-5  # of weights
    activation: str = "relu"


IMITATORS: dict[str, ImitationRecipe] = {
    recipe.name: recipe
    for recipe in (
        ImitationRecipe("blocks-4", "blocksworld", "blocks-4", (16, 16), batches=5_000),
        ImitationRecipe("puzzle-3x3", "npuzzle", "puzzle-3x3", (32, 32)),
        ImitationRecipe("one-way", "line-transport", "one-way", (16, 16)),
        ImitationRecipe("two-ways", "line-transport", "two-ways", (16, 16)),
    )
}
