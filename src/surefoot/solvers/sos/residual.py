"""Identities in which almost everything is a number times a constraint: that is taken out first.

A step changes a barrier by little. In -B(next) = squares + factor * (-B) the squares are then a thousandth of
the rest or less, and what a program calls zero is larger than their margin. With a first guess of the factor
taken out what is left has coefficients near 1, and the program finds how far the factor is from the guess.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from surefoot.query.polynomial import Polynomial
from surefoot.solvers.sos.gram_blocks import GramBlock
from surefoot.solvers.sos.semidefinite_program import SosIdentity, solve_sdp
from surefoot.work.budget import Budget

BITS = 40
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
    return [Fraction(round(float(w) * 2**BITS), 2**BITS) for w in weights]
