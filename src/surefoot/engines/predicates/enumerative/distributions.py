"""Every choice of every state of a tabulated system, with the probabilities of its outcomes.

A choice is a transition with values for what the environment picks. Which of several actions the policy picks
where rounding decides is no choice of anybody who optimises: such states have several variants.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.predicates.dynamics import OutOfTime, PolicyStep
from surefoot.engines.predicates.enumerative.columns import Mask
from surefoot.engines.predicates.enumerative.table import (
    CHUNK,
    Indices,
    StateBatch,
    StateTable,
    enumerate_chosen_values,
    lookups_of,
    order_conjuncts,
    targets_of,
)
from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.term.term import TRUE, Const, Term
from surefoot.work.budget import Budget

ASTRAY = -1  # instead of a target: there is none, because of an error of the model


@dataclass(frozen=True, slots=True, eq=False)
class Choices:
    """One choice of each of these states; outcome k has probability `shares[k]`."""

    sources: Indices
    targets: NDArray[np.int64]  # (sources, outcomes)
    shares: tuple[Fraction, ...]
    variant: int  # 0: whatever the policy picks


@dataclass(frozen=True, slots=True, eq=False)
class Distributions:
    """All choices; counted through group by group, `order` sorts them by state and variant."""

    choices: tuple[Choices, ...]
    stalls: Mask  # rounding decides, and something may be picked that makes no step
    order: Indices
    first: Indices  # per state: where its choices begin in that order
    variants: Indices  # in that order


def choice_distributions(table: StateTable, budget: Budget) -> Distributions:
    """All of them; `Unsupported` where a probability is not a constant."""
    model = table.dynamics
    groups: dict[tuple[object, Term], list[PolicyStep]] = {}
    for step in model.steps:
        groups.setdefault((step.leap.transition, step.choice), []).append(step)
    variants: dict[Term, int] = {TRUE: 0}
    for _, choice in groups:
        variants.setdefault(choice, len(variants))
    orders = {id(s): order_conjuncts((s.guard, s.choice), model.outputs) for s in model.steps}
    lookups = lookups_of(table)
    found: list[Choices] = []
    stalls = np.zeros(len(table), dtype=np.bool_)
    for first in range(0, len(table), CHUNK):
        if budget.is_spent():
            raise OutOfTime
        numbers = np.arange(first, min(first + CHUNK, len(table)))
        look = StateBatch(model, table.columns(numbers), orders, lookups)
        for (_, choice), steps in groups.items():
            found += _of_group(table, steps, look, first, variants[choice])
        stalls[numbers] = _near_ties(look)
    nothing = np.zeros(0, dtype=np.int64)
    states = np.concatenate([nothing, *(c.sources for c in found)])
    variant = np.repeat([c.variant for c in found], [len(c.sources) for c in found]).astype(np.int64)
    order = np.lexsort((variant, states))
    begins = np.searchsorted(states[order], np.arange(len(table) + 1))
    return Distributions(tuple(found), stalls, order, begins, variant[order])


def _of_group(
    table: StateTable, steps: Sequence[PolicyStep], look: StateBatch, first: int, variant: int
) -> Iterator[Choices]:
    """The outcomes of one transition are the steps of a group."""
    model = table.dynamics
    shares = [outcome_probability(model.problem, s) for s in steps]
    terms = tuple(t for s in steps for t in (s.guard, *s.after.values()))
    for picked in enumerate_chosen_values(model, terms):
        possible = [look.rows(look.orders[id(s)], picked) for s in steps]
        rows = np.unique(np.concatenate([some for _, some in possible]))
        if not rows.size:
            continue
        targets = np.full((len(rows), len(steps)), ASTRAY, dtype=np.int64)
        for number, (step, (here, some)) in enumerate(zip(steps, possible, strict=True)):
            to, inside = targets_of(model, table.ranges, here.narrow(some), step.after)
            targets[np.searchsorted(rows, some[inside]), number] = to[inside]
        rest = 1 - sum(shares, Fraction(0))
        if rest < 0:
            raise Unsupported("probabilities sum to more than 1")
        if rest:
            targets = np.column_stack([targets, np.full(len(rows), ASTRAY, dtype=np.int64)])
        yield Choices(first + rows, targets, (*shares, *((rest,) if rest else ())), variant)


def outcome_probability(problem: Problem, step: PolicyStep) -> Fraction:
    """The probability of this outcome of the transition."""
    parts = []
    for (component, edge), outcome in zip(step.leap.transition.edges, step.leap.outcomes, strict=True):
        term = problem.environment.components[component].edges[edge].outcomes[outcome].probability
        if not isinstance(term, Const) or isinstance(term.value, bool):
            raise Unsupported("a probability that is not a constant cannot be abstracted from")
        parts.append(Fraction(term.value))
    return prod(parts, start=Fraction(1))


def _near_ties(look: StateBatch) -> Mask:
    """Where more than one output may be the largest; where none was looked at nothing depends on them."""
    if len(look.low) < 2:
        return np.zeros(look.size, dtype=np.bool_)
    several: Mask = look.seen & ((look.high >= look.low.max(axis=0)).sum(axis=0) > 1)
    return several
