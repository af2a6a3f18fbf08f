"""Disturbances and linear dynamics from logged runs, with a stated confidence.

A box around n residuals of d variables contains at least the share p of all residuals with the confidence
1 - delta if P(Binomial(n, 1 - p) <= 2 d - 1) <= delta, whatever their distribution is: each of the 2 d sides
rests on one of them (Wilks, 1941; Tukey, 1947; as a scenario program: Campi and Garatti, SIAM J. Optim.
2008). That supposes that the residuals are independent and distributed alike; nothing can be said without.

Linear dynamics are fitted by least squares on one half of the runs (of the time, if there is one run), and
the box is made from the other half, which the fit has not seen. Its residuals contain the error of the fit,
and it is those that are supposed to be independent. Intervals of coefficients suppose normal residuals.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, floor
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from surefoot.engines.barrier.float_system import float_system
from surefoot.reductions.barrier import ControlSystem

Floats: TypeAlias = NDArray[np.float64]
DIGITS = 6  # of a box that is printed; rounded outwards


@dataclass(frozen=True, slots=True, eq=False)
class LoggedSteps:
    """One step in each row: the state before, the controls, the state after."""

    before: Floats
    controls: Floats
    after: Floats
    run: NDArray[np.int64]  # the number of its run

    def half(self, first: bool) -> LoggedSteps:
        """Every other run; of a single run the first or the last half."""
        numbers = self.run if len(np.unique(self.run)) > 1 else 2 * np.arange(len(self.run)) // len(self.run)
        part = (numbers % 2 == 0) if first else (numbers % 2 == 1)
        return LoggedSteps(self.before[part], self.controls[part], self.after[part], self.run[part])


@dataclass(frozen=True, slots=True, eq=False)
class ToleranceBox:
    """A box, and the share of residuals that it contains with the asked confidence."""

    low: Floats
    high: Floats
    share: float
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class FittedDynamics:
    """next = matrix * (variables, controls, 1) + residual; `within`: how near all coefficients are."""

    matrix: Floats
    within: Floats
    count: int


def certain_share(count: int, sides: int, confidence: float) -> float:
    """The largest p with P(Binomial(count, 1 - p) <= sides - 1) <= 1 - confidence, a little less; 0: none."""
    if count < sides:
        return 0.0
    missed = float(stats.beta.ppf(confidence, sides, count - sides + 1))
    if not 0 <= missed < 1:
        return 0.0
    missed = min(1.0, missed * (1 + 1e-9))
    while missed < 1 and float(stats.binom.cdf(sides - 1, count, missed)) > 1 - confidence:
        missed = min(1.0, missed * (1 + 1e-6))
    return 1.0 - missed


def needed_steps(share: float, sides: int, confidence: float) -> int:
    """How many steps a box needs to contain this share."""
    low, high = sides, 2 * sides
    while certain_share(high, sides, confidence) < share:
        low, high = high, 2 * high
        if high > 1 << 40:
            return high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if certain_share(middle, sides, confidence) >= share else (middle, high)
    return high


def model_residuals(system: ControlSystem, steps: LoggedSteps) -> Floats:
    """How far each next state is from the model's, for the middle of its own disturbances."""
    moving = float_system(system, ())
    middle = np.array([float(a + b) / 2 for _, (a, b) in system.disturbances])
    drawn = np.broadcast_to(middle, (len(steps.before), len(middle)))
    return steps.after - moving.next_states(steps.before, drawn, moving.clip_controls(steps.controls))


def tolerance_box(found: Floats, confidence: float) -> ToleranceBox:
    """The box around all residuals, its sides rounded outwards."""
    low = np.array([_round_outwards(float(x), down=True) for x in found.min(axis=0)])
    high = np.array([_round_outwards(float(x), down=False) for x in found.max(axis=0)])
    return ToleranceBox(low, high, certain_share(len(found), 2 * found.shape[1], confidence), len(found))


def _round_outwards(value: float, down: bool) -> float:
    """A number with few digits that is not nearer to the inside."""
    if value == 0:
        return 0.0
    unit = 10.0 ** (floor(np.log10(abs(value))) - DIGITS + 1)
    near = (floor(value / unit) if down else ceil(value / unit)) * unit
    text = float(f"{near:.{DIGITS}g}")
    wrong = text > value if down else text < value
    return value if wrong else text


def fit_linear_dynamics(steps: LoggedSteps, confidence: float) -> FittedDynamics:
    """Least squares; the intervals hold together (Bonferroni) if residuals are independent and normal."""
    rows = np.column_stack([steps.before, steps.controls, np.ones(len(steps.before))])
    count, size = rows.shape
    solved, _, rank, _ = np.linalg.lstsq(rows, steps.after, rcond=None)
    matrix = solved.T.astype(np.float64)
    if rank < size or count <= size:
        return FittedDynamics(matrix, np.full(matrix.shape, np.inf), count)
    left = steps.after - rows @ solved
    spread = np.sqrt((left**2).sum(axis=0) / (count - size))
    shape = np.sqrt(np.diag(np.linalg.inv(rows.T @ rows)))
    each = 1 - (1 - confidence) / matrix.size
    factor = float(stats.t.ppf((1 + each) / 2, count - size))
    return FittedDynamics(matrix, factor * np.outer(spread, shape), count)


def fit_residuals(linear: FittedDynamics, steps: LoggedSteps) -> Floats:
    """The residuals of fitted dynamics."""
    rows = np.column_stack([steps.before, steps.controls, np.ones(len(steps.before))])
    return steps.after - rows @ linear.matrix.T
