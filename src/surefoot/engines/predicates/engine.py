"""Policy predicate abstraction (Vinzent and Hoffmann 2021), with refinement (Vinzent, Sharma, Hoffmann 2023).

Abstract states are combinations of locations and truth values of predicates. There is a step from one to
another if some state of the first has one, under an action that the policy may pick there, into a state of
the second; any action within the rounding error of the best output counts. If no unsafe abstract state can be
reached from an abstract start the property holds (Proposition 3). The search from the starts is the paper's;
how its tests are answered differs: where all states can be looked at once the exact relation is read off a
table (`tabulated`), otherwise each test of Algorithm 2 is a question to a solver (`asked`).

What answers is imported where it is asked: every command knows this engine, few use it.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, ClassVar, Literal

from surefoot.engines.engine_text import show_changes
from surefoot.engines.predicates.configurations import CONFIGURATIONS, TESTS, Configuration
from surefoot.engines.predicates.dynamics import Dynamics, OutOfTime, build_dynamics, count_states
from surefoot.errors import SurefootError, Unsupported, did_you_mean
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Probability
from surefoot.reductions.scalar_layout import lay_out_scalars
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
from surefoot.verdict.verdict import Reason, Unknown, Verdict
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time

if TYPE_CHECKING:
    from surefoot.engines.predicates.symbolic.refinement import KeptRefinement

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
    strategy: Literal["both", "refinement", "invariants"] = "both"
    """Without a table: refine an abstraction, seek an invariant from the property, or both in turns."""
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
            strategy=take_word("both", "refinement", "invariants"),
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
        if self.has_table(model):
            return None
        if self.means == "table":
            return f"predicates makes a table of up to {self._most()} states; there are more"
        return self._objection_of_questions(model)

    def _objection_of_questions(self, model: Dynamics) -> str | None:
        """Where it takes long to find out whether it can be asked, that is left for later."""
        from surefoot.engines.predicates.symbolic.search import question_objection

        quickly, answerers = Budget(QUICKLY), self.selected_configuration().answerers()
        try:
            return call_in_time(quickly, lambda: question_objection(model, quickly, answerers), lambda: None)
        except OutOfTime:
            return None

    def suits(self, problem: Problem) -> bool:
        """Does a network pick actions in a system of many states, but finitely many?"""
        policy = problem.policy
        if not isinstance(problem.property, Never) or not isinstance(policy, NeuralPolicy):
            return False
        picks = policy.choose in (Choose.ARGMAX, Choose.ARGMAX_APPLICABLE)
        return picks and MANY < count_states(lay_out_scalars(problem.environment, set())) < inf

    def _cannot_bound(self, problem: Problem) -> str | None:
        if not self.bounds:
            return "predicates bounds a probability only where that is asked for, by --bounds"
        if self.means == "cells" or self.configuration != "native":
            return "predicates bounds probabilities from a table, not with --means cells"
        from surefoot.engines.predicates.enumerative.probability_bounds import probability_objection

        return probability_objection(problem, self.predicates, TABULATED)

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
        words = self.selected_configuration().tests if self.tests is None else self.tests
        return frozenset(words.replace(",", " ").split())

    def selected_configuration(self) -> Configuration:
        return CONFIGURATIONS[self.configuration]

    def has_table(self, model: Dynamics) -> bool:
        by_questions = self.means == "cells" or self.configuration != "native" or self.tests is not None
        return not by_questions and count_states(model.layout) <= self._most()

    def _most(self) -> int:
        return FIXED if self.fixed else TABULATED

    def begin(self, problem: Problem, seed: int) -> PredicateTurns:
        return PredicateTurns(self)

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        return PredicateTurns(self).check(problem, budget)


@dataclass(slots=True)
class PredicateTurns:
    """The engine at work on one problem: predicates, and what is known of steps, are kept between turns."""

    engine: Predicates
    kept: KeptRefinement | None = None

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        engine = self.engine
        try:
            if isinstance(problem.property, Probability):
                from surefoot.engines.predicates.enumerative.probability_bounds import bound_probability

                return bound_probability(
                    problem, engine.predicates, engine.fixed, engine.max_predicates, budget
                )
            model = build_dynamics(problem)
            if engine.has_table(model):
                from surefoot.engines.predicates.table_check import check_by_table

                return check_by_table(engine, model, budget)
            from surefoot.engines.predicates.symbolic.refinement import KeptRefinement, check_symbolically

            self.kept = self.kept or KeptRefinement()
            return check_symbolically(engine, model, budget, self.kept)
        except OutOfTime:
            return Unknown(Reason.TIMEOUT, "the budget ended before all states were looked at")
        except Unsupported as why:
            return Unknown(Reason.INCOMPLETE, str(why))
