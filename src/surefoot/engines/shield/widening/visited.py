"""Where a network goes by itself: the states in which a shield should leave it alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from surefoot.encode.barrier import System, conjunctions, polynomial_of
from surefoot.engines.barrier.sampled import Floats, evaluated, sampled
from surefoot.engines.shield.gains import Oracle
from surefoot.problem.term import Const, Term
from surefoot.query.polynomial import Polynomial, variable
from surefoot.work.budget import Budget

MANY, FEW = (64, 256), (12, 5000)  # runs, and how long they are: some settle late
KEPT_STEPS = 60
FAR = 1e9


def visited(system: System, oracle: Oracle, budget: Budget) -> Floats:
    """States of runs from random starts that stay safe, early ones more densely; one in each row."""
    return np.concatenate([_along(system, oracle, *size, budget) for size in (MANY, FEW)])


def _along(system: System, oracle: Oracle, runs: int, steps: int, budget: Budget) -> Floats:
    generator = np.random.default_rng(budget.seed)
    moving = sampled(system, tuple(Const(0) for _ in system.controls))
    low, high = (np.array([float(r[i]) for r in system.initial]) for i in (0, 1))
    state = generator.uniform(low, high, (runs, len(low)))
    cases = _gaps(system)
    unsafe = _unsafe(cases, state)
    kept, seen = set(np.unique(np.geomspace(1, steps, KEPT_STEPS).astype(int)).tolist()), [state]
    for step in range(1, steps + 1):
        state = moving.moved(state, moving.drawn(runs, generator), oracle(state))
        state = np.where(np.isfinite(state), np.clip(state, -FAR, FAR), FAR)
        unsafe |= _unsafe(cases, state) | (np.abs(state) >= FAR).any(axis=1)
        if step in kept:
            seen.append(state)
        if unsafe.all() or budget.spent():
            break
    found: Floats = np.concatenate([rows[~unsafe] for rows in seen])
    return found


def _gaps(system: System) -> list[list[Polynomial]]:
    """Of each unsafe case, polynomials that are all not negative in its states."""
    count = len(system.variables)
    names = {n: variable(i, count) for i, n in enumerate(system.variables)}

    def of(term: Term) -> Polynomial:
        return polynomial_of(term, names, count, system.rounded)

    return [[of(right) - of(left) for left, right in case] for case in conjunctions(system.unsafe)]


def _unsafe(cases: list[list[Polynomial]], states: Floats) -> NDArray[np.bool_]:
    found = np.zeros(len(states), dtype=bool)
    for case in cases:
        found |= np.all([evaluated(gap, states) >= 0 for gap in case], axis=0)
    return found
