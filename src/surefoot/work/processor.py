"""Processor time as a budget: what the machine does beside is not counted, what child processes do is."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from surefoot.work.budget import Budget

TASKS = Path("/proc/self/task")
SLOWEST = 20.0  # seconds on the clock for one of the processor, at most


def used() -> float:
    """Seconds of this process and of its children, where the system tells also of those that still run."""
    several = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    total = sum(one.ru_utime + one.ru_stime for one in several)
    return total + sum(map(_of_child, _children()))


def _children() -> list[str]:
    try:
        return [child for task in TASKS.iterdir() for child in (task / "children").read_text().split()]
    except OSError:  # no such files on this system: children count when they end
        return []


def _of_child(process: str) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it ended meanwhile
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ProcessorTime(Budget):
    """`seconds` of processor time since `begun`, a value of `used`."""

    begun: float = 0.0

    def elapsed(self) -> float:
        return used() - self.begun

    def spent(self) -> bool:
        return self.elapsed() >= self.seconds

    def remaining(self) -> float:
        """On the clock, for those who look at it: what is left, as slow as it went so far."""
        elapsed = self.elapsed()
        pace = (monotonic() - self.started) / elapsed if elapsed > 1.0 else 1.0
        return min(max(pace, 1.0), SLOWEST) * max(0.0, self.seconds - elapsed)
