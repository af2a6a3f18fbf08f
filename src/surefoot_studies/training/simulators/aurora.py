"""One sender on one link, as a fluid: bandwidth, latency, a queue that overflows, random loss.

After Aurora (Jay et al., ICML 2019): each decision lasts a monitor interval of half a round trip, and the
action multiplies the rate, `rate * (1 + 0.025 a)` or `rate / (1 - 0.025 a)`. Links are drawn as there: 100 to
500 packets per second, 50 to 500 ms one way, queues of 2 to 2982 packets (uniform in the logarithm), loss up
to 5 % (none on half of the links), first rate 0.3 to 1.5 times the bandwidth. Ours: packets are a fluid, the
measured latency has a jitter of up to 1 %, and the reward is relative to the link, so that all links count.
"""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from surefoot_studies.training.simulators.protocol import Actions, Flags, Floats

HISTORY = 10
SLOWEST, FASTEST = 40.0, 1000.0  # packets per second
CHANGE = 0.025  # of the rate, per unit of the action
GRADIENTS, LATENCY_RATIOS, SEND_RATIOS = (
    (-1.0, 10.0),
    (1.0, 10.0),
    (1.0, 10.0),
)  # what observations are cut to
JITTER = (1.0, 1.01)  # of a measured latency
MOST_LOSS = 0.05
DELAY_WEIGHT, LOSS_WEIGHT, MOST_DELAY = 0.3, 1.0, 5.0


class Aurora:
    """Ten intervals of latency gradient, latency ratio and send ratio, time-major, the oldest first."""

    width: ClassVar[int] = 3 * HISTORY
    actions: ClassVar[int] = 0
    longest: ClassVar[int] = 200
    baseline_name: ClassVar[str] = (
        "AIMD on latency: 2 % faster per interval; 10 % slower if latency ratio > 1.1 or loss > 6 %"
    )

    def __init__(self, count: int, rng: np.random.Generator) -> None:
        self.rng = rng
        self.bandwidth = rng.uniform(100, 500, count)
        self.round_trip = 2 * rng.uniform(0.05, 0.5, count)
        self.room = 1 + np.floor(np.exp(rng.uniform(0, 8, count)))
        self.loss = rng.uniform(0, MOST_LOSS, count) * (rng.random(count) < 0.5)
        self.rate = np.clip(rng.uniform(0.3, 1.5, count) * self.bandwidth, SLOWEST, FASTEST)
        self.queue = np.zeros(count)
        self.least = np.full(count, np.inf)
        self.interval = self.round_trip / 2
        self.lost = np.zeros(count)
        self.history = np.tile(np.array([0.0, 1.0, 1.0]), (count, HISTORY))
        self.decisions = 0

    def observe(self) -> Floats:
        return self.history.copy()

    def step(self, actions: Actions) -> tuple[Floats, Flags]:
        change = CHANGE * np.asarray(actions, dtype=np.float64)
        faster, slower = self.rate * (1 + np.maximum(change, 0)), self.rate / (1 - np.minimum(change, 0))
        self.rate = np.clip(np.where(change >= 0, faster, slower), SLOWEST, FASTEST)
        first, second = self._half(), self._half()
        served, dropped = first[0] + second[0], first[1] + second[1]
        jitter = self.jitter(first[2], second[2])
        early, late = first[2] * jitter[0], second[2] * jitter[1]
        latency = (early + late) / 2
        self.least = np.minimum(self.least, latency)
        throughput = served * (1 - self.loss) / self.interval
        self.lost = np.clip(1 - throughput * self.interval / (served + dropped), 0, 1)
        newest = np.stack(
            [
                np.clip((late - early) / self.interval, *GRADIENTS),
                np.clip(latency / self.least, *LATENCY_RATIOS),
                np.clip(self.rate / throughput, *SEND_RATIOS),
            ],
            axis=1,
        )
        self.history = np.concatenate([self.history[:, 3:], newest], axis=1)
        delay = np.minimum((latency - self.round_trip) / self.round_trip, MOST_DELAY)
        reward = throughput / self.bandwidth - DELAY_WEIGHT * delay - LOSS_WEIGHT * self.lost
        self.interval = latency / 2
        self.decisions += 1
        return reward, np.full(len(reward), self.decisions >= self.longest)

    def jitter(self, early: Floats, late: Floats) -> Floats:
        """Factors of the latencies of both halves of an interval."""
        return self.rng.uniform(*JITTER, (2, len(early)))

    def _half(self) -> tuple[Floats, Floats, Floats]:
        """Half an interval: packets served and dropped, and the mean latency."""
        seconds = self.interval / 2
        sent = self.rate * seconds
        wanted = self.queue + sent - self.bandwidth * seconds
        after = np.clip(wanted, 0, self.room)
        dropped = np.maximum(wanted - self.room, 0)
        served = self.queue + sent - after - dropped
        latency = self.round_trip + (self.queue + after) / 2 / self.bandwidth
        self.queue = after
        return served, dropped, latency

    def baseline(self) -> Actions:
        fast, slow = 0.02 / CHANGE, -(1 / 0.9 - 1) / CHANGE
        return np.where((self.history[:, -2] > 1.1) | (self.lost > 0.06), slow, fast)
