"""The running search: its settings, what it keeps, and how it can end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from surefoot.network.batches import BatchStack
from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.relu_splitting.chain_problem import ReluDomains, evaluate_chain_rows
from surefoot.solvers.native.relu_splitting.dual_bound import DualProblem
from surefoot.solvers.native.relu_splitting.splitting_log import SplittingLog


@dataclass(frozen=True, slots=True)
class ReluSearchSettings:
    """How to search. The same settings give the same search, unless `expired` cuts it short."""

    batch: int = 256
    steps: int = 6  # of every ascent
    most_open: int = 100_000  # sub-domains waiting, a bound of the memory
    patience: tuple[int, int] = (2000, 400)
    """How many sub-domains, with one hidden layer and with several, before the search begins once more."""
    log: bool = False
    seed: int = 0  # of the attack
    expired: Callable[[], bool] = lambda: False
    accepts: Callable[[Array], bool] = lambda point: True  # whether a point really is a solution


@dataclass(frozen=True, slots=True, eq=False)
class ChainRefutation:
    """No point satisfies all rows, in exact arithmetic."""

    compiled: DualProblem
    log: SplittingLog
    nodes: int


@dataclass(frozen=True, slots=True, eq=False)
class CandidatePoint:
    """A point that satisfies all rows in float64; to be checked exactly by whoever asked."""

    point: Array
    nodes: int


class SearchLimit(Enum):
    """What ended a search before its end."""

    TIME = "time is up"
    OPEN = "too many sub-domains are waiting"
    NODES = "too many sub-domains were looked at"
    TIES = "some sub-domains without undecided neurons are ties"
    RANGE = "values of the network may leave the range of float64"


@dataclass(frozen=True, slots=True)
class SearchGaveUp:
    open: int
    why: SearchLimit
    nodes: int


ReluSearchAnswer = ChainRefutation | CandidatePoint | SearchGaveUp


@dataclass(slots=True)
class ReluSearch:
    """The running search."""

    c: DualProblem
    settings: ReluSearchSettings
    random: np.random.Generator
    known: ReluDomains | None = None  # the root, if its bounds are shown already
    log: SplittingLog = field(default_factory=lambda: SplittingLog(False))
    stack: BatchStack[ReluDomains] = field(default_factory=BatchStack)
    nodes: int = 0
    batches: int = 0
    next_attack: int = 1
    propagates: bool = False  # whether boxes are shrunk by every row before anything else
    next_trial: int = 15
    unresolved: int = 0
    found: Array | None = None
    looks_ahead: bool = False  # whether neurons to split are tried before one is chosen


def keep_first_solution(s: ReluSearch, points: Array, low: Array, high: Array) -> bool:
    """Keep the first of these points that satisfies all rows."""
    problem = s.c.problem
    points = np.where(problem.whole, np.rint(points), points)
    points = np.minimum(np.maximum(points, low), high)
    good = (evaluate_chain_rows(problem, points)[0] <= 0.0).all(axis=1)
    for i in np.flatnonzero(good).tolist():
        # Once more alone: another order of summation may decide a tie otherwise.
        if (evaluate_chain_rows(problem, points[i : i + 1])[0] <= 0.0).all() and s.settings.accepts(
            points[i]
        ):
            s.found = points[i]
            return True
    return False
