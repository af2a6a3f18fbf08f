"""What the engine answers, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from tests.engines.statistical.chains import X, chance, mix, system, walk

from surefoot.engines.explicit import Explicit
from surefoot.engines.statistical import Statistical
from surefoot.engines.statistical.engine import WAYS
from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.problem_file import read_problem_file
from surefoot.problem.environment import Choice, Edge, Law, Outcome, Update
from surefoot.problem.policy import OraclePolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property_parser import parse_property
from surefoot.run import verify
from surefoot.simulate.simulator import RunSimulator
from surefoot.solvers.sampling.methods import METHODS, choose_interruptible_plan
from surefoot.term.term import TRUE, Const, Var, equal
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Estimated, Exact, PerStart, Unknown
from surefoot.work.budget import Budget

COARSE = Statistical(eps=Fraction(1, 20), delta=Fraction(1, 1000))  # hardly ever wrong


def estimate(problem: Problem, engine: Statistical = COARSE, seed: int = 0, seconds: float = 60) -> Estimated:
    assert engine.objection(problem) is None
    found = engine.check(problem, Budget(seconds, seed))
    assert isinstance(found, Estimated)
    return found


def exact(problem: Problem) -> Fraction:
    found = Explicit(exact=True).check(problem, Budget(60))
    assert isinstance(found, Exact)
    assert found.low is not None
    assert found.low == found.high
    return found.low


@pytest.mark.parametrize(
    "text",
    [
        "P=? [ F x = 4 ]",
        "P=? [ G x < 4 ]",
        "P=? [ x < 3 U x = 0 ]",
        "P=? [ F<=3 x = 4 ]",
        "P=? [ F[2, 5] x = 0 ]",
        "P=? [ G<=4 x > 0 ]",
        "P=? [ X x = 2 ]",
        "P=? [ x > 0 W x = 4 ]",
        "P=? [ x = 0 R x < 3 ]",
        "Pmax=? [ F x = 4 ]",
        "P=? [ F stalled ]",
        "P=? [ x < 3 U[1, 4] x = 2 ]",
        "P=? [ x <= 2 U[2, 6] x <= 1 ]",
        "P=? [ G[1, 3] x < 2 ]",
        "P=? [ F[3, 9] x < 2 ]",
    ],
)
def test_path_formulas_as_computed(text: str) -> None:
    problem = walk(text)
    found, value = estimate(problem), exact(problem)
    assert found.low <= value <= found.high
    assert found.high - found.low <= Fraction(1, 10)
    assert found.stop == "precise enough"
    counts = found.counts
    assert counts["succeeded"] + counts["failed"] + counts["undecided"] == counts["runs"]


RARELY = Fraction(1, 10**9)


def test_stalled_and_cut_off_runs_are_outcomes_of_their_own() -> None:
    problem = mix(Fraction(1, 2), Fraction(1, 20), Fraction(1, 4), RARELY)
    found = estimate(problem, replace(COARSE, max_steps=100))
    assert found.low <= Fraction(1, 2) <= found.high
    assert min(found.counts[name] for name in ("undecided", "stalled", "ended")) > 0
    assert found.high - found.low > Fraction(1, 10)  # a twentieth is not known
    stalls = estimate(replace(problem, property=parse_property("P=? [ F stalled ]")))
    assert stalls.low <= Fraction(1, 4) <= stalls.high


def test_it_stops_where_cut_off_runs_alone_are_too_many() -> None:
    found = estimate(mix(Fraction(1, 4), Fraction(1, 2), leaving=RARELY), replace(COARSE, max_steps=50))
    assert found.stop == "too many runs were cut off"
    assert not found.complete
    assert found.low <= Fraction(1, 4)
    assert found.high >= Fraction(3, 4)


@pytest.mark.parametrize(
    ("text", "side"),
    [("P<=0.2 [ F x = 4 ]", "below"), ("P>=0.03 [ F x = 4 ]", "above"), ("P>0.5 [ G x < 4 ]", "above")],
)
def test_thresholds(text: str, side: str) -> None:
    problem = walk(text)
    found = estimate(problem, replace(COARSE, eps=Fraction(1, 100)))
    assert found.stop == "on one side of the threshold"
    value = problem.property.threshold.value  # type: ignore[union-attr]
    assert (found.high <= value) if side == "below" else (found.low >= value)
    assert found.low <= exact(walk(text.replace(text.split()[0], "P=?"))) <= found.high


def test_a_value_at_the_threshold_is_said_to_be_near_it() -> None:
    problem = walk(f"P<={Fraction(1, 15)} [ F x = 4 ]")
    found = estimate(problem, replace(COARSE, eps=Fraction(1, 50), delta=Fraction(1, 20)), seed=3)
    assert found.low < Fraction(1, 15) < found.high
    assert found.stop == "precise enough"


def test_thresholds_of_zero_and_one_need_an_interval() -> None:
    assert estimate(walk("P>0 [ F x = 4 ]"), replace(COARSE, eps=Fraction(1, 30))).low > 0
    assert estimate(walk("P>=1 [ F x = 4 ]")).high < 1


def test_starts_one_by_one_and_together() -> None:
    every = walk("P=? [ F x = 4 ] over values", start=TRUE)
    values = [Fraction(0), Fraction(1, 15), Fraction(1, 5), Fraction(7, 15), Fraction(1)]
    table = COARSE.check(every, Budget(60))
    assert isinstance(table, PerStart)
    assert [state for state, _ in table.table] == [{"x": i} for i in range(5)]
    for (_, cell), value in zip(table.table, values, strict=True):
        assert isinstance(cell, Estimated)
        assert cell.low <= value <= cell.high
        assert cell.confidence == Fraction(999, 1000)
    family = replace(COARSE, family_wise=True).check(every, Budget(60))
    assert isinstance(family, PerStart)
    assert {v.confidence for _, v in family.table if isinstance(v, Estimated)} == {1 - Fraction(1, 5000)}
    for over, value in (
        ("max", Fraction(1)),
        ("min", Fraction(0)),
        ("avg", sum(values) / 5),
        ("sum", sum(values)),
    ):
        found = estimate(walk(f"P=? [ F x = 4 ] over {over}", start=TRUE))
        assert found.low <= value <= found.high, over
        assert found.confidence == Fraction(999, 1000)


def test_expected_steps_with_a_limit() -> None:
    problem = walk("E=? [ steps until x = 0 for 10 steps ]")
    found = estimate(problem, replace(COARSE, eps=Fraction(1, 4)))
    computed = Explicit().check(problem, Budget(60))
    assert isinstance(computed, Exact)
    assert computed.low is not None
    assert found.low <= computed.low <= found.high
    assert found.high - found.low <= Fraction(1, 2)


def test_expected_rewards_need_bounds() -> None:
    problem = walk("E=? [ steps until x = 0 or x = 4 ]")
    why = COARSE.objection(problem)
    assert why is not None
    assert "no known upper bound" in why
    with pytest.raises(Unsupported, match="no known upper bound"):
        verify(problem, COARSE, Budget(10))
    # Stated by somebody who knows that it takes no longer than 100 steps (once in a very long while it does).
    found = estimate(problem, replace(COARSE, most=Fraction(400), eps=Fraction(2)))
    assert found.low <= Fraction(12, 5) <= found.high


def test_a_run_that_was_cut_off_may_lose_what_it_has_gathered() -> None:
    """5 at first, then rarely -5 at the end: 0 in all, but cut-off runs have 5. The stated range is right."""
    gain = Outcome(updates=(Update(X, Const(2)),), rewards=(("gold", Const(5)),))
    loss = Outcome(Const(Fraction(1, 100)), (Update(X, Const(3)),), (("gold", Const(-5)),))
    wait = Outcome(Const(Fraction(99, 100)))
    edges = (
        Edge(action="go", guard=equal(X, Const(1)), outcomes=(gain,)),
        Edge(action="go", guard=equal(X, Const(2)), outcomes=(loss, wait)),
    )
    problem = system(edges, "E=? [ gold until x = 3 ]")
    engine = replace(COARSE, least=Fraction(0), most=Fraction(5), max_steps=10, eps=Fraction(1, 2))
    assert estimate(problem, engine).low == 0


def test_a_run_that_was_cut_off_beyond_the_stated_range_is_an_error() -> None:
    problem = replace(
        mix(Fraction(9, 10), Fraction(1, 10), leaving=RARELY),
        property=parse_property("E=? [ steps until x = 2 ]"),
    )
    with pytest.raises(InvalidProblem, match="not within its range"):
        replace(COARSE, most=Fraction(20), max_steps=100).check(problem, Budget(60))


def test_what_some_run_never_reaches_is_infinitely_far() -> None:
    problem = walk("E=? [ steps until x = 4 ]")
    found = replace(COARSE, most=Fraction(400)).check(problem, Budget(60))
    assert found == Exact(None, None, None)
    computed = Explicit().check(problem, Budget(60))
    assert isinstance(computed, Exact)
    assert (computed.low, computed.high) == (None, None)
    bounded = replace(COARSE, most=Fraction(400), eps=Fraction(20))
    several = bounded.check(walk("E=? [ steps until x = 4 ] over min", start=X > 0), Budget(60))
    assert isinstance(several, Unknown)  # it is 0 from 4, and infinite from 1
    assert "infinite" in several.detail
    largest = bounded.check(walk("E=? [ steps until x = 4 ] over max", start=X > 0), Budget(60))
    assert largest == Exact(None, None, None)


def test_refusals_are_sentences() -> None:
    def why(problem: Problem, engine: Statistical = COARSE) -> str:
        found = engine.objection(problem)
        assert found is not None
        return found

    assert "this property is Never" in why(walk("never x = 4"))
    assert "filter `argmax`" in why(walk("P=? [ F x = 4 ] over argmax"))
    assert "initial states only" in why(walk("P=? [ F x = 4 ] over max of x = 2"))
    assert "upper limit" in why(walk("P=? [ F>=5 x = 4 ]"))
    assert "not the maximum" in why(walk("Pmax=? [ F x = 4 ]"), replace(COARSE, uniform=True))
    free = Edge(action="go", chosen=(Choice("y", Int(0, 1)),), outcomes=())
    assert "no sampling law" in why(system((free,), "P=? [ F x = 4 ]"))


def test_open_choices_are_refused_or_equally_likely() -> None:
    up = Edge(guard=equal(X, Const(1)), outcomes=chance((Fraction(1), Const(2))))
    down = Edge(guard=equal(X, Const(1)), outcomes=chance((Fraction(1), Const(0))))
    problem = system((up, down), "P=? [ F x = 2 ]")
    with pytest.raises(Unsupported, match="several transitions"):
        COARSE.check(problem, Budget(60))
    found = estimate(problem, replace(COARSE, uniform=True))
    assert found.low <= Fraction(1, 2) <= found.high


def test_chosen_values_follow_their_law() -> None:
    y = Choice("y", Int(0, 9), Law("integer", (Fraction(0), Fraction(9))))
    throw = Edge(
        action="go",
        guard=equal(X, Const(1)),
        chosen=(y,),
        outcomes=(replace(chance((Fraction(1), X))[0], updates=(Update(X, Var("y")),)),),
    )
    found = estimate(system((throw,), "P=? [ F x >= 3 ]", top=9))
    assert found.low <= Fraction(7, 9) <= found.high  # a 1 is thrown again


def test_a_black_box_is_sampled_and_labelled() -> None:
    policy = OraclePolicy("hesitant", lambda state: "go" if state["x"] < 3 else "other", ("go", "other"))
    elsewhere = Edge(action="other", guard=equal(X, Const(0)))
    moves = walk("P=? [ F stalled ]").environment.components[0].edges
    problem = replace(system((*moves, elsewhere), "P=? [ F<=40 x = 3 and stalled ]"), policy=policy)
    found = estimate(problem)
    assert found.low <= Fraction(1, 7) <= found.high  # comes to 3 before 0
    told = verify(problem, COARSE, Budget(60)).notes
    assert any("`hesitant` is a black box" in note for note in told)


def test_a_spent_budget_and_an_interrupt_leave_a_valid_interval(monkeypatch: pytest.MonkeyPatch) -> None:
    fine = replace(COARSE, eps=Fraction(1, 100))
    late = estimate(walk("P=? [ F x = 4 ]"), fine, seconds=1e-9)
    assert (late.low, late.high, late.stop) == (0, 1, "timeout")
    made = RunSimulator.runs

    def interrupted(self: RunSimulator, seed: int, start: int | None, first: int, *rest: Any) -> Any:
        if first > 200:
            raise KeyboardInterrupt
        return made(self, seed, start, first, *rest)

    monkeypatch.setattr(RunSimulator, "runs", interrupted)
    partial = estimate(walk("P=? [ F x = 4 ]"), fine)
    assert partial.stop == "interrupted"
    assert 200 <= partial.counts["runs"] < 2000
    assert partial.low <= Fraction(1, 15) <= partial.high
    assert partial.high < 1


def test_the_portfolio_estimates_only_what_is_not_computed() -> None:
    assert isinstance(verify(walk("P=? [ F x = 4 ]"), None, Budget(60)).verdict, Exact)
    oracle = replace(walk("P=? [ F x = 4 ]"), policy=OraclePolicy("box", lambda state: "go", ("go",)))
    found = verify(oracle, None, Budget(60))
    assert isinstance(found.verdict, Estimated), found.verdict
    assert "Statistical" in found.engine


def test_without_a_policy_where_nothing_is_open() -> None:
    problem = replace(walk("Pmax=? [ F x = 4 ]"), policy=None)
    assert isinstance(COARSE.check(problem, Budget(60)), Estimated)  # there is only one thing to do anyway


def test_methods_by_name() -> None:
    assert ("auto", *METHODS, "sprt") == WAYS
    for method in METHODS:
        found = estimate(walk("P=? [ F x = 4 ]"), replace(COARSE, method=method))
        assert found.low <= Fraction(1, 15) <= found.high
        assert found.high - found.low <= Fraction(1, 10)
    with pytest.raises(InvalidProblem, match="needs a threshold"):
        estimate(walk("P=? [ F x = 4 ]"), replace(COARSE, method="sprt"))
    with pytest.raises(InvalidProblem, match="did you mean `chen`"):
        estimate(walk("P=? [ F x = 4 ]"), replace(COARSE, method="chem"))


def test_undefined_values_are_no_answer() -> None:
    edge = Edge(action="go", guard=equal(X, Const(1)), outcomes=chance((Fraction(1), X + 9)))
    assert isinstance(COARSE.check(system((edge,), "P=? [ F x = 4 ]"), Budget(60)), Unknown)


def test_a_rule_whose_proof_takes_too_long_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    from surefoot.engines.statistical import answer

    chosen = []

    def choose(method: str, eps: Fraction, delta: Fraction, **more: object) -> object:
        chosen.append(method)
        if method != "mixture":
            sleep(30)
        return choose_interruptible_plan(method, eps, delta)

    monkeypatch.setattr(answer, "choose_interruptible_plan", choose)
    problem = walk("Pmax=? [ F x = 4 ]", equal(X, 2), Fraction(1, 2))
    found = Statistical(eps=Fraction(1, 20), workers=1).check(problem, Budget(10))
    assert isinstance(found, Estimated)
    assert chosen == ["clopper-pearson", "mixture"]
    assert found.low <= Fraction(1, 2) <= found.high


@pytest.mark.parametrize("reward", ["2", "n + 1"])
def test_rewards_that_are_not_rounded_have_limits_in_doubles(tmp_path: Path, reward: str) -> None:
    model = tmp_path / "doubles.toml"
    model.write_text(f"""
arithmetic = "float64"
initial = "x = 0 and n = 0"
[variables]
x = "real"
n = "int 0..1"
[[edges]]
action = "go"
updates = {{ x = "x + 0.25", n = "1 - n" }}
rewards = {{ gold = "{reward}" }}
[policy.program]
branches = [{{ action = "go" }}]
[properties]
bounded = "P=? [ F{{gold}}<=6 x >= 0.7 ]"
earned = "E=? [ gold for 4 steps ]"
""")
    for name, value in (("bounded", 1), ("earned", 8 if reward == "2" else 6)):
        problem = read_problem_file(model, property=name)
        found = Statistical(eps=Fraction(1, 10), workers=1).check(problem, Budget(30))
        assert isinstance(found, Estimated)
        assert found.low <= value <= found.high
