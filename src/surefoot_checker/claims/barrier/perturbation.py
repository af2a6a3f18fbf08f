"""How much polynomials change at most if their variables change by so much."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ...kernel.problem import Box, Range
from .polynomial import ExactPolynomial, poly_bound, poly_difference, poly_from_term, poly_sum, poly_variable
from .system import ClaimedSystem


def box_magnitudes(box: Sequence[Range]) -> list[Fraction]:
    return [max(abs(low), abs(high)) for low, high in box]


def bound_max_change(
    system: ClaimedSystem, rows: Sequence[Any], domain: Box, by: Sequence[Fraction]
) -> Fraction:
    """How much the largest of polynomials changes at most if each variable does by so much in the domain.

    That is not more than what one of them does.
    """
    return max(_bound_term_change(system, row, domain, by) for row in rows)


def _bound_term_change(system: ClaimedSystem, term: Any, domain: Box, by: Sequence[Fraction]) -> Fraction:
    count = len(system.variables)
    total = 2 * count
    here = {name: poly_variable(i, total) for i, name in enumerate(system.variables)}
    there = {
        name: poly_sum(here[name], poly_variable(count + i, total)) for i, name in enumerate(system.variables)
    }
    before, after = (poly_from_term(term, n, total, system.rounded) for n in (here, there))
    return poly_bound(poly_difference(after, before), [*box_magnitudes(domain), *by])


def bound_polynomial_change(
    polynomial: ExactPolynomial, sizes: Sequence[Fraction], by: Sequence[Fraction]
) -> Fraction:
    """How much it changes at most if variables within these sizes change by so much."""
    total = Fraction(0)
    for monomial, coefficient in polynomial.terms.items():
        still = moved = Fraction(abs(coefficient), polynomial.below)
        for size, step, exponent in zip(sizes, by, monomial, strict=True):
            if exponent:
                still, moved = still * size**exponent, moved * (size + step) ** exponent
        total += moved - still
    return total
