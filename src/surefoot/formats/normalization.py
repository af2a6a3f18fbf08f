"""Observation statistics (VecNormalize): read them as data and put them in front of a network.

The library computes clip((x - mean) / sqrt(variance + epsilon)) in float64 and rounds once to float32. A
network here is float32 throughout, so the folded layers round after each step: normalised observations may
differ in the last bits (a few 2^-24 of their size), a choice therefore only where two outputs nearly tie.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean
from surefoot.formats.untrusted.pickle_opcodes import PickleRecord, Value, read_pickle
from surefoot.formats.untrusted.pickled_arrays import ARRAY_SYMBOLS, float_array
from surefoot.formats.untrusted.regular_file import read_input_bytes
from surefoot.problem.network import (
    Activation,
    Constant,
    Elementwise,
    Join,
    Network,
    Node,
    Pick,
    Shape,
    freeze_float32,
    freeze_indices,
    shift_node_sources,
)

NOT_NORMALISED = "observations are not normalised"
NO_OBSERVATIONS = "this VecNormalize does not normalise observations (norm_obs is false)"
_WRAPPER = "stable_baselines3.common.vec_env.vec_normalize.VecNormalize"
_PREFIXES = ("stable_baselines3.common.", "gymnasium.spaces.", "gym.spaces.", "numpy.random.")
_SYMBOLS = ARRAY_SYMBOLS | {"collections.OrderedDict", "collections.deque"}
_FIX = 'write them as JSON: {"mean": […], "variance": […], "epsilon": 1e-8, "clip": 10}'
_KEYS = ("mean", "variance", "epsilon", "clip")
_LARGEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True, eq=False)
class Normalization:
    """clip((x - mean) / sqrt(variance + epsilon), -clip, clip), entry by entry."""

    mean: NDArray[np.float64]
    variance: NDArray[np.float64]
    epsilon: float
    clip: float
    source: str = "given statistics"  # the file, for the notes

    def __post_init__(self) -> None:
        if self.mean.ndim != 1 or self.mean.shape != self.variance.shape or not self.mean.size:
            raise InvalidProblem("mean and variance are not two lists of the same length")
        deviation = self.deviation()
        if not (np.isfinite(self.mean).all() and (abs(self.mean) <= _LARGEST).all()):
            raise InvalidProblem("a mean is not a finite float32 number")
        if not ((self.variance >= 0).all() and np.isfinite(deviation).all() and (deviation > 0).all()):
            raise InvalidProblem("a variance is negative, zero without epsilon, or not finite")
        if not (self.epsilon >= 0 and 0 < self.clip <= _LARGEST):
            raise InvalidProblem("epsilon must not be negative and clip must be positive")

    def deviation(self) -> NDArray[np.float32]:
        """The divisor: sqrt(variance + epsilon), rounded to float32."""
        with np.errstate(over="ignore", invalid="ignore"):
            return np.sqrt(self.variance + self.epsilon).astype(np.float32)


def read_normalization(path: Path) -> Normalization:
    """Statistics from JSON or from a VecNormalize pickle; nothing in the pickle is executed."""
    where, data = str(path), read_input_bytes(path)
    try:
        if data.lstrip()[:1] == b"{":
            return _from_json(data, where)
        return _from_pickle(data, where)
    except InvalidProblem as problem:
        raise (problem if problem.where else problem.at(where)) from None


def prepend_normalization(network: Network, statistics: Normalization) -> Network:
    """The network behind its normalisation, with a note that says so."""
    if statistics.mean.size != network.observed:
        inputs = f"{network.observed} inputs"
        raise InvalidProblem(
            f"statistics for {statistics.mean.size} observations, but the network has {inputs}",
            where=statistics.source,
        )
    if network.indices:
        what = "statistics for observations of which some are numbered values"
        raise InvalidProblem(what, fix="leave the statistics out", where=statistics.source)
    coarse = freeze_float32(statistics.mean)
    # What float32 cannot hold of the mean is subtracted next: it matters where the deviation is small.
    fine = freeze_float32(statistics.mean - coarse)
    front: list[Node] = []
    if network.memory:  # which is no observation
        front.append(Pick(0, freeze_indices(np.arange(network.observed))))
    front.append(Elementwise(len(front), Constant.ADD, freeze_float32(-coarse)))
    if fine.any():
        front.append(Elementwise(len(front), Constant.ADD, freeze_float32(-fine)))
    front.append(Elementwise(len(front), Constant.DIVIDE, freeze_float32(statistics.deviation())))
    limit = float(np.float32(statistics.clip))
    front.append(Activation(len(front), Shape.CLIP, (-limit, limit)))
    if network.memory:
        front.append(Pick(0, freeze_indices(np.arange(network.observed, network.width))))
        front.append(Join((len(front) - 1, len(front))))
    note = f"observations are normalised with {statistics.source} (folded in front of the first layer)"
    nodes = (*front, *(shift_node_sources(node, len(front)) for node in network.nodes))
    return replace(network, nodes=nodes, notes=(*network.notes, note))


def clip_nodes(source: int, low: NDArray[np.float32], high: NDArray[np.float32]) -> list[Node]:
    """Nodes after value `source` that clip entry i to [low[i], high[i]]; none where nothing is bounded.

    One Clip node if all entries share their bounds, otherwise one for each pair of bounds: the entries are
    picked apart, clipped and put back, which is exact. The new nodes must directly follow value `source`.
    """
    bounds = [(max(float(a), -_LARGEST), min(float(b), _LARGEST)) for a, b in zip(low, high, strict=True)]
    groups = sorted(set(bounds))
    if groups == [(-_LARGEST, _LARGEST)]:
        return []
    if len(groups) == 1:
        return [Activation(source, Shape.CLIP, groups[0])]
    nodes: list[Node] = []
    parts: list[int] = []
    order: list[int] = []
    for group in groups:
        members = [i for i, own in enumerate(bounds) if own == group]
        nodes.append(Pick(source, freeze_indices(members)))
        if group != (-_LARGEST, _LARGEST):
            nodes.append(Activation(source + len(nodes), Shape.CLIP, group))
        parts.append(source + len(nodes))
        order += members
    nodes.append(Join(tuple(parts)))
    nodes.append(Pick(source + len(nodes), freeze_indices(np.argsort(order))))
    return nodes


def _from_json(data: bytes, where: str) -> Normalization:
    try:
        pairs = json.loads(data, object_pairs_hook=list)
    except (ValueError, RecursionError) as problem:
        raise InvalidProblem("the statistics are not JSON", fix=_FIX, where=where) from problem
    fields = dict(pairs)
    if unknown := [name for name in fields if name not in _KEYS]:
        fix = did_you_mean(unknown[0], _KEYS)
        raise InvalidProblem(f"unknown key `{unknown[0][:80]}`", fix=fix, where=where)
    if len(fields) < len(pairs):
        raise InvalidProblem("a key is given twice", fix="keep one of them", where=where)
    missing = [name for name in ("mean", "variance") if name not in fields]
    if missing:
        raise InvalidProblem(f"the statistics have no `{missing[0]}`", fix=_FIX, where=where)
    mean, variance = (_parse_numbers(fields, name, where) for name in ("mean", "variance"))
    epsilon, clip = (_parse_number(fields.get(n, d), n, where) for n, d in (("epsilon", 1e-8), ("clip", 10)))
    return Normalization(mean, variance, epsilon, clip, where)


def _parse_numbers(fields: dict[str, Any], name: str, where: str) -> NDArray[np.float64]:
    values = fields[name]
    if not isinstance(values, list):
        raise InvalidProblem(f"`{name}` is not a list of numbers", fix=_FIX, where=where)
    return np.array([_parse_number(value, name, where) for value in values], dtype=np.float64)


def _parse_number(value: Value, name: str, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= 1e300:
        raise InvalidProblem(f"`{name}` holds something other than finite numbers", fix=_FIX, where=where)
    return float(value)


def _from_pickle(data: bytes, where: str) -> Normalization:
    def permits(symbol: str) -> bool:
        return symbol in _SYMBOLS or symbol.startswith(_PREFIXES)

    top = read_pickle(data, permits=permits, where=where)
    if not isinstance(top, PickleRecord) or str(top.symbol) != _WRAPPER or not isinstance(top.state, dict):
        raise InvalidProblem("the pickle holds no VecNormalize", fix=_FIX, where=where)
    state: Mapping[Value, Value] = top.state
    if state.get("norm_obs") is not True:
        raise InvalidProblem(
            NO_OBSERVATIONS,
            fix="leave the statistics out",
            where=where,
        )
    statistics = state.get("obs_rms")
    if isinstance(statistics, dict):
        raise Unsupported("statistics of dictionary observations", fix=_FIX, where=where)
    if not isinstance(statistics, PickleRecord) or not isinstance(statistics.state, dict):
        raise InvalidProblem("the VecNormalize has no observation statistics", fix=_FIX, where=where)
    mean, variance = (float_array(statistics.state.get(n), f"obs_rms.{n}", where) for n in ("mean", "var"))
    epsilon, clip = (_parse_number(state.get(n), n, where) for n in ("epsilon", "clip_obs"))
    return Normalization(mean, variance, epsilon, clip, where)
