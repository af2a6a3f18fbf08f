"""Rows together and one by one: both below the truth, and next to each other."""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import pytest
from tests.certify.checker.making import affine, claim, opened
from tests.certify.checker.meaning import exact_values

from surefoot.certify.checker.bounds.backward import Form, entry_form
from surefoot.certify.checker.bounds.rows import row_forms
from surefoot.certify.checker.bounds.state import Grid, State

CASE: dict[str, Any] = {"atoms": [["<=", {"y0": 1}]], "sets": [[0]], "steps": []}


def _network(choice: random.Random, width: int) -> list[Any]:
    nodes: list[Any] = []
    for layer in range(choice.randrange(2, 5)):
        height = choice.randrange(3, 7)
        rows = [[choice.gauss(0, 1.0) for _ in range(width)] for _ in range(height)]
        nodes += [["relu", len(nodes)]] if layer else []
        nodes.append(affine(len(nodes), rows, [choice.gauss(0, 0.3) for _ in range(height)]))
        width = height
    return nodes


def _opened(
    seed: int, bits: int, spread: str, arithmetic: str = "real"
) -> tuple[Grid, State, list[Any], list[Fraction]]:
    choice = random.Random(seed)
    nodes = _network(choice, 3)
    low = [Fraction(choice.randrange(-1000, 1000), 512) for _ in range(3)]
    variables = [[f"x{i}", str(x), str(x + Fraction(spread)), "float32"] for i, x in enumerate(low)]
    outputs = [f"y{i}" for i in range(nodes[-1][2])]
    formula = CASE["atoms"][0]
    grid, state = opened(claim(variables, nodes, formula, outputs), CASE, arithmetic, bits)
    return grid, state, nodes, low


def _rows(grid: Grid, v: int) -> list[tuple[int, int]]:
    return [(i, side) for i in range(grid.values[v].width) for side in (0, 1)]


def _single(grid: Grid, state: State, v: int, i: int, side: int) -> Form:
    form = Form(grid, state)
    form.add_entry(v, i, -grid.one if side else grid.one)
    return form


@pytest.mark.parametrize("bits", [16, 40])
def test_below_the_truth_at_a_point(bits: int) -> None:
    """With fixed inputs nothing is lost but by rounding: the bounds are below the value, by little."""
    for seed in range(60):
        grid, state, nodes, point = _opened(seed, bits, "0")
        values = exact_values(nodes, point)
        for v in range(2, len(grid.values)):
            rows, exact = _rows(grid, v), values[v - 1]
            together = row_forms(grid, state, v, rows) or [_single(grid, state, v, *row) for row in rows]
            for (i, side), form in zip(rows, together, strict=True):
                truth = -exact[i] if side else exact[i]
                for each in (form, entry_form(grid, state, v, i, side), _single(grid, state, v, i, side)):
                    bound = Fraction(each.minimum(), grid.one**2)
                    assert bound <= truth
                    assert bound >= truth - Fraction(20000, grid.one)


@pytest.mark.parametrize("arithmetic", ["real", "float32"])
def test_together_and_one_by_one(arithmetic: str) -> None:
    taken = 0
    for seed in range(40):
        grid, state, _, _ = _opened(seed, 40, "0.25", arithmetic)
        for v in range(2, len(grid.values)):
            rows = _rows(grid, v)
            forms = row_forms(grid, state, v, rows)
            if forms is None:
                continue
            taken += 1
            for row, form in zip(rows, forms, strict=True):
                one = _single(grid, state, v, *row).minimum()
                assert abs(form.minimum() - one) <= 20000 * grid.one
    assert taken > 60


def test_numbers_that_are_too_large_are_done_one_by_one() -> None:
    nodes = [affine(0, [[1e8], [-1e8]], [0.0, 0.0]), ["relu", 1], affine(2, [[1e8, 1e8]], [0.0])]
    nodes += [["relu", 3], affine(4, [[1e8]], [0.0])]
    grid, state = opened(claim([["x0", -1, 1, "real"]], nodes, CASE["atoms"][0], ["y0"]), CASE)
    assert row_forms(grid, state, 6, [(0, 0), (0, 1)]) is None
    assert _single(grid, state, 6, 0, 1).minimum() <= -(10**24) * grid.one**2
