"""What networks in certificates compute, written down a second time for tests: exactly, and in float32."""

from __future__ import annotations

import base64
import random
import struct
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.term.elementary import PI, elementary_decimal


def numbers(data: str) -> list[float]:
    return [v for (v,) in struct.iter_unpack("<f", base64.b64decode(data))]


def parameter(text: str) -> Fraction:
    return Fraction(float.fromhex(text)) if "x" in text else Fraction(text)


def tanh(x: Fraction) -> Fraction:
    """Within 10^-60, relative."""
    with localcontext() as context:
        context.prec = 80
        power = (2 * Decimal(x.numerator) / Decimal(x.denominator)).exp()
        return Fraction((power - 1) / (power + 1)) if x else Fraction(0)


CURVES = ("step", "softplus", "elu", "erf", "exp", "sqrt", "sin", "cos")


def curve(kind: str, x: Fraction, factor: Fraction = Fraction(0)) -> Fraction:
    """Within 10^-50."""
    with localcontext() as context:
        context.prec = 200
        d = Decimal(x.numerator) / Decimal(x.denominator)
        match kind:
            case "tanh":
                return tanh(x) if abs(x) < 200 else Fraction(1 if x > 0 else -1)
            case "sigmoid":
                return (1 + curve("tanh", x / 2)) / 2
            case "step":
                return Fraction(x > 0)
            case "softplus":
                return x if x > 300 else Fraction((1 + max(d, Decimal(-300)).exp()).ln())
            case "elu":
                return x if x >= 0 else factor * Fraction(max(d, Decimal(-300)).exp() - 1)
            case "exp":
                return Fraction(d.exp())
            case "sqrt":
                return Fraction(d.sqrt())
            case "erf":
                return Fraction(1 if d > 0 else -1) if abs(d) > 12 else Fraction(_erf(d))
            case _:
                return Fraction(elementary_decimal(kind, d))


def _erf(x: Decimal) -> Decimal:
    total, term, n = Decimal(0), x, 0
    while n < 40 or abs(term) > Decimal(10) ** -120:
        total += term / (2 * n + 1)
        n += 1
        term = -term * x * x / n
    return 2 * total / PI.sqrt()


def exact_values(nodes: Sequence[Sequence[Any]], point: Sequence[Fraction]) -> list[list[Fraction]]:
    """All values of a network in real arithmetic (tanh and sigmoid to many digits)."""
    values = [list(point)]
    for node in nodes:
        values.append(_exact(node, values))
    return values


def _exact(node: Sequence[Any], values: list[list[Fraction]]) -> list[Fraction]:
    kind = node[0]
    if kind == "join":
        return [x for s in node[1] for x in values[s]]
    x = values[node[1]]
    if kind == "affine":
        _, _, rows, columns, weights, bias = node
        w = [Fraction(v) for v in numbers(weights)]
        found = [Fraction(b) for b in numbers(bias)]
        for i in range(rows):
            found[i] += sum(w[i * columns + j] * x[j] for j in range(columns))
        return found
    if kind in ("add", "multiply", "divide"):
        return [_pair(kind, a, Fraction(c)) for a, c in zip(x, numbers(node[2]), strict=True)]
    if kind in ("sum", "product", "maximum", "quotient"):
        return [_pair(kind, a, b) for a, b in zip(x, values[node[2]], strict=True)]
    if kind == "pick":
        return [x[i] for i in node[2]]
    if kind == "relu":
        return [max(a, Fraction(0)) for a in x]
    if kind == "leaky_relu":
        return [a if a > 0 else parameter(node[2]) * a for a in x]
    if kind == "clip":
        return [min(max(a, parameter(node[2])), parameter(node[3])) for a in x]
    if kind == "tanh":
        return [tanh(a) for a in x]
    if kind in CURVES:
        given = parameter(node[2]) if kind == "elu" else Fraction(0)
        return [curve(kind, a, given) for a in x]
    assert kind == "sigmoid"
    return [(1 + tanh(a / 2)) / 2 for a in x]


def _pair(kind: str, a: Fraction, b: Fraction) -> Fraction:
    if kind in ("add", "sum"):
        return a + b
    if kind in ("multiply", "product"):
        return a * b
    return max(a, b) if kind == "maximum" else a / b


def float32_values(
    nodes: Sequence[Sequence[Any]], point: Sequence[float], choice: random.Random
) -> list[list[np.float32]]:
    """All values as some computer gets them: sums in random order and grouping, sometimes fused."""
    values = [[np.float32(x) for x in point]]
    for node in nodes:
        values.append(_rounded(node, values, choice))
    return values


def _rounded(node: Sequence[Any], values: list[list[np.float32]], choice: random.Random) -> list[np.float32]:
    kind = node[0]
    if kind == "join":
        return [x for s in node[1] for x in values[s]]
    x = values[node[1]]
    if kind == "affine":
        _, _, rows, columns, weights, bias = node
        w, b = numbers(weights), numbers(bias)
        return [_dot(w[i * columns : (i + 1) * columns], x, b[i], choice) for i in range(rows)]
    if kind in ("add", "multiply", "divide"):
        return [_pair32(kind, a, np.float32(c)) for a, c in zip(x, numbers(node[2]), strict=True)]
    if kind in ("sum", "product", "maximum", "quotient"):
        return [_pair32(kind, a, b) for a, b in zip(x, values[node[2]], strict=True)]
    if kind == "pick":
        return [x[i] for i in node[2]]
    if kind == "leaky_relu":
        return [a if a > 0 else np.float32(float(parameter(node[2]))) * a for a in x]
    if kind in ("relu", "clip"):
        ends = [float(parameter(p)) for p in node[2:]] or [0.0, float("inf")]
        return [np.float32(min(max(float(a), ends[0]), ends[1])) for a in x]
    if kind == "step":
        return [np.float32(a > 0) for a in x]
    given = parameter(node[2]) if kind == "elu" else Fraction(0)
    exact = [float(curve(kind, Fraction(float(a)), given)) for a in x]
    off = [choice.choice((-1, 0, 1)) for _ in exact]
    return [
        np.nextafter(np.float32(e), np.float32(o * 10)) if o else np.float32(e)
        for e, o in zip(exact, off, strict=True)
    ]


def _dot(w: Sequence[float], x: Sequence[np.float32], b: float, choice: random.Random) -> np.float32:
    products = [np.float32(a) * c for a, c in zip(w, x, strict=True)] + [np.float32(b)]
    if choice.random() < 0.5:
        choice.shuffle(products)
        while len(products) > 1:
            i = choice.randrange(len(products) - 1)
            products[i : i + 2] = [products[i] + products[i + 1]]
        return products[0]
    total = np.float32(b)
    for a, c in zip(w, x, strict=True):
        total = np.float32(float(np.float64(a) * np.float64(c) + np.float64(total)))  # fused, nearly
    return total


def _pair32(kind: str, a: np.float32, b: np.float32) -> np.float32:
    if kind in ("add", "sum"):
        return np.float32(a + b)
    if kind in ("multiply", "product"):
        return np.float32(a * b)
    return max(a, b) if kind == "maximum" else np.float32(a / b)
