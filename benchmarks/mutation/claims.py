"""Claims of certificates as data to compute with: points and boxes through networks, without the checker.

Everything works on batches: a value is an array of shape (batch, width), a box a pair of such arrays. Bounds
of boxes are float64 with a pad that covers its roundings and, for float32 claims, those of every float32
evaluation.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Variable: TypeAlias = tuple[str, Fraction | None, Fraction | None, str]  # name, low, high, kind
Named: TypeAlias = dict[str, Any]  # name to a column of points, or to its (low, high)
UNIT, TINY = 2.0**-24, 2.0**-126


@dataclass(frozen=True, slots=True)
class Claim:
    """No values of the variables satisfy the formula; `calls` name the outputs they make."""

    variables: tuple[Variable, ...]
    networks: tuple[Mapping[str, Any], ...]
    calls: tuple[tuple[int, tuple[Mapping[str, Fraction], ...], tuple[str, ...]], ...]
    formula: tuple[Any, ...]
    float32: bool

    @property
    def free(self) -> list[Variable]:
        """The variables that no call makes, with the bounds that single comparisons of the formula add."""
        made = {name for _, _, outputs in self.calls for name in outputs}
        return [self._bounded(v) for v in self.variables if v[0] not in made]

    def _bounded(self, variable: Variable) -> Variable:
        name, low, high, kind = variable
        lows, highs = [low] if low is not None else [], [high] if high is not None else []
        waiting = [self.formula]
        while waiting:
            relation, *parts = waiting.pop()
            if relation == "and":
                waiting += parts
            elif relation != "or" and parts[0].get(name) and not parts[0].keys() - {name, ""}:
                end = -parts[0].get("", Fraction(0)) / parts[0][name]
                if relation == "=" or parts[0][name] > 0:
                    highs.append(end)
                if relation == "=" or parts[0][name] < 0:
                    lows.append(end)
        return name, max(lows, default=None), min(highs, default=None), kind


def exact(data: int | str) -> Fraction:
    """A number as certificates write it."""
    if isinstance(data, str) and "0x" in data.lower():
        return Fraction(float.fromhex(data))
    return Fraction(data)


def read_claim(claim: Mapping[str, Any], arithmetic: str) -> Claim:
    return Claim(
        tuple(
            (n, None if low is None else exact(low), None if high is None else exact(high), kind)
            for n, low, high, kind in claim["variables"]
        ),
        tuple({"width": n["width"], "nodes": [_node(m) for m in n["nodes"]]} for n in claim["networks"]),
        tuple((n, tuple(map(_linear, inputs)), tuple(outputs)) for n, inputs, outputs in claim["calls"]),
        _formula(claim["formula"]),
        arithmetic == "float32",
    )


def _linear(form: Mapping[str, Any]) -> dict[str, Fraction]:
    return {name: exact(c) for name, c in form.items()}


def _formula(data: Sequence[Any]) -> tuple[Any, ...]:
    if data[0] in ("and", "or"):
        return (data[0], *map(_formula, data[1:]))
    return (data[0], _linear(data[1]))


def _node(data: Sequence[Any]) -> tuple[Any, ...]:
    kind, rest = data[0], list(data[1:])
    if kind == "affine":
        weights = _floats(rest[3]).reshape(rest[1], rest[2])
        return (kind, rest[0], weights, _floats(rest[4]))
    if kind in ("add", "multiply", "divide"):
        return (kind, rest[0], _floats(rest[1]))
    if kind in ("leaky_relu", "clip"):
        return (kind, rest[0], *(float(exact(p)) for p in rest[1:]))
    return (kind, *rest)


def _floats(data: str) -> Array:
    return np.frombuffer(b64decode(data), "<f4").astype(np.float64)


def sigmoid(x: Array) -> Array:
    return 0.5 * (1 + np.tanh(0.5 * x))


# Points: float64 for the search, float32 as one of the evaluations that a float32 claim speaks of.


def through(network: Mapping[str, Any], inputs: Array) -> Array:
    """The outputs of a network at points, in the arithmetic of the inputs, sums from first to last."""
    values = [inputs]
    for node in network["nodes"]:
        values.append(_at(node, values).astype(inputs.dtype))
    return values[-1]


def _at(node: tuple[Any, ...], values: list[Array]) -> Array:
    kind, x = node[0], values[node[1]] if isinstance(node[1], int) else values[0]
    kept = x.dtype
    match kind:
        case "affine":
            if kept == np.float64:
                return np.asarray(x @ node[2].T + node[3])
            total = np.zeros((len(x), len(node[3])), kept)
            for column in range(x.shape[1]):
                total += x[:, column : column + 1] * node[2][:, column].astype(kept)
            return total + node[3].astype(kept)
        case "add":
            return x + node[2].astype(kept)
        case "multiply":
            return x * node[2].astype(kept)
        case "divide":
            return x / node[2].astype(kept)
        case "relu":
            return np.maximum(x, 0)
        case "leaky_relu":
            return np.where(x >= 0, x, x * kept.type(node[2]))
        case "clip":
            return np.clip(x, kept.type(node[2]), kept.type(node[3]))
        case "tanh":
            return np.tanh(x.astype(np.float64))
        case "sigmoid":
            return sigmoid(x.astype(np.float64))
        case "sum":
            return x + values[node[2]]
        case "product":
            return x * values[node[2]]
        case "maximum":
            return np.maximum(x, values[node[2]])
        case "quotient":
            return x / values[node[2]]
        case "pick":
            return x[:, node[2]]
        case "join":
            return np.concatenate([values[s] for s in node[1]], axis=1)
    raise ValueError(kind)


def outputs_at(claim: Claim, points: Named) -> Named:
    """The points with the outputs of all calls."""
    found, kind = dict(points), np.float32 if claim.float32 else np.float64
    with np.errstate(all="ignore"):
        for number, inputs, outputs in claim.calls:
            columns = [_combined(form, found) for form in inputs]
            made = through(claim.networks[number], np.stack(columns, axis=1).astype(kind))
            found |= {name: made[:, i].astype(np.float64) for i, name in enumerate(outputs)}
    return found


def _combined(form: Mapping[str, Fraction], columns: Named) -> Array:
    size = len(next(iter(columns.values())))
    total = np.full(size, float(form.get("", 0)))
    for name, c in form.items():
        if name:
            total = total + float(c) * columns[name]
    return total


def distance(formula: tuple[Any, ...], columns: Named) -> Array:
    """How far the formula is from true: at most 0 where it holds, in float64."""
    kind, *parts = formula
    size = len(next(iter(columns.values())))
    if kind in ("and", "or"):
        if not parts:
            return np.full(size, -np.inf if kind == "and" else np.inf)
        each = [distance(p, columns) for p in parts]
        return np.asarray(np.max(each, axis=0) if kind == "and" else np.min(each, axis=0))
    value = _combined(parts[0], columns)
    return np.abs(value) if kind == "=" else value


def holds_exactly(formula: tuple[Any, ...], point: Mapping[str, Fraction]) -> bool:
    kind, *parts = formula
    if kind == "and":
        return all(holds_exactly(p, point) for p in parts)
    if kind == "or":
        return any(holds_exactly(p, point) for p in parts)
    value = sum((c * (point[n] if n else 1) for n, c in parts[0].items()), Fraction(0))
    return value <= 0 if kind == "<=" else value < 0 if kind == "<" else value == 0


# Boxes.


def boxes_through(claim: Claim, box: Named) -> Named:
    """Enclosures of the outputs of all calls; NaN where nothing can be said."""
    found = dict(box)
    with np.errstate(all="ignore"):
        for number, inputs, outputs in claim.calls:
            forms = [enclosed(form, found) for form in inputs]
            low, high = (np.stack([f[i] for f in forms], axis=1) for i in (0, 1))
            low, high = padded(low, high, claim.float32, UNIT)
            values = [(low, high)]
            for node in claim.networks[number]["nodes"]:
                values.append(enclosure(node, values, claim.float32))
            found |= {n: (values[-1][0][:, i], values[-1][1][:, i]) for i, n in enumerate(outputs)}
    return found


def padded(low: Array, high: Array, float32: bool, relative: float) -> tuple[Array, Array]:
    size = np.maximum(np.abs(low), np.abs(high))
    pad = size * (2 * relative if float32 else 1e-12) + (1e-30 if float32 else 1e-13)
    return low - pad, high + pad


def enclosed(form: Mapping[str, Fraction], box: Named) -> tuple[Array, Array]:
    size = len(next(iter(box.values()))[0])
    low = high = np.full(size, float(form.get("", 0)))
    for name, c in form.items():
        if name:
            ends = float(c) * box[name][0], float(c) * box[name][1]
            low, high = low + np.minimum(*ends), high + np.maximum(*ends)
    pad = 1e-12 * (1 + np.maximum(np.abs(low), np.abs(high)))
    return low - pad, high + pad


def enclosure(node: tuple[Any, ...], values: list[tuple[Array, Array]], float32: bool) -> tuple[Array, Array]:
    kind = node[0]
    if kind == "join":
        return tuple(np.concatenate([values[s][i] for s in node[1]], axis=1) for i in (0, 1))  # type: ignore[return-value]
    low, high = values[node[1]]
    match kind:
        case "affine":
            up, down = np.maximum(node[2], 0).T, np.minimum(node[2], 0).T
            size = np.maximum(np.abs(low), np.abs(high)) @ np.abs(node[2]).T + np.abs(node[3])
            steps = (node[2].shape[1] + 2) * (2 * UNIT if float32 else 1e-15)
            pad = size * steps + (1e-30 if float32 else 1e-13)
            return low @ up + high @ down + node[3] - pad, high @ up + low @ down + node[3] + pad
        case "pick":
            return low[:, node[2]], high[:, node[2]]
        case "relu":
            return np.maximum(low, 0), np.maximum(high, 0)
        case "clip":
            return np.clip(low, node[2], node[3]), np.clip(high, node[2], node[3])
        case "maximum":
            return np.maximum(low, values[node[2]][0]), np.maximum(high, values[node[2]][1])
        case "tanh":
            return padded(np.tanh(low), np.tanh(high), True, 8 * UNIT)
        case "sigmoid":
            return padded(sigmoid(low), sigmoid(high), True, 8 * UNIT)
        case "add":
            ends = [low + node[2], high + node[2]]
        case "multiply":
            ends = [low * node[2], high * node[2]]
        case "divide":
            ends = [low / node[2], high / node[2]]
        case "leaky_relu":
            ends = [np.where(e >= 0, e, e * node[2]) for e in (low, high)]
            ends += [np.where((low < 0) & (high > 0), 0.0, ends[0])]
        case "sum":
            ends = [low + values[node[2]][0], high + values[node[2]][1]]
        case "product" | "quotient":
            below, above = values[node[2]]
            if kind == "quotient":
                below, above = np.where((below > 0) | (above < 0), (1 / above, 1 / below), np.nan)
            ends = [low * below, low * above, high * below, high * above]
        case _:
            raise ValueError(kind)
    return padded(np.min(ends, axis=0), np.max(ends, axis=0), float32, 2 * UNIT)


def possible(formula: tuple[Any, ...], box: Named) -> NDArray[np.bool_]:
    """Whether the formula may hold somewhere in each box; only a clear no is one."""
    kind, *parts = formula
    size = len(next(iter(box.values()))[0])
    if kind in ("and", "or"):
        each = [possible(p, box) for p in parts]
        start = np.full(size, kind == "and")
        return (np.logical_and if kind == "and" else np.logical_or).reduce([start, *each])
    low, high = enclosed(parts[0], box)
    impossible = (low > 0) | ((high < 0) if kind == "=" else (low >= 0) if kind == "<" else False)
    return np.asarray(~impossible)
