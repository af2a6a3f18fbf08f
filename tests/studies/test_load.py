"""Loading studies, and comparing what papers say with what is measured."""

from fractions import Fraction

import pytest
from tests.examples import EXAMPLES

from surefoot.errors import InvalidProblem
from surefoot.problem.property_printer import show_property
from surefoot.verdict.verdict import (
    Certificate,
    Estimated,
    Holds,
    Proved,
    Reason,
    Result,
    Trace,
    Unknown,
    Verdict,
    Violated,
)
from surefoot_studies import STUDIES
from surefoot_studies.comparison import Study, compare_study, load_study, read_expectations


def result(verdict: Verdict) -> Result:
    return Result("p", "e", verdict, False, "exact", 0, {}, {}, 0.0)


TEXT = """
[[expect]]
problem = "climbs"
engine = "bmc"
verdict = "violated"
steps = 3
paper = "a paper, section 1"
figure = "3 steps"
options = { depth = 5 }

[[expect]]
problem = "within"
engine = "bmc"
verdict = "holds"
paper = "a paper, section 2"
figure = "UNSAT"
note = "easy"
paper_time = "4.5 h"
seconds = 2.5
"""


def study(text: str = TEXT) -> Study:
    problems = {e.name: (lambda e=e: e.problem) for e in EXAMPLES}
    return Study("tiny", "", problems, {}, read_expectations(text, "tiny/expected.toml"))


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_loads_and_explains_itself(name: str) -> None:
    loaded = load_study(name)
    assert loaded.readme.startswith(f"# {name}: ")
    assert loaded.problems or loaded.needs_network
    assert all(e.problem in loaded.problems for e in loaded.expectations)


def test_an_unknown_study_is_named_with_a_suggestion() -> None:
    with pytest.raises(InvalidProblem, match="did you mean `toy`"):
        load_study("toi")


@pytest.mark.parametrize(
    "text", ["[[expect]]\nproblem = 1\nwrong = 2", "[[expect]\n", '[[expect]]\nproblem = "climbs"']
)
def test_a_broken_expectation_says_where(text: str) -> None:
    with pytest.raises(InvalidProblem, match=r"tiny/expected.toml: not a list of expectations"):
        read_expectations(text, "tiny/expected.toml")


def test_expectations_that_are_met() -> None:
    trace = Trace(({},) * 4, (None,) * 3)  # type: ignore[arg-type]
    answers = {"climbs": Violated(trace), "within": Holds(3, "milp", True)}
    texts = {e.name: show_property(e.problem.property) for e in EXAMPLES}
    asked = []

    def verify(problem, engine, options):  # type: ignore[no-untyped-def]
        asked.append((problem.name, engine, dict(options)))
        return result(answers[problem.name])

    rows = list(compare_study(study(), verify))
    assert asked == [("climbs", "bmc", {"depth": 5}), ("within", "bmc", {})]
    assert [row.as_recorded for row in rows] == [True, True]
    assert [row.expected for row in rows] == ["violated after 3 steps", "holds"]
    assert [row.measured for row in rows] == ["violated after 3 steps", "holds up to 3 steps"]
    assert (rows[1].paper, rows[1].figure, rows[1].note) == ("a paper, section 2", "UNSAT", "easy")
    assert [row.asked for row in rows] == [texts["climbs"], texts["within"]]
    assert [(row.paper_time, row.recorded_seconds) for row in rows] == [("", None), ("4.5 h", 2.5)]


@pytest.mark.parametrize(
    ("verdict", "words"),
    [
        (Violated(Trace(({},) * 2, (None,))), "violated after 1 step"),  # type: ignore[arg-type]
        (Holds(3, "milp", True), "holds up to 3 steps"),
        (Unknown(Reason.TIMEOUT, "too long"), "unknown"),
        (Unknown(Reason.TIMEOUT, "too long", 2), "unknown up to 2 steps"),
        (Estimated(Fraction(0), Fraction(1), Fraction(1, 2), {}), "estimated"),
    ],
)
def test_expectations_that_are_not_met(verdict: Verdict, words: str) -> None:
    (row, *_) = compare_study(study(TEXT.split("\n\n")[0]), lambda *_: result(verdict))
    assert not row.as_recorded
    assert row.measured == words


KNOWN = {"kind": "induction", "steps": 1, "good": 2}
BY_INDUCTION = TEXT.split("\n\n")[1] + "\nk = 2"


@pytest.mark.parametrize(
    ("verdict", "met", "words"),
    [
        (Holds(None, "native", True, "by induction with k = 2"), True, "holds by induction with k = 2"),
        (Holds(None, "native", True, "by induction with k = 1"), False, "holds by induction with k = 1"),
        (Holds(None, "native", True), False, "holds"),
        (Proved(Certificate("unsat", {})), False, "proved"),
        (
            Proved(Certificate("execution", {"claim": {"argument": KNOWN}})),
            True,
            "proved by induction with k = 2",
        ),
    ],
)
def test_the_k_of_an_induction(verdict: Verdict, met: bool, words: str) -> None:
    (row,) = compare_study(study(BY_INDUCTION), lambda *_: result(verdict))
    assert (row.as_recorded, row.measured) == (met, words)
    assert row.expected == "holds by induction with k = 2"


def test_a_proof_is_as_good_as_an_uncertified_answer_but_not_the_reverse() -> None:
    (row,) = compare_study(study(TEXT.split("\n\n")[1]), lambda *_: result(Proved(Certificate("unsat", {}))))
    assert row.as_recorded
    wanted = TEXT.split("\n\n")[1].replace('"holds"', '"proved"')
    (row,) = compare_study(study(wanted), lambda *_: result(Holds(3, "milp", True)))
    assert not row.as_recorded
