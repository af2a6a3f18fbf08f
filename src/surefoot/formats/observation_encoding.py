"""How a library turns an observation into the inputs of a first layer: one-hot vectors, bytes of images."""

from __future__ import annotations

import numpy as np

from surefoot.formats.onnx.network_builder import (
    NetworkBuilder,
    TensorSignal,
    divide_signal,
    row_major_signal,
)
from surefoot.formats.onnx.one_hot import emit_one_hot
from surefoot.formats.untrusted.sb3_spaces import ObservedPart
from surefoot.problem.network import Join, Pick, freeze_indices


def encode_observation(builder: NetworkBuilder, parts: tuple[ObservedPart, ...]) -> TensorSignal:
    """The features of an observation, whose numbers are the inputs of the network in this order."""
    if all(not part.counts and part.divisor == 1 for part in parts):
        return row_major_signal(0, (sum(part.width for part in parts),))
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
