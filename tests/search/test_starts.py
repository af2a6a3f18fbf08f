"""Which starts are safe: sorted in a table, or by splitting; against a search through all states."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.engines.predicates.wide_systems import PLACE, braking
from tests.laws.automata_networks import automata_network
from tests.laws.brute_force import truth

from surefoot.certify.replay import replay
from surefoot.engines.bmc import Bmc
from surefoot.engines.explicit import Explicit
from surefoot.engines.predicates import Predicates
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import State
from surefoot.run import verify
from surefoot.search import SearchSettings
from surefoot.search.safe_starts import find_safe_starts
from surefoot.term.evaluate import evaluate_term
from surefoot.term.term import FALSE, Const, Term, Var, conjunction_of, equal
from surefoot.term.value_types import Int
from surefoot.verdict.artifact import SafeStarts
from surefoot.verdict.verdict import Found, Holds, Proved, Unknown, Vacuous, Violated
from surefoot.work.budget import Budget


def sorted_by(problem: Problem, asking: SearchSettings, parts: int = 32, by_table: bool = True) -> SafeStarts:
    verdict = find_safe_starts(problem, asking, parts, by_table).verdict
    assert isinstance(verdict, Found)
    assert isinstance(verdict.artifact, SafeStarts)
    return verdict.artifact


def only(problem: Problem, state: State) -> Problem:
    """The problem with one start."""
    parts: list[Term] = []
    for variable in problem.environment.variables:
        name, value = Var(variable.name), state[variable.name]
        parts.append((name if value else ~name) if isinstance(value, bool) else equal(name, value))
    return replace(problem, environment=replace(problem.environment, initial=conjunction_of(tuple(parts))))


def compare(problem: Problem, found: SafeStarts) -> int:
    """Every start satisfies the condition of a group, and no answer contradicts the truth."""
    decided = 0
    for state in enumerate_initial_states(problem.environment, 1000):
        answers = {g.answer for g in found.groups if evaluate_term(g.condition, state)}
        assert answers
        assert not {"proved", "refuted"} <= answers
        true = truth(only(problem, state))
        assert "proved" not in answers or true == "holds"
        assert "refuted" not in answers or true == "violated"
        decided += bool(answers & {"proved", "refuted"})
    return decided


def wider(problem: Problem) -> Problem:
    return replace(problem, environment=replace(problem.environment, initial=Var("x") >= 0))


@pytest.mark.parametrize("seed", range(8))
def test_no_start_is_sorted_wrongly(seed: int) -> None:
    problem = wider(automata_network(seed))
    found = sorted_by(problem, SearchSettings(budget=Budget(60)))
    count = len(list(enumerate_initial_states(problem.environment, 1000)))
    decided = compare(problem, found)
    assert found.count == count
    assert sum(g.count or 0 for g in found.groups) == count
    assert decided == (found.count_starts("proved") or 0) + (found.count_starts("refuted") or 0)
    for group in found.of("refuted"):
        assert isinstance(group.verdict, Violated)
        assert replay(problem, group.verdict.trace) is None
        assert evaluate_term(group.condition, group.verdict.trace.states[0])
    assert all(isinstance(g.verdict, Proved) and g.certified for g in found.of("proved"))


@pytest.mark.parametrize("seed", [2, 4])
def test_splitting_finds_no_other_answers(seed: int) -> None:
    problem = wider(automata_network(seed))
    found = sorted_by(problem, SearchSettings(Explicit(), Budget(60)), parts=40, by_table=False)
    compare(problem, found)


def test_starts_of_a_wide_system_are_split() -> None:
    """10^12 states: a wagon that begins beyond the line where it would brake passes the end."""
    problem = braking(PLACE > 905_000)
    start = (PLACE >= 904_000) & (PLACE <= 906_000) & equal(Var("speed"), 0)
    still = replace(problem, environment=replace(problem.environment, initial=start))
    found = sorted_by(still, SearchSettings((Predicates(), Bmc()), Budget(60)), parts=2)
    assert found.of("refuted")
    assert found.stopped or found.of("proved")
    for group in found.of("refuted"):
        assert isinstance(group.verdict, Violated)
        assert replay(still, group.verdict.trace) is None
    for group in found.of("proved"):
        assert isinstance(group.verdict, Proved | Holds)


def test_without_a_start() -> None:
    problem = automata_network(0)
    empty = replace(problem, environment=replace(problem.environment, initial=FALSE))
    assert isinstance(find_safe_starts(empty, SearchSettings(budget=Budget(60))).verdict, Vacuous)


@pytest.mark.parametrize("by_table", [True, False])
def test_a_refuted_start_is_told_with_its_location(by_table: bool) -> None:
    """From `low` the number grows up to 3, from `high` nothing happens."""
    x = Var("x")
    up = Edge("low", None, x < 3, outcomes=(Outcome(updates=(Update(x, x + 1),), target="low"),))
    rising = Component("rising", (up,), ("low", "high"), ("low", "high"))
    world = Environment("places", (Variable("x", Int(0, 4)),), x <= 1, (rising,))
    found = sorted_by(Problem("places", world, None, Never(x >= 3)), SearchSettings(Explicit()), 40, by_table)
    assert found.of("refuted")
    for group in found.of("refuted"):
        for value in (0, 1):
            at_high = {"x": value, "@rising": 1, "at(rising, high)": True, "at(rising, low)": False}
            assert not evaluate_term(group.condition, at_high)


def test_a_spent_budget_leaves_starts_open() -> None:
    x = Var("x")
    up = Edge("here", None, x < 9, outcomes=(Outcome(updates=(Update(x, x + 1),)),))
    world = Environment(
        "up", (Variable("x", Int(0, 9)),), x >= 0, (Component("c", (up,), ("here",), ("here",)),)
    )
    found = sorted_by(Problem("up", world, None, Never(x > 8)), SearchSettings(budget=Budget(0.0)))
    assert found.count == 10
    assert found.count_starts("unknown") == 10
    assert found.stopped


def on_a_tie(choose: Choose, first: Term, second: Term) -> Problem:
    """Both outputs are always equal: `a` makes of x the first number, `b` the second."""
    x = Var("x")
    edges = tuple(
        Edge("here", label, x < 3, outcomes=(Outcome(updates=(Update(x, value),), target="here"),))
        for label, value in (("a", first), ("b", second))
    )
    world = Environment(
        "tie", (Variable("x", Int(0, 4)),), x <= 3, (Component("c", edges, ("here",), ("here",)),)
    )
    indifferent = NeuralPolicy(dense_network([([[0], [0]], [0, 0])]), (x,), ("a", "b"), choose)
    return Problem("tie", world, indifferent, Never(equal(x, 4)))


@pytest.mark.parametrize("choose", [Choose.ARGMAX, Choose.ARGMAX_APPLICABLE, Choose.SAMPLE])
@pytest.mark.parametrize("by_table", [True, False])
def test_on_ties_starts_and_check_give_the_same_answer(choose: Choose, by_table: bool) -> None:
    """The reference picks the first of equal outputs: a run of it refutes, what others do is open."""
    x = Var("x")
    for first, second in ((Const(4), x), (x, Const(4)), (x + 1, Const(4)), (x + 1, Const(3))):
        problem = on_a_tie(choose, first, second)
        found = sorted_by(problem, SearchSettings(Predicates(), Budget(60)), 40, by_table)
        for state in enumerate_initial_states(problem.environment, 1000):
            answers = {g.answer for g in found.groups if evaluate_term(g.condition, state)}
            checked = verify(only(problem, state), Predicates(), Budget(60)).verdict
            expected = {Violated: "refuted", Proved: "proved", Unknown: "unknown"}[type(checked)]
            assert answers == {expected}, (state, first, second)


def test_a_start_is_refuted_that_is_bad_only_by_the_way_of_the_reference() -> None:
    """A tie makes every state one in which `b` may be chosen; in the reference it is `a`."""
    x = Var("x")
    problem = replace(
        on_a_tie(Choose.ARGMAX, x + 1, x), property=Never(Var("chosen(a)") & equal(x, 2) | Var("chosen(b)"))
    )
    found = sorted_by(problem, SearchSettings(Predicates(), Budget(60)))
    assert {v for v in range(4) for g in found.of("refuted") if evaluate_term(g.condition, {"x": v})} == {
        0,
        1,
        2,
    }
    assert compare(problem, found) == 4
