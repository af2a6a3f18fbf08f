"""Expected rewards until a goal, least and greatest; infinite where the goal may be (must be) missed."""

from __future__ import annotations

import numpy as np

from surefoot.query.markov import Accumulate, MarkovAnswer
from surefoot.solvers.markov.bellman import BellmanEquation, Precision, solve_bellman_equation
from surefoot.solvers.markov.end_components import maximal_end_components
from surefoot.solvers.markov.integer_vectors import integer_weights
from surefoot.solvers.markov.qualitative import NEVER, MarkovGraph


def solve_expected_reward(graph: MarkovGraph, asked: Accumulate, wish: Precision) -> MarkovAnswer:
    markov = graph.markov
    anywhere = np.ones(markov.states, dtype=np.bool_)
    given = integer_weights(markov, asked.rewards)
    scheduler = np.full(markov.states, NEVER, dtype=np.int64)
    component = np.full(markov.states, -1, dtype=np.int64)
    sure_rank, sure_step = graph.prob1_exists(asked.until, anywhere)
    if asked.optimise == "max":
        finite = graph.prob1_forall(asked.until, anywhere)
        usable = np.ones(len(graph.owners), dtype=np.bool_)
    else:
        finite = sure_rank != NEVER
        usable = graph.closed_choices(finite)
        paying = np.zeros(len(graph.owners), dtype=np.bool_)
        assert given.amounts is not None
        paying[graph.rows[(given.amounts != 0).astype(np.bool_)]] = True
        component = maximal_end_components(graph, finite & ~asked.until, usable & ~paying)
    states = finite & ~asked.until
    idle = np.diff(markov.choices) > 0
    scheduler[idle] = markov.choices[:-1][idle]
    if asked.optimise == "max":  # towards missing the goal where that is possible
        missed = _goal_avoiding_choices(graph, asked)
        scheduler[~finite] = missed[~finite]
    known = np.zeros(markov.states, dtype=np.int64)
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
