"""Proofs that a polynomial is nowhere negative where others are not: p = sum of (z' Q z) times products.

Each summand is a sum of squares, by a positive semidefinite matrix Q over a list of monomials z, times a
product of constraints. The identity is compared coefficient by coefficient, and Q is eliminated in integers
(rounded so that a smaller matrix is tested, and if that is not positive without rounding).
Where weights of single constraints suffice (Farkas), p is their sum and a number that is not negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from ...kernel.strict_json import BadCertificate, Refused, expect_integer, expect_list, expect_object
from .polynomial import ExactPolynomial, Monomial, poly_constant

MOST_SIDE = 2000  # of a matrix
MOST_EXPONENT = 60
LENGTH = 100  # bits of the largest entry of a matrix that is eliminated in rounded integers
_SUMMAND = frozenset({"of", "basis", "gram", "over"})
_WEIGHTS = frozenset({"weights", "over"})


def check_positivity_proof(
    wanted: ExactPolynomial, where: Sequence[ExactPolynomial], data: object, variables: int
) -> None:
    """Refuse unless the proof shows wanted >= 0 wherever all constraints are."""
    if type(data) is dict:
        _check_weights(wanted, where, data, variables)
        return
    total = ExactPolynomial({})
    for entry in expect_list(data, "proof"):
        summand = expect_object(entry, _SUMMAND, "summand")
        factor = poly_constant(1, variables)
        for index in expect_list(summand["of"], "of"):
            factor *= where[expect_integer(index, 0, len(where) - 1, "constraint")]
        basis = [_read_monomial(m, variables) for m in expect_list(summand["basis"], "basis")]
        rows = _read_gram_matrix(summand["gram"], len(basis))
        over = expect_integer(summand["over"], 1, 1 << 40000, "over")
        if not is_surely_semidefinite(rows) and not is_exactly_semidefinite(rows):
            raise Refused("a matrix is not positive semidefinite")
        total += factor * _gram_polynomial(basis, rows, over)
    if (wanted - total).terms:
        raise Refused("the sum of squares is not the polynomial")


def _check_weights(
    wanted: ExactPolynomial, where: Sequence[ExactPolynomial], data: object, variables: int
) -> None:
    """Wanted minus a sum of the constraints with weights that are not negative is a number that is not."""
    entry = expect_object(data, _WEIGHTS, "proof")
    rest, over = wanted, Fraction(1, expect_integer(entry["over"], 1, 1 << 40000, "over"))
    for pair in expect_list(entry["weights"], "weights"):
        parts = expect_list(pair, "weight", 2, "a weight is a constraint and an integer")
        constraint = where[expect_integer(parts[0], 0, len(where) - 1, "constraint")]
        if (weight := _read_entry(parts[1])) < 0:
            raise Refused("a weight is negative")
        rest -= constraint.times(weight * over)
    number = (0,) * variables
    if not rest.terms.keys() <= {number} or rest.terms.get(number, 0) < 0:
        raise Refused("the weighted sum of constraints is not below the polynomial")


def _read_monomial(data: object, variables: int) -> Monomial:
    found = tuple(expect_integer(e, 0, MOST_EXPONENT, "exponent") for e in expect_list(data, "monomial"))
    if len(found) != variables:
        raise BadCertificate("a monomial has as many exponents as there are variables")
    return found


def _read_gram_matrix(data: object, side: int) -> list[list[int]]:
    """The rows of a symmetric matrix, each up to the diagonal."""
    rows = [expect_list(row, "row") for row in expect_list(data, "gram")]
    if len(rows) != side or side > MOST_SIDE or any(len(row) != i + 1 for i, row in enumerate(rows)):
        raise BadCertificate("a matrix has another shape than its list of monomials")
    return [[_read_entry(x) for x in row] for row in rows]


def _read_entry(data: Any) -> int:
    if type(data) is int:
        return data
    if type(data) is str and len(data) <= 4000:  # hexadecimal: long integers are quick to read
        try:
            return int(data, 16)
        except ValueError:
            pass
    raise BadCertificate("an entry of a matrix is no integer")


def _gram_polynomial(basis: Sequence[Monomial], rows: Sequence[Sequence[int]], over: int) -> ExactPolynomial:
    found: dict[Monomial, int] = {}
    for i, row in enumerate(rows):
        for j, entry in enumerate(row):
            if entry:
                both = tuple(map(int.__add__, basis[i], basis[j]))
                found[both] = found.get(both, 0) + (entry if i == j else 2 * entry)
    return ExactPolynomial({m: c for m, c in found.items() if c}, over)


def is_surely_semidefinite(rows: Sequence[Sequence[int]]) -> bool:
    """By elimination in integers of a fixed length; False: it cannot be said in this way.

    Before it and after every pivot the matrix is replaced by a smaller one: entries are rounded by less than
    1 and the diagonal is lowered by as much as a row has entries, so that the difference is diagonally
    dominant, hence positive semidefinite. If the last one is positive so are all.
    """
    side, longest = len(rows), max((row[-1].bit_length() for row in rows), default=0)
    shift = max(longest - LENGTH, 0)
    matrix = [[entry >> shift for entry in row] for row in rows]
    for i, row in enumerate(matrix):
        row[i] -= side if shift else 0
    for k in range(side):
        pivot = matrix[k][k]
        if pivot <= 0:
            return False
        column = [matrix[i][k] for i in range(k + 1, side)]
        for i in range(k + 1, side):
            row, left = matrix[i], column[i - k - 1]
            if left * left > pivot * row[i]:  # not positive; and no number below becomes longer than it was
                return False
            for j in range(k + 1, i + 1):
                row[j] -= left * column[j - k - 1] // pivot
            row[i] -= side - k
    return True


def is_exactly_semidefinite(rows: Sequence[Sequence[int]]) -> bool:
    """By elimination without fractions (Bareiss): a pivot is positive, or its whole row is zero.

    After k pivots the entry at (i, j) is the minor of the pivots' rows with row i and column j, which is the
    last pivot times the entry of the Schur complement; so signs and zeros are those of the complement.
    """
    matrix = [list(row) for row in rows]
    side, before = len(matrix), 1
    for k in range(side):
        pivot = matrix[k][k]
        if pivot < 0 or (pivot == 0 and any(matrix[i][k] for i in range(k + 1, side))):
            return False
        if pivot == 0:
            continue
        column = [matrix[i][k] for i in range(k + 1, side)]
        for i in range(k + 1, side):
            row, left = matrix[i], column[i - k - 1]
            if left or before != pivot:
                for j in range(k + 1, i + 1):
                    row[j] = (pivot * row[j] - left * column[j - k - 1]) // before
        before = pivot
    return True
