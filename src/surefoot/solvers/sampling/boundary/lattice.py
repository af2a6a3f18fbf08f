"""How many ways lead to each place where a boundary stops.

After n runs with k successes there are C(n, k) equally likely orders. Let f(n, k) be the share of those that
have not stopped before: f(n, k) = ((n - k) f(n - 1, k) + k f(n - 1, k - 1)) / n over the places that go on.
Then the experiment ends at (n, k) with probability f(n, k) C(n, k) p^k (1 - p)^(n - k), for every p. One pass
over n serves all p.

Only + * / of IEEE doubles are used, and only positive numbers are added: the computed f and C are within a
factor (1 + 2^-53)^(7 n) of the true ones or above it. Values within 2^-50 of 1 may be replaced by 1, which is
above them too; so the pass touches only a strip along the boundary. Numbers of any size are pairs (mantissa,
exponent of 2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from surefoot.solvers.sampling.boundary.table import Boundary, Floats, Integers

_NEARLY_ONE = 1 - 2.0**-50
_LEAST = 2.0**-900  # what is lost to underflow is less than this
_EVERY = 32  # runs after which the strip is trimmed


@dataclass(frozen=True, slots=True, eq=False)
class StoppingPlaces:
    """The places on the lower side in order: `runs[j]` with j successes, and how many ways lead there."""

    runs: Integers
    mantissa: Floats  # ways = mantissa * 2^exponent
    exponent: Integers


def stopping_places(boundary: Boundary) -> StoppingPlaces:
    """Every place where the boundary stops with at most as many successes as failures."""
    shares = shares_reaching(boundary)
    mantissas, exponents = binomial_coefficients(boundary)
    ways, shift = np.frexp(mantissas * shares)
    return StoppingPlaces(np.array(boundary.least, dtype=np.int64), ways, exponents + shift)


def shares_reaching(boundary: Boundary) -> Floats:
    """f(least[j], j) for every j, from above."""
    least, last = boundary.least, len(boundary.least) - 1
    alive = np.ones(last + 3)  # f(n, k) by k; 1 where the boundary has had no influence yet
    successes = np.arange(last + 3, dtype=float)
    found = np.zeros(last + 1)
    first, top = 0, 0  # k below `first` have stopped, k above `top` are 1
    for n in range(1, boundary.most + 1):
        if n % 2 == 0:
            alive[n // 2] = alive[n // 2 - 1]  # f(n - 1, n / 2), by symmetry
        end = min(max(top + 2, first + 1), n // 2 + 1)
        if first < end:
            k, stay = successes[first:end], alive[first:end]
            step = k[1:] * stay[:-1]
            stay *= n - k
            stay[1:] += step
            stay /= n
        top = max(top, end - 1)
        while first <= last and least[first] <= n:
            found[first] = alive[first]
            alive[first] = 0.0
            first += 1
        if n % _EVERY == 0:
            influenced = np.nonzero(alive[first : top + 1] < _NEARLY_ONE)[0]
            lower = first + (int(influenced[-1]) if len(influenced) else 0)
            alive[lower + 1 : top + 1] = 1.0
            top = lower
    return np.maximum(found, _LEAST)


def binomial_coefficients(boundary: Boundary) -> tuple[Floats, Integers]:
    """C(least[j], j) for every j as mantissas and exponents."""
    mantissas = np.empty(len(boundary.least))
    exponents = np.empty(len(boundary.least), dtype=np.int64)
    value, exponent, n = 1.0, 0, 0
    for j, runs in enumerate(boundary.least):
        if j:  # C(n, j) = C(n, j - 1) (n - j + 1) / j
            value, exponent = _normalise_mantissa(value * (n - j + 1) / j, exponent)
        while n < runs:  # C(n, j) = C(n - 1, j) n / (n - j)
            n += 1
            if n > j:
                value, exponent = _normalise_mantissa(value * n / (n - j), exponent)
        mantissas[j], exponents[j] = value, exponent
    return mantissas, exponents


def _normalise_mantissa(value: float, exponent: int) -> tuple[float, int]:
    mantissa, shift = math.frexp(value)
    return mantissa, exponent + shift


def scaled_power(base: Floats, exponent: Integers) -> tuple[Floats, Integers]:
    """base ** exponent as mantissas and exponents of 2, within a factor (1 + 2^-53)^(2 * exponent)."""
    result, scale = np.ones(np.broadcast_shapes(base.shape, exponent.shape)), np.zeros((), dtype=np.int64)
    left = int(exponent.max(initial=0))
    for bit in reversed(range(left.bit_length())):
        result = result * result
        result = np.where((exponent >> bit) & 1 == 1, result * base, result)
        result, shift = np.frexp(result)
        scale = 2 * scale + shift
    return result, np.broadcast_to(scale, result.shape).astype(np.int64)
