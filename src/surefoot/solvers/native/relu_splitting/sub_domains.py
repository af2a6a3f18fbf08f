"""Batches of sub-domains, and the stack they wait on."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.relu_splitting.chain_problem import ChainProblem, Indices, Mask


@dataclass(frozen=True, slots=True, eq=False)
class ReluDomains:
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

    def take(self, chosen: Mask | Indices) -> ReluDomains:
        return ReluDomains(*(getattr(self, f)[chosen] for f in _FIELDS))

    def part(self, start: int, end: int) -> ReluDomains:
        return ReluDomains(*(getattr(self, f)[start:end] for f in _FIELDS))


_FIELDS = tuple(f.name for f in fields(ReluDomains))


def join_relu_domains(parts: list[ReluDomains]) -> ReluDomains:
    if len(parts) == 1:
        return parts[0]
    return ReluDomains(*(np.concatenate([getattr(p, f) for p in parts]) for f in _FIELDS))


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


class ReluDomainStack:
    """Open sub-domains, the last pushed first."""

    def __init__(self) -> None:
        self._parts: list[ReluDomains] = []
        self.count = 0

    def push(self, domains: ReluDomains) -> None:
        if len(domains):
            self._parts.append(domains)
            self.count += len(domains)

    def pop(self, most: int) -> ReluDomains:
        """Up to that many sub-domains; there must be one."""
        taken: list[ReluDomains] = []
        room = most
        while self._parts and room > 0:
            part = self._parts.pop()
            if len(part) > room:
                self._parts.append(part.part(0, len(part) - room))
                part = part.part(len(part) - room, len(part))
            taken.append(part)
            room -= len(part)
        self.count -= most - room
        return join_relu_domains(taken[::-1])


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
