"""Verdicts in sentences."""

from __future__ import annotations

import re
from fractions import Fraction
from html import unescape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.report.runs import LOAD, overload, problem

from surefoot.errors import InvalidProblem
from surefoot.problem.problem import Problem
from surefoot.problem.property import Eventually, Never, Property, Recurs, Within
from surefoot.problem.window import windows_of
from surefoot.report.result_page import render_result_page
from surefoot.report.result_text import describe_interval, in_few_words, render
from surefoot.report.search_report import describe_start_groups
from surefoot.term.decimal_literals import show_number
from surefoot.term.parser import parse_term
from surefoot.term.term import Term, Var
from surefoot.verdict.artifact import Invariant, SafeStarts, StartGroup
from surefoot.verdict.sentences import round_long_numbers, verdict_sentences
from surefoot.verdict.verdict import (
    Certificate,
    Found,
    Holds,
    Proved,
    Reason,
    Result,
    Trace,
    Unknown,
    Verdict,
    Violated,
)

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
    assert verdict_sentences(problem(asked), verdict)[0] == said


def test_says_where() -> None:
    told = verdict_sentences(problem(Never(HIGH)), Unknown(Reason.TIMEOUT, ""))
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
    assert describe_interval(*(None if end is None else Fraction(end) for end in (low, high))) == said


def test_numbers_that_fill_the_line_are_rounded_beside_the_term() -> None:
    long = "x > -15707963267948965579989817342720925807952880859375e-49 and y <= 0.125 and z[3] = 1234567"
    assert round_long_numbers(long) == "x > -1.570796327 and y <= 0.125 and z[3] = 1234567"
    assert round_long_numbers("0.1000000000000000055511151231257827 < x") == "0.1 < x"


def test_what_is_rounded_is_said_outside_of_the_term() -> None:
    tenth = Fraction(0.1)
    asked = problem(Never(Var("output[0]") > tenth))
    lines = render(asked, answered(asked, Unknown(Reason.TIMEOUT, ""))).split("\n")
    assert lines[0] == f"unknown (timeout): never output[0] > {show_number(tenth)}"
    assert lines[1] == "  rounded   never output[0] > 0.1"
    shown = render_result_page([(asked, answered(asked, Unknown(Reason.TIMEOUT, "")))])
    assert f"<code>never output[0] &gt; {show_number(tenth)}</code>" in shown
    assert "<p>Rounded: never output[0] &gt; 0.1</p>" in shown


def answered(asked: Problem, verdict: Verdict) -> Result:
    return Result(asked.name, "nobody", verdict, False, "exact", 0, {}, {}, 0.0)


TENTHS = st.floats(-1e6, 1e6).map(Fraction)
CONDITIONS = st.recursive(
    st.tuples(st.sampled_from(["x", "é u", "output[0]", "F"]), TENTHS).map(lambda t: Var(t[0]) <= t[1]),
    lambda inner: st.tuples(inner, inner).map(lambda t: t[0] & ~t[1]),
    max_leaves=3,
)


@given(CONDITIONS)
@settings(max_examples=60, deadline=None)
def test_every_term_that_is_printed_reads_back_as_itself(condition: Term) -> None:
    """Properties, starts, invariants, groups of starts, sets: on the screen, in sentences and on pages."""
    asked = problem(Never(condition), initial=condition)
    first = render(asked, answered(asked, Unknown(Reason.TIMEOUT, ""))).split("\n")[0]
    read_again(first.removeprefix("unknown (timeout): never "), condition)
    sentences = verdict_sentences(asked, Proved(Certificate("x", {})))
    read_again(sentences[0].removeprefix("Proved: no run reaches `").removesuffix("`."), condition)
    starts = next(s for s in sentences if s.startswith("Starts: "))
    read_again(starts.removeprefix("Starts: `").removesuffix("`."), condition)
    found = in_few_words(Found(Invariant(condition, (), ()), None))
    read_again(found.removeprefix("found the invariant "), condition)
    group = StartGroup(condition, Unknown(Reason.TIMEOUT, "late"), False, None)
    (_, line), *_ = describe_start_groups(SafeStarts(None, (group,)))
    read_again(line.removesuffix(" (late)"), condition)
    code = re.search(
        "<code>never (.*)</code>", render_result_page([(asked, answered(asked, Unknown(Reason.TIMEOUT, "")))])
    )
    assert code is not None
    assert parse_term(unescape(code[1])) == condition


def read_again(text: str, condition: Term) -> None:
    """As itself; or, where it is cut, not at all."""
    if text.endswith("…"):
        with pytest.raises(InvalidProblem):
            parse_term(text)
    else:
        assert parse_term(text) == condition


def test_a_trace_says_that_it_is_rounded() -> None:
    """Thirds are shown as they are, and longer numbers are not."""
    exact = Trace(({"load_0": Fraction(1, 3), "load_1": Fraction(0), "load_2": Fraction(1)},), ())
    long = Trace(({"load_0": Fraction(0.1), "load_1": Fraction(0), "load_2": Fraction(1)},), ())
    asked = problem(Never(HIGH))
    said = "rounded   some numbers of the trace are; --json has them as they are"
    assert said in render(asked, answered(asked, Violated(long)))
    assert "Some numbers are rounded" in render_result_page([(asked, answered(asked, Violated(long)))])
    whole = Trace(({"load_0": Fraction(0), "load_1": Fraction(0), "load_2": Fraction(1)},), ())
    assert said not in render(asked, answered(asked, Violated(whole)))
    assert said in render(asked, answered(asked, Violated(exact)))  # the output is a third in float32


def test_what_each_engine_says_has_a_line() -> None:
    said = (
        "no engine can take this problem: reach: f(x; y) is unbounded; fix: bound it (others: bmc: no; "
        "explicit: no); "
        "falsify: none of 3 runs violated it; the nearest missed `x > 3` by 1"
    )
    asked = problem(Never(HIGH))
    result = Result("load", "none", Unknown(Reason.INCOMPLETE, said), False, "real", 0, {}, {}, 1.0)
    lines = render(asked, result).splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("  because"))
    assert lines[first].endswith("(others: bmc: no; explicit: no)")
    assert (
        lines[first + 1] == " " * 12 + "falsify: none of 3 runs violated it; the nearest missed `x > 3` by 1"
    )
    assert said == "; ".join(line[12:] for line in lines[first : first + 2])
