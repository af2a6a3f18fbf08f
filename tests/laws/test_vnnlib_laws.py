"""Laws of the VNN-LIB reader, against an evaluator of the generated trees that never sees a Term."""

import operator
from collections.abc import Callable
from fractions import Fraction
from functools import reduce
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from surefoot.errors import SurefootError
from surefoot.formats.vnnlib import parse_vnnlib, read_witness, witness_text, write_vnnlib
from surefoot.term.evaluate import evaluate_term

# A formula is a list ["and", ...], ["<=", a, b], ["+", ...], or a string that is a name or a number.
NAMES = ("X_0", "X_1", "Y_0", "Y_1")
DECLARATIONS = [f"(declare-const {name} Real)" for name in NAMES]
BOUNDS = [["<=", "X_0", "2"], ["<=", "-1.5", "X_0"], [">=", "X_1", "-0.25"], [">=", "1e1", "X_1"]]
COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq}

numbers = st.one_of(
    st.integers(-4, 4).map(str),
    st.decimals(-4, 4, places=2).map(str),
    st.sampled_from(["1e-2", "-2.5E0", ".5", "3.", "-0", "1e38", "1e-400", "0.333333333333333333333333"]),
)
terms = st.recursive(
    st.one_of(st.sampled_from(NAMES), numbers),
    lambda inner: st.builds(
        lambda op, args: [op, *args], st.sampled_from("+-*"), st.lists(inner, min_size=1, max_size=3)
    ),
    max_leaves=5,
)
comparisons = st.builds(lambda op, a, b: [op, a, b], st.sampled_from(sorted(COMPARE)), terms, terms)
formulas = st.recursive(
    comparisons,
    lambda inner: st.builds(
        lambda op, args: [op, *args], st.sampled_from(["and", "or"]), st.lists(inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)
values = st.fractions(-3, 3, max_denominator=8)
points = st.fixed_dictionaries(dict.fromkeys(NAMES, values))


def text_of(tree: Any) -> str:
    return tree if isinstance(tree, str) else "(" + " ".join(text_of(t) for t in tree) + ")"


def value_of(tree: Any, point: dict[str, Fraction]) -> Any:
    if isinstance(tree, str):
        return point[tree] if tree in point else Fraction(tree)
    head, args = tree[0], [value_of(t, point) for t in tree[1:]]
    if head in COMPARE:
        return COMPARE[head](*args)
    if head in ("and", "or"):
        return all(args) if head == "and" else any(args)
    if head == "-":
        return -args[0] if len(args) == 1 else reduce(operator.sub, args)
    return reduce(operator.add if head == "+" else operator.mul, args)


def specification_text(assertions: list[Any]) -> str:
    return "\n".join([*DECLARATIONS, *(f"(assert {text_of(a)})" for a in assertions)])


OUTPUT = ["<=", "Y_0", "Y_1"]


@st.composite
def specifications(draw: st.DrawFn) -> list[Any]:
    """Assertions in any order, among them bounds for both inputs that leave room, and one about outputs."""
    return list(draw(st.permutations([*draw(st.lists(formulas, max_size=4)), *BOUNDS, OUTPUT])))


def refusal(read: Callable[[str], object], text: str) -> SurefootError | None:
    try:
        read(text)
    except SurefootError as error:
        return error
    return None


def parsed(assertions: list[Any]) -> Any:
    """The specification; None where the random bounds contradict each other, which is an error."""
    text = specification_text(assertions)
    error = refusal(parse_vnnlib, text)
    assert error is None or "above upper bound" in error.what
    return None if error else parse_vnnlib(text)


@given(specifications(), points)
def test_a_point_is_bad_exactly_if_it_satisfies_every_assertion(
    assertions: list[Any], point: dict[str, Fraction]
) -> None:
    specification = parsed(assertions)
    expected = all(value_of(a, point) for a in assertions)
    if specification is None:
        assert not expected or "or" in str(assertions)
        return
    assert evaluate_term(specification.constraint, point) == expected
    inside = all(
        low <= point[f"X_{i}"] <= high
        for i, (low, high) in enumerate(zip(specification.low, specification.high, strict=True))
    )
    assert inside or not expected


@given(specifications(), points, st.randoms())
def test_the_order_of_assertions_does_not_matter(assertions: list[Any], point: Any, random: Any) -> None:
    shuffled = list(assertions)
    random.shuffle(shuffled)
    one, other = parsed(assertions), parsed(shuffled)
    assert (one is None) == (other is None)
    if one is not None:
        assert (one.low, one.high) == (other.low, other.high)
        assert evaluate_term(one.constraint, point) == evaluate_term(other.constraint, point)


@given(specifications())
def test_writing_and_reading_gives_the_same_specification(assertions: list[Any]) -> None:
    specification = parsed(assertions)
    if specification is not None:
        assert parse_vnnlib(write_vnnlib(specification)) == specification


@given(specifications(), st.data())
def test_space_and_comments_do_not_matter(assertions: list[Any], data: st.DataObject) -> None:
    gaps = st.sampled_from(["\n", "\t", " ; (comment\n", "\r\n"])
    text = specification_text(assertions)
    spaced = "".join(data.draw(gaps) if c == "\n" else c for c in text)
    assert parsed(assertions) is None or parse_vnnlib(spaced) == parse_vnnlib(text)


WORDS = (
    "( ( ( ( ) ) ) ) - assert declare-const declare-fun Real X_0 Y_0 X_1 or and <= >= = + * 0 1.5 1e999 ٣ "
    'nan | " \0 \ud800 vnnlib-version ;x\n'
)


@settings(max_examples=300)
@given(st.one_of(st.text(), st.lists(st.sampled_from(WORDS.split(" "))).map(" ".join)))
@example("(" * 100_000)
@example("(assert " + "(or " * 100_000)
@example("(declare-const X_0 Real)(assert (<= X_0 " + "(- " * 90 + "X_0" + ")" * 90 + "))")
def test_random_text_gives_a_specification_or_an_error_of_one_line(text: str) -> None:
    start = specification_text([*BOUNDS, OUTPUT])
    for read in (parse_vnnlib, read_witness, lambda t: parse_vnnlib(start + t)):
        error = refusal(read, text)
        assert error is None or (len(str(error).splitlines()) == 1 and error.where)


float32 = st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1)


@given(float32, float32)
def test_witnesses_read_back_bit_for_bit(x: list[float], y: list[float]) -> None:
    witness = read_witness(witness_text(x, y))
    assert [v.hex() for v in (*witness.inputs, *witness.outputs)] == [v.hex() for v in (*x, *y)]
