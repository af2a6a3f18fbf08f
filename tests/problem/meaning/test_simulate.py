"""Runs drawn by the reference semantics, and the enumeration of starts."""

from collections import Counter
from fractions import Fraction
from random import Random

import pytest
from tests.examples import EXAMPLES, REST, UP, UP_TO_TWO, Example, N, counter

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.environment import Choice, Component, Edge, Environment, Law, Outcome, Update, Variable
from surefoot.problem.meaning.simulate import enumerate_initial_states, simulate_run
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Branch, Choose, NeuralPolicy, ProgramPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.semantics import apply_move, is_initial
from surefoot.term.term import FALSE, TRUE, Const, Term, Var, array_term, conjunction_of, equal
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType

UNIT = Law("uniform", (Fraction(0), Fraction(1)))


def problem(environment: Environment, policy: NeuralPolicy | ProgramPolicy | None = None) -> Problem:
    return Problem("test", environment, policy, Never(FALSE))


def always(action: str) -> ProgramPolicy:
    """`rest` is an action of this policy too, so the environment may not take it on its own."""
    return ProgramPolicy((Branch(TRUE, action),), ("up", "rest"))


@pytest.mark.parametrize(
    ("where", "ending", "steps"),
    [
        (counter(UP_TO_TWO), "deadlocked", 2),
        (counter(UP_TO_TWO, REST), "stalled", 2),
        (counter(UP, REST), "truncated", 5),
    ],
)
def test_how_runs_end(where: Environment, ending: str, steps: int) -> None:
    run = simulate_run(problem(where, always("up")), {"n": 0}, 5, Random(0))
    assert (run.ending, len(run.moves)) == (ending, steps)
    assert [s["n"] for s in run.states] == list(range(steps + 1))


@pytest.mark.parametrize("example", [e for e in EXAMPLES if e.name != "gusts"], ids=lambda e: e.name)
def test_every_simulated_step_is_a_step(example: Example) -> None:
    (start, *_) = enumerate_initial_states(example.problem.environment, 1000)
    run = simulate_run(example.problem, start, 8, Random(3))
    for before, move, after in zip(run.states, run.moves, run.states[1:], strict=False):
        assert apply_move(example.problem, before, move) == after


def test_outcomes_are_drawn_by_their_probability() -> None:
    chances = (Const(Fraction(1, 10)), Const(Fraction(9, 10)))
    edge = Edge(
        outcomes=(Outcome(chances[0], (Update(N, Const(1)),)), Outcome(chances[1], (Update(N, Const(2)),)))
    )
    rng = Random(1)
    drawn = Counter(
        simulate_run(problem(counter(edge)), {"n": 0}, 1, rng).states[1]["n"] for _ in range(3000)
    )
    assert 220 <= drawn[1] <= 380


def test_a_sampling_policy_draws_by_softmax_and_may_stall() -> None:
    network = dense_network([([[0], [0]], [0, 0])])
    policy = NeuralPolicy(network, (N,), ("up", "rest"), Choose.SAMPLE)
    rng = Random(2)
    drawn = Counter(
        simulate_run(problem(counter(UP, REST), policy), {"n": 0}, 1, rng).states[-1]["n"] for _ in range(400)
    )
    assert 150 <= drawn[0] <= 250
    ends = Counter(
        simulate_run(problem(counter(UP_TO_TWO, REST), policy), {"n": 2}, 1, rng).ending for _ in range(400)
    )
    assert 150 <= ends["stalled"] <= 250
    assert set(ends) == {"stalled", "truncated"}


def chosen(
    kind: ValueType, law: Law | None, assuming: Term = TRUE, arithmetic: Arithmetic = Arithmetic.EXACT
) -> Problem:
    edge = Edge(
        chosen=(Choice("c", kind, law),),
        assuming=assuming,
        outcomes=(Outcome(updates=(Update(Var("v"), Var("c")),)),),
    )
    return problem(
        Environment("e", (Variable("v", kind),), TRUE, (Component("c", (edge,)),), arithmetic=arithmetic)
    )


def draws(what: Problem, count: int = 200) -> list[object]:
    rng = Random(4)
    return [simulate_run(what, {"v": None}, 1, rng).states[1]["v"] for _ in range(count)]


def test_laws_fit_their_kinds() -> None:
    assert set(draws(chosen(Int(1, 3), Law("integer", (Fraction(1), Fraction(3)))))) == {1, 2, 3}
    assert set(draws(chosen(Bool(), UNIT))) == {False, True}
    reals = draws(chosen(Real(Fraction(0), Fraction(1)), UNIT))
    assert all(isinstance(r, Fraction | int) and 0 <= r <= 1 for r in reals)
    assert len(set(reals)) > 100
    normal = Law("normal", (Fraction(0), Fraction(1)))
    assert all(-1 <= r <= 1 for r in draws(chosen(Real(Fraction(-1), Fraction(1)), normal)))  # type: ignore[operator]
    floats = draws(chosen(Real(Fraction(0), Fraction(1)), UNIT, arithmetic=Arithmetic.FLOAT64))
    assert all(isinstance(r, float) for r in floats)


def test_draws_are_repeated_until_the_assumption_holds() -> None:
    assert set(
        draws(chosen(Int(0, 9), Law("integer", (Fraction(0), Fraction(9))), equal(Var("c"), 7)), 20)
    ) == {7}


def test_what_cannot_be_simulated_is_refused_in_a_sentence() -> None:
    with pytest.raises(Unsupported, match="no sampling law"):
        draws(chosen(Int(0, 9), None), 1)
    with pytest.raises(Unsupported, match="missed its assumption"):
        draws(chosen(Int(0, 9), Law("integer", (Fraction(0), Fraction(9))), FALSE), 1)
    with pytest.raises(InvalidProblem, match="does not fit"):
        draws(chosen(Int(0, 9), Law("poisson", (Fraction(1),))), 1)
    half = Edge(outcomes=(Outcome(Const(Fraction(1, 2))),))
    with pytest.raises(InvalidProblem, match="total probability 1/2"):
        simulate_run(problem(counter(half)), {"n": 0}, 1, Random(0))


def test_the_same_seed_gives_the_same_run() -> None:
    slips = next(e for e in EXAMPLES if e.name == "slips").problem
    runs = [simulate_run(slips, {"n": 0}, 20, Random(9)) for _ in range(2)]
    assert runs[0] == runs[1]
    assert any(simulate_run(slips, {"n": 0}, 20, Random(seed)) != runs[0] for seed in range(5))


def world(initial: Term) -> Environment:
    variables = (
        Variable("n", Int(0, 3)),
        Variable("on", Bool()),
        Variable("x", Real()),
        Variable("cells", Array(Int(0, 9), 2)),
    )
    component = Component("c", (Edge("a", outcomes=(Outcome(target="b"),)),), ("a", "b", "z"), ("a", "b"))
    return Environment("world", variables, initial, (component,))


FIXED = (equal(Var("x"), Fraction(1, 3)), equal(array_term(4, 5), Var("cells")))


def test_starts_are_enumerated_where_they_are_not_fixed() -> None:
    environment = world(conjunction_of((*FIXED, N > 1)))
    starts = list(enumerate_initial_states(environment, 100))
    assert len(starts) == 2 * 2 * 2  # n, on, location
    assert all(
        is_initial(environment, s) and s["x"] == Fraction(1, 3) and s["cells"] == (4, 5) for s in starts
    )
    for literal, value in ((Var("on"), True), (~Var("on"), False)):
        only = list(enumerate_initial_states(world(conjunction_of((*FIXED, literal, equal(N, 2)))), 100))
        assert [(s["n"], s["on"], s["@c"]) for s in only] == [(2, value, 0), (2, value, 1)]


def test_starts_that_cannot_be_enumerated_are_refused() -> None:
    with pytest.raises(Unsupported, match="`x` may start with too many values"):
        list(enumerate_initial_states(world(FIXED[1]), 100))
    with pytest.raises(Unsupported, match="more than 15 candidates"):
        list(enumerate_initial_states(world(conjunction_of(FIXED)), 15))


def test_contradicting_equalities_leave_no_start() -> None:
    assert (
        list(enumerate_initial_states(world(conjunction_of((*FIXED, equal(N, 1), equal(N, 2)))), 100)) == []
    )
