"""Sign symmetries (Löfberg, "Pre- and post-processing sum-of-squares programs in practice", IEEE TAC 2009).

Some variables may change their signs together without changing any polynomial of an identity. Then two
monomials of a sum of squares of which only one changes its sign are never needed in the same matrix: the
matrix falls into blocks. Which signs may change need not be known. Exponents count modulo 2: two monomials
belong together if their product is, modulo squares, a product of monomials that occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from surefoot.query.polynomial import Monomial, Polynomial


def monomial_parity(monomial: Monomial) -> int:
    """The variables with an odd exponent, as bits."""
    return sum(1 << i for i, exponent in enumerate(monomial) if exponent % 2)


def parity_basis(parities: Iterable[int]) -> tuple[int, ...]:
    """Independent sums modulo 2 of these, each with a highest bit that no other has."""
    found: list[int] = []
    for value in parities:
        rest = _reduce_parity(value, found)
        if rest:
            found = [v ^ rest if v >> (rest.bit_length() - 1) & 1 else v for v in found]
            found.append(rest)
    return tuple(found)


def _reduce_parity(value: int, basis: Sequence[int]) -> int:
    """What is left of a sum; 0 if it is one of the basis."""
    for vector in basis:
        if value >> (vector.bit_length() - 1) & 1:
            value ^= vector
    return value


def sign_symmetries(basis: Sequence[int], size: int) -> list[int]:
    """Independent sets of variables whose signs may change together: an even number of them in each sum."""
    leading = {vector.bit_length() - 1: vector for vector in basis}
    found = []
    for free in (i for i in range(size) if i not in leading):
        found.append((1 << free) | sum(1 << lead for lead, v in leading.items() if v >> free & 1))
    return found


def occurring_parities(polynomials: Iterable[Polynomial]) -> tuple[int, ...]:
    return parity_basis({monomial_parity(m) for p in polynomials for m in p.terms})


def group_by_parity(basis: Iterable[Monomial], occurring: Sequence[int]) -> list[tuple[Monomial, ...]]:
    """The monomials of a matrix in groups that need no common entries."""
    groups: dict[int, list[Monomial]] = {}
    for monomial in basis:
        groups.setdefault(_reduce_parity(monomial_parity(monomial), occurring), []).append(monomial)
    return [tuple(group) for group in groups.values()]
