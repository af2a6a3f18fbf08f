"""Proofs that a polynomial is nowhere negative: matrices and weights that show nothing are refused."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot_checker.claims.barrier.polynomial import (
    ExactPolynomial,
    poly_constant,
    poly_variable,
)
from surefoot_checker.claims.barrier.sum_of_squares import (
    check_positivity_proof,
    is_exactly_semidefinite,
    is_surely_semidefinite,
)
from surefoot_checker.kernel.strict_json import BadCertificate, Refused

X = ExactPolynomial({(1,): 1})


def gram(*rows: list[int]) -> list[Any]:
    return [{"of": [], "basis": [[e] for e in range(len(rows))], "gram": list(rows), "over": 1}]


def test_a_zero_on_the_diagonal_has_zeros_beside_it() -> None:
    """2 x = (1, x) [[0, 1], [1, 0]] (1, x)' is negative for negative x."""
    with pytest.raises(Refused, match="semidefinite"):
        check_positivity_proof(ExactPolynomial({(1,): 2}), [], gram([0], [1, 0]), 1)
    check_positivity_proof(ExactPolynomial({(2,): 2}), [], gram([0], [0, 2]), 1)


@pytest.mark.parametrize("weight", [-1, -2, "-0x1"])
def test_no_constraint_is_used_the_wrong_way_round(weight: Any) -> None:
    """-x >= 0 does not follow from x >= 0."""
    with pytest.raises(Refused, match="negative"):
        check_positivity_proof(ExactPolynomial({(1,): -1}), [X], {"weights": [[0, weight]], "over": 1}, 1)
    check_positivity_proof(X, [X], {"weights": [[0, 1]], "over": 1}, 1)


def determinant(rows: list[list[int]]) -> int:
    if not rows:
        return 1
    return sum(
        (-1) ** j * first * determinant([r[:j] + r[j + 1 :] for r in rows[1:]])
        for j, first in enumerate(rows[0])
    )


@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.integers(-2, 3), min_size=n * n, max_size=n * n)))
def test_semidefinite_is_as_the_principal_minors_say(entries: list[int]) -> None:
    side = round(len(entries) ** 0.5)
    rows = [entries[side * i : side * i + i + 1] for i in range(side)]
    whole = [[rows[max(i, j)][min(i, j)] for j in range(side)] for i in range(side)]
    chosen = (c for n in range(1, side + 1) for c in combinations(range(side), n))
    true = all(determinant([[whole[i][j] for j in c] for i in c]) >= 0 for c in chosen)
    assert is_exactly_semidefinite(rows) is true
    assert true or not is_surely_semidefinite(rows)


def test_rounding_of_long_entries_leaves_room() -> None:
    """Cut to 100 bits, the entry beside the diagonal loses nearly 1, which counts twice its size."""
    short, unit = (1 << 50) - 1, 1 << 60
    beside, last = (short + 1) * unit - 1, (short * short + 3) * unit
    rows = [[unit], [beside, last]]
    assert unit * last < beside * beside
    assert not is_surely_semidefinite(rows)
    assert not is_exactly_semidefinite(rows)


def test_rounding_of_an_elimination_leaves_room() -> None:
    """The determinant is -1; with quotients rounded down the elimination ends with 5, 1, 1."""
    rows = [[5], [2, 1], [-1, -1, 1]]
    assert not is_surely_semidefinite(rows)
    assert not is_exactly_semidefinite(rows)


def test_a_denominator_is_positive() -> None:
    """-x and -1 are not shown where x >= 0, by -1 times what is."""
    x, less = poly_variable(0, 1), -poly_variable(0, 1)
    squares = {"of": [], "basis": [[0]], "gram": [[1]]}
    check_positivity_proof(x, [x], {"weights": [[0, 1]], "over": 1}, 1)
    check_positivity_proof(poly_constant(1, 1), [], [squares | {"over": 1}], 1)
    with pytest.raises(BadCertificate):
        check_positivity_proof(less, [x], {"weights": [[0, 1]], "over": -1}, 1)
    with pytest.raises(BadCertificate):
        check_positivity_proof(poly_constant(-1, 1), [], [squares | {"over": -1}], 1)
