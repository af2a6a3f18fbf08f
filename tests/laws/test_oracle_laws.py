"""surefoot and an oracle that was written from the documentation alone agree about random problems.

The oracle (tests/laws/oracle) shares no code with surefoot. It makes a problem, prints it as a problem file
or as a JANI model, finds the truth by looking at every state, and holds against it what `surefoot check`
says: without `--engine`, with one engine or another, and what `surefoot certify` says of some results.
`python -m tests.laws.oracle --count 5000` is the same at length.
"""

from collections.abc import Iterator
from fractions import Fraction
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
from tests.laws.oracle.campaign import Figures, make_problem, run_problem
from tests.laws.oracle.judge import Answer, Truth, compare, fold, look_at
from tests.laws.oracle.model import Component, Edge, Kind, Model, Outcome, Update, Variable
from tests.laws.oracle.questions import AboutChance, AboutRuns, Question
from tests.laws.oracle.runs import RunTruth

FIXED = range(90)
GRAVE = ("wrong", "failed", "refused", "odd", "certify", "late")


def fresh_seeds() -> list[int]:
    """Ten problems that change with the version."""
    digest = sha256(version("surefoot").encode()).digest()
    return [10**6 + int.from_bytes(digest[2 * i : 2 * i + 2], "big") for i in range(10)]


def grave_findings(figures: Figures) -> list[str]:
    return [line for line in figures.found if line.split()[3].startswith(GRAVE)]


@pytest.mark.parametrize("tens", range(len(FIXED) // 10))
def test_surefoot_agrees_with_the_oracle(tens: int, tmp_path: Path) -> None:
    figures = Figures()
    for seed in FIXED[10 * tens : 10 * tens + 10]:
        run_problem(seed, tmp_path / str(seed), figures, timeout=1.0, engines=0.4, certify=0.1)
    assert figures.problems > 0
    assert grave_findings(figures) == []


def test_surefoot_agrees_with_the_oracle_on_fresh_problems(tmp_path: Path) -> None:
    figures = Figures()
    for seed in fresh_seeds():
        run_problem(seed, tmp_path / str(seed), figures, timeout=1.0, engines=0.4, certify=0.1)
    assert grave_findings(figures) == []


@pytest.mark.parametrize("seed", range(300, 312))
def test_the_judge_notices_a_wrong_answer(seed: int) -> None:
    """Opposite verdicts, intervals beside the value, empty premises: none gets through."""
    case = make_problem(seed)
    assert case is not None
    for question, truth in zip(case.questions, case.truths, strict=True):
        if truth is None:
            continue
        for verdict in wrong_verdicts(question, truth):
            said = Answer(-1, {"verdict": verdict, "certified": False})
            kinds = {finding.kind for finding in compare(case, question, truth, said)}
            assert kinds & {"wrong", "odd"}, (question.text, verdict)


def wrong_verdicts(question: Question, truth: Truth) -> Iterator[dict[str, Any]]:
    if isinstance(truth.plain, RunTruth):
        if truth.plain.violated or truth.plain.trouble:
            yield {"kind": "proved"}
            yield {"kind": "holds", "up_to": None}
        if not truth.plain.violated:
            yield {"kind": "violated"}
        if not truth.plain.vacuous:
            yield {"kind": "vacuous", "why": "there is no start"}
        return
    assert isinstance(question, AboutChance)
    if not truth.plain.starts:
        return
    yield {"kind": "vacuous", "why": "there is no start"}
    if question.over in (None, "min", "max", "avg", "sum"):
        least, greatest = fold(question.over or "max", [pair for _, pair in truth.plain.starts])
        finite = Fraction(10**6) if greatest is None else greatest
        yield {"kind": "exact", "low": str(finite + Fraction(1, 1000)), "high": str(finite + 1)}
        if least is None:
            yield {"kind": "exact", "low": "0", "high": "1"}


def test_the_meaning_of_small_systems() -> None:
    """Values worked out by hand, so that the oracle is not only compared with what it judges."""
    x = ("var", "x")
    up = Outcome((Update("x", ("+", x, 1)),), Fraction(1, 3))
    stay = Outcome((), Fraction(2, 3))
    edges = (
        Edge("try", ("<", x, 2), (up, stay)),
        Edge("quit", ("=", x, 0), (Outcome((Update("x", 3),)),)),
        Edge(None, ("=", x, 2)),
    )
    model = Model("hand", (Variable("x", Kind("int", 0, 3), (0,)),), (Component("main", edges),))
    questions: dict[Question, object] = {
        AboutChance("max", right=("=", x, 2)): (1, 1),
        AboutChance("min", right=("=", x, 2)): (0, 0),
        AboutChance("max", right=("=", x, 2), high=3): (Fraction(7, 27), Fraction(7, 27)),
        AboutChance("min", right=(">=", x, 2), reward="steps"): (1, 1),
        AboutChance("max", right=(">=", x, 2), reward="steps"): (6, 6),
        AboutChance("max", right=("=", x, 2), reward="steps"): (None, None),
        AboutRuns("never", ("=", x, 2), 1): False,
        AboutRuns("never", ("=", x, 2), 2): True,
        AboutRuns("eventually", ("=", x, 2)): True,
        AboutRuns("eventually", ("!=", x, 1)): False,
        AboutRuns("recurs", ("=", x, 3)): True,
    }
    case = look_at(model, list(questions))
    assert case is not None
    for truth, (question, expected) in zip(case.truths, questions.items(), strict=True):
        assert truth is not None
        if isinstance(truth.plain, RunTruth):
            assert truth.plain.violated is expected, question.text
        else:
            assert [pair for _, pair in truth.plain.starts] == [expected], question.text
