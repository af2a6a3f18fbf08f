"""Ask about PRISM text, for the tests."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from surefoot.engines.explicit import Explicit
from surefoot.explore.exploration import explore_problem
from surefoot.formats.prism.instants import count_instant
from surefoot.formats.prism.questions import parse_prism_question
from surefoot.formats.prism.reader import PrismModel, prism_model_from_text
from surefoot.formats.prism_model import prism_question_scope
from surefoot.problem.problem import Problem
from surefoot.problem.property import Never
from surefoot.problem.validate import check_environment
from surefoot.term.term import FALSE
from surefoot.verdict.verdict import Exact, Verdict
from surefoot.work.budget import Budget

Interval = tuple[Fraction | None, Fraction | None]


def read_text(text: str, constants: Mapping[str, str | int] | None = None) -> PrismModel:
    model = prism_model_from_text(text, constants or {})
    check_environment(model.environment)
    return model


def prism_problem(model: PrismModel, question: str) -> Problem:
    asked = parse_prism_question(question, prism_question_scope(model))
    environment, meant = count_instant(model.environment, asked, model.rewards)
    return Problem("question", environment, None, meant)


def ask_verdict(model: PrismModel, question: str, *, exact: bool = False) -> Verdict:
    return Explicit(exact=exact).check(prism_problem(model, question), Budget(60))


def ask_interval(model: PrismModel, question: str) -> Interval:
    verdict = ask_verdict(model, question)
    assert isinstance(verdict, Exact), verdict
    return verdict.low, verdict.high


def ask_value(text: str, question: str, constants: Mapping[str, str | int] | None = None) -> Fraction | None:
    """The exact value; None: infinite."""
    verdict = ask_verdict(read_text(text, constants), question, exact=True)
    assert isinstance(verdict, Exact), verdict
    assert verdict.low == verdict.high
    return verdict.low


def count_states(model: PrismModel) -> int:
    """All reachable states."""
    problem = Problem("states", model.environment, None, Never(FALSE))
    return explore_problem(problem, labels={}, budget=Budget(60)).markov.states
