"""When exploration ends early: too many states, too much memory, no time left."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot.work.budget import Budget

TIME = "the time limit"
MOST_PASSED = 128  # states in a row that are not stored


@dataclass(frozen=True, slots=True)
class ExplorationLimits:
    budget: Budget
    max_states: int | None = None
    memory: int | None = None  # bytes
    max_outcomes: int | None = None

    def is_full(self, states: int, outcomes: int = 0) -> bool:
        """No further state is expanded; the outcomes of the last one are kept, so there may be a few more."""
        if self.max_outcomes is not None and outcomes >= self.max_outcomes:
            return True
        return self.max_states is not None and states >= self.max_states

    def limit_reached(self, states: int, memory: int, outcomes: int = 0) -> str:
        """Why to stop, or nothing; also tells how far the exploration is."""
        self.budget.progress(f"{states} states")
        if self.is_full(states):
            return f"the limit of {self.max_states} states"
        if self.is_full(states, outcomes):
            return f"the limit of {self.max_outcomes} outcomes"
        if self.memory is not None and memory > self.memory:
            return f"the limit of {self.memory} bytes"
        return TIME if self.budget.is_spent() else ""
