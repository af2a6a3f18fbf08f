"""One question about every state of a decision process, answered with bounds that hold exactly.

States that were seen but not explored (`cut`) may do anything: the bounds cover the worst and the best.

Probabilities of `left U right` without limits, least and greatest.

Expected rewards until a goal, least and greatest; infinite where the goal may be (must be) missed. Rewards
below 0 are covered where no choice lets the goal be missed: then every policy ends, and the sum is finite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from math import inf
from typing import cast

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Accumulate, Markov, MarkovAnswer, MarkovQuestion, Until
from surefoot.solvers.markov.bellman import (
    BellmanEquation,
    MarkovUndecided,
    Precision,
    solve_bellman_equation,
)
from surefoot.solvers.markov.end_components import maximal_end_components
from surefoot.solvers.markov.integer_vectors import integer_weights
from surefoot.solvers.markov.qualitative import NEVER, MarkovGraph
from surefoot.solvers.markov.sound_sweeps import OpenProcess, bound_by_sweeps
from surefoot.solvers.markov.step_bounded import solve_step_bounded


class GoalMayBeMissed(MarkovUndecided):
    """Rewards below 0 are summed up until a goal that is not sure to come."""


def solve_expected_reward(graph: MarkovGraph, asked: Accumulate, wish: Precision) -> MarkovAnswer:
    markov = graph.markov
    anywhere = np.ones(markov.states, dtype=np.bool_)
    used = [(i, markov.values[i]) for i in np.unique(asked.rewards)]
    signed = any(amount < 0 for _, amount in used)
    scheduler = np.full(markov.states, NEVER, dtype=np.int64)
    component = np.full(markov.states, -1, dtype=np.int64)
    sure_rank, sure_step = graph.prob1_exists(asked.until, anywhere)
    if asked.optimise == "max" or signed:
        finite = graph.prob1_forall(asked.until, anywhere)
        usable = np.ones(len(markov.outcomes) - 1, dtype=np.bool_)
        if signed and not finite.all():
            why = "a reward is negative and the goal may be missed, where sums need not have a limit"
            raise GoalMayBeMissed(f"{why}; with a number of steps they do")
    else:
        finite = sure_rank != NEVER
        usable = graph.closed_choices(finite)
    states = finite & ~asked.until
    if wish.bounds_only and not (signed or wish.exact):
        nowhere = np.zeros(markov.states, dtype=np.bool_)
        swept = OpenProcess(markov, asked.optimise, states, nowhere, usable, asked.rewards)
        if (found := _sweep_in_time(swept, wish, ~finite)) is not None:
            return found
    if asked.optimise == "min" and not signed:
        paying = np.zeros(len(graph.owners), dtype=np.bool_)
        costly = np.isin(asked.rewards, [i for i, amount in used if amount])
        paying[graph.rows[costly]] = True
        component = maximal_end_components(graph, states, usable & ~paying)
    idle = np.diff(markov.choices) > 0
    scheduler[idle] = markov.choices[:-1][idle]
    if asked.optimise == "max":  # towards missing the goal where that is possible
        missed = _goal_avoiding_choices(graph, asked)
        scheduler[~finite] = missed[~finite]
    known = np.zeros(markov.states, dtype=np.int64)
    given = integer_weights(markov, asked.rewards)
    question = BellmanEquation(
        graph, given, asked.optimise, states, known, usable, component, sure_rank, sure_step
    )
    return solve_bellman_equation(question, wish, scheduler, ~finite)


def _goal_avoiding_choices(
    graph: MarkovGraph, asked: Accumulate
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Choices that make the goal be missed with positive probability: into a part that avoids it for ever."""
    anywhere = np.ones(graph.markov.states, dtype=np.bool_)
    avoid = graph.must_reach(asked.until, anywhere) == NEVER
    _, towards = graph.can_reach(avoid, ~asked.until)
    staying = np.flatnonzero(graph.closed_choices(avoid) & avoid[graph.owners])
    towards[graph.owners[staying]] = staying
    return towards


def solve_until(graph: MarkovGraph, asked: Until, wish: Precision) -> MarkovAnswer:
    markov = graph.markov
    through = asked.left & ~asked.right
    everything = np.ones(len(markov.outcomes) - 1, dtype=np.bool_)
    nowhere = np.zeros(markov.states, dtype=np.bool_)
    rank, step = graph.can_reach(asked.right, through)
    if asked.optimise == "max":
        sure_rank, sure_step = graph.prob1_exists(asked.right, through)
        one = sure_rank != NEVER
        states = (rank != NEVER) & ~one
    else:
        zero = graph.must_reach(asked.right, through) == NEVER
        one = graph.prob1_forall(asked.right, through)
        states = ~zero & ~one
    if wish.bounds_only and not wish.exact:
        swept = OpenProcess(markov, asked.optimise, states, one, everything, None)
        if (quick := _sweep_in_time(swept, wish, nowhere)) is not None:
            return quick
    scheduler = np.full(markov.states, NEVER, dtype=np.int64)
    component = np.full(markov.states, -1, dtype=np.int64)
    if asked.optimise == "max":
        scheduler[one] = sure_step[one]
        component = maximal_end_components(graph, states)
    else:
        avoiding = np.flatnonzero(graph.closed_choices(zero) & zero[graph.owners])
        scheduler[graph.owners[avoiding]] = avoiding
    idle = (scheduler == NEVER) & (np.diff(markov.choices) > 0)
    scheduler[idle] = markov.choices[:-1][idle]
    question = BellmanEquation(
        graph,
        integer_weights(markov),
        asked.optimise,
        states,
        one.astype(np.int64),
        everything,
        component,
        rank,
        step,
    )
    found = solve_bellman_equation(question, wish, scheduler, nowhere)
    # Bounds above 1 by a hair are still bounds, but not beside states whose bound is exactly 1.
    return replace(found, high=np.minimum(found.high, found.scale))


def _sweep_in_time(asked: OpenProcess, wish: Precision, infinite: NDArray[np.bool_]) -> MarkovAnswer | None:
    """The answer of value iteration for many states, where it comes to one; it names no choices."""
    wanted = wish.wanted[asked.open[wish.wanted]]
    found = bound_by_sweeps(asked, wish.width, wanted, wish.seconds_left)
    if found is None:
        return None
    nothing = np.full(len(infinite), NEVER, dtype=np.int64)
    low, high = (cast(NDArray[np.object_], side) for side in (found.low, found.high))  # whole numbers too
    return MarkovAnswer(low, high, found.scale, infinite, nothing)


WIDTH = Fraction(1, 10**6)


def solve_markov(
    markov: Markov,
    asked: MarkovQuestion,
    *,
    width: Fraction = WIDTH,
    exact: bool = False,
    seconds_left: Callable[[], float] = lambda: inf,
    bounds_only: bool = False,
) -> MarkovAnswer:
    """Bounds whose relative width at the start states is at most `width`; `exact`: the numbers themselves.

    Raises `Undecided` where that is not possible. With states that were cut off the bounds may be wider.
    `bounds_only`: the answer need not have a scheduler, and its numbers may be those of a machine.
    """
    if not markov.cut.any():
        return _solve_question(
            MarkovGraph(markov), asked, Precision(width, markov.initial, exact, seconds_left, bounds_only)
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
