"""Weights of a node as integers."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from ...bounds.packed_vectors import scale_to_integers
from ...kernel.network import AffineNode

LARGEST_FLOAT = Fraction(float.fromhex("0x1.fffffep127"))


@dataclass(frozen=True, slots=True)
class Scale:
    """Bits behind the point of values and of weights, and words of a field."""

    bits: int
    weight: int
    words: int


@dataclass(frozen=True, slots=True, eq=False)
class WeightedRows:
    """Of an affine node: weights times a power of two, each off by at most 1/2 unless exact."""

    rows: tuple[tuple[int, ...], ...]
    sizes: tuple[tuple[int, ...], ...]
    sums: tuple[int, ...]
    bias: tuple[Fraction, ...]
    exact: bool


def prepare_rows(node: AffineNode, places: int) -> WeightedRows:
    stored, exact = scale_to_integers(node.weights, places)
    n = node.columns
    rows = tuple(tuple(stored[i * n : (i + 1) * n]) for i in range(len(node.bias)))
    sizes = tuple(tuple(map(abs, row)) for row in rows)
    return WeightedRows(
        rows, sizes, tuple(sum(row) + n for row in sizes), tuple(map(Fraction, node.bias)), exact
    )
