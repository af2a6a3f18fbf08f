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
from surefoot.term.columns import Column, Truths

_DEPTH = 0.1  # weight of how surely good a good state is, beside when it is met
_RARE = 2.0  # weight of how near a run comes to a decision that is wanted


@dataclass(slots=True)
class Score:
    """`never`: the nearest state to a bad one counts. Others: how late, and how hardly, a good one is met.

    `wanted`: an output of the policy's network. Then a run is the nearer the less that output is behind the
    best one, in the state in which it is least behind.
    """

    problem: Problem
    robustness: Robustness  # distance to the bad states of `never`, to states that are not good of others
    count: int
    steps: int
    wanted: int | None = None
    values: Distances = field(init=False)
    margins: Distances = field(init=False)
    nearest: float = np.inf
    nearest_state: dict[str, Column] | None = None  # one row

    def __post_init__(self) -> None:
        self.values = np.full(self.count, np.inf if isinstance(self.problem.property, Never) else 0.0)
        self.margins = np.full(self.count, np.inf)

    def look(self, state: Names, alive: Truths, rows: Rows, step: BatchStep) -> Distances:
        """The distances of these states."""
        found = self.robustness.distances(state, step, len(rows))
        mine = rows[alive]
        if isinstance(self.problem.property, Never):
            self.values[mine] = np.minimum(self.values[mine], found[alive])
            place = int(np.argmin(np.where(alive, found, np.inf)))
            if found[place] < self.nearest and alive[place]:
                self.nearest = float(found[place])
                self.nearest_state = {name: column[place : place + 1] for name, column in state.items()}
        else:
            depth = np.where(np.isfinite(found[alive]), found[alive], 1.0)
            self.values[mine] = np.maximum(self.values[mine], depth)
        made = step.decision
        if self.wanted is not None and made is not None and made.outputs is not None:
            outputs = np.asarray(made.outputs, dtype=np.float64)
            behind = outputs.max(axis=1) - outputs[:, self.wanted]
            self.margins[mine] = np.minimum(self.margins[mine], behind[alive])
        return found

    def finish(self, watch: Watch) -> None:
        """When good states were met is known at the end."""
        length = max(self.steps, 1)
        match self.problem.property:
            case Never():
                pass
            case Within() | Eventually():
                met = np.where(watch.first_good < 0, length, watch.first_good)
                self.values = 1.0 - met / length + _DEPTH * self.values / (1 + self.values)
            case _:
                met = np.maximum(watch.quiet, watch.states - watch.good_until)
                self.values = 1.0 - met / length + _DEPTH * self.values / (1 + self.values)
        if self.wanted is not None:
            usual = np.median(self.margins[np.isfinite(self.margins)]) if len(self.margins) else 1.0
            with np.errstate(all="ignore"):
                shares = np.where(np.isfinite(self.margins), self.margins / (self.margins + usual), 1.0)
                known = np.where(np.isfinite(self.values), self.values / (1 + self.values), 1.0)
            self.values = _RARE * np.nan_to_num(shares) + known
