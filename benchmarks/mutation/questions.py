"""Random small claims, as certificates write them, with a threshold on either side of the truth.

A question asks whether some sum of outputs reaches a threshold. The largest value that points of the box
attain is known approximately; a threshold above it by a margin makes the claim true, one below it false.
"""

from __future__ import annotations

import random
from base64 import b64encode
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from benchmarks.mutation.claims import Array, outputs_at, read_claim
from benchmarks.mutation.truth import exact_outputs

FAMILIES = (
    "relu",
    "relu",
    "leaky",
    "clip",
    "maximum",
    "product",
    "tanh",
    "sigmoid",
    "skip",
    "quotient",
    "two calls",
)


def question(
    seed: int, true: bool, margin: float = 0.05, family: str | None = None
) -> tuple[dict[str, Any], str]:
    """(claim, arithmetic): a claim that should be true with this relative margin, or false."""
    source = random.Random(seed)
    kind = family or source.choice(FAMILIES)
    width = source.choice([1, 2, 2, 2, 3])
    variables = [_variable(source, f"x{i}") for i in range(width)]
    outputs = source.choice([1, 2, 3])
    network = _network(source, kind, width, outputs)
    calls: list[Any] = [[0, [{f"x{i}": "1"} for i in range(width)], [f"y{j}" for j in range(outputs)]]]
    names = [f"y{j}" for j in range(outputs)]
    networks = [network]
    if kind == "two calls":
        networks.append(_network(source, "relu", width, 1))
        inputs = [{f"x{i}": "1"} for i in range(1, width)] + [{"y0": "1/2", "x0": "1/4", "": "1/8"}]
        calls.append([1, inputs, ["z"]])
        names.append("z")
    variables += [[name, None, None, "real"] for name in names]
    claim = {
        "kind": "query",
        "variables": variables,
        "networks": networks,
        "calls": calls,
        "formula": ["and"],
    }
    arithmetic = source.choice(["real", "float32"])
    claim["formula"] = _formula(source, claim, arithmetic, names, margin if true else -margin)
    return claim, arithmetic


def _variable(source: random.Random, name: str) -> list[Any]:
    kind = source.choice(["real", "real", "float32", "integer"])
    if kind == "integer":
        low = source.randint(-3, 1)
        return [name, str(low), str(low + source.randint(1, 5)), kind]
    low, size = Fraction(source.randint(-16, 8), 8), Fraction(source.randint(2, 16), 8)
    return [name, str(low), str(low + size), kind]


def numbers(values: Array | Sequence[float]) -> str:
    return b64encode(np.asarray(values, "<f4").tobytes()).decode()


def _affine(source: random.Random, at: int, columns: int, rows: int) -> list[Any]:
    random = np.random.default_rng(source.getrandbits(32))
    weights = random.normal(size=(rows, columns)) / np.sqrt(columns)
    if source.random() < 0.2:
        weights *= 10.0 ** source.choice([-8, -3, 2, 6])
    if source.random() < 0.2:
        weights[source.randrange(rows)] = 0
    bias = random.normal(size=rows) / 4
    if source.random() < 0.1:
        bias *= 10.0 ** source.choice([-6, 4, 8])
    return ["affine", at, rows, columns, numbers(weights), numbers(bias)]


def _network(source: random.Random, kind: str, width: int, outputs: int) -> dict[str, Any]:
    hidden = source.choice([2, 3, 4, 6])
    nodes: list[list[Any]] = [_affine(source, 0, width, hidden)]
    match kind:
        case "relu" | "two calls":
            nodes.append(["relu", 1])
            if source.random() < 0.6:
                nodes += [_affine(source, 2, hidden, hidden), ["relu", 3]]
        case "leaky":
            nodes.append(["leaky_relu", 1, float(np.float32(source.choice([0.1, 0.5, 1.5, -0.25]))).hex()])
        case "clip":
            low = float(np.float32(source.uniform(-1, 0)))
            nodes.append(["clip", 1, low.hex(), float(np.float32(low + source.uniform(0.2, 1))).hex()])
        case "maximum" | "product" | "skip":
            nodes += [_affine(source, 0, width, hidden), ["relu", 1]]
            nodes.append([{"maximum": "maximum", "product": "product", "skip": "sum"}[kind], 2, 3])
        case "tanh" | "sigmoid":
            nodes += [[kind, 1], ["multiply", 2, numbers([source.uniform(-2, 2) for _ in range(hidden)])]]
        case "quotient":
            low = float(np.float32(source.uniform(0.5, 1)))
            nodes += [_affine(source, 0, width, hidden), ["clip", 2, low.hex(), (2.0 * 2).hex()]]
            nodes.append(["quotient", 1, 3])
    last = len(nodes)
    if source.random() < 0.3:
        nodes.append(["pick", last, [source.randrange(hidden) for _ in range(hidden)]])
    if source.random() < 0.3:
        nodes += [["relu", 1], ["join", [len(nodes), len(nodes) + 1]]]
        hidden *= 2
    if source.random() < 0.2:
        nodes.append(["add", len(nodes), numbers([source.uniform(-1, 1) for _ in range(hidden)])])
    nodes.append(_affine(source, len(nodes), hidden, outputs))
    return {"width": width, "nodes": nodes}


def _formula(
    source: random.Random, claim: dict[str, Any], arithmetic: str, names: list[str], margin: float
) -> list[Any]:
    """A disjunction of conjunctions of thresholds; the first is passed by no (some) point, by the margin."""
    random = np.random.default_rng(source.getrandbits(32))
    points = {}
    for name, low, high, kind in claim["variables"]:
        if low is not None:
            places = random.random(4096)
            column = float(Fraction(low)) + places * float(Fraction(high) - Fraction(low))
            column[:2] = float(Fraction(low)), float(Fraction(high))
            points[name] = np.round(column) if kind == "integer" else column.astype(np.float32).astype(float)
    made = outputs_at(read_claim(claim, arithmetic), points)
    ways = []
    for _ in range(source.choice([1, 1, 2, 3])):
        forms = [_form(source, names) for _ in range(source.choice([1, 1, 2]))]
        values = [sum(float(Fraction(c)) * made[n] for n, c in form.items()) for form in forms]
        # A conjunction that no point satisfies: all forms above what they reach together.
        together = np.min([v - np.mean(v) for v in values], axis=0)
        spread = max(float(np.ptp(together)), 1e-3)
        limit = float(together.max()) + margin * spread
        parts = []
        for form, value in zip(forms, values, strict=True):
            threshold = Fraction(round((limit + float(np.mean(value))) * 2**20), 2**20)
            negated = {n: str(-Fraction(c)) for n, c in form.items()} | {"": str(threshold)}
            parts.append([source.choice(["<=", "<"]), negated])
        ways.append(parts[0] if len(parts) == 1 else ["and", *parts])
        if margin < 0:
            margin = abs(margin)  # only the first way is open
    source.shuffle(ways)
    whole: list[Any] = ["and"]
    if source.random() < 0.3:
        whole.append(["<=", {claim["variables"][0][0]: "1", "": str(-Fraction(claim["variables"][0][2]))}])
    return [*whole, ways[0] if len(ways) == 1 else ["or", *ways]]


def _form(source: random.Random, names: list[str]) -> dict[str, str]:
    chosen = source.sample(names, min(len(names), source.choice([1, 2])))
    return {name: str(Fraction(source.choice([-4, -2, -1, 1, 2, 3]), 2)) for name in chosen}


def rounded_question(seed: int) -> tuple[dict[str, Any], str]:
    """A claim about one point that is true in exact arithmetic and false in float32: rounding goes upward."""
    source, number = random.Random(seed), seed
    while True:
        number += 1
        claim, _ = question(number, True, family="relu")
        for variable in claim["variables"]:
            if variable[1] is not None:
                at = float(np.float32(source.uniform(-1, 1)))
                variable[1:] = [str(Fraction(at)), str(Fraction(at)), "float32"]
        names = [v[0] for v in claim["variables"] if v[1] is None]
        points = {v[0]: np.array([float(Fraction(v[1]))]) for v in claim["variables"] if v[1] is not None}
        single = outputs_at(read_claim(claim, "float32"), points)
        double = outputs_at(read_claim(claim, "real"), points)
        for name in names:
            gap = float(single[name][0] - double[name][0])
            if gap > 1e-9:
                claim["formula"] = ["and", ["<=", {name: "-1", "": str(Fraction(float(single[name][0])))}]]
                return claim, "float32"


def touching_question(seed: int) -> tuple[dict[str, Any], str]:
    """A claim about one point that is false by nothing: the output is exactly the threshold."""
    source = random.Random(seed)
    claim, _ = question(seed, True, family="relu")
    point = {}
    for variable in claim["variables"]:
        if variable[1] is not None:
            at = Fraction(source.randint(-8, 8), 4)
            variable[1:] = [str(at), str(at), "real"]
            point[variable[0]] = at
    made = exact_outputs(read_claim(claim, "real"), point)
    assert made is not None
    claim["formula"] = ["and", ["<=", {"y0": "-1", "": str(made["y0"])}]]
    return claim, "real"
