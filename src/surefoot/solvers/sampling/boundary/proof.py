"""Boundaries whose coverage is proved: the rule's level is lowered until the proof goes through."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from surefoot.errors import Unsupported
from surefoot.solvers.sampling.boundary.coverage import bound_miss_probability
from surefoot.solvers.sampling.boundary.table import Boundary, chen_boundary, clopper_pearson_boundary

_ATTEMPTS = 40


@dataclass(frozen=True, slots=True)
class ProvedBoundary:
    """`miss` bounds the probability of a wrong answer for every p; `level` is what the rule was made with."""

    boundary: Boundary
    miss: float
    level: Fraction


def prove_boundary(
    make: Callable[[Fraction, Fraction], Boundary], eps: Fraction, delta: Fraction
) -> ProvedBoundary:
    """The boundary of a rule at level delta, or at the first lower one for which the proof goes through."""
    level = delta
    for _ in range(_ATTEMPTS):
        boundary = make(eps, level)
        found = bound_miss_probability(boundary)
        if not found.why and Fraction(found.bound) <= delta:
            return ProvedBoundary(boundary, found.bound, level)
        level *= Fraction(49, 50)
    raise Unsupported(
        f"no boundary for a precision of {float(eps):g} and a risk of {float(delta):g} could be proved"
    )


def prove_clopper_pearson(eps: Fraction, delta: Fraction) -> ProvedBoundary:
    return prove_boundary(clopper_pearson_boundary, eps, delta)


def prove_chen(eps: Fraction, delta: Fraction) -> ProvedBoundary:
    return prove_boundary(chen_boundary, eps, delta)
