"""Where a network goes by itself: the states in which a shield should leave it alone."""

from __future__ import annotations

import numpy as np

from surefoot.engines.barrier.float_system import Floats, float_system
from surefoot.reductions.barrier import ControlSystem
from surefoot.shields.linear_controllers import Oracle, unsafe_states
from surefoot.work.budget import Budget

MANY, FEW = (64, 256), (12, 5000)  # runs, and how long they are: some settle late
KEPT_STEPS = 60
FAR = 1e9


def visited_states(system: ControlSystem, oracle: Oracle, budget: Budget) -> Floats:
    """States of runs from random starts that stay safe, early ones more densely; one in each row."""
    return np.concatenate([_simulate_runs(system, oracle, *size, budget) for size in (MANY, FEW)])


def _simulate_runs(system: ControlSystem, oracle: Oracle, runs: int, steps: int, budget: Budget) -> Floats:
    generator = np.random.default_rng(budget.seed)
    moving = float_system(system)
    low, high = (np.array([float(r[i]) for r in system.initial]) for i in (0, 1))
    state = generator.uniform(low, high, (runs, len(low)))
    is_unsafe = unsafe_states(system)
    unsafe = is_unsafe(state)
    kept, seen = set(np.unique(np.geomspace(1, steps, KEPT_STEPS).astype(int)).tolist()), [state]
    for step in range(1, steps + 1):
        state = moving.next_states(state, moving.draw_disturbances(runs, generator), oracle(state))
        state = np.where(np.isfinite(state), np.clip(state, -FAR, FAR), FAR)
        unsafe |= is_unsafe(state) | (np.abs(state) >= FAR).any(axis=1)
        if step in kept:
            seen.append(state)
        if unsafe.all() or budget.is_spent():
            break
    found: Floats = np.concatenate([rows[~unsafe] for rows in seen])
    return found
