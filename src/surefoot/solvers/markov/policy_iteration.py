"""Policy iteration with bounds that are checked in exact integers.

A policy is found in floating point (Howard), its values are refined to many bits, and it is improved once
more in integers until no choice is better by more than the error. Then, with v the values and h the largest
expected number of steps among the choices that are as good as the best, v + eps h is inductive from above
and v - eps h from below: a choice that is as good gains eps in every step, and one that is worse has slack
to spare when eps is small. In contrast to value iteration from above this does not depend on how long a run
may linger (quasi end components). Every inequality is checked in integers; where one fails, its choice
counts as tied and h is computed again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Optimise
from surefoot.solvers.markov.integer_vectors import IntegerVector, integer_zeros, round_to_integers
from surefoot.solvers.markov.policy_evaluation import (
    FactoredChain,
    FloatQuotient,
    chain_residual,
    factor_chain,
    quotient_to_floats,
    refine_chain_values,
)
from surefoot.solvers.markov.quotient import QuotientProcess

MOST_POLICIES = 500
MOST_TRIALS = 12
TOLERANCE = 1e-11  # relative: below this an improvement may be noise of the floating point


@dataclass(frozen=True, slots=True, eq=False)
class InductiveBounds:
    """Values of the nodes over `scale`: one side inductive for all choices, the other for the policy."""

    low: IntegerVector
    high: IntegerVector
    policy: NDArray[np.int64]  # [nodes]: choice of the reduced process


def bound_fixed_point(
    reduced: QuotientProcess,
    optimise: Optimise,
    start: NDArray[np.int64],
    seconds_left: Callable[[], float] = lambda: inf,
) -> InductiveBounds | None:
    """Bounds of x = optimum (constant + P x); None where floating point, or the time, is not enough."""
    if not reduced.nodes:
        return InductiveBounds(integer_zeros(0), integer_zeros(0), start)
    table = quotient_to_floats(reduced)
    sign = 1 if optimise == "max" else -1
    found = _howard_iteration(table, sign, start, seconds_left)
    if found is None:
        return None
    for _ in range(MOST_POLICIES):
        if seconds_left() <= 0:
            return None
        refined = refine_chain_values(reduced, found, found.solve(table.constants[found.policy]))
        longest = found.solve(np.ones(reduced.nodes))
        if refined is None or not np.isfinite(longest).all() or longest.min() <= 0:
            return None
        values, size = refined
        noise = int(4 * size * max(longest.max(), 1.0)) + 16
        slack = sign * (reduced.unit * values[table.owners] - reduced.choice_values(values))
        better = slack < -noise * reduced.unit
        if not better.any():
            return _inductive_bounds(table, sign, found, values, size, slack, noise)
        found = factor_chain(table, _improve_policy(table, found.policy, -slack, better))
        if found is None:
            return None
    return None


def _howard_iteration(
    table: FloatQuotient, sign: int, start: NDArray[np.int64], seconds_left: Callable[[], float]
) -> FactoredChain | None:
    policy = start
    for _ in range(MOST_POLICIES):
        found = None if seconds_left() <= 0 else factor_chain(table, policy)
        if found is None:
            return None
        values = found.solve(table.constants[policy])
        if not np.isfinite(values).all():
            return None
        gain = sign * (table.constants + table.matrix @ values - values[table.owners])
        size = np.abs(values)
        if table.constants.min(initial=0.0) < 0:  # values near 0 are differences of larger ones
            size = np.maximum(size, size.max(initial=0.0))
        better = gain > TOLERANCE * size[table.owners]
        if not better.any():
            return found
        policy = _improve_policy(table, policy, gain, better)
    return None


def _improve_policy(
    table: FloatQuotient, policy: NDArray[np.int64], gain: NDArray[Any], better: NDArray[np.bool_]
) -> NDArray[np.int64]:
    """The policy with the best choice wherever one is better."""
    candidates = np.flatnonzero(better)
    owners = table.owners[candidates]
    starts = np.flatnonzero(np.r_[True, owners[1:] != owners[:-1]])
    largest = np.maximum.reduceat(gain[candidates], starts)
    group = np.repeat(np.arange(len(starts)), np.diff(np.r_[starts, len(owners)]))
    winners = candidates[gain[candidates] == largest[group]]
    improved = policy.copy()
    improved[table.owners[winners][::-1]] = winners[::-1]
    return improved


def _inductive_bounds(
    table: FloatQuotient,
    sign: int,
    found: FactoredChain,
    values: IntegerVector,
    size: int,
    slack: IntegerVector,
    noise: int,
) -> InductiveBounds | None:
    """Inductive bounds on both sides of the values."""
    reduced, unit = table.reduced, table.reduced.unit
    tied = (slack <= 4 * noise * unit).astype(np.bool_)
    tied[found.policy] = True
    own = found.solve(np.ones(reduced.nodes))
    slowest = (found.policy, own)
    inner: IntegerVector | None = None
    outer: IntegerVector | None = None
    margin = 16 + 8 * size
    for _ in range(MOST_TRIALS):
        if inner is None:
            candidate = values - sign * round_to_integers(own, margin)
            rest = sign * chain_residual(reduced, found.policy, candidate)
            inner = candidate if (rest >= 0).all() else None
        if outer is None:
            longest = _longest_expected_steps(table, *slowest, tied)
            if longest is None:
                return None
            slowest = longest
            candidate = values + sign * round_to_integers(slowest[1], margin)
            rest = sign * (unit * candidate[table.owners] - reduced.choice_values(candidate))
            failed = rest < 0
            if not failed.any():
                outer = candidate
            elif (failed & ~tied).any():
                tied |= failed.astype(np.bool_)
                continue
        if inner is not None and outer is not None:
            low, high = (inner, outer) if sign > 0 else (outer, inner)
            return InductiveBounds(low, high, found.policy)
        margin *= 16
    return None


def _longest_expected_steps(
    table: FloatQuotient, policy: NDArray[np.int64], steps: NDArray[np.float64], tied: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """The largest expected number of steps while only tied choices are taken; None if it may be infinite."""
    for _ in range(MOST_POLICIES):
        gain = 1.0 + table.matrix @ steps - steps[table.owners]
        better = tied & (gain > TOLERANCE * steps[table.owners] + 1e-9)
        if not better.any():
            return policy, steps
        policy = _improve_policy(table, policy, gain, better)
        slower = factor_chain(table, policy)
        if slower is None:
            return None
        steps = slower.solve(np.ones(len(policy)))
        if not np.isfinite(steps).all() or steps.min() <= 0:
            return None
    return None
