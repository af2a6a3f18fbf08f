"""Policies that want a shield to fail: random ones, ends of ranges, and greedy ones that know the plant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surefoot.engines.barrier.float_system import Floats
from surefoot.shields.batch_guard import BatchGuard
from surefoot.shields.evaluation.plant import BatchPlant, Propose
from surefoot.term.vectorised import vectorise_terms

CANDIDATES = 12


def _random_controls(plant: BatchPlant, _: BatchGuard, generator: np.random.Generator) -> Propose:
    """Anything within the ends."""
    low, high = plant.ends()
    return lambda states, _: generator.uniform(low, high, (len(states), len(low)))


def _corner_controls(plant: BatchPlant, _: BatchGuard, generator: np.random.Generator) -> Propose:
    """Every control at one of its ends."""
    low, high = plant.ends()
    return lambda states, _: np.where(generator.random((len(states), len(low))) < 0.5, low, high)


def _alternating_controls(plant: BatchPlant, _: BatchGuard, __: np.random.Generator) -> Propose:
    """All controls at one end, then at the other."""
    low, high = plant.ends()
    return lambda states, step: np.tile(high if step % 2 else low, (len(states), 1))


def _towards_unsafe(plant: BatchPlant, guard: BatchGuard, generator: np.random.Generator) -> Propose:
    """Of what the shield permits, the controls after which the plant is nearest to being unsafe."""
    return _greedy_adversary(plant, guard, generator, plant.danger)


def _towards_edge(plant: BatchPlant, guard: BatchGuard, generator: np.random.Generator) -> Propose:
    """Of what the shield permits, the controls after which the first rule's barrier is largest."""
    gap = vectorise_terms((guard.guard.rules[0].gap,))
    return _greedy_adversary(
        plant, guard, generator, lambda states: gap(plant.names(states), len(states))[0][0]
    )


def _greedy_adversary(
    plant: BatchPlant, guard: BatchGuard, generator: np.random.Generator, worth: Callable[[Floats], Floats]
) -> Propose:
    low, high = plant.ends()
    middle = plant.disturbed.mean(axis=1)

    def propose(states: Floats, _: int) -> Floats:
        count = len(states)
        best, found = np.full(count, -np.inf), np.tile(low, (count, 1))
        still = np.tile(middle, (count, 1))
        for number in range(CANDIDATES):
            share = generator.random((count, len(low)))
            tried = low + (high - low) * (np.round(share) if number % 2 else share)
            value = worth(plant.step(states, tried, still))
            value = np.where(guard.permitted_rows(states, tried), value, -np.inf)
            better = value > best
            best[better], found[better] = value[better], tried[better]
        return found

    return propose


ADVERSARIES: dict[str, Callable[[BatchPlant, BatchGuard, np.random.Generator], Propose]] = {
    "random": _random_controls,
    "corners": _corner_controls,
    "alternating": _alternating_controls,
    "towards unsafe": _towards_unsafe,
    "towards the edge": _towards_edge,
}
