"""Random numbers of a run by its index alone: Philox4x64-10, counter-based.

(Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.) No run's numbers depend
on another's, so that any worker may make any run. The definition uses 64-bit integers only, and compiled code
can follow it bit for bit:

* The key of a run is (seed, run index), the counter of its block b = 1, 2, … is (b, 0, purpose, place).
* A block is four words. Word i (from 0) of a run is word i mod 4 of block 1 + i div 4.
* Ten rounds: (c0, c1, c2, c3) becomes (high(M1 c2) ^ c1 ^ k0, low(M1 c2), high(M0 c0) ^ c3 ^ k1, low(M0 c0)),
  where high and low are the halves of the 128-bit product; after each round but the last W0 and W1 are added
  to k0 and k1.
* A number below m (an unbiased choice among m): let (h, l) be the halves of word * m. It is h, unless l <
  2^64 mod m; then the word is thrown away and the next one is taken.
* A number in [0, 1) with 53 bits: (word div 2^11) / 2^53.

These are the words of `numpy.random.Philox(key=[seed, run], counter=[0, 0, purpose, place])`, which counts
on before it makes a block.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from surefoot.errors import InvalidProblem

_Words: TypeAlias = NDArray[np.uint64]

M0, M1 = 0xD2E7470EE14C6C93, 0xCA5A826395121157
W0, W1 = 0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B
ROUNDS = 10
_WORD = (1 << 64) - 1
_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)


def philox_words(
    seed: int, runs: ArrayLike, start: int, count: int, purpose: int = 0, place: int = 0
) -> _Words:
    """Words `start` … `start + count - 1` of every run: one row per run."""
    given = {"seed": seed, "purpose": purpose, "place": place, "start": start, "count": count}
    for name, value in given.items():
        if not 0 <= value < 1 << 64:
            raise InvalidProblem(f"a {name} of {value} is not a 64-bit number without sign")
    index = np.asarray(runs, dtype=np.uint64).reshape(-1, 1)
    first, last = start // 4, (start + count + 3) // 4
    blocks = np.arange(first + 1, last + 1, dtype=np.uint64).reshape(1, -1)
    shape = np.broadcast_shapes(index.shape, blocks.shape)
    zero = np.zeros(shape, dtype=np.uint64)
    counter = (zero + blocks, zero, zero + np.uint64(purpose), zero + np.uint64(place))
    lanes = _philox_blocks((np.uint64(seed) + zero, index + zero), counter)
    rows = np.stack(lanes, axis=-1).reshape(len(index), 4 * blocks.size)
    return rows[:, start - 4 * first : start - 4 * first + count]


def philox_block_rows(seed: int, runs: _Words, blocks: _Words, place: int = 0) -> _Words:
    """One block of each run, that with its own number (from 1): one row of four words per run."""
    zero = np.zeros(len(runs), dtype=np.uint64)
    counter = (blocks, zero, zero, zero + np.uint64(place))
    return np.stack(_philox_blocks((zero + np.uint64(seed), runs), counter), axis=-1)


def _philox_blocks(
    key: tuple[_Words, _Words], counter: tuple[_Words, _Words, _Words, _Words]
) -> tuple[_Words, _Words, _Words, _Words]:
    """The blocks of these counters under these keys."""
    (k0, k1), (c0, c1, c2, c3) = key, counter
    with np.errstate(over="ignore"):  # all sums and products are modulo 2^64
        for turn in range(ROUNDS):
            if turn:
                k0, k1 = k0 + np.uint64(W0), k1 + np.uint64(W1)
            high0, low0 = multiply_to_128_bits(c0, M0)
            high1, low1 = multiply_to_128_bits(c2, M1)
            c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
    return c0, c1, c2, c3


def multiply_to_128_bits(left: _Words, right: int) -> tuple[_Words, _Words]:
    """The high and the low half of a 128-bit product, from 32-bit halves."""
    top, bottom = np.uint64(right >> 32), np.uint64(right & 0xFFFFFFFF)
    high, low = left >> _HALF, left & _LOW
    with np.errstate(over="ignore"):
        least = low * bottom
        middle = high * bottom + (least >> _HALF)
        cross = low * top + (middle & _LOW)
        return high * top + (middle >> _HALF) + (cross >> _HALF), left * np.uint64(right)


def draw_below(word: _Words, bound: int) -> tuple[_Words, NDArray[np.bool_]]:
    """Numbers below `bound` from words, and which of them count (the others take their run's next word)."""
    if not 0 < bound < 1 << 64:
        raise InvalidProblem(f"nothing can be chosen among {bound}")
    high, low = multiply_to_128_bits(word, bound)
    return high, np.asarray(low >= np.uint64((1 << 64) % bound))


class Stream:
    """The words of one run, one after the other."""

    def __init__(self, seed: int, run: int, place: int = 0, purpose: int = 0) -> None:
        self._key, self._counter = (seed, run), [0, 0, purpose, place]
        self._block: list[int] = []

    def word(self) -> int:
        if not self._block:
            self._counter[0] += 1
            self._block = _philox_block(*self._key, *self._counter)
        return self._block.pop(0)

    def below(self, bound: int) -> int:
        """An unbiased choice among `bound` numbers."""
        while True:
            high, low = divmod(self.word() * bound, 1 << 64)
            if low >= (1 << 64) % bound:
                return high


def _philox_block(k0: int, k1: int, c0: int, c1: int, c2: int, c3: int) -> list[int]:
    """As `philox`, for one counter."""
    for turn in range(ROUNDS):
        if turn:
            k0, k1 = (k0 + W0) & _WORD, (k1 + W1) & _WORD
        one, two = c0 * M0, c2 * M1
        c0, c1, c2, c3 = (two >> 64) ^ c1 ^ k0, two & _WORD, (one >> 64) ^ c3 ^ k1, one & _WORD
    return [c0, c1, c2, c3]


def uniform_doubles(word: _Words) -> NDArray[np.float64]:
    """Numbers in [0, 1) with 53 bits."""
    return (word >> np.uint64(11)).astype(np.float64) * 2.0**-53
