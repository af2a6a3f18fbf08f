"""Statistics of runs: when to stop, and what is then known (`docs/reference/statistics.md`).

Nothing here knows environments or policies: runs are outcomes in the order of their indices.
"""

from surefoot.solve.sampling.choose import METHODS, choose
from surefoot.solve.sampling.plan import (
    FAILURE,
    SUCCESS,
    UNDECIDED,
    Interval,
    Plan,
    Progress,
    Queue,
    Stop,
    estimated,
)
from surefoot.solve.sampling.reward import Betting, Range, RewardProgress
from surefoot.solve.sampling.threshold import Threshold

__all__ = [
    "FAILURE",
    "METHODS",
    "SUCCESS",
    "UNDECIDED",
    "Betting",
    "Interval",
    "Plan",
    "Progress",
    "Queue",
    "Range",
    "RewardProgress",
    "Stop",
    "Threshold",
    "choose",
    "estimated",
]
