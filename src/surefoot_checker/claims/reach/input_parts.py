"""What a network reads, cut into parts along the symbols that matter most, and its outputs over all of them
as one form.

Cutting. Symbol k is halved n_k times: e_k = (M + e') / 2^n_k with e' in [-1, 1] and M an odd number between
-2^n_k and 2^n_k (0 if n_k is 0), each combination of which is one part. Together they are all values of the
symbols. With a coefficient a = b 2^n + q, 0 <= q < 2^n: a e = b (M + e') + q e, and |q e| <= q goes to the
radius.

Joining. For any numbers b_k the output y is sum b_k 2^n_k e_k + d, where over a part with the form
c + sum a_k e'_k + r of y, as 2^n_k e_k = M_k + e'_k, d = c - sum b_k M_k + sum (a_k - b_k) e'_k + r. So d is
between the least and the greatest that this can be over any part, each over its own part; all of that is
exact. b_k is the mean of the a_k of the parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from operator import mul

from .affine_form import Form


@dataclass(frozen=True, slots=True, eq=False)
class InputParts:
    """`inputs`: of each part, forms over symbols of its own. Part p is at `places[p][k]` in symbol k."""

    inputs: list[list[Form]]
    symbols: tuple[int, ...]  # that are cut
    halvings: tuple[int, ...]  # how often, each of them
    places: list[tuple[int, ...]]


def split_inputs(inputs: Sequence[Form], weights: Sequence[int], halvings: int) -> InputParts:
    """One symbol after the other is halved: the one that moves the inputs most, by their weights.

    What a symbol counts is halved with it; of equal ones the first is taken.
    """
    count = len(inputs[0][1]) if inputs else 0
    counts: dict[int, int] = {}
    if halvings and count:
        gains = [sum(map(mul, weights, (abs(x[1][k]) for x in inputs))) << halvings for k in range(count)]
        for _ in range(halvings):
            best = max(range(count), key=gains.__getitem__)
            if not gains[best]:
                break
            gains[best] >>= 1
            counts[best] = counts.get(best, 0) + 1
    symbols = tuple(sorted(counts))
    times = tuple(counts[k] for k in symbols)
    places = list(product(*(range(1 - (1 << n), 1 << n, 2) for n in times)))
    if not symbols:
        return InputParts([list(inputs)], symbols, times, places)
    halved = [_halve_form(x, counts) for x in inputs]
    parts = []
    for place in places:
        moved = [sum(x[1][k] * m for k, m in zip(symbols, place, strict=True)) for x in halved]
        parts.append([(c + by, a, r) for (c, a, r), by in zip(halved, moved, strict=True)])
    return InputParts(parts, symbols, times, places)


def _halve_form(x: Form, counts: dict[int, int]) -> Form:
    c, a, r = x
    a = list(a)
    for k, n in counts.items():
        r += a[k] & ((1 << n) - 1)
        a[k] >>= n
    return c, a, r


def join_parts(forms: Sequence[Form], parts: InputParts) -> Form:
    """One form over the symbols of the whole, from those of the parts."""
    if len(forms) == 1:
        return forms[0]
    mean = [sum(column) // len(forms) for column in zip(*(a for _, a, _ in forms), strict=True)]
    moves = [mean[k] for k in parts.symbols]
    ends = []
    for (c, a, r), place in zip(forms, parts.places, strict=True):
        middle = c - sum(map(mul, moves, place))
        reach = r + sum(abs(x - y) for x, y in zip(a, mean, strict=True))
        ends.append((middle - reach, middle + reach))
    low, high = min(e[0] for e in ends), max(e[1] for e in ends)
    centre = (low + high) >> 1
    for k, n in zip(parts.symbols, parts.halvings, strict=True):
        mean[k] <<= n
    return centre, mean, high - centre
