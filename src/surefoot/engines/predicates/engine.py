"""Policy predicate abstraction (Vinzent and Hoffmann 2021), with refinement (Vinzent, Sharma, Hoffmann 2023).

Abstract states are combinations of locations and truth values of predicates. There is a step from one to
another if some state of the first has one, under an action that the policy may pick there, into a state of
the second; any action within the rounding error of the best output counts. If no unsafe abstract state can be
reached from an abstract start the property holds (Proposition 3). The search from the starts is the paper's;
how its tests are answered differs: where all states can be looked at once the exact relation is read off a
table (`tabulated`), otherwise each test of Algorithm 2 is a question to a solver (`asked`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf
from typing import ClassVar, Literal

from surefoot.engines.engine_text import show_changes
from surefoot.engines.predicates.configurations import CONFIGURATIONS, Configuration
from surefoot.engines.predicates.dynamics import Dynamics, build_dynamics
from surefoot.engines.predicates.enumerative import probability_bounds
from surefoot.engines.predicates.enumerative.boxes import closed_set_from_table
from surefoot.engines.predicates.enumerative.lazy_table import reachable_part
from surefoot.engines.predicates.enumerative.partition import partition_states, reach_states
from surefoot.engines.predicates.enumerative.refinement import (
    TableAbstraction,
    abstract_table,
    refine_until_interrupted,
)
from surefoot.engines.predicates.enumerative.table import OutOfTime, count_states, tabulate_states
from surefoot.engines.predicates.graph import enumerative_graph
from surefoot.engines.predicates.inductive_invariant import holds_by_invariant
from surefoot.engines.predicates.symbolic.expansion import TESTS
from surefoot.engines.predicates.symbolic.refinement import check_symbolically
from surefoot.engines.predicates.symbolic.search import symbolic_search
from surefoot.engines.predicates.violations import find_table_violation
from surefoot.errors import SurefootError, Unsupported, did_you_mean
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Probability
from surefoot.reductions.transition_system import encoding_objection as encoding_objection
from surefoot.term.arguments import (
    check_fields,
    take_bool,
    take_in_range,
    take_tuple,
    take_word,
    whole_number,
)
from surefoot.term.term import Term, term_from_python
from surefoot.verdict.artifact import AbstractGraph, QueryStatistics
from surefoot.verdict.sentences import count_noun
from surefoot.verdict.verdict import Holds, ProofArgument, Reason, Unknown, Vacuous, Verdict
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time

TABULATED = 5_000_000  # states that are looked at one by one ...
FIXED = 10_000_000  # ... and where only those of reached abstract states are
QUICKLY = 2.0  # seconds for a look at whether questions can be asked at all
MANY = 50_000  # states, of which an exploration does not see the end at once


@dataclass(frozen=True, slots=True, repr=False)
class Predicates:
    name: ClassVar[str] = "predicates"

    predicates: tuple[Term, ...] = ()
    """Conditions over the state to begin with."""
    fixed: bool = False
    """Keep to the given predicates: no refinement, and the whole reachable abstraction is built."""
    max_predicates: int = 300
    """Give up refining beyond so many."""
    means: Literal["auto", "table", "cells"] = "auto"
    """How steps are found: all states in a table, questions to the native solver, or the cheaper of both."""
    configuration: str = "native"
    """Who answers which tests: native, or as in the paper pa, pa-marabou, pa-bb-marabou, pa-marabou-z3."""
    tests: str | None = None
    """Which optional tests are asked: guard, relaxed, exact, relations, fixing; else the configuration's."""
    bounds: bool = False
    """Bound the probability of a property `P`, from a table of all states."""

    __repr__ = show_changes

    def __post_init__(self) -> None:
        terms = take_tuple(term_from_python, "conditions")
        check_fields(
            self,
            predicates=terms,
            fixed=take_bool,
            max_predicates=take_in_range(whole_number, 0),
            means=take_word("auto", "table", "cells"),
            bounds=take_bool,
        )

    def objection(self, problem: Problem) -> str | None:
        if isinstance(problem.property, Probability):
            return self._cannot_bound(problem)
        if not isinstance(problem.property, Never) or problem.property.steps is not None:
            return "predicates shows that a condition is never met, in runs of any length"
        if problem.environment.controls:
            return "predicates takes policies that pick actions; this one sets controls"
        if (why := encoding_objection(problem)) is not None:
            return why
        try:
            model = build_dynamics(problem)
            for predicate in self.predicates:
                model.expand_predicate(predicate)
        except SurefootError as error:
            return str(error)
        if (why := self._cannot_ask()) is not None:
            return why
        if self._has_table(model):
            return None
        if self.means == "table":
            return f"predicates makes a table of up to {self._most()} states; there are more"
        return self._objection_of_questions(model)

    def _objection_of_questions(self, model: Dynamics) -> str | None:
        """Where it takes long to find out whether it can be asked, that is left for later."""
        quickly, answerers = Budget(QUICKLY), self._selected_configuration().answerers()
        try:
            call_in_time(
                quickly, lambda: symbolic_search(model, self.asked_tests(), quickly, answerers), lambda: None
            )
        except OutOfTime:
            return None
        except SurefootError as error:
            return str(error)
        return None

    def suits(self, problem: Problem) -> bool:
        """Does a network pick actions in a system of many states, but finitely many?"""
        policy = problem.policy
        if not isinstance(problem.property, Never) or not isinstance(policy, NeuralPolicy):
            return False
        picks = policy.choose in (Choose.ARGMAX, Choose.ARGMAX_APPLICABLE)
        return picks and MANY < count_states(build_dynamics(problem)) < inf

    def _cannot_bound(self, problem: Problem) -> str | None:
        if not self.bounds:
            return "predicates bounds a probability only where that is asked for, by --bounds"
        if self.means == "cells" or self.configuration != "native":
            return "predicates bounds probabilities from a table, not with --means cells"
        return probability_bounds.probability_objection(problem, self.predicates, TABULATED)

    def _cannot_ask(self) -> str | None:
        if self.configuration not in CONFIGURATIONS:
            known = did_you_mean(self.configuration, CONFIGURATIONS)
            return f"predicates has no configuration `{self.configuration}`; fix: {known}"
        if self.means == "table" and self.tests is not None:
            return "predicates asks no tests where it makes a table of all states"
        if self.means == "table" and self.configuration != "native":
            return "a table needs no solver; leave out --means or --configuration"
        unknown = sorted(self.asked_tests() - set(TESTS))
        return f"predicates does not know the test `{unknown[0]}`: {', '.join(TESTS)}" if unknown else None

    def asked_tests(self) -> frozenset[str]:
        words = self._selected_configuration().tests if self.tests is None else self.tests
        return frozenset(words.replace(",", " ").split())

    def _selected_configuration(self) -> Configuration:
        return CONFIGURATIONS[self.configuration]

    def _has_table(self, model: Dynamics) -> bool:
        by_questions = self.means == "cells" or self.configuration != "native" or self.tests is not None
        return not by_questions and count_states(model) <= self._most()

    def _most(self) -> int:
        return FIXED if self.fixed else TABULATED

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        try:
            if isinstance(problem.property, Probability):
                most = self.max_predicates
                return probability_bounds.bound_probability(
                    problem, self.predicates, self.fixed, most, budget
                )
            model = build_dynamics(problem)
            if self._has_table(model):
                return _check_by_table(self, model, budget)
            chosen = self._selected_configuration()
            return check_symbolically(
                model,
                self.predicates,
                self.asked_tests(),
                budget,
                fixed=self.fixed,
                most=self.max_predicates,
                answerers=chosen.answerers(),
                leaves=chosen.leaves,
            )
        except OutOfTime:
            return Unknown(Reason.TIMEOUT, "the budget ended before all states were looked at")
        except Unsupported as why:
            return Unknown(Reason.INCOMPLETE, str(why))


def _check_by_table(engine: Predicates, model: Dynamics, budget: Budget) -> Verdict:
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
