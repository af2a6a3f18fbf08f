"""Expected rewards until a goal, least and greatest; infinite where the goal may be (must be) missed."""

from __future__ import annotations

import numpy as np

from surefoot.query.markov import Accumulate, Answer
from surefoot.solve.markov.components import end_components
from surefoot.solve.markov.equation.integers import numbers
from surefoot.solve.markov.graph import NEVER, Graph
from surefoot.solve.markov.optimum import Open, Wish, optimum


def accumulate(graph: Graph, asked: Accumulate, wish: Wish) -> Answer:
    markov = graph.markov
    anywhere = np.ones(markov.states, dtype=np.bool_)
    given = numbers(markov, asked.rewards)
    scheduler = np.full(markov.states, NEVER, dtype=np.int64)
    component = np.full(markov.states, -1, dtype=np.int64)
    sure_rank, sure_step = graph.surely_reached(asked.until, anywhere)
    if asked.optimise == "max":
        finite = graph.never_missed(asked.until, anywhere)
        usable = np.ones(len(graph.owners), dtype=np.bool_)
    else:
        finite = sure_rank != NEVER
        usable = graph.staying(finite)
        paying = np.zeros(len(graph.owners), dtype=np.bool_)
        assert given.amounts is not None
        paying[graph.rows[(given.amounts != 0).astype(np.bool_)]] = True
        component = end_components(graph, finite & ~asked.until, usable & ~paying)
    states = finite & ~asked.until
    idle = np.diff(markov.choices) > 0
    scheduler[idle] = markov.choices[:-1][idle]
    if asked.optimise == "max":  # towards missing the goal where that is possible
        missed = _missing(graph, asked)
        scheduler[~finite] = missed[~finite]
    known = np.zeros(markov.states, dtype=np.int64)
    question = Open(graph, given, asked.optimise, states, known, usable, component, sure_rank, sure_step)
    return optimum(question, wish, scheduler, ~finite)


def _missing(graph: Graph, asked: Accumulate) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Choices that make the goal be missed with positive probability: into a part that avoids it for ever."""
    anywhere = np.ones(graph.markov.states, dtype=np.bool_)
    avoid = graph.must_reach(asked.until, anywhere) == NEVER
    _, towards = graph.can_reach(avoid, ~asked.until)
    staying = np.flatnonzero(graph.staying(avoid) & avoid[graph.owners])
    towards[graph.owners[staying]] = staying
    return towards
