"""Drive the link of the simulator along a trace: its parameters and the jitter of the latency are ours.

An episode begins as in training. After one interval, whose latency all later ratios refer to, the jitter of
both halves of each interval is set so that the latency gradient and the latency ratio of the trace are met
as far as the jitter reaches; the rate is what the policy makes of it. All combinations of parameters below
run side by side. `keep`: which of the two is met first where the jitter does not reach both.
"""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np

from surefoot import api
from surefoot_studies.training.realisation.compare_runs import (
    Attempt,
    Floats,
    ObservedQuantity,
    SimulatorDriver,
)
from surefoot_studies.training.simulators.aurora import (
    CHANGE,
    FASTEST,
    GRADIENTS,
    HISTORY,
    JITTER,
    LATENCY_RATIOS,
    MOST_LOSS,
    SEND_RATIOS,
    SLOWEST,
    Aurora,
)

LONGEST = Aurora.longest - HISTORY - 1
QUANTITIES = (
    # an interval lasts half of the latency before it, so the jitter of its halves counts twice
    ObservedQuantity("latency gradient", tuple(range(0, 3 * HISTORY, 3)), 2 * (JITTER[1] - JITTER[0])),
    ObservedQuantity("latency ratio", tuple(range(1, 3 * HISTORY, 3)), JITTER[1] - JITTER[0]),
    ObservedQuantity("send ratio", tuple(range(2, 3 * HISTORY, 3)), 0.0),
)
BANDWIDTHS = (100.0, 500.0)  # packets per second
FIRST_RATES = (0.3, 0.6, 1.0, 1.5)  # times the bandwidth
LOSSES = (0.0, MOST_LOSS)
ROOMS = (2.0, 2982.0)  # packets
FIRST_JITTERS = tuple(np.linspace(*JITTER, 11))
ROUND_TRIP = 0.1  # seconds; it cancels out of all that is observed, but for the queue
OVERLOAD = 1 / (1 - MOST_LOSS)  # a larger send ratio means that more is sent than the link carries


class _Driven(Aurora):
    """A batch of links whose jitter follows a wanted gradient and latency ratio."""

    def __init__(self, links: Floats) -> None:
        super().__init__(len(links), np.random.default_rng(0))
        self.bandwidth, factor, self.loss, self.room, self.first, self.keep = links.T
        self.round_trip = np.full(len(links), ROUND_TRIP)
        self.interval = self.round_trip / 2
        self.rate = np.clip(factor * self.bandwidth, SLOWEST, FASTEST)
        self.wanted = (0.0, 1.0)

    def jitter(self, early: Floats, late: Floats) -> Floats:
        gradient, ratio = self.wanted
        mean = np.where(np.isinf(self.least), self.first * self.round_trip, ratio * self.least)
        half = gradient * self.interval / 2
        # Where both halves cannot be met, the mean gives way (keep the gradient) or the halves are cut.
        lowest = np.maximum(early * JITTER[0] + half, late * JITTER[0] - half)
        highest = np.minimum(early * JITTER[1] + half, late * JITTER[1] - half)
        moved = np.where(self.keep > 0, np.clip(mean, lowest, np.maximum(lowest, highest)), mean)
        return np.clip(np.stack([(moved - half) / early, (moved + half) / late]), *JITTER)


def aurora_attempts(problem: api.Problem, wanted: Floats) -> list[Attempt]:
    """One run per combination of link, first rate, first jitter and what is kept."""
    assert isinstance(problem.policy, api.NeuralPolicy)
    network = problem.policy.network
    links = np.array(list(product(BANDWIDTHS, FIRST_RATES, LOSSES, ROOMS, FIRST_JITTERS, (0.0, 1.0))))
    simulator = _Driven(links)
    intervals = [(0.0, 1.0), *wanted[0].reshape(HISTORY, 3)[:, :2], *wanted[1:, -3:-1]]
    seen = []
    for gradient, ratio in intervals:
        outputs = api.evaluate_network_batch(network, simulator.observe().astype(np.float32)).outputs
        simulator.wanted = (float(gradient), float(ratio))
        simulator.step(outputs[:, 0].astype(np.float64))
        seen.append(simulator.observe())
    shown = np.stack(seen[HISTORY:], axis=1)
    names = ("bandwidth", "first rate / bandwidth", "loss", "queue", "first jitter")
    return [
        Attempt(run, {n: float(v) for n, v in zip(names, link, strict=False)} | {"round trip": ROUND_TRIP})
        for run, link in zip(shown, links, strict=True)
    ]


def _obstacle_to_trace(problem: api.Problem, wanted: Floats) -> str | None:
    """The rate of an overloaded link follows from the send ratio, and no decision changes it by more.

    If more is sent than the bandwidth, exactly the bandwidth is served, so that the send ratio is
    rate / (bandwidth (1 - loss)), of which only the rate changes. Otherwise it is at most 1 / (1 - loss).
    """
    assert isinstance(problem.policy, api.NeuralPolicy)
    ends = np.tile(np.array([GRADIENTS, LATENCY_RATIOS, SEND_RATIOS]), (HISTORY, 1))
    box = api.interval_bounds(problem.policy.network, ends[:, 0], ends[:, 1])[-1]
    most = 1 + CHANGE * float(max(box.magnitude[0], 0.0)) + 1e-6
    rows = [wanted[0].reshape(HISTORY, 3)[:, 2], wanted[1:, -1]]
    ratios = np.concatenate(rows)
    for before, after in pairwise(ratios):
        overloaded = min(before, after) > OVERLOAD + 1e-6 and max(before, after) < SEND_RATIOS[1]
        if overloaded and max(before / after, after / before) > most:
            return (
                f"the send ratio goes from {before:.4g} to {after:.4g} in one interval, but on an overloaded "
                f"link only the rate changes it, by a factor of at most {most:.4g} with this policy"
            )
    return None


DRIVER = SimulatorDriver(QUANTITIES, LONGEST, _obstacle_to_trace, aurora_attempts)
