"""Bounded model checking: on the table of small examples, and its logic with scripted answers."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from tests.certify.test_replay import counter
from tests.examples import EXAMPLES, Example
from tests.solvers.scripted import Scripted

from surefoot.engines.bmc import Bmc
from surefoot.problem.property import Never, Path, Probability, Within
from surefoot.query.query import Answer, Proof, Sat, Undecided, UndecidedReason, Unsat
from surefoot.run import verify
from surefoot.solvers import SOLVERS
from surefoot.term.term import Const, Term, Var, equal
from surefoot.verdict.verdict import Holds, Proved, Reason, Unknown, Vacuous, Violated
from surefoot.work.budget import Budget

X = Var("x")
# Here a proof must cover both actions of a tie, or a control that is off by its rounding error: no run that
# replays violates the property, and none may be called safe.
WITHIN_ROUNDING = ("tie-to-rest", "tie-to-up", "clipped-in-time")
SOON = 8  # deeper than every shortest violation in the table


@pytest.mark.parametrize("solver", list(SOLVERS))
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.name)
def test_examples_are_never_contradicted(example: Example, solver: str) -> None:
    engine = Bmc(SOLVERS[solver](), depth=SOON)
    assert engine.objection(example.problem) is None
    verdict = verify(example.problem, engine, Budget(8)).verdict
    match verdict:
        case Violated(trace):
            assert not example.holds
            assert len(trace.moves) == example.steps
        case Holds(None):
            assert example.holds
        case Holds(up_to):
            assert example.holds or (example.steps or 0) > up_to
        case Unknown():
            assert verdict.reason is not Reason.SPURIOUS or example.name in WITHIN_ROUNDING
        case Vacuous():
            assert example.holds


SOME_RUN = Sat({f"x@{i}": i for i in range(9)})
CLEAR = (Unsat(), SOME_RUN, Unsat())  # no violation, some run, no step out of range


def scripted(*answers: object) -> Bmc:
    return Bmc(Scripted(answers))  # type: ignore[arg-type]


def test_the_budget_ends_the_search_and_knowledge_is_kept() -> None:
    engine = scripted(*CLEAR, *CLEAR, Undecided(UndecidedReason.TIMEOUT, "slow"))
    verdict = engine.check(counter(), Budget(60))
    assert verdict == Unknown(Reason.TIMEOUT, "k = 2: slow", 1, "scripted")


def test_whether_the_property_has_a_value_must_be_known() -> None:
    """No violation was found where the condition has a value; whether it has one everywhere is asked too."""
    problem = replace(counter(), property=Never(Const(1) / X > Const(5)))
    verdict = scripted(Unsat(), Undecided(UndecidedReason.TIMEOUT, "slow"), *CLEAR).check(problem, Budget(60))
    assert isinstance(verdict, Unknown)
    assert verdict.detail == "k = 0: slow"


def test_no_budget_no_answer() -> None:
    assert isinstance(verdict := scripted().check(counter(), Budget(0)), Unknown)
    assert verdict.reason is Reason.TIMEOUT
    assert verdict.holds_up_to is None


def test_an_empty_initial_condition_is_vacuous() -> None:
    assert isinstance(scripted(Unsat(), Unsat()).check(counter(), Budget(60)), Vacuous)


def test_no_longer_run_means_all_runs_were_examined() -> None:
    verdict = scripted(*CLEAR, Unsat(), Unsat()).check(counter(), Budget(60))
    assert verdict == Holds(None, "scripted", as_asked=True)


def test_a_depth_limit_is_not_what_the_property_asked() -> None:
    engine = Bmc(Scripted((*CLEAR, Unsat(), SOME_RUN)), depth=1)
    assert engine.check(counter(), Budget(60)) == Holds(1, "scripted", as_asked=False)


def test_a_bounded_property_is_answered_as_asked() -> None:
    engine = scripted(*CLEAR, Unsat(), SOME_RUN)
    assert engine.check(counter(Never(X >= 3, steps=1)), Budget(60)) == Holds(1, "scripted", as_asked=True)


@pytest.mark.parametrize(
    ("initial", "more", "kind"),
    [
        (X >= 0, (), Proved),  # the lower end of the range is a start: nobody has to be asked for one
        (equal(X, 2), (SOME_RUN,), Proved),
        (equal(X, 2), (Unsat(),), Vacuous),
        (X < 0, (Unsat(),), Vacuous),
    ],
)
def test_a_start_at_an_end_of_all_ranges_needs_no_question(
    initial: Term, more: tuple[Answer, ...], kind: type
) -> None:
    problem = counter(Never(X >= 3, steps=0))
    problem = replace(problem, environment=replace(problem.environment, initial=initial))
    solver = Scripted((Unsat(Proof({}, "float32", ())), *more))
    assert isinstance(Bmc(solver).check(problem, Budget(60)), kind)
    assert len(solver.asked) == 1 + len(more)


def test_a_lying_solver_does_not_make_a_violation() -> None:
    lie = {"x@0": 0, "output[0]@0": 1, "output[1]@0": 0}
    engine = Bmc(Scripted((Sat(lie), Sat(lie))), depth=0)
    verdict = engine.check(counter(), Budget(60))
    assert isinstance(verdict, Unknown)
    assert verdict.reason is Reason.SPURIOUS


@pytest.mark.parametrize(("asked", "kind"), [(Never(X >= 3), Unknown), (Never(X >= 3, steps=0), Proved)])
def test_a_proof_for_reals_settles_only_a_property_of_the_first_state(asked: Never, kind: type) -> None:
    """Otherwise the other lengths would be about float32 and this one not."""
    lie, proof = Sat({"x@0": 0}), Unsat(Proof({}, "real", ()))
    verdict = Bmc(Scripted((lie, proof, SOME_RUN, Unsat())), depth=0).check(counter(asked), Budget(60))
    assert isinstance(verdict, kind)


@pytest.mark.parametrize(("asked", "kind"), [(Never(X >= 3), Unknown), (Never(X >= 3, steps=0), Proved)])
def test_nor_does_one_that_comes_with_a_doubt_about_float32(asked: Never, kind: type) -> None:
    proof = Proof({}, "real", ())
    doubt = Undecided(UndecidedReason.NUMERICS, "in reals only", proof)
    again = () if kind is Proved else (Unsat(proof),)  # the same question in reals, asked once more
    verdict = Bmc(Scripted((doubt, *again, SOME_RUN, Unsat())), depth=0).check(counter(asked), Budget(60))
    assert isinstance(verdict, kind)


def test_an_interrupt_keeps_what_is_known() -> None:
    class Interrupting(Scripted):
        def session(self, base, *, seconds, workers=1):  # type: ignore[no-untyped-def]
            if self.asked:
                raise KeyboardInterrupt
            return super().session(base, seconds=seconds)

    verdict = Bmc(Interrupting(CLEAR)).check(counter(), Budget(60))
    assert isinstance(verdict, Unknown)
    assert (verdict.reason, verdict.holds_up_to) == (Reason.INTERRUPTED, 0)


def test_objections_are_sentences() -> None:
    assert "Probability" in (Bmc().objection(counter(Probability(Path("F", X >= 3)))) or "")
    assert Bmc(Scripted((), refusal="no")).objection(counter()) == "no"


@pytest.mark.parametrize("solver", list(SOLVERS))
def test_a_run_that_ends_early_violates_within(solver: str) -> None:
    """From 0 the counter can reach 4 in two steps, where it stalls below the goal of 6 for ever."""
    verdict = verify(counter(Within(X >= 5, 3, after=1)), Bmc(SOLVERS[solver]()), Budget(60)).verdict
    assert isinstance(verdict, Violated)


def test_never_with_a_fraction_bound_is_decided_exactly() -> None:
    bound = Fraction(9, 2)
    verdict = verify(counter(Never(bound <= X, steps=4)), Bmc(), Budget(60)).verdict
    assert isinstance(verdict, Proved)
