"""One more predicate: an abstraction is built again with each of some candidates, and what became of it.

Nothing is guessed: the numbers are those of the abstraction (Vinzent and Hoffmann 2021, Definition 2) with
the predicate added, from the table of all states or by the same questions. Predicates that divide no abstract
state that can be reached are left out. After the general candidates, states that none of them divides are
halved one by one: unsafe ones first, then starts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from surefoot.engines.predicates.dynamics import Dynamics, OutOfTime, build_dynamics
from surefoot.engines.predicates.enumerative.columns import Mask
from surefoot.engines.predicates.enumerative.partition import Ids, reach_cells, refine_partition
from surefoot.engines.predicates.enumerative.refinement import TableAbstraction, abstract_table
from surefoot.engines.predicates.enumerative.table import tabulate_states
from surefoot.engines.predicates.graph import enumerative_graph
from surefoot.engines.predicates.split_candidates import (
    Candidate,
    enumerate_split_candidates,
    halve_widest_range,
)
from surefoot.engines.predicates.symbolic.cubes import fraction_bounds, meet_cube_sets
from surefoot.engines.predicates.symbolic.expansion import AbstractKey
from surefoot.engines.predicates.symbolic.refinement import symbolic_graph
from surefoot.engines.predicates.symbolic.search import AbstractReach, SymbolicSearch, symbolic_search
from surefoot.engines.predicates.symbolic.transition_cubes import Predicate, build_predicate
from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.reductions.absorbing_goal import end_at_goal
from surefoot.reductions.discretise import discretise
from surefoot.term.term import Term
from surefoot.verdict.artifact import AbstractGraph, PredicateSplit
from surefoot.work.budget import Budget

MOST_TRIED = 240  # candidates that are looked at, whether they divide anything or not
SMALL_STATES, SMALL_EDGES = 150, 1500  # graphs up to this size are kept as a whole


def with_splits(
    problem: Problem, graph: AbstractGraph, tests: frozenset[str], most: int, budget: Budget
) -> AbstractGraph:
    """The graph with up to `most` splits, as many as the budget allows.

    A graph of which only a part was built is completed first; where that takes too long it is left as it is.
    """
    model = build_dynamics(end_at_goal(discretise(problem)))
    try:
        if graph.means == "table":
            return replace(graph, splits=tuple(_enumerate_table_splits(model, graph, most, budget)))
        return _symbolic_splits(model, graph, tests, most, budget)
    except (OutOfTime, Unsupported):
        return graph


def _enumerate_table_splits(
    model: Dynamics, graph: AbstractGraph, most: int, budget: Budget
) -> Iterator[PredicateSplit]:
    table = tabulate_states(model, budget)
    base = abstract_table(table, table.bad | table.trouble, graph.predicates)
    cells = base.reached.states
    number = np.full(len(base.parts), -1, dtype=np.int64)
    number[cells] = np.arange(len(cells))
    sizes = np.bincount(base.parts.cell, minlength=len(base.parts))
    undivided = np.ones(len(base.parts), dtype=np.bool_)
    seen: set[bytes] = set()
    made = tried = 0
    for origin, condition in _then_halves(model, base, undivided):
        if made == most or tried == MOST_TRIED or budget.is_spent():
            return
        tried += 1
        try:
            mask = table.evaluate(condition)
        except Unsupported:
            continue
        inside = np.bincount(base.parts.cell, weights=mask, minlength=len(base.parts)).astype(np.int64)
        both = (inside > 0) & (inside < sizes)
        look = np.packbits(mask ^ mask[0]).tobytes()
        if not both[cells].any() or look in seen:
            continue
        seen.add(look)
        undivided &= ~both
        made += 1
        budget.progress(f"predicates: splitting, {made} of up to {most}")
        yield _table_split(base, graph, number, origin, condition)


def _then_halves(model: Dynamics, base: TableAbstraction, undivided: Mask) -> Iterator[Candidate]:
    """The general candidates, half of the time; in between the middle of a state that none divides yet."""
    reached = base.reached
    order = dict.fromkeys([*reached.unsafe.tolist(), *reached.starts.tolist(), *reached.states.tolist()])
    return _interleave_halves(model, (_own_half(base, cell) for cell in order if undivided[cell]))


def _interleave_halves(model: Dynamics, own: Iterator[Term | None]) -> Iterator[Candidate]:
    """The general candidates and the halves of single states in turns; then the rest of the halves."""
    for candidate in enumerate_split_candidates(model):
        yield candidate
        if (bound := next(own, None)) is not None:
            yield "half", bound
    yield from (("half", bound) for bound in own if bound is not None)


def _own_half(base: TableAbstraction, cell: int) -> Term | None:
    """The middle of the states of an abstract state."""
    places = np.unravel_index(np.flatnonzero(base.parts.cell == cell), tuple(map(len, base.table.ranges)))
    ranges = [(r[int(p.min())], r[int(p.max())]) for r, p in zip(base.table.ranges, places, strict=True)]
    return halve_widest_range(base.table.dynamics, ranges)


def _table_split(
    base: TableAbstraction, graph: AbstractGraph, number: Ids, origin: str, condition: Term
) -> PredicateSplit:
    """`number`: the place in the graph of each abstract state that can be reached."""
    table = base.table
    parts = refine_partition(table, base.parts, condition)
    reached = reach_cells(table, parts, base.unsafe)
    inside = number[base.parts.cell[parts.member[reached.states]]]
    term = table.dynamics.model_term(condition)
    sizes = len(reached.states), len(reached.edges)
    small = sizes[0] <= SMALL_STATES and sizes[1] <= SMALL_EDGES
    return PredicateSplit(
        term,
        origin,
        *sizes,
        len(reached.unsafe),
        tuple(np.bincount(inside, minlength=len(graph.states)).tolist()),
        enumerative_graph(table, [*graph.predicates, term], parts, reached, ()) if small else None,
        tuple(inside.tolist()) if small else (),
    )


def _symbolic_splits(
    model: Dynamics, graph: AbstractGraph, tests: frozenset[str], most: int, budget: Budget
) -> AbstractGraph:
    search = symbolic_search(model, tests, budget)
    for term in graph.predicates:
        search.expansion.add(build_predicate(model, term, model.expand_predicate(term)))
    reached = search.search_waves(budget, to_the_end=True)
    if not reached.complete:
        return graph
    whole = symbolic_graph(search, reached, graph.refinements)
    splits: list[PredicateSplit] = []
    keys = list(reached.before)
    undivided, seen, tried = set(keys), {p.condition for p in search.expansion.predicates}, 0
    for origin, condition in _then_middles(model, search, keys, undivided, reached):
        if len(splits) == most or tried == MOST_TRIED or budget.is_spent():
            break
        tried += 1
        try:
            new = build_predicate(model, model.model_term(condition), condition)
        except Unsupported:
            continue
        both = [k for k in keys if _may_divide(search, k, new)]
        if not both or condition in seen:
            continue
        seen.add(condition)
        undivided.difference_update(both)
        budget.progress(f"predicates: splitting, {len(splits) + 1} of up to {most}")
        if (found := _built_again(search, keys, new, origin, budget)) is not None:
            splits.append(found)
    return replace(whole, tests=graph.tests, splits=tuple(splits))


def _then_middles(
    model: Dynamics,
    search: SymbolicSearch,
    keys: Sequence[AbstractKey],
    undivided: set[AbstractKey],
    reached: AbstractReach,
) -> Iterator[Candidate]:
    order = dict.fromkeys([*reached.unsafe, *reached.starts, *keys])
    return _interleave_halves(model, (_box_half(model, search, key) for key in order if key in undivided))


def _box_half(model: Dynamics, search: SymbolicSearch, key: AbstractKey) -> Term | None:
    """The middle of the box around an abstract state."""
    here = search.expansion.cubes(key)
    ranges: list[tuple[Fraction | None, Fraction | None]] = []
    for name in model.scalars:
        sides = [fraction_bounds(name, cube, search.expansion.kinds) for cube in here]
        lows, highs = [low for low, _ in sides], [high for _, high in sides]
        bounded = [low for low in lows if low is not None], [high for high in highs if high is not None]
        whole = all(len(b) == len(sides) > 0 for b in bounded)
        ranges.append((min(bounded[0]), max(bounded[1])) if whole else (None, None))
    return halve_widest_range(model, ranges)


def _may_divide(search: SymbolicSearch, key: AbstractKey, new: Predicate) -> bool:
    """May there be states of both kinds? Only what is seen without a question is excluded."""
    here, kinds = search.expansion.cubes(key), search.expansion.kinds
    return all(meet_cube_sets(here, new.cubes(value), kinds) for value in (True, False))


def _built_again(
    search: SymbolicSearch, keys: Sequence[AbstractKey], new: Predicate, origin: str, budget: Budget
) -> PredicateSplit | None:
    """The whole abstraction with the predicate, in a copy; None if time is up, or if the two do not fit."""
    old = search.expansion
    copied = replace(
        old,
        predicates=list(old.predicates),
        earlier=list(old.earlier),
        impossible=set(old.impossible),
        composed=dict(old.composed),
        values_by_box={},
    )
    again = replace(
        search, expansion=copied, met=list(search.met), safe=[(n, set(k)) for n, k in search.safe]
    )
    again.expansion.add(new)
    reached = again.search_waves(budget, to_the_end=True)
    if not reached.complete:
        return None
    number = {key: i for i, key in enumerate(keys)}
    coarse = [key.coarser(len(old.predicates)) for key in reached.before]
    if not all(key in number for key in coarse):
        return None  # a question that was left open the other time
    inside = [number[key] for key in coarse]
    count = Counter(inside)
    small = len(inside) <= SMALL_STATES and len(reached.edges) <= SMALL_EDGES
    return PredicateSplit(
        new.shown,
        origin,
        len(inside),
        len(reached.edges),
        len(reached.unsafe),
        tuple(count[i] for i in range(len(keys))),
        replace(symbolic_graph(again, reached, ()), tests=()) if small else None,
        tuple(inside) if small else (),
    )
