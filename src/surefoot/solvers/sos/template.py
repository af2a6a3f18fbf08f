"""One polynomial of a template that satisfies several conditions at once.

Where a change of signs turns every condition on a template into one of them, some solution does not
change if there is any (the mean of one and its mirror images). Then half of the template and one of two
conditions that are mirror images suffice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from surefoot.query.polynomial import Polynomial
from surefoot.solvers.sos.gram_blocks import Squares
from surefoot.solvers.sos.rational_identity import gram_blocks, round_to_bits
from surefoot.solvers.sos.semidefinite_program import SoftConstraints, SosIdentity, solve_sdp
from surefoot.solvers.sos.sign_symmetry import monomial_parity
from surefoot.work.budget import Budget

ROOM = 1e-2  # by which wished rows should be negative
KEPT = 0.02  # of the largest margin, for a wish
MOST = 4  # sets of signs that are changed independently


@dataclass(frozen=True, slots=True)
class TemplateCondition:
    """fixed + sum of coefficient k times linear[k] >= 0 wherever the constraints are."""

    fixed: Polynomial
    linear: Mapping[int, Polynomial]
    constraints: tuple[Polynomial, ...]
    products: tuple[tuple[int, ...], ...]
    variables: tuple[int, ...]


def fit_template(
    conditions: Sequence[TemplateCondition],
    coefficients: int,
    budget: Budget,
    wished: NDArray[np.float64] | None = None,
    squares: Squares = "auto",
) -> list[Fraction] | None:
    """Coefficients, each at most 1 in absolute value, with a common margin in all conditions.

    `wished`: rows that should become negative when multiplied by the coefficients, for which a part of the
    margin is given up.
    """
    identities = []
    for condition in conditions:
        involved = (condition.fixed, *condition.linear.values(), *condition.constraints)
        highest = max(p.degree for p in involved)
        parts = gram_blocks(
            highest + highest % 2,
            condition.constraints,
            condition.products,
            condition.variables,
            (condition.fixed, *condition.linear.values()),
            squares,
        )
        identities.append(SosIdentity(condition.fixed, condition.linear, tuple(parts)))
    solution = solve_sdp(identities, coefficients, budget)
    if solution is None or solution.margin <= 0:
        return None
    if wished is not None:
        wish = SoftConstraints(wished, ROOM, solution.margin * KEPT)
        solution = solve_sdp(identities, coefficients, budget, wish)
        if solution is None:
            return None
    return [round_to_bits(c) for c in solution.coefficients]


def flip_signs(polynomial: Polynomial, signs: int) -> Polynomial:
    """With the signs of these variables changed."""
    return Polynomial(
        {m: -c if (monomial_parity(m) & signs).bit_count() % 2 else c for m, c in polynomial.terms.items()}
    )


def condition_symmetries(
    candidates: Iterable[int], parts: Sequence[Polynomial], conditions: Sequence[TemplateCondition]
) -> list[int]:
    """Those changes of signs that only permute the conditions; `parts`: of the template, each as it is or
    with the other sign afterwards."""
    known = {_condition_key(condition, 0) for condition in conditions}
    found = []
    for signs in candidates:
        images = ((part, flip_signs(part, signs)) for part in parts)
        whole = all(image in (part, -part) for part, image in images)
        if whole and all(_condition_key(condition, signs) in known for condition in conditions):
            found.append(signs)
    return found[:MOST]


def drop_mirror_images(
    conditions: Sequence[TemplateCondition], signs: Sequence[int]
) -> list[TemplateCondition]:
    """One of those that are mirror images of each other."""
    group = {0}
    for size in range(1, len(signs) + 1):
        for several in combinations(signs, size):
            total = 0
            for one in several:
                total ^= one
            group.add(total)
    seen: set[object] = set()
    found = []
    for condition in conditions:
        if _condition_key(condition, 0) not in seen:
            found.append(condition)
            seen.update(_condition_key(condition, one) for one in group)
    return found


def _condition_key(condition: TemplateCondition, signs: int) -> object:
    """What a condition says, but for the template."""

    def of(polynomial: Polynomial) -> frozenset[object]:
        return frozenset(flip_signs(polynomial, signs).terms.items())

    products = frozenset(
        tuple(sorted((of(condition.constraints[i]) for i in product), key=hash))
        for product in condition.products
    )
    return of(condition.fixed), of(condition.linear[0]), products, condition.variables
