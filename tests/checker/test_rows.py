"""Rows together and one by one: both below the truth, and next to each other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest
from tests.checker.making import affine, claim, floats, opened
from tests.checker.meaning import exact_values

from surefoot_checker.bounds.back_substitution import entry_form
from surefoot_checker.bounds.row_batch import row_forms
from surefoot_checker.bounds.subdomain import PrecisionGrid, SubdomainState
from surefoot_checker.bounds.variable_box import separate_box
from surefoot_checker.claims.unsat.proof_steps import apply_proof_step

CASE: dict[str, Any] = {"atoms": [["<=", {"y0": 1}]], "sets": [[0]], "steps": []}


def _network(choice: random.Random, width: int, sizes: Sequence[float] = (1.0,) * 5) -> list[Any]:
    nodes: list[Any] = []
    for layer in range(choice.randrange(2, 5)):
        height = choice.randrange(3, 7)
        rows = [[choice.gauss(0, sizes[layer]) for _ in range(width)] for _ in range(height)]
        nodes += [["relu", len(nodes)]] if layer else []
        nodes.append(affine(len(nodes), rows, [choice.gauss(0, 0.3 * sizes[-1]) for _ in range(height)]))
        width = height
    return nodes


def _opened(
    seed: int, bits: int, spread: str, arithmetic: str = "real"
) -> tuple[PrecisionGrid, SubdomainState, list[Any], list[Fraction]]:
    choice = random.Random(seed)
    nodes = _network(choice, 3)
    low = [Fraction(choice.randrange(-1000, 1000), 512) for _ in range(3)]
    variables = [[f"x{i}", str(x), str(x + Fraction(spread)), "float32"] for i, x in enumerate(low)]
    outputs = [f"y{i}" for i in range(nodes[-1][2])]
    formula = CASE["atoms"][0]
    grid, state = opened(claim(variables, nodes, formula, outputs), CASE, arithmetic, bits, coarse=True)
    return grid, state, nodes, low


def _rows(grid: PrecisionGrid, v: int) -> list[tuple[int, int]]:
    return [(i, side) for i in range(grid.values[v].width) for side in (0, 1)]


def test_below_the_truth_at_a_point() -> None:
    """With fixed inputs nothing is lost but by rounding: the bounds are below the value, by little."""
    taken = 0
    for seed in range(60):
        grid, state, nodes, point = _opened(seed, 40, "0")
        values = exact_values(nodes, point)
        for v in range(2, len(grid.values)):
            rows, exact = _rows(grid, v), values[v - 1]
            for (i, side), bounds in zip(rows, _bounds(grid, state, v, rows), strict=True):
                truth = -exact[i] if side else exact[i]
                for bound in bounds:
                    taken += 1
                    assert Fraction(bound, grid.one**2) <= truth
                    assert Fraction(bound, grid.one**2) >= truth - Fraction(1, 1 << 16)
    assert taken > 2000


def _bounds(
    grid: PrecisionGrid, state: SubdomainState, v: int, rows: list[tuple[int, int]]
) -> list[list[int]]:
    """The bounds of each row: by itself, and twice of all together."""
    found = [[entry_form(grid, state, v, *row).minimum()] for row in rows]
    together = row_forms(grid, state, v, rows)
    if together is None:
        return found
    box = separate_box(grid, state, together.place)
    assert box is not None
    minima = [together.minima(box), [form.minimum() for form in together.forms()]]
    return [[*one, *several] for one, *several in zip(found, *minima, strict=True)]


@pytest.mark.parametrize("arithmetic", ["real", "float32"])
def test_together_and_one_by_one(arithmetic: str) -> None:
    taken = 0
    for seed in range(40):
        grid, state, _, _ = _opened(seed, 40, "0.25", arithmetic)
        for v in range(2, len(grid.values)):
            for one, *several in _bounds(grid, state, v, _rows(grid, v)):
                taken += len(several)
                assert all(abs(each - one) <= grid.one**2 >> 14 for each in several)
    assert taken > 500


@pytest.mark.parametrize("arithmetic", ["real", "float32"])
@pytest.mark.parametrize("size", [-30, -12, 0, 12, 30])
def test_never_above_the_truth(arithmetic: str, size: int) -> None:
    """Weights and biases of all sizes; the network evaluated at corners and in between."""
    choice = random.Random(size)
    for seed in range(12):
        nodes = _network(
            random.Random(seed), 3, [2.0 ** choice.randrange(-abs(size), abs(size) + 1) for _ in "12345"]
        )
        low = [Fraction(choice.randrange(-100, 100), 64) for _ in range(3)]
        variables = [[f"x{i}", str(x), str(x + Fraction(1, 2)), "float32"] for i, x in enumerate(low)]
        outputs = [f"y{i}" for i in range(nodes[-1][2])]
        claimed = claim(variables, nodes, CASE["atoms"][0], outputs)
        grid, state = opened(claimed, CASE, arithmetic, coarse=True)
        points = [[x + Fraction(choice.randrange(9), 16) for x in low] for _ in range(20)]
        evaluated = [exact_values(nodes, point) for point in points]
        for v in range(2, len(grid.values)):
            rows = _rows(grid, v)
            for (i, side), bounds in zip(rows, _bounds(grid, state, v, rows), strict=True):
                least = min((-1 if side else 1) * values[v - 1][i] for values in evaluated)
                assert all(Fraction(bound, grid.one**2) <= least for bound in bounds)


def test_numbers_that_are_too_large_are_done_one_by_one() -> None:
    nodes = [affine(0, [[1e10], [-1e10]], [0.0, 0.0]), ["relu", 1], affine(2, [[1e10, 1e10]], [0.0])]
    nodes += [["relu", 3], affine(4, [[1e10]], [0.0])]
    grid, state = opened(claim([["x0", -1, 1, "real"]], nodes, CASE["atoms"][0], ["y0"]), CASE, coarse=True)
    assert row_forms(grid, state, 6, [(0, 0), (0, 1)]) is None
    assert entry_form(grid, state, 6, 0, 1).minimum() <= -(10**30) * grid.one**2


def test_many_affine_values_in_a_row() -> None:
    """Weights so small that coefficients could have nearly all bits of a word, and many of them."""
    same = [[float(i == j) for j in range(10)] for i in range(10)]
    nodes: list[Any] = [affine(0, [[1.0]] * 10, [0.5] * 10), ["relu", 1]]
    nodes += [affine(v, same, [0.0] * 10) for v in range(2, 7)]
    outputs = [f"y{i}" for i in range(10)]
    claimed = claim([["x0", -1, 1, "float32"]], nodes, CASE["atoms"][0], outputs)
    grid, state = opened(claimed, CASE, "float32", coarse=True)
    last = len(grid.values) - 1
    for one, *several in _bounds(grid, state, last, _rows(grid, last)):
        assert several
        assert all(abs(each - one) <= grid.one**2 >> 16 for each in several)


def test_a_box_depends_on_the_free_variables_alone() -> None:
    """The parts of a split at the input of a call have the same free variables, but other roundings."""
    nodes = [["add", 0, floats(0.1)], affine(1, [[1.0]], [0.0])]
    claimed = claim([["x0", -1024, 1024, "real"]], nodes, CASE["atoms"][0], ["y0"])
    grid, state = opened(claimed, CASE, "float32", coarse=True)
    alone = separate_box(grid, opened(claimed, CASE, "float32", coarse=True)[1], 2)
    parts = apply_proof_step(grid, state, ["split", 1, 0, -1000])
    assert parts is not None
    apply_proof_step(grid, parts[1], ["split", 1, 0, 1000])
    for part in parts:
        apply_proof_step(grid, part, ["forward", 2])
        assert separate_box(grid, part, 2) == alone
