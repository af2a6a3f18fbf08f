"""Differential equations in columns: many runs at once, by steps of Dormand and Prince (order 5).

For looking only. Nothing here is rigorous: what is seen has an error that is estimated, not bounded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from surefoot.errors import Unsupported
from surefoot.problem.environment import Environment
from surefoot.simulate.batch.state_columns import Names, column_kinds
from surefoot.term.columns import Column, ColumnTerms, Truths, compile_columns
from surefoot.term.value_types import Arithmetic, Real, ValueType

# Dormand and Prince, "A family of embedded Runge-Kutta formulae" (1980), RK5(4)7M
STAGES: tuple[tuple[float, ...], ...] = (
    (),
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
)
WEIGHTS = (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84)
# the fifth order minus the fourth, the last of a stage at the end of the step
DIFFERENCE = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)


@dataclass(frozen=True, slots=True)
class FlowColumns:
    """The derivatives of variables, over columns of variables, controls and chosen values."""

    names: tuple[str, ...]
    terms: ColumnTerms
    limits: tuple[tuple[float, float], ...]  # of each variable

    def slopes(self, known: Names, count: int) -> tuple[list[Column], Truths]:
        found = self.terms(known, count)
        return found.columns, np.logical_or.reduce(found.lost)

    def step(
        self, known: Mapping[str, Column], size: float, count: int, *, estimate: bool = False
    ) -> tuple[dict[str, Column], Truths, Column | None]:
        """The variables after a time, the rows that are lost, and if wanted how large the error may be."""
        before = [known[name] for name in self.names]
        slopes: list[list[Column]] = []
        lost: Truths = np.zeros(count, dtype=np.bool_)
        for weights in STAGES:
            here = dict(known)
            for place, name in enumerate(self.names):
                here[name] = _combine(before[place], size, weights, slopes, place)
            found, gone = self.slopes(here, count)
            slopes.append(found)
            lost |= gone
        after = {n: _combine(before[i], size, WEIGHTS, slopes, i) for i, n in enumerate(self.names)}
        for name, (low, high) in zip(self.names, self.limits, strict=True):
            lost |= ~((after[name] >= low) & (after[name] <= high))
        if not estimate:
            return after, lost, None
        slopes.append(self.slopes({**known, **after}, count)[0])
        errors = [
            np.abs(_combine(np.zeros(count), size, DIFFERENCE, slopes, i)) / (1 + np.abs(after[n]))
            for i, n in enumerate(self.names)
        ]
        return after, lost, np.max(errors, axis=0)

    def advance(
        self, known: Mapping[str, Column], duration: float, pieces: int, count: int
    ) -> Iterator[tuple[dict[str, Column], Truths]]:
        """The variables after each of so many equal pieces of a time, and the rows lost until then."""
        now, lost = dict(known), np.zeros(count, dtype=np.bool_)
        for _ in range(pieces):
            after, gone, _ = self.step(now, duration / pieces, count)
            now |= after
            lost = lost | gone
            yield after, lost


def _combine(
    start: Column, size: float, weights: tuple[float, ...], slopes: list[list[Column]], place: int
) -> Column:
    total = start
    for weight, slope in zip(weights, slopes, strict=False):
        if weight:
            total = total + (size * weight) * slope[place]
    return np.broadcast_to(np.asarray(total, dtype=np.float64), start.shape)


def compile_flow(environment: Environment) -> FlowColumns:
    """Of an environment with a differential equation for every variable."""
    flow = environment.flow
    if flow is None:
        raise Unsupported("there is no differential equation")
    kinds: dict[str, ValueType] = dict(column_kinds(environment))
    named = kinds | {c.name: Real() for c in environment.controls}
    for component in environment.components:
        for edge in component.edges:
            named |= {c.name: c.kind for c in edge.chosen}
    derivatives = dict(flow.derivatives)
    limits = []
    for name in derivatives:
        kind = kinds[name]
        if not isinstance(kind, Real):
            raise Unsupported(f"`{name}` has a derivative and is no real variable")
        limits.append(
            (
                -np.inf if kind.low is None else float(kind.low),
                np.inf if kind.high is None else float(kind.high),
            )
        )
    terms = compile_columns(list(derivatives.values()), named, Arithmetic.FLOAT64)
    return FlowColumns(tuple(derivatives), terms, tuple(limits))
