"""Deep Q-learning (Mnih et al., 2015) of drivers: replay memory, target network, fewer and fewer random acts.

With a discount of 0.99 waiting costs one percent, less than the error of a small network's values, so values
of a single step ahead drift up until every action seems alike. Against that: rewards of several steps are
added up before a value is used, another network names the best action than values it, and values stay within
what a return can be. The driver is the target network, a moving average of the one that learns.

Many cars drive at once; gradients and Adam are written out in numpy, because networks this small spend most
of their time between the operations of a larger library. Inputs are divided by their sizes while the network
learns; this is folded into the first layer afterwards, so that a policy reads the plain numbers. The same
seed on the same machine gives the same weights.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot_studies import Tell
from surefoot_studies.training.racetrack.driver_values import evaluate_driver
from surefoot_studies.training.racetrack.recipes import DriverRecipe
from surefoot_studies.training.racetrack.track_tables import (
    ACCELERATIONS,
    ARRIVED,
    CRASHED,
    Course,
    Floats,
    Numbers,
    shipped_course,
)
from surefoot_studies.training.rollout import Layers

Floats32: TypeAlias = NDArray[np.float32]
SCALE = 0.01  # of rewards while learning


@dataclass(frozen=True, slots=True, eq=False)
class DriverCheckpoint:
    """The driver after so many episodes; means over all starts of the training, and of the whole map."""

    episodes: int
    decisions: int
    mean_return: float
    goal_probability: float
    goal_probability_anywhere: float
    layers: Layers


@dataclass(frozen=True, slots=True, eq=False)
class TrainedDriver:
    layers: Layers
    curve: tuple[DriverCheckpoint, ...]
    cpu_seconds: float


def train_dqn(recipe: DriverRecipe, seed: int, tell: Tell = lambda _: None) -> TrainedDriver:
    """The driver of a recipe, from scratch."""
    rng = np.random.default_rng(seed)
    began = time.process_time()
    course = shipped_course(recipe.track, end_cell=recipe.end_cell)
    starts = course.line if recipe.start == "line" else course.anywhere
    learner = DqnLearner(recipe, course, rng)
    memory = _ReplayMemory(recipe.memory)
    cars = _at_rest(rng.choice(starts, recipe.cars), course)
    age = np.zeros(recipe.cars, dtype=np.int64)
    pending: deque[PendingDecisions] = deque()
    curve: list[DriverCheckpoint] = []
    episodes = decisions = 0
    while True:
        if episodes >= len(curve) * recipe.checkpoint_every:
            curve.append(_evaluate_checkpoint(recipe, course, learner.layers(), starts, episodes, decisions))
            found = f"return {curve[-1].mean_return:.2f}, goal probability {curve[-1].goal_probability:.3f}"
            tell(f"{recipe.name}, seed {seed}: {episodes} episodes, {found}")
        if episodes >= recipe.episodes:
            break
        done = episodes / recipe.episodes
        randomly = max(1 - (1 - recipe.least_random) * done / recipe.exploring, recipe.least_random)
        actions = learner.act(cars)
        odd = rng.random(recipe.cars) < randomly
        actions = np.where(odd, rng.integers(len(ACCELERATIONS), size=recipe.cars), actions)
        following = course.drive(cars, actions, rng.random(recipe.cars) < recipe.noise)
        decisions += recipe.cars
        age += 1
        over = (following[:, 0] < 0) | (age >= recipe.longest)
        pending.append(_pending_decisions(cars, actions))
        for one in pending:
            one.hear(recipe, following, over)
        if len(pending) == recipe.steps:
            memory.keep(pending.popleft())
        episodes += int(over.sum())
        cars = np.where(over[:, None], _at_rest(rng.choice(starts, recipe.cars), course), following)
        age[over] = 0
        if memory.size >= 20 * recipe.batch:
            rate = recipe.rate + (recipe.last_rate - recipe.rate) * done
            for _ in range(recipe.updates):
                learner.update(*memory.some(recipe.batch, rng), rate)
    return TrainedDriver(curve[-1].layers, tuple(curve), time.process_time() - began)


def _at_rest(cells: Numbers, course: Course) -> Numbers:
    return np.column_stack((cells, np.full((len(cells), 2), course.speed)))


def _pending_decisions(cars: Numbers, actions: Numbers) -> PendingDecisions:
    count = len(cars)
    return PendingDecisions(
        cars, actions, cars.copy(), np.zeros(count), np.ones(count), np.ones(count, dtype=np.bool_)
    )


def _evaluate_checkpoint(
    recipe: DriverRecipe, course: Course, layers: Layers, starts: Numbers, episodes: int, decisions: int
) -> DriverCheckpoint:
    rewards = recipe.goal_reward, recipe.crash_reward
    found = evaluate_driver(course, layers, recipe.noise, rewards, recipe.discount)
    goal, everywhere = float(found.goal[starts].mean()), float(found.goal[course.anywhere].mean())
    return DriverCheckpoint(episodes, decisions, float(found.gain[starts].mean()), goal, everywhere, layers)


@dataclass(slots=True, eq=False)
class PendingDecisions:
    """A decision of every car, and what has become of it so far: the sum of the discounted rewards, the state
    reached, how much that state's value still counts, and whether the episode goes on."""

    state: Numbers
    actions: Numbers
    following: Numbers
    gain: Floats
    weight: Floats
    open: NDArray[np.bool_]

    def hear(self, recipe: DriverRecipe, following: Numbers, over: NDArray[np.bool_]) -> None:
        cell, going = following[:, 0], self.open
        reward = recipe.goal_reward * (cell == ARRIVED) + recipe.crash_reward * (cell == CRASHED)
        self.gain += np.where(going, self.weight * reward * SCALE, 0.0)
        self.weight *= np.where(going, recipe.discount * (cell >= 0), 1.0)
        self.following[going] = np.maximum(following[going], 0)
        self.open &= ~over


class _ReplayMemory:
    """Decisions and what they led to some steps later, the oldest replaced by the newest."""

    def __init__(self, capacity: int) -> None:
        self.places = np.zeros((capacity, 7), dtype=np.int32)  # state, action, following state
        self.worth = np.zeros((capacity, 2), dtype=np.float32)  # gain, weight of the following state
        self.size = self.position = 0

    def keep(self, one: PendingDecisions) -> None:
        where = (self.position + np.arange(len(one.actions))) % len(self.places)
        self.places[where] = np.column_stack((one.state, one.actions, one.following))
        self.worth[where] = np.column_stack((one.gain, one.weight))
        self.position = int(where[-1] + 1) % len(self.places)
        self.size = min(self.size + len(where), len(self.places))

    def some(self, count: int, rng: np.random.Generator) -> tuple[Numbers, Floats32]:
        chosen = rng.integers(self.size, size=count)
        return self.places[chosen].astype(np.int64), self.worth[chosen]


class DqnLearner:
    """The network over scaled inputs, its target and the moments of Adam; alive while a training runs."""

    def __init__(self, recipe: DriverRecipe, course: Course, rng: np.random.Generator) -> None:
        self.recipe, self.course = recipe, course
        self.scale = course.scale(recipe.inputs)
        shapes = list(pairwise((recipe.inputs, *recipe.hidden, len(ACCELERATIONS))))
        self.weights = random_weights(shapes, rng)
        self.target = self.weights.copy()
        self.network, self.judge = layer_views(self.weights, shapes), layer_views(self.target, shapes)
        self.gradient = np.zeros_like(self.weights)
        self.slopes = layer_views(self.gradient, shapes)
        self.moments = AdamMoments(self.weights)

    def layers(self) -> Layers:
        """The network over plain inputs."""
        (first, bias), *rest = self.judge
        return [(first / self.scale, bias.copy()), *((w.copy(), b.copy()) for w, b in rest)]

    def see(self, state: Numbers) -> NDArray[np.float32]:
        return self.course.observe(state, self.recipe.inputs) / self.scale

    def act(self, state: Numbers) -> Numbers:
        return np.asarray(np.argmax(layer_activations(self.network, self.see(state))[-1], axis=1))

    def update(self, places: Numbers, worth: Floats32, rate: float) -> None:
        """One step towards gain plus discounted value of the best action then, as the target values it."""
        recipe, actions = self.recipe, places[:, 3]
        seen, rows = self.see(places[:, 4:]), np.arange(len(actions))
        chosen = layer_activations(self.network, seen)[-1].argmax(axis=1)  # double: van Hasselt et al., 2016
        best = layer_activations(self.judge, seen)[-1][rows, chosen]
        # No return lies outside; without this the values near the goal grow until waiting there seems best.
        best = np.clip(best, SCALE * recipe.crash_reward, SCALE * recipe.goal_reward)
        wanted = worth[:, 0] + worth[:, 1] * best
        passed = layer_activations(self.network, self.see(places[:, :3]))
        error = np.zeros_like(passed[-1])
        error[rows, actions] = np.clip(passed[-1][rows, actions] - wanted, -1, 1) / len(actions)
        backpropagate_error(self.network, passed, error, self.slopes)
        self.moments.descend(self.weights, self.gradient, rate)
        self.target += np.float32(1 / recipe.target_every) * (self.weights - self.target)


class AdamMoments:
    """Of one vector of weights (Kingma and Ba, 2015)."""

    def __init__(self, weights: Floats32) -> None:
        self.mean, self.square, self.updates = np.zeros_like(weights), np.zeros_like(weights), 0

    def descend(self, weights: Floats32, gradient: Floats32, rate: float) -> None:
        """Down the gradient, in place."""
        self.updates += 1
        self.mean += np.float32(0.1) * (gradient - self.mean)
        self.square += np.float32(0.001) * (gradient * gradient - self.square)
        rate *= float(np.sqrt(1 - 0.999**self.updates) / (1 - 0.9**self.updates))
        weights -= np.float32(rate) * self.mean / (np.sqrt(self.square) + np.float32(1e-8))


def random_weights(shapes: list[tuple[int, int]], rng: np.random.Generator) -> Floats32:
    """Of all layers in one vector."""
    drawn = [rng.uniform(-1, 1, before * after + after) / np.sqrt(before) for before, after in shapes]
    return np.concatenate(drawn).astype(np.float32)


def layer_views(weights: Floats32, shapes: list[tuple[int, int]]) -> Layers:
    """The layers inside one vector of weights, so that they change with it."""
    found, begin = [], 0
    for before, after in shapes:
        end = begin + before * after
        found.append((weights[begin:end].reshape(after, before), weights[end : end + after]))
        begin = end + after
    return found


def layer_activations(layers: Layers, inputs: Floats32) -> list[Floats32]:
    """The inputs of every layer, and the outputs of the last one."""
    passed = [inputs]
    for number, (weights, bias) in enumerate(layers):
        value = passed[-1] @ weights.T
        value += bias
        passed.append(value if number == len(layers) - 1 else np.maximum(value, 0, out=value))
    return passed


def backpropagate_error(layers: Layers, passed: list[Floats32], error: Floats32, slopes: Layers) -> None:
    """Write the gradient of every weight, given that of the outputs."""
    for number in reversed(range(len(layers))):
        np.matmul(error.T, passed[number], out=slopes[number][0])
        np.sum(error, axis=0, out=slopes[number][1])
        if number:
            error = error @ layers[number][0]
            error *= passed[number] > 0
