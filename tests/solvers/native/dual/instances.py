"""Random questions about small chains, and a second opinion by mixed-integer programming."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.optimize import LinearConstraint, milp

from surefoot.network.directed_rounding import Array
from surefoot.solvers.native.relu_splitting.chain_problem import (
    ChainProblem,
    build_chain_problem,
    evaluate_chain_rows,
)


def random_question(seed: int) -> ChainProblem:
    """Small: fixed, whole and shared inputs, dead and duplicate neurons, ties."""
    r = np.random.default_rng(seed)
    inputs, copies, outputs = int(r.integers(1, 5)), int(r.integers(1, 4)), int(r.integers(1, 3))
    shape = [inputs, *r.integers(1, 5, int(r.integers(1, 4))).tolist(), outputs]
    weights = [
        r.normal(0, 1, (m, n)).astype(np.float32).astype(float)
        for m, n in zip(shape[1:], shape, strict=False)
    ]
    biases = [r.normal(0, 0.5, m).astype(np.float32).astype(float) for m in shape[1:]]
    if r.random() < 0.3:
        weights = [np.rint(2 * w) for w in weights]
        biases = [np.rint(2 * b) for b in biases]
    if r.random() < 0.3:
        weights[0][0] = 0.0
    if r.random() < 0.3:
        weights[0][-1], biases[0][-1] = weights[0][0], biases[0][0]
    total = inputs + int(r.integers(0, 3))
    index = np.stack([r.choice(total, inputs, replace=r.random() < 0.3) for _ in range(copies)])
    low = np.round(r.uniform(-2, 1, total), 2)
    high = np.where(r.random(total) < 0.15, low, low + np.round(r.uniform(0.1, 3, total), 2))
    whole = r.random(total) < (0.4 if r.random() < 0.4 else 0.0)
    low, high = np.where(whole, np.floor(low), low), np.where(whole, np.ceil(high), high)
    rows = np.rint(2 * r.normal(0, 1, (int(r.integers(1, 4)), copies * outputs)))
    if not rows.any():
        rows[0, 0] = 1.0
    direct = np.rint(2 * r.normal(0, 1, (len(rows), total))) * (r.random() < 0.3)
    return build_chain_problem(
        tuple(weights),
        tuple(biases),
        low,
        high,
        rows,
        np.zeros(len(rows)),
        index=index,
        whole=whole,
        direct=direct,
    )


def shifted(problem: ChainProblem, offset: float) -> ChainProblem:
    return replace(problem, offsets=problem.offsets + offset)


def least_violation(problem: ChainProblem) -> float:
    """The smallest t such that rows y(x) <= offsets + t has a solution, by HiGHS; NaN if it fails."""
    blocks: list[dict[int, float]] = []
    limits: list[float] = []
    columns: list[tuple[float, float, int]] = list(
        zip(problem.low, problem.high, problem.whole.astype(int), strict=True)
    )

    def fresh(low: float, high: float, whole: int = 0) -> int:
        columns.append((low, high, whole))
        return len(columns) - 1

    def below(terms: dict[int, float], limit: float) -> None:
        blocks.append(terms)
        limits.append(limit)

    values = [{i: float(v) for i, v in enumerate(row) if v} for row in problem.first]
    offset = problem.first_bias.tolist()
    for w, b in zip(problem.weights, problem.biases, strict=True):
        values, every = _relu(columns, values, offset, fresh, below), np.kron(np.eye(problem.copies), w)
        forms = []
        for row in every:
            form: dict[int, float] = {}
            for factor, value in zip(row, values, strict=True):
                for column, coefficient in value.items():
                    form[column] = form.get(column, 0.0) + factor * coefficient
            forms.append(form)
        values, offset = forms, np.tile(b, problem.copies).tolist()
    outputs, constants = values, offset
    worst = fresh(-1e6, 1e6)
    for row, own, limit in zip(problem.rows, problem.direct, problem.offsets, strict=True):
        terms = {worst: -1.0} | {i: float(v) for i, v in enumerate(own) if v}
        for factor, form in zip(row, outputs, strict=True):
            for column, coefficient in form.items():
                terms[column] = terms.get(column, 0.0) + factor * coefficient
        below(terms, float(limit - row @ np.array(constants)))
    return _solved(columns, blocks, limits, worst)


def _relu(columns, values, offset, fresh, below):  # type: ignore[no-untyped-def]
    found = []
    for form, shift in zip(values, offset, strict=True):
        ends = [sorted((v * columns[c][0], v * columns[c][1])) for c, v in form.items()]
        least, most = shift + sum(e[0] for e in ends), shift + sum(e[1] for e in ends)
        y = fresh(0.0, max(most, 0.0) + 1.0)
        on = fresh(0.0, 1.0, 1)
        below({**form, y: -1.0}, -shift)
        below({y: 1.0, on: -max(most, 0.0) - 1.0}, 0.0)
        below(
            {**{c: -v for c, v in form.items()}, y: 1.0, on: -min(least, 0.0) + 1.0},
            shift - min(least, 0.0) + 1.0,
        )
        found.append({y: 1.0})
    return found


def _solved(columns, blocks, limits, worst) -> float:  # type: ignore[no-untyped-def]
    matrix = np.zeros((len(blocks), len(columns)))
    for i, terms in enumerate(blocks):
        for column, coefficient in terms.items():
            matrix[i, column] = coefficient
    bounds = np.array([c[:2] for c in columns])
    cost = np.zeros(len(columns))
    cost[worst] = 1.0
    result = milp(
        cost,
        constraints=LinearConstraint(matrix, ub=np.array(limits)),
        bounds=(bounds[:, 0], bounds[:, 1]),
        integrality=np.array([c[2] for c in columns]),
        options={"mip_rel_gap": 0.0},
    )
    return float(result.fun) if result.status == 0 else np.nan


def satisfied(problem: ChainProblem, point: Array) -> bool:
    inside = (point >= problem.low).all() and (point <= problem.high).all()
    whole = (point == np.rint(point))[problem.whole].all()
    return bool(inside and whole and (evaluate_chain_rows(problem, point[None])[0] <= 0.0).all())
