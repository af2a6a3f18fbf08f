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
    """A matrix of real numbers times 2^places, rounded to integers.

    Each entry is off by at most 1/2, by nothing if `exact`. Fields have as many words as a product needs; if
    `narrow` they have one, and where sums would be too large for it, factors lose their last bits.
    """

    __slots__ = ("_packs", "entries", "exact", "largest", "narrow", "norm", "places", "width")

    def __init__(
        self, rows: Sequence[Sequence[int]], width: int, places: int, exact: bool, narrow: bool = False
    ) -> None:
        self.entries = rows
        self.width = width
        self.places = places
        self.exact = exact
        self.narrow = narrow
        sizes = [list(map(abs, row)) for row in rows]
        self.largest = max((max(row, default=1) for row in sizes), default=1) or 1
        self.norm = max(map(sum, zip(*sizes, strict=True)), default=0) if narrow else 0  # sum of a column
        self._packs: dict[int, list[int]] = {}

    def fit_fields(self, total: int) -> tuple[int, int]:
        """For sums whose factors have this absolute sum: words of a field, and bits that factors lose."""
        bits = (max(total, 1) * self.largest).bit_length()
        if self.narrow:
            return 1, max(0, bits - ROOM + 1)
        return max(self.places, bits) // WORD + 1, 0

    def combine_rows(self, factors: Sequence[int], words: int) -> int:
        """The sum of factor times row, packed."""
        rows = self._packs.get(words)
        if rows is None:
            rows = self._packs[words] = [pack_fields(row, words) for row in self.entries]
        return sum(map(mul, filter(None, factors), compress(rows, factors)))

    def times(self, factors: Sequence[int]) -> tuple[list[int], int]:
        """Numbers n_j with n_j - t <= (sum of factor times true entry)_j <= n_j + t, and t; all are integers.

        n_j is the floor of the sum of factor * stored entry / 2^places, which is off by less than 1, and what
        is stored by at most 1/2 * 2^-places per unit of a factor.
        """
        total = sum(map(abs, factors))
        words, less = self.fit_fields(total)
        if less:
            factors = [factor >> less for factor in factors]
        packed = self.combine_rows(factors, words)
        return unpack_fields(packed, self.width, words, self.places - less), self.error_bound(
            total, len(factors), less
        )

    def error_bound(self, total: int, count: int = 0, less: int = 0) -> int:
        """The t of `times` for so many factors with this absolute sum, which lose `less` bits."""
        error = 0 if self.exact else (total + (count << less if less else 0)) >> 1  # in units of 2^-places
        if less:
            error += self.norm + count << less
        return 1 if self.exact and not less else 2 + (error >> self.places)


def enclose_half(
    columns: PackedMatrix, sizes: PackedMatrix, middle: Sequence[int], spread: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Bounds of (W m +- |W| s) / 2 for a matrix and its absolute values.

    All sums are exact. What is stored is off by 1/2 each (unless exact), so the sums by half the absolute sum
    of their factors. Where middles lose their last bits the spreads are made larger by one of the new units.
    """
    total = sum(map(abs, middle)) + sum(spread)
    words, less = columns.fit_fields(2 * total + 2)
    if less:
        spread = [1 - (-s >> less) if m or s else 0 for m, s in zip(middle, spread, strict=True)]
        middle = [m >> less for m in middle]
        total = sum(map(abs, middle)) + sum(spread)
    centre, around = columns.combine_rows(middle, words), sizes.combine_rows(spread, words)
    if not columns.exact:
        around += (total // 2 + 1) * ones_vector(columns.width, words)
    places = columns.places - less + 1
    down, up = (unpack_fields(end - around, columns.width, words, places) for end in (centre, -centre))
    return down, [-x for x in up]


def pack_fields(entries: Sequence[int], words: int) -> int:
    """Signed entries below 2^(64 words - 1) as one integer: two's complement, then the sign restored."""
    halves = _half_fields(len(entries), words)
    if words == 1 and byteorder == "little":
        return (int.from_bytes(array("q", entries).tobytes(), "little") ^ halves) - halves
    raw = b"".join([entry.to_bytes(8 * words, "little", signed=True) for entry in entries])
    return (int.from_bytes(raw, "little") ^ halves) - halves


def pack_small_fields(entries: Sequence[int], words: int) -> int:
    """The same of entries below 2^63 in size: the lowest word is the entry, the others repeat its sign."""
    if byteorder != "little":
        return pack_fields(entries, words)
    raw = array("q", bytes(8 * words * len(entries)))
    raw[::words] = array("q", entries)
    signs = array("q", [entry >> 63 for entry in entries])
    for word in range(1, words):
        raw[word::words] = signs
    halves = _half_fields(len(entries), words)
    return (int.from_bytes(raw.tobytes(), "little") ^ halves) - halves


def unpack_fields(packed: int, width: int, words: int, places: int) -> list[int]:
    """The entries, divided by 2^places and rounded down (multiplied, if there are fewer than none).

    With 2^(F-1) added, the entries are digits; with the highest bit of each flipped, these are the entries in
    two's complement, whose upper words are the quotients by 2^64, 2^128, ...
    """
    halves = _half_fields(width, words)
    raw = ((packed + halves) ^ halves).to_bytes(8 * words * width, "little")
    skipped = min(max(places, 0) // WORD, words - 1)
    if words == skipped + 1 and byteorder == "little":
        found = memoryview(raw).cast("q")[skipped::words].tolist()
    else:
        size = 8 * words
        parts = (raw[start + 8 * skipped : start + size] for start in range(0, len(raw), size))
        found = [int.from_bytes(part, "little", signed=True) for part in parts]
    rest = places - WORD * skipped
    if rest > 0:
        return [x >> rest for x in found]
    return [x << -rest for x in found] if rest else found


def unpack_small_fields(packed: int, width: int, words: int) -> list[int]:
    """The entries, all below 2^63 in size: in two's complement the lowest word of a field is its entry."""
    if byteorder != "little":
        return unpack_fields(packed, width, words, 0)
    halves = _half_fields(width, words)
    raw = ((packed + halves) ^ halves).to_bytes(8 * words * width, "little")
    return memoryview(raw).cast("q")[::words].tolist()


def divide_fields(vector: int, fields: int, words: int, places: int) -> int:
    """Every field, below 2^(width - 1) in size, divided by 2^places and rounded down."""
    half, mask, rest = _division_masks(fields, words, places)
    return (((vector + half) >> places) & mask) - rest


@lru_cache(maxsize=256)
def _division_masks(fields: int, words: int, places: int) -> tuple[int, int, int]:
    """Adding the first makes fields digits that are not negative; the third is what it has become then."""
    ones, width = ones_vector(fields, words), 64 * words
    return ones << (width - 1), ones * ((1 << (width - places)) - 1), ones << (width - 1 - places)


@lru_cache(maxsize=256)
def ones_vector(width: int, words: int) -> int:
    """The vector of ones."""
    return int.from_bytes((1).to_bytes(8 * words, "little") * width, "little")


@lru_cache(maxsize=256)
def _half_fields(width: int, words: int) -> int:
    return ones_vector(width, words) << (WORD * words - 1)


def scale_to_integers(weights: Sequence[float], bits: int) -> tuple[list[int], bool]:
    """The numbers times 2^bits, rounded to the nearest integer, and whether that changed nothing.

    A float times a power of two is exact, short of an overflow.
    """
    assert bits < 800
    products = [weight * 2.0**bits for weight in weights]
    found = list(map(round, products))
    return found, found == products


@lru_cache(maxsize=256)
def repeat_field(number: int, width: int) -> int:
    """The vector, with fields of a word, of one number from 0 up to below 2^64."""
    return number * ones_vector(width, 1)


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
    """Vectors of what was offset by 2^bits, every entry divided by 2^places and rounded down.

    A field that is shifted has bits of the next one above its own, which are masked.
    """
    mask, rest = repeat_field((1 << (WORD - places)) - 1, width), repeat_field(1 << bits >> places, width)
    return [((vector >> places) & mask) - rest for vector in digits]


def positive_fields(vector: int, width: int, bits: int) -> int:
    """The entries that are not negative, 0 for the others; all are from -2^bits up to below 2^bits."""
    digits = vector + repeat_field(1 << bits, width)
    signs = (digits >> bits) & ones_vector(width, 1)
    return digits & ((signs << bits) - signs)
