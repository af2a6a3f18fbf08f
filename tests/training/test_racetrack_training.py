"""Drivers: the tables against the study's automata, the gradient against differences, and a training."""

import hashlib
import tomllib
from dataclasses import asdict
from fractions import Fraction
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest

from surefoot.formats.onnx import read_onnx_network
from surefoot.problem.meaning.decision import observation_vector
from surefoot.problem.meaning.inference import infer_outputs
from surefoot.problem.network import dense_network
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import enumerate_successors
from surefoot_studies.racetrack.end_cell import end_cell_environment
from surefoot_studies.racetrack.model import racetrack_environment
from surefoot_studies.racetrack.policies import racetrack_policy
from surefoot_studies.racetrack.problem import never_crashes
from surefoot_studies.racetrack.track import FREE, GOAL, START, Track, parse_track, shipped_track
from surefoot_studies.training.onnx_files import onnx_bytes
from surefoot_studies.training.racetrack import track_tables as courses
from surefoot_studies.training.racetrack.dqn import (
    DqnLearner,
    backpropagate_error,
    layer_activations,
    layer_views,
    train_dqn,
)
from surefoot_studies.training.racetrack.driver_values import evaluate_driver
from surefoot_studies.training.racetrack.gym import make_racetrack_env as gym_environment
from surefoot_studies.training.racetrack.recipes import DRIVERS, DriverRecipe
from surefoot_studies.training.racetrack.track_tables import ARRIVED, CRASHED, build_course

SPEED = 2
ASSETS = files("surefoot_studies.racetrack").joinpath("assets")
CORNER = parse_track("xxxxxgg\nxxxx...\nss.....\nss....x\nxx..xxx", "corner")


def car(track: Track, cell: int, dx: int, dy: int) -> dict[str, int]:
    y, x = divmod(cell, track.width)
    return {"car_x": x, "car_y": y, "car_dx": dx, "car_dy": dy}


def end_of(question: Problem, state: dict[str, int]) -> tuple[str, int, int, int, int]:
    """Follow the micro-steps, which leave no choice, until the car knows what became of it."""
    drive, _, crashed, finished = range(4)
    while state["@car"] == 1:
        (following,) = enumerate_successors(question, state)
        state = following.state
    place = (state["car_x"], state["car_y"], state["car_dx"], state["car_dy"])
    return ({drive: "drive", crashed: "crashed", finished: "finished"}[state["@car"]], *place)


@pytest.mark.parametrize("end_cell", [False, True])
def test_the_tables_agree_with_the_automata(end_cell: bool) -> None:
    """Sixty states with every acceleration, with and without slipping."""
    road = build_course(CORNER, SPEED, end_cell=end_cell)
    if end_cell:
        where = end_cell_environment(CORNER, slip=Fraction(1, 5), largest_speed=SPEED)
        more = {"@car": 0}
    else:
        where = racetrack_environment(CORNER, Fraction(1, 5), SPEED)
        more = {"start_x": 0, "start_y": 0, "cells": 0, "@car": 0, "@road": 0, "@check": 0}
    question = Problem("tables", where, None, never_crashes())
    rng = np.random.default_rng(2)
    seen = set()
    for cell, dx, dy in zip(
        rng.choice(road.anywhere, 60), *rng.integers(-SPEED, SPEED + 1, size=(2, 60)), strict=True
    ):
        state = car(CORNER, int(cell), int(dx), int(dy)) | more
        for number, step in enumerate(enumerate_successors(question, state)):
            action, slips = divmod(number, 2)
            rows = np.array([[cell, dx + SPEED, dy + SPEED]])
            after, vx, vy = road.drive(rows, np.array([action]), np.array([bool(slips)]))[0]
            kind, x, y, fx, fy = end_of(question, dict(step.state))
            assert (fx + SPEED, fy + SPEED) == (vx, vy)
            expected = {"crashed": CRASHED, "finished": ARRIVED}.get(kind, y * CORNER.width + x)
            assert after == expected, (cell, dx, dy, action, slips)
            seen.add(kind)
    assert seen == {"drive", "crashed", "finished"}


@pytest.mark.parametrize("name", ["small", "big", "ring"])
@pytest.mark.parametrize("inputs", [4, 15])
def test_what_the_network_sees_is_what_the_terms_say(name: str, inputs: int) -> None:
    track = shipped_track(name)
    road = build_course(track)
    policy = racetrack_policy(dense_network([(np.zeros((9, inputs)), np.zeros(9))]), track)
    where = racetrack_environment(track)
    rng = np.random.default_rng(inputs)
    cells = rng.choice(road.anywhere, 25, replace=False)
    velocities = rng.integers(-5, 6, size=(25, 2))
    seen = road.observe(np.column_stack((cells, velocities + 5)), inputs)
    rest = {"start_x": 0, "start_y": 0, "cells": 0, "@car": 0, "@road": 0, "@check": 0}
    for row, cell, (dx, dy) in zip(seen, cells, velocities, strict=True):
        state = car(track, int(cell), int(dx), int(dy)) | rest
        assert observation_vector(policy, where, state).tolist() == row.tolist()


def test_starts() -> None:
    road, track = build_course(CORNER), CORNER
    places = {(int(c) % track.width, int(c) // track.width) for c in road.anywhere}
    assert places == set(track.places(START, FREE))
    assert len(road.line) == len(track.places(START)) == 4
    assert not places & set(track.places(GOAL))


def test_the_gradient_is_the_one_of_differences() -> None:
    rng = np.random.default_rng(1)
    shapes = list(pairwise((3, 5, 4, 2)))
    weights = rng.normal(size=sum(a * b + b for a, b in shapes))
    inputs, wanted = rng.normal(size=(6, 3)), rng.normal(size=(6, 2))

    def loss(at: np.ndarray) -> float:
        return float(((layer_activations(layer_views(at, shapes), inputs)[-1] - wanted) ** 2).sum() / 2)

    slope = np.zeros_like(weights)
    passed = layer_activations(layer_views(weights, shapes), inputs)
    backpropagate_error(layer_views(weights, shapes), passed, passed[-1] - wanted, layer_views(slope, shapes))
    for i in range(len(weights)):
        step = np.zeros_like(weights)
        step[i] = 1e-6
        assert slope[i] == pytest.approx((loss(weights + step) - loss(weights - step)) / 2e-6, abs=1e-5)


def test_scaling_is_folded_into_the_first_layer() -> None:
    recipe, road = DriverRecipe("t", "small"), build_course(CORNER)
    learner = DqnLearner(recipe, road, np.random.default_rng(0))
    state = np.column_stack((road.anywhere, np.full((len(road.anywhere), 2), 5)))
    plain = layer_activations(learner.layers(), road.observe(state, 15))[-1]
    assert np.allclose(plain, layer_activations(learner.network, learner.see(state))[-1], atol=1e-5)


def test_a_short_training_learns_to_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same seed twice gives the same bytes, and the goal becomes likely."""
    monkeypatch.setattr(
        "surefoot_studies.training.racetrack.dqn.shipped_course", lambda *_, **__: build_course(CORNER)
    )
    recipe = DriverRecipe(
        "corner", "corner", episodes=2500, checkpoint_every=500, cars=32, updates=4, batch=64
    )
    first, again = train_dqn(recipe, 3), train_dqn(recipe, 3)
    assert [p.episodes // 500 for p in first.curve] == [0, 1, 2, 3, 4, 5]
    assert first.curve[0].goal_probability < 0.1 < 0.6 < first.curve[-1].goal_probability
    written = [onnx_bytes(t.layers, "relu", "corner") for t in (first, again)]
    assert written[0] == written[1]


def test_a_judged_driver_by_simulation() -> None:
    """Goal probability and return of a fixed network against 4,000 simulated episodes."""
    road = build_course(CORNER)
    rng = np.random.default_rng(5)
    layers = [(rng.normal(size=(9, 15)).astype(np.float32), np.zeros(9, np.float32))]
    found = evaluate_driver(road, layers, 0.2, (100.0, -50.0), 0.99)
    cars = np.column_stack((np.repeat(road.line, 1000), np.full((4000, 2), 5)))
    gain, arrived, alive, factor = np.zeros(4000), np.zeros(4000), np.ones(4000, bool), 1.0
    for _ in range(300):
        outputs = road.observe(cars, 15) @ layers[0][0].T
        after = road.drive(cars, outputs.argmax(axis=1), rng.random(4000) < 0.2)
        gain += (
            factor
            * alive
            * np.where(after[:, 0] == ARRIVED, 100.0, np.where(after[:, 0] == CRASHED, -50.0, 0))
        )
        arrived += alive & (after[:, 0] == ARRIVED)
        alive &= after[:, 0] >= 0
        cars = np.where(alive[:, None], after, cars)
        factor *= 0.99
    assert found.goal[road.line].mean() == pytest.approx(arrived.mean(), abs=0.04)
    assert found.gain[road.line].mean() == pytest.approx(gain.mean(), abs=4)
    assert np.all(found.goal + found.crash <= 1 + 1e-9)


@pytest.mark.parametrize("name", DRIVERS)
def test_shipped_drivers_are_the_ones_of_their_recipes(name: str) -> None:
    recipe = DRIVERS[name]
    written = tomllib.loads(ASSETS.joinpath(f"{name}.toml").read_text("utf-8"))
    settings = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(recipe).items()}
    assert written["settings"] == settings
    seed = written["seeds"][0]
    content = ASSETS.joinpath(f"{name}.onnx").read_bytes()
    assert hashlib.sha256(content).hexdigest() == seed["sha256"]
    assert seed["mean_return"] == pytest.approx(max(seed["curve_returns"]), abs=1e-3)
    network = read_onnx_network(ASSETS.joinpath(f"{name}.onnx"))  # type: ignore[arg-type]
    road = courses.shipped_course(recipe.track, end_cell=recipe.end_cell)
    state = np.column_stack((road.anywhere, np.full((len(road.anywhere), 2), road.speed)))
    outputs = infer_outputs(network, road.observe(state, recipe.inputs))
    assert outputs.shape == (len(road.anywhere), 9)


def test_as_a_gymnasium_environment() -> None:
    pytest.importorskip("gymnasium")
    car_in = gym_environment("small", noise=0.0, start="line", inputs=4)
    seen, _ = car_in.reset(seed=1)
    assert car_in.observation_space.contains(seen)
    assert seen[2:].tolist() == [0, 0]
    accelerate = 7  # (1, 0)
    rewards = []
    for _ in range(40):
        seen, reward, terminated, truncated, info = car_in.step(accelerate)
        rewards.append(reward)
        if terminated:
            break
    assert (rewards[-1], info) == (-50.0, {"end": "crash"})
    assert not truncated
    first = [gym_environment(CORNER).reset(seed=s)[0].tolist() for s in (4, 4, 5)]
    assert first[0] == first[1]
