"""Rewards of both signs: bounds and exact values against every memoryless way to choose."""

from fractions import Fraction
from random import Random

import numpy as np
import pytest
from tests.solvers.markov.random_processes import Rows, cost_of_chain, process, random_rows, schedulers

from surefoot.query.markov import Accumulate, MarkovAnswer
from surefoot.solvers.markov import GoalMayBeMissed, solve_markov

PAID = (-3, -1, 0, 1, 3)


def signed_rows(seed: int, *, ending: bool) -> Rows:
    """`ending`: every choice ends with some probability, in the last state."""
    draw = Random(seed)
    rows, _ = random_rows(seed)
    found: Rows = []
    for choices in rows:
        own = [[(p, t, draw.choice(PAID)) for p, t, _ in choice] for choice in choices]
        if ending:
            chance = Fraction(1, draw.randint(2, 5))
            own = [
                [(p * (1 - chance), t, r) for p, t, r in choice] + [(chance, len(rows), draw.choice(PAID))]
                for choice in own or [[(Fraction(1), len(rows), -1)]]
            ]
        found.append(own)
    return [*found, []]


def encloses(answer: MarkovAnswer, state: int, value: Fraction, exact: bool) -> bool:
    low, high = (Fraction(end[state]) / answer.scale for end in (answer.low, answer.high))
    return low <= value <= high and high - low <= (0 if exact else Fraction(3 + abs(value), 10**6))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("optimise", ["min", "max"])
def test_sums_until_a_goal_that_is_sure(optimise: str, exact: bool) -> None:
    for seed in range(150):
        rows = signed_rows(seed, ending=True)
        goal = [False] * (len(rows) - 1) + [True]
        markov = process(rows)
        answer = solve_markov(
            markov, Accumulate(optimise, markov.rewards["cost"], np.array(goal)), exact=exact
        )
        every = [cost_of_chain(chain, goal) for chain in schedulers(rows)]
        best = max if optimise == "max" else min
        for state in range(len(rows)):
            value = best(values[state] for values in every if values[state] is not None)
            assert encloses(answer, state, value, exact), (seed, state)
        chain = [
            own[int(answer.scheduler[s] - markov.choices[s])] if own else None for s, own in enumerate(rows)
        ]
        reached = cost_of_chain(chain, goal)
        assert all(value is not None and encloses(answer, s, value, exact) for s, value in enumerate(reached))


@pytest.mark.parametrize("optimise", ["min", "max"])
def test_a_goal_that_may_be_missed_is_refused(optimise: str) -> None:
    refused = 0
    for seed in range(150):
        rows = signed_rows(seed, ending=False)
        goal = [state % 2 == 0 for state in range(len(rows))]
        markov = process(rows)
        asked = Accumulate(optimise, markov.rewards["cost"], np.array(goal))
        every = [cost_of_chain(chain, goal) for chain in schedulers(rows)]
        missed = any(value is None for values in every for value in values)
        if missed and any(r < 0 for own in rows for choice in own for _, _, r in choice):
            refused += 1
            with pytest.raises(GoalMayBeMissed):
                solve_markov(markov, asked)
    assert refused > 50


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("optimise", ["min", "max"])
def test_sums_of_so_many_steps(optimise: str, exact: bool) -> None:
    best = max if optimise == "max" else min
    for seed in range(100):
        rows = signed_rows(seed, ending=seed % 2 == 0)
        goal = [state % 3 == 0 for state in range(len(rows))]
        markov, steps = process(rows), seed % 9
        asked = Accumulate(optimise, markov.rewards["cost"], np.array(goal), steps)
        answer = solve_markov(markov, asked, exact=exact)
        values = [Fraction(0)] * len(rows)
        for _ in range(steps):
            values = [
                best(sum((p * (values[t] + r) for p, t, r in choice), Fraction(0)) for choice in own)
                if own and not goal[state]
                else Fraction(0)
                for state, own in enumerate(rows)
            ]
        assert all(encloses(answer, s, value, exact) for s, value in enumerate(values)), seed


def test_what_cancels_out_is_0() -> None:
    """A fair walk between two ends whose payments cancel out."""
    rows: Rows = [[[(Fraction(1, 2), max(n - 1, 0), -1), (Fraction(1, 2), n + 1, 1)]] for n in range(1, 40)]
    walk: Rows = [[], *rows, []]
    goal = [not own for own in walk]
    markov = process(walk, [20])
    answer = solve_markov(markov, Accumulate("max", markov.rewards["cost"], np.array(goal)))
    assert encloses(answer, 20, Fraction(0), False)
