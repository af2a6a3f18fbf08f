"""Queries that take many boxes, for tests of searches in parts."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

from surefoot.network.evaluate import evaluate_network_batch
from surefoot.problem.network import Network, Shape, dense_network
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.solvers.native import divided_search
from surefoot.term.term import Const, Var
from surefoot.term.value_types import Real


def deal_early(monkeypatch: pytest.MonkeyPatch, boxes: int = 4) -> None:
    """Parts from the first boxes on, children at once, and several rounds."""
    monkeypatch.setattr(divided_search, "ALONE", 1)
    monkeypatch.setattr(divided_search, "LEAST_BOXES", boxes)
    monkeypatch.setattr(divided_search, "PATIENCE", 0.0)


def bent_network(seed: int, smooth: bool = False) -> Network:
    generator = np.random.default_rng(seed)
    sizes = [3, 24, 16, 1]
    layers: list[tuple[object, object]] = [
        (np.round(generator.normal(size=(high, wide)), 2), np.round(generator.normal(size=high), 2))
        for wide, high in itertools.pairwise(sizes)
    ]
    return dense_network(layers, Shape.TANH if smooth else Shape.RELU)


def query_above(seed: int, margin: float, single: bool = False, smooth: bool = False) -> Query:
    """Is the output above all that is seen of it, by so much of its range?"""
    network = bent_network(seed, smooth)
    points = np.random.default_rng(seed).uniform(-1, 1, (20_000, 3)).astype(np.float32)
    points[:10_000] = np.clip(2 * points[:10_000], -1, 1)  # also on sides and corners
    seen = evaluate_network_batch(network, points).outputs[:, 0].astype(np.float64)
    limit = Fraction(str(round(float(seen.max() + margin * (seen.max() - seen.min())), 3)))
    inputs = tuple(QueryVariable(f"x{i}", Real(Fraction(-1), Fraction(1), single)) for i in range(3))
    call = NetworkCall(network, tuple(Var(q.name) for q in inputs), ("u",), float32=single)
    return Query((*inputs, QueryVariable("u", Real())), (Const(limit) <= Var("u"),), (call,))
