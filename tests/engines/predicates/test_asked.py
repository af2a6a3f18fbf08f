"""Predicate abstraction by questions: the same graphs as from a table, and systems too large for one."""

from __future__ import annotations

from itertools import combinations, pairwise
from time import sleep

import pytest
from tests.engines.predicates.wide_systems import FIRST, PLACE, SECOND, braking, tanks, waiting_room
from tests.laws.automata_networks import automata_network, predicates
from tests.laws.brute_force import truth
from tests.laws.contradictions import answer

from surefoot.certify.replay import replay
from surefoot.engines.predicates import Predicates
from surefoot.engines.predicates.dynamics import OutOfTime, build_dynamics
from surefoot.engines.predicates.separating_predicate import state_comparisons
from surefoot.engines.predicates.symbolic.conditions import condition_to_cubes
from surefoot.engines.predicates.symbolic.search import AbstractReach, SymbolicSearch
from surefoot.errors import WrongType
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.run import verify
from surefoot.term.term import Const, Var, conjunction_of, disjunction_of, equal
from surefoot.term.value_types import Int
from surefoot.verdict.artifact import AbstractGraph
from surefoot.verdict.verdict import Holds, Proved, Reason, Unknown, Vacuous, Violated
from surefoot.work.budget import Budget

States = set[tuple[object, ...]]


def graph(problem: Problem, engine: Predicates) -> AbstractGraph:
    verdict = engine.check(problem, Budget(60))
    assert isinstance(verdict, Holds | Violated | Unknown)
    assert isinstance(verdict.artifact, AbstractGraph)
    return verdict.artifact


def states(found: AbstractGraph) -> States:
    return {(s.locations, s.values, s.start, s.unsafe) for s in found.states}


def edges(found: AbstractGraph) -> States:
    names = [(s.locations, s.values) for s in found.states]
    return {(names[s], label, names[t]) for s, label, t in found.edges}


@pytest.mark.parametrize("seed", range(8))
def test_questions_give_the_same_graph_as_a_table(seed: int) -> None:
    problem = automata_network(seed)
    given = predicates(seed, problem)
    table = graph(problem, Predicates(given, fixed=True))
    asked = graph(problem, Predicates(given, fixed=True, means="cells"))
    assert asked.means == "cells"
    assert states(asked) == states(table)
    assert edges(asked) == edges(table)


@pytest.mark.parametrize("seed", range(3))
def test_refinement_by_questions_tells_the_truth(seed: int) -> None:
    problem = automata_network(seed)
    said = answer(problem, Predicates(means="cells"), 30, truth(problem))
    assert said is not None
    assert said[1] is None


def test_every_optional_test_may_be_left_out() -> None:
    """Then there are more steps, never fewer; tests that are over-approximated by others change nothing."""
    problem = automata_network(3)
    given = predicates(3, problem)
    exact = graph(problem, Predicates(given, fixed=True, means="cells"))
    names = ("guard", "relaxed", "exact", "relations", "fixing")
    for size in (0, 1, 5):
        for chosen in combinations(names, size):
            found = graph(problem, Predicates(given, fixed=True, means="cells", tests=" ".join(chosen)))
            assert edges(found) >= edges(exact), chosen
            if "exact" in chosen:
                assert edges(found) == edges(exact), chosen
                assert found.exact
            kinds = {t.kind for t in found.tests}
            assert ("fixing" in kinds) == ("fixing" in chosen)
            assert ("relations" in kinds) == ("relations" in chosen and len(given) > 1)
            if "guard" not in chosen:  # which decides steps that do not depend on the network
                assert any("relaxed" in k for k in kinds) == ("relaxed" in chosen)


def test_without_a_start_it_holds_for_no_reason() -> None:
    """Also where no test is asked that would show that an abstract start has no state."""
    x = Var("x")
    stays = Component("c", (Edge(),))
    nowhere = Environment("nowhere", (Variable("x", Int(0, 3)),), equal(x, Const(9)) | (x > 9), (stays,))
    empty = Problem("nowhere", nowhere, None, Never(x < 0))
    for tests in ("", "guard", "exact"):
        assert isinstance(Predicates(means="cells", tests=tests).check(empty, Budget(60)), Vacuous)


def test_more_states_than_can_be_looked_at() -> None:
    """8 * 10^12 states; the network reads all four variables."""
    problem = tanks(FIRST + SECOND > 1200)
    engine = Predicates()
    assert engine.objection(problem) is None
    verdict = engine.check(problem, Budget(60))
    assert isinstance(verdict, Holds)
    assert verdict.as_asked


def test_weakest_preconditions_find_how_early_to_brake() -> None:
    """6 * 10^12 states; the predicates relate place and speed."""
    verdict = Predicates().check(braking(PLACE > 1_000_000), Budget(60))
    assert isinstance(verdict, Holds)
    found = verdict.artifact
    assert isinstance(found, AbstractGraph)
    assert {why for why, _ in found.refinements} >= {"unsafe", "guard", "transition"}


@pytest.mark.parametrize(
    "problem",
    [tanks(FIRST > 1500, eager=True), braking(PLACE > 1_000_000, late=True)],
    ids=("tanks", "wagon"),
)
def test_a_violation_among_very_many_states(problem: Problem) -> None:
    verdict = Predicates().check(problem, Budget(60))
    assert isinstance(verdict, Violated)
    assert replay(problem, verdict.trace) is None


def test_alternatives_that_a_cube_excludes_are_not_multiplied_out() -> None:
    """The plain product has 10^12 of them."""
    names = [f"x{i}" for i in range(12)]
    kinds = dict.fromkeys(names, Int(0, 9))
    any_digit = tuple(disjunction_of(tuple(equal(Var(n), Const(d)) for d in range(10))) for n in names)
    same = tuple(equal(Var(a), Var(b)) for a, b in pairwise(names))
    below = tuple(Var(n) <= Var("x0") for n in names)
    found = condition_to_cubes(conjunction_of((*any_digit, *same, *below, Var("x0") <= 0)), kinds)
    assert len(found) == 1
    assert {high for _, high in found[0].box.values()} == {0}
    with pytest.raises(OutOfTime):
        condition_to_cubes(conjunction_of(any_digit), kinds, Budget(0.0))


def test_what_always_holds_in_the_range_of_a_kind_has_no_alternatives() -> None:
    x, y = Var("x"), Var("y")
    kinds = {"x": Int(0, 9), "y": Int(0, 9)}
    assert len(condition_to_cubes((x <= 9) | (y <= 3), kinds)) == 1
    assert condition_to_cubes((x < 0) | (y > 9), kinds) == ()
    assert [c.box for c in condition_to_cubes(~equal(x, Const(0)), kinds)] == [{"x": (1, None)}]


def test_a_problem_that_takes_long_to_put_into_questions_is_no_objection() -> None:
    """2,500 cases of one guard; whether they can be asked about is not known when time is up."""
    names = [f"x{i}" for i in range(8)]
    odd = conjunction_of(
        tuple(disjunction_of(tuple(equal(Var(n), Const(d)) for d in (1, 5, 9))) for n in names)
    )
    edge = Edge(guard=odd, outcomes=(Outcome(updates=(Update(Var("x0"), 9 - Var("x0")),)),))
    variables = tuple(Variable(n, Int(0, 9)) for n in names)
    world = Environment("odd", variables, odd, (Component("c", (edge,)),))
    problem = Problem("odd", world, None, Never(Var("x0") > Var("x1") + 8))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("surefoot.engines.predicates.engine.QUICKLY", 0.0)
        assert Predicates().objection(problem) is None
    late = Predicates().check(problem, Budget(0.0))
    assert isinstance(late, Unknown)
    assert late.reason is Reason.TIMEOUT


def test_many_abstract_states_are_certified_without_a_table() -> None:
    """Every place of a board is an abstract state of its own: boxes that the checker goes through."""
    x, y = Var("x"), Var("y")
    edges = tuple(Edge(guard=v <= 16, outcomes=(Outcome(updates=(Update(v, v + 1),)),)) for v in (x, y))
    variables = (Variable("x", Int(0, 17)), Variable("y", Int(0, 17)), Variable("z", Int(0, 10**9)))
    start = equal(x, 0) & equal(y, 0) & equal(Var("z"), 7)
    board = Environment("board", variables, start, (Component("c", edges),))
    given = (*(v <= i for v in (x, y) for i in range(17)), Var("z") <= 7, Var("z") <= 6)
    problem = Problem("board", board, None, Never(x + y + Var("z") > 41))
    result = verify(problem, Predicates(given, fixed=True), Budget(60))
    assert isinstance(result.verdict, Proved)
    assert result.verdict.certificate.kind == "graph"
    assert isinstance(result.verdict.artifact, AbstractGraph)
    assert len(result.verdict.artifact.states) == 324


def test_it_suits_networks_in_systems_of_many_states() -> None:
    assert Predicates().suits(tanks(FIRST > 1500))
    assert not Predicates().suits(automata_network(0))


def test_unknown_means_and_tests_are_refused() -> None:
    problem = automata_network(0)
    with pytest.raises(WrongType, match="'oracle' cannot stand here"):
        Predicates(means="oracle")  # type: ignore[arg-type]
    assert "`guess`" in str(Predicates(tests="guard guess").objection(problem))
    assert "there are more" in str(Predicates(means="table").objection(tanks(FIRST > 1500)))


def test_a_spent_budget_leaves_a_graph() -> None:
    verdict = Predicates().check(braking(PLACE > 1_000_000), Budget(0.0))
    assert isinstance(verdict, Unknown)
    assert isinstance(verdict.artifact, AbstractGraph)


def test_a_violation_that_is_known_outlives_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = tanks(FIRST > 406, eager=True)
    known = verify(problem, Predicates(), Budget(60)).verdict
    assert isinstance(known, Violated)

    def slow(search: SymbolicSearch, budget: Budget, *, to_the_end: bool = False) -> AbstractReach:
        sleep(budget.remaining())
        return AbstractReach()

    monkeypatch.setattr(SymbolicSearch, "search_waves", slow)
    monkeypatch.setattr(
        "surefoot.engines.predicates.symbolic.refinement.falsify_by_simulation", lambda *_: known.trace
    )
    verdict = verify(problem, Predicates(), Budget(3)).verdict
    assert isinstance(verdict, Violated)


def test_preconditions_that_go_on_for_ever_are_halved() -> None:
    verdict = Predicates(means="cells").check(waiting_room(), Budget(60))
    assert isinstance(verdict, Holds)
    assert isinstance(verdict.artifact, AbstractGraph)
    assert len(verdict.artifact.predicates) < 12


def test_alternatives_are_made_only_where_there_is_room_for_them() -> None:
    """One of twelve is 0, all others are not: 2^12 * 12 alternatives if each condition is multiplied out."""
    names = [Var(f"x{i}") for i in range(12)]
    kinds = {v.name: Int(0, 9) for v in names}
    one = [
        conjunction_of(tuple(equal(v, 0) if v is first else ~equal(v, 0) for v in names)) for first in names
    ]
    apart = conjunction_of(tuple(~equal(v, 5) | equal(v, 5) for v in names))
    assert len(condition_to_cubes(disjunction_of(tuple(one)), kinds)) == 12
    assert condition_to_cubes(Var("x0") >= 10, kinds) == ()
    fixed = conjunction_of(tuple(equal(v, 3) for v in names))
    assert len(condition_to_cubes(apart & disjunction_of(tuple(one)) & fixed, kinds)) == 0
    assert len(condition_to_cubes(apart & fixed, kinds)) == 1


@pytest.mark.parametrize("by", [2, 3, 5])
def test_what_is_left_of_a_division_is_a_case_for_every_quotient(by: int) -> None:
    """A clock that goes round, and bad times that are told by a remainder; numbers below 0 as well."""
    low, high = -7, 12
    x = Var("x")
    onward = Edge(action="go", guard=x <= high - by, outcomes=(Outcome(updates=(Update(x, x + by),)),))
    round_trip = Edge(
        action="go", guard=x > high - by, outcomes=(Outcome(updates=(Update(x, (x - 30) % 4),)),)
    )
    world = Environment(
        "clock", (Variable("x", Int(low, high)),), equal(x, 1), (Component("c", (onward, round_trip)),)
    )
    given = (equal(x % 3, 0), x <= 4)
    for bad in (equal((2 * x + 1) % 7, 6), (x + 5) % by > by - 1):
        problem = Problem("clock", world, None, Never(bad))
        table = graph(problem, Predicates(given, fixed=True))
        asked = graph(problem, Predicates(given, fixed=True, means="cells"))
        assert states(asked) == states(table)
        assert edges(asked) == edges(table)


def test_a_number_that_is_assigned_is_no_condition() -> None:
    model = build_dynamics(braking(PLACE > 1_000_000))
    assert state_comparisons(model, [PLACE, PLACE <= 3]) == [PLACE <= 3]
