"""One polynomial, wherever others are not negative: an identity in rational numbers.

The matrices come from floats. Those of the multipliers are rounded; the matrix of the sum of squares itself
takes what is then missing from the identity (Peyrl and Parrilo, 2008), and all are eliminated in rationals.

Monomials that a sum of squares can have (Reznick, "Extremal PSD forms with few terms", 1978).

The exponents of all squares lie in the convex hull of the exponents of what they add up to, its Newton
polytope: a system that is cubic in one variable only needs high powers of that variable alone. Here the hull
is that of all polynomials of an identity, the products of constraints included. It is used where its corners
are squares; where they are not the squares need more than the hull, and nothing is left out.

Identities in which almost everything is a number times a constraint: that is taken out first.

A step changes a barrier by little. In -B(next) = squares + factor * (-B) the squares are then a thousandth of
the rest or less, and what a program calls zero is larger than their margin. With a first guess of the factor
taken out what is left has coefficients near 1, and the program finds how far the factor is from the guess.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from surefoot.query.polynomial import Monomial, Polynomial, enumerate_monomials, polynomial_from_constant
from surefoot.solvers.halfspaces import HalfSpaces
from surefoot.solvers.sos.gram_blocks import GramBlock, Squares, split_into_pairs
from surefoot.solvers.sos.semidefinite_program import SosIdentity, solve_sdp
from surefoot.solvers.sos.sign_symmetry import group_by_parity, occurring_parities
from surefoot.work.budget import Budget

REACH = 4  # how far a number may be from its guess, times what is left over the factor
LARGEST_RESIDUAL = 1 / 4  # of the polynomial: with more left there is no reason to take anything out


def solve_residual(
    wanted: Polynomial, parts: Sequence[GramBlock], budget: Budget
) -> tuple[list[GramBlock], list[NDArray[np.float64]]] | None:
    """Some of the parts and their matrices, whose sum is nearly the polynomial; None: none were found.

    Multipliers are numbers here: with others the margin, which is that of all matrices, is much smaller.
    """
    own = [block for block in parts if not block.of]
    single = [block for block in parts if block.of and len(block.basis) == 1]
    guesses = _guess_multipliers(wanted, [block.factor for block in single])
    if guesses is None:
        return None
    rest = wanted
    for block, guess in zip(single, guesses, strict=True):
        rest = rest - block.factor.times(guess)
    size = max((abs(c) for c in rest.terms.values()), default=Fraction(0))
    if not size:
        return None
    reach = [REACH / max(abs(c) for c in block.factor.terms.values()) for block in single]
    linear = {k: block.factor.times(-far) for k, (block, far) in enumerate(zip(single, reach, strict=True))}
    solution = solve_sdp([SosIdentity(rest.times(1 / size), linear, tuple(own))], len(single), budget)
    if solution is None or solution.margin <= 0:
        return None
    shares = zip(guesses, solution.coefficients, reach, strict=True)
    numbers = [float(guess) + float(share) * float(size * far) for guess, share, far in shares]
    grams = [gram * float(size) for gram in solution.grams[0]]
    return [*own, *single], [*grams, *(np.array([[number]]) for number in numbers)]


def _guess_multipliers(wanted: Polynomial, factors: Sequence[Polynomial]) -> list[Fraction] | None:
    """Multipliers that are not negative and leave little of the polynomial."""
    if not factors:
        return None
    rows = list({m: None for p in (wanted, *factors) for m in p.terms})
    table = np.array([[float(p.terms.get(m, 0)) for p in factors] for m in rows])
    right = np.array([float(wanted.terms.get(m, 0)) for m in rows])
    weights, left = optimize.nnls(table, right)
    if left > LARGEST_RESIDUAL * np.linalg.norm(right):
        return None
    return [round_to_bits(w) for w in weights]


MOST_POINTS = 1500  # of a hull: with more, looking takes longer than what it saves
STEEP, NEAR = 1e4, 1e-7


class NewtonPolytope:
    """The convex hull of exponents; whether others are in it is seen in floats, which decide nothing."""

    def __init__(self, points: Sequence[Monomial]) -> None:
        self.points, self._known = points, dict.fromkeys(points, True)

    @cached_property
    def _middle(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        found: np.ndarray[tuple[int], np.dtype[np.float64]] = np.array(self.points, dtype=float).mean(axis=0)
        return found

    @cached_property
    def _polar(self) -> HalfSpaces:
        """The directions in which no point is further than 1 from the middle."""
        found = HalfSpaces(len(self._middle))
        for point in self.points:
            found.add(np.array(point, dtype=float) - self._middle, 1.0)
        for row in np.eye(len(self._middle)):
            found.add(row, STEEP)
            found.add(-row, STEEP)
        return found

    def __contains__(self, point: Monomial) -> bool:
        if point not in self._known:
            highest = self._polar.upper_bound(np.array(point, dtype=float) - self._middle)
            self._known[point] = highest is None or highest[0] <= 1 + NEAR
        return self._known[point]


def newton_polytope(
    polynomials: Iterable[Polynomial], over: Sequence[int], degree: int
) -> NewtonPolytope | None:
    """The Newton polytope; None if it is all of this degree, or too large, or not that of squares."""
    points = {m for p in polynomials for m in p.terms}
    size = len(next(iter(points), ()))
    whole = all(tuple(degree * (i == k) for i in range(size)) in points for k in over)
    if whole or len(points) > MOST_POINTS:
        return None
    points.add((0,) * size)
    squares = [m for m in points if not any(e % 2 for e in m)]
    hull = NewtonPolytope(squares)
    return hull if all(m in hull for m in points) else None


def monomials_in_polytope(
    basis: Iterable[Monomial], factor: Polynomial, hull: NewtonPolytope | None
) -> list[Monomial]:
    """Those whose squares times the factor are in the hull."""
    if hull is None:
        return list(basis)
    return [
        m
        for m in basis
        if all(tuple(2 * e + f for e, f in zip(m, n, strict=True)) in hull for n in factor.terms)
    ]


TriangleRows = tuple[tuple[Fraction, ...], ...]  # of a symmetric matrix, up to the diagonal
BITS = 40  # of a rounded entry, behind the point
MOST_ELIMINATED = 100  # width: the numbers of wider matrices grow for hours
LENGTH = 100  # bits of the largest entry of a matrix that is eliminated in integers


@dataclass(frozen=True, slots=True)
class Summand:
    """A sum of squares (basis' gram basis) times the product of these constraints."""

    of: tuple[int, ...]
    basis: tuple[Monomial, ...]
    gram: TriangleRows


def gram_blocks(
    degree: int,
    constraints: Sequence[Polynomial],
    products: Iterable[tuple[int, ...]],
    over: Sequence[int],
    others: Sequence[Polynomial] = (),
    squares: Squares = "auto",
) -> list[GramBlock]:
    """Blocks for 1 and for each product of constraints that is not above the degree.

    Those for 1 come first. `others`: the polynomials on the other side; where they and the products allow
    it a block falls apart.
    """
    total = len(next(iter(constraints[0].terms))) if constraints else len(over)
    factors = []
    for of in ((), *products):
        factor = polynomial_from_constant(1, total)
        for index in of:
            factor = factor * constraints[index]
        if factor.degree <= degree:
            factors.append((of, factor))
    involved = [*others, *(factor for _, factor in factors)]
    occurring, hull = occurring_parities(involved), newton_polytope(involved, over, degree)
    found = []
    for of, factor in factors:
        basis = monomials_in_polytope(
            enumerate_monomials(over, total, (degree - factor.degree) // 2), factor, hull
        )
        found += [GramBlock(group, factor, of) for group in group_by_parity(basis, occurring)]
    return split_into_pairs(found, others, squares)


def prove_nonnegative(
    wanted: Polynomial,
    constraints: Sequence[Polynomial],
    products: Sequence[tuple[int, ...]],
    variables: Sequence[int],
    budget: Budget,
    squares: Squares = "auto",
) -> tuple[Summand, ...] | None:
    """wanted >= 0 where all constraints are; only the named products of constraints are used."""
    highest = max(p.degree for p in (wanted, *constraints))
    parts = gram_blocks(highest + highest % 2, constraints, products, variables, [wanted], squares)
    solution = solve_sdp([SosIdentity(wanted, {}, tuple(parts))], 0, budget)
    found = None if solution is None else round_to_identity(wanted, parts, solution.grams[0])
    if found is not None or (other := solve_residual(wanted, parts, budget)) is None:
        return found
    return round_to_identity(wanted, *other)


def round_to_identity(
    wanted: Polynomial, parts: Sequence[GramBlock], grams: Sequence[NDArray[np.float64]]
) -> tuple[Summand, ...] | None:
    """The identity in rational numbers, from matrices for which it nearly holds; None: it is not one."""
    main = sum(block.of == () for block in parts)
    summands: list[Summand] = []
    rest = wanted
    for block, gram in list(zip(parts, grams, strict=True))[main:]:
        rows = _round_matrix(gram)
        if not is_gram_semidefinite(rows):
            return None
        summands.append(Summand(block.of, block.basis, rows))
        rest = rest - block.factor * gram_to_polynomial(block.basis, rows)
    bases = [block.basis for block in parts[:main]]
    completed = _project_onto_identity(rest, bases, [_round_matrix(gram) for gram in grams[:main]])
    if completed is None or not all(map(is_gram_semidefinite, completed)):
        return None
    own = (Summand((), basis, rows) for basis, rows in zip(bases, completed, strict=True))
    return (*own, *summands)


def _round_matrix(gram: NDArray[np.float64]) -> TriangleRows:
    return tuple(tuple(round_to_bits(x) for x in row[: i + 1]) for i, row in enumerate(gram))


def round_to_bits(value: float) -> Fraction:
    """The nearest multiple of 2^-BITS."""
    return Fraction(round(float(value) * 2**BITS), 2**BITS)


def gram_to_polynomial(basis: Sequence[Monomial], rows: TriangleRows) -> Polynomial:
    """basis' rows basis; over a common denominator, since integers are added more quickly than fractions."""
    common = lcm(*(entry.denominator for row in rows for entry in row))
    found: dict[Monomial, int] = {}
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            both = tuple(map(int.__add__, basis[i], basis[j]))
            whole = entry.numerator * (common // entry.denominator)
            found[both] = found.get(both, 0) + (whole if i == j else 2 * whole)
    return Polynomial({m: Fraction(c, common) for m, c in found.items() if c})


def _project_onto_identity(
    wanted: Polynomial, bases: Sequence[Sequence[Monomial]], several: Sequence[TriangleRows]
) -> list[TriangleRows] | None:
    """The matrices changed so that their sum is the wanted one; None: a monomial has no place in them."""
    missing = wanted
    places: dict[Monomial, list[tuple[int, int, int]]] = {}
    for k, (basis, rows) in enumerate(zip(bases, several, strict=True)):
        missing = missing - gram_to_polynomial(basis, rows)
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


def is_gram_semidefinite(rows: TriangleRows) -> bool:
    """In integers of a fixed length, and where these are too short by elimination in rational numbers."""
    return _is_definite_in_integers(rows) or (
        len(rows) <= MOST_ELIMINATED and _is_semidefinite_in_rationals(rows)
    )


def _is_definite_in_integers(rows: TriangleRows) -> bool:
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


def _is_semidefinite_in_rationals(rows: TriangleRows) -> bool:
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
