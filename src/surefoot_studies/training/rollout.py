"""Run a policy in a simulator: episodes for training, and returns on episodes that training never saw."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot_studies.training.simulators.protocol import Actions, BatchSimulator, Flags, Floats

Layers: TypeAlias = list[tuple[NDArray[np.float32], NDArray[np.float32]]]  # weights (a row per output), bias
Act: TypeAlias = Callable[[BatchSimulator, Floats], Actions]
HELD_OUT = 1_000_003  # seed of the episodes on which policies and baselines are compared
ACTIVATIONS: dict[str, Callable[[NDArray[np.float32]], NDArray[np.float32]]] = {
    "relu": lambda x: np.maximum(x, np.float32(0)),
    "tanh": np.tanh,
}


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeBatch:
    """Decisions in order; first index: decision, second: episode. Where `alive` is false nothing counts."""

    observations: NDArray[np.float32]
    actions: Actions
    rewards: Floats
    alive: Flags
    advice: Actions  # what the baseline would have done


def forward_dense(layers: Layers, activation: str, observations: Floats) -> NDArray[np.float32]:
    """The outputs of a plain network, in float32."""
    value = observations.astype(np.float32)
    for number, (weights, bias) in enumerate(layers):
        if number:
            value = ACTIVATIONS[activation](value)
        value = value @ weights.T + bias
    return value


def play_episodes(
    kind: type[BatchSimulator], act: Act, count: int, rng: np.random.Generator, advised: bool
) -> EpisodeBatch:
    """So many episodes to their end."""
    simulator = kind(count, rng)
    seen, done, rewards, alive, advice = [], [], [], [], []
    going = np.ones(count, dtype=np.bool_)
    for _ in range(kind.longest):
        observation = simulator.observe()
        actions = act(simulator, observation)
        advice.append(simulator.baseline() if advised else actions)
        reward, over = simulator.step(actions)
        seen.append(observation.astype(np.float32))
        done.append(actions)
        rewards.append(np.where(going, reward, 0.0))
        alive.append(going.copy())
        going &= ~over
        if not going.any():
            break
    return EpisodeBatch(*(np.stack(part) for part in (seen, done, rewards, alive, advice)))


def greedy_actor(layers: Layers, activation: str, kind: type[BatchSimulator]) -> Act:
    """The policy as it is verified: the output itself, or the action with the largest one."""

    def act(_: BatchSimulator, observations: Floats) -> Actions:
        outputs = forward_dense(layers, activation, observations)
        return np.argmax(outputs, axis=1) if kind.actions else outputs[:, 0]

    return act


def held_out_returns(kind: type[BatchSimulator], act: Act, count: int = 256) -> Floats:
    """The return of each held-out episode; the episodes are the same for everybody."""
    simulator = kind(count, np.random.default_rng(HELD_OUT))
    total, going = np.zeros(count), np.ones(count, dtype=np.bool_)
    for _ in range(kind.longest):
        reward, over = simulator.step(act(simulator, simulator.observe()))
        total += np.where(going, reward, 0.0)
        going &= ~over
        if not going.any():
            break
    return total


def baseline_returns(kind: type[BatchSimulator], count: int = 256) -> Floats:
    return held_out_returns(kind, lambda simulator, _: simulator.baseline(), count)
