"""Proximal policy optimisation (Schulman et al., 2017) with generalised advantage estimates, in torch.

Whole episodes are collected with the weights as numpy arrays, by a generator that is seeded once; torch only
computes gradients, on one thread. The same seed on the same machine gives the same weights. A recipe may ask
for rounds of imitation first: the policy acts, the baseline says what it would have done (Ross et al., 2011).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from surefoot_studies import Tell
from surefoot_studies.training import rollout
from surefoot_studies.training.recipes import Recipe
from surefoot_studies.training.simulators import SIMULATORS
from surefoot_studies.training.simulators.protocol import Actions, BatchSimulator, Floats

CURVE_POINTS = 12
CURVE_EPISODES = 64
FIRST_LOG_SPREAD = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class PpoCheckpoint:
    """The policy after so many decisions, and its mean return on held-out episodes."""

    iteration: int
    decisions: int
    mean_return: float
    layers: rollout.Layers


@dataclass(frozen=True, slots=True, eq=False)
class PpoPolicy:
    layers: rollout.Layers
    curve: tuple[PpoCheckpoint, ...]
    cpu_seconds: float


def train_ppo(recipe: Recipe, seed: int, tell: Tell = lambda _: None) -> PpoPolicy:
    """The policy of a recipe, from scratch."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    rng = np.random.default_rng(seed)
    kind = SIMULATORS[recipe.study]
    began = time.process_time()
    learner = PpoLearner(recipe, kind)
    curve: list[PpoCheckpoint] = []
    decisions = 0

    def look(iteration: int) -> None:
        layers = learner.layers()
        mean = float(
            rollout.held_out_returns(
                kind, rollout.greedy_actor(layers, recipe.activation, kind), CURVE_EPISODES
            ).mean()
        )
        curve.append(PpoCheckpoint(iteration, decisions, mean, layers))
        tell(f"{recipe.name}, seed {seed}: iteration {iteration}, mean return {mean:.4g}")

    look(0)
    rounds = recipe.imitation + recipe.iterations
    for iteration in range(1, rounds + 1):
        imitating = iteration <= recipe.imitation
        episodes = rollout.play_episodes(
            kind, learner.random_act(rng), recipe.episodes, rng, advised=imitating
        )
        decisions += int(episodes.alive.sum())
        remaining = 1 - (iteration - 1) / rounds
        if imitating:
            learner.imitate(episodes, rng)
        else:
            learner.improve(episodes, rng, remaining)
        if iteration * CURVE_POINTS // rounds > (iteration - 1) * CURVE_POINTS // rounds:
            look(iteration)
    return PpoPolicy(learner.layers(), tuple(curve), time.process_time() - began)


def _dense_module(widths: tuple[int, ...], activation: str) -> Any:
    parts: list[Any] = []
    for before, after in pairwise(widths):
        parts += [
            torch.nn.Linear(before, after),
            torch.nn.ReLU() if activation == "relu" else torch.nn.Tanh(),
        ]
    return torch.nn.Sequential(*parts[:-1])


class PpoLearner:
    """Actor, critic and their optimiser; alive while a training runs."""

    def __init__(self, recipe: Recipe, kind: type[BatchSimulator]) -> None:
        self.recipe, self.kind = recipe, kind
        self.actor = _dense_module((kind.width, *recipe.hidden, kind.actions or 1), recipe.activation)
        self.critic = _dense_module((kind.width, *recipe.value_hidden, 1), "tanh")
        self.log_spread = torch.nn.Parameter(torch.full((1,), FIRST_LOG_SPREAD))
        with torch.no_grad():
            self.actor[-1].weight.mul_(0.1)
        self.parameters = [*self.actor.parameters(), *self.critic.parameters(), self.log_spread]
        self.optimiser = torch.optim.Adam(self.parameters, lr=recipe.rate)
        self.imitator = torch.optim.Adam(self.actor.parameters(), lr=1e-3)
        self.memory: list[tuple[Any, Any]] = []
        self.penalty: Callable[[Any], Any] | None = None  # of the actor, added to every loss

    def start_from(self, layers: rollout.Layers, spread: float) -> None:
        """Begin with a policy that is trained already; the critic knows nothing of it yet."""
        linear = [m for m in self.actor if isinstance(m, torch.nn.Linear)]
        with torch.no_grad():
            for module, (weights, bias) in zip(linear, layers, strict=True):
                module.weight.copy_(torch.from_numpy(np.array(weights, dtype=np.float32)))
                module.bias.copy_(torch.from_numpy(np.array(bias, dtype=np.float32)))
            self.log_spread.fill_(float(np.log(spread)))

    def layers(self) -> rollout.Layers:
        linear = [m for m in self.actor if isinstance(m, torch.nn.Linear)]
        return [(m.weight.detach().numpy().copy(), m.bias.detach().numpy().copy()) for m in linear]

    def random_act(self, rng: np.random.Generator) -> rollout.Act:
        layers, spread = self.layers(), float(self.log_spread.detach().exp())

        def act(_: BatchSimulator, observations: Floats) -> Actions:
            outputs = rollout.forward_dense(layers, self.recipe.activation, observations)
            chosen: Actions
            if self.kind.actions:
                chosen = np.argmax(outputs + rng.gumbel(size=outputs.shape), axis=1)
            else:
                chosen = outputs[:, 0] + spread * rng.normal(size=len(outputs))
            return chosen

        return act

    def distribution(self, observations: Any) -> Any:
        outputs = self.actor(observations)
        if self.kind.actions:
            return torch.distributions.Categorical(logits=outputs)
        return torch.distributions.Normal(outputs[:, 0], self.log_spread.exp())

    def imitate(self, episodes: rollout.EpisodeBatch, rng: np.random.Generator) -> None:
        """Learn what the baseline advised in all states met so far."""
        alive = episodes.alive
        self.memory.append(
            (torch.from_numpy(episodes.observations[alive]), torch.from_numpy(episodes.advice[alive]))
        )
        seen = torch.cat([m[0] for m in self.memory])
        advice = torch.cat([m[1] for m in self.memory])
        for _ in range(self.recipe.epochs):
            for part in _random_batches(len(seen), 256, rng):
                loss = torch.nn.functional.cross_entropy(self.actor(seen[part]), advice[part])
                self.imitator.zero_grad()
                loss.backward()
                self.imitator.step()

    def appraise(self, episodes: rollout.EpisodeBatch, rng: np.random.Generator) -> None:
        """The critic alone learns what the episodes were worth."""
        alive = episodes.alive
        seen = torch.from_numpy(episodes.observations)
        with torch.no_grad():
            values = self.critic(seen)[..., 0].numpy().astype(np.float64)
        worth = (_estimate_advantages(episodes, values, self.recipe) + values)[alive]
        target, seen = torch.from_numpy(worth.astype(np.float32)), seen[torch.from_numpy(alive)]
        for _ in range(self.recipe.epochs):
            for part in _random_batches(len(seen), self.recipe.batch, rng):
                loss = ((self.critic(seen[part])[:, 0] - target[part]) ** 2).mean()
                self.optimiser.zero_grad()
                loss.backward()
                self.optimiser.step()

    def improve(self, episodes: rollout.EpisodeBatch, rng: np.random.Generator, remaining: float) -> None:
        """One PPO update; the rate of learning falls linearly."""
        recipe, alive = self.recipe, episodes.alive
        self.memory.clear()
        for group in self.optimiser.param_groups:
            group["lr"] = recipe.rate * max(remaining, 0.05)
        with torch.no_grad():
            seen = torch.from_numpy(episodes.observations)
            values = self.critic(seen)[..., 0].numpy().astype(np.float64)
        advantage = _estimate_advantages(episodes, values, recipe)
        target = torch.from_numpy((advantage + values)[alive].astype(np.float32))
        gain = torch.from_numpy(advantage[alive].astype(np.float32))
        gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        seen = seen[torch.from_numpy(alive)]
        actions = torch.from_numpy(
            episodes.actions[alive].astype(np.int64 if self.kind.actions else np.float32)
        )
        with torch.no_grad():
            before = self.distribution(seen).log_prob(actions)
        for _ in range(recipe.epochs):
            for part in _random_batches(len(seen), recipe.batch, rng):
                self._update(seen[part], actions[part], before[part], gain[part], target[part])

    def _update(self, seen: Any, actions: Any, before: Any, gain: Any, target: Any) -> None:
        recipe, chosen = self.recipe, self.distribution(seen)
        ratio = (chosen.log_prob(actions) - before).exp()
        clipped = ratio.clamp(1 - recipe.clip, 1 + recipe.clip)
        loss = -torch.min(ratio * gain, clipped * gain).mean()
        loss = loss + 0.5 * ((self.critic(seen)[:, 0] - target) ** 2).mean()
        loss = loss - recipe.entropy * chosen.entropy().mean()
        if self.penalty is not None:
            loss = loss + self.penalty(self.actor)
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.parameters, 0.5)
        self.optimiser.step()


def _estimate_advantages(episodes: rollout.EpisodeBatch, values: Floats, recipe: Recipe) -> Floats:
    advantage, later, value = np.zeros_like(values), np.zeros(values.shape[1]), np.zeros(values.shape[1])
    for t in reversed(range(len(values))):
        alive = episodes.alive[t]
        surprise = recipe.reward_scale * episodes.rewards[t] + recipe.discount * value - values[t]
        later = np.where(alive, surprise + recipe.discount * recipe.trace * later, 0.0)
        value = np.where(alive, values[t], 0.0)
        advantage[t] = later
    return advantage


def _random_batches(count: int, size: int, rng: np.random.Generator) -> list[Any]:
    order = torch.from_numpy(rng.permutation(count))
    return list(torch.split(order, size))
