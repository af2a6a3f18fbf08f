"""Whether a small claim is true: by a witness, by boxes that all exclude it, or by Z3. Never by the checker.

A witness is verified in exact rational arithmetic, or as a float32 evaluation with outputs compared exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import ceil, floor
from typing import Any

import numpy as np

from benchmarks.mutation.claims import (
    Array,
    Claim,
    Named,
    boxes_through,
    distance,
    holds_exactly,
    outputs_at,
    possible,
)

SAMPLES = 2048
MOST_BOXES = 300_000
BATCH = 8192


def truth(claim: Claim, seed: int = 0, most_boxes: int = MOST_BOXES) -> tuple[bool | None, str]:
    """(False, witness), (True, how it was shown) or (None, why it is not known)."""
    box = _box(claim)
    if box is None:
        return True, "some variable has no value at all"
    if (witness := find_witness(claim, seed)) is not None:
        return False, f"witness {witness}"
    if any(low is None or high is None for _, low, high, _ in claim.free):
        return None, "unbounded variables"
    found = _subdivide(claim, box, seed, most_boxes)
    if found[0] is not None:
        return found
    if _by_z3(claim, networks=False):
        return True, "the formula contradicts itself, whatever the outputs are (Z3)"
    answer = _by_z3(claim)
    return found if answer is None else (answer, "Z3")


def _box(claim: Claim) -> dict[str, tuple[float, float]] | None:
    box = {}
    for name, low, high, kind in claim.free:
        below, above = float(low) if low is not None else -1e6, float(high) if high is not None else 1e6
        if low is None or high is None:
            empty = False
        elif kind == "integer":
            empty = ceil(low) > floor(high)
        else:
            empty = low > high
        if empty:
            return None
        box[name] = (below, above)
    return box


def _snapped(claim: Claim, points: Mapping[str, Array]) -> Named:
    """Points with every variable moved to a value of its kind inside its bounds, as far as float64 tells."""
    found = {}
    for name, _, _, kind in claim.free:
        column = points[name]
        if kind == "integer":
            column = np.round(column)
        elif kind == "float32":
            column = column.astype(np.float32).astype(np.float64)
        found[name] = column
    return found


def find_witness(claim: Claim, seed: int, samples: int = SAMPLES) -> dict[str, str] | None:
    """Random points, corners and a few rounds of smaller steps around the best ones."""
    box = _box(claim)
    if box is None:
        return None
    random, names = np.random.default_rng(seed), list(box)
    low, high = (np.array([box[n][i] for n in names]) for i in (0, 1))
    corners = np.array(list(product((0.0, 0.5, 1.0), repeat=min(len(names), 6))))
    corners = np.pad(corners, ((0, 0), (0, len(names) - corners.shape[1])), constant_values=0.5)
    places = np.concatenate([random.random((samples, len(names))), corners])
    radius = 0.25
    best: Array = np.zeros((0, len(names)))
    for _ in range(12):
        points = _snapped(claim, {n: (low + places * (high - low))[:, i] for i, n in enumerate(names)})
        made = outputs_at(claim, points)
        away = distance(claim.formula, made)
        away = np.where(np.isnan(away), np.inf, away)
        order = np.argsort(away)[:24]
        for place in order[:8]:
            if away[place] <= 1e-6 and _is_witness(claim, made, int(place)):
                return {n: repr(float(made[n][place])) for n in names}
        best = places[order]
        steps = random.normal(size=(24, 40, len(names))) * radius
        places = np.concatenate([best, np.clip(best[:, None] + steps, 0, 1).reshape(-1, len(names))])
        radius *= 0.5
    return None


def _is_witness(claim: Claim, made: Named, place: int) -> bool:
    point = {name: Fraction(float(made[name][place])) for name, *_ in claim.free}
    for name, low, high, kind in claim.free:
        value = point[name]
        if (low is not None and value < low) or (high is not None and value > high):
            return False
        if kind == "integer" and value.denominator != 1:
            return False
    found: dict[str, Fraction] | None
    if claim.float32:
        found = _float32_outputs(claim, point)
    elif any(n[0] in ("tanh", "sigmoid") for net in claim.networks for n in net["nodes"]):
        # float64 is far more exact than this margin
        return bool(distance(claim.formula, {k: v[place : place + 1] for k, v in made.items()})[0] < -1e-9)
    else:
        found = exact_outputs(claim, point)
    if found is None:
        return False
    for name, low, high, kind in claim.variables:
        value = found[name]
        if (low is not None and value < low) or (high is not None and value > high):
            return False
        if kind == "integer" and value.denominator != 1:
            return False
    return holds_exactly(claim.formula, found)


def _float32_outputs(claim: Claim, point: dict[str, Fraction]) -> dict[str, Fraction] | None:
    """One float32 evaluation; an input that is no float32 number is rounded first."""
    made = outputs_at(claim, {n: np.array([float(v)]) for n, v in point.items()})
    if not all(np.isfinite(v).all() for v in made.values()):
        return None
    return point | {n: Fraction(float(v[0])) for n, v in made.items() if n not in point}


def exact_outputs(claim: Claim, point: dict[str, Fraction]) -> dict[str, Fraction] | None:
    found = dict(point)
    for number, inputs, outputs in claim.calls:
        start = [sum((c * (found[n] if n else 1) for n, c in f.items()), Fraction(0)) for f in inputs]
        values = [start]
        for node in claim.networks[number]["nodes"]:
            result = _exact_node(node, values)
            if result is None:
                return None
            values.append(result)
        found |= dict(zip(outputs, values[-1], strict=True))
    return found


def _exact_node(node: tuple[Any, ...], values: list[list[Fraction]]) -> list[Fraction] | None:
    kind = node[0]
    if kind == "join":
        return [x for s in node[1] for x in values[s]]
    x = values[node[1]]
    if kind == "affine":
        return [
            sum((Fraction(w) * v for w, v in zip(row.tolist(), x, strict=True)), Fraction(b))
            for row, b in zip(node[2], node[3].tolist(), strict=True)
        ]
    if kind == "pick":
        return [x[i] for i in node[2]]
    if kind in ("add", "multiply", "divide"):
        constants = [Fraction(c) for c in node[2].tolist()]
        apply: Any = {"add": Fraction.__add__, "multiply": Fraction.__mul__, "divide": Fraction.__truediv__}[
            kind
        ]
        return [apply(v, c) for v, c in zip(x, constants, strict=True)]
    if kind in ("sum", "product", "maximum", "quotient"):
        y = values[node[2]]
        if kind == "quotient" and not all(y):
            return None
        both: Any = {
            "sum": Fraction.__add__,
            "product": Fraction.__mul__,
            "maximum": max,
            "quotient": Fraction.__truediv__,
        }[kind]
        return [both(a, b) for a, b in zip(x, y, strict=True)]
    if kind == "relu":
        return [max(v, Fraction(0)) for v in x]
    if kind == "leaky_relu":
        return [v if v >= 0 else v * Fraction(node[2]) for v in x]
    if kind == "clip":
        return [min(max(v, Fraction(node[2])), Fraction(node[3])) for v in x]
    raise ValueError(kind)


def _subdivide(
    claim: Claim, box: dict[str, tuple[float, float]], seed: int, most_boxes: int
) -> tuple[bool | None, str]:
    """Halve boxes until the formula is impossible in each; None when there are too many."""
    names = list(box)
    whole = [kind == "integer" for _, _, _, kind in claim.free]
    low, high = (np.array([[box[n][i] for n in names]]) for i in (0, 1))
    scale = np.maximum(high[0] - low[0], 1e-9)
    stack, seen = [(low, high)], 0
    while stack:
        low, high = stack.pop()
        seen += len(low)
        if seen > most_boxes:
            return None, f"not decided by {most_boxes} boxes"
        made = boxes_through(claim, {n: (low[:, i], high[:, i]) for i, n in enumerate(names)})
        alive = possible(claim.formula, made)
        for name, below, above, _ in claim.variables:
            if below is not None:
                alive &= ~(made[name][1] < float(below))
            if above is not None:
                alive &= ~(made[name][0] > float(above))
        low, high = low[alive], high[alive]
        if not len(low):
            continue
        width = (high - low) / scale
        if float(width.max(axis=1).min()) < 1e-7:
            return None, "boxes became too small"
        axis = width.argmax(axis=1)
        rows = np.arange(len(low))
        middle = (low[rows, axis] + high[rows, axis]) / 2
        integral = np.array(whole)[axis]
        left, right = high.copy(), low.copy()
        left[rows, axis] = np.where(integral, np.floor(middle), middle)
        right[rows, axis] = np.where(integral, np.floor(middle) + 1, middle)
        lows, highs = np.concatenate([low, right]), np.concatenate([left, high])
        kept = (lows <= highs).all(axis=1)
        lows, highs = lows[kept], highs[kept]
        for start in range(0, len(lows), BATCH):
            stack.append((lows[start : start + BATCH], highs[start : start + BATCH]))
    return True, f"{seen} boxes"


def _by_z3(claim: Claim, networks: bool = True, seconds: float = 10.0) -> bool | None:
    """Exact real arithmetic, for claims about real arithmetic without smooth functions; True: unsat.

    Without networks the outputs may be anything: what is unsat then is so in any arithmetic.
    """
    if claim.float32 and networks:
        return None
    try:
        import z3
    except ImportError:
        return None
    kinds = {n[0] for net in claim.networks for n in net["nodes"]} if networks else set()
    if kinds & {"tanh", "sigmoid", "quotient"}:
        return None

    def number(value: Any) -> Any:
        exact = Fraction(value)
        return z3.Q(exact.numerator, exact.denominator)

    solver = z3.SolverFor("QF_NRA" if "product" in kinds else "QF_LIRA")
    solver.set("timeout", int(seconds * 1000))
    known: dict[str, Any] = {n: (z3.Int(n) if k == "integer" else z3.Real(n)) for n, _, _, k in claim.free}

    def form(linear: Mapping[str, Fraction]) -> Any:
        return z3.Sum([number(c) * known[n] if n else number(c) for n, c in linear.items()] or [number(0)])

    if not networks:
        known |= {name: z3.Real(name) for _, _, outputs in claim.calls for name in outputs}
    for index, (network, inputs, outputs) in enumerate(claim.calls if networks else ()):
        values = [[form(f) for f in inputs]]
        for node in claim.networks[network]["nodes"]:
            values.append(_z3_node(z3, node, values, number, solver, f"{index}_{len(values)}"))
        known |= dict(zip(outputs, values[-1], strict=True))
    for name, low, high, _ in claim.variables:
        solver.add(*([known[name] >= number(low)] if low is not None else []))
        solver.add(*([known[name] <= number(high)] if high is not None else []))

    def build(formula: tuple[Any, ...]) -> Any:
        kind, *parts = formula
        if kind in ("and", "or"):
            return (z3.And if kind == "and" else z3.Or)([build(p) for p in parts])
        value = form(parts[0])
        return value <= 0 if kind == "<=" else value < 0 if kind == "<" else value == 0

    solver.add(build(claim.formula))
    answer = solver.check()
    # A model need not be a float32 number: sat says nothing if a variable must be one.
    if answer == z3.sat and networks and all(kind != "float32" for *_, kind in claim.variables):
        return False
    return True if answer == z3.unsat else None


def _z3_node(
    z3: Any, node: tuple[Any, ...], values: list[Any], number: Any, solver: Any, label: str
) -> list[Any]:
    kind = node[0]
    if kind == "join":
        return [x for s in node[1] for x in values[s]]
    x = values[node[1]]
    if kind == "affine":
        rows = zip(node[2].tolist(), node[3].tolist(), strict=True)
        made = [
            z3.Sum([number(w) * v for w, v in zip(row, x, strict=True) if w] + [number(b)]) for row, b in rows
        ]
    elif kind == "pick":
        return [x[i] for i in node[2]]
    elif kind in ("add", "multiply", "divide"):
        pairs = zip(x, map(number, node[2].tolist()), strict=True)
        made = [v + c if kind == "add" else v * c if kind == "multiply" else v / c for v, c in pairs]
    elif kind in ("sum", "product", "maximum"):
        pairs = zip(x, values[node[2]], strict=True)
        made = [
            a + b if kind == "sum" else a * b if kind == "product" else z3.If(a >= b, a, b) for a, b in pairs
        ]
    elif kind == "relu":
        made = [z3.If(v >= 0, v, number(0)) for v in x]
    elif kind == "leaky_relu":
        made = [z3.If(v >= 0, v, v * number(node[2])) for v in x]
    else:
        low, high = number(node[2]), number(node[3])
        made = [z3.If(v < low, low, z3.If(v > high, high, v)) for v in x]
    named = [z3.Real(f"n{label}_{i}") for i in range(len(made))]
    solver.add(*[a == b for a, b in zip(named, made, strict=True)])
    return named
