"""From a reduced process to an answer: as many bits as the width asks for, fractions where those fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

import numpy as np
from numpy.typing import NDArray

from surefoot.query.markov import MarkovAnswer, Optimise
from surefoot.solvers.markov.integer_vectors import IntegerVector, IntegerWeights, integer_zeros
from surefoot.solvers.markov.policy_iteration import bound_fixed_point
from surefoot.solvers.markov.qualitative import NEVER, MarkovGraph
from surefoot.solvers.markov.quotient import QuotientProcess, build_quotient
from surefoot.solvers.markov.rational_policy_iteration import RationalTimeout, optimal_values

BITS = (96, 192, 448)


class MarkovUndecided(Exception):
    """No bounds of the width that was asked for, in a sentence."""


@dataclass(frozen=True, slots=True, eq=False)
class BellmanEquation:
    """What is left of a question when everything certain is known."""

    graph: MarkovGraph
    numbers: IntegerWeights
    optimise: Optimise
    states: NDArray[np.bool_]  # of unknown value
    known: NDArray[np.int64]  # [states]: the value elsewhere: 0 or 1
    usable: NDArray[np.bool_]  # [choices]
    component: NDArray[np.int64]  # [states]: end component to merge, -1 for none
    rank: NDArray[np.int64]  # [states]: together with `step` a way to choose that ends surely
    step: NDArray[np.int64]  # [states]: its choice


@dataclass(frozen=True, slots=True, eq=False)
class Precision:
    """How precise, for which states, and how long."""

    width: Fraction
    wanted: NDArray[np.int64]
    exact: bool
    seconds_left: Callable[[], float]
    bounds_only: bool = False  # no choices are asked for: value iteration will do


def solve_bellman_equation(
    question: BellmanEquation, wish: Precision, scheduler: NDArray[np.int64], infinite: NDArray[np.bool_]
) -> MarkovAnswer:
    """`scheduler`: choices in states of known value; those of the open states are filled in."""
    amounts, signed = question.numbers.amounts, question.numbers.signed
    largest = max(map(abs, amounts), default=0) if signed and amounts is not None else 0
    for bits in () if wish.exact else BITS:
        if wish.seconds_left() <= 0:
            raise MarkovUndecided("the time is over")
        small = _quotient_at_scale(question, question.numbers.grain << bits)
        found = bound_fixed_point(
            small, question.optimise, _proper_policy(question, small), wish.seconds_left
        )
        if found is None:
            continue
        below = found.low if signed else np.maximum(found.low, 0)
        low, high = small.state_values(below), small.state_values(found.high)
        if _is_narrow_enough(low, high, wish, infinite, largest << bits):
            complete = _complete_scheduler(question, small, found.policy, scheduler)
            return MarkovAnswer(low, high, small.scale, infinite, complete)
    if wish.seconds_left() <= 0:
        raise MarkovUndecided("the time is over")
    small = _quotient_at_scale(question, question.numbers.grain)
    try:
        values, policy = optimal_values(
            small, question.optimise, _proper_policy(question, small), wish.seconds_left
        )
    except RationalTimeout:
        raise MarkovUndecided("floating point is not good enough here, and fractions took too long") from None
    exact = small.state_values(_object_array([v * small.scale for v in values]))
    result = _object_array([Fraction(v) / small.scale for v in exact])
    return MarkovAnswer(result, result, 1, infinite, _complete_scheduler(question, small, policy, scheduler))


def _quotient_at_scale(question: BellmanEquation, scale: int) -> QuotientProcess:
    known = integer_zeros(question.graph.markov.states) + question.known.astype(np.object_) * scale
    return build_quotient(
        question.graph, question.numbers, question.states, known, question.usable, question.component, scale
    )


def _object_array(values: list[Fraction]) -> IntegerVector:
    made = np.empty(len(values), dtype=np.object_)
    made[:] = values
    return cast(IntegerVector, made)


def _is_narrow_enough(
    low: IntegerVector, high: IntegerVector, wish: Precision, infinite: NDArray[np.bool_], least: int
) -> bool:
    """Relative to the value, or to `least`: what may cancel out to 0 is measured by the largest reward."""
    part = wish.wanted[~infinite[wish.wanted]]
    top, bottom = wish.width.numerator, wish.width.denominator
    return all((h - v) * bottom <= top * max(v, least) for v, h in zip(low[part], high[part], strict=True))


def _proper_policy(question: BellmanEquation, small: QuotientProcess) -> NDArray[np.int64]:
    """A policy under which every run of the reduced process ends: the choices that lower the rank."""
    states = question.graph.owners[small.origin]
    downward = np.flatnonzero(question.step[states] == small.origin)
    order = downward[np.lexsort((question.rank[states[downward]], small.node[states[downward]]))]
    nodes, first = np.unique(small.node[states[order]], return_index=True)
    policy = small.choices[:-1].copy()
    policy[nodes] = order[first]
    return policy


def _complete_scheduler(
    question: BellmanEquation, small: QuotientProcess, policy: NDArray[np.int64], scheduler: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The policy in all open states: inside an end component, towards the state that leaves it."""
    graph, states = question.graph, question.states
    chosen = scheduler.copy()
    chosen[states] = NEVER
    taken = np.concatenate((small.origin[policy], small.folded))
    chosen[graph.owners[taken]] = taken
    merged = states & (question.component >= 0)
    if merged.any():
        _, step = graph.can_reach(merged & (chosen != NEVER), merged, _inner_choices(question))
        towards = merged & (chosen == NEVER)
        chosen[towards] = step[towards]
    return chosen


def _inner_choices(question: BellmanEquation) -> NDArray[np.bool_]:
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
