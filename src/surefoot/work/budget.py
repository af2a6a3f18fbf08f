"""How much an answer may cost: a deadline, a seed, and where progress is told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from time import monotonic


def _silent(_: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Budget:
    """Time runs from the moment the budget is made."""

    seconds: float = inf
    seed: int = 0
    progress: Callable[[str], None] = _silent  # called with one short line
    started: float = field(default_factory=monotonic)

    def elapsed(self) -> float:
        return monotonic() - self.started

    def remaining(self) -> float:
        return max(0.0, self.seconds - self.elapsed())

    def part(self, share: float) -> Budget:
        """The same clock, with this share of the time that is left."""
        return replace(self, seconds=self.elapsed() + share * self.remaining())

    def spent(self) -> bool:
        return self.remaining() <= 0.0
