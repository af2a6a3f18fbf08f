"""Congestion-control-like questions: k copies of one network over a sliding window of 30 inputs.

    python -m benchmarks.aurora_like --rows 48:1:0.5 48:2:0.5 --seconds 60 --json rows.json

A row is HIDDEN:COPIES:MARGIN (as in 48:2:0.5 or 16x16:1:1.0). The question: can all k outputs be at least
M + margin, where M is the best that a gradient attack attains? So a positive margin should have no answer
(the smaller, the harder), a negative one has. Networks are trained here from fixed seeds.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import cache
from pathlib import Path

import numpy as np

from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.relu_splitting.branch_and_bound import refute_chain_problem
from surefoot.solvers.native.relu_splitting.chain_problem import (
    ChainProblem,
    build_chain_problem,
    evaluate_chain_rows,
    violation_gradient,
)
from surefoot.solvers.native.relu_splitting.search_state import (
    CandidatePoint,
    ChainRefutation,
    ReluSearchSettings,
    SearchGaveUp,
)

LOW, HIGH = np.array([-0.05, 1.0, 2.0]), np.array([0.05, 1.05, 8.0])  # gradient, latency ratio, send ratio
HISTORY, FEATURES = 10, 3
ROWS = [
    "48:1:1.0",
    "48:1:0.5",
    "48:1:0.25",
    "48:1:-0.2",
    "48:2:1.0",
    "48:2:0.5",
    "48:3:1.0",
    "48:5:1.0",
    "48:5:-0.2",
    "16x16:1:1.0",
    "16x16:1:0.5",
    "16x16:3:1.0",
    "32x16:1:0.5",
    "32x16:3:1.0",
]

Net = tuple[tuple[Array, ...], tuple[Array, ...]]


def training_data(generator: np.random.Generator, count: int = 12000) -> tuple[Array, Array]:
    """Windows of measurements, and the rate change that a reasonable sender would choose."""
    send = np.exp(generator.uniform(0, np.log(10), (count, 1))) * np.exp(
        generator.normal(0, 0.35, (count, 10))
    )
    send = np.maximum(send, 1)
    gradient = generator.normal(0, 0.08, (count, 10))
    ratio = 1 + np.abs(generator.normal(0, 0.2, (count, 10)))
    inputs = np.stack([gradient, ratio, send], -1).reshape(count, 30)
    recent = np.exp(-np.arange(10)[::-1] / 4.0)
    recent /= recent.sum()
    directions = generator.normal(0, 1 / np.sqrt(30), (30, 24))
    normal = (inputs - inputs.mean(0)) / inputs.std(0)
    waves = np.tanh(1.5 * normal @ directions + generator.normal(0, 0.5, 24))
    teacher = waves @ generator.normal(0, 1 / np.sqrt(24), (24, 1))

    def mean(part: Array) -> Array:
        weighted: Array = (part * recent).sum(1, keepdims=True)
        return weighted

    target = np.tanh(1.2 - 0.5 * mean(send - 1) - 4 * mean(gradient) - 0.8 * mean(ratio - 1))
    fell = send[:, -1:] < send[:, -2:-1]
    target = target + 0.35 * fell * np.tanh(send[:, -2:-1] - send[:, -1:]) + 0.9 * teacher
    return inputs, target


@cache
def network(hidden: tuple[int, ...], seed: int = 1) -> Net:
    """Trained by Adam on squared error, weights rounded to float32."""
    inputs, target = training_data(np.random.default_rng(seed))
    return trained((30, *hidden, 1), inputs, target, seed + 1)


def trained(sizes: tuple[int, ...], inputs: Array, target: Array, seed: int, steps: int = 3000) -> Net:
    generator = np.random.default_rng(seed)
    pairs = list(zip(sizes[1:], sizes[:-1], strict=True))
    weights = [generator.normal(0, np.sqrt(2 / n), (m, n)) for m, n in pairs]
    parameters = weights + [np.zeros(m) for m, _ in pairs]
    mean, square = [np.zeros_like(p) for p in parameters], [np.zeros_like(p) for p in parameters]
    centre, spread = inputs.mean(0), inputs.std(0) + 1e-9
    normal = (inputs - centre) / spread
    for step in range(1, steps + 1):
        chosen = generator.integers(0, len(inputs), 256)
        rate = 3e-3 * (0.5 * (1 + np.cos(np.pi * step / steps)))
        for p, g, m, v in zip(
            parameters, gradients(parameters, normal[chosen], target[chosen]), mean, square, strict=True
        ):
            m *= 0.9
            m += 0.1 * g
            v *= 0.999
            v += 0.001 * g * g
            p -= rate * (m / (1 - 0.9**step)) / (np.sqrt(v / (1 - 0.999**step)) + 1e-8)
    layers = len(pairs)
    parameters[layers] = parameters[layers] - parameters[0] @ (centre / spread)
    parameters[0] = parameters[0] / spread
    deployed = [p.astype(np.float32).astype(np.float64) for p in parameters]
    return tuple(deployed[:layers]), tuple(deployed[layers:])


def gradients(parameters: list[Array], inputs: Array, target: Array) -> list[Array]:
    """Of the mean squared error, with a little weight decay."""
    layers = len(parameters) // 2
    values, before = [inputs], []
    for i in range(layers):
        before.append(values[-1] @ parameters[i].T + parameters[layers + i])
        values.append(np.maximum(before[-1], 0) if i < layers - 1 else before[-1])
    back = 2 * (values[-1] - target) / len(inputs)
    found: list[Array] = [np.zeros(0)] * (2 * layers)
    for i in range(layers - 1, -1, -1):
        if i < layers - 1:
            back = back * (before[i] > 0)
        found[i], found[layers + i] = back.T @ values[i] + 1e-5 * parameters[i], back.sum(0)
        back = back @ parameters[i]
    return found


def question(net: Net, copies: int, least: float) -> ChainProblem:
    """Are all k outputs at least `least` somewhere?"""
    inputs = FEATURES * (HISTORY + copies - 1)
    index = np.arange(FEATURES * HISTORY)[None] + FEATURES * np.arange(copies)[:, None]
    low, high = (np.tile(b, inputs // FEATURES) for b in (LOW, HIGH))
    return build_chain_problem(*net, low, high, -np.eye(copies), np.full(copies, -least), index=index)


def attack(problem: ChainProblem, restarts: int = 200, turns: int = 120, seed: int = 0) -> float:
    """The smallest largest violation of a row that sign-gradient descent finds."""
    generator = np.random.default_rng(seed)
    low, high = problem.low, problem.high
    x = generator.uniform(low, high, (restarts, len(low)))
    corners = generator.random((restarts // 4, len(low))) < 0.5
    x[: restarts // 4] = np.where(corners, low, high)
    best = np.inf
    for turn in range(turns):
        violation, before = evaluate_chain_rows(problem, x)
        worst = violation.max(1)
        best = min(best, float(worst.min()))
        share = np.exp((violation - worst[:, None]) * 20)
        slope = violation_gradient(problem, before, share / share.sum(1, keepdims=True))
        length = 0.3 * (1 - turn / turns) + 0.002
        x = np.clip(x - length * (high - low) * np.sign(slope) * generator.random((restarts, 1)), low, high)
    return best


@cache
def attained(hidden: tuple[int, ...], copies: int, seed: int = 1) -> float:
    """The largest value that all outputs of an attack reach together."""
    return -attack(question(network(hidden, seed), copies, 0.0))


def row(name: str, seed: int = 1) -> ChainProblem:
    hidden, copies, margin = name.split(":")
    widths = tuple(int(w) for w in hidden.split("x"))
    return question(network(widths, seed), int(copies), attained(widths, int(copies), seed) + float(margin))


def measured(name: str, seconds: float, steps: int, log: bool) -> dict[str, object]:
    problem = row(name)
    started, cpu = time.monotonic(), time.process_time()
    settings = ReluSearchSettings(steps=steps, log=log, expired=lambda: time.monotonic() - started > seconds)
    answer = refute_chain_problem(problem, settings)
    used = time.process_time() - cpu
    verdict = {ChainRefutation: "unsat", CandidatePoint: "sat", SearchGaveUp: "open"}[type(answer)]
    detail = answer.why.value if isinstance(answer, SearchGaveUp) else ""
    return {
        "row": name,
        "answer": verdict,
        "seconds": round(used, 4),
        "nodes": answer.nodes,
        "detail": detail,
    }


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", nargs="*", default=ROWS)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--log", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    results = []
    for name in options.rows:
        results.append(measured(name, options.seconds, options.steps, options.log))
        print(
            "{row:>14} {answer:>6} {seconds:9.4f} s {nodes:8d} nodes {detail}".format(**results[-1]),
            flush=True,
        )
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
