"""How much polynomials change at most if their variables change by so much."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from .polynomial import Polynomial, add, largest, of_term, subtract, variable
from .system import Box, Range, System


def sizes_of(box: Sequence[Range]) -> list[Fraction]:
    return [max(abs(low), abs(high)) for low, high in box]


def shifted(system: System, rows: Sequence[Any], domain: Box, by: Sequence[Fraction]) -> Fraction:
    """How much the largest of polynomials changes at most if each variable does by so much in the domain.

    That is not more than what one of them does.
    """
    return max(_shifted(system, row, domain, by) for row in rows)


def _shifted(system: System, term: Any, domain: Box, by: Sequence[Fraction]) -> Fraction:
    count = len(system.variables)
    total = 2 * count
    here = {name: variable(i, total) for i, name in enumerate(system.variables)}
    there = {name: add(here[name], variable(count + i, total)) for i, name in enumerate(system.variables)}
    before, after = (of_term(term, n, total, system.rounded) for n in (here, there))
    return largest(subtract(after, before), [*sizes_of(domain), *by])


def change(polynomial: Polynomial, sizes: Sequence[Fraction], by: Sequence[Fraction]) -> Fraction:
    """How much it changes at most if variables within these sizes change by so much."""
    total = Fraction(0)
    for monomial, coefficient in polynomial.terms.items():
        still = moved = Fraction(abs(coefficient), polynomial.below)
        for size, step, exponent in zip(sizes, by, monomial, strict=True):
            if exponent:
                still, moved = still * size**exponent, moved * (size + step) ** exponent
        total += moved - still
    return total
