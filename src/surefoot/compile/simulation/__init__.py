"""Simulation: runs of a problem drawn by number, interpreted or in machine code."""

from surefoot.compile.simulation.simulator import RunSimulator, make_simulator
from surefoot.compile.simulation.watched import (
    ENDED,
    FAILED,
    STALLED,
    SUCCEEDED,
    UNDECIDED,
    DecisionCounts,
    PathProperty,
    RunOutcomes,
)

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
