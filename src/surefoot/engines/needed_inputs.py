"""Which inputs a proof needs (beyond whiRL 2.0, whose user names the inputs to be freed).

Freeing more inputs makes a property harder to show. They are ordered by how far each alone can move the
outputs (interval bounds with all others in the middle of their ranges), and the longest prefix of the order
that can be freed is found by bisection; after it, what is left is tried input by input. So the set that
remains is one that a proof needs as long as time allows: none of its inputs can be freed alone in addition.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from surefoot.engines.tipping_point import Decide
from surefoot.network.interval import interval_bounds
from surefoot.problem.problem import Problem
from surefoot.reductions.abstraction import (
    FreedValues,
    NetworkAbstraction,
    abstract_network_io,
    network_policy,
    observed_input_box,
)
from surefoot.term.interval import Span
from surefoot.verdict.artifact import property_answer
from surefoot.verdict.verdict import Result
from surefoot.work.budget import Budget

QUESTIONS = 12  # among so many the time is divided at first


@dataclass(frozen=True, slots=True)
class NeededInputs:
    """The abstraction with the fewest inputs that was proved; None: no input can be freed."""

    abstraction: NetworkAbstraction | None
    result: Result | None
    complete: bool  # every remaining input was tried on its own
    questions: int


def _order_by_influence(problem: Problem, ranges: Mapping[int, Span]) -> list[int]:
    """The inputs, the least influential first."""
    network = network_policy(problem).network
    box = observed_input_box(problem)
    for i, span in ranges.items():
        assert span.low is not None
        assert span.high is not None
        box[i] = (float(span.low), float(span.high))
    low, high = np.array([b[0] for b in box]), np.array([b[1] for b in box])
    middle = low + (high - low) / 2
    moves = []
    for i in range(len(box)):
        below, above = middle.copy(), middle.copy()
        below[i], above[i] = low[i], high[i]
        outputs = interval_bounds(network, below, above)[-1]
        moves.append(float(np.max(outputs.high - outputs.low)))
    return sorted(range(len(box)), key=lambda i: (moves[i], i))


def needed_inputs(
    problem: Problem, decide: Decide, budget: Budget, ranges: Mapping[int, Span] | None = None
) -> NeededInputs:
    """Free as many inputs as a proof permits. The problem itself is known to hold."""
    wide = ranges or {}
    order = _order_by_influence(problem, wide)
    best: tuple[NetworkAbstraction, Result] | None = None
    asked, complete = 0, True

    def provable(inputs: frozenset[int]) -> bool:
        nonlocal best, asked, complete
        if budget.is_spent():
            complete = False
            return False
        asked += 1
        budget.progress(f"freeing {len(inputs)} of {len(order)} inputs")
        given = {i: wide[i] for i in inputs if i in wide}
        made = abstract_network_io(problem, FreedValues(inputs, ranges=given))
        share = max(budget.remaining() / QUESTIONS, min(1.0, budget.remaining()))
        result = decide(made.problem, budget.begin_part(share))
        if property_answer(result.verdict, result.certified) != "proved":
            return False
        best = (made, result)
        return True

    free = _longest_prefix(order, provable)
    for i in order:
        if i not in free and provable(free | {i}):
            free |= {i}
    if best is None:
        return NeededInputs(None, None, complete, asked)
    return NeededInputs(*best, complete, asked)


def _longest_prefix(order: list[int], provable: Callable[[frozenset[int]], bool]) -> frozenset[int]:
    """By bisection: with all of them, with none (which is known), in the middle between the two."""
    if provable(frozenset(order)):
        return frozenset(order)
    known, refused = 0, len(order)
    while refused - known > 1:
        middle = (known + refused) // 2
        if provable(frozenset(order[:middle])):
            known = middle
        else:
            refused = middle
    return frozenset(order[:known])
