"""Batches of sub-domains."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.network.batches import BatchRecord
from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.relu_splitting.chain_problem import ChainProblem, Indices, Mask


@dataclass(frozen=True, slots=True, eq=False)
class ReluDomains(BatchRecord):
    """One row per sub-domain: a box, bounds and phases of the neurons, and where the multipliers stand."""

    low: Array  # (domains, inputs)
    high: Array
    lower: Array  # (domains, neurons): bounds before the ReLU, phases included
    upper: Array
    phase: NDArray[np.int8]  # 1: on, -1: off in all wanted points, by a split or by the bounds; 0: undecided
    theta: Array  # slope of the lower line of an unstable neuron, multiplier of a split one
    row_weights: Array  # (domains, rows)
    bent: Mask  # (domains, neurons): the line above the neuron was in use, so that its bounds matter
    cut: Array  # (domains, inputs): every wanted point satisfies cut . x <= limit
    limit: Array
    fresh: Indices  # the neuron split last, -1 for none
    rounds: Indices  # how often the box was contracted without a split
    node: Indices  # number in the log

    def __len__(self) -> int:
        return len(self.low)


def root_relu_domain(problem: ChainProblem) -> ReluDomains:
    """The whole box. Bounds of neurons follow from intervals."""
    rows = len(problem.offsets)
    low, high = problem.low.copy(), problem.high.copy()
    low[problem.whole] = np.ceil(low[problem.whole])
    high[problem.whole] = np.floor(high[problem.whole])
    return ReluDomains(
        low[None],
        high[None],
        np.full((1, problem.neurons), -np.inf),
        np.full((1, problem.neurons), np.inf),
        np.zeros((1, problem.neurons), dtype=np.int8),
        np.full((1, problem.neurons), 0.5),
        np.full((1, rows), 1.0 / rows),
        np.ones((1, problem.neurons), dtype=np.bool_),
        np.zeros((1, len(low))),
        np.zeros(1),
        np.full(1, -1),
        np.zeros(1, dtype=np.int64),
        np.zeros(1, dtype=np.int64),
    )


def split_neurons(parents: ReluDomains, neurons: Indices, phase: int) -> ReluDomains:
    """The children of all parents in which their chosen neuron has that phase."""
    each = np.arange(len(parents))
    lower, upper, theta = parents.lower.copy(), parents.upper.copy(), parents.theta.copy()
    phases = parents.phase.copy()
    phases[each, neurons] = phase
    theta[each, neurons] = 0.0
    if phase > 0:
        lower[each, neurons] = 0.0
    else:
        upper[each, neurons] = 0.0
    rounds = np.zeros_like(parents.rounds)
    return replace(parents, lower=lower, upper=upper, phase=phases, theta=theta, fresh=neurons, rounds=rounds)


def fix_stable_phases(domains: ReluDomains) -> None:
    """Give neurons whose bounds have one sign that phase, in place: it holds at all wanted points.

    So they get a multiplier like split ones. Without it bounds that rest on a cut would be forgotten when the
    last undecided neuron is split.
    """
    undecided = domains.phase == 0
    on = undecided & (domains.lower >= 0.0)
    off = undecided & (domains.upper <= 0.0) & ~on
    domains.phase[on] = 1
    domains.phase[off] = -1
    domains.theta[on | off] = 0.0
