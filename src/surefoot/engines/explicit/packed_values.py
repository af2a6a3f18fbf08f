"""Bounds of all states as vectors: what the checker can look at state by state (docs/certificates.md, 11)."""

from __future__ import annotations

import zlib
from base64 import b64encode
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.explicit.subproblem import Subproblem
from surefoot.explore.explored_model import States
from surefoot.problem.environment import Environment
from surefoot.query.markov import MarkovAnswer
from surefoot.solvers.markov.goal_ranks import rank_states
from surefoot.term.reserved_names import location_key
from surefoot.term.value_types import Array, Bool, Int, ValueType

MOST_PACKED = 1 << 62
NO_RANK = (1 << 32) - 1
TRIED = 1 << 20  # bytes, from which it is seen whether packing is worth its time
WORTHWHILE = 0.75


def pack_values(
    environment: Environment, states: States, what: Subproblem, answer: MarkovAnswer
) -> dict[str, Any] | None:
    """The values of one side; None: they have no such form."""
    unfolded = what.unfolded
    if unfolded.counts.shape[1] or not _are_integers(answer):
        return None
    numbers = _packed_numbers(environment, states, unfolded.state)
    if numbers is None or (rank := rank_states(unfolded.markov, what.question, answer)) is None:
        return None
    rank[rank < 0] = NO_RANK
    order = np.argsort(numbers, kind="stable")
    steps = np.diff(numbers[order], prepend=0)
    return {
        "states": len(order),
        "scale": hex(answer.scale),
        "state": _encode_vector(steps),
        "low": _encode_vector(answer.low[order]),
        "high": _encode_vector(answer.high[order]),
        "rank": _encode_vector(rank[order]),
    }


def _are_integers(answer: MarkovAnswer) -> bool:
    """Not fractions, and none below 0."""
    for side in (answer.low, answer.high):
        if side.dtype == np.object_ and not all(type(v) is int for v in side):
            return False
        if len(side) and side.min() < 0:
            return False
    return True


def _packed_numbers(
    environment: Environment, states: States, some: NDArray[np.int64]
) -> NDArray[np.int64] | None:
    """Each state as a number in mixed radix: places, then variables, arrays element by element."""
    several = [c for c in environment.components if len(c.locations) > 1]
    kinds: list[tuple[str, ValueType]] = [
        (location_key(c.name), Int(0, len(c.locations) - 1)) for c in several
    ]
    kinds += [(v.name, v.kind) for v in environment.variables]
    found, size = np.zeros(len(some), dtype=np.int64), 1
    for name, kind in kinds:
        ends = _scalar_ends(kind)
        if ends is None:
            return None
        low, high, length = ends
        size *= (high - low + 1) ** length
        if size >= MOST_PACKED:
            return None
        column = states.column(name)[some]
        scalars = (
            np.array(column.tolist()).reshape(len(some), -1).T if length > 1 or _is_array(kind) else [column]
        )
        for scalar in scalars:
            found *= high - low + 1
            found += scalar.astype(np.int64) - low
    return found


def _is_array(kind: ValueType) -> bool:
    return isinstance(kind, Array)


def _scalar_ends(kind: ValueType) -> tuple[int, int, int] | None:
    """The range of the scalars of a kind, and how many there are."""
    match kind:
        case Bool():
            return 0, 1, 1
        case Int(int() as low, int() as high) if low <= high and max(-low, high) < MOST_PACKED:
            return low, high, 1
        case Array(element, length) if 0 < length <= 1000 and (inner := _scalar_ends(element)) is not None:
            return inner[0], inner[1], inner[2] * length
        case _:
            return None


def _encode_vector(values: NDArray[Any]) -> dict[str, Any]:
    """Little-endian numbers of one width, packed as far as that is worth its time."""
    largest = int(values.max()) if len(values) else 0
    width = next((w for w in (1, 2, 4, 8) if largest < 1 << (8 * w)), (largest.bit_length() + 7) // 8)
    if width <= 8:
        raw = values.astype(f"<u{width}").tobytes()
    else:
        raw = b"".join(int(v).to_bytes(width, "little") for v in values)
    sample = raw[:TRIED]
    level = 1 if len(zlib.compress(sample, 1)) < WORTHWHILE * len(sample) else 0
    return {"width": width, "data": b64encode(zlib.compress(raw, level)).decode()}
