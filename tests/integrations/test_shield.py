"""The Gymnasium wrapper: what was proposed, what was applied, and how often."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")

from surefoot.integrations.shield import Masked, Shielded, _float_list  # noqa: E402


class Line(gymnasium.Env):  # type: ignore[misc]
    """A point that moves by its action."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float64)
    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float64)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.x = 0.0
        return np.array([self.x]), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.x += float(action[0])
        return np.array([self.x]), 0.0, False, False, {"own": 1}


def guard(state: Sequence[float], proposed: Sequence[float]) -> tuple[tuple[float, ...], int]:
    if abs(state[0]) > 3:
        return (0.0,), 2
    return (tuple(proposed), 0) if abs(state[0] + proposed[0]) <= 1.5 else ((0.0,), 1)


def test_actions_are_overruled_and_counted() -> None:
    env = Shielded(Line(), guard)
    env.reset(seed=1)
    told = [env.step(np.array([1.0]))[4] for _ in range(3)]
    assert [t["shield"]["intervened"] for t in told] == [0, 1, 1]
    assert told[1]["shield"]["proposed"] == (1.0,)
    assert told[1]["shield"]["applied"] == (0.0,)
    assert told[2]["own"] == 1
    assert (told[2]["shield"]["steps"], told[2]["shield"]["interventions"]) == (3, 2)
    env.reset()
    assert env.step(np.array([0.5]))[4]["shield"]["interventions"] == 0


def test_states_outside_are_counted_apart() -> None:
    env = Shielded(Line(), guard, state_of=lambda observation: [observation[0] + 10])
    env.reset()
    assert env.step(np.array([0.5]))[4]["shield"] == {
        "proposed": (0.5,), "applied": (0.0,), "intervened": 2, "steps": 1, "interventions": 1, "outside": 1,
    }  # fmt: skip


def test_misuse_is_refused() -> None:
    with pytest.raises(RuntimeError, match="reset"):
        Shielded(Line(), guard).step(np.array([0.0]))
    discrete = Line()
    discrete.action_space = gymnasium.spaces.Discrete(2)
    with pytest.raises(TypeError, match="Box"):
        Shielded(discrete, guard)
    whole = Line()
    whole.action_space = gymnasium.spaces.Box(-1, 1, (1,), np.int64)
    with pytest.raises(TypeError, match="floats, not int64"):  # -0.05 would become 0
        Shielded(whole, guard)


def test_the_shield_sees_what_the_action_space_makes_of_a_proposal() -> None:
    """0.3 is permitted, its float32 is not; what is told is what was done."""

    def strict(_: Sequence[float], proposed: Sequence[float]) -> tuple[tuple[float, ...], int]:
        return (tuple(proposed), 0) if proposed[0] <= 0.3 else ((0.1,), 1)

    line = Line()
    line.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)
    env = Shielded(line, strict)
    env.reset()
    for action in (np.array([0.3]), [0.3], np.float32([0.3])):
        told = env.step(action)[4]["shield"]
        assert (told["applied"], told["intervened"]) == ((float(np.float32(0.1)),), 1)
    assert env.step(np.float32([0.25]))[4]["shield"]["intervened"] == 0


class Corridor(gymnasium.Env):  # type: ignore[misc]
    """Places 0 to 4; the last one is bad."""

    observation_space = gymnasium.spaces.Box(0, 4, (1,), np.int64)
    action_space = gymnasium.spaces.Discrete(2, start=1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place = 2
        return np.array([self.place]), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place = max(0, self.place + (1 if action == 2 else -1))
        return np.array([self.place]), 0.0, self.place == 4, False, {}


class Module:
    """What a module of `surefoot shield --python` has."""

    STATE = ("place",)
    ACTIONS = ("right", "left")

    @staticmethod
    def action_masks(state: Sequence[int]) -> list[bool]:
        return [state[0] < 3, True]

    @staticmethod
    def step(state: Sequence[int], proposed: str) -> tuple[str, int]:
        return (proposed, 0) if proposed == "left" or state[0] < 3 else ("left", 1)


def test_masks_and_actions_that_are_replaced() -> None:
    env = Masked(Corridor(), Module, names=("left", "right"))
    with pytest.raises(RuntimeError, match="reset"):
        env.action_masks()
    env.reset()
    assert env.action_masks().tolist() == [True, True]
    *_, info = env.step(2)
    assert info["shield"]["intervened"] == 0
    assert env.action_masks().tolist() == [True, False]
    observation, _, ended, _, info = env.step(2)
    assert (observation.tolist(), ended) == ([2], False)
    assert info["shield"]["proposed"] == "right"
    assert info["shield"]["applied"] == "left"
    assert info["shield"]["interventions"] == 1
    for none in (0, 3, -1):
        with pytest.raises(ValueError, match=f"action {none} is none of Discrete"):
            env.step(none)
    with pytest.raises(ValueError, match="2 actions"):
        Masked(Corridor(), Module, names=("left",))
    with pytest.raises(TypeError, match="Discrete"):
        Masked(Line(), Module)


class Wide(Corridor):
    """Sees more than the model of the shield knows, at first or later."""

    def __init__(self, first: int, later: int) -> None:
        self.widths = [first, later]

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        return np.full(self.widths[0], self.place), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.full(self.widths[1], self.place), 0.0, False, False, {}


@pytest.mark.parametrize(("first", "later"), [(0, 1), (2, 1), (1, 2), (1, 0)])
def test_a_state_of_another_length_is_refused(first: int, later: int) -> None:
    env = Masked(Wide(first, later), Module, names=("left", "right"))
    env.reset()
    if first == 1:
        env.step(1)
    wrong = later if first == 1 else first
    for ask in (env.action_masks, lambda: env.step(1)):
        with pytest.raises(ValueError, match=rf"1 values \(place\), not {wrong}: give `state_of`"):
            ask()
    fitting = Masked(Wide(2, 2), Module, lambda seen: seen[:1], names=("left", "right"))
    fitting.reset()
    assert fitting.action_masks().tolist() == [True, True]


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.float64, np.longdouble, np.int64, ">f4", ">f8"])
def test_numbers_of_every_kind_are_the_same_floats(kind: Any) -> None:
    for values in (np.array([0.1, -3.0, 7.0]), np.array([[0.1], [2.0]]), np.array(0.1)):
        given = values.astype(kind)
        found = _float_list(given)
        assert [float(v) for v in found] == [float(v) for v in given.ravel()]
        assert [float(v) for v in _float_list(given.tolist())] == [float(v) for v in found]


class Noted(Line):
    """Remembers what it was given; its actions are small floats."""

    action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.given = action
        return super().step(action)


@pytest.mark.parametrize("action", [np.array([0.5]), [0.5], np.array([[0.5]]), np.array([0.5], np.float32)])
def test_the_environment_gets_actions_of_its_own_kind(action: Any) -> None:
    inner = Noted()
    env = Shielded(inner, guard)
    env.reset()
    *_, info = env.step(action)
    assert inner.given.dtype == np.float32
    assert inner.given.tolist() == [0.5]
    assert info["shield"]["proposed"] == (0.5,)
    env.state = [1.4]
    env.step(action)
    assert inner.given.dtype == np.float32
    assert inner.given.shape == (1,)
    assert inner.given.tolist() == [0.0]


def test_what_was_told_of_a_step_stays_as_it_was() -> None:
    env = Shielded(Line(), guard)
    env.reset()
    first = env.step(np.array([1.0]))[4]["shield"]
    second = env.step(np.array([1.0]))[4]["shield"]
    assert (first["steps"], first["interventions"]) == (1, 0)
    assert (second["steps"], second["interventions"]) == (2, 1)
