"""Verdicts in sentences."""

from __future__ import annotations

from fractions import Fraction

import pytest
from tests.report.runs import LOAD, overload, problem

from surefoot.problem.property import Eventually, Never, Property, Recurs, Within
from surefoot.problem.term import Var
from surefoot.problem.window import windows_of
from surefoot.report.text import interval
from surefoot.verdict.verdict import Certificate, Holds, Proved, Reason, Unknown, Verdict
from surefoot.verdict.words import abridged, statement

HIGH = Var("output[0]") > 2


@pytest.mark.parametrize(
    ("asked", "verdict", "said"),
    [
        (Never(HIGH), Proved(Certificate("x", {})), "Proved: no run reaches `output[0] > 2`."),
        (Never(HIGH, 0), Proved(Certificate("x", {})), "Proved: no start satisfies `output[0] > 2`."),
        (
            Never(HIGH),
            Unknown(Reason.TIMEOUT, "", 7, "milp"),
            "Open. On the word of `milp`: no run reaches `output[0] > 2` within 7 steps.",
        ),
        (
            Recurs(HIGH),
            Holds(None, "milp", True, "by induction with k = 2"),
            "Holds by induction with k = 2, on the word of `milp` and without certificate: "
            "every run comes to `output[0] > 2` again and again.",
        ),
        (
            Eventually(HIGH),
            Proved(Certificate("x", {}), "proved-real"),
            "Proved: every run comes to `output[0] > 2`. This is shown for exact real arithmetic only.",
        ),
        (
            Within(HIGH, 5, 2),
            Unknown(Reason.MEMORY, ""),
            "Open: whether every run comes to `output[0] > 2` within 5 steps after state 2.",
        ),
    ],
)
def test_first_sentence(asked: Property, verdict: Verdict, said: str) -> None:
    assert statement(problem(asked), verdict)[0] == said


def test_says_where() -> None:
    told = statement(problem(Never(HIGH)), Unknown(Reason.TIMEOUT, ""))
    assert told[1:] == (
        "Variables: load in [0, 1] (3 newest values).",
        "Every state in these ranges is a start.",
        "In a step the environment may pick any new_load in [0, 1], as far as its assumptions allow.",
        "The policy is a network with 3 inputs and 1 output.",
    )


def test_a_buffer_is_found_by_its_shift() -> None:
    asked, _ = overload()
    assert windows_of(asked.environment) == (LOAD,)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        ("0.123456789", "0.123456912", "between 0.12345678 and 0.12345692"),
        ("0.1234567", "0.9", "between 0.12 and 0.9"),
        ("0", "0.00000000123456", "between 0 and 1.3e-9"),
        ("123456.789", "123456.9", "between 123456.78 and 123456.9"),
        ("0.3333333333333333333", "0.3333333333333333334", "between 0.333333333333 and 0.333333333334"),
        ("1/3", "1/3", "exactly 1/3"),
        ("7", None, "at least 7"),
        (None, None, "infinite"),
    ],
)
def test_intervals_have_the_digits_that_count(low: str | None, high: str | None, said: str) -> None:
    assert interval(*(None if end is None else Fraction(end) for end in (low, high))) == said


def test_numbers_that_fill_the_line_are_rounded_and_marked() -> None:
    long = "x > -15707963267948965579989817342720925807952880859375e-49 and y <= 0.125 and z[3] = 1234567"
    assert abridged(long) == "x > ≈-1.570796327 and y <= 0.125 and z[3] = 1234567"
    assert abridged("0.1000000000000000055511151231257827 < x") == "≈0.1 < x"
