"""Smaller boxes from every row by itself, again and again, as long as boxes shrink.

Where rows are clauses this is unit propagation: the row of a clause whose literals are false but one says
what the last one must be. A combination of all rows, as the dual bound has it, hides that.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.relu_splitting.chain_problem import Mask
from surefoot.solvers.native.relu_splitting.dual_bound import (
    DualProblem,
    dual_backward_pass,
    dual_rounding_error,
    relax_relu_domains,
)
from surefoot.solvers.native.relu_splitting.neuron_bounds import contract_by_inequality, tighten_by_intervals
from surefoot.solvers.native.relu_splitting.splitting_log import (
    DualEntry,
    IntervalsEntry,
    Multipliers,
    SplittingLog,
)
from surefoot.solvers.native.relu_splitting.sub_domains import ReluDomains

_ROUNDS = 8
_GOES_ON = 0.5  # logarithm of a share of the volume of a box: less is not worth another round
_NEARLY = 0.01
_MOST = 20.0  # what one input counts at most


def propagate_single_rows(
    c: DualProblem, domains: ReluDomains, log: SplittingLog
) -> tuple[ReluDomains, Array]:
    """The sub-domains that are left, and the logarithm of what part of each given box is left, negated."""
    gone = np.zeros(len(domains))
    here = np.arange(len(domains))
    active = np.ones(len(domains), dtype=np.bool_)
    domains = _copy_arrays(domains)
    for _ in range(_ROUNDS):
        part = _copy_arrays(domains.pick(active))
        closed, gain = _propagate_once(c, part, log)
        rows = np.flatnonzero(active)
        for name in ("low", "high", "lower", "upper", "cut", "limit"):
            getattr(domains, name)[rows] = getattr(part, name)
        gone[here[rows]] += np.where(closed, _MOST, gain)
        active[rows] = ~closed & (gain > _GOES_ON)
        if closed.any():
            kept = np.ones(len(domains), dtype=np.bool_)
            kept[rows[closed]] = False
            domains, here, active = domains.pick(kept), here[kept], active[kept]
        if not active.any():
            break
    return domains, gone


def _copy_arrays(domains: ReluDomains) -> ReluDomains:
    names = ("low", "high", "lower", "upper", "cut", "limit")
    return replace(domains, **{name: getattr(domains, name).copy() for name in names})


def _propagate_once(c: DualProblem, domains: ReluDomains, log: SplittingLog) -> tuple[Mask, Array]:
    """Every row once, then intervals; in place. Which sub-domains are closed, and what the others lost."""
    count = len(domains)
    closed = np.zeros(count, dtype=np.bool_)
    lines = relax_relu_domains(domains)
    # A ReLU that may well be off says nothing: the others must not pay for it.
    nearly_on = (domains.phase == 0) & (-domains.lower <= _NEARLY * domains.upper)
    theta = nearly_on.astype(np.float64)
    before = domains.high - domains.low
    for row in range(len(c.problem.offsets)):
        weights = np.zeros((count, len(c.problem.offsets)))
        weights[:, row] = 1.0
        found = dual_backward_pass(c, lines, domains.low, domains.high, theta, weights)
        error = dual_rounding_error(c, lines, theta, weights)
        low, high = contract_by_inequality(
            domains.low, domains.high, found.slopes, error + error - found.bound, c.problem.whole
        )
        done = (found.bound > 2.0 * error) & ~closed
        changed = ((low != domains.low) | (high != domains.high)).any(axis=1) & ~closed & ~done
        if log.wanted:
            of = Multipliers(theta, domains.phase, domains.lower.copy(), weights)
            for i in np.flatnonzero(changed | done).tolist():
                log.add(int(domains.node[i]), DualEntry(of, i, closing=bool(done[i])))
        closed |= done
        domains.low[changed], domains.high[changed] = low[changed], high[changed]
    after = domains.high - domains.low
    shrunk = (after < before).any(axis=1) & ~closed
    with np.errstate(all="ignore"):
        lost = np.minimum(np.log(before / np.maximum(after, 1e-300)), _MOST)
    gain = np.where(shrunk, np.where(lost > 0.0, lost, 0.0).sum(axis=1), 0.0)
    if shrunk.any():
        part = domains.pick(shrunk)
        tighten_by_intervals(c, part)
        domains.lower[shrunk], domains.upper[shrunk] = part.lower, part.upper
        domains.cut[shrunk], domains.limit[shrunk] = 0.0, 0.0
        for node in part.node.tolist():
            log.add(node, IntervalsEntry())
    return closed, gain


def shared_input_influence(c: DualProblem, domains: ReluDomains) -> Array:
    """How much a neuron of the first layer shares its inputs with undecided ones, the nearly decided most."""
    s = c.slices[0]
    lower, upper = domains.lower[:, s], domains.upper[:, s]
    undecided = (domains.phase[:, s] == 0) & (lower < 0.0) & (upper > 0.0)
    share = np.where(undecided, upper / np.where(undecided, upper - lower, 1.0), 0.0) ** 2
    size = np.abs(c.problem.first)
    found = np.ones_like(domains.lower)
    found[:, s] += (share @ size) @ size.T
    return found
