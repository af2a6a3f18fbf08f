"""Search for an inductive invariant among bounds (whiRL 2.0, section IV, Figure 5).

A candidate bounds some variables, each at one value of a grid. It must contain the starts, exclude the bad
states, and be closed under steps. Where a step leaves it, it is weakened to contain the state that was
reached; where it contains a bad state it was weakened too far and is strengthened again.

The starts give the strongest candidate by bisection, bound by bound. From there every step out of the
candidate is a step out of each stronger one as well, so weakening just as far as such steps demand never
passes by an invariant of this shape: if the candidate reached in this way contains a bad state there is none.
To get on faster the candidate is weakened by more than is demanded, twice as much each time; when that
fails, the search returns to what was demanded. What is found is checked again from scratch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil
from typing import Any, TypeAlias

from surefoot.engines.tipping_point import BisectionGrid, Decide, bisect_tipping_point, bisection_grid
from surefoot.errors import Unsupported
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.reductions.bound_template import BoundTemplate
from surefoot.reductions.proof_obligations import consecution_problem, initiation_problem, safety_problem
from surefoot.term.printer import show_term
from surefoot.term.term import Term, Var, conjunction_of
from surefoot.verdict.artifact import Invariant, InvariantObligation, property_answer
from surefoot.verdict.verdict import Reason, Unknown, Vacuous, Verdict, Violated, is_interrupted
from surefoot.work.budget import Budget

Candidate: TypeAlias = tuple[int, ...]  # per bound its number on the grid: 0 is the strongest


@dataclass(frozen=True, slots=True)
class MovingBound:
    """An upper or lower bound of one variable, to be moved over a grid."""

    name: str
    upper: bool
    grid: BisectionGrid  # number 0: the strongest

    def condition(self, number: int) -> Term:
        value = self.grid.value(number)
        return Var(self.name) <= value if self.upper else Var(self.name) >= value

    def strongest_number(self, state: Mapping[str, Any]) -> int:
        """The strongest number whose bound the state keeps."""
        cell = (self.grid.hard - self.grid.easy) / self.grid.cells
        return max(0, ceil((Fraction(state[self.name]) - self.grid.easy) / cell))


def template_bounds(
    problem: Problem, template: BoundTemplate, low: Fraction, high: Fraction, precision: Fraction
) -> tuple[MovingBound, ...]:
    """One bound for each variable that the template mentions, each moving on its own."""
    if not template.of_inputs or not all(isinstance(t, Var) for t in template.terms):
        raise Unsupported("an invariant bounds variables of the state", fix="name variables, such as `x<=`")
    upper = template.relation == "<="
    names = template.spans(problem, Fraction(0))
    return tuple(
        MovingBound(name, upper, bisection_grid(low, high, precision, rises=upper)) for name in names
    )


@dataclass(frozen=True, slots=True)
class InvariantOutcome:
    """The invariant, or why there is none."""

    invariant: Invariant | None
    verdict: Verdict | None = None  # where there is none
    candidates: tuple[tuple[str, str], ...] = ()


class _None(Exception):
    """The search is over without an invariant."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(str(verdict))
        self.verdict = verdict


def find_bounds(
    problem: Problem,
    moving: tuple[MovingBound, ...],
    decide: Decide,
    budget: Budget,
    confirm: Decide | None = None,
) -> InvariantOutcome:
    """The bounds of an inductive invariant that excludes the bad states; `confirm` decides in the end."""
    if not isinstance(problem.property, Never):
        raise Unsupported("an invariant proves `never …`; this property is of another kind")
    search = _Weakening(problem, moving, decide, budget)
    try:
        condition = search.weaken_until_closed()
        search.record_candidate(condition, "inductive: checked again from scratch")
        obligations = search.recheck(condition, confirm or decide)
    except _None as nothing:
        return InvariantOutcome(None, nothing.verdict, tuple(search.history))
    except KeyboardInterrupt:
        stopped = Unknown(Reason.INTERRUPTED, "interrupted by the user")
        return InvariantOutcome(None, stopped, tuple(search.history))
    return InvariantOutcome(
        Invariant(condition, obligations, tuple(search.history)), None, tuple(search.history)
    )


@dataclass
class _Weakening:
    problem: Problem
    moving: tuple[MovingBound, ...]
    decide: Decide
    budget: Budget
    history: list[tuple[str, str]] = field(default_factory=list)

    def condition(self, candidate: Candidate) -> Term:
        return conjunction_of(tuple(b.condition(n) for b, n in zip(self.moving, candidate, strict=True)))

    def record_candidate(self, condition: Term, what: str) -> None:
        self.history.append((show_term(condition), what))

    def weaken_until_closed(self) -> Term:
        demanded = candidate = self._starts()
        extra = 0
        while True:
            condition = self.condition(candidate)
            bad = self._ask_question(safety_problem(self.problem, condition), "bad states")
            if isinstance(bad, Violated):
                if candidate == demanded:
                    self.record_candidate(
                        condition, "contains a bad state, and so does every weaker candidate"
                    )
                    what = "no bounds on this grid separate what can be reached from the bad states"
                    raise _None(Unknown(Reason.INCOMPLETE, what))
                self.record_candidate(condition, "contains a bad state: strengthened")
                candidate, extra = demanded, 0
                continue
            left = self._ask_question(consecution_problem(self.problem, condition), "steps")
            if not isinstance(left, Violated):
                return condition
            first, last = left.trace.states[0], left.trace.states[-1]
            wider = self._weaken_to_contain(candidate, last)
            if self._contains(demanded, first):
                least = self._weaken_to_contain(demanded, last)
                if least is None:
                    self.record_candidate(condition, "a step leaves every candidate of the range")
                    raise _None(Unknown(Reason.INCOMPLETE, "a step leads out of the widest bounds"))
                demanded = least
            if wider is None:
                self.record_candidate(condition, "a step leaves the range: strengthened")
                candidate, extra = demanded, 0
            else:
                self.record_candidate(condition, "a step leaves it: weakened")
                candidate = self._further(candidate, wider, extra)
                extra = 2 * extra + 1

    def _contains(self, candidate: Candidate, state: Mapping[str, Any]) -> bool:
        return all(b.strongest_number(state) <= n for b, n in zip(self.moving, candidate, strict=True))

    def _weaken_to_contain(self, candidate: Candidate, state: Mapping[str, Any]) -> Candidate | None:
        """Just so far that the state is inside; None if the grid ends before."""
        wider = tuple(max(n, b.strongest_number(state)) for b, n in zip(self.moving, candidate, strict=True))
        outside = any(n > b.grid.cells for b, n in zip(self.moving, wider, strict=True))
        return None if outside else wider

    def _further(self, before: Candidate, wider: Candidate, extra: int) -> Candidate:
        """Beyond what is demanded, for the bounds that had to move."""
        return tuple(
            min(b.grid.cells, new + extra) if new > old else new
            for b, old, new in zip(self.moving, before, wider, strict=True)
        )

    def _starts(self) -> Candidate:
        """The strongest candidate that contains every start, bound by bound."""
        found = []
        for bound in self.moving:
            # A bound is the easier to show the weaker it is: the easy end is the last number.
            backwards = BisectionGrid(bound.grid.hard, bound.grid.easy, bound.grid.cells)

            def family(value: Fraction, bound: MovingBound = bound) -> Problem:
                kept = Var(bound.name) <= value if bound.upper else Var(bound.name) >= value
                return initiation_problem(self.problem, kept)

            search = bisect_tipping_point(family, backwards, self.decide, self.budget)
            if search.reason is Reason.INTERRUPTED:
                raise KeyboardInterrupt
            if search.proved is None:
                refuted = search.refuted is not None
                what = f"some start is outside every bound of `{bound.name}`" if refuted else search.stopped
                asked = search.trials[0].verdict if search.trials else None  # none: at once out of time
                if isinstance(asked, Vacuous):
                    raise _None(asked)
                raise _None(Unknown(search.reason or Reason.INCOMPLETE, what))
            found.append(_grid_number(bound.grid, search.proved.value))
        return tuple(found)

    def _ask_question(self, question: Problem, about: str) -> Verdict:
        """Proved (any such verdict), or a violation that replays; anything else ends the search."""
        self.budget.progress(f"candidate {len(self.history) + 1}: {about}")
        if self.budget.is_spent():
            raise _None(Unknown(Reason.TIMEOUT, f"the time ran out after {len(self.history)} candidates"))
        result = self.decide(question, self._remaining_budget())
        match property_answer(result.verdict, result.certified):
            case "proved" | "refuted":
                return result.verdict
            case "vacuous" if isinstance(result.verdict, Vacuous):
                raise _None(result.verdict)
            case _:
                reason, detail = Reason.INCOMPLETE, f"about the {about}: no answer"
                if isinstance(result.verdict, Unknown):
                    reason, detail = result.verdict.reason, f"about the {about}: {result.verdict.detail}"
                raise _None(Unknown(reason, detail))

    def _remaining_budget(self) -> Budget:
        return self.budget.begin_part(self.budget.remaining())

    def recheck(self, condition: Term, confirm: Decide) -> tuple[InvariantObligation, ...]:
        """All three questions once more, about the condition that will be reported."""
        questions = {
            "every start is inside": initiation_problem(self.problem, condition),
            "every bad state is outside": safety_problem(self.problem, condition),
            "no step leads out": consecution_problem(self.problem, condition),
        }
        found = []
        for name, question in questions.items():
            result = confirm(question, self._remaining_budget())
            if is_interrupted(result.verdict):
                raise KeyboardInterrupt
            if property_answer(result.verdict, result.certified) != "proved":
                what = f"the found bounds were not confirmed: {name}"
                raise _None(Unknown(Reason.NUMERICS, what))
            found.append(
                InvariantObligation(name, result.verdict, result.certified, result.seconds, result.engine)
            )
        return tuple(found)


def _grid_number(where: BisectionGrid, value: Fraction) -> int:
    return round((value - where.easy) * where.cells / (where.hard - where.easy))
