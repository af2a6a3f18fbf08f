"""Networks that are one chain of affine layers and ReLUs, as the tables that machine code reads."""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import addressof, c_char
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import cast

import numpy as np
from numpy.typing import NDArray

from surefoot.network.directed_rounding import Array, gamma_factor
from surefoot.network.float32_error import SMALLEST, UNIT32
from surefoot.problem.network import (
    Activation,
    Affine,
    Constant,
    Elementwise,
    Join,
    Network,
    Node,
    Pick,
    Shape,
)
from surefoot.solvers.native.compiled_query import Mask
from surefoot.solvers.native.relu_chain.llvm_builder import (
    BLOCKS,
    LANES,
    LayerWord,
    RoundingFactor,
    ScratchBuffer,
    TableField,
)

ALL = -1  # in place of the number of a value: all of them side by side, as in a sheet
_PAD = BLOCKS[-1] * LANES
_WORDS, _FACTORS = len(LayerWord), len(RoundingFactor)
LEAST = 64  # ReLUs: smaller networks are bounded before the machine code is loaded


@dataclass(frozen=True, slots=True, eq=False)
class ReluChain:
    """The records of the layers, and where their entries are in a sheet."""

    records: NDArray[np.int64]
    numbers: tuple[Array, ...]  # what the records point to
    values: tuple[int, ...]  # the value that each layer computes
    columns: dict[int, slice]  # of every value; of a ReLU those of its argument
    relus: tuple[int, ...]
    bounded: Mask  # columns of the entries that back-substitution bounds
    bent: Mask  # columns that ReLUs read
    width: int
    scratch: Array
    table: NDArray[np.int64]  # with the words that are the same for every call


@dataclass(frozen=True, slots=True, eq=False)
class _Link:
    """A layer before it is put into a record."""

    value: int
    weights: Array
    bias: Array
    bent: bool
    direct: Array | None = None
    once: bool = False  # float32 rounds its result once, or not at all


def chain_from_network(
    network: Network, bounded: frozenset[int], rounded: Mapping[int, Mask], inputs: frozenset[int]
) -> ReluChain | None:
    """The tables of a network, None if it is something else than a chain.

    `bounded`: values that back-substitution bounds; `rounded`: those that float32 rounds; `inputs`: those of
    these that are input vectors of calls.
    """
    found = _chain_links(network, inputs)
    if found is None:
        return None
    links, relus = found
    if sum(len(link.bias) for link, after in pairwise(links) if after.bent) < LEAST:
        return None
    return _build_chain_tables(network.width, links, relus, bounded, rounded)


def _chain_links(network: Network, inputs: frozenset[int]) -> tuple[list[_Link], dict[int, int]] | None:
    links: list[_Link] = []
    relus: dict[int, int] = {}
    current, bent, joined = 0, False, False
    for number, node in enumerate(network.nodes, start=1):
        match node:
            case Activation(source, Shape.RELU) if source == current and links and not bent:
                relus[number], bent = source, True
            case Join((0, source)) if source == current and not bent and number == len(network.nodes) - 1:
                joined = True
            case Affine(source, weights, bias) if source == current:
                matrix = np.asarray(weights, dtype=np.float64)
                direct = matrix[:, : network.width] if joined else None
                rest = matrix[:, network.width :] if joined else matrix
                once = number in inputs
                links.append(_Link(number, rest, np.asarray(bias, dtype=np.float64), bent, direct, once))
                bent = False
            case _:
                wide = len(links[-1].bias) if links else network.width
                link = None if bent or joined else _link_of_linear_node(node, number, current, wide)
                if link is None:
                    return None
                links.append(link)
        current = number
    return None if bent or joined != (links[-1].direct is not None) or not relus else (links, relus)


def _link_of_linear_node(node: Node, number: int, current: int, wide: int) -> _Link | None:
    """What only moves or shifts entries, as an affine layer; `wide`: how many it reads."""
    match node:
        case Pick(source, indices) if source == current:
            return _Link(number, np.eye(wide)[indices], np.zeros(indices.size), False, None, True)
        case Elementwise(source, Constant.ADD, constant) if source == current:
            return _Link(number, np.eye(wide), constant.astype(np.float64), False, None, True)
        case _:
            return None


def _build_chain_tables(
    inputs: int,
    links: list[_Link],
    relus: dict[int, int],
    bounded: frozenset[int],
    rounded: Mapping[int, Mask],
) -> ReluChain:
    numbers: list[Array] = []
    factors = [0.0] * _FACTORS
    factors[RoundingFactor.INTERVAL] = gamma_factor(2 * inputs + 4)
    factors[RoundingFactor.LINES] = gamma_factor(8 + 2 * sum(len(link.bias) for link in links))
    first = [0] * _WORDS
    first[LayerWord.WIDTH], first[LayerWord.PADDED] = inputs, _padded_width(inputs)
    first[LayerWord.FACTORS] = _store_rows(numbers, factors, _FACTORS)
    rows = [first]
    column, columns, before = _padded_width(inputs), {0: slice(0, inputs)}, inputs
    for link in links:
        width, padded = len(link.bias), _padded_width(len(link.bias))
        row = _layer_record(numbers, link, before, inputs)
        row[LayerWord.WANTED], row[LayerWord.COLUMN] = int(link.value in bounded), column
        if link.value in rounded and (link.once is False or rounded[link.value].any()):
            row[LayerWord.ROUNDED] = 2 if link.once else 1
            row[LayerWord.MASK] = _store_rows(numbers, rounded[link.value], padded)
        rows.append(row)
        columns[link.value] = slice(column, column + width)
        column, before = column + padded, width
    columns |= {relu: columns[source] for relu, source in relus.items()}
    known, bent = np.zeros((2, column), dtype=np.bool_)
    for value in bounded:
        known[columns[value]] = True
    for source in relus.values():
        bent[columns[source]] = True
    columns[ALL] = slice(0, column)
    # Room for every layer, and for the atoms of the last one with those that are equalities twice.
    widest = max(_padded_width(inputs), 2 * before, *(_padded_width(len(link.bias)) for link in links))
    records = np.array(rows, dtype=np.int64)
    scratch = np.zeros((ScratchBuffer.ALIVE + len(records), widest + _PAD))
    scratch[ScratchBuffer.EVERY].view(np.int64)[:] = np.arange(scratch.shape[1])
    table = np.zeros(len(TableField), dtype=np.int64)
    table[TableField.LAYERS], table[TableField.LAST] = address_of(records), len(links)
    table[TableField.COLUMNS] = column
    table[TableField.SCRATCH], table[TableField.SCRATCH_SIZE] = address_of(scratch), scratch.shape[1]
    return ReluChain(
        records,
        tuple(numbers),
        tuple(link.value for link in links),
        columns,
        tuple(relus),
        known,
        bent,
        column,
        scratch,
        table,
    )


def _layer_record(numbers: list[Array], link: _Link, before: int, inputs: int) -> list[int]:
    """The words of a layer that reads `before` entries."""
    width, padded, wide = len(link.bias), _padded_width(len(link.bias)), _padded_width(before)
    row = [0] * _WORDS
    row[LayerWord.WIDTH], row[LayerWord.PADDED] = width, padded
    row[LayerWord.SOURCE], row[LayerWord.SOURCE_PADDED] = before, wide
    row[LayerWord.WEIGHTS] = _store_rows(numbers, link.weights, wide)
    row[LayerWord.TURNED] = _store_rows(numbers, link.weights.T, padded)
    row[LayerWord.BIAS] = _store_rows(numbers, link.bias, padded)
    row[LayerWord.BENT] = int(link.bent)
    if link.direct is not None:
        row[LayerWord.DIRECT] = _store_rows(numbers, link.direct, _padded_width(inputs))
        row[LayerWord.DIRECT_TURNED] = _store_rows(numbers, link.direct.T, padded)
    reads = before + (0 if link.direct is None else inputs)
    row[LayerWord.FACTORS] = _store_rows(numbers, _rounding_factors(link, width, reads), _FACTORS)
    return row


def _store_rows(numbers: list[Array], rows: Array | Mask | list[float], columns: int) -> int:
    """The address of a copy with zeros on the right of its rows, which is kept among the numbers."""
    given = np.atleast_2d(rows)
    padded = np.zeros((len(given), columns))
    padded[:, : given.shape[1]] = given
    numbers.append(padded)
    return address_of(padded)


def _rounding_factors(link: _Link, width: int, reads: int) -> list[float]:
    factors = [0.0] * _FACTORS
    factors[RoundingFactor.INTERVAL] = gamma_factor(reads + 2)
    factors[RoundingFactor.BACK] = gamma_factor(width + 2)
    factors[RoundingFactor.RADIUS_BACK] = 1.0 + gamma_factor(width + 4)
    # As in `network.float32_error`.
    share, sure = UNIT32 if link.once else (reads + 1) * UNIT32, 1.0 + gamma_factor(reads + 16)
    relative = share if link.once else share / max(1.0 - share, 0.5)
    factors[RoundingFactor.RADIUS] = relative * sure if share < 0.5 else inf
    factors[RoundingFactor.RADIUS_LEAST] = (1 if link.once else 4 * reads + 4) * SMALLEST * sure
    factors[RoundingFactor.RADIUS_ROOM] = (1.0 + relative) * sure
    return factors


def address_of(array: Array | NDArray[np.int64] | NDArray[np.bool_]) -> int:
    """Where the numbers of a contiguous array begin; for most much faster than `array.ctypes.data`."""
    try:
        return addressof(c_char.from_buffer(cast("bytearray", array)))
    except (TypeError, ValueError):  # read only, or without any number
        return int(array.ctypes.data)


def _padded_width(width: int) -> int:
    return -(-width // _PAD) * _PAD
