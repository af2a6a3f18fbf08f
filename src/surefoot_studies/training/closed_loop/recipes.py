"""How each policy of the study `closed-loop` is trained: who is imitated, its network and every setting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RegulatorRecipe:
    name: str
    study: str
    teacher: str
    hidden: tuple[int, ...]
    activation: str  # relu, tanh or sigmoid
    updates: int = 6000
    batch: int = 256
    rate: float = 3e-3  # falls to a hundredth
    decay: float = 1e-4  # of weights: small ones make small slopes


def _closed_loop(
    name: str,
    teacher: str,
    hidden: tuple[int, ...],
    activation: str,
    updates: int = 6000,
    decay: float = 1e-4,
) -> RegulatorRecipe:
    return RegulatorRecipe(name, "closed-loop", teacher, hidden, activation, updates, decay=decay)


REGULATORS: dict[str, RegulatorRecipe] = {
    recipe.name: recipe
    for recipe in (
        _closed_loop("acc-relu", "acc", (20, 20, 20), "relu"),
        _closed_loop("acc-tanh", "acc", (20, 20, 20), "tanh"),
        _closed_loop("quadrotor", "quadrotor", (64, 64, 64), "sigmoid", 12_000, decay=0.05),
        _closed_loop("docking", "docking", (32, 32), "tanh"),
        _closed_loop("attitude", "attitude", (64, 64, 64), "sigmoid", 12_000),
        _closed_loop("cartpole", "cartpole", (64, 64, 64), "tanh", decay=0.2),
        _closed_loop("cartpole-rough", "cartpole", (64, 64, 64), "tanh"),
        _closed_loop("parking", "parking", (64, 64), "tanh"),
        _closed_loop("double-pendulum", "double-pendulum", (25, 25), "relu"),
        _closed_loop("tora-relu", "tora", (32, 32), "relu"),
        _closed_loop("tora-tanh", "tora", (20, 20, 20), "tanh"),
        _closed_loop("gym-cartpole", "gym-cartpole", (16, 16), "relu"),
        _closed_loop("gym-cartpole-early", "gym-cartpole", (16, 16), "relu", 20),
        _closed_loop("gym-pendulum-brake", "gym-pendulum-brake", (16, 16), "tanh"),
        _closed_loop("gym-pendulum-swing", "gym-pendulum-swing", (32, 32), "tanh", 20_000),
        _closed_loop("gym-mountaincar", "gym-mountaincar", (16, 16), "relu"),
        _closed_loop("gym-mountaincar-early", "gym-mountaincar", (16, 16), "relu", 40),
        _closed_loop("gym-mountaincar-continuous", "gym-mountaincar-continuous", (16, 16), "tanh"),
    )
}
