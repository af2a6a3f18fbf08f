"""Steps of a certificate as JSON data."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from zlib import compress

import numpy as np
from numpy.typing import NDArray

from surefoot.network.batches import BatchRecord
from surefoot.network.directed_rounding import Array
from surefoot.network.relaxation import COARSE, FINE, needs_slopes, quotient_plane_choice
from surefoot.solvers.native.bounding.network_bounds import NetworkBounds
from surefoot.solvers.native.compiled_query import CompiledQuery
from surefoot.solvers.native.relu_chain.layer_tables import ALL, ReluChain

_SHORT = 24  # bytes that are not worth packing
UNIT = 2**16  # multipliers of atoms are whole numbers up to this


@dataclass(frozen=True, slots=True, eq=False)
class CubeRefutation(BatchRecord):
    """Multipliers of atoms (whole numbers) and slopes below ReLUs, per box."""

    row: Array
    below: dict[int, Array]  # multiples of 1/COARSE

    def compact(self) -> list[CompactRefutation]:
        """The same for each box, in little memory."""
        below = {v: np.rint(s * COARSE).astype(np.uint8) for v, s in self.below.items()}
        rows = self.row.astype(np.int32)
        return [CompactRefutation(row, {v: s[i] for v, s in below.items()}) for i, row in enumerate(rows)]


@dataclass(frozen=True, slots=True, eq=False)
class CompactRefutation:
    """Multipliers and slopes of one box as they are written."""

    row: NDArray[np.int32]
    below: dict[int, NDArray[np.uint8]]


def pack_slopes(slopes: bytes) -> str:
    """Slopes as text: in base64, of a zlib stream if that is shorter."""
    plain = b64encode(slopes).decode()
    if len(slopes) < _SHORT:
        return plain
    return min(plain, "~" + b64encode(compress(slopes, 9)).decode(), key=len)


def _render_multipliers(
    problem: CompiledQuery, chain: ReluChain | None, given: CompactRefutation
) -> dict[str, object]:
    """The `m` of a step for one box."""
    atoms = [[int(j), int(given.row[j])] for j in np.flatnonzero(given.row)]
    found: dict[str, object] = {"atoms": atoms}
    below = given.below
    if chain is not None:
        below = {relu: below[ALL][chain.columns[relu]] for relu in chain.relus}
    if below:
        found["slopes"] = {str(problem.places[v]): [pack_slopes(s.tobytes()), None] for v, s in below.items()}
    return found


def _pack_coarse_slopes(slopes: Array) -> str:
    return pack_slopes(np.rint(slopes * COARSE).astype(np.uint8).tobytes())


def drop_step(
    problem: CompiledQuery, chain: ReluChain | None, sets: list[int], given: CompactRefutation
) -> list[object]:
    return ["drop", sets, _render_multipliers(problem, chain, given)]


def cut_step(
    problem: CompiledQuery, chain: ReluChain | None, entries: Sequence[tuple[list[int], CompactRefutation]]
) -> list[object]:
    return ["cut", [[sets, _render_multipliers(problem, chain, given)] for sets, given in entries]]


def slopes_steps(problem: CompiledQuery, part: NetworkBounds, index: int) -> list[list[object]]:
    """What sets the slopes of smooth functions, clips and quotients for one box."""
    steps: list[list[object]] = []
    if part.sheet is not None:
        return steps  # nothing but ReLUs
    for value, node in enumerate(part.layout.network.nodes, start=1):
        relaxation = part.relaxations[value - 1]
        if relaxation is not None and needs_slopes(node):
            lower, upper = (
                _pack_fine_slopes(relaxation.below[0][index]),
                _pack_fine_slopes(relaxation.above[0][index]),
            )
            steps.append(["slopes", problem.places[value], lower, upper])
        chosen = quotient_plane_choice(node, part.boxes, index)
        if chosen is not None:
            lower, upper = map(_pack_coarse_slopes, chosen)
            steps.append(["slopes", problem.places[value], lower, upper])
    return steps


def _pack_fine_slopes(slopes: Array) -> str:
    return pack_slopes(np.minimum(np.rint(slopes * FINE), FINE - 1).astype("<u2").tobytes())
