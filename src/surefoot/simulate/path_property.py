"""What a run is judged by, and what is known of many runs afterwards.

A run is at step i in its i-th state (starts are number 0). In this order:

* `right` holds and i >= `low`: the run succeeded. `left` does not hold: it failed. i = `high`: it failed.
* i = the largest number of steps: undecided.
* Nothing can happen: it stalled if the policy chose what is not enabled, else it ended. As everywhere, a run
  that has ended stays where it is: if `right` holds and only `low` was missing, it succeeded at step `low`.
* Else it makes a step, and gains the reward of that step.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import gcd, inf, lcm, nextafter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem
from surefoot.explore.row_layout import RowLayout
from surefoot.problem.environment import Environment
from surefoot.problem.property import counts_steps
from surefoot.term.term import TRUE, Const, Term
from surefoot.term.types import sort_of
from surefoot.term.value_types import Arithmetic

FAILED, SUCCEEDED, UNDECIDED, STALLED, ENDED = range(5)
DECISIONS = "decisions"
_FINE = 30  # bits behind the point of a reward that is not a multiple of a known fraction
_FLOAT_FINE = 40


@dataclass(frozen=True, slots=True)
class PathProperty:
    """`left` until `right`, between steps `low` and `high`, and what is gained on the way."""

    right: Term
    left: Term = TRUE
    low: int | None = None
    high: int | None = None
    reward: str | Term | None = None
    """A reward of the environment, `steps`, `decisions` (of the policy, unless the environment has a reward
    of that name), or a number that each state gives when it is left; None: a probability is asked."""


@dataclass(frozen=True, slots=True, eq=False)
class RunOutcomes:
    """One entry per run, in the order of their numbers."""

    outcome: NDArray[np.int8]  # FAILED, SUCCEEDED, UNDECIDED, STALLED or ENDED
    steps: NDArray[np.int64]
    reward_low: NDArray[np.float64]  # the exact reward lies between the two; mostly they are equal
    reward_high: NDArray[np.float64]

    def count(self, outcome: int) -> int:
        return int(np.count_nonzero(self.outcome == outcome))

    def since(self, place: int) -> RunOutcomes:
        """Without the first ones."""
        if place == 0:
            return self
        rewards = self.reward_low[place:], self.reward_high[place:]
        return RunOutcomes(self.outcome[place:], self.steps[place:], *rewards)


@dataclass(frozen=True, slots=True)
class DecisionCounts:
    """Of all runs so far: decisions that were needed, and states in which the policy was evaluated for them.

    `hits` were known already. A state that is met again later may have been forgotten meanwhile.
    """

    decisions: int = 0
    evaluations: int = 0

    @property
    def hits(self) -> int:
        return max(0, self.decisions - self.evaluations)


def reward_names(environment: Environment) -> frozenset[str]:
    return frozenset(
        name for c in environment.components for e in c.edges for o in e.outcomes for name, _ in o.rewards
    )


def reward_scale(environment: Environment, layout: RowLayout, reward: str | Term | None) -> int:
    """Rewards are counted in units of one over this number, from below and from above.

    Constants are whole numbers of such units if that is possible, so that nothing is rounded.
    """
    if reward is None or counts_steps(reward):
        return 1
    if isinstance(reward, str):
        if reward not in reward_names(environment):
            if reward == DECISIONS:
                return 1
            raise InvalidProblem(f"the environment has no reward `{reward}`")
        edges = (e for c in environment.components for e in c.edges)
        terms = [t for e in edges for o in e.outcomes for name, t in o.rewards if name == reward]
    else:
        terms = [reward]
    if environment.arithmetic is Arithmetic.FLOAT64:
        return 1 << _FLOAT_FINE
    known = lcm(1, *(Fraction(t.value).denominator for t in terms if isinstance(t, Const)))
    whole = all(isinstance(t, Const) or sort_of(t, layout.kinds) is int for t in terms)
    if known.bit_length() > _FINE:
        return 1 << _FINE
    return known if whole else known << _FINE - known.bit_length()


def units_to_floats(units: NDArray[Any], scale: int, up: bool) -> NDArray[np.float64]:
    """Units as floats that are no less (up) or no more (not up) than the exact numbers."""
    if units.dtype == object or (len(units) and max(abs(int(units.min())), abs(int(units.max()))) >= 1 << 53):
        return np.array([_unit_to_float(int(u), scale, up) for u in units], dtype=np.float64)
    quotients: NDArray[np.float64] = units / np.float64(scale)
    if scale & (scale - 1) == 0:
        return quotients
    rest = scale // np.gcd(units, scale)
    inexact = (rest & (rest - 1)) != 0
    return np.where(inexact, np.nextafter(quotients, np.inf if up else -np.inf), quotients)


def _unit_to_float(units: int, scale: int, up: bool) -> float:
    rest = scale // gcd(units, scale)
    try:
        quotient = units / scale
    except OverflowError:
        return inf if up else -inf
    exact = (rest & (rest - 1)) == 0 and Fraction(quotient) == Fraction(units, scale)
    return quotient if exact else nextafter(quotient, inf if up else -inf)
