"""How a library turns an observation into the inputs of a first layer: one-hot vectors, bytes of images.

Whole numbers x from 0 to n - 1 become n inputs, of which that of x is 1. With r = max(0, ·) entry k is
r(x - k + 1) - 2 r(x - k) + r(x - k - 1), which is exact in float32 for whole numbers. On other numbers the
library does something else, or nothing: the network says where it reads indices, and a problem is refused
unless a whole number of that range is observed there.
"""

from __future__ import annotations

import numpy as np

from surefoot.formats.onnx.network_builder import (
    NetworkBuilder,
    TensorSignal,
    divide_signal,
    row_major_signal,
)
from surefoot.formats.untrusted.sb3_spaces import ObservedPart
from surefoot.problem.network import Activation, Affine, Join, Pick, Shape, freeze_float32, freeze_indices


def encode_observation(builder: NetworkBuilder, parts: tuple[ObservedPart, ...]) -> TensorSignal:
    """The features of an observation, whose numbers are the inputs of the network in this order."""
    if all(not part.counts and part.divisor == 1 for part in parts):
        return row_major_signal(0, (builder.widths[0],))
    place, found = 0, []
    for part in parts:
        found.append(_encode_part(builder, part, place))
        place += part.width
    if len(found) == 1:
        return row_major_signal(found[0], (builder.widths[found[0]],))
    width = sum(builder.widths[number] for number in found)
    return row_major_signal(builder.emit(Join(tuple(found)), width), (width,))


def _encode_part(builder: NetworkBuilder, part: ObservedPart, place: int) -> int:
    whole = builder.widths[0]
    own = TensorSignal(0, np.arange(place, place + part.width, dtype=np.int64))
    number = 0 if part.width == whole else builder.emit(Pick(0, freeze_indices(own.layout)), part.width)
    if part.counts:
        for i, count in enumerate(part.counts):
            builder.read_index(place + i, count)
        return emit_one_hot(builder, number, part.counts)
    if part.divisor != 1:
        return builder.flat(divide_signal(builder, row_major_signal(number, (part.width,)), part.divisor))
    return number


def emit_one_hot(builder: NetworkBuilder, number: int, counts: tuple[int, ...]) -> int:
    """Entry i of a value as a one-hot vector of `counts[i]` entries, one after the other."""
    ramps, features = sum(n + 2 for n in counts), sum(counts)
    builder.reserve(ramps * (len(counts) + features))
    lines, bias = np.zeros((ramps, len(counts)), np.float32), np.zeros(ramps, np.float32)
    bends = np.zeros((features, ramps), np.float32)
    row, column = 0, 0
    for i, n in enumerate(counts):
        lines[row : row + n + 2, i] = 1
        bias[row : row + n + 2] = 1 - np.arange(n + 2)
        for k in range(n):
            bends[column + k, row + k : row + k + 3] = 1, -2, 1
        row, column = row + n + 2, column + n
    number = builder.emit(Affine(number, freeze_float32(lines), freeze_float32(bias)), ramps)
    number = builder.emit(Activation(number, Shape.RELU), ramps)
    return builder.emit(Affine(number, freeze_float32(bends), freeze_float32(np.zeros(features))), features)


def describe_inputs(parts: tuple[ObservedPart, ...]) -> tuple[str, ...]:
    """Notes: which input is what, where the observation is more than a vector of numbers."""
    notes: list[str] = []
    place = 0
    for part in parts:
        name = f"`{part.key}`" if part.key else "the observation"
        where = f"input {place}" if part.width == 1 else f"inputs {place} to {place + part.width - 1}"
        if part.counts:
            counts = ", ".join(map(str, part.counts[:12])) + (", …" if len(part.counts) > 12 else "")
            notes.append(f"{where}: {name}, numbered from 0, one-hot of {counts}")
        elif part.divisor != 1:
            notes.append(f"{where}: {name}, an image flattened channel by channel, divided by {part.divisor}")
        elif part.key:
            notes.append(f"{where}: {name}")
        place += part.width
    return tuple(notes)
