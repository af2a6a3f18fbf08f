"""Engines in turns: who is asked how long, whose answer counts, and what is kept when nobody has one."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from time import monotonic
from typing import ClassVar

import pytest
from tests.certify.test_replay import counter
from tests.engines.graphs import among, graph

from surefoot.engines import portfolio
from surefoot.engines.bmc import Bmc
from surefoot.engines.induction import Induction
from surefoot.engines.portfolio import Meanwhile, look_first, take_turns
from surefoot.errors import SolverFailure, Unsupported
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never, Recurs
from surefoot.run import verify
from surefoot.verdict.verdict import (
    Estimated,
    Holds,
    Proved,
    Reason,
    Trace,
    Unknown,
    Vacuous,
    Verdict,
    Violated,
)
from surefoot.work.budget import Budget

LATE = Unknown(Reason.TIMEOUT, "late")
SHOWN = Holds(None, "solver", as_asked=True)


@dataclass(frozen=True)
class Telling:
    """An engine that says one thing after the other and notes how long it was given."""

    name: str  # type: ignore[misc]
    says: tuple[Verdict | type[BaseException], ...]
    given: list[float] = field(default_factory=list, compare=False)

    def objection(self, problem: Problem) -> str | None:
        return None

    def check(self, problem: Problem, budget: Budget) -> Verdict:
        self.given.append(budget.seconds)
        told = self.says[min(len(self.given), len(self.says)) - 1]
        if isinstance(told, type):
            raise told("so")
        return told


def test_one_engine_has_all_the_time() -> None:
    alone = Telling("alone", (LATE,))
    assert take_turns((alone,), counter(), Budget(60)).verdict == LATE
    assert alone.given == [60]


def test_turns_double_until_somebody_knows() -> None:
    first, second = Telling("first", (LATE,)), Telling("second", (LATE, LATE, SHOWN))
    answered = take_turns((first, second), counter(), Budget(60))
    assert answered.verdict == SHOWN
    assert answered.engines == (second,)
    assert first.given == second.given == [1, 2, 4]


@dataclass(frozen=True)
class Suited(Telling):
    def suits(self, problem: Problem) -> bool:
        return True


def test_an_engine_that_suits_the_problem_has_longer_turns_after_its_first() -> None:
    first, suited = Telling("first", (LATE,)), Suited("suited", (LATE, SHOWN))
    assert take_turns((first, suited), counter(), Budget(600)).verdict == SHOWN
    assert (first.given, suited.given) == ([1, 2], [1, 10])


def test_a_longer_turn_is_half_of_the_time_at_most() -> None:
    first, suited = Telling("first", (LATE,)), Suited("suited", (LATE, LATE, SHOWN))
    assert take_turns((first, suited), counter(), Budget(8)).verdict == SHOWN
    assert suited.given[:2] == pytest.approx([1, 4], abs=0.1)
    assert first.given[:2] == [1, 2]


def test_who_cannot_know_more_is_not_asked_again() -> None:
    stuck, other = Telling("stuck", (Unknown(Reason.INCOMPLETE, "no"),)), Telling("other", (LATE, SHOWN))
    assert take_turns((stuck, other), counter(), Budget(60)).verdict == SHOWN
    assert stuck.given == [1]
    assert other.given[1] > 50  # alone now


@pytest.mark.parametrize("failure", [MemoryError, Unsupported, SolverFailure])
def test_a_failing_engine_leaves_the_question_to_the_others(failure: type[BaseException]) -> None:
    broken, other = Telling("broken", (failure,)), Telling("other", (SHOWN,))
    assert take_turns((broken, other), counter(), Budget(60)).verdict == SHOWN


def test_what_is_known_is_kept() -> None:
    far = Unknown(Reason.TIMEOUT, "late", 7, "milp")
    near = Unknown(Reason.INCOMPLETE, "no", 3, "z3")
    engines = (Telling("far", (far, LATE)), Telling("near", (near,)))
    answered = take_turns(engines, counter(), Budget(0.2))
    assert isinstance(answered.verdict, Unknown)
    assert (answered.verdict.reason, answered.verdict.holds_up_to) == (Reason.TIMEOUT, 7)
    assert (answered.verdict.uncertified_by, answered.engines) == ("milp", engines)


@dataclass(frozen=True)
class Quick(Telling):
    def is_quick(self, problem: Problem) -> bool:
        return True


@dataclass(frozen=True)
class Looker(Telling):
    refutes_only: ClassVar[bool] = True

    def begin(self, problem: Problem, seed: int) -> Looker:
        return self

    def look_first(self, problem: Problem, budget: Budget) -> Verdict:
        return self.check(problem, budget)


@dataclass(frozen=True)
class GoingOn(Telling):
    """An engine whose turns are those of one piece of work."""

    begun: list[int] = field(default_factory=list, compare=False)

    def begin(self, problem: Problem, seed: int) -> GoingOn:
        self.begun.append(seed)
        return self


def test_who_can_goes_on_where_it_stopped() -> None:
    other, resumed = Telling("other", (LATE,)), GoingOn("resumed", (LATE, LATE, SHOWN))
    assert take_turns((other, resumed), counter(), Budget(60, 3)).verdict == SHOWN
    assert (resumed.begun, resumed.given) == ([3], [1, 2, 4])


def test_who_is_quick_is_asked_first() -> None:
    first, looker, quick = Telling("first", (LATE,)), Looker("looker", (LATE,)), Quick("quick", (SHOWN,))
    answered = take_turns((looker, first, quick), counter(), Budget(60))
    assert answered.engines == (quick,)
    assert first.given == looker.given == []


def test_who_looks_has_a_short_turn_before_each_of_the_others() -> None:
    first, second = Telling("first", (LATE,)), Telling("second", (LATE, LATE, SHOWN))
    looker = Looker("looker", (LATE,))
    assert take_turns((looker, first, second), counter(), Budget(60)).verdict == SHOWN
    assert looker.given == [0.25, 0.25, 0.5, 0.5, 1, 1]
    assert first.given == [1, 2, 4]


def test_who_looks_has_a_longer_turn_before_a_longer_one() -> None:
    """A violation of the kind that is met in seconds does not wait for a long proof attempt."""
    looker, suited = Looker("looker", (LATE,)), Suited("suited", (LATE, LATE, SHOWN))
    assert take_turns((looker, suited), counter(), Budget(600)).verdict == SHOWN
    assert suited.given == [1, 10, 20]
    assert looker.given == [0.25, 2.5, 5]


def test_who_looks_has_its_part_of_turns_that_last_too_long() -> None:
    first, looker = Telling("first", (LATE, SHOWN)), Looker("looker", (LATE,))
    late = Budget(600, started=monotonic() - 40)  # to know who can take the problem took so long, say
    assert take_turns((looker, first), counter(), late).verdict == SHOWN
    assert looker.given == pytest.approx([10, 10], abs=0.5)
    assert first.given == [1, 2]


def test_who_looks_does_not_look_for_ever_alone() -> None:
    stuck, looker = Telling("stuck", (Unknown(Reason.INCOMPLETE, "no"),)), Looker("looker", (LATE,))
    answered = take_turns((looker, stuck), counter(), Budget())
    assert isinstance(answered.verdict, Unknown)
    assert answered.verdict.reason is Reason.INCOMPLETE
    assert looker.given == [0.25, portfolio.LAST_LOOK]


def test_a_look_comes_before_objections() -> None:
    looker = Looker("looker", (Violated(Trace(({},), ())),))
    seen, begun = look_first((Telling("first", (SHOWN,)), looker), counter(), Budget(60))
    assert seen is not None
    assert seen.engines == (looker,)
    assert list(begun) == ["looker"]


def test_who_looks_goes_on_meanwhile() -> None:
    """To find out who can take a problem may take most of the time."""
    looker = Looker("looker", (LATE, LATE, SHOWN, Violated(Trace(({},), ()))))
    _, begun = look_first((looker,), counter(), Budget(60))
    meanwhile = Meanwhile((Telling("first", (SHOWN,)), looker), counter(), Budget(60), begun)
    assert not meanwhile.look_on(0.3)  # too short for a look
    assert not meanwhile.look_on(0.7)
    assert not meanwhile.look_on(4)
    assert looker.given[1:] == [0.5, 2]
    assert meanwhile.look_on(6)
    assert meanwhile.look_on(0)
    assert meanwhile.answer is not None
    assert meanwhile.answer.engines == (looker,)
    assert len(looker.given) == 4


def test_what_a_look_found_is_told_where_no_turn_was_left() -> None:
    first, looker = Telling("first", (SHOWN,)), Looker("looker", (LATE,))
    _, begun = look_first((looker,), counter(), Budget(60))
    answered = take_turns((looker, first), counter(), Budget(0), begun)
    assert isinstance(answered.verdict, Unknown)
    assert answered.verdict.detail == "looker: late"


@dataclass(frozen=True)
class Resort(Telling):
    last_resort: bool = True


ESTIMATE = Estimated(Fraction(0), Fraction(1, 10), Fraction(19, 20), {})


@pytest.mark.parametrize(
    "failure", [LATE, Unknown(Reason.INCOMPLETE, "no"), Unsupported, SolverFailure, MemoryError]
)
def test_an_estimate_is_the_last_resort(failure: Verdict | type[BaseException]) -> None:
    first, second = Telling("computing", (failure,)), Resort("estimating", (ESTIMATE,))
    answered = take_turns((second, first), counter(), Budget(60))
    assert (answered.verdict, answered.engines) == (ESTIMATE, (second,))
    assert first.given[0] == pytest.approx(45, abs=0.5)  # three quarters of the time
    assert len(second.given) == 1


def test_no_estimate_where_there_is_an_answer() -> None:
    first, second = Telling("computing", (SHOWN,)), Resort("estimating", (ESTIMATE,))
    assert take_turns((second, first), counter(), Budget(60)).verdict == SHOWN
    stopped = Telling("computing", (KeyboardInterrupt,))
    assert take_turns((second, stopped), counter(), Budget(60)).verdict.reason is Reason.INTERRUPTED  # type: ignore[union-attr]
    assert second.given == []
    assert take_turns((second,), counter(), Budget(60)).verdict == ESTIMATE  # nobody else is there
    stuck = Resort("estimating", (Unknown(Reason.INCOMPLETE, "open choices"),))
    both = take_turns((stuck, Telling("computing", (LATE,))), counter(), Budget(60)).verdict
    assert isinstance(both, Unknown)
    assert both.detail == "computing: late; estimating: open choices"


def test_an_interrupt_ends_all_turns() -> None:
    first = Telling("first", (Unknown(Reason.TIMEOUT, "late", 2, "z3"),))
    second = Telling("second", (KeyboardInterrupt,))
    answered = take_turns((first, second), counter(), Budget(60))
    told = "first: late; second: interrupted by the user"
    assert answered.verdict == Unknown(Reason.INTERRUPTED, told, 2, "z3")
    assert first.given == [1]


def test_no_time_no_answer() -> None:
    engines = (Telling("first", (SHOWN,)), Telling("second", (SHOWN,)))
    assert isinstance(take_turns(engines, counter(), Budget(0)).verdict, Unknown)


@pytest.fixture
def short_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portfolio, "FIRST_TURN", 0.3)


@pytest.mark.usefixtures("short_turns")
def test_bmc_refutes_and_induction_proves() -> None:
    arrows = [(0, 1), (1, 2), (2, 0), (5, 6), (6, 5)]
    both = (Bmc(), Induction())
    refuted = verify(graph(arrows, Recurs(among(7)), states=8), both, Budget(30))
    assert isinstance(refuted.verdict, Violated)
    assert refuted.verdict.trace.loop == 0
    assert refuted.engine.startswith("Bmc(")
    proved = verify(graph(arrows, Never(among(7)), states=8), both, Budget(30))
    assert isinstance(proved.verdict, Proved)
    assert isinstance(verify(graph(arrows, Recurs(among(0) | ~among(0)), states=8)).verdict, Proved | Vacuous)


TROUBLE = Unknown(Reason.NUMERICS, "k = 2: numbers", 1, "first")


@dataclass(frozen=True)
class Refusing(Telling):
    def objection(self, problem: Problem) -> str | None:
        return "no"


@pytest.mark.parametrize("beside", [(), (Telling("slow", (LATE,)),)])
def test_after_numerical_trouble_the_next_solver_is_asked(beside: tuple[Telling, ...]) -> None:
    first, second = Telling("same", (TROUBLE,)), Telling("same", (SHOWN,))
    reserves = (first, Refusing("same", (LATE,)), Telling("other", (LATE,)), second)
    answer = take_turns((first, *beside), counter(), Budget(2), reserves=reserves)
    assert answer.verdict == SHOWN
    assert answer.engines == (second,)


def test_trouble_of_all_solvers_is_told_with_what_is_known() -> None:
    first, second = Telling("same", (TROUBLE,)), Telling("same", (Unknown(Reason.NUMERICS, "more numbers"),))
    found = take_turns((first,), counter(), Budget(2), reserves=(first, second)).verdict
    assert isinstance(found, Unknown)
    assert (found.holds_up_to, found.detail) == (1, "k = 2: numbers; more numbers")


def test_what_is_no_trouble_with_numbers_is_not_asked_of_others() -> None:
    first, second = Telling("same", (Unknown(Reason.INCOMPLETE, "no"),)), Telling("same", (SHOWN,))
    assert isinstance(take_turns((first,), counter(), Budget(2), reserves=(first, second)).verdict, Unknown)
    assert not second.given
