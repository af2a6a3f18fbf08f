"""Where a network goes by itself: the states in which a shield should leave it alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surefoot.encode.barrier import System, conjunctions, polynomial_of
from surefoot.engines.barrier.sampled import Floats, evaluated, sampled
from surefoot.engines.shield.gains import Oracle
from surefoot.problem.term import Const
from surefoot.query.polynomial import variable

RUNS, STEPS, KEPT_STEPS = 64, 1000, 60
FAR = 1e9


def visited(system: System, oracle: Oracle, seed: int) -> Floats:
    """States of runs from random starts that stay safe, early ones more densely; one in each row."""
    generator = np.random.default_rng(seed)
    moving = sampled(system, tuple(Const(0) for _ in system.controls))
    low, high = (np.array([float(r[i]) for r in system.initial]) for i in (0, 1))
    state = generator.uniform(low, high, (RUNS, len(low)))
    unsafe = _is_unsafe(system, state)
    kept, seen = set(np.unique(np.geomspace(1, STEPS, KEPT_STEPS).astype(int)).tolist()), [state]
    for step in range(1, STEPS + 1):
        state = moving.moved(state, moving.drawn(RUNS, generator), oracle(state))
        state = np.where(np.isfinite(state), np.clip(state, -FAR, FAR), FAR)
        unsafe |= _is_unsafe(system, state) | (np.abs(state) >= FAR).any(axis=1)
        if step in kept:
            seen.append(state)
        if unsafe.all():
            break
    found: Floats = np.concatenate([rows[~unsafe] for rows in seen])
    return found


def _is_unsafe(system: System, states: Floats) -> NDArray[np.bool_]:
    count = len(system.variables)
    names = {n: variable(i, count) for i, n in enumerate(system.variables)}
    found = np.zeros(len(states), dtype=bool)
    for case in conjunctions(system.unsafe):
        inside = np.ones(len(states), dtype=bool)
        for left, right in case:
            a, b = (polynomial_of(t, names, count, system.rounded) for t in (left, right))
            inside &= evaluated(b - a, states) >= 0
        found |= inside
    return found
