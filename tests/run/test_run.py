"""The pipeline: vacuity, overflow, interruption, memory, versions and notes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import pytest
from tests.certify.test_replay import counter

from surefoot.engines.bmc import Bmc
from surefoot.engines.selection import applicable_engines, choose_engine
from surefoot.errors import Unsupported
from surefoot.problem.environment import Component, Control, Environment, Variable
from surefoot.problem.network import Shape, dense_network
from surefoot.problem.policy import Choose, NeuralPolicy
from surefoot.problem.problem import Problem
from surefoot.problem.property import Bound, Never, Path, Probability, Property, Within
from surefoot.run import (
    build_portfolio,
    constant_truth,
    unanswered_result,
    verify,
)
from surefoot.solvers.native import Native
from surefoot.term.term import FALSE, TRUE, Const, Term, Var
from surefoot.term.value_types import Real
from surefoot.verdict.exit_code import exit_code
from surefoot.verdict.verdict import Holds, Proved, Reason, Trace, Unknown, Vacuous, Verdict, Violated
from surefoot.work.budget import Budget

X = Var("x")


def single(weight: float, asked: Property, kind: Real | None = None) -> Problem:
    kind = kind or Real(Fraction(0), Fraction(1))
    environment = Environment("single", (Variable("x", kind),), TRUE, (Component("w", ()),), (Control("u"),))
    policy = NeuralPolicy(dense_network([([[weight]], [0.0]), ([[1.0]], [0.0])]), (X,), choose=Choose.VALUE)
    return Problem("single", environment, policy, asked)


@pytest.mark.parametrize(
    ("asked", "vacuous"),
    [
        (Never(FALSE), True),
        (Never(X < X), True),
        (Never((X < X) | (FALSE & (X > 2))), True),
        (Within(TRUE, 2), True),
        (Within(X <= X, 2), True),
        (Never(X > 7, steps=1), False),
    ],
)
def test_a_property_that_decides_itself_is_vacuous(asked: Property, vacuous: bool) -> None:
    assert isinstance(verify(counter(asked), Bmc(), Budget(30)).verdict, Vacuous) is vacuous


def test_never_true_is_violated_at_once() -> None:
    verdict = verify(counter(Never(TRUE)), Bmc(), Budget(30)).verdict
    assert isinstance(verdict, Violated)
    assert verdict.trace.moves == ()


@pytest.mark.parametrize(
    ("condition", "value"),
    [(TRUE, True), (~(X < X), True), ((X < X) & (X > 1), False), ((X <= X) | (X > 1), True), (X > 1, None)],
)
def test_settled(condition: Term, value: bool | None) -> None:
    assert constant_truth(condition, counter(Never(TRUE)).environment) is value


def test_a_kind_without_float32_numbers_is_vacuous() -> None:
    tenth = Fraction(1, 10)
    verdict = verify(
        single(1.0, Never(X > 1, 0), Real(tenth, tenth, float32=True)), Bmc(), Budget(30)
    ).verdict
    assert isinstance(verdict, Vacuous)


@pytest.mark.parametrize(("weight", "largest"), [(3e38, 2), (2e38, 3), (1e38, 10**6)])
def test_a_network_that_may_overflow_is_unknown(weight: float, largest: int) -> None:
    problem = single(weight, Never(Var("u") < -1, 0), Real(Fraction(0), Fraction(largest)))
    verdict = verify(problem, Bmc(), Budget(30)).verdict
    assert isinstance(verdict, Unknown)
    assert verdict.reason is Reason.OVERFLOW


@dataclass(frozen=True)
class Faulty:
    """An engine that fails or lies as told."""

    name: ClassVar[str] = "faulty"

    outcome: Verdict | type[BaseException]

    def objection(self, problem: Problem) -> str | None:
        return None

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        if isinstance(self.outcome, type):
            raise self.outcome
        return self.outcome


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (MemoryError, Reason.MEMORY),
        (KeyboardInterrupt, Reason.INTERRUPTED),
        (Violated(Trace(({"x": 0},), ())), Reason.SPURIOUS),
        (Violated(Trace((), ())), Reason.SPURIOUS),
    ],
)
def test_what_did_not_work_is_no_answer(outcome: object, reason: Reason) -> None:
    result = verify(counter(), Faulty(outcome), Budget(5))  # type: ignore[arg-type]
    assert isinstance(result.verdict, Unknown)
    assert result.verdict.reason is reason
    assert not result.certified


def test_objections_are_errors() -> None:
    asked = Probability(Path("W", X > 1, X > 0, (Bound(low=Const(1)),)))  # from when on is not agreed
    with pytest.raises(Unsupported, match="explicit does not cover bounds on steps"):
        verify(counter(asked))
    with pytest.raises(Unsupported, match="Probability"):
        verify(counter(asked), Bmc())


def test_a_result_says_what_it_rests_on() -> None:
    result = verify(counter(), Bmc(), Budget(30, seed=5))
    assert (result.certified, result.seed) == (True, 5)
    assert result.arithmetic == "network float32, environment exact"
    assert {"python", "surefoot", "highspy"} <= set(result.versions)
    assert any("ties: the lowest output" in note for note in result.notes)


def test_a_smooth_network_is_decided_without_naming_a_solver() -> None:
    problem = single(1.0, Never(Var("output[0]") > 2, steps=0))
    assert isinstance(problem.policy, NeuralPolicy)
    smooth = dense_network([([[1.0]], [0.0]), ([[1.0]], [0.0])], Shape.TANH)
    result = verify(replace(problem, policy=replace(problem.policy, network=smooth)), budget=Budget(30))
    assert isinstance(result.verdict, Proved)
    assert result.certified


def test_native_is_asked_first_where_a_network_is_asked_and_nothing_is_whole() -> None:
    wide = single(1.0, Never(Var("output[0]") > 2))
    network = dense_network([([[1.0] * 8], [0.0]), ([[1.0]], [0.0])])
    wide = replace(wide, policy=NeuralPolicy(network, (X,) * 8, choose=Choose.VALUE))
    for problem, first in ((wide, "native"), (single(1.0, wide.property), "native"), (counter(), "milp")):
        engines = [e for e in applicable_engines(problem, build_portfolio()) if hasattr(e, "solver")]
        assert [e.name for e in engines] == ["bmc", "induction"]
        assert all(getattr(e, "solver", None).name == first for e in engines)  # type: ignore[union-attr]
    assert choose_engine(counter(), [Bmc(Native()), Bmc()]) == Bmc(Native())  # in the order given


@pytest.mark.parametrize(
    ("held", "code"),
    [
        (Holds(2, "milp", as_asked=True), 0),
        (Holds(2, "milp", as_asked=False), 3),
        (Holds(None, "milp", as_asked=True), 3),
    ],
)
def test_the_exit_code_of_what_rests_on_the_word_of_a_solver(held: Holds, code: int) -> None:
    assert exit_code(unanswered_result(counter(), held, Budget(), {}, {})) == code


def test_an_interrupt_while_a_certificate_is_checked_tells_what_was_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("surefoot.run.certify_verdict", interrupted)
    result = verify(counter(), Bmc(), Budget(30))
    assert isinstance(result.verdict, Unknown)
    assert result.verdict.reason is Reason.INTERRUPTED
    assert "was found and not checked yet" in result.verdict.detail
    assert not result.certified
