"""What is the same for every batch of boxes: which values of a network have to be bounded, and how."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.network.directed_rounding import Array
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Elementwise,
    Network,
    Pairing,
    Pick,
    Shape,
)
from surefoot.solvers.native.compiled_query import Mask
from surefoot.solvers.native.relu_chain.bound_arrays import load_chain_functions
from surefoot.solvers.native.relu_chain.layer_tables import ReluChain, chain_from_network


class _AbsoluteWeights(Mapping[int, tuple[Array, Array]]):
    """Weights and bias of every affine node without signs, by its value; computed when they are asked for."""

    def __init__(self, network: Network) -> None:
        nodes = enumerate(network.nodes, start=1)
        self._nodes = {number: node for number, node in nodes if isinstance(node, Affine)}
        self._found: dict[int, tuple[Array, Array]] = {}

    def __getitem__(self, value: int) -> tuple[Array, Array]:
        if value not in self._found:
            node = self._nodes[value]
            weights, bias = np.abs(node.weights), np.abs(node.bias)
            self._found[value] = weights.astype(np.float64), bias.astype(np.float64)
        return self._found[value]

    def __iter__(self) -> Iterator[int]:
        return iter(self._nodes)

    def __len__(self) -> int:
        return len(self._nodes)


@dataclass(frozen=True, slots=True, eq=False)
class BoundingPlan:
    """What is the same for every batch."""

    network: Network
    kept: tuple[int, ...]  # values whose bounds decide how good relaxations are, in order
    plain: frozenset[int]  # ... of which intervals already have the best bounds
    absolute: Mapping[int, tuple[Array, Array]]  # value of an affine node: |weights|, |bias|
    widest: int
    rounded: Mapping[int, Mask]  # values that float32 rounds, and which of their entries
    inputs: frozenset[int]  # ... of which these are the input vectors of calls
    signs: frozenset[int]  # values that are read by ReLUs and linear nodes only: their signs count
    certified: bool  # only relaxations that a certificate can name
    chain: ReluChain | None  # the tables of machine code, for networks that it can bound


def build_bounding_plan(
    network: Network,
    rounded: Mapping[int, Mask] | None = None,
    inputs: frozenset[int] = frozenset(),
    certified: bool = False,
) -> BoundingPlan:
    kept: set[int] = set()
    direct, plain = {0}, {0}
    for number, node in enumerate(network.nodes, start=1):
        match node:
            case Activation(source, _, _):
                kept.add(source)
            case Combine(left, right, pairing) if pairing is not Pairing.ADD:
                kept |= {left, right}
            case Elementwise(source, _, _) if source in direct:
                direct.add(number)
            case Pick(source, indices) if source in direct and len(set(indices.tolist())) == indices.size:
                direct.add(number)
            case Affine(source, _, _) if source in direct:
                plain.add(number)
    best, widest = frozenset(plain | direct), max(network.widths())
    signs = frozenset(kept) - _values_beyond_sign(network)
    chain = None
    if certified and signs == kept:
        chain = chain_from_network(network, frozenset(kept) - best, rounded or {}, inputs)
    return BoundingPlan(
        network,
        tuple(sorted(kept)),
        best,
        _AbsoluteWeights(network),
        widest,
        rounded or {},
        inputs,
        signs,
        certified,
        chain if chain is None or load_chain_functions() is not None else None,
    )


def _values_beyond_sign(network: Network) -> set[int]:
    """The values of which more than the sign counts."""
    found: set[int] = set()
    for node in network.nodes:
        match node:
            case Activation(source, shape, _) if shape is not Shape.RELU:
                found.add(source)
            case Combine(left, right, pairing) if pairing is not Pairing.ADD:
                found |= {left, right}
    return found


def straddles_kink(shape: Shape, parameters: tuple[float, ...], low: Array, high: Array) -> NDArray[np.bool_]:
    """Where an activation is not linear on an interval."""
    match shape:
        case Shape.RELU | Shape.LEAKY_RELU:
            kinks: tuple[float, ...] = (0.0,)
        case Shape.CLIP:
            kinks = parameters
        case Shape.TANH | Shape.SIGMOID:
            return np.asarray(low < high)
    across: NDArray[np.bool_] = np.logical_or.reduce([(low < k) & (high > k) for k in kinks])
    return across
