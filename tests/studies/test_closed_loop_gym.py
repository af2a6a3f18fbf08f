"""The study's Gymnasium problems take the steps of the installed library: 10,000 random states each.

Doubles agree operation by operation. Two things may differ: sine and cosine, which numpy and the C library
round to within one unit in the last place and the reference correctly; and what the library computes in
float32, which is a chosen value of the problem (`rounding`, …) within a stated range.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import cos
from typing import Any

import numpy as np
import pytest

from surefoot.problem.environment import Edge
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import holds_in_state
from surefoot.term.closures import compile_closure
from surefoot.term.evaluate import evaluate_term
from surefoot.term.value_types import Arithmetic, Real
from surefoot_studies.closed_loop.problem import PROBLEMS

gymnasium = pytest.importorskip("gymnasium")

COUNT = 10_000
LOOKS = 10  # what is observed and whether it is over: in every tenth state
NEAR = 4e-16  # of the largest summand: one unit in the last place of a sine or cosine
State = dict[str, float]


def problem_of(name: str) -> Problem:
    return PROBLEMS[name]()


def edges_of(problem: Problem) -> dict[str | None, Edge]:
    (component,) = problem.environment.components
    return {edge.action: edge for edge in component.edges}


def step_function(edge: Edge, *names: str) -> Callable[[State], State]:
    """All updates of the edge in doubles, by the closures that are held equal to the reference elsewhere."""
    (outcome,) = edge.outcomes
    slots, kinds = {name: place for place, name in enumerate(names)}, dict.fromkeys(names, Real())
    updates = {
        u.target.name: compile_closure(u.value, slots, kinds, Arithmetic.FLOAT64)  # type: ignore[union-attr]
        for u in outcome.updates
    }

    def take_step(values: State) -> State:
        row = [values[name] for name in names]
        return {target: update(row) for target, update in updates.items()}

    return take_step


def library(name: str) -> Any:
    """An environment that was reset once; its state is set before every step."""
    env = gymnasium.make(name).unwrapped
    env.reset(seed=0)
    return env


def observed(problem: Problem, state: State) -> np.ndarray:
    assert isinstance(problem.policy, NeuralPolicy)
    seen = [evaluate_term(term, state, Arithmetic.FLOAT64) for term in problem.policy.observe]
    return np.array(seen, dtype=np.float32)


def compare_states(found: Iterator[tuple[State, State]], scale: Callable[[State], float]) -> float:
    """The share of equal states; no value is further away than one rounding of a sine."""
    equal = 0
    for ours, theirs in found:
        equal += ours == theirs
        for name, value in ours.items():
            assert abs(value - theirs[name]) <= NEAR * scale(theirs)
    return equal / COUNT


def test_cartpole() -> None:
    problem, env = problem_of("gym-cartpole/steps-500"), library("CartPole-v1")
    rng = np.random.default_rng(0)
    edges = {label: step_function(edge, *"xvaw") for label, edge in edges_of(problem).items()}
    bad = problem.property.bad  # type: ignore[union-attr]

    def steps() -> Iterator[tuple[State, State]]:
        for number, row in enumerate(rng.uniform(-1, 1, (COUNT, 4)) * np.array([2.5, 3.0, 0.25, 3.0])):
            state = dict(zip("xvaw", map(float, row), strict=True))
            action = int(rng.integers(2))
            env.state, env.steps_beyond_terminated = row.copy(), None
            seen, _, over, _, _ = env.step(action)
            ours = edges[("left", "right")[action]](state)
            theirs = dict(zip("xvaw", map(float, env.state), strict=True))
            if number % LOOKS == 0:
                assert holds_in_state(problem, theirs, bad) == over
                assert (observed(problem, theirs) == seen).all()
            yield ours, theirs

    assert compare_states(steps(), lambda after: 1 + max(map(abs, after.values()))) > 0.9


def test_pendulum() -> None:
    problem, env = problem_of("gym-pendulum-brake/slow"), library("Pendulum-v1")
    (edge,), rng = edges_of(problem).values(), np.random.default_rng(0)
    take_step = step_function(edge, "a", "w", "torque", "rounding")
    (choice,) = edge.chosen
    most = float(choice.kind.high)  # type: ignore[union-attr]

    def steps() -> Iterator[tuple[State, State]]:
        for number, row in enumerate(rng.uniform(-8, 8, (COUNT, 2))):
            torque = np.float32(rng.uniform(-2.5, 2.5))
            env.state = row.copy()
            seen = env.step(np.array([torque]))[0]
            held = np.clip(torque, np.float32(-2), np.float32(2))
            rounding = float(np.float32(3) * held) - 3 * float(held)  # exact: 26 bits
            assert abs(rounding) <= most
            names = {"a": float(row[0]), "w": float(row[1]), "torque": float(held), "rounding": rounding}
            theirs = dict(zip("aw", map(float, env.state), strict=True))
            if number % LOOKS == 0:
                assert np.abs(observed(problem, theirs) - seen).max() <= 2**-23  # a unit of float32 at most
            yield take_step(names), theirs

    assert compare_states(steps(), lambda _: 16) > 0.9


def test_mountaincar() -> None:
    problem, env = problem_of("gym-mountaincar/arrives"), library("MountainCar-v0")
    rng = np.random.default_rng(0)
    edges = {label: step_function(edge, *"xv") for label, edge in edges_of(problem).items()}
    good = problem.property.good  # type: ignore[union-attr]

    def steps() -> Iterator[tuple[State, State]]:
        for number, row in enumerate(rng.uniform((-1.2, -0.07), (0.6, 0.07), (COUNT, 2))):
            action = int(rng.integers(3))
            env.state = row.copy()
            seen, _, over, _, _ = env.step(action)
            state = dict(zip("xv", map(float, row), strict=True))
            theirs = dict(zip("xv", map(float, env.state), strict=True))
            if number % LOOKS == 0:
                assert holds_in_state(problem, theirs, good) == over
                assert (observed(problem, theirs) == seen).all()
            yield edges[("left", "none", "right")[action]](state), theirs

    assert compare_states(steps(), lambda _: 1) > 0.9


def test_continuous_mountaincar() -> None:
    """The library's state is float32, and so is what it computes from it; the first state of a run is not."""
    problem, env = problem_of("gym-mountaincar-continuous/arrives"), library("MountainCarContinuous-v0")
    (edge,), rng = edges_of(problem).values(), np.random.default_rng(0)
    good = problem.property.good  # type: ignore[union-attr]
    take_step = step_function(edge, "x", "v", "force", "speed_rounding", "place_rounding")
    limits = {c.name: float(c.kind.high) for c in edge.chosen}  # type: ignore[union-attr]
    low, high = np.array([-1.2, -0.07]), np.array([0.6, 0.07])
    for number in range(COUNT):
        # A run begins with doubles in the reset box; every later state is float32.
        row: Any = np.array([rng.uniform(-0.6, -0.4), 0.0]) if number % 4 == 0 else None
        row = rng.uniform(low, high).astype(np.float32) if row is None else row
        force = np.float32(rng.uniform(-1.3, 1.3))
        env.state = row.copy()
        seen, _, over, _, _ = env.step(np.array([force]))
        # What the library computes, with numpy's rules for a float32 that meets a Python number.
        held = min(max(force, -1.0), 1.0)
        speed = row[1] + (held * 0.0015 - 0.0025 * cos(3 * row[0]))
        x, v = map(float, row)
        speed_rounding = float(np.float32(speed)) - (v + (0.0015 * float(held) - 0.0025 * cos(3 * x)))
        speed = min(max(speed, -0.07), 0.07)
        place_rounding = float(np.float32(row[0] + speed)) - (x + float(np.float32(speed)))
        chosen = {"speed_rounding": speed_rounding, "place_rounding": place_rounding}
        assert all(abs(value) <= limits[name] for name, value in chosen.items())
        ours = take_step({"x": x, "v": v, "force": float(held), **chosen})
        theirs = dict(zip("xv", map(float, env.state), strict=True))
        assert all(abs(value - theirs[name]) <= 1e-15 for name, value in ours.items())
        if number % LOOKS == 1:
            assert holds_in_state(problem, theirs, good) == over
            assert (observed(problem, theirs) == seen).all()
