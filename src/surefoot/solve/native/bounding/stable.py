"""On which boxes of a batch the whole network is a linear function."""

from __future__ import annotations

import numpy as np

from surefoot.network.outward import Box
from surefoot.problem.network import Activation, Combine, Pairing
from surefoot.solve.native.bounding.bounds import Bounded, straddles
from surefoot.solve.native.problem import Compiled, Mask


def all_linear(problem: Compiled, found: Bounded) -> Mask:
    """Per box; a factor or divisor that is not fixed makes a box not linear."""
    linear = np.ones(len(found.boxes[0].low), dtype=np.bool_)
    for node in problem.network.nodes:
        match node:
            case Activation(source, shape, parameters):
                box = found.boxes[source]
                linear &= ~straddles(shape, parameters, box.low, box.high).any(axis=1)
            case Combine(left, right, pairing) if pairing is not Pairing.ADD:
                linear &= _pair_is_linear(found.boxes[left], found.boxes[right], pairing)
    return linear


def _pair_is_linear(left: Box, right: Box, pairing: Pairing) -> Mask:
    if pairing is not Pairing.MAXIMUM:
        return np.zeros(len(left.low), dtype=np.bool_)
    return np.asarray(((left.low >= right.high) | (right.low >= left.high)).all(axis=1))
