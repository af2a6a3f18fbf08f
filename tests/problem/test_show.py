"""Terms and properties as text: few parentheses, one line, nothing ambiguous."""

from fractions import Fraction

import pytest

from surefoot.problem.property_parser import parse_property
from surefoot.problem.property_printer import show_property
from surefoot.term.parser import parse_term
from surefoot.term.printer import abbreviate_term, show_name, show_term
from surefoot.term.term import Apply, Const, Op, Term, Var


@pytest.mark.parametrize(
    "text",
    [
        "x + y - z",
        "x - (y - z)",
        "x * (y + 1) / 2",
        "1/3 * x + -1/3",
        "x^2^y",
        "(x^2)^y",
        "-x^2",
        "(-x)^2",
        "(-2)^2",
        "2^(-1)",
        "-(-x)",
        "not a and b or c => d",
        "not (a and b)",
        "(a => b) => c",
        "a != b",
        "x > 3",
        "x + 1 >= -1/3",
        "x < 3",
        "1 < 2",
        "y < x",
        "(x > 1) = b",
        "(x > 1) > 0",
        "not x >= 0 and x < 10",
        "(a = b) = c",
        "ite(a < b, [1, 2][i], a[0][1])",
        "0.001 + 12.5",
        "1e40",
        "1e-40",
        "sum(x, y, z)",
        "`a b`[0] + `not`",
        "at(car, `x y`)",
    ],
)
def test_shows_as_it_would_be_written(text: str) -> None:
    assert show_term(parse_term(text)) == text


def test_chains_are_shown_as_conjunctions() -> None:
    assert show_term(parse_term("0 <= x < 10")) == "x >= 0 and x < 10"
    assert show_term(parse_term("10 >= x > y")) == "x <= 10 and y < x"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("speed.x", "speed.x"),
        ("and", "`and`"),
        ("1x", "`1x`"),
        ("", "``"),
        ("a`b\\", r"`a\`b\\`"),
        ("tab\tright\u202eleft", r"`tab\u{9}right\u{202e}left`"),
        ("größe", "`größe`"),
    ],
)
def test_quotes_names(name: str, text: str) -> None:
    assert show_name(name) == text


@pytest.mark.parametrize(
    "value",
    [
        10**10_000,
        Fraction(1, 10**10_000),
        Fraction(1, 3**9000),
        int("9" * 4300) * 10**5000 + 1,
        Fraction(10**9999 + 1, 10**15_000),
        (10**9998 + 1) * 10**10_001,
        Fraction(-7, 2**300),
    ],
    ids=lambda _: "number",  # too long for a name
)
def test_large_numbers_come_back(value: int | Fraction) -> None:
    back = parse_term(show_term(Const(value)))
    assert isinstance(back, Const)
    assert back.value == value


def test_no_term_is_too_deep_to_be_shown() -> None:
    term: Term = Var("x")
    for _ in range(5000):
        term = Apply(Op.ABS, (term,))
    assert show_term(term) == "abs(" * 5000 + "x" + ")" * 5000


def test_brief_leaves_out_what_is_deep() -> None:
    assert abbreviate_term(parse_term("a + (b - (c * d))"), depth=2) == "a + (b - …)"


@pytest.mark.parametrize(
    "text",
    [
        "never x < 3 for 4 steps",
        "never x > 3 at the start",
        "always x <= 3",
        "always not x for 4 steps",
        "always x = 3",
        "within 5 (x < 3) after 2",
        "P<=1/3 [ `F` U<=20{energy}<(x + 1) (a and b) ] over avg of x = 0",
        "Pmax=? [ G[2, 5) a ]",
        "E=? [ (x + 1) until goal ]",
        "Emin>=2 [ `my reward` until goal ] over values",
    ],
)
def test_shows_properties_as_they_would_be_written(text: str) -> None:
    assert show_property(parse_property(text)) == text
