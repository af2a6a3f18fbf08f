"""Backward substitution in float64, after section 6 of docs/certificates.md: linear functions below a sum.

This is the producer's side: nothing here needs to be rigorous, since whatever it emits is checked again. A
set of bug names makes it wrong in the ways that solvers are wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from benchmarks.mutation.claims import TINY, UNIT, Array, Claim, enclosure, sigmoid

Terms: TypeAlias = list[tuple[int, int, float]]  # value, entry, coefficient


@dataclass(frozen=True, slots=True)
class Value:
    """How a value is made: a node with the numbers of the values it reads, linear forms, or nothing."""

    kind: str
    width: int
    node: tuple[Any, ...] = ()
    forms: tuple[tuple[Terms, float], ...] = ()
    rounds: tuple[bool, ...] = ()  # which entries of the input of a call are rounded


@dataclass(frozen=True, slots=True)
class Model:
    """The numbered values of a claim, and where each name is."""

    claim: Claim
    values: tuple[Value, ...]
    places: Mapping[str, tuple[int, int]]

    def terms(self, linear: Mapping[str, Any]) -> tuple[Terms, float]:
        return (
            [(*self.places[n], float(c)) for n, c in linear.items() if n],
            float(linear.get("", 0)),
        )


@dataclass(slots=True)
class Bounds:
    """Bounds of every value in one part of the search space, living sets, remembered slopes."""

    low: list[Array]
    high: list[Array]
    alive: frozenset[int]
    slopes: dict[int, Array] = field(default_factory=dict)

    def copy(self) -> Bounds:
        return Bounds(
            [a.copy() for a in self.low], [a.copy() for a in self.high], self.alive, dict(self.slopes)
        )


def build(claim: Claim) -> Model:
    values = [Value("free", len(claim.free))]
    model = Model(claim, (), {v[0]: (0, i) for i, v in enumerate(claim.free)})
    places = dict(model.places)
    plain = {v[0] for v in claim.free if v[3] == "float32"}
    for number, inputs, outputs in claim.calls:
        base = len(values)
        model = Model(claim, (), places)
        forms = tuple(model.terms(f) for f in inputs)
        rounds = tuple(not (len(f) == 1 and next(iter(f)) in plain and f[next(iter(f))] == 1) for f in inputs)
        values.append(Value("mix", len(inputs), (), forms, rounds))
        for node in claim.networks[number]["nodes"]:
            values.append(Value(node[0], 0, _shifted(node, base)))
        places |= {n: (len(values) - 1, i) for i, n in enumerate(outputs)}
    return Model(claim, tuple(values), places)


def _shifted(node: tuple[Any, ...], base: int) -> tuple[Any, ...]:
    kind = node[0]
    if kind == "join":
        return (kind, [s + base for s in node[1]])
    if kind in ("sum", "product", "maximum", "quotient"):
        return (kind, node[1] + base, node[2] + base)
    return (kind, node[1] + base, *node[2:])


def forward(model: Model, bounds: Bounds, v: int, bugs: frozenset[str]) -> tuple[Array, Array]:
    """Interval arithmetic for one value."""
    value, float32 = model.values[v], model.claim.float32 and "no rounding" not in bugs
    if value.kind == "mix":
        low, high = np.zeros(len(value.forms)), np.zeros(len(value.forms))
        for i, (terms, constant) in enumerate(value.forms):
            low[i] = high[i] = constant
            for source, entry, c in terms:
                ends = c * bounds.low[source][entry], c * bounds.high[source][entry]
                low[i], high[i] = low[i] + min(ends), high[i] + max(ends)
        pad = radius(model, bounds, v, low, high) if float32 else np.zeros(len(low))
        return low - pad, high + pad
    pairs = [(a[None], b[None]) for a, b in zip(bounds.low, bounds.high, strict=True)]
    low, high = enclosure(value.node, pairs, float32)
    return low[0], high[0]


def start(model: Model, bugs: frozenset[str]) -> Bounds:
    free = model.claim.free
    low = np.array([float(v[1]) if v[1] is not None else -np.inf for v in free])
    high = np.array([float(v[2]) if v[2] is not None else np.inf for v in free])
    bounds = Bounds([low], [high], frozenset())
    refresh(model, bounds, bugs)
    return bounds


def refresh(model: Model, bounds: Bounds, bugs: frozenset[str]) -> None:
    """Interval bounds of every value after the first, intersected with those known."""
    for v in range(1, len(model.values)):
        low, high = forward(model, bounds, v, bugs)
        if v < len(bounds.low):
            bounds.low[v] = np.maximum(bounds.low[v], low)
            bounds.high[v] = np.minimum(bounds.high[v], high)
        else:
            bounds.low.append(low)
            bounds.high.append(high)


def radius(
    model: Model, bounds: Bounds, v: int, low: Array | None = None, high: Array | None = None
) -> Array:
    """How far a float32 evaluation may be off, section 4 of the page."""
    value = model.values[v]
    low, high = (bounds.low[v], bounds.high[v]) if low is None or high is None else (low, high)
    size = np.maximum(np.abs(low), np.abs(high))
    match value.kind:
        case "mix":
            return np.where(value.rounds, 1.01 * UNIT * size + TINY, 0)
        case "affine":
            _, source, weights, bias = value.node
            inner = np.maximum(np.abs(bounds.low[source]), np.abs(bounds.high[source]))
            n = weights.shape[1]
            return 1.01 * (n + 1) * UNIT * (np.abs(weights) @ inner + np.abs(bias)) + (4 * n + 4) * TINY
        case "add" | "multiply" | "divide" | "sum" | "product" | "quotient" | "leaky_relu":
            return 1.01 * UNIT * size + TINY
        case "tanh" | "sigmoid":
            return np.full(len(size), 2.1 * 2.0**-23)
    return np.zeros(len(size))


def substitute(
    model: Model, bounds: Bounds, terms: Terms, constant: float, bugs: frozenset[str]
) -> tuple[Array, float]:
    """Coefficients of value 0 and a constant of a linear function below the sum of the terms."""
    weights = [np.zeros(len(low)) for low in bounds.low]
    for v, i, c in terms:
        weights[v][i] += c
    for v in range(len(model.values) - 1, 0, -1):
        c = weights[v]
        if not c.any():
            continue
        if model.claim.float32 and "no rounding" not in bugs:
            constant -= float(np.abs(c) @ radius(model, bounds, v))
        constant += _replace(model, bounds, v, c, weights, bugs)
    return weights[0], constant


def least(bounds: Bounds, coefficients: Array) -> float:
    with np.errstate(invalid="ignore"):
        ends = np.where(coefficients > 0, coefficients * bounds.low[0], coefficients * bounds.high[0])
    return float(np.where(coefficients == 0, 0, ends).sum())


def _replace(
    model: Model, bounds: Bounds, v: int, c: Array, weights: list[Array], bugs: frozenset[str]
) -> float:
    value = model.values[v]
    if value.kind == "mix":
        total = 0.0
        for factor, (terms, constant) in zip(c, value.forms, strict=True):
            total += factor * constant
            for source, entry, other in terms:
                weights[source][entry] += factor * other
        return total
    node = value.node
    match value.kind:
        case "affine":
            weights[node[1]] += c @ node[2]
            return float(c @ node[3])
        case "add":
            weights[node[1]] += c
            return float(c @ node[2])
        case "multiply":
            weights[node[1]] += c * node[2]
        case "divide":
            weights[node[1]] += c / node[2]
        case "sum":
            weights[node[1]] += c
            weights[node[2]] += c
        case "pick":
            np.add.at(weights[node[1]], node[2], c)
        case "join":
            place = 0
            for source in node[1]:
                width = len(weights[source])
                weights[source] += c[place : place + width]
                place += width
        case "maximum" | "product" | "quotient":
            return _pair(bounds, v, value, c, weights, bugs)
        case _:
            low, high = bounds.low[node[1]], bounds.high[node[1]]
            below, above = _lines(value.kind, node[2:], low, high, bounds.slopes.get(v), bugs)
            slope = np.where(c > 0, below[0], above[0])
            weights[node[1]] += c * slope
            return float(c @ np.where(c > 0, below[1], above[1]))
    return 0.0


def _lines(
    kind: str,
    parameters: tuple[float, ...],
    low: Array,
    high: Array,
    given: Array | None,
    bugs: frozenset[str],
) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    """(slope, constant) below and above, entry by entry."""
    width = np.maximum(high - low, 1e-30)
    if kind in ("relu", "leaky_relu") and (kind == "relu" or parameters[0] <= 1):
        least_slope = 0.0 if kind == "relu" else parameters[0]
        inside = (low < 0) & (high > 0)
        fixed = np.where(low >= 0, 1.0, least_slope)
        chosen = np.where(high > -low, 1.0, least_slope) if given is None else given
        below = np.where(inside, chosen, fixed)
        chord = np.where(inside, (high - least_slope * low) / width, fixed)
        constant = np.where(inside, high - chord * high, 0.0)
        if "slope above one" in bugs:
            below = np.where(inside, 1.5 * chord, fixed)
        if "chord below" in bugs:
            return (chord, constant), (chord, constant)
        if "flat above" in bugs:
            return (below, np.zeros(len(low))), (chord, np.zeros(len(low)))
        return (below, np.zeros(len(low))), (chord, constant)
    apply = {
        "tanh": np.tanh,
        "sigmoid": sigmoid,
        "clip": lambda x: np.clip(x, *parameters),
        "leaky_relu": lambda x: np.where(x >= 0, x, x * parameters[0]),
    }[kind]
    smooth = kind in ("tanh", "sigmoid")
    slope = (apply(high) - apply(low)) / width if smooth else np.zeros(len(low))
    if kind == "tanh":
        turn = np.arctanh(np.sqrt(np.clip(1 - slope, 0, 1 - 1e-12)))
        points = [low, high, np.clip(turn, low, high), np.clip(-turn, low, high)]
    elif kind == "sigmoid":
        turn = 2 * np.arctanh(np.sqrt(np.clip(1 - 4 * slope, 0, 1 - 1e-12)))
        points = [low, high, np.clip(turn, low, high), np.clip(-turn, low, high)]
    else:
        points = [low, high, *(np.clip(p, low, high) for p in (*parameters, 0.0))]
    gaps = np.array([apply(p) - slope * p for p in points])
    if "tangent at the ends" in bugs:
        gaps = gaps[:2]
    return (slope, gaps.min(axis=0) - 1e-12), (slope, gaps.max(axis=0) + 1e-12)


def _below_quotient(corners: list[Array], share: Array, bugs: frozenset[str]) -> tuple[Array, Array, Array]:
    """Slopes of x and y and the constant of a plane below x / y, for divisors of one sign."""
    sign = np.where(corners[3] < 0, -1.0, 1.0)
    signed = [
        np.where(sign < 0, -b, a) for a, b in zip(corners, np.array(corners)[[1, 0, 3, 2]], strict=True)
    ]
    lx, hx, ly, hy = signed
    total = ly + hy
    planes = []
    for factor, end in ((lx, hy), (hx, ly)):
        tangent = (factor >= 0) != ("chord for tangent" in bugs)
        start = np.where(tangent, 4 / total, total / (ly * hy))
        fall = np.where(tangent, 4 / total**2, 1 / (ly * hy))
        planes.append((1 / end, -factor * fall, factor * (start - 1 / end)))
    of_x, of_y, constant = ((1 - share) * p + share * q for p, q in zip(*planes, strict=True))
    return sign * of_x, sign * of_y, constant


def _quotient(
    corners: list[Array], given: Array | None, bugs: frozenset[str]
) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
    """Planes of the given shares, those for below and those for above, or constants."""
    lx, hx, ly, hy = corners
    if given is None:
        ends, zero = np.array([lx / ly, lx / hy, hx / ly, hx / hy]), np.zeros(len(lx))
        return (zero, zero, ends.min(axis=0)), (zero, zero, ends.max(axis=0))
    of_x, of_y, constant = _below_quotient([-hx, -lx, ly, hy], given[1], bugs)
    return _below_quotient(corners, given[0], bugs), (of_x, -of_y, -constant)


def _pair(
    bounds: Bounds, v: int, value: Value, c: Array, weights: list[Array], bugs: frozenset[str]
) -> float:
    kind, left, right = value.node
    lx, hx, ly, hy = bounds.low[left], bounds.high[left], bounds.low[right], bounds.high[right]
    if kind == "quotient":
        below, above = _quotient([lx, hx, ly, hy], bounds.slopes.get(v), bugs)
    elif kind == "product":
        below, above = (ly, lx, -lx * ly), (ly, hx, -hx * ly)
    else:
        first = (lx + hx >= ly + hy).astype(float)
        below = (first, 1 - first, np.zeros(len(lx)))
        l, h = lx - hy, hx - ly  # noqa: E741
        inside = (l < 0) & (h > 0)
        slope = np.where(inside, h / np.maximum(h - l, 1e-30), (l >= 0).astype(float))
        above = (slope, 1 - slope, np.where(inside, -slope * l, 0))
    chosen = [np.where(c > 0, b, a) for b, a in zip(below, above, strict=True)]
    weights[left] += c * chosen[0]
    weights[right] += c * chosen[1]
    return float(c @ chosen[2])
