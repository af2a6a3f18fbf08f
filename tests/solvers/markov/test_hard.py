"""Where plain value iteration is wrong, and where sound iteration from above does not end."""

from fractions import Fraction

import numpy as np
import pytest
from tests.solvers.markov.random_processes import Rows, process

from surefoot.query.markov import Accumulate, Until
from surefoot.solvers.markov import MarkovUndecided, solve_markov

HALF = Fraction(1, 2)


def two_ladders(length: int) -> Rows:
    """Up one of two ladders (7/10: the first); from each rung a fall back to the start half the time."""
    rows: Rows = [[[(Fraction(7, 10), 1, 1), (Fraction(3, 10), length + 1, 1)]]]
    for side in (0, length):
        rows += [[[(HALF, side + i + 1, 1), (HALF, 0, 1)]] for i in range(1, length)]
        rows.append([])
    return rows


@pytest.mark.parametrize("length", [10, 20, 40, 100])
def test_two_ladders(length: int) -> None:
    rows = two_ladders(length)
    markov = process(rows, [0])
    first, both = np.zeros(len(rows), dtype=bool), np.zeros(len(rows), dtype=bool)
    first[length] = both[length] = both[2 * length] = True
    answer = solve_markov(markov, Until("max", ~first, first))
    low, high = Fraction(answer.low[0]) / answer.scale, Fraction(answer.high[0]) / answer.scale
    assert low <= Fraction(7, 10) <= high <= low * (1 + Fraction(1, 10**6))
    steps = solve_markov(markov, Accumulate("min", markov.rewards["cost"], both))
    low, high = Fraction(steps.low[0]) / steps.scale, Fraction(steps.high[0]) / steps.scale
    assert low <= 3 * 2 ** (length - 1) - 2 <= high <= low * (1 + Fraction(1, 10**6))


def test_lingering() -> None:
    """Waiting is almost free: it is left with probability 2^-50 only, so an upper bound falls very slowly."""
    little = Fraction(1, 2**50)
    rows: Rows = [
        [[(1 - little, 0, 0), (little, 2, 0)], [(HALF, 1, 0), (HALF, 2, 0)], [(HALF, 3, 0), (HALF, 0, 0)]],
        [],
        [],
        [[(1, 0, 0)], [(Fraction(2, 3), 1, 0), (Fraction(1, 3), 2, 0)]],
    ]
    markov = process(rows, [0])
    goal = np.array([False, True, False, False])
    answer = solve_markov(markov, Until("max", ~goal, goal))
    assert answer.low[0] * 3 <= 2 * answer.scale <= answer.high[0] * 3
    assert solve_markov(markov, Until("max", ~goal, goal), exact=True).low[0] == Fraction(2, 3)


def test_a_process_that_was_cut_off() -> None:
    rows: Rows = [[[(Fraction(1, 4), 1, 0), (HALF, 2, 0), (Fraction(1, 4), 3, 0)]], [], [], []]
    whole = process(rows, [0])
    cut = type(whole)(**{f: getattr(whole, f) for f in whole.__slots__} | {"cut": np.array([0, 0, 0, 1]) > 0})
    goal = np.array([False, True, False, False])
    answer = solve_markov(cut, Until("min", ~goal, goal))
    low, high = Fraction(answer.low[0]) / answer.scale, Fraction(answer.high[0]) / answer.scale
    assert Fraction(1, 4) - Fraction(1, 10**9) <= low <= Fraction(1, 4)
    assert HALF <= high <= HALF + Fraction(1, 10**9)
    with pytest.raises(MarkovUndecided, match="cut off"):
        solve_markov(cut, Accumulate("min", cut.rewards["cost"], goal))


def test_no_time() -> None:
    rows = two_ladders(100)
    goal = np.arange(len(rows)) == 100
    with pytest.raises(MarkovUndecided):
        solve_markov(process(rows, [0]), Until("max", ~goal, goal), seconds_left=lambda: 0.0)


@pytest.mark.parametrize("bits", [60, 90, 120])
def test_no_bound_exceeds_one(bits: int) -> None:
    """State 0 is sure to reach the goal, and may go where only almost everything does: 1 bounds it too."""
    little = Fraction(1, 2**bits)
    rows: Rows = [
        [[(1, 3, 0)], [(HALF, 1, 0), (HALF, 2, 0)]],
        [[(HALF, 2, 0), (HALF - little, 3, 0), (little, 4, 0)], [(HALF, 1, 0), (HALF, 2, 0)]],
        [[(Fraction(1, 3), 1, 0), (Fraction(2, 3) - little, 3, 0), (little, 4, 0)]],
        [],
        [],
    ]
    markov = process(rows, [0])
    goal = np.array([False, False, False, True, False])
    answer = solve_markov(markov, Until("max", ~goal, goal))
    assert all(low <= high <= answer.scale for low, high in zip(answer.low, answer.high, strict=True))
    assert answer.low[0] == answer.high[0] == answer.scale
