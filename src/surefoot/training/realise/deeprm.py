"""Look for the pictures of a trace among those that the simulator's cluster shows.

Jobs of the simulator have lengths and needs of their own; a picture with other jobs, or with cells that are
neither free nor used, is none of its pictures. Pictures that pass are looked for in episodes with the policy
as it is verified; the closest one is told.
"""

from __future__ import annotations

import numpy as np

from surefoot.network.evaluate import evaluate
from surefoot.problem.policy import NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.training.realise.judge import ROUNDING, Attempt, Driver, Floats, Quantity
from surefoot.training.rollout import HELD_OUT
from surefoot.training.simulators.deeprm import (
    BACKLOG_COLUMNS,
    CAPACITY,
    COLUMNS,
    HORIZON,
    LARGER_NEEDS,
    LENGTHS,
    RESOURCES,
    SLOTS,
    SMALLER_NEEDS,
    DeepRM,
)
from surefoot.verdict.words import counted

LONGEST = 8
EPISODES = 32
QUANTITIES = (Quantity("cells", tuple(range(HORIZON * COLUMNS)), 0.0),)


def impossible(problem: Problem, wanted: Floats) -> str | None:
    for picture in wanted.reshape(len(wanted), HORIZON, COLUMNS):
        if (why := _unlike(picture)) is not None:
            return why
    return None


def _unlike(picture: Floats) -> str | None:
    """Why the simulator has no such picture."""
    cells = picture[:, : -1 - BACKLOG_COLUMNS]
    if (np.minimum(np.abs(cells), np.abs(cells - 1)) > ROUNDING).any():
        return "cells of the simulator are 0 or 1"
    block = CAPACITY * (1 + SLOTS)
    parts = [cells[:, r * block : (r + 1) * block].reshape(HORIZON, 1 + SLOTS, CAPACITY) for r in range(2)]
    assert len(parts) == RESOURCES
    for slot in range(1, 1 + SLOTS):
        length = round(parts[0][:, slot, 0].sum())
        needs = sorted(round(part[0, slot].sum()) for part in parts)
        if not length and not needs[1]:
            continue
        lasts = f"no job of the simulator lasts {counted(length, 'step')}"
        if length not in LENGTHS or needs[0] not in SMALLER_NEEDS or needs[1] not in LARGER_NEEDS:
            return f"{lasts} and needs {needs[1]} and {needs[0]} units"
    for part in parts:
        if (np.diff(part[:, 0], axis=1) > ROUNDING).any():
            return "the simulator fills the plan of a step from the left"
    return None


def attempts(problem: Problem, wanted: Floats) -> list[Attempt]:
    """The closest pictures of every episode."""
    assert isinstance(problem.policy, NeuralPolicy)
    if impossible(problem, wanted) is not None:
        return []
    simulator = DeepRM(EPISODES, np.random.default_rng(HELD_OUT))
    seen, going = [], np.ones(EPISODES, dtype=np.bool_)
    while going.any():
        observed = simulator.observe().astype(np.float32)
        seen.append(observed)
        outputs = evaluate(problem.policy.network, observed).outputs
        _, over = simulator.step(np.argmax(outputs, axis=1))
        going &= ~over
    pictures = np.stack(seen, axis=1)
    found = []
    for episode in range(EPISODES):
        count = pictures.shape[1] - len(wanted) + 1
        apart = [float(np.abs(pictures[episode, t : t + len(wanted)] - wanted).sum()) for t in range(count)]
        best = int(np.argmin(apart))
        shown = pictures[episode, best : best + len(wanted)].astype(np.float64)
        parameters = {"episode": float(episode), "decision": float(best), "cells apart": apart[best]}
        found.append(Attempt(shown, parameters))
    return found


DRIVER = Driver(QUANTITIES, LONGEST, impossible, attempts)
