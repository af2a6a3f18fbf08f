"""Many steps of a polynomial system at once, in plain floats: to see where runs go, never to decide."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.encode.barrier import System, polynomial_of
from surefoot.problem.term import Const, Term
from surefoot.query.polynomial import Polynomial, variable

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sampled:
    """Polynomials in variables, disturbances and controls, in this order."""

    system: System
    controls: tuple[Polynomial, ...]
    next: tuple[Polynomial, ...]

    def step(self, states: Floats, disturbances: Floats) -> Floats:
        """The next states under the rule, one row for each."""
        row = np.column_stack([states, disturbances, np.zeros((len(states), len(self.controls)))])
        values = (
            np.column_stack([evaluated(value, row) for value in self.controls])
            if self.controls
            else row[:, :0]
        )
        return self.moved(states, disturbances, self.clipped(values))

    def moved(self, states: Floats, disturbances: Floats, controls: Floats) -> Floats:
        """The next states under these controls."""
        row = np.column_stack([states, disturbances, controls])
        return np.column_stack([evaluated(m, row) for m in self.next])

    def clipped(self, controls: Floats) -> Floats:
        ends = self.system.controls
        low = np.array([_end(a, -np.inf) for _, a, _ in ends])
        return np.clip(controls, low, np.array([_end(b, np.inf) for _, _, b in ends]))

    def drawn(self, count: int, generator: np.random.Generator) -> Floats:
        """Disturbances at the ends of their ranges."""
        ends = np.array([[float(a), float(b)] for _, (a, b) in self.system.disturbances]).reshape(-1, 2)
        return np.where(generator.random((count, len(ends))) < 0.5, ends[:, 0], ends[:, 1])


def sampled(system: System, then: Sequence[Term]) -> Sampled:
    names = [*system.variables, *(n for n, _ in system.disturbances), *(n for n, _, _ in system.controls)]
    ring = {n: variable(i, len(names)) for i, n in enumerate(names)}

    def of(term: Term) -> Polynomial:
        return polynomial_of(term, ring, len(names), system.rounded)

    return Sampled(system, tuple(map(of, then)), tuple(map(of, system.next)))


def is_linear(system: System) -> bool:
    """Is the next state an affine function of state, controls and disturbances, from step to step?"""
    if system.motion is not None:
        return False
    nobody = tuple(Const(0) for _ in system.controls)
    return all(p.degree <= 1 for p in sampled(system, nobody).next)


def _end(end: Fraction | None, otherwise: float) -> float:
    return otherwise if end is None else float(end)


def evaluated(polynomial: Polynomial, points: Floats) -> Floats:
    """The values at the rows of an array; infinite or NaN in states that a simulation has run away to."""
    total: Floats = np.zeros(len(points))
    with np.errstate(over="ignore", invalid="ignore"):
        for monomial, coefficient in polynomial.terms.items():
            term = np.full(len(points), float(coefficient))
            for index, exponent in enumerate(monomial):
                if exponent:
                    term *= points[:, index] ** exponent
            total += term
    return total
