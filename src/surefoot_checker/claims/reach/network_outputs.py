"""What a network reads as the symbols of its sets, and its outputs over the symbols of the state."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import mul, sub

from ...bounds.packed_vectors import (
    divide_fields,
    pack_fields,
    pack_small_fields,
    unpack_fields,
    unpack_small_fields,
)
from ...kernel.strict_json import Refused
from .affine_form import Form, form_size, form_width
from .input_parts import InputParts, join_parts

SHARE = 40  # bits of a coefficient of an input, by its width


def round_input(x: Form, less: int) -> Form:
    """In units that are 2^less times as large, and rounded to float32."""
    c, a, r = x
    if less:
        c, a, r = c >> less, [q >> less for q in a], -(-r >> less) + 1 + len(a)
    return c, a, r + (form_size((c, a, r)) >> 24) + 2


class InputBasis:
    """Where a network has fewer inputs than there are symbols, its inputs are what entries are over.

    Input i is c_i + w_i s_i with w_i its width, and s_i in [-1, 1] is a form itself: (sum a_ik e_k + r_i e')
    / w_i. Place 1 + i of an entry is the coefficient of s_i. What a sum of A_i s_i is over the symbols is
    computed from quotients a_ik / w_i times 2^SHARE, rounded down.
    """

    def __init__(self, inputs: Sequence[Form], words: int) -> None:
        self.count, self.words, self.symbols = len(inputs), words, len(inputs[0][1])
        self.inputs, self.widths = inputs, [form_width(x) for x in inputs]
        shares, self._radii = self.divide_inputs(SHARE)
        pack = pack_small_fields if words > 1 else pack_fields
        self._shares = [pack(share, words) for share in shares]

    def own_forms(self) -> list[Form]:
        """The inputs over symbols of their own."""
        rows = [[w if i == j else 0 for j in range(self.count)] for i, w in enumerate(self.widths)]
        return [(x[0], row, 0) for x, row in zip(self.inputs, rows, strict=True)]

    def expand(self, values: Sequence[int]) -> tuple[list[int], int]:
        """Coefficients of the symbols in an entry, and what they may be off, all together, with the radii."""
        own = values[1 : self.count + 1]
        packed = sum(map(mul, own, self._shares))
        sizes = list(map(abs, own))
        off = (sum(sizes) * self.symbols + sum(map(mul, sizes, self._radii)) >> SHARE) + 2 + self.symbols
        divided = divide_fields(packed, self.symbols, self.words, SHARE)
        small = sum(sizes).bit_length() < 63
        unpack = unpack_small_fields if small else partial(unpack_fields, places=0)
        return unpack(divided, self.symbols, self.words), off

    def divide_inputs(self, bits: int) -> tuple[list[list[int]], list[int]]:
        """The quotients a_ik / w_i times 2^bits, rounded down, and r_i / w_i, rounded up."""
        over = [w or 1 for w in self.widths]
        return (
            [[(a << bits) // w for a in x[1]] for x, w in zip(self.inputs, over, strict=True)],
            [-(-(x[2] << bits) // w) for x, w in zip(self.inputs, over, strict=True)],
        )

    def check_room(self, largest: int) -> None:
        """A field must hold what an entry with a sum of magnitudes up to this becomes."""
        if largest.bit_length() > 64 * self.words - 3 - SHARE:
            raise Refused("values inside a network are too large for the number of bits")

    def spread(self, values: Sequence[int]) -> int:
        """The largest magnitude of the sum of A_i s_i."""
        coefficients, off = self.expand(values)
        return min(sum(map(abs, coefficients)) + off, sum(map(abs, values[1 : self.count + 1])))


@dataclass(frozen=True, slots=True, eq=False)
class PartOutputs:
    """Forms over the symbols of one part and those inside the network, which differences share."""

    entries: list[list[int]]
    radii: list[int]
    count: int  # symbols of the state
    basis: InputBasis | None
    less: int  # bits that units are coarser

    def form(self, i: int) -> Form:
        """Of an output: all that is inside the network is in its radius."""
        return self._collapse(self.entries[i], self.radii[i])

    def difference(self, i: int, j: int) -> Form:
        """Of output i and output j."""
        values = list(map(sub, self.entries[i], self.entries[j]))
        return self._collapse(values, self.radii[i] + self.radii[j])

    def _collapse(self, values: list[int], radius: int) -> Form:
        if self.basis is None:
            inner = values[self.count + 1 :]
            coefficients = values[1 : self.count + 1]
            radius += sum(map(abs, inner))
        else:
            coefficients, off = self.basis.expand(values)
            radius += off + sum(map(abs, values[self.basis.count + 1 :]))
        return values[0] << self.less, [a << self.less for a in coefficients], radius << self.less


@dataclass(frozen=True, slots=True, eq=False)
class NetworkOutputs:
    """Forms over the symbols of the state."""

    several: list[PartOutputs]
    parts: InputParts

    def form(self, i: int) -> Form:
        return join_parts([part.form(i) for part in self.several], self.parts)

    def difference(self, i: int, j: int) -> Form:
        """Of output i and output j."""
        return join_parts([part.difference(i, j) for part in self.several], self.parts)
