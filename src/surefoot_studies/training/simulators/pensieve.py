"""A video player that chooses the bitrate of each chunk, over bandwidth traces that are drawn at random.

After Pensieve (Mao et al., SIGCOMM 2017): 48 chunks of 4 s, six bitrates, a buffer of at most 60 s, a round
trip of 80 ms; the reward of a chunk is its bitrate in Mbit/s, minus 4.3 per second of standstill, minus the
change of the bitrate. Ours: the traces (one value per second; a mean between 0.2 and 6 Mbit/s, uniform in the
logarithm, times a noise that forgets slowly) and the sizes of chunks (bitrate times 4 s, times 0.85 to 1.15).
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from surefoot_studies.training.simulators.protocol import Actions, Flags, Floats

HISTORY = 8
BITRATES = np.array([300, 750, 1200, 1850, 2850, 4300])  # kilobits per second
CHUNKS, CHUNK_SECONDS, MOST_BUFFER = 48, 4.0, 60.0
ROUND_TRIP, STANDSTILL = 0.08, 4.3
TRACE_SECONDS = 400
BANDWIDTHS = (0.1, 10.0)  # megabits per second, what traces are cut to
LONGEST_SEEN = 30.0  # seconds; longer downloads look like this long
RESERVOIR, CUSHION = 5.0, 10.0  # of the baseline, in seconds


class Pensieve:
    """25 inputs: last bitrate, buffer, 8 throughputs, 8 download times, 6 next sizes, chunks that remain.

    Bitrate as a fraction of the best one, buffer and times in units of 10 s, sizes in megabytes, throughputs
    in megabytes per second, the newest last; remaining chunks as a fraction of all.
    """

    width: ClassVar[int] = 25
    actions: ClassVar[int] = len(BITRATES)
    longest: ClassVar[int] = CHUNKS
    baseline_name: ClassVar[str] = "buffer-based: lowest below 5 s of buffer, best above 15 s, linear between"

    def __init__(self, count: int, rng: np.random.Generator) -> None:
        mean = np.exp(rng.uniform(np.log(0.2), np.log(6.0), count))
        noise = np.zeros((count, TRACE_SECONDS))
        shocks = rng.normal(0, 1, (count, TRACE_SECONDS))
        for second in range(1, TRACE_SECONDS):
            noise[:, second] = 0.9 * noise[:, second - 1] + 0.15 * shocks[:, second]
        self.trace = np.clip(mean[:, None] * np.exp(noise), *BANDWIDTHS) / 8  # megabytes per second
        self.passed = np.concatenate([np.zeros((count, 1)), np.cumsum(self.trace, axis=1)], axis=1)
        self.sizes = (
            BITRATES / 8000 * CHUNK_SECONDS * rng.uniform(0.85, 1.15, (count, CHUNKS + 1))[:, :, None]
        )
        self.clock = rng.uniform(0, TRACE_SECONDS, count)
        self.buffer = np.zeros(count)
        self.quality = np.ones(count, dtype=np.int64)
        self.throughputs, self.times = np.zeros((count, HISTORY)), np.zeros((count, HISTORY))
        self.decisions = 0

    def observe(self) -> Floats:
        count = len(self.buffer)
        remaining = np.full(count, (CHUNKS - self.decisions) / CHUNKS)
        return np.concatenate(
            [
                (BITRATES[self.quality] / BITRATES[-1])[:, None],
                self.buffer[:, None] / 10,
                self.throughputs,
                np.minimum(self.times, LONGEST_SEEN) / 10,
                self.sizes[:, self.decisions],
                remaining[:, None],
            ],
            axis=1,
        )

    def step(self, actions: Actions) -> tuple[Floats, Flags]:
        chosen = np.asarray(actions, dtype=np.int64)
        size = self.sizes[np.arange(len(chosen)), self.decisions, chosen]
        seconds = self._download(size) + ROUND_TRIP
        self.clock += seconds
        standstill = np.maximum(seconds - self.buffer, 0)
        self.buffer = np.maximum(self.buffer - seconds, 0) + CHUNK_SECONDS
        pause = np.maximum(self.buffer - MOST_BUFFER, 0)
        self.buffer -= pause
        self.clock += pause
        change = np.abs(BITRATES[chosen] - BITRATES[self.quality])
        reward = BITRATES[chosen] / 1000 - STANDSTILL * standstill - change / 1000
        self.quality = chosen
        self.throughputs = np.concatenate([self.throughputs[:, 1:], (size / seconds)[:, None]], axis=1)
        self.times = np.concatenate([self.times[:, 1:], seconds[:, None]], axis=1)
        self.decisions += 1
        return reward, np.full(len(reward), self.decisions >= CHUNKS)

    def _download(self, size: Floats) -> Floats:
        """Seconds until so many megabytes have passed; a trace begins anew at its end."""
        rows = np.arange(len(size))
        start = self.clock % TRACE_SECONDS
        second = start.astype(np.int64)
        already = self.passed[rows, second] + (start - second) * self.trace[rows, second]
        rounds, rest = np.divmod(already + size, self.passed[:, -1])
        last = np.minimum(np.sum(self.passed[:, 1:] <= rest[:, None], axis=1), TRACE_SECONDS - 1)
        end = last + (rest - self.passed[rows, last]) / self.trace[rows, last]
        seconds: Floats = rounds * TRACE_SECONDS + end - start
        return seconds

    def baseline(self) -> Actions:
        share = np.clip((self.buffer - RESERVOIR) / CUSHION, 0, 1)
        return np.floor(share * (len(BITRATES) - 1)).astype(np.int64)
