"""Whole numbers as one-hot vectors, by nodes that a network has.

x from 0 to n - 1 becomes n entries, of which that of x is 1. With r = max(0, ·) entry k is
r(x - k + 1) - 2 r(x - k) + r(x - k - 1), which is exact in float32 for whole numbers. On other numbers a
library does something else, or nothing: the network says where it reads indices, and a problem is refused
unless a whole number of that range is observed there.
"""

from __future__ import annotations

import numpy as np

from surefoot.formats.onnx.network_builder import NetworkBuilder
from surefoot.problem.network import Activation, Affine, Shape, freeze_float32


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
