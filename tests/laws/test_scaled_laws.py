"""Queries with numbers of very different size and a known solution: no solver says that there is none."""

from __future__ import annotations

from fractions import Fraction
from random import Random

import numpy as np
import pytest

from surefoot.problem.network import dense_network
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.query import NetworkCall, Query, QueryVariable, Sat, Unsat
from surefoot.solvers import SOLVERS
from surefoot.solvers.protocol import solve_query
from surefoot.term.term import Const, Term, Var
from surefoot.term.value_types import Int, Real

Rows = list[list[float]]


def draw_size(r: Random) -> Fraction:
    return r.choice([1, -1]) * Fraction(10) ** r.randint(-14, 9) * r.choice([1, 1, Fraction(3, 2), 7])


def draw_rows(r: Random, outputs: int, inputs: int) -> Rows:
    def weight() -> float:
        value = float(draw_size(r)) if r.random() < 0.5 else r.randint(-3, 3)
        return float(np.float32(value))

    return [[weight() for _ in range(inputs)] for _ in range(outputs)]


def solvable(seed: int) -> tuple[Query, dict[str, Fraction]]:
    """A network of badly scaled inputs, and bounds that its values at one point just keep."""
    r = Random(seed)
    hidden = r.choice([0, 2, 3])
    layers: list[tuple[Rows, list[float]]] = []
    if hidden:
        offsets = [float(np.float32(r.choice([0.0, float(draw_size(r)), 1.0]))) for _ in range(hidden)]
        layers.append((draw_rows(r, hidden, 2), offsets))
    layers.append((draw_rows(r, 2, hidden or 2), [0.0, float(np.float32(float(draw_size(r))))]))
    scales = [Fraction(10) ** r.randint(-3, 12) for _ in range(2)]
    highs = [Fraction(10) ** r.randint(0, 10) for _ in range(2)]
    whole = [r.random() < 0.5 for _ in range(2)]
    point = [
        Fraction(r.randint(0, int(high))) if is_whole else Fraction(r.randint(0, 1000), 1000) * high
        for high, is_whole in zip(highs, whole, strict=True)
    ]
    values = [x / scale for x, scale in zip(point, scales, strict=True)]
    for number, (rows, offsets) in enumerate(layers):
        values = [
            sum((Fraction(w) * v for w, v in zip(row, values, strict=True)), Fraction(b))
            for row, b in zip(rows, offsets, strict=True)
        ]
        if number < len(layers) - 1:
            values = [max(v, Fraction(0)) for v in values]
    names = ["x", "y"]
    constraints: list[Term] = []
    for name, value in zip(names, point, strict=True):
        if (kind := r.random()) < 0.6:
            constraints.append(Var(name) <= Const(value))
        if 0.3 <= kind < 0.6:
            constraints.append(Const(value) <= Var(name))
    a, b = Var("a"), Var("b")
    constraints.append(a >= Const(values[0]) if r.random() < 0.5 else a <= Const(values[0]))
    if r.random() < 0.5:
        difference = Const(values[0] - values[1])
        constraints.append(a - b >= difference if r.random() < 0.5 else a - b <= difference)
    kinds = [
        Int(0, int(h)) if is_whole else Real(Fraction(0), h) for h, is_whole in zip(highs, whole, strict=True)
    ]
    quantities = tuple(QueryVariable(n, k) for n, k in zip(names, kinds, strict=True))
    inputs = tuple(Var(n) / Const(s) for n, s in zip(names, scales, strict=True))
    call = NetworkCall(dense_network(layers), inputs, ("a", "b"))
    query = Query(
        (*quantities, QueryVariable("a", Real()), QueryVariable("b", Real())), tuple(constraints), (call,)
    )
    return query, dict(zip(["x", "y", "a", "b"], [*point, *values], strict=True))


@pytest.mark.parametrize("solver", list(SOLVERS))
@pytest.mark.parametrize("seed", range(12))
def test_what_has_a_solution_is_not_refuted(seed: int, solver: str) -> None:
    query, point = solvable(seed)
    assert assignment_defect(query, point) is None
    engine = SOLVERS[solver]()
    if engine.objection(query) is not None:
        return
    answer = solve_query(engine, query, seconds=5)
    assert not isinstance(answer, Unsat)
    if isinstance(answer, Sat):
        assert assignment_defect(query, answer.assignment) is None
