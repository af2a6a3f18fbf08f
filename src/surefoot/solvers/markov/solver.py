"""One question about every state of a decision process, answered with bounds that hold exactly.

States that were seen but not explored (`cut`) may do anything: the bounds cover the worst and the best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np

from surefoot.query.markov import Accumulate, Markov, MarkovAnswer, MarkovQuestion, Until
from surefoot.solvers.markov.bellman import MarkovUndecided, Precision
from surefoot.solvers.markov.expected_reward import solve_expected_reward
from surefoot.solvers.markov.qualitative import MarkovGraph
from surefoot.solvers.markov.step_bounded import solve_step_bounded
from surefoot.solvers.markov.until import solve_until

WIDTH = Fraction(1, 10**6)


def solve_markov(
    markov: Markov,
    asked: MarkovQuestion,
    *,
    width: Fraction = WIDTH,
    exact: bool = False,
    seconds_left: Callable[[], float] = lambda: inf,
) -> MarkovAnswer:
    """Bounds whose relative width at the start states is at most `width`; `exact`: the numbers themselves.

    Raises `Undecided` where that is not possible. With states that were cut off the bounds may be wider.
    """
    if isinstance(asked, Accumulate):
        used = np.unique(asked.rewards)
        if any(markov.values[i] < 0 for i in used):
            raise MarkovUndecided("a reward is negative")
    if not markov.cut.any():
        return _solve_question(
            MarkovGraph(markov), asked, Precision(width, markov.initial, exact, seconds_left)
        )
    return _bound_cut_model(markov, asked, width, exact, seconds_left)


def _solve_question(graph: MarkovGraph, asked: MarkovQuestion, wish: Precision) -> MarkovAnswer:
    match asked:
        case Until(steps=None):
            if asked.after:
                raise MarkovUndecided("a lower limit on the number of steps needs an upper one")
            return solve_until(graph, asked, wish)
        case Accumulate(steps=None):
            return solve_expected_reward(graph, asked, wish)
        case _:
            return solve_step_bounded(graph, asked, wish)


def _bound_cut_model(
    markov: Markov, asked: MarkovQuestion, width: Fraction, exact: bool, seconds_left: Callable[[], float]
) -> MarkovAnswer:
    """The worst and the best that unexplored states could do; their own labels are known."""
    wish = Precision(width, markov.initial[:0], exact, seconds_left)
    graph, cut = MarkovGraph(markov), markov.cut
    if not isinstance(asked, Until):
        raise MarkovUndecided("the model was cut off, and rewards beyond are not bounded")
    inside = asked if not asked.after else replace(asked, left=asked.left & ~cut, right=asked.right & ~cut)
    least = _solve_question(graph, inside, wish)
    most = _solve_question(graph, replace(asked, right=asked.right | (cut & asked.left)), wish)
    low, high = least.low * most.scale, most.high * least.scale
    return MarkovAnswer(low, high, least.scale * most.scale, least.infinite, least.scheduler)
