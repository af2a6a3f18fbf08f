"""Every start that is drawn is one, and no part of the starts is never met."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from math import sqrt

import numpy as np
import pytest
from tests.laws.start_conditions import SHAPES, random_condition, start_environment

from surefoot.problem.environment import Environment
from surefoot.problem.semantics import is_initial
from surefoot.simulate.starts import StartSamples, draw_starts
from surefoot.term.columns import compile_columns
from surefoot.term.parser import parse_term
from surefoot.term.term import Apply, Op
from surefoot.term.traverse import enumerate_parts
from surefoot.term.value_types import Arithmetic, Bool, Int, Real, ValueType

ROWS = 120


def assert_all_start(environment: Environment, found: StartSamples, count: int) -> None:
    states = list(found.states(environment))
    assert len(states) == count
    for row, state in enumerate(states):
        assert is_initial(environment, state), (environment.initial, state)
        for name, value in state.items():
            assert float(value) == float(found.columns[name][row])


@pytest.mark.parametrize("arithmetic", list(Arithmetic))
@pytest.mark.parametrize("seed", range(50))
def test_every_start_meets_the_condition(seed: int, arithmetic: Arithmetic) -> None:
    kinds, initial, inside = random_condition(seed)
    environment = start_environment(kinds, initial, arithmetic)
    if arithmetic is Arithmetic.EXACT:
        known = {n: bool(v) if isinstance(kinds[n], Bool) else v for n, v in inside.items()}
        known = {n: int(v) if isinstance(kinds[n], Int) else v for n, v in known.items()}
        assert is_initial(environment, known)
    found = draw_starts(environment, ROWS, np.random.default_rng(seed))
    assert_all_start(environment, found, ROWS)
    if arithmetic is Arithmetic.EXACT:  # in doubles some equations are met by few numbers only
        assert found.failed <= ROWS // 10


@pytest.mark.parametrize("seed", range(0, 50, 3))
def test_corners_are_starts_too(seed: int) -> None:
    kinds, initial, _ = random_condition(seed)
    environment = start_environment(kinds, initial)
    found = draw_starts(environment, 100, np.random.default_rng(seed), corners=True)
    assert found.law == "spread"
    assert_all_start(environment, found, 100)


VOLUMES = ("polytope", "cases", "disc", "ring", "mixed")
WITH_VOLUME = [
    seed
    for seed in range(50)
    if SHAPES[seed % len(SHAPES)] in VOLUMES
    and not any(isinstance(t, Apply) and t.op is Op.EQ for t in enumerate_parts(random_condition(seed)[1]))
]
CELLS = 4  # on each axis


def cells_of(columns: list[np.ndarray], kinds: list[ValueType]) -> np.ndarray:
    """The number of the cell of a coarse grid over the box of the kinds."""
    total = np.zeros(len(columns[0]), dtype=np.int64)
    for column, kind in zip(columns, kinds, strict=True):
        low, high = float(kind.low), float(kind.high)
        share = (column - low) / (high - low)
        total = total * CELLS + np.clip(np.floor(share * CELLS), 0, CELLS - 1).astype(np.int64)
    return total


@pytest.mark.parametrize("seed", WITH_VOLUME)
def test_no_part_of_positive_volume_is_never_met(seed: int) -> None:
    """Against rejection from the box: every cell with a hundredth of all is met, not too rarely."""
    kinds, initial, _ = random_condition(seed)
    environment = start_environment(kinds, initial, Arithmetic.FLOAT64)
    names = list(kinds)
    rng = np.random.default_rng(seed)
    box = {
        n: rng.integers(k.low, k.high, size=400_000, endpoint=True)
        if isinstance(k, Int)
        else rng.uniform(float(k.low), float(k.high), size=400_000)
        for n, k in kinds.items()
    }
    holds = compile_columns([initial], kinds, Arithmetic.FLOAT64)(box, 400_000).columns[0]
    assert holds.sum() > 500
    wanted = cells_of([box[n][holds] for n in names], list(kinds.values()))
    found = draw_starts(environment, 3000, rng)
    met = cells_of([found.columns[n] for n in names], list(kinds.values()))
    cells, counts = np.unique(wanted, return_counts=True)
    shares = counts / counts.sum()
    for cell, share in zip(cells[shares >= 0.01], shares[shares >= 0.01], strict=True):
        assert (met == cell).mean() >= share / 10, (cell, share)


def chi_square_bound(freedom: int) -> float:
    """Exceeded by chance once in some ten thousand times (Wilson and Hilferty)."""
    return freedom * (1 - 2 / (9 * freedom) + 3.9 * sqrt(2 / (9 * freedom))) ** 3


def assert_uniform(numbers: np.ndarray, kinds: int) -> None:
    counts = np.bincount(numbers, minlength=kinds)
    expected = len(numbers) / kinds
    assert ((counts - expected) ** 2 / expected).sum() < chi_square_bound(kinds - 1)


@pytest.mark.parametrize("arithmetic", list(Arithmetic))
def test_boxes_are_uniform(arithmetic: Arithmetic) -> None:
    kinds = {"x": Real(Fraction(-1, 3), Fraction(2, 7)), "y": Real(), "n": Int(-3, 9), "b": Bool()}
    initial = parse_term("y > 1/3 & y <= 5 & n >= 0 & x + 1 >= 0.9")
    found = draw_starts(start_environment(kinds, initial, arithmetic), 40_000, np.random.default_rng(3))
    assert (found.law, found.how, found.failed) == ("uniform", "uniform in a box", 0)
    shares = {
        "x": (found.columns["x"] + 0.1) / (2 / 7 + 0.1),
        "y": (found.columns["y"] - 1 / 3) / (5 - 1 / 3),
    }
    for share in shares.values():
        assert_uniform(np.floor(share * 50).astype(np.int64).clip(0, 49), 50)
    assert_uniform(found.columns["n"], 10)
    assert_uniform(found.columns["b"].astype(np.int64), 2)
    together = (shares["x"] * 5).astype(int).clip(0, 4) * 20 + found.columns["n"] * 2 + found.columns["b"]
    assert_uniform(together, 100)


@pytest.mark.parametrize(
    ("names", "high", "condition"),
    [
        ("abc", 6, "a + b + c = 8"),
        ("abcd", 3, "a + 2 * b - c = 1 & d != a"),
        ("abc", 4, "a < b & b < c | a = 4"),
        ("ab", 9, "a * b % 3 = 1"),
        ("abc", 5, "max(a, b) <= c & abs(a - b) >= 1"),
    ],
)
def test_small_systems_of_whole_numbers_are_uniform(names: str, high: int, condition: str) -> None:
    environment = start_environment({n: Int(0, high) for n in names}, parse_term(condition))
    every = [
        values
        for values in product(range(high + 1), repeat=len(names))
        if is_initial(environment, dict(zip(names, values, strict=True)))
    ]
    found = draw_starts(environment, 200 * len(every), np.random.default_rng(5))
    assert (found.law, found.how) == ("uniform", f"list of {len(every)} starts")
    place = {values: number for number, values in enumerate(every)}
    rows = zip(*(found.columns[n].tolist() for n in names), strict=True)
    assert_uniform(np.array([place[row] for row in rows]), len(every))


def test_overlapping_boxes_are_uniform_together() -> None:
    kinds = {"x": Real(Fraction(0), Fraction(4)), "y": Real(Fraction(0), Fraction(4))}
    initial = parse_term("(x <= 2 & y <= 2) | (x >= 1 & x <= 3 & y >= 1 & y <= 3) | (x >= 3.5 & y >= 3.5)")
    found = draw_starts(start_environment(kinds, initial), 40_000, np.random.default_rng(2))
    assert (found.law, found.how) == ("uniform", "uniform in 3 boxes")
    cells = np.floor(found.columns["x"] * 2).astype(int).clip(0, 7) * 8
    cells += np.floor(found.columns["y"] * 2).astype(int).clip(0, 7)
    used = np.unique(cells)
    assert len(used) == 16 + 16 - 4 + 1
    assert_uniform(np.searchsorted(used, cells), len(used))


def test_walks_are_nearly_uniform() -> None:
    """Not promised, but a walk that has mixed is: a triangle in halves and quarters."""
    kinds = {"x": Real(Fraction(0), Fraction(1)), "y": Real(Fraction(0), Fraction(1))}
    found = draw_starts(start_environment(kinds, parse_term("x + y <= 1")), 20_000, np.random.default_rng(8))
    x, y = found.columns["x"], found.columns["y"]
    assert found.law == "spread"
    assert abs((x > y).mean() - 0.5) < 0.02
    assert abs((x + y <= 0.5).mean() - 0.25) < 0.02
    assert abs(((x >= 0.5) | (y >= 0.5)).mean() - 0.5) < 0.02
