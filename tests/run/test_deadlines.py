"""The budget covers everything: preparation, objections, search, evidence. What is known by then is said."""

from __future__ import annotations

import signal
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from time import monotonic
from typing import ClassVar, NoReturn

import pytest
from tests.certify.test_replay import counter

from surefoot.certify import evidence
from surefoot.certify.checker_process import NOT_IN_TIME, CheckerAnswer
from surefoot.cli import run_command_line
from surefoot.cli.commands import check as check_command
from surefoot.cli.output import write_certificate
from surefoot.engines import bounded_check, portfolio, selection
from surefoot.engines.bmc import Bmc
from surefoot.engines.explicit import Explicit
from surefoot.engines.induction import Induction
from surefoot.problem.environment import Component, Edge, Environment, Outcome, Update, Variable
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Probability
from surefoot.problem.property import Path as Run
from surefoot.run import verify
from surefoot.shields.certified_shield import make_certified_shield
from surefoot.term.term import Const, Term, Var, equal
from surefoot.term.value_types import Int
from surefoot.verdict.exit_code import exit_code
from surefoot.verdict.verdict import Exact, Holds, Reason, Unknown, Verdict, Violated
from surefoot.work import budget as budget_module
from surefoot.work import deadline as alarm_module
from surefoot.work.budget import Budget
from surefoot_studies.control.problem import stays_safe

X = Var("x")
LONG = 200.0  # seconds, which nobody has to wait for: see `go_on`; less than a test may take
PASSED = [0.0]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Budgets and alarms read a clock that the tests can put forward."""
    PASSED[0] = 0.0
    for module in (alarm_module, budget_module):
        monkeypatch.setattr(module, "monotonic", lambda: monotonic() + PASSED[0])


def go_on(*_: object, **__: object) -> NoReturn:
    """Work that never looks at the clock, while all the time passes."""
    PASSED[0] = 1.1 * LONG
    signal.setitimer(signal.ITIMER_REAL, 0.01, 1.0)
    ends = monotonic() + 30
    while monotonic() < ends:
        pass
    raise AssertionError("nobody ended it")


@dataclass(frozen=True, slots=True)
class Endless:
    name: ClassVar[str] = "endless"
    objects: bool = False

    def objection(self, problem: Problem) -> str | None:
        return go_on() if self.objects else None

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        go_on()


@dataclass(frozen=True, slots=True)
class Wordy(Endless):
    name: ClassVar[str] = "wordy"

    def objection(self, problem: Problem) -> str | None:
        ends = monotonic() + 30
        while monotonic() < ends:
            pass
        return None


def test_an_engine_that_does_not_look_at_the_clock_is_ended() -> None:
    result = verify(counter(Never(X > 5)), Endless(), Budget(LONG))
    assert isinstance(result.verdict, Unknown)
    assert result.verdict.reason is Reason.TIMEOUT


def test_other_engines_have_answered_before_one_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio, "FIRST_TURN", 60.0)
    found = verify(counter(Never(X > 5)), [Bmc(depth=2), Endless()], Budget(LONG)).verdict
    assert isinstance(found, Holds)
    assert found.up_to == 2


def test_an_objection_that_does_not_end_is_no_answer() -> None:
    """The bounded engines encode a step to find out whether they can: 40 s with 88 edges."""
    alone = verify(counter(Never(X > 5)), Endless(objects=True), Budget(LONG)).verdict
    assert isinstance(alone, Unknown)
    assert alone.reason is Reason.TIMEOUT
    assert "whether it can take the problem" in alone.detail


def test_whoever_does_not_say_in_time_whether_it_objects_is_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(selection, "LEAST_OBJECTION_SECONDS", 0.05)
    monkeypatch.setattr(selection, "OBJECTION_SHARE", 0.0)
    able = selection.applicable_engines(counter(Never(X > 5)), [Wordy(), Endless()], budget=Budget(LONG))
    assert able == (Endless(),)


@dataclass(frozen=True, slots=True)
class WithSolver(Wordy):
    solver: str = "a"


def test_an_engine_with_several_solvers_has_its_time_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same step is encoded for each of them."""
    monkeypatch.setattr(selection, "LEAST_OBJECTION_SECONDS", 0.5)
    monkeypatch.setattr(selection, "OBJECTION_SHARE", 0.0)
    taken: list[float] = []
    engines = [WithSolver(solver="a"), WithSolver(solver="b"), Endless()]
    problem, budget = counter(Never(X > 5)), Budget(LONG)
    able = selection.applicable_engines(
        problem, engines, in_order=True, budget=budget, meanwhile=lambda s: taken.append(s) or False
    )
    assert able == (Endless(),)
    assert len(taken) == 3
    assert taken[0] > 0.4 > taken[1]


def test_who_else_can_take_it_is_not_asked_after_the_answer() -> None:
    engines = [Endless(), Bmc(depth=2)]
    able = selection.applicable_engines(
        counter(Never(X > 5)), engines, in_order=True, budget=Budget(LONG), meanwhile=lambda _: True
    )
    assert able == (Endless(),)


@pytest.mark.parametrize("engine", [Bmc(), Induction()])
def test_bounds_that_were_shown_are_kept(monkeypatch: pytest.MonkeyPatch, engine: Bmc | Induction) -> None:
    unroll = bounded_check.unroll
    monkeypatch.setattr(bounded_check, "unroll", lambda p, k: go_on() if k == 2 else unroll(p, k))
    found = verify(counter(Never(X >= 4)), engine, Budget(LONG)).verdict
    assert isinstance(found, Unknown)
    assert found.reason is Reason.TIMEOUT
    assert found.holds_up_to == 1


def test_a_violation_that_cannot_be_replayed_in_time_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "replay", go_on)
    found = verify(counter(Never(X > 1)), Bmc(), Budget(LONG)).verdict
    assert isinstance(found, Unknown)
    assert found.reason is Reason.TIMEOUT
    assert "could not be replayed" in found.detail


def walk(size: int) -> Problem:
    """A walk that begins again now and then: every value leans on every other."""
    return chance(size, "P", Fraction(1, 100))


def chance(size: int, name: str, back: Fraction) -> Problem:
    def to(value: Term, share: Fraction) -> Outcome:
        return Outcome(Const(share), (Update(X, value),))

    edge = Edge(guard=size > X, outcomes=(to(X + 1, 1 - 2 * back), to(Const(0), back), to(Const(-1), back)))
    edge = replace(edge, guard=(size > X) & (X >= 0))
    environment = Environment(
        name, (Variable("x", Int(-1, size)),), equal(X, Const(0)), (Component("w", (edge,)),)
    )
    return Problem(name, environment, None, Probability(Run("F", equal(X, Const(size))), None, "max"))


def test_the_checker_has_the_time_that_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It had ten seconds and four times the search beyond it."""
    given: list[float] = []

    def slow(content: object, budget: Budget) -> CheckerAnswer:
        given.append(budget.remaining())
        return CheckerAnswer(False, NOT_IN_TIME)

    monkeypatch.setattr(evidence, "ask_checker", slow)
    result = verify(walk(20), Explicit(), Budget(LONG))
    assert isinstance(result.verdict, Exact)
    assert result.verdict.certificate is None
    assert not result.certified
    assert any("could not be checked in time" in note for note in result.notes)
    assert given
    assert max(given) < LONG
    monkeypatch.undo()
    path = tmp_path / "late.json"
    write_certificate(result, str(path), quiet=False)
    assert "surefoot certify" in capsys.readouterr().err
    assert run_command_line(["certify", str(path)]) == 0


class Counted(Budget):
    """A clock that moves by one second whenever somebody looks at it."""

    __slots__ = ("looks",)

    def elapsed_seconds(self) -> float:
        object.__setattr__(self, "looks", getattr(self, "looks", 0) + 1)
        return float(self.looks)

    def part(self, share: float) -> Budget:
        made = Counted(self.elapsed_seconds() + share * self.remaining())
        object.__setattr__(made, "looks", self.looks)
        return made


def test_bounds_at_the_end_of_the_time_contain_the_value() -> None:
    """They were thrown away: `unknown`."""
    problem = chance(40, "walk", Fraction(1, 50))
    exact = verify(problem, Explicit(exact=True), Budget(60)).verdict
    assert isinstance(exact, Exact)
    assert exact.low is not None
    told = 0
    for looks in (12, 20, 30, 50, 80, 200, 400):
        found = Explicit(tier="interpreter").check(problem, Counted(float(looks)))
        if isinstance(found, Unknown):
            assert found.reason is Reason.TIMEOUT
            continue
        assert isinstance(found, Exact)
        assert found.low is not None
        assert found.high is not None
        assert found.low <= exact.low <= found.high
        if found.stop:
            told += 1
            assert found.certificate is None
            assert found.stop == "timeout"
    assert told


def test_an_interval_that_was_cut_short_is_no_full_answer() -> None:
    result = verify(walk(5), Explicit(), Budget(60))
    assert exit_code(result) == 0
    cut = replace(result, verdict=Exact(Fraction(1, 4), Fraction(1, 2), None, "timeout"))
    assert exit_code(cut) == 3


def test_starts_beyond_the_end_of_the_exploration_are_not_forgotten() -> None:
    """The greatest value over all states was taken over those that were seen: 0.8 instead of 1."""
    asked = walk(30)
    assert isinstance(asked.property, Probability)
    every = replace(asked, property=replace(asked.property, starts=X >= 0, over="max"))
    whole = verify(every, Explicit(), Budget(60)).verdict
    assert isinstance(whole, Exact)
    assert whole.high == 1
    part = verify(every, Explicit(max_states=8), Budget(60)).verdict
    assert isinstance(part, Unknown)
    assert "starts beyond" in part.detail


def test_a_shield_whose_certificate_is_not_checked_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evidence, "ask_checker", go_on)
    made = make_certified_shield(stays_safe("duffing"), (2,), Budget(LONG))
    assert not made.accepted
    assert "in time" in made.reason


def test_a_model_that_is_not_read_in_time(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = tmp_path / "model.toml"
    model.write_text("")
    monkeypatch.setattr(check_command, "load_named_model", go_on)
    assert run_command_line(["check", str(model), "--timeout", str(LONG)]) == 3
    assert "unknown (timeout)" in capsys.readouterr().out


def test_violations_are_still_found_with_little_time() -> None:
    assert isinstance(verify(counter(Never(X > 1)), Bmc(), Budget(20.0)).verdict, Violated)
