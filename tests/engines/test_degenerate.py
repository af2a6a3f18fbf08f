"""Problems at the edge of sense: contradictory starts and assumptions, nothing good, nothing bounded."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.report.runs import problem

from surefoot.engines.selection import NoEngine
from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Choice, Edge, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property, Recurs
from surefoot.run import verify
from surefoot.term.term import FALSE, TRUE, Var
from surefoot.term.value_types import Real
from surefoot.verdict.verdict import Unknown, Vacuous, Verdict, Violated
from surefoot.work.budget import Budget

OUTPUT = Var("output[0]")
CONTRADICTION = (Var("new_load") >= 1) & (Var("new_load") <= 0)


def answer(asked: Problem) -> Verdict:
    return verify(asked, budget=Budget(60)).verdict


def changed(asked: Problem, **edge: object) -> Problem:
    """The problem with another step."""
    (component,) = asked.environment.components
    (step,) = component.edges
    other: Edge = replace(step, **edge)  # type: ignore[arg-type]
    return replace(
        asked, environment=replace(asked.environment, components=(replace(component, edges=(other,)),))
    )


def test_a_window_that_contradicts_itself_has_no_start() -> None:
    asked = problem(Never(OUTPUT > 2), (Var("load_0") >= 1) & (Var("load_0") <= 0))
    assert answer(asked) == Vacuous("no state satisfies the initial condition")


@pytest.mark.parametrize(
    "asked", [Recurs(FALSE), Eventually(FALSE), Recurs(OUTPUT > 4), Eventually(OUTPUT > 4)]
)
def test_where_nothing_is_good_every_run_is_a_violation(asked: Property) -> None:
    verdict = answer(problem(asked))
    assert isinstance(verdict, Violated)
    assert verdict.trace.loop is not None


@pytest.mark.parametrize("asked", [Eventually(TRUE), Recurs(TRUE), Never(FALSE)])
def test_where_nothing_can_go_wrong_nothing_is_shown(asked: Property) -> None:
    assert isinstance(answer(problem(asked)), Vacuous)


def test_assumptions_that_cannot_be_kept_leave_no_run() -> None:
    verdict = answer(changed(problem(Recurs(OUTPUT >= 1)), assuming=CONTRADICTION))
    assert isinstance(verdict, Vacuous)
    assert "assumes cannot be kept" in verdict.why


def test_a_run_that_cannot_move_ends() -> None:
    verdict = answer(changed(problem(Recurs(OUTPUT >= 1)), guard=FALSE))
    assert isinstance(verdict, Violated)
    assert len(verdict.trace.moves) == 0


def test_an_unbounded_input_is_named() -> None:
    asked = problem(Never(OUTPUT < OUTPUT - 1))  # no run violates it
    free = tuple(Variable(v.name, Real()) for v in asked.environment.variables)
    with pytest.raises(NoEngine, match=r"`load_0` has no bounds; fix: give bounds to the variables"):
        verify(replace(asked, environment=replace(asked.environment, variables=free)), budget=Budget(3))


def test_an_empty_range_is_an_error() -> None:
    asked = problem(Never(OUTPUT > 2))
    empty = tuple(Variable(v.name, Real(Fraction(1), Fraction(0))) for v in asked.environment.variables)
    with pytest.raises(InvalidProblem, match="above its upper limit"):
        verify(replace(asked, environment=replace(asked.environment, variables=empty)), budget=Budget(20))


def test_an_unbounded_choice_may_leave_the_range_of_its_variable() -> None:
    verdict = answer(changed(problem(Never(OUTPUT > 4)), chosen=(Choice("new_load", Real()),)))
    assert isinstance(verdict, Unknown)
    assert "a step may leave the range of a variable" in verdict.detail


def test_an_objection_is_said_once() -> None:
    asked = problem(Never(OUTPUT < OUTPUT - 1))  # no run violates it
    free = tuple(Variable(v.name, Real()) for v in asked.environment.variables)
    with pytest.raises(NoEngine) as raised:
        verify(replace(asked, environment=replace(asked.environment, variables=free)), budget=Budget(3))
    assert str(raised.value).count("bmc: ") == 1
