"""Processor time as a budget: what the machine does beside is not counted, what child processes do is."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from surefoot.work.budget import Budget

_PROCESSES = Path("/proc")
_SLOWEST = 20.0  # seconds on the clock for one of the processor, at most


def processor_seconds() -> float:
    """Seconds of this process and of its children, where the system tells also of those that still run."""
    several = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    total = sum(one.ru_utime + one.ru_stime for one in several)
    return total + sum(map(_child_seconds, _list_descendants("self")))


def _list_descendants(process: str) -> list[str]:
    """Children, and theirs: a solver in a process of its own may have workers."""
    try:
        tasks = list((_PROCESSES / process / "task").iterdir())
        found = [child for task in tasks for child in (task / "children").read_text().split()]
    except OSError:  # no such files on this system, or it ended: children count when they end
        return []
    return [one for child in found for one in (child, *_list_descendants(child))]


def _child_seconds(process: str) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # it ended meanwhile
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class ProcessorTime(Budget):
    """`seconds` of processor time since `begun`, a value of `used`."""

    begun: float = 0.0

    def elapsed_seconds(self) -> float:
        return processor_seconds() - self.begun

    def is_spent(self) -> bool:
        return self.elapsed_seconds() >= self.seconds

    def remaining(self) -> float:
        """On the clock, for those who look at it: what is left, as slow as it went so far."""
        elapsed = self.elapsed_seconds()
        pace = (monotonic() - self.started) / elapsed if elapsed > 1.0 else 1.0
        return min(max(pace, 1.0), _SLOWEST) * max(0.0, self.seconds - elapsed)
