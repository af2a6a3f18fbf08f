"""All states in a table: the exact relation, and predicates until no unsafe part is reached."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from surefoot.engines.predicates.dynamics import Dynamics
from surefoot.engines.predicates.enumerative.boxes import closed_set_from_table
from surefoot.engines.predicates.enumerative.lazy_table import reachable_part
from surefoot.engines.predicates.enumerative.partition import partition_states, reach_states
from surefoot.engines.predicates.enumerative.refinement import (
    TableAbstraction,
    abstract_table,
    refine_until_interrupted,
)
from surefoot.engines.predicates.enumerative.table import tabulate_states
from surefoot.engines.predicates.graph import enumerative_graph
from surefoot.engines.predicates.inductive_invariant import holds_by_invariant
from surefoot.engines.predicates.violations import find_table_violation
from surefoot.verdict.artifact import AbstractGraph, QueryStatistics
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Holds, ProofArgument, Reason, Unknown, Vacuous, Verdict
from surefoot.work.budget import Budget

if TYPE_CHECKING:
    from surefoot.engines.predicates.engine import Predicates


def check_by_table(engine: Predicates, model: Dynamics, budget: Budget) -> Verdict:
    begun = budget.elapsed_seconds()
    conditions = [model.expand_predicate(p) for p in engine.predicates]
    if engine.fixed:
        table, parts, looked = reachable_part(model, conditions, budget)
    else:
        table = tabulate_states(model, budget)
        parts, looked = partition_states(table, conditions), len(table)
    tests = (
        QueryStatistics("steps from a table", looked, len(table.sources), budget.elapsed_seconds() - begun),
    )
    if not table.starts.size:
        return Vacuous("there is no start state")
    unsafe = table.bad | table.trouble
    found = abstract_table(table, unsafe, engine.predicates, parts)
    concrete = reach_states(table)
    stopped, interrupted = None, False
    if not engine.fixed and not (concrete.reached & unsafe).any():
        found, stopped, interrupted = refine_until_interrupted(found, budget, engine.max_predicates)
    graph = enumerative_graph(table, found.shown, found.parts, found.reached, tests)
    graph = replace(graph, refinements=found.refinements)
    if interrupted:
        what = f"interrupted by the user with {count_noun(len(found.shown), 'predicate')}"
        seen = "" if model.doubt else "; no run reaches a bad state, but that is not certified"
        return Unknown(Reason.INTERRUPTED, what + seen, artifact=graph)
    if (concrete.reached & table.bad).any():
        return find_table_violation(table, concrete, graph, budget)
    if (concrete.reached & table.trouble).any():
        what = "a run comes to a state in which the model has no value, or leaves the range of a variable"
        return Unknown(Reason.INCOMPLETE, what, artifact=graph)
    if model.doubt:
        return Unknown(Reason.NUMERICS, model.doubt.detail, artifact=graph)
    return _holds_verdict(engine, found, graph, stopped)


def _holds_verdict(
    engine: Predicates, found: TableAbstraction, graph: AbstractGraph, stopped: str | None
) -> Verdict:
    if found.is_safe:
        sizes = (
            f"{count_noun(len(graph.states), 'state')} and {count_noun(len(graph.predicates), 'predicate')}"
        )
        how = f"by a predicate abstraction with {sizes}"
        return holds_by_invariant(found.table.dynamics, graph, how, closed_set_from_table(found, graph))
    if stopped is None:
        unsafe = sum(s.unsafe for s in graph.states)
        what = (
            f"{unsafe} of {len(graph.states)} abstract states are unsafe, though no run reaches a bad state"
        )
        return Unknown(Reason.INCOMPLETE, f"{what}; leave out --fixed to refine", artifact=graph)
    how = f"all {len(found.table)} states were looked at, but {stopped}"
    return Holds(
        None, engine.name, as_asked=True, how=how, argument=ProofArgument("graph", 0), artifact=graph
    )
