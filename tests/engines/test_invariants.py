"""The search for a tipping point, with scripted answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import pytest
from tests.engines.graphs import graph

from surefoot.engines.tipping_point import (
    BisectionGrid,
    TippingPointSearch,
    bisect_tipping_point,
    bisection_grid,
    confirm_tipping_point,
    refine_grid,
)
from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.reductions.restriction import EmptyRegion
from surefoot.run import unanswered_result
from surefoot.term.term import FALSE
from surefoot.verdict.verdict import Holds, Reason, Result, Trace, Unknown, Vacuous, Verdict, Violated
from surefoot.work.budget import Budget

PLAIN = graph([], Never(FALSE), states=1)
PROVED: Verdict = Holds(None, "script", as_asked=True)
REFUTED: Verdict = Violated(Trace(({"n": 0},), ()))
UNDECIDED: Verdict = Unknown(Reason.TIMEOUT, "too hard")


def family(value: Fraction) -> Problem:
    return replace(PLAIN, name=str(value))


def search(
    answer: Callable[[Fraction], Verdict], where: BisectionGrid, *, seconds: float = 60, probes: int = 0
) -> TippingPointSearch:
    def decide(problem: Problem, budget: Budget) -> Result:
        verdict = answer(Fraction(problem.name))
        result = unanswered_result(problem, verdict, budget, {}, {})
        return replace(result, certified=isinstance(verdict, Violated))

    return bisect_tipping_point(family, where, decide, Budget(seconds), probes)


def at(trial: object) -> object:
    return getattr(trial, "value", None)


UP = bisection_grid(Fraction(0), Fraction(10), Fraction(1, 10), rises=True)
DOWN = bisection_grid(Fraction(0), Fraction(10), Fraction(1, 10), rises=False)


def test_the_two_ends_are_neighbours_on_the_grid() -> None:
    found = search(lambda v: PROVED if v <= Fraction(37, 10) else REFUTED, UP)
    assert (at(found.proved), at(found.refuted)) == (Fraction("3.7"), Fraction("3.8"))
    assert not found.stopped
    assert len(found.trials) <= 2 + 7


def test_a_property_that_is_harder_for_smaller_values() -> None:
    found = search(lambda v: PROVED if v >= Fraction(37, 10) else REFUTED, DOWN)
    assert (at(found.proved), at(found.refuted)) == (Fraction("3.7"), Fraction("3.6"))


def test_both_ends_are_asked_and_may_settle_it() -> None:
    found = search(lambda _: PROVED, UP)
    assert (at(found.proved), found.refuted, found.stopped) == (10, None, "")
    found = search(lambda _: REFUTED, UP)
    assert (found.proved, at(found.refuted), len(found.trials)) == (None, 0, 1)


def test_an_undecided_band_is_approached_from_both_sides() -> None:
    found = search(lambda v: PROVED if v < 4 else REFUTED if v > 6 else UNDECIDED, UP)
    assert (at(found.proved), at(found.refuted)) == (Fraction("3.9"), Fraction("6.1"))
    assert "not decided at 5" in found.stopped
    assert found.reason is Reason.TIMEOUT


def test_a_single_value_that_cannot_be_decided_is_passed_by() -> None:
    def answer(value: Fraction) -> Verdict:
        return UNDECIDED if value == 5 else PROVED if value < 5 else REFUTED

    assert search(answer, UP).stopped
    found = search(answer, refine_grid(UP))
    assert not found.stopped
    assert found.proved is not None
    assert found.refuted is not None
    assert found.proved.value < 5 < found.refuted.value
    assert found.refuted.value - found.proved.value <= Fraction(1, 10)
    plain = search(lambda v: PROVED if v <= Fraction(37, 10) else REFUTED, refine_grid(UP))
    assert (at(plain.proved), at(plain.refuted)) == (Fraction("3.7"), Fraction("3.8"))


def test_an_undecided_hard_end_leaves_the_proved_side() -> None:
    found = search(lambda v: PROVED if v < 4 else UNDECIDED, UP)
    assert (at(found.proved), found.refuted) == (Fraction("3.9"), None)
    assert found.stopped


def test_a_trace_that_was_not_replayed_refutes_nothing() -> None:
    def decide(problem: Problem, budget: Budget) -> Result:
        verdict = PROVED if Fraction(problem.name) < 4 else REFUTED
        return unanswered_result(problem, verdict, budget, {}, {})

    found = bisect_tipping_point(family, UP, decide, Budget(60))
    assert found.refuted is None
    assert found.stopped


def test_answers_that_are_not_monotone_are_noticed_and_not_used() -> None:
    def answer(value: Fraction) -> Verdict:
        return REFUTED if value > 6 or 2 <= value < 3 else PROVED

    assert at(search(answer, UP).proved) == 6  # bisection alone does not see the hole
    found = search(answer, UP, probes=5)
    assert found.contradiction is not None
    assert "not monotone: refuted at 2, but proved" in found.contradiction
    assert found.proved is None
    assert found.refuted is None


def test_an_empty_region_is_vacuous() -> None:
    def decide(problem: Problem, budget: Budget) -> Result:
        if Fraction(problem.name) < 2:
            raise EmptyRegion("nothing is left")
        return unanswered_result(problem, PROVED, budget, {}, {})

    found = bisect_tipping_point(family, UP, decide, Budget(60))
    assert isinstance(found.trials[0].verdict, Vacuous)
    assert found.proved is None
    assert "vacuous at 0" in found.stopped


def test_the_time_is_shared_and_its_end_keeps_what_is_known() -> None:
    shares: list[float] = []

    def decide(problem: Problem, budget: Budget) -> Result:
        shares.append(budget.seconds)
        if len(shares) == 4:
            while not budget.is_spent():
                pass
            return unanswered_result(problem, UNDECIDED, budget, {}, {})
        verdict = PROVED if Fraction(problem.name) < 5 else REFUTED
        return replace(unanswered_result(problem, verdict, budget, {}, {}), certified=verdict is REFUTED)

    found = bisect_tipping_point(family, UP, decide, Budget(0.5))
    assert shares[0] <= 0.5 / 7
    assert at(found.proved) is not None
    assert at(found.refuted) is not None
    late = bisect_tipping_point(family, UP, decide, Budget(0))
    assert (late.trials, late.reason) == ((), Reason.TIMEOUT)


def test_an_interrupt_keeps_what_is_known() -> None:
    def answer(value: Fraction) -> Verdict:
        if value == 5:
            raise KeyboardInterrupt
        return PROVED if value < 5 else REFUTED

    found = search(answer, UP)
    assert (at(found.proved), at(found.refuted)) == (0, 10)
    assert found.reason is Reason.INTERRUPTED
    stopped = Unknown(Reason.INTERRUPTED, "stopped while looking at k = 0")
    found = search(lambda v: stopped if v == 5 else PROVED if v < 5 else REFUTED, UP)
    assert found.reason is Reason.INTERRUPTED


def test_ranges_that_are_none() -> None:
    with pytest.raises(InvalidProblem, match="not below"):
        bisection_grid(Fraction(1), Fraction(1), Fraction(1), rises=True)
    with pytest.raises(InvalidProblem, match="not positive"):
        bisection_grid(Fraction(0), Fraction(1), Fraction(0), rises=True)
    with pytest.raises(InvalidProblem, match="coarser"):
        bisection_grid(Fraction(0), Fraction(1), Fraction(1, 10**10), rises=True)


def test_what_was_found_is_asked_again_with_its_evidence() -> None:
    found = search(lambda v: PROVED if v <= 4 else REFUTED, UP)

    def decide(problem: Problem, budget: Budget) -> Result:
        """At 4 the evidence does not stand up; at the value before it is certified."""
        if Fraction(problem.name) == 4:
            return unanswered_result(problem, Unknown(Reason.NUMERICS, "rejected"), budget, {}, {})
        return replace(unanswered_result(problem, PROVED, budget, {}, {}), certified=True)

    again = confirm_tipping_point(found, family, decide, Budget(60))
    assert again.proved is not None
    assert again.proved.certified
    assert again.proved.value < 4
    assert again.stopped == "the proof at 4 was not confirmed"
    assert len(again.trials) == len(found.trials) + 2


def test_a_confirmation_that_takes_too_long_leaves_the_word_and_a_contrary_one_nothing() -> None:
    found = search(lambda v: PROVED if v >= 4 else REFUTED, DOWN)

    def answering(verdict: Verdict) -> TippingPointSearch:
        def decide(problem: Problem, budget: Budget) -> Result:
            assert Fraction(problem.name) == 4
            result = unanswered_result(problem, verdict, budget, {}, {})
            return replace(result, certified=isinstance(verdict, Violated))

        return confirm_tipping_point(found, family, decide, Budget(60))

    late = answering(UNDECIDED)
    assert at(late.proved) == 4
    assert not late.stopped
    contrary = answering(REFUTED)
    assert contrary.proved is None
    assert "one of the answers is wrong" in (contrary.contradiction or "")
    assert (
        confirm_tipping_point(found, family, lambda *_: pytest.fail("no time"), Budget(0)).proved
        == found.proved
    )
