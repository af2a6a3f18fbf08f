"""The models take the steps of the installed library: 10,000 random states and actions each.

Doubles agree operation by operation. Two things may differ: sine and cosine, which the library takes from its
platform and the reference rounds correctly; and what the library computes in float32, which is a chosen value
of the model within a stated range. Both are checked here: how often, how much, and that the range is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import groupby
from math import cos, pi
from typing import Any

import numpy as np
import pytest

from surefoot.formats.gymnasium.gym_model import REWARD, GymModel
from surefoot.formats.gymnasium.registry import build_gym_model
from surefoot.problem.environment import Edge
from surefoot.term.closures import Closure, compile_closure
from surefoot.term.term import Term
from surefoot.term.value_types import Arithmetic, Real

gymnasium = pytest.importorskip("gymnasium")

COUNT = 10_000
LOOKS = 10  # observation, reward and end are compared in every tenth step
NEAR = 4e-16  # of the largest summand: one unit in the last place of a sine or cosine
State = dict[str, float]


class Steps:
    """The edges of a model as functions of doubles, by the closures that are held equal to the reference."""

    def __init__(self, model: GymModel) -> None:
        self.model, environment = model, model.environment
        (component,) = environment.components
        self.edges = component.edges
        chosen = [c.name for edge in self.edges for c in edge.chosen]
        names = [v.name for v in environment.variables] + [c.name for c in environment.controls] + chosen
        self.names = tuple(dict.fromkeys(names))
        self.slots = {name: place for place, name in enumerate(self.names)}
        self.levels = [self._levels(edge) for edge in self.edges]
        self.rewards = [dict(edge.outcomes[0].rewards).get(REWARD) for edge in self.edges]

    def closure(self, term: Term) -> Closure:
        return compile_closure(term, self.slots, dict.fromkeys(self.names, Real()), Arithmetic.FLOAT64)

    def _levels(self, edge: Edge) -> list[list[tuple[int, Closure]]]:
        (outcome,) = edge.outcomes
        ordered = sorted(outcome.updates, key=lambda update: update.index)
        return [
            [(self.slots[u.target.name], self.closure(u.value)) for u in together]  # type: ignore[union-attr]
            for _, together in groupby(ordered, key=lambda update: update.index)
        ]

    def row(self, values: Mapping[str, float]) -> list[float]:
        return [values.get(name, 0.0) for name in self.names]

    def take(self, number: int, values: Mapping[str, float]) -> State:
        row = self.row(values)
        for level in self.levels[number]:
            for slot, value in [(slot, closure(tuple(row))) for slot, closure in level]:
                row[slot] = value
        return dict(zip(self.names[: len(self.model.environment.variables)], row, strict=False))

    def value(self, term: Term, values: Mapping[str, float]) -> Any:
        return self.closure(term)(tuple(self.row(values)))

    def check_looks(
        self, before: State, number: int, after: State, result: tuple[Any, ...], most: float
    ) -> None:
        """What is observed after a step, what it earned, and whether it was the last one."""
        seen, reward, over = result[:3]
        shown = np.array([self.value(term, after) for term in self.model.observe], dtype=np.float32)
        assert np.abs(shown - seen).max() <= most
        ends = self.model.terminates is not None and self.value(self.model.terminates, after)
        assert ends == over
        term = self.rewards[number]
        earned = self.value(self.model.rewards_after, after) if term is None else self.value(term, before)
        assert earned == pytest.approx(reward, rel=1e-6, abs=1e-7)


def library(name: str, **arguments: Any) -> Any:
    """An environment that was reset once; its state is set before every step."""
    env = gymnasium.make(name, **arguments).unwrapped
    env.reset(seed=0)
    return env


@pytest.mark.parametrize(
    "text",
    [
        "gym:CartPole-v1",
        "gym:CartPole-v1?sutton_barto_reward=true&gravity=3.7&tau=0.05&force_mag=4",
        "gym:CartPole-v0?kinematics_integrator=semi-implicit&masspole=0.3&total_mass=1.3&polemass_length=0.15",
    ],
)
def test_cart_pole(text: str) -> None:
    model = build_gym_model(text)
    steps, env, rng = Steps(model), library("CartPole-v1"), np.random.default_rng(0)
    set_arguments(env, text)
    names, equal = steps.names, 0
    for number, row in enumerate(rng.uniform(-1, 1, (COUNT, 4)) * np.array([2.5, 3.0, 0.25, 3.0])):
        before, action = dict(zip(names, map(float, row), strict=True)), int(rng.integers(2))
        env.state, env.steps_beyond_terminated = row.copy(), None
        result = env.step(action)
        ours, theirs = steps.take(action, before), dict(zip(names, map(float, env.state), strict=True))
        equal += ours == theirs
        size = 1 + max(map(abs, theirs.values()))
        assert all(abs(value - theirs[name]) <= NEAR * size for name, value in ours.items())
        if number % LOOKS == 0:
            steps.check_looks(before, action, theirs, result, 0)
    assert equal > 0.9 * COUNT


def test_mountain_car() -> None:
    for text in ("gym:MountainCar-v0", "gym:MountainCar-v0?goal_velocity=0.01&force=0.002&gravity=0.003"):
        steps, env, rng = Steps(build_gym_model(text)), library("MountainCar-v0"), np.random.default_rng(0)
        set_arguments(env, text)
        equal = 0
        for number, row in enumerate(rng.uniform((-1.2, -0.07), (0.6, 0.07), (COUNT, 2))):
            before, action = dict(zip(steps.names, map(float, row), strict=True)), int(rng.integers(3))
            env.state = row.copy()
            result = env.step(action)
            ours, theirs = (
                steps.take(action, before),
                dict(zip(steps.names, map(float, env.state), strict=True)),
            )
            equal += ours == theirs
            assert all(abs(value - theirs[name]) <= NEAR for name, value in ours.items())
            if number % LOOKS == 0:
                steps.check_looks(before, action, theirs, result, 0)
        assert equal > 0.9 * COUNT


def test_continuous_mountain_car() -> None:
    """Its state is float32, and so is what it computes from it; the first state of a run is not."""
    for text in (
        "gym:MountainCarContinuous-v0",
        "gym:MountainCarContinuous-v0?power=0.003&goal_velocity=0.01",
    ):
        model = build_gym_model(text)
        steps, env, rng = Steps(model), library("MountainCarContinuous-v0"), np.random.default_rng(0)
        set_arguments(env, text)
        (edge,) = steps.edges
        limits = {c.name: float(c.kind.high) for c in edge.chosen}  # type: ignore[union-attr]
        low, high, power = np.array([-1.2, -0.07]), np.array([0.6, 0.07]), env.power
        for number in range(COUNT):
            # A run begins with doubles in the reset box; every later state is float32.
            first = number % 4 == 0
            row: Any = np.array([rng.uniform(-0.6, -0.4), 0.0]) if first else None
            row = rng.uniform(low, high).astype(np.float32) if row is None else row
            force = np.float32(rng.uniform(-1, 1))
            env.state = row.copy()
            result = env.step(np.array([force]))
            # What the library computes, with numpy's rules for a float32 that meets a Python number.
            speed = row[1] + (force * power - 0.0025 * cos(3 * row[0]))
            x, v = map(float, row)
            own = float(np.float32(speed)) - (v + (power * float(force) - 0.0025 * cos(3 * x)))
            speed = np.float32(min(max(speed, -0.07), 0.07))
            place = float(np.float32(row[0] + speed)) - (x + float(speed))
            chosen = {"speed_rounding": own, "position_rounding": place}
            assert all(abs(value) <= limits[name] for name, value in chosen.items())
            before = {"position": x, "velocity": v, "force": float(force), **chosen}
            ours = steps.take(0, before)
            theirs = dict(zip(("position", "velocity"), map(float, env.state), strict=True))
            assert all(abs(ours[name] - value) <= 1e-15 for name, value in theirs.items())
            if number % LOOKS == 1:
                steps.check_looks(before, 0, theirs, result, 0)


def test_pendulum() -> None:
    for text in ("gym:Pendulum-v1", "gym:Pendulum-v1?g=9.81&m=0.7&l=1.3&dt=0.02&max_torque=3.1&max_speed=5"):
        steps, env, rng = Steps(build_gym_model(text)), library("Pendulum-v1"), np.random.default_rng(0)
        set_arguments(env, text)
        (edge,) = steps.edges
        (choice,), gain, equal = edge.chosen, 3.0 / (env.m * env.l**2), 0
        most = float(choice.kind.high)  # type: ignore[union-attr]
        for number, row in enumerate(rng.uniform(-1, 1, (COUNT, 2)) * np.array([100, env.max_speed])):
            torque = np.float32(rng.uniform(-1.3, 1.3) * env.max_torque)
            env.state = row.copy()
            result = env.step(np.array([torque]))
            held = np.clip(np.array([torque]), -env.max_torque, env.max_torque)[0]
            rounding = float(gain * held) - gain * float(held)
            assert abs(rounding) <= most
            before = {
                "theta": float(row[0]),
                "theta_dot": float(row[1]),
                "torque": float(held),
                "rounding": rounding,
            }
            ours = steps.take(0, before)
            theirs = dict(zip(("theta", "theta_dot"), map(float, env.state), strict=True))
            equal += all(ours[name] == value for name, value in theirs.items())
            assert all(abs(ours[name] - value) <= 100 * NEAR for name, value in theirs.items())
            if number % LOOKS == 0:
                steps.check_looks(before, 0, theirs, result, 2**-23)  # a unit of float32 at most
        assert equal > 0.85 * COUNT


@pytest.mark.parametrize(
    "text", ["gym:Acrobot-v1", "gym:Acrobot-v1?book_or_nips=nips&LINK_MASS_2=0.6&LINK_LENGTH_1=1.2"]
)
def test_acrobot(text: str) -> None:
    """In the range of speeds that runs have, and up to the largest ones, where errors grow within a step."""
    steps, env, rng = Steps(build_gym_model(text)), library("Acrobot-v1"), np.random.default_rng(0)
    set_arguments(env, text)
    names, equal = steps.names[:4], 0
    for number, row in enumerate(rng.uniform(-1, 1, (COUNT, 4)) * np.array([pi, pi, 4 * pi, 9 * pi])):
        row[2:] *= (0.2, 1.0)[number % 2]
        before, action = dict(zip(names, map(float, row), strict=True)), int(rng.integers(3))
        env.state = row.copy()
        result = env.step(action)
        theirs = dict(zip(names, map(float, env.state), strict=True))
        ours = steps.take(action, before)
        assert all(ours[name] == 0.0 for name in steps.names[4:] if name in ours)
        equal += all(ours[name] == value for name, value in theirs.items())
        turn = [min(abs(ours[n] - v), abs(abs(ours[n] - v) - 2 * pi)) for n, v in theirs.items()]
        assert max(turn) <= (1e-13, 1e-11)[number % 2]
        if number % LOOKS == 0:
            steps.check_looks(before, action, theirs, result, 2**-23)
    assert equal > 0.7 * COUNT


def set_arguments(env: Any, text: str) -> None:
    """What stands behind `?`, on the live environment."""
    for part in text.partition("?")[2].split("&") if "?" in text else ():
        key, _, value = part.partition("=")
        own = "_sutton_barto_reward" if key == "sutton_barto_reward" else key
        assert hasattr(env, own)
        setattr(
            env, own, value == "true" if value == "true" else value if not is_number(value) else float(value)
        )


def is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()


@pytest.mark.parametrize(
    ("name", "variables"),
    [
        ("CartPole-v0", 4),
        ("CartPole-v1", 4),
        ("MountainCar-v0", 2),
        ("MountainCarContinuous-v0", 2),
        ("Pendulum-v1", 2),
        ("Acrobot-v1", 4),
    ],
)
def test_resets_and_limits(name: str, variables: int) -> None:
    """Starts of the library are starts of the model, spread over its box; both cut off after as many steps."""
    model, env = build_gym_model(f"gym:{name}"), gymnasium.make(name)
    assert model.limit == env.spec.max_episode_steps
    steps, names = Steps(model), [v.name for v in model.environment.variables][:variables]
    ranges = {key: [float(p) for p in law.parameters] for key, law in model.environment.start_laws}
    states = []
    for seed in range(200):
        env.reset(seed=seed)
        states.append([float(value) for value in env.unwrapped.state])
        assert steps.value(model.environment.initial, dict(zip(names, states[-1], strict=True))) is True
    for place, key in enumerate(names):
        low, high = ranges.get(key, (0.0, 0.0))
        found = [state[place] for state in states]
        width = high - low
        assert min(found) <= low + 0.05 * width
        assert max(found) >= high - 0.05 * width


ENDLESS: dict[str, Callable[[Any], Any]] = {
    "MountainCar-v0": lambda _: 1,
    "MountainCarContinuous-v0": lambda env: np.zeros(1, np.float32),
    "Pendulum-v1": lambda env: np.zeros(1, np.float32),
    "Acrobot-v1": lambda _: 1,
}


@pytest.mark.parametrize("name", ENDLESS)
def test_the_library_cuts_off_after_as_many_steps(name: str) -> None:
    env, model = gymnasium.make(name), build_gym_model(f"gym:{name}")
    env.reset(seed=1)
    for number in range(1, 2000):
        _, _, terminated, truncated, _ = env.step(ENDLESS[name](env))
        assert not terminated
        if truncated:
            break
    assert number == model.limit
