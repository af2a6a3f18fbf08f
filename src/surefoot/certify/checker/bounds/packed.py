"""Integer vectors packed into one large integer: one multiplication works on all entries at once.

A vector (r_0, r_1, ...) is the integer sum of r_j * 2^(F j): its fields are F bits wide. As long as all
|r_j| < 2^(F-1), sums and multiples of vectors are sums and multiples of these integers, and the fields of the
result can be told apart: with 2^(F-1) added to each they are its digits to the base 2^F. F is a multiple of
64, chosen for each product from a bound of its result, so nothing ever overflows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import compress
from operator import mul
from sys import byteorder

WORD = 64


class Matrix:
    """A matrix of real numbers times 2^drop, rounded to integers; `drop` is a multiple of 64.

    Each entry is off by at most 1/2, by nothing if `exact`.
    """

    __slots__ = ("_least", "_limit", "_packs", "_rows", "drop", "exact", "largest", "width")

    def __init__(self, rows: Sequence[Sequence[int]], width: int, drop: int, exact: bool) -> None:
        self._rows = rows
        self.width = width
        self.drop = drop
        self.exact = exact
        self.largest = max((max(map(abs, row), default=1) for row in rows), default=1) or 1
        self._packs: dict[int, list[int]] = {}
        self._least = drop // WORD + 1  # words of a field, where that is enough
        most = (1 << (WORD * self._least - 1)) - 1
        self._limit = most // self.largest  # of the absolute sum of factors, then

    def words(self, total: int) -> int:
        """Words of a field that holds every entry, and sums whose factors have absolute sum `total`."""
        return max(self.drop // WORD + 1, (max(total, 1) * self.largest).bit_length() // WORD + 1)

    def packed(self, factors: Sequence[int], words: int) -> int:
        """The sum of factor times row, packed."""
        rows = self._packs.get(words) or self._pack(words)
        return sum(map(mul, filter(None, factors), compress(rows, factors)))

    def _pack(self, words: int) -> list[int]:
        rows = self._packs[words] = [pack(row, words) for row in self._rows]
        return rows

    def times(self, factors: Sequence[int]) -> tuple[list[int], int]:
        """Numbers n_j with n_j - t <= (sum of factor times true entry)_j <= n_j + t, and t; all are integers.

        n_j is the floor of the sum of factor * stored entry / 2^drop, which is off by less than 1, and what
        is stored by at most 1/2 * 2^-drop per unit of a factor.
        """
        total = sum(map(abs, factors))
        error = self._error(total)
        if total >= self._limit or byteorder != "little":
            words = self.words(total)
            return unpack(self.packed(factors, words), self.width, words, self.drop), error
        least = self._least
        rows = self._packs.get(least) or self._pack(least)
        halves = _halves(self.width, least)
        packed = sum(map(mul, filter(None, factors), compress(rows, factors)))
        raw = ((packed + halves) ^ halves).to_bytes(8 * least * self.width, "little")
        return memoryview(raw).cast("q")[least - 1 :: least].tolist(), error

    def off(self, largest: Sequence[int]) -> int:
        """The t of `times` for factors whose absolute values are at most these."""
        return self._error(sum(largest))

    def _error(self, total: int) -> int:
        return 1 if self.exact else 2 + (total >> (self.drop + 1))


def pack(entries: Sequence[int], words: int) -> int:
    """Signed entries below 2^(64 words - 1) as one integer."""
    half = 1 << (WORD * words - 1)
    size = 8 * words
    raw = b"".join([(entry + half).to_bytes(size, "little") for entry in entries])
    return int.from_bytes(raw, "little") - half * ones(len(entries), words)


@lru_cache(maxsize=256)
def ones(width: int, words: int) -> int:
    """The vector of ones."""
    return int.from_bytes((1).to_bytes(8 * words, "little") * width, "little")


@lru_cache(maxsize=256)
def _halves(width: int, words: int) -> int:
    return ones(width, words) << (WORD * words - 1)


def unpack(packed: int, width: int, words: int, drop: int) -> list[int]:
    """The entries, divided by 2^drop and rounded down.

    With 2^(F-1) added, the entries are digits; with the highest bit of each flipped, these are the entries in
    two's complement, whose upper words are the quotients.
    """
    halves = _halves(width, words)
    raw = ((packed + halves) ^ halves).to_bytes(8 * words * width, "little")
    skipped = drop // WORD
    if words == skipped + 1 and byteorder == "little":
        return memoryview(raw).cast("q")[skipped::words].tolist()
    size = 8 * words
    starts = range(0, len(raw), size)
    return [int.from_bytes(raw[i + 8 * skipped : i + size], "little", signed=True) for i in starts]


def scaled(weights: Sequence[float], bits: int) -> tuple[list[int], bool]:
    """The numbers times 2^bits, rounded to the nearest integer, and whether that changed nothing.

    A float times a power of two is exact, short of an overflow.
    """
    assert bits < 800
    products = [weight * 2.0**bits for weight in weights]
    found = list(map(round, products))
    return found, found == products
