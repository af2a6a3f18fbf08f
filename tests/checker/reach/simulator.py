"""Runs of closed loops in plain floats, from the JSON of a problem: what sets have to contain.

Written for tests alone, and on its own: it shares no code with the checker but the reading of networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from surefoot_checker.kernel.network import (
    ActivationNode,
    AffineNode,
    CombineNode,
    ElementwiseNode,
    FlatNetwork,
    JoinNode,
    PickNode,
)

Json = Any
Values = Mapping[str, Any]
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "+": lambda *xs: sum(xs),
    "*": lambda *xs: math.prod(xs),
    "-": lambda a, b: a - b,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a**b,
    "negate": lambda a: -a,
    "abs": abs,
    "min": min,
    "max": max,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
    "not": lambda a: not a,
    "and": lambda *xs: all(xs),
    "or": lambda *xs: any(xs),
    "floor": math.floor,
    **{
        n: getattr(math, n)
        for n in ("sqrt", "exp", "log", "sin", "cos", "tan", "asin", "acos", "atan", "tanh")
    },
}


def number(data: Json) -> float:
    return float(Fraction(data)) if not isinstance(data, bool) else data


def evaluate(term: Json, values: Values) -> Any:
    if isinstance(term, bool):
        return term
    if not isinstance(term, list):
        return number(term)
    word, *parts = term
    if word == "name":
        return values[parts[0]]
    if word == "ite":
        return evaluate(parts[1] if evaluate(parts[0], values) else parts[2], values)
    return _FUNCTIONS[word](*[evaluate(p, values) for p in parts])


def run_network(network: FlatNetwork, inputs: Sequence[float]) -> list[float]:
    known: list[list[float]] = [list(inputs)]
    for node in network.nodes:
        match node:
            case AffineNode(source, columns, weights, bias):
                x = known[source]
                rows = [weights[i * columns : (i + 1) * columns] for i in range(len(bias))]
                found = [sum(map(float.__mul__, row, x)) + b for row, b in zip(rows, bias, strict=True)]
            case ElementwiseNode(source, kind, constant):
                operation = {"add": "+", "multiply": "*", "divide": "/"}[kind]
                found = [_FUNCTIONS[operation](x, c) for x, c in zip(known[source], constant, strict=True)]
            case ActivationNode(source, kind, parameters):
                found = [_activate(kind, x, parameters) for x in known[source]]
            case CombineNode(left, right, kind):
                operation = {"sum": "+", "product": "*", "maximum": "max", "quotient": "/"}[kind]
                found = [_FUNCTIONS[operation](x, y) for x, y in zip(known[left], known[right], strict=True)]
            case PickNode(source, indices):
                found = [known[source][i] for i in indices]
            case JoinNode(sources):
                found = [x for source in sources for x in known[source]]
        known.append(found)
    return known[-1]


def _activate(kind: str, x: float, parameters: Sequence[float]) -> float:
    match kind:
        case "relu":
            return max(x, 0.0)
        case "leaky_relu":
            return x if x >= 0 else parameters[0] * x
        case "clip":
            return min(max(x, parameters[0]), parameters[1])
        case "tanh":
            return math.tanh(x)
    return 1 / (1 + math.exp(-x))


def set_controls(problem: Json, network: FlatNetwork | None, state: Values) -> dict[str, float]:
    policy = problem["policy"]
    outputs: list[float] | None = None
    for rule in policy["rules"]:
        if evaluate(rule["when"], state):
            outputs = [evaluate(t, state) for t in rule["then"]]
            break
    if outputs is None:
        assert network is not None
        outputs = run_network(network, [float(evaluate(t, state)) for t in policy["observe"]])
    found = {}
    for (control, low, high, _), value in zip(problem["controls"], outputs, strict=True):
        value = value if low is None else max(value, number(low))
        found[control] = value if high is None else min(value, number(high))
    return found


def integrate(
    derivatives: Sequence[Json],
    state: dict[str, float],
    held: Callable[[float], Values],
    length: float,
    steps: int,
) -> list[dict[str, float]]:
    """Runge and Kutta, fourth order; `held`: controls and chosen values at a time. All states on the way."""
    names, h = list(state), length / steps
    found = [dict(state)]

    def rate(at: Sequence[float], time: float) -> list[float]:
        values = {**dict(zip(names, at, strict=True)), **held(time)}
        return [evaluate(d, values) for d in derivatives]

    here = [state[n] for n in names]
    for i in range(steps):
        t = i * h
        a = rate(here, t)
        b = rate([x + h / 2 * k for x, k in zip(here, a, strict=True)], t + h / 2)
        c = rate([x + h / 2 * k for x, k in zip(here, b, strict=True)], t + h / 2)
        d = rate([x + h * k for x, k in zip(here, c, strict=True)], t + h)
        here = [x + h / 6 * (p + 2 * q + 2 * r + s) for x, p, q, r, s in zip(here, a, b, c, d, strict=True)]
        found.append(dict(zip(names, here, strict=True)))
    return found
