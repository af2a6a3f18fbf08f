"""From a reduced process to an answer: as many bits as the width asks for, fractions where those fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import Answer, Optimise
from surefoot.solve.markov.equation.integers import Numbers, Whole, zeros
from surefoot.solve.markov.equation.iterate import bounds
from surefoot.solve.markov.equation.rational import Slow, optimal_values
from surefoot.solve.markov.equation.reduce import Reduced, reduced
from surefoot.solve.markov.graph import NEVER, Graph

BITS = (96, 192, 448)


class Undecided(Exception):
    """No bounds of the width that was asked for, in a sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class Open:
    """What is left of a question when everything certain is known."""

    graph: Graph
    numbers: Numbers
    optimise: Optimise
    states: NDArray[np.bool_]  # of unknown value
    known: NDArray[np.int64]  # [states]: the value elsewhere: 0 or 1
    usable: NDArray[np.bool_]  # [choices]
    component: NDArray[np.int64]  # [states]: end component to merge, -1 for none
    rank: NDArray[np.int64]  # [states]: together with `step` a way to choose that ends surely
    step: NDArray[np.int64]  # [states]: its choice


@dataclass(frozen=True, slots=True, eq=False)
class Wish:
    """How precise, for which states, and how long."""

    width: Fraction
    wanted: NDArray[np.int64]
    exact: bool
    seconds_left: Callable[[], float]


def optimum(question: Open, wish: Wish, scheduler: NDArray[np.int64], infinite: NDArray[np.bool_]) -> Answer:
    """`scheduler`: choices in states of known value; those of the open states are filled in."""
    for bits in () if wish.exact else BITS:
        if wish.seconds_left() <= 0:
            raise Undecided("the time is over")
        small = _reduced(question, question.numbers.grain << bits)
        found = bounds(small, question.optimise, _first(question, small), wish.seconds_left)
        if found is None:
            continue
        low, high = small.everywhere(np.maximum(found.low, 0)), small.everywhere(found.high)
        if _narrow(low, high, wish, infinite):
            complete = _scheduler(question, small, found.policy, scheduler)
            return Answer(low, high, small.scale, infinite, complete)
    if wish.seconds_left() <= 0:
        raise Undecided("the time is over")
    small = _reduced(question, question.numbers.grain)
    try:
        values, policy = optimal_values(small, question.optimise, _first(question, small), wish.seconds_left)
    except Slow:
        raise Undecided("floating point is not good enough here, and fractions took too long") from None
    exact = small.everywhere(_objects([v * small.scale for v in values]))
    result = _objects([Fraction(v) / small.scale for v in exact])
    return Answer(result, result, 1, infinite, _scheduler(question, small, policy, scheduler))


def _reduced(question: Open, scale: int) -> Reduced:
    known = zeros(question.graph.markov.states) + question.known.astype(np.object_) * scale
    return reduced(
        question.graph, question.numbers, question.states, known, question.usable, question.component, scale
    )


def _objects(values: list[Fraction]) -> Whole:
    made = np.empty(len(values), dtype=np.object_)
    made[:] = values
    return cast(Whole, made)


def _narrow(low: Whole, high: Whole, wish: Wish, infinite: NDArray[np.bool_]) -> bool:
    part = wish.wanted[~infinite[wish.wanted]]
    top, bottom = wish.width.numerator, wish.width.denominator
    return all((h - v) * bottom <= top * v for v, h in zip(low[part], high[part], strict=True))


def _first(question: Open, small: Reduced) -> NDArray[np.int64]:
    """A policy under which every run of the reduced process ends: the choices that lower the rank."""
    states = question.graph.owners[small.origin]
    downward = np.flatnonzero(question.step[states] == small.origin)
    order = downward[np.lexsort((question.rank[states[downward]], small.node[states[downward]]))]
    nodes, first = np.unique(small.node[states[order]], return_index=True)
    policy = small.choices[:-1].copy()
    policy[nodes] = order[first]
    return policy


def _scheduler(
    question: Open, small: Reduced, policy: NDArray[np.int64], scheduler: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The policy in all open states: inside an end component, towards the state that leaves it."""
    graph, states = question.graph, question.states
    chosen = scheduler.copy()
    chosen[states] = NEVER
    taken = np.concatenate((small.origin[policy], small.folded))
    chosen[graph.owners[taken]] = taken
    merged = states & (question.component >= 0)
    if merged.any():
        _, step = graph.can_reach(merged & (chosen != NEVER), merged, _inner(question))
        towards = merged & (chosen == NEVER)
        chosen[towards] = step[towards]
    return chosen


def _inner(question: Open) -> NDArray[np.bool_]:
    """[choices]: those that stay in the end component of their state and cost nothing."""
    graph, component = question.graph, question.component
    own = component[graph.owners]
    stays = np.ones(len(own), dtype=np.bool_)
    stays[graph.rows[component[graph.markov.targets] != own[graph.rows]]] = False
    inner = (own >= 0) & stays & question.usable
    if question.numbers.amounts is not None:
        paying = question.numbers.amounts != 0
        inner[graph.rows[paying.astype(np.bool_)]] = False
    return inner
