"""Random words by run index: those of numpy, and of the definition written out with Python's integers."""

import numpy as np
import pytest

from surefoot.errors import InvalidProblem
from surefoot.work.philox import (
    M0,
    M1,
    ROUNDS,
    W0,
    W1,
    Stream,
    draw_below,
    multiply_to_128_bits,
    philox_words,
    uniform_doubles,
)

MASK = (1 << 64) - 1


def by_definition(seed: int, run: int, block: int, purpose: int) -> list[int]:
    k0, k1, (c0, c1, c2, c3) = seed, run, (block, 0, purpose, 0)
    for turn in range(ROUNDS):
        if turn:
            k0, k1 = (k0 + W0) & MASK, (k1 + W1) & MASK
        first, second = M0 * c0, M1 * c2
        c0, c1, c2, c3 = (second >> 64) ^ c1 ^ k0, second & MASK, (first >> 64) ^ c3 ^ k1, first & MASK
    return [c0, c1, c2, c3]


@pytest.mark.parametrize("seed", [0, 1, 2**63 + 12345, MASK])
@pytest.mark.parametrize("purpose", [0, 3])
def test_words_are_those_of_numpy_and_of_the_definition(seed: int, purpose: int) -> None:
    runs = [0, 1, 17, 2**40 + 5, MASK]
    found = philox_words(seed, np.array(runs, dtype=np.uint64), 0, 12, purpose)
    for run, row in zip(runs, found, strict=True):
        key = np.array([seed, run], dtype=np.uint64)
        generator = np.random.Philox(key=key, counter=np.array([0, 0, purpose, 0], dtype=np.uint64))
        assert row.tolist() == generator.random_raw(12).tolist()
        assert row.tolist() == [w for block in (1, 2, 3) for w in by_definition(seed, run, block, purpose)]


def test_any_part_can_be_made_alone() -> None:
    whole = philox_words(9, np.arange(100), 0, 40)
    assert np.array_equal(philox_words(9, np.arange(30, 60), 7, 22), whole[30:60, 7:29])
    assert np.array_equal(philox_words(9, [5], 39, 1), whole[5:6, 39:40])
    assert philox_words(9, [], 0, 8).shape == (0, 8)


def test_runs_seeds_and_purposes_differ() -> None:
    rows = [philox_words(s, [r], 0, 4, u).tobytes() for s in range(4) for r in range(4) for u in range(4)]
    assert len(set(rows)) == len(rows)


def test_products_have_128_bits() -> None:
    values = philox_words(1, np.arange(50), 0, 2)
    for value in values[:, 0]:
        high, low = multiply_to_128_bits(values[:, 1], int(value))
        assert [int(h) << 64 | int(w) for h, w in zip(high, low, strict=True)] == [
            int(v) * int(value) for v in values[:, 1]
        ]


def test_choices_are_unbiased() -> None:
    row = philox_words(2, [0], 0, 60_000)[0]
    chosen, counts = draw_below(row, 6)
    assert counts.all()
    assert np.bincount(chosen.astype(int), minlength=6) == pytest.approx(10_000, abs=400)
    third = (1 << 64) // 3 * 2 + 1
    chosen, counts = draw_below(row[:3000], third)
    assert 0.6 < counts.mean() < 0.73  # 2^64 mod m of 2^64 are thrown away
    assert int(chosen[counts].max()) < third
    tiny = np.array([0, 1, 5, MASK], dtype=np.uint64)
    assert draw_below(tiny, 1)[0].tolist() == [0, 0, 0, 0]
    assert draw_below(tiny, 3)[1].tolist() == [False, True, True, True]  # 2^64 mod 3 = 1
    with pytest.raises(InvalidProblem):
        draw_below(row, 0)


def test_uniform_numbers() -> None:
    values = uniform_doubles(philox_words(3, np.arange(200), 0, 100)).ravel()
    assert 0 <= values.min() < values.max() < 1
    assert values.mean() == pytest.approx(0.5, abs=0.01)
    assert uniform_doubles(np.array([MASK], dtype=np.uint64))[0] == 1 - 2**-53


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(InvalidProblem, match="seed"):
        philox_words(-1, [0], 0, 1)
    with pytest.raises(InvalidProblem, match="seed"):
        philox_words(1 << 64, [0], 0, 1)


@pytest.mark.parametrize(("seed", "run", "place"), [(0, 0, 0), (7, 2**40 + 5, 3), (MASK, MASK, MASK)])
def test_a_stream_reads_the_words_of_its_run(seed: int, run: int, place: int) -> None:
    stream = Stream(seed, run, place)
    expected = philox_words(seed, [run], 0, 11, place=place)[0].tolist()
    assert [stream.word() for _ in range(11)] == expected
    key = np.array([seed, run], dtype=np.uint64)
    generator = np.random.Philox(key=key, counter=np.array([0, 0, 0, place], dtype=np.uint64))
    assert expected == generator.random_raw(11).tolist()


def test_a_stream_chooses_as_the_definition_says() -> None:
    bound = (1 << 64) // 3 * 2 + 1  # a third of all words is thrown away
    stream, row = Stream(5, 1), philox_words(5, [1], 0, 60)[0]
    chosen, counts = draw_below(row, bound)
    expected = chosen[counts].tolist()
    assert len(expected) < 60
    assert [stream.below(bound) for _ in expected] == expected
