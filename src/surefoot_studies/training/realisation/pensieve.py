"""Drive the player of the simulator along a trace: the bandwidth of every second is ours.

An episode begins as in training, with chunks of the usual sizes. Some chunks bring the buffer to where the
eight downloads of the trace need it, then come these; the bandwidth of each second is set so that every
download takes the time that is wanted, within the range of the simulator's traces. Every possible number of
chunks before is tried, with the likeliest decisions throughout and with several ways to bring the buffer
down; if the policy samples, also with the decisions that the history of the trace shows: then their
probability is told.
"""

from __future__ import annotations

from itertools import pairwise
from math import ceil

import numpy as np

from surefoot import api
from surefoot_studies.training.realisation.compare_runs import (
    ROUNDING,
    Attempt,
    Floats,
    ObservedQuantity,
    SimulatorDriver,
)
from surefoot_studies.training.simulators.pensieve import (
    BANDWIDTHS,
    BITRATES,
    CHUNK_SECONDS,
    CHUNKS,
    HISTORY,
    MOST_BUFFER,
    ROUND_TRIP,
    TRACE_SECONDS,
    Pensieve,
)
from surefoot_studies.training.simulators.protocol import Actions

LONGEST = CHUNKS - HISTORY
SIZES, TIMES = slice(2, 2 + HISTORY), slice(2 + HISTORY, 2 + 2 * HISTORY)
MEGABYTES = BITRATES / 8000 * CHUNK_SECONDS
QUANTITIES = (
    ObservedQuantity("bitrate", (0,), 0.0),
    ObservedQuantity("buffer (10 s)", (1,), 0.0),
    ObservedQuantity("chunk size (10 MB)", tuple(range(SIZES.start, SIZES.stop)), 0.0),
    ObservedQuantity("download time (10 s)", tuple(range(TIMES.start, TIMES.stop)), 0.0),
    ObservedQuantity("remaining", (24,), 0.5 / CHUNKS),
)
TINY = 1e-20  # seconds of a download that has not been: size / time is then 0, as it should
DRAINS = (np.inf, 2.0, 1.0, 0.5)  # seconds by which downloads before the trace may outlast a chunk
FIRST_SECOND = 1  # the bandwidth of second 0 is the mean of a trace, which has a range of its own


class _Driven(Pensieve):
    """Episodes whose downloads take the wanted seconds, as far as the bandwidth may be chosen."""

    def __init__(self, count: int) -> None:
        super().__init__(count, np.random.default_rng(0))
        self.trace = np.full((count, TRACE_SECONDS), BANDWIDTHS[0] / 8)
        self.sizes = np.tile(MEGABYTES, (count, CHUNKS + 1, 1))
        self.clock = np.full(count, float(FIRST_SECOND))
        self.fixed = np.full(count, FIRST_SECOND)  # the first second whose bandwidth is still open
        self.wanted = np.zeros(count)

    def _download(self, size: Floats) -> Floats:
        for row in range(len(size)):
            start = self.clock[row]
            end = start + max(self.wanted[row] - ROUND_TRIP, 1e-3)
            known = np.arange(int(start), self.fixed[row])
            shares = np.clip(np.minimum(known + 1, end) - np.maximum(known, start), 0, 1)
            rest = end - max(start, self.fixed[row])
            if rest > 1e-9 and self.fixed[row] < TRACE_SECONDS:
                open_size = size[row] - float(shares @ self.trace[row, known % TRACE_SECONDS])
                value = np.clip(open_size / rest, BANDWIDTHS[0] / 8, BANDWIDTHS[1] / 8)
                self.trace[row, self.fixed[row] :] = value
        self.passed = np.concatenate([np.zeros((len(size), 1)), np.cumsum(self.trace, axis=1)], axis=1)
        seconds = super()._download(size)
        ends = np.array([ceil(e - 1e-9) for e in self.clock + seconds])
        self.fixed = np.minimum(np.maximum(self.fixed, ends), TRACE_SECONDS)
        return seconds


def _attempt_episodes(problem: api.Problem, wanted: Floats) -> list[Attempt]:
    """Runs in which the trace's first decision is the one after 8, 9, … chunks."""
    policy = problem.policy
    assert isinstance(policy, api.NeuralPolicy)
    if not policy.notes or policy.network.width != 25:  # not the layout with sizes and times
        return []
    qualities = _download_qualities(wanted)
    ways = [(False, drain) for drain in DRAINS]
    ways += [(True, np.inf)] if policy.choose is api.Choose.SAMPLE else []
    starts, forced, drain = map(
        np.array, zip(*((n, f, d) for f, d in ways for n in range(HISTORY, CHUNKS)), strict=True)
    )
    times = np.concatenate([wanted[0, TIMES], wanted[1:, TIMES.stop - 1]]) * 10
    needed = wanted[0, 1] * 10 - float(np.sum(CHUNK_SECONDS - times[:HISTORY]))
    simulator = _Driven(len(starts))
    seen = []
    chance = np.zeros(len(starts))
    for chunk in range(CHUNKS):
        observed = _policy_inputs(simulator.observe(), simulator)
        seen.append(observed)
        outputs = api.evaluate_network_batch(policy.network, observed.astype(np.float32)).outputs.astype(
            np.float64
        )
        step = chunk - starts + HISTORY  # which download of the trace comes now; negative: none yet
        shown = forced & (step < HISTORY)
        chosen = np.where(shown, qualities[np.clip(step, 0, HISTORY - 1)], np.argmax(outputs, axis=1))
        likely = outputs - outputs.max(axis=1, keepdims=True)
        likely -= np.log(np.exp(likely).sum(axis=1, keepdims=True))
        chance += np.where(step < HISTORY, likely[np.arange(len(chosen)), chosen], 0.0)
        before = np.minimum(simulator.buffer + CHUNK_SECONDS - needed, CHUNK_SECONDS + drain)
        same_bandwidth = times[0] * MEGABYTES[chosen] / MEGABYTES[qualities[0]]
        before = np.where((chosen != qualities[0]) & np.isfinite(drain), same_bandwidth, before)
        simulator.wanted = np.maximum(np.where(step < 0, before, times[_clip_index(step, times)]), 0.0)
        simulator.step(chosen)
    runs = np.stack(seen, axis=1)
    found = []
    for row, start in enumerate(starts):
        bandwidths = simulator.trace[row, FIRST_SECOND : simulator.fixed[row]] * 8
        parameters = {"chunks before": float(start), "least bandwidth": float(bandwidths.min())}
        parameters["largest bandwidth"] = float(bandwidths.max())
        if policy.choose is api.Choose.SAMPLE:
            parameters["probability of the decisions before"] = float(np.exp(chance[row]))
        found.append(Attempt(runs[row, start : start + len(wanted)], parameters, not forced[row]))
    return found


def _clip_index(step: Actions, times: Floats) -> Actions:
    return np.clip(step, 0, len(times) - 1)


def _download_qualities(wanted: Floats) -> Actions:
    """The quality of each download of the history: that of the nearest size."""
    sizes = wanted[0, SIZES] * 10
    nearest: Actions = np.argmin(np.abs(sizes[:, None] - MEGABYTES[None, :]), axis=1)
    return nearest


def _policy_inputs(observed: Floats, simulator: Pensieve) -> Floats:
    """As the problem's network reads it: sizes (of times in units of 10 s) instead of throughputs."""
    read = observed.copy()
    read[:, SIZES] = simulator.throughputs * simulator.times / 10
    read[:, TIMES] = np.maximum(read[:, TIMES], TINY)
    return read


def pensieve_obstacle(problem: api.Problem, wanted: Floats) -> str | None:
    """What the player's own arithmetic forbids."""
    sizes, times = wanted[0, SIZES] * 10, wanted[0, TIMES] * 10
    buffers, remaining = wanted[:, 1] * 10, wanted[:, 24] * CHUNKS
    if (np.abs(sizes[:, None] / MEGABYTES - 1).min(axis=1) > 0.15 + ROUNDING).any():
        return "some chunk has a size between those of two qualities"
    if (times < ROUND_TRIP + sizes / (BANDWIDTHS[1] / 8) - ROUNDING).any():
        return "some download is faster than the largest bandwidth permits"
    if buffers.min() < CHUNK_SECONDS - 1e-4 or buffers.max() > MOST_BUFFER + 1e-4:
        return f"after a download the buffer has {CHUNK_SECONDS:g} to {MOST_BUFFER:g} s"
    if remaining[0] > CHUNKS - HISTORY + 0.5:
        return f"after eight downloads at most {CHUNKS - HISTORY} of {CHUNKS} chunks remain"
    if remaining[0] < 0.5:
        return "where no chunk remains nothing is decided"
    for state, (before, after) in enumerate(pairwise(wanted)):
        if abs(after[24] * CHUNKS - (before[24] * CHUNKS - 1)) > 0.5:
            return f"from state {state} to {state + 1} the number of remaining chunks does not fall by one"
        left = max(before[1] * 10 - after[TIMES.stop - 1] * 10, 0) + CHUNK_SECONDS
        if abs(after[1] * 10 - min(left, MOST_BUFFER)) > 1e-3:
            return f"the buffer of state {state + 1} does not follow from that of state {state}"
    return None


DRIVER = SimulatorDriver(QUANTITIES, LONGEST, pensieve_obstacle, _attempt_episodes)
