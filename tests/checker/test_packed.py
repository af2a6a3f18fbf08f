"""Vectors packed into integers: against lists, at the ends of their ranges too."""

from __future__ import annotations

import random
from fractions import Fraction

import pytest

from surefoot_checker.bounds.packed_vectors import (
    PackedMatrix,
    divide_offset_vectors,
    enclose_half,
    offset_vectors,
    pack_fields,
    positive_fields,
    scale_to_integers,
    unpack_fields,
)


def _entries(choice: random.Random, count: int, bits: int) -> list[int]:
    ends = [-(1 << bits), (1 << bits) - 1, 0, -1, 1]
    return [choice.choice([*ends, choice.randrange(-(1 << bits), 1 << bits)]) for _ in range(count)]


@pytest.mark.parametrize("words", [1, 2, 3, 5])
def test_packing_and_dropping(words: int) -> None:
    choice = random.Random(words)
    for _ in range(100):
        entries = _entries(choice, choice.randrange(8), 64 * words - 1)
        assert pack_fields(entries, words) == sum(x << (64 * words * i) for i, x in enumerate(entries))
        for places in (0, 1, 63, 64, 65, 128, 300):
            assert unpack_fields(pack_fields(entries, words), len(entries), words, places) == [
                x >> places for x in entries
            ]
            assert unpack_fields(pack_fields(entries, words), len(entries), words, -places) == [
                x << places for x in entries
            ]


@pytest.mark.parametrize("size", [3, 60, 70, 130, 200])
def test_products_are_within_their_error(size: int) -> None:
    choice = random.Random(size)
    for _ in range(60):
        height, width = choice.randrange(1, 6), choice.randrange(1, 6)
        exact = choice.random() < 0.5
        matrix = [_entries(choice, width, choice.choice((10, 66, 100))) for _ in range(height)]
        factors = _entries(choice, height, size)
        found, error = PackedMatrix(matrix, width, 64, exact).times(factors)
        for j, entry in enumerate(found):
            total = sum(c * row[j] for c, row in zip(factors, matrix, strict=True))
            assert entry == total >> 64
        off = 0 if exact else sum(map(abs, factors))  # in halves
        assert 2 * error << 64 >= 2 * ((1 << 64) - 1) + off


def test_numbers_on_the_grid() -> None:
    values = [0.0, -0.0, 1.0, -0.1, 3e-45, -3.4e38, 0.5 + 2.0**-53]
    for bits in (0, 1, 52, 64, 200):
        found, exact = scale_to_integers(values, bits)
        ratios = [v.as_integer_ratio() for v in values]
        assert all(abs(2 * d * x - (2 * n << bits)) <= d for x, (n, d) in zip(found, ratios, strict=True))
        assert exact == all(d * x == n << bits for x, (n, d) in zip(found, ratios, strict=True))


def _sum(entries: list[int]) -> int:
    return sum(x << (64 * i) for i, x in enumerate(entries))


@pytest.mark.parametrize("bits", [1, 3, 33, 61, 62])
def test_signs_and_divisions_without_taking_apart(bits: int) -> None:
    choice = random.Random(bits)
    for _ in range(200):
        entries = _entries(choice, choice.randrange(1, 7), bits)
        width = len(entries)
        assert positive_fields(_sum(entries), width, bits) == _sum([max(x, 0) for x in entries])
        digits = offset_vectors([_sum(entries)], width, bits)
        assert digits is not None
        for places in range(0, bits + 1, 7):
            assert divide_offset_vectors(digits, width, bits, places) == [
                _sum([x >> places for x in entries])
            ]


@pytest.mark.parametrize("bits", [0, 3, 33, 61])
def test_entries_that_are_too_large_are_seen(bits: int) -> None:
    choice = random.Random(bits)
    for _ in range(300):
        entries = _entries(choice, choice.randrange(1, 7), choice.choice((bits, bits + 1, 62)))
        fits = all(-(1 << bits) <= x < 1 << bits for x in entries)
        assert (offset_vectors([0, _sum(entries)], len(entries), bits) is not None) is fits


def _narrow(
    choice: random.Random, height: int, width: int
) -> tuple[list[list[Fraction]], PackedMatrix, PackedMatrix]:
    """Numbers, what is stored of them, and of their absolute values."""
    places = choice.choice((0, 7, 24, 33))
    exact = choice.random() < 0.5
    stored = [_entries(choice, width, choice.choice((3, 30))) for _ in range(height)]
    off = [
        [Fraction(0 if exact else choice.choice((-1, 0, 1)), 2) for _ in range(width)] for _ in range(height)
    ]
    true = [
        [(x + d) / Fraction(2) ** places for x, d in zip(row, rest, strict=True)]
        for row, rest in zip(stored, off, strict=True)
    ]
    sizes = [list(map(abs, row)) for row in stored]
    shared = (width, places, exact, True)
    return true, PackedMatrix(stored, *shared), PackedMatrix(sizes, *shared)


@pytest.mark.parametrize("size", [3, 20, 30, 45, 80])
def test_narrow_products_are_within_their_error(size: int) -> None:
    choice = random.Random(size)
    for _ in range(150):
        height, width = choice.randrange(1, 6), choice.randrange(1, 6)
        true, narrow, _ = _narrow(choice, height, width)
        factors = _entries(choice, height, size)
        found, error = narrow.times(factors)
        for j, entry in enumerate(found):
            exact = sum((c * row[j] for c, row in zip(factors, true, strict=True)), Fraction(0))
            assert entry - error <= exact <= entry + error


@pytest.mark.parametrize("size", [3, 20, 30, 45, 80])
def test_narrow_enclosures_contain_all_products(size: int) -> None:
    choice = random.Random(size)
    for _ in range(150):
        height, width = choice.randrange(1, 6), choice.randrange(1, 6)
        true, columns, sizes = _narrow(choice, height, width)
        middle = _entries(choice, height, size)
        spread = list(map(abs, _entries(choice, height, choice.choice((0, size)))))
        down, up = enclose_half(columns, sizes, middle, spread)
        for j in range(width):
            centre = sum((m * row[j] for m, row in zip(middle, true, strict=True)), Fraction(0)) / 2
            around = sum((s * abs(row[j]) for s, row in zip(spread, true, strict=True)), Fraction(0)) / 2
            assert down[j] <= centre - around
            assert centre + around <= up[j]
            room = (1 + max(map(abs, middle)) + max(spread)) * sum(abs(row[j]) + 1 for row in true)
            assert up[j] - down[j] <= 2 * around + 4 + room * Fraction(2) ** (6 - min(columns.places, 24))
