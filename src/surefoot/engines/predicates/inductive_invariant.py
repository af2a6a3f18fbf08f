"""The reachable abstract states as one condition: an inductive invariant, in the form that proofs need.

The condition is a tree. What all remaining abstract states have in common is said once; then they are divided
by the predicate that divides them most evenly. A value that follows from the others at sight is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from surefoot.engines.predicates.dynamics import Dynamics
from surefoot.engines.predicates.symbolic.conditions import condition_to_cubes
from surefoot.engines.predicates.symbolic.cubes import EVERYTHING, Cube, meet_cube_sets
from surefoot.errors import Unsupported
from surefoot.problem.property import Never
from surefoot.term.reserved_names import location_name, output_index
from surefoot.term.term import FALSE, TRUE, Term, Var, conjunction_of, disjunction_of, free_names
from surefoot.term.traverse import count_term_parts
from surefoot.verdict.artifact import AbstractGraph
from surefoot.verdict.verdict import AbstractInvariant, Holds, ProofArgument

Row = tuple[bool, ...]
WHOLE = 64  # abstract states: a proof speaks of all at once; of more, of one after the other
MOST_TERMS = 60  # of one of its predicates, arrays written out


def _closed_condition(dynamics: Dynamics, graph: AbstractGraph) -> Term | None:
    """True in the states of the abstract states of this graph and in no others; None: it is too intricate."""
    places = list(dict.fromkeys(p for s in graph.states for p in s.locations))
    conditions = [Var(location_name(*p)) for p in places] + list(graph.predicates)
    rows = {(*(p in s.locations for p in places), *s.values) for s in graph.states}
    expanded = [dynamics.expand_predicate(c) for c in conditions]
    if any(count_term_parts(c) > MOST_TERMS for c in expanded):
        return None
    kinds = dynamics.layout.kinds
    try:
        literals = [(condition_to_cubes(c, kinds), condition_to_cubes(~c, kinds)) for c in expanded]
        return _decision_tree_condition(
            dynamics, conditions, literals, sorted(rows), frozenset(), (EVERYTHING,)
        )
    except Unsupported:
        return None


def _decision_tree_condition(
    dynamics: Dynamics,
    conditions: Sequence[Term],
    literals: Sequence[tuple[tuple[Cube, ...], tuple[Cube, ...]]],
    rows: Sequence[Row],
    settled: frozenset[int],
    here: Sequence[Cube],
) -> Term:
    """The condition for these rows, where the settled columns are known; states are in one of the cubes."""
    kinds = dynamics.layout.kinds
    common = [i for i in range(len(conditions)) if i not in settled and len({r[i] for r in rows}) == 1]
    parts: list[Term] = []
    for number in common:
        value = rows[0][number]
        if meet_cube_sets(here, literals[number][value], kinds):  # the opposite is possible
            parts.append(conditions[number] if value else ~conditions[number])
            here = meet_cube_sets(here, literals[number][not value], kinds)
    open_columns = [i for i in range(len(conditions)) if i not in settled and i not in common]
    if open_columns:
        best = min(open_columns, key=lambda i: abs(2 * sum(r[i] for r in rows) - len(rows)))
        known = settled | set(common) | {best}
        sides = []
        for value in (True, False):
            inside = meet_cube_sets(here, literals[best][not value], kinds)
            kept = [r for r in rows if r[best] is value]
            rest = (
                _decision_tree_condition(dynamics, conditions, literals, kept, known, inside)
                if inside
                else FALSE
            )
            sides.append(conjunction_of((conditions[best] if value else ~conditions[best], rest)))
        parts.append(disjunction_of(tuple(sides)))
    return conjunction_of(tuple(parts)) if parts else TRUE


def holds_by_invariant(
    dynamics: Dynamics, graph: AbstractGraph, how: str, states: AbstractInvariant | None = None
) -> Holds:
    """What holds because the abstract states are closed; with what a proof of that needs."""
    assert isinstance(dynamics.problem.property, Never)
    speaks = any(output_index(n) is not None for n in free_names(dynamics.problem.property.bad))
    beside = states is not None and not speaks  # boxes say nothing about outputs
    many = len(graph.states) > WHOLE
    inside = None if beside and many else _closed_condition(dynamics, graph)
    shown = inside is not None or states is not None
    kind = "parts" if many else "closed"
    argument = ProofArgument(kind, 1, invariant=inside, states=states) if shown else None
    return Holds(None, "predicates", as_asked=True, how=how, argument=argument, artifact=graph)
