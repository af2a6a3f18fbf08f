"""A violation in one sentence, with what should have been; and the method that found it, in words."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.examples import REST, UP, climbs_until, counter

from surefoot.engines.bmc import Bmc
from surefoot.problem.problem import Problem
from surefoot.problem.property_parser import parse_property
from surefoot.report.inventory import describe_method
from surefoot.run import verify
from surefoot.verdict.sentences import earlier_statement, verdict_sentences
from surefoot.verdict.verdict import Violated
from surefoot.work.budget import Budget

METHODS = {
    "Bmc(solver=Native(seed=0, batch=256, proof=True), depth=None)": "bmc (solver native)",
    "Bmc(solver=Milp(seed=3), depth=8)": "bmc (solver milp (seed 3), depth 8)",
    "Explicit(width=Fraction(1, 100), exact=True)": "explicit (width 0.01, exact on)",
    "Predicates(predicates=('x < 3', 'y)'), fixed=True)": "predicates (predicates x < 3, y), fixed on)",
    "tipping point with Induction(depth=5)": "tipping point with induction (depth 5)",
    "Foreign(a=1)": "Foreign(a=1)",
    "Bmc(": "Bmc(",
    "": "",
}
WORDS = {
    "never n >= 3": "`n` is 3 after 3 steps; it must stay below 3",
    "never n > 2": "`n` is 3 after 3 steps; it must not be above 2",
    "never n = 3 or n = 4": "`n` is 3 after 3 steps; it must never be 3",
    "never 2 * n + 1 >= 7": "`2 * n + 1` is 7 after 3 steps; it must stay below 7",
    "never 1 - n < 0": "`1 - n` is -1 after 2 steps; it must not be below 0",
    "never n >= 1 and n <= 1": "a run reaches `n >= 1 and n <= 1` after 1 step",
    "never n <= 0": "`n` is 0 at its start; it must stay above 0",
    "never n = 2 before n = 4": "`n` is 2 after 2 steps, before `n = 4`; it must never be 2",
    "within 2 n >= 3": "a run of 2 steps does not come to `n >= 3`",
    "eventually n >= 6": "a run that goes round for ever never comes to `n >= 6`",
    "recurs n = 2": "a run that goes round for ever does not come to `n = 2` again",
}


@pytest.mark.parametrize("text", METHODS)
def test_methods_in_words(text: str) -> None:
    assert describe_method(text) == METHODS[text]


@pytest.mark.parametrize("asked", WORDS)
def test_violations_in_words(asked: str) -> None:
    environment = counter(UP, REST)
    problem = Problem("climb", environment, climbs_until(5), parse_property(asked))
    verdict = verify(problem, Bmc(), Budget(60)).verdict
    assert isinstance(verdict, Violated)
    assert verdict_sentences(problem, verdict)[0] == f"Violated: {WORDS[asked]}."
    assert earlier_statement(problem, verdict)[0].startswith("Violated: it is not so that ")
    assert earlier_statement(problem, verdict)[1:] == verdict_sentences(problem, verdict)[1:]


def test_what_a_number_says_is_not_claimed_of_another_state() -> None:
    """A trace whose last state does not satisfy the comparison: the sentence names no number."""
    environment = counter(UP, REST)
    problem = Problem("climb", environment, climbs_until(5), parse_property("never n >= 3"))
    verdict = verify(problem, Bmc(), Budget(60)).verdict
    assert isinstance(verdict, Violated)
    trace = replace(verdict.trace, states=(*verdict.trace.states[:-1], verdict.trace.states[0]))
    assert "`n` is" not in verdict_sentences(problem, Violated(trace))[0]
