"""One question about every state of a decision process, answered with bounds that hold exactly.

States that were seen but not explored (`cut`) may do anything: the bounds cover the worst and the best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import inf

import numpy as np

from surefoot.query.markov import Accumulate, Answer, Markov, Question, Until
from surefoot.solve.markov.accumulate import accumulate
from surefoot.solve.markov.bounded import bounded
from surefoot.solve.markov.graph import Graph
from surefoot.solve.markov.optimum import Undecided, Wish
from surefoot.solve.markov.until import until

WIDTH = Fraction(1, 10**6)


def solve(
    markov: Markov,
    asked: Question,
    *,
    width: Fraction = WIDTH,
    exact: bool = False,
    seconds_left: Callable[[], float] = lambda: inf,
) -> Answer:
    """Bounds whose relative width at the start states is at most `width`; `exact`: the numbers themselves.

    Raises `Undecided` where that is not possible. With states that were cut off the bounds may be wider.
    """
    if isinstance(asked, Accumulate):
        used = np.unique(asked.rewards)
        if any(markov.values[i] < 0 for i in used):
            raise Undecided("a reward is negative")
    if not markov.cut.any():
        return _solved(Graph(markov), asked, Wish(width, markov.initial, exact, seconds_left))
    return _between(markov, asked, width, exact, seconds_left)


def _solved(graph: Graph, asked: Question, wish: Wish) -> Answer:
    match asked:
        case Until(steps=None):
            if asked.after:
                raise Undecided("a lower limit on the number of steps needs an upper one")
            return until(graph, asked, wish)
        case Accumulate(steps=None):
            return accumulate(graph, asked, wish)
        case _:
            return bounded(graph, asked, wish)


def _between(
    markov: Markov, asked: Question, width: Fraction, exact: bool, seconds_left: Callable[[], float]
) -> Answer:
    """The worst and the best that unexplored states could do; their own labels are known."""
    wish = Wish(width, markov.initial[:0], exact, seconds_left)
    graph, cut = Graph(markov), markov.cut
    if not isinstance(asked, Until):
        raise Undecided("the model was cut off, and rewards beyond are not bounded")
    inside = asked if not asked.after else replace(asked, left=asked.left & ~cut, right=asked.right & ~cut)
    least = _solved(graph, inside, wish)
    most = _solved(graph, replace(asked, right=asked.right | (cut & asked.left)), wish)
    low, high = least.low * most.scale, most.high * least.scale
    return Answer(low, high, least.scale * most.scale, least.infinite, least.scheduler)
