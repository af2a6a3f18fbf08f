"""Gymnasium environments as black boxes."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from surefoot.errors import InvalidProblem
from surefoot.integrations.gym import EpisodeStep, estimate_return, estimate_success
from surefoot.work.budget import Budget

gymnasium = pytest.importorskip("gymnasium")
COARSE: dict[str, Any] = {"eps": Fraction(1, 20), "delta": Fraction(1, 1000)}


class Dice(gymnasium.Env):  # type: ignore[misc, name-defined]
    """Throw until a 6 (won) or a 1 (lost); a 2 costs a point, and every throw after the third is cut off."""

    action_space = gymnasium.spaces.Discrete(2)
    observation_space = gymnasium.spaces.Discrete(7)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.throws = 0
        return 0, {}

    def step(self, action: int) -> Any:
        self.throws += 1
        eyes = int(self.np_random.integers(1, 7))
        return (
            eyes,
            -1.0 if eyes == 2 else 0.0,
            eyes in (1, 6),
            action == 1 and self.throws == 3,
            {"eyes": eyes},
        )


def won(step: EpisodeStep) -> bool | None:
    return step.info.get("eyes") == 6 if step.terminated else None


def throw(_: int) -> int:
    return 0


def test_how_likely_it_is_to_win() -> None:
    found = estimate_success(Dice, throw, won, **COARSE)
    assert found.low <= Fraction(1, 2) <= found.high
    assert found.stop == "precise enough"
    assert found.counts["undecided"] == 0
    assert found == estimate_success(Dice, throw, won, **COARSE)
    assert found != estimate_success(Dice, throw, won, budget=Budget(seed=1), **COARSE)
    assert found == estimate_success(Dice, throw, won, workers=2, **COARSE)


def test_an_episode_that_is_cut_off_is_undecided() -> None:
    found = estimate_success(Dice, lambda _: 1, won, **COARSE)
    assert found.stop == "too many runs were cut off"  # (2/3)^3 of them
    assert found.low <= Fraction(19, 54)
    assert found.high >= Fraction(35, 54)


def test_without_a_judge_termination_counts() -> None:
    found = estimate_success(Dice, throw, max_steps=2, **COARSE)
    assert found.low <= Fraction(5, 9)
    assert found.high == 1


class Model:
    """As of Stable-Baselines3."""

    def predict(self, observation: Any, deterministic: bool) -> tuple[Any, None]:
        assert deterministic
        return np.int64(0), None


def test_the_expected_return() -> None:
    found = estimate_return(Dice, Model(), Fraction(-40), Fraction(0), eps=Fraction(1, 2))
    assert found.low <= Fraction(-1, 2) <= found.high  # half a 2 on average before a 1 or a 6
    with pytest.raises(InvalidProblem, match="not within its range"):
        estimate_return(Dice, Model(), Fraction(-1, 2), Fraction(0), eps=Fraction(1, 10))


def test_environments_by_name() -> None:
    found = estimate_success("CartPole-v1", lambda _: 0, lambda s: s.steps >= 8 or None, **COARSE)
    assert 0 < found.low < found.high <= 1
