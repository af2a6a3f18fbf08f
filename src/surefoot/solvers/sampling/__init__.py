"""Statistics of runs: when to stop, and what is then known (`docs/reference/statistics.md`).

Nothing here knows environments or policies: runs are outcomes in the order of their indices.
"""

from surefoot.solvers.sampling.empirical_bernstein import Betting, RewardProgress, RewardRange
from surefoot.solvers.sampling.methods import METHODS, choose_plan
from surefoot.solvers.sampling.plan import (
    FAILURE,
    SUCCESS,
    UNDECIDED,
    ConfidenceInterval,
    OutcomeQueue,
    Progress,
    SamplingPlan,
    Stop,
    estimate_verdict,
)
from surefoot.solvers.sampling.sequential_ratio_test import SequentialRatioTest

__all__ = [
    "FAILURE",
    "METHODS",
    "SUCCESS",
    "UNDECIDED",
    "Betting",
    "ConfidenceInterval",
    "OutcomeQueue",
    "Progress",
    "RewardProgress",
    "RewardRange",
    "SamplingPlan",
    "SequentialRatioTest",
    "Stop",
    "choose_plan",
    "estimate_verdict",
]
