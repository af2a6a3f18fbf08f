"""What is shown reads back as the same; whatever is read, only errors of ours come out."""

import re
from fractions import Fraction
from pathlib import Path as File
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from surefoot.errors import SurefootError
from surefoot.formats.problem_file import read_problems
from surefoot.formats.problem_file.variable_types import parse_law, parse_variable_type
from surefoot.problem.property import (
    Bound,
    Eventually,
    Expected,
    Never,
    NeverBefore,
    Path,
    Probability,
    Recurs,
    Threshold,
    Within,
)
from surefoot.problem.property_parser import parse_property
from surefoot.problem.property_printer import show_property
from surefoot.term.parser import parse_term
from surefoot.term.printer import LAYOUT, show_term
from surefoot.term.reserved_names import chosen_name, location_name, network_output_name
from surefoot.term.term import (
    Apply,
    Const,
    Op,
    Term,
    Var,
    array_term,
    conjunction_of,
    disjunction_of,
    divide_terms,
    equal,
    ite,
    negate_number,
)

NUMBERS = st.one_of(
    st.integers(-20, 20),
    st.integers(),
    st.fractions(),
    st.decimals(allow_nan=False, allow_infinity=False).map(Fraction),
    st.tuples(st.integers(-9999, 9999), st.integers(-4000, 4000)).map(lambda p: p[0] * Fraction(10) ** p[1]),
)
PLAIN = """x y a.b _ U F X G min sum at chosen output not true and until after over of for steps e E1 P inf
    never stalled deadlocked"""
WORDS = st.sampled_from(PLAIN.split())
NAMES = st.one_of(WORDS, st.text(max_size=6))
VARIABLES = st.one_of(
    NAMES,
    st.integers(0, 99).map(network_output_name),
    NAMES.map(chosen_name),
    st.builds(location_name, NAMES, NAMES),
    st.sampled_from(
        ["output[03]", "output[]", "chosen()", "at(,)", "at(a,b)", "output[٣]", "`", "\\", "a`\\b"]
    ),
).map(Var)
LEAVES = st.one_of(NUMBERS.map(Const), st.booleans().map(Const), VARIABLES)

ONE = [Op.ABS, Op.SIGN, Op.FLOOR, Op.CEIL, Op.TRUNC, Op.SQRT, Op.EXP, Op.LOG, Op.SIN, Op.COS, Op.TAN]
ONE += [Op.ASIN, Op.ACOS, Op.ATAN, Op.TANH, Op.NOT]
TWO = [Op.SUB, Op.MOD, Op.POW, Op.LT, Op.LE, Op.EQ, Op.IMPLIES, Op.SELECT]


def _larger(inner: st.SearchStrategy[Term]) -> st.SearchStrategy[Term]:
    several = st.lists(inner, min_size=2, max_size=4).map(tuple)
    return st.one_of(
        st.builds(lambda op, a: Apply(op, (a,)), st.sampled_from(ONE), inner),
        st.builds(lambda op, a, b: Apply(op, (a, b)), st.sampled_from(TWO), inner, inner),
        st.builds(Apply, st.sampled_from([Op.ADD, Op.MUL, Op.MIN, Op.MAX]), several),
        st.builds(lambda a, b: a + b, inner, inner),
        st.builds(lambda a, b: a * b, inner, inner),
        st.builds(lambda a, b: a > b, inner, inner),
        st.builds(lambda a, b: ~equal(a, b), inner, inner),
        st.builds(negate_number, inner),
        st.builds(divide_terms, inner, inner),
        st.builds(ite, inner, inner, inner),
        several.map(conjunction_of),
        several.map(disjunction_of),
        st.lists(inner, max_size=3).map(lambda parts: array_term(*parts)),
    )


TERMS = st.recursive(LEAVES, _larger, max_leaves=12)


@settings(max_examples=400, deadline=None)
@given(TERMS)
@example(Const(Fraction(-1, 3)) * Var("x"))
@example(Var("x") ** Const(Fraction(1, 3)))
@example(negate_number(Var("x") ** 2) ** 2)
@example(divide_terms(Var("x"), Const(Fraction(1, 3))))
@example(Var("output")[3])
@example(Const(3) < (Const(2) <= Var("x")))
@example(Const(Fraction(-1, 3)) <= Var("x") + 1)
@example(conjunction_of((Const(0) <= Var("x"), ~(Const(1) < Var("x")))))
def test_a_shown_term_reads_back_as_itself(term: Term) -> None:
    text = show_term(term)
    assert parse_term(text) == term
    assert text.isprintable()


def test_every_operator_has_a_layout_and_occurs_in_the_law() -> None:
    assert set(LAYOUT) == set(Op)
    built = {*ONE, *TWO, Op.ADD, Op.MUL, Op.MIN, Op.MAX, Op.NEG, Op.DIV, Op.ITE, Op.AND, Op.OR, Op.ARRAY}
    assert built == set(Op)


SMALL = st.recursive(LEAVES, _larger, max_leaves=4)
LIMITS = st.one_of(
    st.builds(lambda h, r, s: Bound(None, h, r, s), SMALL, st.none() | NAMES, st.booleans()),
    st.builds(lambda low, r: Bound(low, None, r), SMALL, st.none() | NAMES),
    st.builds(Bound, SMALL, SMALL, st.none() | NAMES, st.booleans()),
)
BOUNDS = st.lists(LIMITS, max_size=2).map(tuple)
PATHS = st.one_of(
    st.builds(lambda o, r, b: Path(o, r, bounds=b), st.sampled_from("XFG"), SMALL, BOUNDS),
    st.builds(Path, st.sampled_from("UWR"), SMALL, SMALL, BOUNDS),
)
THRESHOLDS = st.none() | st.builds(Threshold, st.sampled_from(["<", "<=", ">", ">="]), NUMBERS.map(Fraction))
OPTIMA = st.sampled_from([None, "min", "max"])
FILTERS = st.sampled_from(["min", "max", "sum", "avg", "count", "values", "argmin", "argmax"])
PROPERTIES = st.one_of(
    st.builds(Never, SMALL, st.none() | st.integers(-5, 100)),
    st.builds(NeverBefore, SMALL, SMALL, st.none() | st.integers(-5, 100)),
    st.builds(Eventually, SMALL),
    st.builds(Recurs, SMALL),
    st.builds(Within, SMALL, st.integers(-5, 100), st.integers(-5, 100)),
    st.builds(Probability, PATHS, THRESHOLDS, OPTIMA, FILTERS, st.none() | SMALL),
    st.builds(Expected, NAMES | SMALL, SMALL, THRESHOLDS, OPTIMA, FILTERS, st.none() | SMALL),
)


@settings(max_examples=400, deadline=None)
@given(PROPERTIES)
@example(Never(Var("at"), 0))
@example(NeverBefore(Var("before"), Var("before"), 3))
@example(Never(~~Var("x"), 0))
@example(Never(~equal(Var("x"), 3)))
def test_a_shown_property_reads_back_as_itself(prop: object) -> None:
    assert parse_property(show_property(prop)) == prop


SPELLED = """( ) [ ] { } , .. ` \\ 0 1e5 1.5 . x F P =? ? - + * / ^ % <= < > = => ! ~ & | and or not ite min
    true output chosen at never within after until E U int real array of"""
PIECES = st.sampled_from([*SPELLED.split(), "\n"])
TEXTS = st.one_of(
    st.text(max_size=60), st.lists(PIECES, max_size=25).map(" ".join), st.lists(PIECES).map("".join)
)


@pytest.mark.parametrize(
    "read",
    [
        parse_term,
        lambda text: parse_term(text, names=["x"]),
        parse_property,
        lambda text: parse_property(f"P=? [ {text} ]"),
        lambda text: parse_variable_type(text, {}),
        lambda text: parse_law(text, {}),
    ],
)
@settings(max_examples=300, deadline=None)
@given(text=TEXTS)
def test_reading_any_text_raises_only_errors_of_ours(read: object, text: str) -> None:
    assert _refusal(read, text) in ("", "input")


def _refusal(read: object, *arguments: object) -> str:
    """Nothing if it is read, `input` for an error of the input that says where it is."""
    try:
        read(*arguments)
    except SurefootError as error:
        return "input" if error.exit_code == 2 and error.where else repr(error)
    return ""


VALID = (File(__file__).parents[2] / "docs" / "reference" / "problem-file.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```toml\n(.*?)```", VALID, re.DOTALL)
FRAGMENTS = [
    '"',
    "'",
    "[",
    "]",
    "{",
    "}",
    "=",
    "\n",
    ",",
    "1",
    "-1",
    "1.5",
    "true",
    "nan",
    "x",
    "speed",
    "[[edges]]",
]


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(EXAMPLES),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 30), st.sampled_from(FRAGMENTS)), max_size=4),
)
def test_reading_a_damaged_file_raises_only_errors_of_ours(
    text: str, damages: list[tuple[int, int, str]]
) -> None:
    for start, length, fragment in damages:
        begin = start % (len(text) + 1)
        text = text[:begin] + fragment + text[begin + length :]
    with TemporaryDirectory() as folder:
        path = File(folder) / "model.toml"
        path.write_text(text, encoding="utf-8")
        assert _refusal(read_problems, path) in ("", "input")
