"""Integer vectors packed into one large integer: one multiplication works on all entries at once.

A vector (r_0, r_1, ...) is the integer sum of r_j * 2^(F j): its fields are F bits wide. As long as all
|r_j| < 2^(F-1), sums and multiples of vectors are sums and multiples of these integers, and the fields of the
result can be told apart: with 2^(F-1) added to each they are its digits to the base 2^F. F is a multiple of
64, chosen for each product from a bound of its result, so nothing ever overflows.

The last functions are for fields of one word: they find signs, divide and compare without taking a vector
apart. Adding 2^b to every field of a vector with entries from -2^b up to below 2^b makes all of them digits
that are not negative; bit b of a digit then says that the entry is not.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import compress
from operator import mul
from sys import byteorder

WORD = 64
DIGIT = 30  # bits of a digit of Python's integers
ROOM = 62  # no entry of a field of one word is beyond 2^ROOM


class PackedMatrix:
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

    def combine_rows(self, factors: Sequence[int], words: int) -> int:
        """The sum of factor times row, packed."""
        rows = self._packs.get(words) or self._pack(words)
        return sum(map(mul, filter(None, factors), compress(rows, factors)))

    def _pack(self, words: int) -> list[int]:
        rows = self._packs[words] = [pack_fields(row, words) for row in self._rows]
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
            return unpack_fields(self.combine_rows(factors, words), self.width, words, self.drop), error
        least = self._least
        rows = self._packs.get(least) or self._pack(least)
        halves = _half_fields(self.width, least)
        packed = sum(map(mul, filter(None, factors), compress(rows, factors)))
        raw = ((packed + halves) ^ halves).to_bytes(8 * least * self.width, "little")
        return memoryview(raw).cast("q")[least - 1 :: least].tolist(), error

    def off(self, largest: Sequence[int]) -> int:
        """The t of `times` for factors whose absolute values are at most these."""
        return self._error(sum(largest))

    def _error(self, total: int) -> int:
        return 1 if self.exact else 2 + (total >> (self.drop + 1))


def pack_fields(entries: Sequence[int], words: int) -> int:
    """Signed entries below 2^(64 words - 1) as one integer."""
    half = 1 << (WORD * words - 1)
    size = 8 * words
    raw = b"".join([(entry + half).to_bytes(size, "little") for entry in entries])
    return int.from_bytes(raw, "little") - half * ones_vector(len(entries), words)


@lru_cache(maxsize=256)
def ones_vector(width: int, words: int) -> int:
    """The vector of ones."""
    return int.from_bytes((1).to_bytes(8 * words, "little") * width, "little")


@lru_cache(maxsize=256)
def _half_fields(width: int, words: int) -> int:
    return ones_vector(width, words) << (WORD * words - 1)


def unpack_fields(packed: int, width: int, words: int, drop: int) -> list[int]:
    """The entries, divided by 2^drop and rounded down.

    With 2^(F-1) added, the entries are digits; with the highest bit of each flipped, these are the entries in
    two's complement, whose upper words are the quotients.
    """
    halves = _half_fields(width, words)
    raw = ((packed + halves) ^ halves).to_bytes(8 * words * width, "little")
    skipped = drop // WORD
    if words == skipped + 1 and byteorder == "little":
        return memoryview(raw).cast("q")[skipped::words].tolist()
    size = 8 * words
    starts = range(0, len(raw), size)
    return [int.from_bytes(raw[i + 8 * skipped : i + size], "little", signed=True) for i in starts]


def scale_to_integers(weights: Sequence[float], bits: int) -> tuple[list[int], bool]:
    """The numbers times 2^bits, rounded to the nearest integer, and whether that changed nothing.

    A float times a power of two is exact, short of an overflow.
    """
    assert bits < 800
    products = [weight * 2.0**bits for weight in weights]
    found = list(map(round, products))
    return found, found == products


class WordMatrix:
    """A matrix of real numbers times 2^places, rounded to integers of at most 2^DIGIT; fields are one word.

    Each entry is off by at most 1/2, by nothing if `exact`. Where sums would be too large for a field,
    factors lose their last bits.
    """

    __slots__ = ("exact", "largest", "norm", "places", "rows", "width")

    def __init__(
        self,
        rows: Sequence[Sequence[int]],
        *,
        width: int,
        places: int,
        exact: bool,
        largest: int,  # no entry exceeds it,
        norm: int,  # and no absolute sum of a column exceeds this
    ) -> None:
        self.rows = [words_to_vector(row, width) for row in rows]
        self.width = width
        self.places = places
        self.exact = exact
        self.largest = largest
        self.norm = norm

    def combine_rows(self, factors: Sequence[int]) -> int:
        """The sum of factor times row, packed."""
        return sum(map(mul, filter(None, factors), compress(self.rows, factors)))

    def times(self, factors: Sequence[int]) -> tuple[list[int], int]:
        """As `Matrix.times`: numbers around the true sums, and how far off they may be."""
        total = sum(map(abs, factors))
        less = max(0, (total * self.largest).bit_length() - ROOM + 1)
        if less:
            factors = [factor >> less for factor in factors]
        found, places = vector_to_entries(self.combine_rows(factors), self.width), self.places - less
        error = 0 if self.exact else total + (len(factors) << less) >> 1  # in units of 2^-self.places
        if less:
            error += self.norm + len(factors) << less
        if places >= 0:
            return [entry >> places for entry in found], 2 + (error >> self.places)
        return [entry << -places for entry in found], 2 + (error >> self.places)


def enclose_affine(
    columns: WordMatrix, sizes: WordMatrix, middle: Sequence[int], spread: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Bounds of W m +- |W| s for a matrix and its absolute values.

    Where middles lose their last bits the spreads are made larger instead: by one of the new units.
    """
    total = sum(map(abs, middle)) + sum(spread)
    less = max(0, (total * columns.largest).bit_length() - ROOM + 2)
    if less:
        spread = [1 - (-s >> less) if m or s else 0 for m, s in zip(middle, spread, strict=True)]
        middle = [m >> less for m in middle]
    centre, around = columns.combine_rows(middle), sizes.combine_rows(spread)
    if not columns.exact:
        around += repeat_field((sum(map(abs, middle)) + sum(spread) >> 1) + 1, columns.width)
    places = columns.places - less
    down, up = (vector_to_entries(end - around, columns.width) for end in (centre, -centre))
    if places < 0:
        return [x << -places for x in down], [-x << -places for x in up]
    return [x >> places for x in down], [-(x >> places) for x in up]


@lru_cache(maxsize=256)
def repeat_field(number: int, width: int) -> int:
    """The vector, with fields of a word, of one number from 0 up to below 2^64."""
    return number * ones_vector(width, 1)


def words_to_vector(entries: Iterable[int], width: int) -> int:
    """Signed words as a vector: two's complement, then the sign restored."""
    sign = repeat_field(1 << (WORD - 1), width)
    return (int.from_bytes(array("q", entries).tobytes(), byteorder) ^ sign) - sign


def vector_to_entries(vector: int, width: int) -> list[int]:
    """The entries of a vector with fields of a word."""
    sign = repeat_field(1 << (WORD - 1), width)
    return memoryview(((vector + sign) ^ sign).to_bytes(8 * width, byteorder)).cast("q").tolist()


def offset_vectors(vectors: Iterable[int], width: int, bits: int) -> list[int] | None:
    """All vectors with 2^bits added to their entries; None unless these are from -2^bits to below 2^bits.

    Only then is no bit above that set: an entry below has all of them (less what others borrow), one above
    some. The first that does not fit ends the search.
    """
    offset, above = repeat_field(1 << bits, width), repeat_field((1 << WORD) - (2 << bits), width)
    limit = 1 << (WORD * width)
    found = []
    for vector in vectors:
        digits = vector + offset
        if digits & above or not 0 <= digits < limit:
            return None
        found.append(digits)
    return found


def divide_offset_vectors(digits: Iterable[int], width: int, bits: int, places: int) -> list[int]:
    """Vectors of what was `moved` by 2^bits, every entry divided by 2^places and rounded down.

    A field that is shifted has bits of the next one above its own, which are masked.
    """
    mask, rest = repeat_field((1 << (WORD - places)) - 1, width), repeat_field(1 << bits >> places, width)
    return [((vector >> places) & mask) - rest for vector in digits]


def positive_fields(vector: int, width: int, bits: int) -> int:
    """The entries that are not negative, 0 for the others; all are from -2^bits up to below 2^bits."""
    digits = vector + repeat_field(1 << bits, width)
    signs = (digits >> bits) & ones_vector(width, 1)
    return digits & ((signs << bits) - signs)
