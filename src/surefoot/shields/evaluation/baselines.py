"""What the paper compares with: a linear-quadratic regulator, and a linear policy learnt without a network.

The second is basic random search (Mania, Guy and Recht, NeurIPS 2018; the paper's reference 29): directions
of parameters are tried on both sides and those with the better return are followed.
"""

from __future__ import annotations

import numpy as np

from surefoot.engines.barrier.float_system import Floats
from surefoot.reductions.barrier import ControlSystem
from surefoot.shields.evaluation.plant import BatchPlant
from surefoot.shields.linear_controllers import Gain, enumerate_regulators
from surefoot.work.budget import Budget

RUNS, STEPS = 32, 150
ROUNDS, DIRECTIONS, NOISE, RATE = 20, 8, 0.1, 0.1
UNSAFE = 100.0  # what a run pays for every step from its first unsafe state on


def baseline_regulator(system: ControlSystem) -> Gain | None:
    """With unit weights of state and control; None: the equation has no solution."""
    return next(enumerate_regulators(system), None)


def random_search_policy(plant: BatchPlant, starts: Floats, budget: Budget) -> Gain:
    """A linear policy by random search from zero, on runs from these starts."""
    system, generator = plant.system, np.random.default_rng((budget.seed, 3))
    shape = (len(system.controls), len(system.variables))
    low, high = plant.ends()
    reach = np.where(np.isfinite(high - low), (high - low) / 2, 1.0)[:, None]
    widths = np.maximum(np.ptp(starts, axis=0), 1e-3)
    units = reach / widths  # a control at its end where a variable is as far as starts are wide
    matrix, best, most = np.zeros(shape), np.zeros(shape), -np.inf
    for _ in range(ROUNDS):
        if budget.is_spent():
            break
        rows = starts[generator.integers(len(starts), size=RUNS)]
        directions = generator.normal(size=(DIRECTIONS, *shape))
        tried = np.concatenate([matrix + NOISE * directions, matrix - NOISE * directions, matrix[None]])
        worths = _policy_returns(plant, tried * units, rows, widths)
        if worths[-1] > most:
            best, most = matrix, worths[-1]
        ahead, behind = worths[:DIRECTIONS], worths[DIRECTIONS:-1]
        ascent = np.tensordot(ahead - behind, directions, axes=1) / DIRECTIONS
        matrix = matrix + RATE * ascent / (float(worths[:-1].std()) or 1.0)
    return Gain(best * units, np.zeros(shape[0]))


def _policy_returns(plant: BatchPlant, matrices: Floats, starts: Floats, widths: Floats) -> Floats:
    """Minus the mean cost of states along runs of each linear policy; all policies run at once."""
    count, rows = len(matrices), len(starts)
    began = np.tile(starts, (count, 1))
    still = np.tile(plant.disturbed.mean(axis=1), (len(began), 1))
    states, fallen, total = began, np.zeros(len(began), dtype=bool), np.zeros(count)
    for _ in range(STEPS):
        wanted = np.einsum("pcv,prv->prc", matrices, states.reshape(count, rows, -1))
        states = plant.step(states, plant.clip_controls(wanted.reshape(len(began), -1)), still)
        fallen |= plant.is_unsafe(states)
        states = np.where(fallen[:, None], began, states)
        cost = np.minimum(((states / widths) ** 2).mean(axis=1), UNSAFE)
        total += np.where(fallen, UNSAFE, cost).reshape(count, rows).mean(axis=1)
    return -total / STEPS
