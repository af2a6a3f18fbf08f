"""How much an answer may cost: a deadline, a seed, and where progress is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from numbers import Real
from time import monotonic

from surefoot.errors import WrongType
from surefoot.problem.door import called, described, settle, whole_number


def _silent(_: str) -> None:
    pass


def _duration(given: object) -> Real:
    if isinstance(given, bool) or not isinstance(given, Real) or given != given:
        raise WrongType(f"{described(given)} is not a number of seconds", fix="give Budget(seconds=60)")
    return given


@dataclass(frozen=True, slots=True)
class Budget:
    """Time runs from the moment the budget is made."""

    seconds: float = inf
    seed: int = 0
    progress: Callable[[str], None] = _silent  # called with one short line
    started: float = field(default_factory=monotonic)

    def __post_init__(self) -> None:
        settle(self, seconds=_duration, seed=whole_number, progress=called)

    def elapsed(self) -> float:
        return monotonic() - self.started

    def remaining(self) -> float:
        return max(0.0, self.seconds - self.elapsed())

    def part(self, share: float) -> Budget:
        """The same clock, with this share of the time that is left."""
        return replace(self, seconds=self.elapsed() + share * self.remaining())

    def spent(self) -> bool:
        return self.remaining() <= 0.0
