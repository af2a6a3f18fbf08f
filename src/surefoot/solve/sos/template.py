"""One polynomial of a template that satisfies several conditions at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from surefoot.query.polynomial import Polynomial
from surefoot.solve.sos.exact import blocks
from surefoot.solve.sos.program import Identity, solve
from surefoot.work.budget import Budget

BITS = 40


@dataclass(frozen=True, slots=True)
class Condition:
    """fixed + sum of coefficient k times linear[k] >= 0 wherever the constraints are."""

    fixed: Polynomial
    linear: Mapping[int, Polynomial]
    constraints: tuple[Polynomial, ...]
    products: tuple[tuple[int, ...], ...]
    variables: tuple[int, ...]


def fit(conditions: Sequence[Condition], coefficients: int, budget: Budget) -> list[Fraction] | None:
    """Coefficients, each at most 1 in absolute value, with a common margin in all conditions."""
    identities = []
    for condition in conditions:
        involved = (condition.fixed, *condition.linear.values(), *condition.constraints)
        highest = max(p.degree for p in involved)
        parts = blocks(highest + highest % 2, condition.constraints, condition.products, condition.variables)
        identities.append(Identity(condition.fixed, condition.linear, tuple(b for _, b in parts)))
    solution = solve(identities, coefficients, budget)
    if solution is None or solution.margin <= 0:
        return None
    return [Fraction(round(float(c) * 2**BITS), 2**BITS) for c in solution.coefficients]
