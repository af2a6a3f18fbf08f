"""Policies that want a shield to fail: random ones, ends of ranges, and greedy ones that know the plant."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from surefoot.compile.batch import BatchGuard, columns
from surefoot.engines.shield.campaign.plant import Floats, Plant, Propose

CANDIDATES = 12


def random_controls(plant: Plant, _: BatchGuard, generator: np.random.Generator) -> Propose:
    """Anything within the ends."""
    low, high = plant.ends()
    return lambda states, _: generator.uniform(low, high, (len(states), len(low)))


def corners(plant: Plant, _: BatchGuard, generator: np.random.Generator) -> Propose:
    """Every control at one of its ends."""
    low, high = plant.ends()
    return lambda states, _: np.where(generator.random((len(states), len(low))) < 0.5, low, high)


def alternating(plant: Plant, _: BatchGuard, __: np.random.Generator) -> Propose:
    """All controls at one end, then at the other."""
    low, high = plant.ends()
    return lambda states, step: np.tile(high if step % 2 else low, (len(states), 1))


def towards_unsafe(plant: Plant, guard: BatchGuard, generator: np.random.Generator) -> Propose:
    """Of what the shield permits, the controls after which the plant is nearest to being unsafe."""
    return _greedy(plant, guard, generator, plant.danger)


def towards_the_edge(plant: Plant, guard: BatchGuard, generator: np.random.Generator) -> Propose:
    """Of what the shield permits, the controls after which the first rule's barrier is largest."""
    gap = columns((guard.guard.rules[0].gap,))
    return _greedy(plant, guard, generator, lambda states: gap(plant.names(states), len(states))[0][0])


def _greedy(
    plant: Plant, guard: BatchGuard, generator: np.random.Generator, worth: Callable[[Floats], Floats]
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
            value = np.where(guard.permitted(states, tried), value, -np.inf)
            better = value > best
            best[better], found[better] = value[better], tried[better]
        return found

    return propose


ADVERSARIES: dict[str, Callable[[Plant, BatchGuard, np.random.Generator], Propose]] = {
    "random": random_controls,
    "corners": corners,
    "alternating": alternating,
    "towards unsafe": towards_unsafe,
    "towards the edge": towards_the_edge,
}
