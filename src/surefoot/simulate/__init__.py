"""Simulation: runs of a problem drawn by number, interpreted or in machine code."""

from surefoot.simulate.path_property import (
    ENDED,
    FAILED,
    STALLED,
    SUCCEEDED,
    UNDECIDED,
    DecisionCounts,
    PathProperty,
    RunOutcomes,
)
from surefoot.simulate.simulator import RunSimulator, make_simulator

__all__ = [
    "ENDED",
    "FAILED",
    "STALLED",
    "SUCCEEDED",
    "UNDECIDED",
    "DecisionCounts",
    "PathProperty",
    "RunOutcomes",
    "RunSimulator",
    "make_simulator",
]
