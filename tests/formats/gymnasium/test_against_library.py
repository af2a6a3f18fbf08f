"""The models take the steps of the installed library: 10,000 random states and actions each.

Doubles agree operation by operation. Two things may differ: sine and cosine, which the library takes from its
platform and the reference rounds correctly; and what the library computes in float32, which is a chosen value
of the model within a stated range. Both are checked here: how often, how much, and that the range is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import cos, pi
from typing import Any

import numpy as np
import pytest

from surefoot.formats.gymnasium.gym_model import REWARD
from surefoot.formats.gymnasium.registry import build_gym_model
from surefoot.term.columns import compile_columns
from surefoot.term.term import FALSE, Term
from surefoot.term.value_types import Arithmetic, Real

gymnasium = pytest.importorskip("gymnasium")

COUNT = 10_000
NEAR = 4e-16  # of the largest summand: one unit in the last place of a sine or cosine
Columns = Mapping[str, Any]


class Steps:
    """The edges of a model as functions of columns, which have the bits of the reference."""

    def __init__(self, text: str) -> None:
        self.model = model = build_gym_model(text)
        (component,) = model.environment.components
        self.edges = component.edges
        self.variables = [v.name for v in model.environment.variables]
        chosen = [c.name for edge in self.edges for c in edge.chosen]
        self.names = dict.fromkeys((*self.variables, *(c.name for c in model.environment.controls), *chosen))

    def values(self, terms: Sequence[Term], columns: Columns, count: int) -> list[Any]:
        kinds = dict.fromkeys(self.names, Real())
        found = compile_columns(terms, kinds, Arithmetic.FLOAT64, exact=True)(columns, count)
        assert not any(lost.any() for lost in found.lost)
        return [np.broadcast_to(np.asarray(column), (count,)) for column in found.columns]

    def take(self, number: int, columns: Columns, count: int) -> Columns:
        """The next states by one edge."""
        (outcome,) = self.edges[number].outcomes
        now = {name: columns.get(name, np.zeros(count)) for name in self.names}
        ordered = sorted(outcome.updates, key=lambda update: update.index)
        for _, together in groupby(ordered, key=lambda update: update.index):
            updates = list(together)
            after = self.values([u.value for u in updates], now, count)
            now |= {u.target.name: column for u, column in zip(updates, after, strict=True)}  # type: ignore[union-attr]
        return {name: now[name] for name in self.variables}


@dataclass
class Seen:
    """Steps that the library took: states before and after, and what it returned."""

    before: list[Any] = field(default_factory=list)
    after: list[Any] = field(default_factory=list)
    actions: list[int] = field(default_factory=list)
    results: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, env: Any, before: Sequence[float], action: int, result: tuple[Any, ...]) -> None:
        self.before.append([float(value) for value in before])
        self.after.append([float(value) for value in env.state])
        self.actions.append(action)
        self.results.append(result)


def compare(steps: Steps, seen: Seen, names: Sequence[str], look: float = 0.0) -> tuple[Any, Any]:
    """The largest difference of each step and the size of its states; what is observed, earned and said to be
    over is the same (observations up to `look`)."""
    before, after, actions = np.array(seen.before), np.array(seen.after), np.array(seen.actions)
    apart, count = np.zeros(len(before)), after.shape[1]
    for number in sorted(set(seen.actions)):
        own = actions == number
        columns = dict(zip(names, before[own].T, strict=True))
        then = dict(zip(names[:count], after[own].T, strict=True))
        ours = steps.take(number, columns, int(own.sum()))
        apart[own] = np.max([np.abs(ours[name] - then[name]) for name in names[:count]], axis=0)
        assert all((ours[name] == 0).all() for name in steps.variables[count:])
        compare_looks(steps, number, columns, then, [seen.results[i] for i in np.flatnonzero(own)], look)
    return apart, 1 + np.abs(after).max(axis=1)


def compare_looks(
    steps: Steps,
    number: int,
    columns: Columns,
    then: Columns,
    results: Sequence[tuple[Any, ...]],
    look: float,
) -> None:
    """Observations, ends and rewards, of every step by one edge."""
    model, count = steps.model, len(results)
    now = {name: columns.get(name, np.zeros(count)) for name in steps.names}
    later = now | then
    shown = np.array(steps.values(model.observe, later, count)).astype(np.float32)
    assert np.abs(shown - np.array([result[0] for result in results]).T).max() <= look
    over = [result[2] for result in results]
    ends = FALSE if model.terminates is None else model.terminates
    assert (steps.values([ends], later, count)[0] == over).all()
    term = dict(steps.edges[number].outcomes[0].rewards).get(REWARD)
    states = now if term is not None else later
    (earned,) = steps.values([model.rewards_after if term is None else term], states, count)  # type: ignore[list-item]
    assert np.allclose(earned, [float(result[1]) for result in results], rtol=1e-6, atol=1e-7)


def library(name: str, text: str = "") -> Any:
    """An environment that was reset once; its state is set before every step."""
    env = gymnasium.make(name).unwrapped
    env.reset(seed=0)
    set_arguments(env, text)
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
    steps, env, rng, seen = Steps(text), library("CartPole-v1", text), np.random.default_rng(0), Seen()
    for row in rng.uniform(-1, 1, (COUNT, 4)) * np.array([2.5, 3.0, 0.25, 3.0]):
        env.state, env.steps_beyond_terminated = row.copy(), None
        action = int(rng.integers(2))
        seen.add(env, row, action, env.step(action))
    apart, size = compare(steps, seen, steps.variables)
    assert (apart <= NEAR * size).all()
    assert (apart == 0).mean() > 0.9


@pytest.mark.parametrize(
    "text", ["gym:MountainCar-v0", "gym:MountainCar-v0?goal_velocity=0.01&force=0.002&gravity=0.003"]
)
def test_mountain_car(text: str) -> None:
    steps, env, rng, seen = Steps(text), library("MountainCar-v0", text), np.random.default_rng(0), Seen()
    for row in rng.uniform((-1.2, -0.07), (0.6, 0.07), (COUNT, 2)):
        env.state = row.copy()
        action = int(rng.integers(3))
        seen.add(env, row, action, env.step(action))
    apart, _ = compare(steps, seen, steps.variables)
    assert (apart <= NEAR).all()
    assert (apart == 0).mean() > 0.9


@pytest.mark.parametrize(
    "text", ["gym:MountainCarContinuous-v0", "gym:MountainCarContinuous-v0?power=0.003&goal_velocity=0.01"]
)
def test_continuous_mountain_car(text: str) -> None:
    """Its state is float32, and so is what it computes from it; the first state of a run is not."""
    steps, env = Steps(text), library("MountainCarContinuous-v0", text)
    rng, seen, names = np.random.default_rng(0), Seen(), tuple(steps.names)
    limits = [float(c.kind.high) for c in steps.edges[0].chosen]  # type: ignore[union-attr]
    low, high, power = np.array([-1.2, -0.07]), np.array([0.6, 0.07]), env.power
    for number in range(COUNT):
        # A run begins with doubles in the reset box; every later state is float32.
        row: Any = rng.uniform(low, high).astype(np.float32)
        row = np.array([rng.uniform(-0.6, -0.4), 0.0]) if number % 4 == 0 else row
        force = np.float32(rng.uniform(-1, 1))
        env.state = row.copy()
        result = env.step(np.array([force]))
        # What the library computes, with numpy's rules for a float32 that meets a Python number.
        speed = row[1] + (force * power - 0.0025 * cos(3 * row[0]))
        x, v = map(float, row)
        own = float(np.float32(speed)) - (v + (power * float(force) - 0.0025 * cos(3 * x)))
        speed = np.float32(min(max(speed, -0.07), 0.07))
        place = float(np.float32(row[0] + speed)) - (x + float(speed))
        assert abs(own) <= limits[0]
        assert abs(place) <= limits[1]
        seen.add(env, (x, v, float(force), own, place), 0, result)
    apart, _ = compare(steps, seen, names)
    assert (apart <= 1e-15).all()


@pytest.mark.parametrize(
    "text", ["gym:Pendulum-v1", "gym:Pendulum-v1?g=9.81&m=0.7&l=1.3&dt=0.02&max_torque=3.1&max_speed=5"]
)
def test_pendulum(text: str) -> None:
    steps, env, rng, seen = Steps(text), library("Pendulum-v1", text), np.random.default_rng(0), Seen()
    most, gain = float(steps.edges[0].chosen[0].kind.high), 3.0 / (env.m * env.l**2)  # type: ignore[union-attr]
    for row in rng.uniform(-1, 1, (COUNT, 2)) * np.array([100, env.max_speed]):
        torque = np.array([rng.uniform(-1.3, 1.3) * env.max_torque], dtype=np.float32)
        env.state = row.copy()
        result = env.step(torque)
        held = np.clip(torque, -env.max_torque, env.max_torque)[0]
        rounding = float(gain * held) - gain * float(held)
        assert abs(rounding) <= most
        seen.add(env, (*row, float(held), rounding), 0, result)
    apart, size = compare(steps, seen, tuple(steps.names), 2**-23)  # a unit of float32 at most
    assert (apart <= NEAR * size).all()
    assert (apart == 0).mean() > 0.9


@pytest.mark.parametrize(
    "text", ["gym:Acrobot-v1", "gym:Acrobot-v1?book_or_nips=nips&LINK_MASS_2=0.6&LINK_LENGTH_1=1.2"]
)
def test_acrobot(text: str) -> None:
    """At the speeds of most runs, and up to the largest ones, where differences grow within a step."""
    steps, env, rng, seen = Steps(text), library("Acrobot-v1", text), np.random.default_rng(0), Seen()
    for number, row in enumerate(rng.uniform(-1, 1, (COUNT, 4)) * np.array([pi, pi, 4 * pi, 9 * pi])):
        row[2:] *= (0.2, 1.0)[number % 2]
        env.state = row.copy()
        action = int(rng.integers(3))
        seen.add(env, row, action, env.step(action))
    apart, _ = compare(steps, seen, steps.variables[:4], 2**-22)
    assert (apart[::2] <= 1e-14).all()
    assert (apart <= 1e-13).all()
    assert (apart == 0).mean() > 0.9


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
    """Starts of the library are starts of the model, spread over its box."""
    model, env = build_gym_model(f"gym:{name}"), gymnasium.make(name)
    assert model.limit == env.spec.max_episode_steps
    steps, names = Steps(f"gym:{name}"), [v.name for v in model.environment.variables][:variables]
    ranges = {key: [float(p) for p in law.parameters] for key, law in model.environment.start_laws}
    states = []
    for seed in range(200):
        env.reset(seed=seed)
        states.append([float(value) for value in env.unwrapped.state])
    columns = dict.fromkeys(steps.names, np.zeros(200)) | dict(zip(names, np.array(states).T, strict=True))
    assert np.all(steps.values([model.environment.initial], columns, 200)[0])
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
    taken, truncated = 0, False
    while not truncated:
        _, _, terminated, truncated, _ = env.step(ENDLESS[name](env))
        taken += 1
        assert not terminated
    assert taken == model.limit
