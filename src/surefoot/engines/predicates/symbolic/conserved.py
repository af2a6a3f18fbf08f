"""Sums of variables that no step changes: linear relations between updates (after Karr 1976).

Where every step adds constants to some variables, a sum is the same after every step if its coefficients and
those constants cancel out. A basis of these sums is the kernel of the matrix of changes. A variable that some
step sets to something else is in none of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import gcd, lcm

from surefoot.engines.predicates.symbolic.transition_cubes import TransitionCube
from surefoot.term.linear import LinearForm, subtract_forms, variable_form


def conserved_quantities(names: Sequence[str], ways: Sequence[TransitionCube]) -> list[LinearForm]:
    """A basis of the sums of two or more variables that no step changes."""
    changes: set[tuple[tuple[str, Fraction], ...]] = set()
    other: set[str] = set()
    for way in ways:
        change = []
        for name in names:
            difference = subtract_forms(way.after.get(name, variable_form(name)), variable_form(name))
            if not difference.is_constant():
                other.add(name)
            elif difference.constant:
                change.append((name, difference.constant))
        changes.add(tuple(change))
    free = [n for n in names if n not in other]
    rows = [[dict(change).get(n, Fraction(0)) for n in free] for change in changes]
    found = []
    for vector in _kernel_basis(rows, len(free)):
        up = lcm(*(c.denominator for c in vector))
        divisor = gcd(*(int(c * up) for c in vector))
        form = tuple((n, c * up / divisor) for n, c in zip(free, vector, strict=True) if c)
        if len(form) > 1:
            found.append(LinearForm(form))
    return found


def _kernel_basis(rows: Sequence[Sequence[Fraction]], width: int) -> list[list[Fraction]]:
    """Vectors whose products with all rows are zero, by Gaussian elimination."""
    reduced: list[tuple[int, list[Fraction]]] = []  # each with the column of its leading one
    for given in rows:
        row = list(given)
        for column, other in reduced:
            if row[column]:
                row = [a - row[column] * b for a, b in zip(row, other, strict=True)]
        lead = next((i for i, c in enumerate(row) if c), None)
        if lead is None:
            continue
        row = [c / row[lead] for c in row]
        reduced = [
            (i, [a - other[lead] * b for a, b in zip(other, row, strict=True)]) for i, other in reduced
        ]
        reduced.append((lead, row))
    leads = {column for column, _ in reduced}
    basis = []
    for free in (i for i in range(width) if i not in leads):
        vector = [Fraction(0)] * width
        vector[free] = Fraction(1)
        for column, row in reduced:
            vector[column] = -row[free]
        basis.append(vector)
    return basis
