"""Bounds that were stopped early contain the value that every way to choose has at best or at worst."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from tests.solvers.markov.random_processes import process, random_rows, reach_of_chain, schedulers

from surefoot.query.markov import Until
from surefoot.solvers.markov import solve_markov
from surefoot.solvers.markov.interval_iteration import iterate_intervals


class Rounds:
    """A clock that stops after so many looks."""

    def __init__(self, count: int) -> None:
        self.left = count

    def __call__(self) -> float:
        self.left -= 1
        return float(self.left + 1)


@pytest.mark.parametrize("rounds", [0, 1, 3, 50, 2000])
def test_bounds_hold_whenever_they_are_stopped(rounds: int) -> None:
    narrow = 0
    for seed in range(60):
        draw = Random(seed)
        rows, _ = random_rows(seed)
        markov = process(rows)
        left, right = ([draw.random() < share for _ in rows] for share in (0.8, 0.3))
        every = [reach_of_chain(chain, left, right) for chain in schedulers(rows)]
        for optimise, best in (("max", max), ("min", min)):
            clock = Rounds(rounds)
            found = iterate_intervals(markov, Until(optimise, np.array(left), np.array(right)), clock)
            assert found is not None
            assert clock.left >= -2  # it ends as soon as the time is over
            for s, (low, high) in enumerate(zip(*found, strict=True)):
                value = best(values[s] for values in every)
                assert Fraction(low) <= value <= Fraction(high), (seed, optimise, s)
                narrow += high - low < 1e-6
    assert narrow > 300 or rounds < 50


@pytest.mark.parametrize("rounds", [0, 2, 500])
def test_states_that_were_cut_off_may_do_anything(rounds: int) -> None:
    for seed in range(40):
        rows, _ = random_rows(seed)
        markov = process(rows)
        cut = np.zeros(len(rows), dtype=np.bool_)
        cut[seed % len(rows)] = True
        left, right = np.ones(len(rows), dtype=np.bool_), ~cut & (np.arange(len(rows)) == 0)
        for optimise in ("max", "min"):
            asked = Until(optimise, left, right)
            found = iterate_intervals(replace(markov, cut=cut), asked, Rounds(rounds))
            best = solve_markov(markov, replace(asked, right=right | cut), exact=True)
            worst = solve_markov(markov, replace(asked, left=left & ~cut), exact=True)
            assert found is not None
            for s in range(len(rows)):
                assert Fraction(found[0][s]) <= worst.low[s]
                assert best.high[s] <= Fraction(found[1][s])


@pytest.mark.parametrize("steps", [0, 1, 7])
def test_limits_on_steps_are_kept(steps: int) -> None:
    for seed in range(40):
        rows, _ = random_rows(seed)
        markov = process(rows)
        right = np.arange(len(rows)) == 0
        asked = Until("max", np.ones(len(rows), dtype=np.bool_), right, steps)
        exact = solve_markov(markov, asked, exact=True)
        for rounds in (0, 2, 100):
            found = iterate_intervals(markov, asked, Rounds(rounds))
            assert found is not None
            for s in range(len(rows)):
                assert Fraction(found[0][s]) <= exact.low[s] <= Fraction(found[1][s])
    assert iterate_intervals(markov, replace(asked, steps=9, after=2), Rounds(5)) is None
