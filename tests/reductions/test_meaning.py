"""Small problems in which every state is compared with the reference semantics, one per rule of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from tests.reductions.asking import check_state, reference, unrolled, well_defined

from surefoot.problem.environment import (
    Choice,
    Component,
    Control,
    Edge,
    Environment,
    Outcome,
    Synchronisation,
    Update,
    Variable,
)
from surefoot.problem.network import dense_network
from surefoot.problem.policy import (
    Branch,
    Choose,
    EdgesOf,
    NeuralPolicy,
    Policy,
    ProgramPolicy,
    ShieldedPolicy,
)
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.term.term import FALSE, TRUE, Const, Term, Var, array_term, equal, ite
from surefoot.term.value_types import Array, Bool, Int, ValueType

X, Y, A, U = Var("x"), Var("y"), Var("a"), Var("u")
VARIABLES = (Variable("x", Int(0, 2)), Variable("y", Int(0, 2)), Variable("a", Array(Bool(), 2)))


def values(kind: ValueType) -> list[Any]:
    match kind:
        case Bool():
            return [False, True]
        case Int(int() as low, int() as high):
            return list(range(low, high + 1))
        case Array(element, length):
            return list(product(values(element), repeat=length))
        case _:
            raise AssertionError(f"{kind} has too many values")


def agrees(problem: Problem, *conditions: Term) -> None:
    """Every state, every step from it, and what a property may ask there."""
    environment = problem.environment
    kinds: dict[str, ValueType] = {v.name: v.kind for v in environment.variables}
    several = [c for c in environment.components if len(c.locations) > 1]
    kinds |= {f"@{c.name}": Int(0, len(c.locations) - 1) for c in several}
    asked, stepped = unrolled(problem, 0, rounding=False), unrolled(problem, 1, rounding=False)
    names = ["deadlocked"] + (["stalled", "chosen(go)", "chosen(turn)"] if problem.policy else [])
    for combination in product(*map(values, kinds.values())):
        state = dict(zip(kinds, combination, strict=True))
        check_state(problem, asked, state, [*map(Var, names), *conditions])
        if well_defined(problem, state):
            assert stepped.runs(state) == reference(problem, state, 1)


def one(*edges: Edge, variables: tuple[Variable, ...] = VARIABLES[:2]) -> Environment:
    return Environment("one", variables, TRUE, (Component("c", edges),))


def edge(action: str | None, guard: Term, *updates: Update) -> Edge:
    return Edge(action=action, guard=guard, outcomes=(Outcome(updates=updates),))


GO = edge("go", X < 2, Update(X, X + 1))
TURN = edge("turn", Y > 0, Update(Y, Y - 1))
OWN = edge(None, equal(X, Y), Update(X, Const(0)))
NETWORK = dense_network([([[1, -1], [0, 1]], [-1, 0])])


def asks(environment: Environment, policy: Policy | None, *conditions: Term) -> None:
    agrees(Problem("small", environment, policy, Never(FALSE)), *conditions)


@pytest.mark.parametrize("choose", [Choose.ARGMAX, Choose.ARGMAX_APPLICABLE, Choose.SAMPLE])
@pytest.mark.parametrize("edges", [(GO, TURN), (GO, OWN), (OWN, TURN, GO, GO), (OWN,)])
def test_network_policies(choose: Choose, edges: tuple[Edge, ...]) -> None:
    policy = NeuralPolicy(NETWORK, (X, Y), ("go", "turn"), choose)
    asks(one(*edges), policy, Var("output[0]") > Var("output[1]"), equal(Var("output[1]"), Y))


@pytest.mark.parametrize("choose", [Choose.ARGMAX, Choose.ARGMAX_APPLICABLE])
def test_policies_that_pick_edges(choose: Choose) -> None:
    policy = NeuralPolicy(NETWORK, (X, Y), EdgesOf("c", (1, 0)), choose)
    asks(one(GO, TURN), policy, Var("chosen(c#0)"), Var("chosen(c#1)"))


def test_picked_edges_that_move_together_with_others() -> None:
    """The transitions of one action need not be a full product of edges."""
    first = Component("c", (edge("go", X < 2, Update(X, X + 1)), edge("go", X > 0, Update(X, X - 1))))
    second = Component("d", (edge("go", Y < 1, Update(Y, Y + 1)), edge("stay", Y > 1)))
    vectors = (Synchronisation(("go", "go"), "both"), Synchronisation(("go", "stay"), "turn"))
    environment = Environment("two", VARIABLES[:2], TRUE, (first, second), synchronisations=vectors)
    network = dense_network([([[1, -1], [0, 1], [1, 1]], [-1, 0, -2])])
    policy = NeuralPolicy(network, (X, Y), EdgesOf("c"), Choose.ARGMAX)
    asks(environment, replace(policy, network=NETWORK), Var("chosen(c#1)"))
    labelled = NeuralPolicy(network, (X, Y), ("both", "turn", "go"), Choose.ARGMAX_APPLICABLE)
    asks(environment, labelled, Var("chosen(both)"))


def test_programs_take_the_first_branch_and_stall_without_one() -> None:
    network = NeuralPolicy(NETWORK, (X, Y), ("go", "turn"), Choose.ARGMAX_APPLICABLE)
    branches = (Branch(equal(X, 2), "go"), Branch(X + Y > 2, network), Branch(equal(X, 0), "turn"))
    asks(one(GO, TURN, OWN), ProgramPolicy(branches))
    asks(one(GO, TURN), ProgramPolicy((*branches, Branch(TRUE, network)), ("fly",)), Var("chosen(fly)"))


def test_shields_keep_the_outputs_of_the_network_they_overrule() -> None:
    network = NeuralPolicy(NETWORK, (X, Y), ("go", "turn"))
    fallback = ProgramPolicy((Branch(X < 2, "go"), Branch(Y > 1, "turn")))
    for permits in (~Var("chosen(go)") | (Y > 0), X > Y, Var("chosen(turn)")):
        shield = ShieldedPolicy(network, permits, fallback)
        asks(one(GO, TURN, OWN), shield, Var("output[0]") > 0)
    nested = NeuralPolicy(NETWORK, (Y, X), ("turn", "go"), Choose.ARGMAX_APPLICABLE)
    asks(one(GO, TURN), ShieldedPolicy(network, X > Y, nested), equal(Var("output[1]"), Y))


def test_a_choice_among_no_action_at_all_has_no_meaning() -> None:
    only_turn = NeuralPolicy(dense_network([([[1, 1]], [0])]), (X, Y), ("turn",), Choose.ARGMAX_APPLICABLE)
    asks(one(GO, TURN), ProgramPolicy((Branch(X > 0, only_turn), Branch(TRUE, "go"))))


def test_updates_happen_in_the_order_of_their_indices() -> None:
    swap = (Update(X, Y), Update(Y, X))
    later = (Update(X, Y), Update(Y, X, 1), Update(A[0], X < Y, 2))
    asks(one(edge("go", TRUE, *swap), edge(None, TRUE, *later), variables=VARIABLES), None)


def test_several_elements_are_written_at_once() -> None:
    both = (Update(A[0], A[1]), Update(A[1], ~A[0]))
    varying = (Update(A[X], Y > 0), Update(A[1], A[0]))  # twice the same element where x = 1
    whole = (Update(A, array_term(A[1], X > 0)), Update(A[Y], ~A[0], 1))
    edges = (edge("go", X < 2, *both), edge("turn", X < 2, *varying), edge(None, Y < 2, *whole))
    asks(one(*edges, variables=VARIABLES), None)


def test_steps_that_fail() -> None:
    halves = edge("go", Y < 2, Update(X, X / 2))
    divides = edge("turn", Y > 0, Update(Y, (4 - X) / Y))
    asks(one(halves, divides), None)
    guarded = edge(None, (X < 2) & A[X])
    partial = edge("go", (Y > 0) & A[X])
    asks(one(guarded, partial, variables=VARIABLES), None)


def test_outcomes_whose_probability_depends_on_the_state() -> None:
    outcomes = (Outcome(X / 2, (Update(Y, Const(0)),)), Outcome(1 - X / 2, (Update(Y, Const(2)),)))
    asks(one(Edge(outcomes=outcomes)), None)
    odd = (Outcome(Const(1) * X), Outcome(1 - X))
    asks(one(Edge(outcomes=odd)), None)


def test_locations_and_components() -> None:
    leave = Edge("in", "go", Y < 2, outcomes=(Outcome(updates=(Update(Y, Y + 1),), target="out"),))
    back = Edge("out", "turn", outcomes=(Outcome(target="in"),))
    first = Component("c", (leave, back), ("in", "out"), ("in",))
    second = Component("d", (GO, Edge(guard=X > 1)))
    vectors = (Synchronisation(("go", "go"), "go"), Synchronisation(("turn", None), "turn"))
    environment = Environment("two", VARIABLES[:2], TRUE, (first, second), synchronisations=vectors)
    asks(environment, None, Var("at(c, out)"), Var("at(d, here)"), equal(Var("@c"), 1))
    asks(environment, NeuralPolicy(NETWORK, (X, Y), ("go", "turn")), Var("at(c, in)"))


def test_controls_leave_no_room_for_actions_of_the_policy() -> None:
    control = Control("u", Fraction(0), Fraction(1))
    edges = (edge("go", U > 0, Update(X, Const(1))), edge("turn", U < 1, Update(Y, Const(0))))
    environment = replace(one(*edges), controls=(control,))
    values = ProgramPolicy((Branch(X > 0, (X - Y,)), Branch(Y > 0, (Y / 2,))), ("go",))
    asks(environment, values, Fraction(1, 2) < U)
    network = NeuralPolicy(dense_network([([[1, -1]], [0])]), (X, Y), (), Choose.VALUE)
    shield = ShieldedPolicy(network, U > 0, ProgramPolicy((Branch(TRUE, (Const(1),)),)))
    asks(environment, shield, Var("output[0]") < 0, equal(U, 1))


def test_one_label_for_several_vectors_is_not_a_product_of_their_edges() -> None:
    first = Component("c", (GO, edge("turn", X > 0, Update(X, X - 1))))
    second = Component("d", (edge("go", Y > 1), edge("turn", Y < 1)))
    vectors = (Synchronisation(("go", "go"), "go"), Synchronisation(("turn", "turn"), "go"))
    environment = Environment("two", VARIABLES[:2], TRUE, (first, second), synchronisations=vectors)
    asks(environment, ProgramPolicy((Branch(TRUE, "go"),)))


def test_chosen_values_satisfy_the_assumption() -> None:
    w = Var("w")
    edge_with_choice = Edge(
        chosen=(Choice("w", Int(0, 2)), Choice("v", Bool())),
        assuming=(w > Y) & (Var("v") | (X > 0)),
        outcomes=(Outcome(updates=(Update(X, w), Update(Y, ite(Var("v"), 0, Y)))),),
    )
    asks(one(edge_with_choice), None)
