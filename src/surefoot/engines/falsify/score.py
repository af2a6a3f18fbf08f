"""How far each run of a batch is from violating the property: the less the nearer."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from surefoot.engines.falsify.robustness import Distances, Robustness
from surefoot.engines.falsify.watch import Watch
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Within
from surefoot.simulate.batch.model import BatchStep, Rows
from surefoot.simulate.batch.state_columns import Names
from surefoot.term.columns import Truths

_DEPTH = 0.1  # weight of how surely good a good state is, beside when it is met


@dataclass(slots=True)
class Score:
    """`never`: the nearest state to a bad one counts. Others: how late, and how hardly, a good one is met."""

    problem: Problem
    robustness: Robustness  # distance to the bad states of `never`, to states that are not good of others
    count: int
    steps: int
    values: Distances = field(init=False)

    def __post_init__(self) -> None:
        self.values = np.full(self.count, np.inf if isinstance(self.problem.property, Never) else 0.0)

    def look(self, state: Names, alive: Truths, rows: Rows, step: BatchStep) -> None:
        found = self.robustness.distances(state, step, len(rows))
        mine = rows[alive]
        if isinstance(self.problem.property, Never):
            self.values[mine] = np.minimum(self.values[mine], found[alive])
        else:
            depth = np.where(np.isfinite(found[alive]), found[alive], 1.0)
            self.values[mine] = np.maximum(self.values[mine], depth)

    def finish(self, watch: Watch) -> None:
        """When good states were met is known at the end."""
        length = max(self.steps, 1)
        match self.problem.property:
            case Never():
                return
            case Within() | Eventually():
                met = np.where(watch.first_good < 0, length, watch.first_good)
            case _:
                met = np.maximum(watch.quiet, watch.states - watch.good_until)
        self.values = 1.0 - met / length + _DEPTH * self.values / (1 + self.values)
