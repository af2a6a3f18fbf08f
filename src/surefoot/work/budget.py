"""How much an answer may cost: a deadline, a seed, how many processes, and where progress is told."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from numbers import Real
from time import monotonic

from surefoot.errors import WrongType
from surefoot.term.arguments import (
    check_fields,
    describe_value,
    take_callable,
    take_in_range,
    take_optional,
    whole_number,
)


def _ignore_progress(_: str) -> None:
    pass


def _take_seconds(given: object) -> Real:
    if isinstance(given, bool) or not isinstance(given, Real) or given != given:
        raise WrongType(f"{describe_value(given)} is not a number of seconds", fix="give Budget(seconds=60)")
    return given


def usable_processors() -> int:
    """Of this machine, those that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True, slots=True)
class Budget:
    """Time runs from the moment the budget is made."""

    seconds: float = inf
    seed: int = 0
    progress: Callable[[str], None] = _ignore_progress  # called with one short line
    started: float = field(default_factory=monotonic)
    workers: int | None = None  # processes that work on it at the same time; None: all usable processors

    def __post_init__(self) -> None:
        check_fields(
            self,
            seconds=_take_seconds,
            seed=whole_number,
            progress=take_callable,
            workers=take_optional(take_in_range(whole_number, 1)),
        )

    @property
    def processes(self) -> int:
        """`workers`, as a number."""
        return usable_processors() if self.workers is None else self.workers

    def elapsed_seconds(self) -> float:
        return monotonic() - self.started

    def remaining(self) -> float:
        return max(0.0, self.seconds - self.elapsed_seconds())

    def part(self, share: float) -> Budget:
        """The same clock, with this share of the time that is left."""
        return replace(self, seconds=self.elapsed_seconds() + share * self.remaining())

    def begin_part(self, seconds: float) -> Budget:
        """A clock that begins now, for so many seconds; everything else is the same."""
        return Budget(seconds, self.seed, self.progress, workers=self.workers)

    def is_spent(self) -> bool:
        return self.remaining() <= 0.0
