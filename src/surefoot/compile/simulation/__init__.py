"""Simulation: runs of a problem drawn by number, interpreted or in machine code."""

from surefoot.compile.simulation.simulator import Simulator, simulate
from surefoot.compile.simulation.watched import (
    ENDED,
    FAILED,
    STALLED,
    SUCCEEDED,
    UNDECIDED,
    Counts,
    Runs,
    Watched,
)

__all__ = [
    "ENDED",
    "FAILED",
    "STALLED",
    "SUCCEEDED",
    "UNDECIDED",
    "Counts",
    "Runs",
    "Simulator",
    "Watched",
    "simulate",
]
