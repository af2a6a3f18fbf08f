"""Probabilities of `left U right` without limits, least and greatest."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from surefoot.query.markov import MarkovAnswer, Until
from surefoot.solvers.markov.bellman import BellmanEquation, Precision, solve_bellman_equation
from surefoot.solvers.markov.end_components import maximal_end_components
from surefoot.solvers.markov.integer_vectors import integer_weights
from surefoot.solvers.markov.qualitative import NEVER, MarkovGraph


def solve_until(graph: MarkovGraph, asked: Until, wish: Precision) -> MarkovAnswer:
    markov = graph.markov
    through = asked.left & ~asked.right
    everything = np.ones(len(graph.owners), dtype=np.bool_)
    scheduler = np.full(markov.states, NEVER, dtype=np.int64)
    component = np.full(markov.states, -1, dtype=np.int64)
    if asked.optimise == "max":
        sure_rank, sure_step = graph.prob1_exists(asked.right, through)
        one = sure_rank != NEVER
        rank, step = graph.can_reach(asked.right, through)
        states = (rank != NEVER) & ~one
        scheduler[one] = sure_step[one]
        component = maximal_end_components(graph, states)
    else:
        zero = graph.must_reach(asked.right, through) == NEVER
        one = graph.prob1_forall(asked.right, through)
        states = ~zero & ~one
        rank, step = graph.can_reach(asked.right, through)
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
    found = solve_bellman_equation(question, wish, scheduler, np.zeros(markov.states, dtype=np.bool_))
    # Bounds above 1 by a hair are still bounds, but not beside states whose bound is exactly 1.
    return replace(found, high=np.minimum(found.high, found.scale))
