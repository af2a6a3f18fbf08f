"""One step of an automaton on sets: edges whose guards may hold, and whatever the environment may choose."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.reach.conditions import Mask, decide_condition, list_assumed_forms
from surefoot.engines.reach.decision_forms import arithmetic_nodes
from surefoot.engines.reach.elementary_range import Array, Range
from surefoot.engines.reach.form_series import UNIT, bounds_of_nodes, extend_forms, spread_of, start_forms
from surefoot.engines.reach.symbols import add_symbols, narrow_forms
from surefoot.engines.reach.term_levels import ListedCondition, TermLevels, arrange_levels
from surefoot.errors import Unsupported
from surefoot.reductions.closed_loop import ClosedLoop, LoopEdge, is_discrete
from surefoot.term.interval import Scalar
from surefoot.term.printer import show_term
from surefoot.term.value_types import Bool

MOST_CHOICES = 64


@dataclass(frozen=True, slots=True, eq=False)
class _Assignment:
    """What a variable gets: the value of a node, or 0 or 1 by a condition."""

    place: int
    node: int
    condition: ListedCondition | None


@dataclass(frozen=True, slots=True, eq=False)
class EdgeTerms:
    """An edge, listed once."""

    number: int
    action: str | None
    levels: TermLevels
    variables: NDArray[np.intp]
    controls: NDArray[np.intp]
    chosen: NDArray[np.intp]
    kinds: tuple[Scalar, ...]  # of what is chosen
    guard: ListedCondition
    assuming: ListedCondition
    outcomes: tuple[tuple[_Assignment, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class EdgeSuccessor:
    """Of some rows: forms of the state after a step, radii not yet absorbed; `good`: is it of the model?"""

    key: str  # edge, outcome and discrete choices
    rows: NDArray[np.intp]
    forms: Array
    good: Mask
    changed: Mask  # the variables that get another value than their own


def list_edges(loop: ClosedLoop) -> tuple[EdgeTerms, ...]:
    return tuple(_list_edge(loop, number, edge) for number, edge in enumerate(loop.edges))


def _list_edge(loop: ClosedLoop, number: int, edge: LoopEdge) -> EdgeTerms:
    nodes = arithmetic_nodes(loop, dict(edge.chosen))

    def places(names: Sequence[str]) -> NDArray[np.intp]:
        return np.array([nodes.name(n) for n in names], dtype=np.intp)

    variables, controls = places(loop.variables), places([c.name for c in loop.controls])
    chosen = places([name for name, _ in edge.chosen])
    choices = 1
    for name, kind in edge.chosen:
        if not isinstance(kind, Bool) and (kind.low is None or kind.high is None):
            raise Unsupported(
                f"the chosen value `{name}` has no bounds", fix="declare it with a range: real [-1, 1]"
            )
        if is_discrete(kind):
            choices *= len(_discrete_values(kind))
    if choices > MOST_CHOICES:
        raise Unsupported(f"an edge chooses among more than {MOST_CHOICES} values")
    guard, assuming = (nodes.condition(t) for t in (edge.guard, edge.assuming))
    order = {name: place for place, name in enumerate(loop.variables)}
    outcomes = []
    for outcome in edge.outcomes:
        found = []
        for name, value in outcome.items():
            if isinstance(loop.kinds[name], Bool):
                found.append(_Assignment(order[name], -1, nodes.condition(value)))
            elif nodes.is_truth(value):
                raise Unsupported(f"`{show_term(value)}`: a truth value stands where a number is needed")
            else:
                found.append(_Assignment(order[name], nodes.value(value), None))
        outcomes.append(tuple(found))
    return EdgeTerms(
        number,
        edge.action,
        arrange_levels(nodes),
        variables,
        controls,
        chosen,
        tuple(kind for _, kind in edge.chosen),
        guard,
        assuming,
        tuple(outcomes),
    )


def _discrete_values(kind: Scalar) -> range:
    if isinstance(kind, Bool):
        return range(2)
    assert kind.low is not None
    assert kind.high is not None
    return range(int(kind.low), int(kind.high) + 1)


def enumerate_edge_successors(
    edge: EdgeTerms, discrete: Mask, state: Array, controls: Array
) -> Iterator[EdgeSuccessor]:
    """Every successor of rows by an edge, of the part where its guard may hold; `discrete`: which variables
    have one value in each row."""
    cells, count, _ = state.shape
    lists = [_discrete_values(k) if is_discrete(k) else (None,) for k in edge.kinds]
    reals = [n for n, k in enumerate(edge.kinds) if not is_discrete(k)]
    both = add_symbols(np.concatenate([state, controls], 1), len(reals))
    for values in product(*lists):
        named = np.concatenate([both, _chosen_forms(edge, both, values, reals)], 1)
        forms, ends = _evaluate(edge, named)
        truths = [
            decide_condition(c, partial(_pick_bounds, ends), cells) for c in (edge.guard, edge.assuming)
        ]
        rows = np.flatnonzero(~truths[0][1] & ~truths[1][1])
        assumed = [
            form
            for condition, (holds, _) in zip((edge.guard, edge.assuming), truths, strict=True)
            if not holds[rows].all()
            for form in list_assumed_forms(condition, True, forms)
        ]
        if assumed and len(rows):
            named, possible = narrow_forms(named[rows], np.stack(assumed, 1)[rows])
            rows, named = rows[possible], named[possible]
            forms, ends = _evaluate(edge, named)
        else:
            forms, ends, named = forms[:, rows], (ends[0][:, rows], ends[1][:, rows]), named[rows]
        if not len(rows):
            continue
        bounds = partial(_pick_bounds, ends)
        picked = ",".join(str(v) for v in values if v is not None)
        for number, outcome in enumerate(edge.outcomes):
            after, good = named[:, :count].copy(), np.ones(len(rows), bool)
            for assignment in outcome:
                if assignment.condition is not None:
                    yes, no = decide_condition(assignment.condition, bounds, len(rows))
                    after[:, assignment.place] = 0.0
                    after[:, assignment.place, 0] = yes
                    good &= yes | no
                else:
                    after[:, assignment.place] = forms[assignment.node]
            points = after[:, discrete]
            good &= (np.abs(points[..., 1:]).sum((1, 2)) <= 1e-9) & np.isfinite(after).all((1, 2))
            whole = np.round(points[..., 0])
            good &= (np.abs(points[..., 0] - whole) <= 1e-6).all(1)  # else it is no value of the variable
            points[..., 0] = whole
            points[..., 1:] = 0.0
            after[:, discrete] = points
            changed = np.zeros(count, bool)
            changed[[a.place for a in outcome if a.node != edge.variables[a.place]]] = True
            yield EdgeSuccessor(f"{edge.number}/{number}/{picked}", rows, after, good, changed)


def _pick_bounds(ends: Range, node: int) -> Range:
    return ends[0][node], ends[1][node]


def _chosen_forms(
    edge: EdgeTerms, others: Array, values: Sequence[int | None], reals: Sequence[int]
) -> Array:
    """What is chosen: discrete values, and real ones by the last symbols, which the others do not have."""
    cells, _, width = others.shape
    picked = np.zeros((cells, len(edge.kinds), width))
    for place, value in enumerate(values):
        if value is not None:
            picked[:, place, 0] = value
    for symbol, place in enumerate(reals):
        kind = edge.kinds[place]
        low, high = float(kind.low), float(kind.high)  # type: ignore[union-attr, arg-type]
        picked[:, place, 0] = 0.5 * low + 0.5 * high
        picked[:, place, width - 1 - len(reals) + symbol] = (0.5 * high - 0.5 * low) * (1 + 8 * UNIT) + (
            abs(low) + abs(high)
        ) * (4 * UNIT)
    return picked


def _evaluate(edge: EdgeTerms, named: Array) -> tuple[Array, Range]:
    """Forms and bounds of all nodes, given those of state, controls and what is chosen."""
    cells, _, width = named.shape
    series = start_forms(edge.levels, 1, cells, width - 2)
    names = np.concatenate([edge.variables, edge.controls, edge.chosen])
    series.set(names, 0, np.moveaxis(named, 1, 0))
    with np.errstate(all="ignore"):
        extend_forms(series, 0)
    forms = series.forms[:, 0]
    return forms, bounds_of_nodes(edge.levels, forms, spread_of(forms))
