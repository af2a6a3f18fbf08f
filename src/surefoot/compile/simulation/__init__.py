"""Simulation: runs of a problem drawn by number, interpreted or in machine code."""

from surefoot.compile.simulation.path_property import (
    ENDED,
    FAILED,
    STALLED,
    SUCCEEDED,
    UNDECIDED,
    DecisionCounts,
    PathProperty,
    RunOutcomes,
)
from surefoot.compile.simulation.simulator import RunSimulator, make_simulator

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
