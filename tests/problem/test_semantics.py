"""What a step is: who moves, what is written, what is chosen, which moves are refused."""

from fractions import Fraction
from typing import Any

import pytest
from tests.laws.finite_systems import problems

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import (
    Choice,
    Component,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.meaning import decision
from surefoot.problem.meaning.decision import action_among, action_names
from surefoot.problem.meaning.simulate import enumerate_initial_states
from surefoot.problem.meaning.transition import Transition, enabled_transitions
from surefoot.problem.network import dense_network
from surefoot.problem.policy import (
    Branch,
    Choose,
    NeuralPolicy,
    Policy,
    ProgramPolicy,
)
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import (
    Move,
    NotAStep,
    apply_move,
    enumerate_successors,
    has_value_type,
    holds_in_state,
    is_initial,
    permitted_transitions,
    policy_decision,
)
from surefoot.term.evaluate import Undefined
from surefoot.term.reserved_names import STALLED, location_name, network_output_name
from surefoot.term.term import FALSE, TRUE, Const, Term, Var, array_term, equal, ite
from surefoot.term.value_types import Array, Bool, Int, Real

N, X = Var("n"), Var("x")


def add(amount: int, guard: Term = TRUE, action: str | None = None) -> Edge:
    return Edge(action=action, guard=guard, outcomes=(Outcome(updates=(Update(N, N + amount),)),))


def counter(*edges: Edge) -> Environment:
    return Environment("counter", (Variable("n", Int(0, 5)),), equal(N, 0), (Component("c", edges),))


def asked(environment: Environment, policy: Policy | None) -> Problem:
    return Problem("test", environment, policy, Never(FALSE))


def constant_outputs(*outputs: float, choose: Choose = Choose.ARGMAX) -> NeuralPolicy:
    """A network with one input and fixed outputs, for the actions `a`, `b`, …"""
    network = dense_network([([[0]] * len(outputs), list(outputs))])
    return NeuralPolicy(network, (N,), tuple("abcdef"[: len(outputs)]), choose)


# Components


def pair(*vectors: tuple[tuple[str | None, ...], str | None]) -> Environment:
    left = Component(
        "left",
        (Edge("l", "go", outcomes=(Outcome(target="m"),)), Edge("l", outcomes=(Outcome(target="l"),))),
        ("l", "m"),
        ("l",),
    )
    right = Component("right", (add(1, action="go"), add(2, action="jump")))
    return Environment(
        "pair",
        (Variable("n", Int(0, 5)),),
        equal(N, 0),
        (left, right),
        synchronisations=tuple(Synchronisation(a, r) for a, r in vectors),
    )


START = {"n": 0, "@left": 0}


def test_vectors_name_who_takes_part() -> None:
    environment = pair((("go", "go"), "both"), ((None, "jump"), "alone"), (("go", None), "left"))
    found = {(t.label, t.edges) for t in enabled_transitions(environment, START)}
    assert found == {
        (None, ((0, 1),)),  # an edge without action moves alone
        ("both", ((0, 0), (1, 0))),
        ("alone", ((1, 1),)),
        ("left", ((0, 0),)),
    }


def test_without_a_vector_a_labelled_edge_cannot_move() -> None:
    assert [t.label for t in enabled_transitions(pair(), START)] == [None]


def test_a_joint_step_moves_every_participant() -> None:
    problem = asked(pair((("go", "go"), "both")), None)
    states = {s.move.transition.label: s.state for s in enumerate_successors(problem, START)}
    assert states["both"] == {"n": 1, "@left": 1}
    assert states[None] == START
    assert holds_in_state(problem, states["both"], Var(location_name("left", "m")))
    assert not holds_in_state(problem, START, Var(location_name("left", "m")))


def test_joint_outcomes_multiply_their_probabilities() -> None:
    half, third = Const(Fraction(1, 2)), Const(Fraction(1, 3))
    coin = Edge(action="go", outcomes=(Outcome(half, (Update(N, N + 1),)), Outcome(half)))
    die = Edge(action="go", outcomes=(Outcome(third, (Update(X, X + 1),)), Outcome(Const(Fraction(2, 3)))))
    environment = Environment(
        "coins",
        (Variable("n", Int(0, 5)), Variable("x", Int(0, 5))),
        TRUE,
        (Component("a", (coin,)), Component("b", (die,))),
        synchronisations=(Synchronisation(("go", "go"), "go"),),
    )
    found = {
        (s.state["n"], s.state["x"]): s.probability
        for s in enumerate_successors(asked(environment, None), {"n": 0, "x": 0})
    }
    assert found == {
        (1, 1): Fraction(1, 6),
        (1, 0): Fraction(1, 3),
        (0, 1): Fraction(1, 6),
        (0, 0): Fraction(1, 3),
    }


def test_two_participants_may_not_write_the_same_variable() -> None:
    environment = Environment(
        "clash",
        (Variable("n", Int(0, 5)),),
        TRUE,
        (Component("a", (add(1, action="go"),)), Component("b", (add(1, action="go"),))),
        synchronisations=(Synchronisation(("go", "go"), "go"),),
    )
    with pytest.raises(Undefined, match="written twice"):
        list(enumerate_successors(asked(environment, None), {"n": 0}))


# Updates


def one_step(
    variables: tuple[Variable, ...], updates: tuple[Update, ...], state: dict[str, object]
) -> dict[str, object]:
    edge = Edge(outcomes=(Outcome(updates=updates),))
    (successor,) = enumerate_successors(
        asked(Environment("u", variables, TRUE, (Component("c", (edge,)),)), None), state
    )
    return dict(successor.state)


A, B, CELLS = Var("a"), Var("b"), Var("cells")
NUMBERS = (Variable("a", Int(0, 9)), Variable("b", Int(0, 9)))
ROW = (Variable("cells", Array(Int(0, 9), 3)), Variable("a", Int(0, 9)))


def test_updates_of_one_index_happen_at_once() -> None:
    assert one_step(NUMBERS, (Update(A, B), Update(B, A)), {"a": 1, "b": 2}) == {"a": 2, "b": 1}


def test_lower_indices_come_first_whatever_the_order_written() -> None:
    updates = (Update(B, A, index=1), Update(A, A + 1))
    assert one_step(NUMBERS, updates, {"a": 1, "b": 5}) == {"a": 2, "b": 2}
    backwards = (Update(B, A), Update(A, A + 1, index=1))
    assert one_step(NUMBERS, backwards, {"a": 1, "b": 5}) == {"a": 2, "b": 1}


def test_a_variable_may_be_written_again_at_a_higher_index() -> None:
    assert one_step(NUMBERS, (Update(A, A + 1), Update(A, A * 2, index=1)), {"a": 1, "b": 0})["a"] == 4


def test_array_elements_are_written_one_by_one() -> None:
    updates = (Update(CELLS[A], Const(7)), Update(CELLS[A + 1], CELLS[A]))
    assert one_step(ROW, updates, {"cells": (1, 2, 3), "a": 0})["cells"] == (7, 1, 3)


def test_a_whole_array_may_be_written() -> None:
    assert one_step(ROW, (Update(CELLS, array_term(A, A, CELLS[0])),), {"cells": (1, 2, 3), "a": 5})[
        "cells"
    ] == (
        5,
        5,
        1,
    )


def test_nested_arrays() -> None:
    grid = (Variable("cells", Array(Array(Int(0, 9), 2), 2)),)
    assert one_step(grid, (Update(CELLS[1][0], CELLS[0][1]),), {"cells": ((1, 2), (3, 4))})["cells"] == (
        (1, 2),
        (2, 4),
    )


def test_writing_outside_an_array_is_an_error() -> None:
    with pytest.raises(Undefined, match="outside an array"):
        one_step(ROW, (Update(CELLS[A + 3], Const(1)),), {"cells": (1, 2, 3), "a": 0})


def test_writing_one_element_twice_is_an_error() -> None:
    with pytest.raises(Undefined, match="written twice"):
        one_step(ROW, (Update(CELLS[A], Const(1)), Update(CELLS[0], Const(2))), {"cells": (1, 2, 3), "a": 0})


@pytest.mark.parametrize("value", [Const(10), Const(-1), Const(Fraction(1, 2)), Const(True)])
def test_a_value_outside_its_kind_is_an_error(value: Const) -> None:
    with pytest.raises(Undefined, match="outside its kind"):
        one_step(NUMBERS, (Update(A, value),), {"a": 0, "b": 0})


@pytest.mark.parametrize(
    ("value", "kind", "expected"),
    [
        (True, Bool(), True),
        (1, Bool(), False),
        (True, Int(0, 1), False),
        (Fraction(1, 2), Int(), False),
        (3, Int(0, None), True),
        (-1, Int(0, None), False),
        (1, Real(), True),
        (Fraction(1, 2), Real(Fraction(0), Fraction(1)), True),
        (0.5, Real(Fraction(0), Fraction(1)), True),
        (True, Real(), False),
        (Fraction(1, 3), Real(float32=True), False),
        (Fraction(1, 4), Real(float32=True), True),
        ((1, 2), Array(Int(0, 2), 2), True),
        ((1, 3), Array(Int(0, 2), 2), False),
        ((1,), Array(Int(0, 2), 2), False),
    ],
)
def test_kinds(value: object, kind: object, expected: bool) -> None:
    assert has_value_type(value, kind) is expected  # type: ignore[arg-type]


# Probability, rewards, choices, moves


def test_outcomes_of_probability_zero_do_not_exist_and_others_keep_theirs() -> None:
    chance = ite(N < 1, 0, Fraction(1, 4))
    edge = Edge(
        outcomes=(Outcome(chance, (Update(N, N + 1),)), Outcome(1 - chance, rewards=(("cost", N + 2),)))
    )
    problem = asked(counter(edge), None)
    assert [(s.probability, s.state["n"]) for s in enumerate_successors(problem, {"n": 0})] == [(1, 0)]
    found = [(s.probability, s.state["n"], dict(s.rewards)) for s in enumerate_successors(problem, {"n": 1})]
    assert found == [(Fraction(1, 4), 2, {}), (Fraction(3, 4), 1, {"cost": 3})]


def test_a_probability_outside_its_range_is_an_error() -> None:
    problem = asked(counter(Edge(outcomes=(Outcome(Const(2)),))), None)
    with pytest.raises(Undefined, match="probability 2"):
        list(enumerate_successors(problem, {"n": 0}))


def gusty(kind: Int | Bool | Real, assuming: Term = TRUE) -> Problem:
    update = Update(N, N + Var("gust")) if isinstance(kind, Int) else Update(N, ite(equal(N, 0), 1, 0))
    edge = Edge(chosen=(Choice("gust", kind),), assuming=assuming, outcomes=(Outcome(updates=(update,)),))
    return asked(counter(edge), None)


def test_the_environment_chooses_within_kind_and_assumption() -> None:
    problem = gusty(Int(0, 3), Var("gust") > N)
    assert [s.state["n"] for s in enumerate_successors(problem, {"n": 1})] == [3, 4]
    assert len(list(enumerate_successors(gusty(Bool()), {"n": 0}))) == 2
    with pytest.raises(Unsupported, match="infinitely many"):
        list(enumerate_successors(gusty(Real(Fraction(0), Fraction(1))), {"n": 0}))


def test_a_move_is_checked_before_it_is_made() -> None:
    problem = gusty(Int(0, 3), Var("gust") > N)
    (transition,) = permitted_transitions(problem, {"n": 1})
    assert apply_move(problem, {"n": 1}, Move(transition, (0,), {"gust": 2})) == {"n": 3}
    for wrong, why in (
        (Move(transition, (0,), {"gust": 1}), "assumption"),
        (Move(transition, (0,), {"gust": 4}), "outside its kind"),
        (Move(transition, (0,), {}), "other values"),
        (Move(transition, (0,), {"gust": 2, "more": 1}), "other values"),
        (Move(transition, (1,), {"gust": 2}), "probability 0"),
        (Move(Transition(((0, 0),), "other"), (0,), {"gust": 2}), "not permitted"),
    ):
        with pytest.raises(NotAStep, match=why):
            apply_move(problem, {"n": 1}, wrong)


def test_a_move_against_the_policy_is_not_a_step() -> None:
    problem = asked(counter(add(1, action="a"), add(2, action="b")), constant_outputs(2, 1))
    with pytest.raises(NotAStep, match="not permitted"):
        apply_move(problem, {"n": 0}, Move(Transition(((0, 1),), "b"), (0,)))
    assert apply_move(problem, {"n": 0}, Move(Transition(((0, 0),), "a"), (0,))) == {"n": 1}


def test_starts() -> None:
    environment = pair()
    assert is_initial(environment, START)
    for other in (
        {"n": 1, "@left": 0},
        {"n": 0, "@left": 1},
        {"n": 0},
        {"n": 0, "@left": 2},
        {"@left": 0},
        {"n": 9, "@left": 0},
    ):
        assert not is_initial(environment, other)


def test_names_that_mean_nothing_are_refused() -> None:
    problem = asked(counter(add(1, action="a")), ProgramPolicy((Branch(TRUE, "a"),)))
    with pytest.raises(InvalidProblem, match="needs a network"):
        holds_in_state(problem, {"n": 0}, Var(network_output_name(0)) > 0)
    with pytest.raises(InvalidProblem, match="not declared"):
        holds_in_state(problem, {"n": 0}, Var("speed") > 0)
    with pytest.raises(InvalidProblem, match="needs a policy"):
        holds_in_state(asked(counter(add(1)), None), {"n": 0}, Var(STALLED))


@pytest.mark.parametrize("seed", range(40))
def test_what_is_permitted_is_what_is_enabled_and_decided(seed: int) -> None:
    problem = problems(seed)["never"]
    policy, environment = problem.policy, problem.environment
    assert policy is not None
    names = action_names(policy, environment)
    for state in enumerate_initial_states(environment, 1000):
        try:
            made = policy_decision(problem, state)
        except Undefined:
            with pytest.raises(Undefined):
                permitted_transitions(problem, state)
            continue
        assert made is not None
        enabled = enabled_transitions(environment, state, made.controls)
        actions = [action_among(names, environment, t) for t in enabled]
        wanted = [t for t, a in zip(enabled, actions, strict=True) if a is None or a in made.actions]
        assert list(permitted_transitions(problem, state)) == wanted


def test_guards_are_looked_at_once_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problems(1)["never"]
    asked = []

    def count(*given: Any) -> Any:
        asked.append(given)
        return enabled_transitions(*given)

    monkeypatch.setattr(decision, "enabled_transitions", count)
    state = next(iter(enumerate_initial_states(problem.environment, 1000)))
    for move in [s.move for s in enumerate_successors(problem, state)]:
        asked.clear()
        apply_move(problem, state, move)
        assert len(asked) == 1
