"""Look for the pictures of a trace among those that the simulator's cluster shows.

Jobs of the simulator have lengths and needs of their own; a picture with other jobs, or with cells that are
neither free nor used, is none of its pictures. Pictures that pass are looked for in episodes with the policy
as it is verified: some with jobs as they are drawn in training, and some in which the jobs of the picture
arrive one after the other behind a first job (of many kinds), and none afterwards. The closest are told.
"""

from __future__ import annotations

import numpy as np

from surefoot import api
from surefoot_studies.training.realisation.compare_runs import (
    ROUNDING,
    Attempt,
    Floats,
    ObservedQuantity,
    SimulatorDriver,
)
from surefoot_studies.training.rollout import HELD_OUT
from surefoot_studies.training.simulators.deeprm import (
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

LONGEST = 20
EPISODES = 32
QUANTITIES = (ObservedQuantity("cells", tuple(range(HORIZON * COLUMNS)), 0.0),)


def _obstacle_to_trace(problem: api.Problem, wanted: Floats) -> str | None:
    for picture in wanted.reshape(len(wanted), HORIZON, COLUMNS):
        if (why := _obstacle_to_image(picture)) is not None:
            return why
    return None


def _obstacle_to_image(picture: Floats) -> str | None:
    """Why the simulator has no such picture."""
    cells = picture[:, : -1 - BACKLOG_COLUMNS]
    if (np.minimum(np.abs(cells), np.abs(cells - 1)) > ROUNDING).any():
        return "cells of the simulator are 0 or 1"
    for length, *both in _jobs_of(picture):
        needs = sorted(both)
        if not length and not needs[1]:
            continue
        lasts = f"no job of the simulator lasts {api.count_noun(length, 'step')}"
        if length not in LENGTHS or needs[0] not in SMALLER_NEEDS or needs[1] not in LARGER_NEEDS:
            return f"{lasts} and needs {needs[1]} and {needs[0]} units"
    if any((np.diff(part[:, 0], axis=1) > ROUNDING).any() for part in _resource_parts(picture)):
        return "the simulator fills the plan of a step from the left"
    return None


def _resource_parts(picture: Floats) -> list[Floats]:
    """Per resource: rows, the plan and then the slots, cells."""
    block = CAPACITY * (1 + SLOTS)
    cuts = [picture[:, r * block : (r + 1) * block] for r in range(RESOURCES)]
    return [cut.reshape(HORIZON, 1 + SLOTS, CAPACITY) for cut in cuts]


def _jobs_of(picture: Floats) -> list[tuple[int, ...]]:
    """Per slot its job: steps and needs, all 0 if it is empty."""
    parts = _resource_parts(picture)
    return [
        (round(parts[0][:, slot, 0].sum()), *(round(part[0, slot].sum()) for part in parts))
        for slot in range(1, 1 + SLOTS)
    ]


def _attempt_episodes(problem: api.Problem, wanted: Floats) -> list[Attempt]:
    """The closest pictures of every episode."""
    assert isinstance(problem.policy, api.NeuralPolicy)
    if _obstacle_to_trace(problem, wanted) is not None:
        return []
    drawn = DeepRM(EPISODES, np.random.default_rng(HELD_OUT))
    chosen, first = _episodes_with_jobs(wanted[0].reshape(HORIZON, COLUMNS))
    found = _closest_images(problem.policy, drawn, wanted, [{"episode": float(e)} for e in range(EPISODES)])
    return found + _closest_images(problem.policy, chosen, wanted, first)


def _closest_images(
    policy: api.NeuralPolicy, simulator: DeepRM, wanted: Floats, about: list[dict[str, float]]
) -> list[Attempt]:
    seen, going = [], np.ones(len(about), dtype=np.bool_)
    while going.any():
        observed = simulator.observe().astype(np.float32)
        seen.append(observed)
        _, over = simulator.step(
            np.argmax(api.evaluate_network_batch(policy.network, observed).outputs, axis=1)
        )
        going &= ~over
    pictures = np.stack(seen, axis=1)
    found = []
    for episode, parameters in enumerate(about):
        count = max(pictures.shape[1] - len(wanted) + 1, 0)
        apart = [float(np.abs(pictures[episode, t : t + len(wanted)] - wanted).sum()) for t in range(count)]
        if not apart:
            continue
        best = int(np.argmin(apart))
        shown = pictures[episode, best : best + len(wanted)].astype(np.float64)
        found.append(Attempt(shown, parameters | {"decision": float(best), "cells apart": apart[best]}))
    return found


def _episodes_with_jobs(picture: Floats) -> tuple[DeepRM, list[dict[str, float]]]:
    """Episodes whose jobs are ours: a first one of many kinds, then those that the picture shows."""
    shown = [job for job in _jobs_of(picture) if job[0]]
    needs = [(a, b) for a in (LARGER_NEEDS[0], LARGER_NEEDS[-1]) for b in SMALLER_NEEDS]
    first = [(length, *n) for length in LENGTHS for pair in needs for n in (pair, pair[::-1])]
    simulator = DeepRM(len(first), np.random.default_rng(0))
    simulator.jobs[:] = 0
    simulator.jobs[:, 0] = first
    for at, job in enumerate(shown, start=1):
        simulator.jobs[:, at] = job
    for part in (simulator.visible, simulator.backlog, simulator.waiting, simulator.silence):
        part[:] = 0
    simulator.arrive(np.ones(len(first), dtype=np.bool_))
    names = ("steps of a first job", "memory", "cpu")
    return simulator, [dict(zip(names, map(float, job), strict=True)) for job in first]


DRIVER = SimulatorDriver(QUANTITIES, LONGEST, _obstacle_to_trace, _attempt_episodes)
