"""Bounds of probabilities from an abstraction: they contain the exact value, and are what the game says."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from benchmarks.predicate_bounds import automata, compared, process
from tests.solvers.markov.random_processes import Rows
from tests.solvers.markov.written import WHERE, one_of, problem

from surefoot.certify.evidence import certify_verdict
from surefoot.engines.predicates import Predicates
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.network import dense_network
from surefoot.problem.policy import Choose, NeuralPolicy, ShieldedPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Bound, Filter, Never, Optimise, Path, Probability
from surefoot.run import verify
from surefoot.term.term import TRUE, Const, Var, equal
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Exact, PerStart, Unknown
from surefoot.work.budget import Budget

GOAL, LOST = 2, 3


@pytest.mark.parametrize("seed", range(1000, 1010))
def test_no_exact_value_is_outside(seed: int) -> None:
    for case in (process(seed), automata(seed)):
        assert "OUTSIDE" not in {word for _, _, word in compared(case)}


@pytest.mark.parametrize("seed", range(2000, 2006))
def test_bounds_are_certified(seed: int) -> None:
    """But where no policy says what is done and the property does not say who decides."""
    for _, found, given in (process(seed), automata(seed)):
        asked = found.property
        assert isinstance(asked, Probability)
        decided = found.policy is not None or asked.optimise is not None
        case = found if decided else replace(found, property=replace(asked, optimise="min"))
        for engine in (Predicates(given, fixed=True, bounds=True), Predicates(given, bounds=True)):
            result = verify(case, engine, Budget(60))
            assert result.certified or isinstance(result.verdict, Unknown)
            assert "checker" not in str(getattr(result.verdict, "detail", ""))


def test_a_bound_that_says_too_much_is_rejected() -> None:
    problem = tossing([1.0, 0.0])
    found = Predicates(bounds=True).check(problem, Budget(60))
    assert isinstance(found, Exact)
    for better in (replace(found, low=Fraction(51, 100)), replace(found, high=Fraction(49, 100))):
        shown = certify_verdict(problem, better, "predicates", {}, {}, Budget(60))
        assert isinstance(shown.verdict, Unknown)
        assert "rejects" in shown.verdict.detail
    assert found.certificate is not None
    (least, greatest) = found.certificate.content["values"]
    for entry, side in ((least, "low"), (greatest, "high")):
        entry["numbers"] = ["0x1" if side == "low" else "0x0" for _ in entry["numbers"]]
    assert isinstance(certify_verdict(problem, found, "predicates", {}, {}, Budget(60)).verdict, Unknown)


def mixed(*choices: tuple[int, ...]) -> Rows:
    """States 0 and 1 with choices that reach the goal with so many tenths, the goal, and a dead end."""
    rows: Rows = [[[(Fraction(n, 10), GOAL, 0), (Fraction(10 - n, 10), LOST, 0)] for n in c] for c in choices]
    return [*rows, [], []]


def bounds(rows: Rows, optimise: Optimise | None, *, over: Filter = "max", fixed: bool = True) -> Exact:
    path = Path("F", one_of([False, False, True, False]))
    asked = problem(rows, Probability(path, None, optimise, over), [True, True, False, False])
    given = (LOST > WHERE,) if fixed else ()
    verdict = Predicates(given, fixed=fixed, bounds=True).check(asked, Budget(60))
    assert isinstance(verdict, Exact)
    return verdict


def near(verdict: Exact, low: str, high: str) -> bool:
    """The ends, but for what the solver leaves open."""
    assert verdict.low is not None
    assert verdict.high is not None
    wanted = Fraction(low), Fraction(high)
    slack = Fraction(1, 10**5)
    return 0 <= wanted[0] - verdict.low < slack and 0 <= verdict.high - wanted[1] < slack


def test_states_that_are_taken_together() -> None:
    """One may reach the goal with 0.2 or 0.8, the other with 0.3 or 0.5; they are one abstract state."""
    rows = mixed((2, 8), (3, 5))
    assert near(bounds(rows, "max"), "1/2", "4/5")
    assert near(bounds(rows, "min"), "1/5", "3/10")
    assert near(bounds(rows, None), "1/5", "4/5")


def test_refinement_tells_them_apart() -> None:
    rows = mixed((2, 8), (3, 5))
    assert near(bounds(rows, "max", fixed=False), "4/5", "4/5")
    assert near(bounds(rows, "max", over="min", fixed=False), "1/2", "1/2")
    assert near(bounds(rows, "min", fixed=False), "3/10", "3/10")
    assert near(bounds(rows, "min", over="avg", fixed=False), "1/4", "1/4")


def test_every_start_has_an_interval() -> None:
    path = Path("F", one_of([False, False, True, False]))
    asked = problem(mixed((2,), (5,)), Probability(path, None, "max", "values"), [True, True, False, False])
    verdict = Predicates((equal(WHERE, 0), LOST > WHERE), fixed=True, bounds=True).check(asked, Budget(60))
    assert isinstance(verdict, PerStart)
    assert certify_verdict(asked, verdict, "predicates", {}, {}, Budget(60)).certified
    assert [near(v, share, share) for (_, v), share in zip(verdict.table, ("1/5", "1/2"), strict=True)
            if isinstance(v, Exact)] == [True, True]  # fmt: skip


def tossing(outputs: list[float]) -> Problem:
    """A step that the policy takes, or another action, for which there is no step."""
    x = Var("x")
    half = Const(Fraction(1, 2))
    tossed = Edge("here", "toss", equal(x, 0), outcomes=(
        Outcome(half, (Update(x, Const(1)),)), Outcome(half, (Update(x, Const(2)),))))  # fmt: skip
    never = Edge("here", "rest", equal(x, 1))
    world = Environment(
        "toss",
        (Variable("x", Int(0, 2)),),
        equal(x, 0),
        (Component("c", (tossed, never), ("here",), ("here",)),),
    )
    policy = NeuralPolicy(dense_network([([[0.0], [0.0]], outputs)]), (x,), ("toss", "rest"))
    return Problem("toss", world, policy, Probability(Path("F", equal(x, 1))))


def test_where_rounding_decides_both_may_happen() -> None:
    for outputs, low in (([1.0, 0.0], "1/2"), ([1.0, 1.0], "0")):
        verdict = Predicates(bounds=True).check(tossing(outputs), Budget(60))
        assert isinstance(verdict, Exact)
        assert near(verdict, low, "1/2")


def test_a_run_that_leaves_a_range_is_no_answer() -> None:
    problem = tossing([1.0, 0.0])
    (component,) = problem.environment.components
    astray = Outcome(Const(1), (Update(Var("x"), Var("x") + 3),))
    broken = replace(component, edges=(replace(component.edges[0], outcomes=(astray,)), *component.edges[1:]))
    world = replace(problem.environment, components=(broken,))
    assert isinstance(Predicates(bounds=True).check(replace(problem, environment=world), Budget(60)), Unknown)


def test_objections() -> None:
    problem, engine = tossing([1.0, 0.0]), Predicates(bounds=True)
    x = Var("x")
    assert engine.objection(problem) is None
    assert "--bounds" in str(Predicates().objection(problem))
    assert "--means cells" in str(Predicates(bounds=True, means="cells").objection(problem))
    for path in (Path("X", equal(x, 1)), Path("F", equal(x, 1), bounds=(Bound(None, Const(3)),))):
        assert "any length" in str(engine.objection(replace(problem, property=Probability(path))))
    stalled = replace(problem, property=Probability(Path("F", Var("stalled"))))
    assert "variables and locations" in str(engine.objection(stalled))
    assert isinstance(problem.policy, NeuralPolicy)
    drawing = replace(problem.policy, choose=Choose.SAMPLE)
    for policy in (drawing, ShieldedPolicy(drawing, TRUE, problem.policy)):
        assert "do not draw" in str(engine.objection(replace(problem, policy=policy)))
    assert "`z`" in str(replace(engine, predicates=(Var("z") <= 3,)).objection(problem))
    assert engine.objection(replace(problem, property=Never(equal(x, 3)))) is None
