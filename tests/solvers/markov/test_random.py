"""200 random decision processes: bounds and exact values against every memoryless way to choose."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from tests.solvers.markov.random_processes import (
    cost_of_chain,
    process,
    random_rows,
    reach_of_chain,
    schedulers,
)

from surefoot.query.markov import Accumulate, Instant, Until
from surefoot.solvers.markov import solve_markov

BLOCKS = [range(start, start + 25) for start in range(0, 200, 25)]


def flags(seed: int, count: int, share: float) -> list[bool]:
    draw = Random(seed)
    return [draw.random() < share for _ in range(count)]


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda b: str(b.start))
def test_until(seeds: range) -> None:
    for seed in seeds:
        rows, _ = random_rows(seed)
        markov = process(rows)
        left, right = flags(2 * seed, len(rows), 0.8), flags(2 * seed + 1, len(rows), 0.3)
        every = [reach_of_chain(chain, left, right) for chain in schedulers(rows)]
        for optimise, best in (("max", max), ("min", min)):
            expected = [best(values[s] for values in every) for s in range(len(rows))]
            for exact in (False, True):
                asked = Until(optimise, np.array(left), np.array(right))
                answer = solve_markov(markov, asked, exact=exact)
                for s, value in enumerate(expected):
                    low, high = Fraction(answer.low[s], answer.scale), Fraction(answer.high[s], answer.scale)
                    assert low <= value <= high, (seed, optimise, exact, s)
                    assert high - low <= value / 10**6
                    assert not exact or low == high
                chain = [
                    None if not rows[s] else rows[s][int(answer.scheduler[s] - markov.choices[s])]
                    for s in range(len(rows))
                ]
                assert reach_of_chain(chain, left, right) == expected, (seed, optimise, exact)


@pytest.mark.parametrize("seeds", BLOCKS, ids=lambda b: str(b.start))
def test_accumulated(seeds: range) -> None:
    for seed in seeds:
        rows, _ = random_rows(seed)
        markov = process(rows)
        goal = flags(3 * seed, len(rows), 0.3)
        every = [cost_of_chain(chain, goal) for chain in schedulers(rows)]
        for optimise in ("max", "min"):
            for exact in (False, True):
                answer = solve_markov(
                    markov, Accumulate(optimise, markov.rewards["cost"], np.array(goal)), exact=exact
                )
                for s in range(len(rows)):
                    finite = [values[s] for values in every if values[s] is not None]
                    endless = len(finite) < len(every) if optimise == "max" else not finite
                    assert bool(answer.infinite[s]) == endless, (seed, optimise, s)
                    if endless:
                        continue
                    value = max(finite) if optimise == "max" else min(finite)
                    low, high = Fraction(answer.low[s], answer.scale), Fraction(answer.high[s], answer.scale)
                    assert low <= value <= high, (seed, optimise, exact, s)
                    assert high - low <= value / 10**6
                chain = [
                    None if not rows[s] else rows[s][int(answer.scheduler[s] - markov.choices[s])]
                    for s in range(len(rows))
                ]
                reached = cost_of_chain(chain, goal)
                for s in range(len(rows)):
                    if answer.infinite[s]:
                        assert reached[s] is None
                    else:
                        assert reached[s] is not None
                        assert answer.low[s] <= reached[s] * answer.scale <= answer.high[s]


@pytest.mark.parametrize("exact", [False, True])
def test_bounded(exact: bool) -> None:
    for seed in range(60):
        rows, _ = random_rows(seed)
        markov, count = process(rows), len(rows)
        left, right = flags(5 * seed, count, 0.8), flags(5 * seed + 1, count, 0.3)
        steps, after = seed % 7, (seed // 7) % 3
        for optimise, best in (("max", max), ("min", min)):
            plain = _until(rows, best, left, right, steps, min(after, steps))
            asked = Until(optimise, np.array(left), np.array(right), steps, min(after, steps))
            _same(solve_markov(markov, asked, exact=exact), plain, exact)
            cost = Accumulate(optimise, markov.rewards["cost"], np.array(right), steps)
            _same(solve_markov(markov, cost, exact=exact), _accumulated(rows, best, right, steps), exact)
            if markov.values:
                amounts = np.array([(seed + s) % len(markov.values) for s in range(count)], dtype=np.int32)
                instant = [markov.values[i] for i in amounts]
                for _ in range(steps):
                    instant = _stepped(rows, best, instant)
                _same(solve_markov(markov, Instant(optimise, amounts, steps), exact=exact), instant, exact)


def _same(answer, expected, exact: bool) -> None:
    for low, high, value in zip(answer.low, answer.high, expected, strict=True):
        assert Fraction(low, answer.scale) <= value <= Fraction(high, answer.scale)
        assert (high - low) * 10**9 <= value * answer.scale
        assert not exact or low == high


def _stepped(rows, best, values, paid: bool = False):
    def expected(choice):
        return sum((p * (values[t] + (r if paid else 0)) for p, t, r in choice), Fraction(0))

    return [
        best(map(expected, choices)) if choices else old for choices, old in zip(rows, values, strict=True)
    ]


def _until(rows, best, left, right, steps: int, after: int):
    values = [Fraction(int(r)) for r in right]
    for i in reversed(range(steps)):
        values = [
            v if is_left else Fraction(0)
            for v, is_left in zip(_stepped(rows, best, values), left, strict=True)
        ]
        values = [Fraction(1) if r and i >= after else v for v, r in zip(values, right, strict=True)]
    return values


def _accumulated(rows, best, goal, steps: int):
    values = [Fraction(0)] * len(rows)
    for _ in range(steps):
        values = _stepped(rows, best, values, paid=True)
        values = [Fraction(0) if goal[s] else v for s, v in enumerate(values)]
    return values
