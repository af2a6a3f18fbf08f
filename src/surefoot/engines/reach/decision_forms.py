"""What a policy may decide on a set of states: which branch, which controls as forms, which actions.

Where several decisions are possible each is followed over the part of the set where it may be made.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.reach.conditions import Mask, decide_condition, list_assumed_forms
from surefoot.engines.reach.elementary_range import Array, Range
from surefoot.engines.reach.form_series import (
    UNIT,
    bounds_of,
    bounds_of_nodes,
    extend_forms,
    spread_of,
    start_forms,
)
from surefoot.engines.reach.interval_series import extend_intervals, start_intervals
from surefoot.engines.reach.network_forms import clip_forms, propagate_in_parts
from surefoot.engines.reach.symbols import narrow_forms
from surefoot.engines.reach.term_levels import (
    Connective,
    ListedCondition,
    TermLevels,
    TermNodes,
    arrange_levels,
)
from surefoot.errors import Unsupported
from surefoot.problem.policy import Choose
from surefoot.query.bounds import rounded_down, rounded_up
from surefoot.reductions.closed_loop import ClosedLoop, LoopBranch, is_discrete
from surefoot.term.interval import Scalar
from surefoot.term.term import TRUE, Term
from surefoot.term.types import is_truth_value
from surefoot.term.value_types import Arithmetic, Real


@dataclass(frozen=True, slots=True, eq=False)
class StateTerms:
    """Terms over the state, computed on forms of it."""

    levels: TermLevels
    variables: NDArray[np.intp]

    def evaluate(self, state: Array) -> tuple[Array, Array]:
        """Forms and spreads of all nodes, (nodes, cells, …)."""
        cells, _, width = state.shape
        series = start_forms(self.levels, 1, cells, width - 2)
        series.set(self.variables, 0, np.moveaxis(state, 1, 0))
        with np.errstate(all="ignore"):
            extend_forms(series, 0)
        return series.forms[:, 0], series.spread[:, 0]

    def bound(self, state: Array) -> Range:
        """Bounds of all nodes (nodes, cells): those of forms, and of intervals where terms are not linear."""
        forms, spread = self.evaluate(state)
        low, high = bounds_of_nodes(self.levels, forms, spread)
        if self.levels.linear:
            return low, high
        least, most = bounds_of(state)
        series = start_intervals(self.levels, 1, len(state))
        series.low[self.variables, 0], series.high[self.variables, 0] = least.T, most.T
        extend_intervals(series, 0)
        return np.fmax(low, series.low[:, 0]), np.fmin(high, series.high[:, 0])


@dataclass(frozen=True, slots=True, eq=False)
class _ListedBranch:
    branch: LoopBranch
    when: ListedCondition
    reads: NDArray[np.intp]  # nodes of the observations, or of the values
    guards: tuple[ListedCondition, ...] = ()  # by action: is it enabled? Where that matters


@dataclass(frozen=True, slots=True, eq=False)
class LoopDecisions:
    """The policy of a closed loop, listed once."""

    loop: ClosedLoop
    terms: StateTerms
    branches: tuple[_ListedBranch, ...]
    least: Array  # of the controls
    most: Array

    @property
    def owns(self) -> tuple[str, ...]:
        return self.loop.actions


@dataclass(frozen=True, slots=True, eq=False)
class PossibleDecision:
    """For some rows: the part of the set where it may be made, and controls as forms, or an action."""

    key: str
    rows: NDArray[np.intp]
    state: Array
    controls: Array  # (rows, controls, …): radii not yet absorbed
    action: str | None
    good: Mask  # by row: is the decision known to be within the model?


def arithmetic_nodes(
    loop: ClosedLoop, chosen: Mapping[str, Scalar] | None = None, *, deciding: bool = False
) -> TermNodes:
    """Nodes as the environment computes: exactly, with rounded functions, or in float64. In continuous time
    only the policy does: `deciding`."""
    kinds = {**loop.kinds, **{c.name: Real() for c in loop.controls}, **(chosen or {})}

    def is_truth(term: Term) -> bool:
        return is_truth_value(term, kinds)

    def is_whole(name: str) -> bool:
        return name in kinds and is_discrete(kinds[name])

    if loop.derivatives is not None and not deciding:
        return TermNodes("none", is_truth, is_whole)
    return TermNodes("all" if loop.arithmetic is Arithmetic.FLOAT64 else "functions", is_truth, is_whole)


def list_decisions(loop: ClosedLoop) -> LoopDecisions:
    nodes = arithmetic_nodes(loop, deciding=True)
    names = np.array([nodes.name(v) for v in loop.variables], dtype=np.intp)
    branches = []
    for branch in loop.branches:
        terms = branch.observe if branch.network is not None else branch.values
        reads = np.array([nodes.value(t) for t in terms], dtype=np.intp)
        guards: tuple[ListedCondition, ...] = ()
        if branch.choose is Choose.ARGMAX_APPLICABLE and branch.network is not None:
            if set(branch.actions) != set(loop.actions):
                raise Unsupported("a network that picks among enabled actions cannot pick all of them")
            guards = tuple(_list_guards(loop, nodes, action) for action in branch.actions)
        branches.append(_ListedBranch(branch, nodes.condition(branch.when), reads, guards))
    least = np.array([-np.inf if c.low is None else rounded_up(c.low) for c in loop.controls])
    most = np.array([np.inf if c.high is None else rounded_down(c.high) for c in loop.controls])
    return LoopDecisions(loop, StateTerms(arrange_levels(nodes), names), tuple(branches), least, most)


def _list_guards(loop: ClosedLoop, nodes: TermNodes, action: str) -> ListedCondition:
    """Some edge of an action is enabled."""
    return Connective("or", tuple(nodes.condition(e.guard) for e in loop.edges if e.action == action))


def enumerate_decisions(
    decisions: LoopDecisions, state: Array, halvings: int = 0
) -> Iterator[PossibleDecision]:
    """Every decision that some state of a row may lead to."""
    cells, _, width = state.shape
    forms, spread = decisions.terms.evaluate(_read_states(decisions.loop, state))
    everyone = np.arange(cells)

    low, high = bounds_of_nodes(decisions.terms.levels, forms, spread)
    left = np.ones(cells, bool)  # rows that some later branch may decide
    others: list[Array] = []  # forms that are at most 0 where no branch so far decides
    for number, listed in enumerate(decisions.branches):
        assumed = list(others)
        if listed.branch.when == TRUE:
            holds, fails = np.ones(cells, bool), np.zeros(cells, bool)
        else:
            holds, fails = decide_condition(listed.when, lambda n: (low[n], high[n]), cells)
            if not (holds | fails)[left].all():
                assumed += list_assumed_forms(listed.when, True, forms)
                others += list_assumed_forms(listed.when, False, forms)
        rows = everyone[left & ~fails]
        left = left & ~holds
        part, own = state[rows], forms[:, rows]
        if assumed and len(rows):
            part, possible = narrow_forms(part, np.stack(assumed, 1)[rows])
            rows, part = rows[possible], part[possible]
            own, _ = decisions.terms.evaluate(_read_states(decisions.loop, part))
        if len(rows):
            enabled = [
                decide_condition(guard, lambda n: (low[n][rows], high[n][rows]), len(rows))  # noqa: B023
                for guard in listed.guards
            ]
            yield from _decide_branch(decisions, listed, str(number), rows, part, own, halvings, enabled)
        if not left.any():
            return
    if not decisions.branches:
        good = np.ones(cells, bool)
        yield PossibleDecision("", everyone, state, np.zeros((cells, 0, width)), None, good)
    elif left.any():  # nobody decides: the run may stall, which is not followed
        rows = everyone[left]
        none = np.zeros((len(rows), 0, width))
        yield PossibleDecision("stall", rows, state[rows], none, None, np.zeros(len(rows), bool))


def _read_states(loop: ClosedLoop, state: Array) -> Array:
    """In continuous time a policy that computes in float64 reads the doubles nearest to the state."""
    if loop.derivatives is None or loop.arithmetic is not Arithmetic.FLOAT64:
        return state
    read = state.copy()
    read[..., -1] += (np.abs(state[..., 0]) + spread_of(state)) * (UNIT * (1 + 4 * UNIT)) + 2.0**-1074
    return read


def _decide_branch(
    decisions: LoopDecisions,
    listed: _ListedBranch,
    key: str,
    rows: NDArray[np.intp],
    state: Array,
    forms: Array,
    halvings: int,
    enabled: Sequence[tuple[Mask, Mask]],
) -> Iterator[PossibleDecision]:
    """`enabled`: by action and row, surely and surely not; empty where only the best output counts."""
    branch = listed.branch
    width = state.shape[-1]
    if branch.action is not None:
        none = np.zeros((len(rows), 0, width))
        owned = decisions.owns.index(branch.action)
        yield PossibleDecision(f"{key}.{owned}", rows, state, none, branch.action, np.ones(len(rows), bool))
        return
    reads = np.moveaxis(forms[listed.reads], 0, 1)
    good = np.ones(len(rows), bool)
    if branch.network is not None:
        reads, good = propagate_in_parts(branch.network, reads, halvings)
    if branch.choose is Choose.VALUE:
        controls, inside = _into_limits(decisions, reads)
        inside &= good & np.isfinite(reads).all((1, 2))
        yield PossibleDecision(key, rows, state, controls, None, inside)
        return
    nothing = np.ones(len(rows), bool)
    for place, action in enumerate(branch.actions):
        rivals = np.ones((len(rows), len(branch.actions)), bool)
        may_apply = np.ones(len(rows), bool)
        if enabled:
            rivals = np.stack([yes for yes, _ in enabled], 1)
            may_apply = ~enabled[place][1]
            nothing &= ~rivals[:, place]
        part, possible = _narrow_to_best(state, reads, place, rivals)
        taken = may_apply & (possible | ~good)
        if taken.any():
            none, owned = np.zeros((int(taken.sum()), 0, width)), decisions.owns.index(action)
            yield PossibleDecision(f"{key}.{owned}", rows[taken], part[taken], none, action, good[taken])
    if enabled and nothing.any():  # no action may be enabled: the environment moves, or the run ends
        none = np.zeros((int(nothing.sum()), 0, width))
        yield PossibleDecision("-", rows[nothing], state[nothing], none, None, good[nothing])


def _narrow_to_best(state: Array, outputs: Array, place: int, rivals: Mask) -> tuple[Array, Mask]:
    """The states where no rival (cells, outputs) has a larger output; the radii are the outputs' own."""
    behind = outputs - outputs[:, place : place + 1]
    behind[..., -1] = outputs[..., -1] + outputs[:, place : place + 1, -1]
    behind[~rivals] = 0.0
    low, high = bounds_of(behind)
    low[:, place] = high[:, place] = -np.inf
    possible = ~np.asarray(((low > 0) & rivals).any(1))
    is_open = possible & np.asarray(((high > 0) & rivals).any(1))
    if is_open.any():
        state = state.copy()
        others = np.delete(behind[is_open], place, 1)
        state[is_open], possible[is_open] = narrow_forms(state[is_open], others)
    return state, possible


def _into_limits(decisions: LoopDecisions, values: Array) -> tuple[Array, Mask]:
    """Clipped, or within the limits anyway: a value beyond limits that do not clip is not of the model."""
    inside = np.ones(len(values), bool)
    least, most = decisions.least.copy(), decisions.most.copy()
    for place, control in enumerate(decisions.loop.controls):
        if not control.clipped:
            low, high = bounds_of(values[:, place])
            inside &= (low >= least[place]) & (high <= most[place])
            least[place], most[place] = -np.inf, np.inf
    return clip_forms(values, least, most), inside
