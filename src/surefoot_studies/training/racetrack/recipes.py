"""How each driver of the Racetrack study is trained: its network and every setting."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DriverRecipe:
    """Deep Q-learning with the rewards and the discount of Deep Statistical Model Checking, section 4."""

    name: str
    track: str
    start: str = "anywhere"  # or line: where episodes begin, at velocity 0
    inputs: int = 15  # or 4: position and velocity
    hidden: tuple[int, ...] = (64, 64)
    activation: str = "relu"
    end_cell: bool = False  # only the last cell of a movement is looked at
    noise: float = 0.2
    goal_reward: float = 100.0
    crash_reward: float = -50.0
    discount: float = 0.99
    episodes: int = 90_000
    checkpoint_every: int = 5_000  # episodes
    cars: int = 128  # that drive at once
    longest: int = 50  # decisions; then the episode is broken off, which is no end
    steps: int = 5  # decisions whose rewards are added up before the network's own value is used
    memory: int = 200_000  # decisions
    batch: int = 256
    updates: int = 8  # per decision of all cars
    rate: float = 1e-3
    last_rate: float = 2e-5  # reached with the last episode
    exploring: float = 0.4  # share of the episodes in which the random choices become fewer
    least_random: float = 0.05
    target_every: int = 200  # updates in which the target follows the network, as a moving average
    study: str = "racetrack"


DRIVERS: dict[str, DriverRecipe] = {
    recipe.name: recipe
    for recipe in (
        DriverRecipe("driver-small", "small", episodes=40_000),
        DriverRecipe("driver-big", "big"),
        DriverRecipe("driver-ring", "ring"),
        DriverRecipe("driver-ring-line", "ring", start="line", episodes=30_000),
        *(
            DriverRecipe(
                f"end-cell-{width}", "small", inputs=4, hidden=(width, width), end_cell=True, episodes=20_000
            )
            for width in (16, 24, 32, 64)
        ),
    )
}
