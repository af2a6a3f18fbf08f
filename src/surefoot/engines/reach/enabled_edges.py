"""Does a run surely go on? Where a goal has to be met some edge has to be enabled in every state of a set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.reach.conditions import Mask, decide_condition
from surefoot.engines.reach.decision_forms import arithmetic_nodes
from surefoot.engines.reach.elementary_range import Array
from surefoot.engines.reach.form_series import bounds_of_nodes, extend_forms, start_forms
from surefoot.engines.reach.term_levels import ListedCondition, TermLevels, arrange_levels
from surefoot.reductions.closed_loop import ClosedLoop
from surefoot.term.term import Apply, Op, Term, split_conjunction


@dataclass(frozen=True, slots=True, eq=False)
class EdgeGuards:
    """The guards of all edges over common nodes, each as the conditions that it is made of."""

    levels: TermLevels
    names: NDArray[np.intp]  # nodes of the variables, then of the controls
    actions: tuple[str | None, ...]
    parts: tuple[tuple[ListedCondition, ...], ...]
    opposites: tuple[tuple[int, int, int, int], ...]  # edge and part twice: one of the two holds in any state


def list_guards(loop: ClosedLoop) -> EdgeGuards:
    nodes = arithmetic_nodes(loop)
    names = np.array(
        [nodes.name(n) for n in (*loop.variables, *(c.name for c in loop.controls))], dtype=np.intp
    )
    terms = [split_conjunction(edge.guard) for edge in loop.edges]
    parts = tuple(tuple(nodes.condition(t) for t in several) for several in terms)
    opposites = tuple(
        (a, i, b, j)
        for a, b in combinations(range(len(terms)), 2)
        for i, one in enumerate(terms[a])
        for j, other in enumerate(terms[b])
        if other == _opposite(one) or one == _opposite(other)
    )
    return EdgeGuards(arrange_levels(nodes), names, tuple(e.action for e in loop.edges), parts, opposites)


def _opposite(term: Term) -> Term:
    match term:
        case Apply(Op.LT, (left, right)):
            return Apply(Op.LE, (right, left))
        case Apply(Op.LE, (left, right)):
            return Apply(Op.LT, (right, left))
    return Apply(Op.NOT, (term,))


def surely_go_on(guards: EdgeGuards, action: str | None, state: Array, controls: Array) -> Mask:
    """Rows in all of whose states an edge of this action, or of the environment's own, is enabled."""
    cells, _, width = state.shape
    series = start_forms(guards.levels, 1, cells, width - 2)
    series.set(guards.names, 0, np.moveaxis(np.concatenate([state, controls], 1), 1, 0))
    with np.errstate(all="ignore"):
        extend_forms(series, 0)
    low, high = bounds_of_nodes(guards.levels, series.forms[:, 0], series.spread[:, 0])
    permitted = [n for n, a in enumerate(guards.actions) if a is None or a == action]
    holds = {
        n: [decide_condition(part, lambda k: (low[k], high[k]), cells)[0] for part in guards.parts[n]]
        for n in permitted
    }
    found = np.zeros(cells, bool)
    for several in holds.values():
        found |= _all_of(several, cells)
    for a, i, b, j in guards.opposites:
        if a in holds and b in holds:
            rest = [*holds[a][:i], *holds[a][i + 1 :], *holds[b][:j], *holds[b][j + 1 :]]
            found |= _all_of(rest, cells)
    return found


def _all_of(several: Sequence[Mask], cells: int) -> Mask:
    found = np.ones(cells, bool)
    for one in several:
        found &= one
    return found
