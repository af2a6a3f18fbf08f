"""One polynomial, wherever others are not negative: an identity in rational numbers.

The matrices come from floats. Those of the multipliers are rounded; the matrix of the sum of squares itself
takes what is then missing from the identity (Peyrl and Parrilo, 2008), and all are eliminated in rationals.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

import numpy as np
from numpy.typing import NDArray

from surefoot.query.polynomial import Monomial, Polynomial, constant, monomials
from surefoot.solve.sos.gram import Block, Squares, in_pairs
from surefoot.solve.sos.newton import hull_of, within
from surefoot.solve.sos.program import Identity, solve
from surefoot.solve.sos.slight import slight
from surefoot.solve.sos.symmetry import occurring_parities, together
from surefoot.work.budget import Budget

Rows = tuple[tuple[Fraction, ...], ...]  # of a symmetric matrix, up to the diagonal
BITS = 40  # of a rounded entry, behind the point
MOST_ELIMINATED = 100  # width: the numbers of wider matrices grow for hours
LENGTH = 100  # bits of the largest entry of a matrix that is eliminated in integers


@dataclass(frozen=True, slots=True)
class Summand:
    """A sum of squares (basis' gram basis) times the product of these constraints."""

    of: tuple[int, ...]
    basis: tuple[Monomial, ...]
    gram: Rows


def blocks(
    degree: int,
    constraints: Sequence[Polynomial],
    products: Iterable[tuple[int, ...]],
    over: Sequence[int],
    others: Sequence[Polynomial] = (),
    squares: Squares = "auto",
) -> list[Block]:
    """Blocks for 1 and for each product of constraints that is not above the degree.

    Those for 1 come first. `others`: the polynomials on the other side; where they and the products allow
    it a block falls apart.
    """
    total = len(next(iter(constraints[0].terms))) if constraints else len(over)
    factors = []
    for of in ((), *products):
        factor = constant(1, total)
        for index in of:
            factor = factor * constraints[index]
        if factor.degree <= degree:
            factors.append((of, factor))
    involved = [*others, *(factor for _, factor in factors)]
    occurring, hull = occurring_parities(involved), hull_of(involved, over, degree)
    found = []
    for of, factor in factors:
        basis = within(monomials(over, total, (degree - factor.degree) // 2), factor, hull)
        found += [Block(group, factor, of) for group in together(basis, occurring)]
    return in_pairs(found, others, squares)


def prove(
    wanted: Polynomial,
    constraints: Sequence[Polynomial],
    products: Sequence[tuple[int, ...]],
    variables: Sequence[int],
    budget: Budget,
    degree: int | None = None,
    squares: Squares = "auto",
) -> tuple[Summand, ...] | None:
    """wanted >= 0 where all constraints are; only the named products of constraints are used."""
    highest = max(p.degree for p in (wanted, *constraints)) if degree is None else degree
    parts = blocks(highest + highest % 2, constraints, products, variables, [wanted], squares)
    solution = solve([Identity(wanted, {}, tuple(parts))], 0, budget)
    found = None if solution is None else exactly(wanted, parts, solution.grams[0])
    if found is not None or (other := slight(wanted, parts, budget)) is None:
        return found
    return exactly(wanted, *other)


def exactly(
    wanted: Polynomial, parts: Sequence[Block], grams: Sequence[NDArray[np.float64]]
) -> tuple[Summand, ...] | None:
    """The identity in rational numbers, from matrices for which it nearly holds; None: it is not one."""
    main = sum(block.of == () for block in parts)
    summands: list[Summand] = []
    rest = wanted
    for block, gram in list(zip(parts, grams, strict=True))[main:]:
        rows = _rounded(gram)
        if not is_semidefinite(rows):
            return None
        summands.append(Summand(block.of, block.basis, rows))
        rest = rest - block.factor * square(block.basis, rows)
    bases = [block.basis for block in parts[:main]]
    completed = _completed(rest, bases, [_rounded(gram) for gram in grams[:main]])
    if completed is None or not all(map(is_semidefinite, completed)):
        return None
    own = (Summand((), basis, rows) for basis, rows in zip(bases, completed, strict=True))
    return (*own, *summands)


def _rounded(gram: NDArray[np.float64]) -> Rows:
    return tuple(
        tuple(Fraction(round(float(x) * 2**BITS), 2**BITS) for x in row[: i + 1])
        for i, row in enumerate(gram)
    )


def square(basis: Sequence[Monomial], rows: Rows) -> Polynomial:
    """basis' rows basis; over a common denominator, since integers are added more quickly than fractions."""
    common = lcm(*(entry.denominator for row in rows for entry in row))
    found: dict[Monomial, int] = {}
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            both = tuple(map(int.__add__, basis[i], basis[j]))
            whole = entry.numerator * (common // entry.denominator)
            found[both] = found.get(both, 0) + (whole if i == j else 2 * whole)
    return Polynomial({m: Fraction(c, common) for m, c in found.items() if c})


def _completed(
    wanted: Polynomial, bases: Sequence[Sequence[Monomial]], several: Sequence[Rows]
) -> list[Rows] | None:
    """The matrices changed so that their sum is the wanted one; None: a monomial has no place in them."""
    missing = wanted
    places: dict[Monomial, list[tuple[int, int, int]]] = {}
    for k, (basis, rows) in enumerate(zip(bases, several, strict=True)):
        missing = missing - square(basis, rows)
        for i in range(len(basis)):
            for j in range(i + 1):
                places.setdefault(tuple(map(int.__add__, basis[i], basis[j])), []).append((k, i, j))
    matrices = [[list(row) for row in rows] for rows in several]
    for monomial, value in missing.terms.items():
        if monomial not in places:
            return None
        shares = places[monomial]
        share = value / sum(1 if i == j else 2 for _, i, j in shares)
        for k, i, j in shares:
            matrices[k][i][j] += share
    return [tuple(tuple(row) for row in matrix) for matrix in matrices]


def is_semidefinite(rows: Rows) -> bool:
    """In integers of a fixed length, and where these are too short by elimination in rational numbers."""
    return _surely(rows) or (len(rows) <= MOST_ELIMINATED and _eliminated(rows))


def _surely(rows: Rows) -> bool:
    """Elimination of a smaller matrix: each time the entries are rounded, and the diagonal so far down that
    the difference is diagonally dominant. False: it cannot be said in this way."""
    largest = max((row[-1] for row in rows), default=Fraction(1))
    if largest <= 0:
        return False
    side, unit = len(rows), Fraction(2) ** (largest.denominator.bit_length() - largest.numerator.bit_length())
    above, below = (unit * 2**LENGTH).as_integer_ratio()
    matrix = [[above * entry.numerator // (below * entry.denominator) for entry in row] for row in rows]
    for i, row in enumerate(matrix):
        row[i] -= side
    for k in range(side):
        pivot = matrix[k][k]
        if pivot <= 0:
            return False
        column = [matrix[i][k] for i in range(k + 1, side)]
        for i, left in enumerate(column, start=k + 1):
            row = matrix[i]
            if left * left > pivot * row[i]:
                return False
            for j in range(k + 1, i + 1):
                row[j] -= left * column[j - k - 1] // pivot
            row[i] -= side - k  # 1 for its own rounding and 1 for each other entry of the row
    return True


def _eliminated(rows: Rows) -> bool:
    matrix = [list(row) for row in rows]
    for k in range(len(matrix)):
        pivot = matrix[k][k]
        column = [matrix[i][k] for i in range(k + 1, len(matrix))]
        if pivot < 0 or (pivot == 0 and any(column)):
            return False
        for i, left in enumerate(column, start=k + 1):
            if left:
                share = left / pivot
                for j in range(k + 1, i + 1):
                    matrix[i][j] -= share * column[j - k - 1]
    return True
