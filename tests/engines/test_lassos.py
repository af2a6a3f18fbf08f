"""Whole executions refuted: bad loops, dead ends, and what is no loop because it does not return exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.engines.graphs import N, among, graph

from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Outcome,
    Update,
    Variable,
)
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property, Recurs
from surefoot.run import verify
from surefoot.solvers import SOLVERS
from surefoot.term.term import FALSE, TRUE, Term, Var, divide_terms, equal
from surefoot.term.value_types import Real
from surefoot.verdict.verdict import Holds, Proved, Reason, Unknown, Vacuous, Verdict, Violated
from surefoot.work.budget import Budget

solvers = pytest.mark.parametrize("solver", ["milp", "z3"])
all_solvers = pytest.mark.parametrize("solver", list(SOLVERS))
X = Var("x")
UNIT = Real(Fraction(0), Fraction(1))

# whiRL 1.0, Figure 2. The paper counts states: k states are k - 1 steps.
LEFT = graph([(0, 1), (0, 2), (1, 3), (2, 0), (3, 4), (3, 1)], Never(among(4)), states=5)
RIGHT = graph([(0, 4), (4, 0), (0, 1), (1, 2), (2, 3), (3, 1)], Recurs(among(4)), states=5)


def bmc(problem: Problem, solver: str = "milp", depth: int | None = None) -> Verdict:
    return verify(problem, Bmc(SOLVERS[solver](), depth), Budget(30)).verdict


def asking(problem: Problem, asked: Property) -> Problem:
    return replace(problem, property=asked)


@all_solvers
def test_figure_2_left_a_bad_state_with_four_states_and_not_with_three(solver: str) -> None:
    assert bmc(LEFT, solver, depth=2) == Holds(2, solver, as_asked=False)
    found = bmc(LEFT, solver)
    assert isinstance(found, Violated)
    assert [s["n"] for s in found.trace.states] == [0, 1, 3, 4]


@solvers
@pytest.mark.parametrize("kind", [Eventually, Recurs])
def test_figure_2_right_a_bad_loop_with_five_states_and_not_with_four(
    solver: str, kind: type[Eventually] | type[Recurs]
) -> None:
    problem = asking(RIGHT, kind(among(4)))
    assert bmc(problem, solver, depth=3) == Holds(3, solver, as_asked=False)
    found = bmc(problem, solver)
    assert isinstance(found, Violated)
    assert [s["n"] for s in found.trace.states] == [0, 1, 2, 3, 1]
    assert found.trace.loop == 1


@solvers
def test_a_good_state_in_the_stem_saves_eventually_but_not_recurs(solver: str) -> None:
    problem = graph([(0, 1), (1, 2), (2, 1)], Recurs(among(0)), states=3)
    found = bmc(problem, solver)
    assert isinstance(found, Violated)
    assert ([s["n"] for s in found.trace.states], found.trace.loop) == ([0, 1, 2, 1], 1)
    for engine in (Bmc(SOLVERS[solver]()), Induction(SOLVERS[solver]())):
        held = verify(asking(problem, Eventually(among(0))), engine, Budget(30)).verdict
        assert isinstance(held, Proved)


@solvers
@pytest.mark.parametrize("good", [0, 2])
def test_a_loop_without_good_states_is_never_proved_live(solver: str, good: int) -> None:
    problem = graph([(0, 1), (1, 1), (1, 2), (2, 0)], Recurs(among(good)), states=3)
    found = verify(problem, Induction(SOLVERS[solver](), depth=5), Budget(30)).verdict
    assert isinstance(found, Unknown)
    assert (found.reason, found.holds_up_to) == (Reason.DEPTH, None)
    refuted = bmc(problem, solver)
    assert isinstance(refuted, Violated)
    assert refuted.trace.states[-1] == {"n": 1}
    assert refuted.trace.loop == len(refuted.trace.states) - 2


@solvers
def test_a_dead_end_violates_unless_it_is_good(solver: str) -> None:
    chain = graph([(0, 1), (1, 2)], Recurs(among(0, 1)), states=3)
    for engine in (Bmc(SOLVERS[solver]()), Induction(SOLVERS[solver]())):
        found = verify(chain, engine, Budget(30)).verdict
        assert isinstance(found, Violated)
        assert (len(found.trace.moves), found.trace.loop) == (2, None)
        for asked in (Recurs(among(2)), Eventually(among(1))):
            assert isinstance(verify(asking(chain, asked), engine, Budget(30)).verdict, Proved)


@pytest.mark.parametrize("engine", [Bmc(), Induction()])
@pytest.mark.parametrize("kind", [Eventually, Recurs])
def test_no_start_and_no_run_are_vacuous_and_no_good_state_is_a_violation(
    engine: Bmc | Induction, kind: type[Eventually] | type[Recurs]
) -> None:
    ring = graph([(0, 1), (1, 0)], kind(among(1)), states=2)
    nowhere = replace(ring, environment=replace(ring.environment, initial=(N > 0) & (N < 1)))
    assert isinstance(verify(nowhere, engine, Budget(30)).verdict, Vacuous)
    assert isinstance(
        verify(asking(choosing(kind(X > 2), FALSE), kind(X > 2)), engine, Budget(30)).verdict, Vacuous
    )
    never_good = verify(asking(ring, kind(FALSE)), engine, Budget(3)).verdict
    assert isinstance(never_good, Violated if isinstance(engine, Bmc) else Unknown)


def choosing(asked: Property, assuming: Term = TRUE) -> Problem:
    """A real number that the environment picks anew in every step."""
    edge = Edge(
        action="go",
        chosen=(Choice("fresh", UNIT),),
        assuming=assuming,
        outcomes=(Outcome(updates=(Update(X, Var("fresh")),)),),
    )
    environment = Environment("choosing", (Variable("x", UNIT),), TRUE, (Component("world", (edge,)),))
    return Problem("choosing", environment, ProgramPolicy((Branch(TRUE, "go"),)), asked)


@all_solvers
def test_real_states_may_repeat_exactly(solver: str) -> None:
    found = bmc(choosing(Recurs(Fraction(1, 3) < X)), solver, depth=2)
    assert isinstance(found, Violated)
    assert found.trace.loop == 0


def feedback(weight: float, bias: float, asked: Property) -> Problem:
    """x becomes the output of a network that sees x."""
    move = Edge(outcomes=(Outcome(updates=(Update(X, Var("u")),)),))
    environment = Environment(
        "feedback", (Variable("x", UNIT),), equal(X, 0), (Component("world", (move,)),), (Control("u"),)
    )
    policy = NeuralPolicy(dense_network([([[weight]], [bias])]), (X,), choose=Choose.VALUE)
    return Problem("feedback", environment, policy, asked)


@all_solvers
def test_a_loop_that_closes_only_within_rounding_is_none(solver: str) -> None:
    """0.5 x + 0.3 comes ever closer to 0.6; in the encoding an output may be off by its rounding error."""
    found = bmc(feedback(0.5, 0.3, Recurs(X > 1)), solver, depth=3)
    assert not isinstance(found, Violated | Holds) or found == Holds(3, solver, as_asked=False)
    exact = bmc(feedback(0.0, 0.5, Recurs(X > 1)), solver, depth=3)
    assert isinstance(exact, Violated)
    assert exact.trace.loop == 1


@solvers
def test_a_condition_without_value_is_no_answer(solver: str) -> None:
    problem = graph([(0, 1), (1, 2), (2, 0)], Recurs(equal(divide_terms(2, N - 1), 2)), states=3)
    for engine in (Bmc(SOLVERS[solver](), depth=5), Induction(SOLVERS[solver](), depth=5)):
        for kind in (Recurs, Eventually):
            asked = asking(problem, kind(equal(divide_terms(2, N - 1), 2)))
            assert isinstance(verify(asked, engine, Budget(30)).verdict, Unknown)


@solvers
def test_errors_after_the_first_good_state_do_not_matter_to_eventually(solver: str) -> None:
    problem = graph([(0, 1), (1, 2), (2, 7)], Eventually(among(1)), states=3)
    for engine in (Bmc(SOLVERS[solver](), depth=5), Induction(SOLVERS[solver](), depth=5)):
        assert isinstance(verify(problem, engine, Budget(30)).verdict, Proved)
        assert isinstance(verify(asking(problem, Recurs(among(1))), engine, Budget(30)).verdict, Unknown)
