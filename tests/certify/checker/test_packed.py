"""Vectors packed into integers: against lists, at the ends of their ranges too."""

from __future__ import annotations

import random

import pytest

from surefoot.certify.checker.bounds import rows
from surefoot.certify.checker.bounds.packed import Matrix, pack, scaled, unpack


def _entries(choice: random.Random, count: int, bits: int) -> list[int]:
    ends = [-(1 << bits), (1 << bits) - 1, 0, -1, 1]
    return [choice.choice([*ends, choice.randrange(-(1 << bits), 1 << bits)]) for _ in range(count)]


@pytest.mark.parametrize("words", [1, 2, 3, 5])
def test_packing_and_dropping(words: int) -> None:
    choice = random.Random(words)
    for _ in range(100):
        entries = _entries(choice, choice.randrange(8), 64 * words - 1)
        for drop in range(0, 64 * words, 64):
            assert unpack(pack(entries, words), len(entries), words, drop) == [x >> drop for x in entries]


@pytest.mark.parametrize("size", [3, 60, 70, 130, 200])
def test_products_are_within_their_error(size: int) -> None:
    choice = random.Random(size)
    for _ in range(60):
        height, width = choice.randrange(1, 6), choice.randrange(1, 6)
        exact = choice.random() < 0.5
        matrix = [_entries(choice, width, choice.choice((10, 66, 100))) for _ in range(height)]
        factors = _entries(choice, height, size)
        found, error = Matrix(matrix, width, 64, exact).times(factors)
        for j, entry in enumerate(found):
            total = sum(c * row[j] for c, row in zip(factors, matrix, strict=True))
            assert entry == total >> 64
        off = 0 if exact else sum(map(abs, factors))  # in halves
        assert 2 * error << 64 >= 2 * ((1 << 64) - 1) + off


def test_numbers_on_the_grid() -> None:
    values = [0.0, -0.0, 1.0, -0.1, 3e-45, -3.4e38, 0.5 + 2.0**-53]
    for bits in (0, 1, 52, 64, 200):
        found, exact = scaled(values, bits)
        ratios = [v.as_integer_ratio() for v in values]
        assert all(abs(2 * d * x - (2 * n << bits)) <= d for x, (n, d) in zip(found, ratios, strict=True))
        assert exact == all(d * x == n << bits for x, (n, d) in zip(found, ratios, strict=True))


def test_columns_of_words() -> None:
    choice = random.Random(1)
    for _ in range(200):
        entries = _entries(choice, choice.randrange(1, 7), 63)
        column, count = rows.packed(entries), len(entries)
        assert rows.unpacked(column, count) == entries
        wide = sum(x << (128 * i) for i, x in enumerate(_entries(choice, count, 127)))
        fields = [
            ((wide + sum(1 << (128 * k + 127) for k in range(count))) >> (128 * i)) % 2**128 - 2**127
            for i in range(count)
        ]
        assert rows.shifted([wide], count, 52)[0] == sum((x >> 52) << (128 * i) for i, x in enumerate(fields))
        for bits in (3, 61, 62, 100):
            assert rows.fits([column], count, bits) == all(-(1 << bits) <= x < 1 << bits for x in entries)
            assert rows.fits([wide], count, bits) == all(-(1 << bits) <= x < 1 << bits for x in fields)
