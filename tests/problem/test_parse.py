# ruff: noqa: E501 - one text with its meaning on each line
"""The text syntax: precedence, what is built, limits, and errors that point at their place."""

import sys
import time
from fractions import Fraction

import pytest

from surefoot.errors import InvalidProblem
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
from surefoot.term.decimal_literals import read_number
from surefoot.term.parser import parse_term
from surefoot.term.term import (
    FALSE,
    TRUE,
    Apply,
    Const,
    Op,
    Term,
    Var,
    array_term,
    conjunction_of,
    disjunction_of,
    equal,
    ite,
    negate_number,
)

a, b, c, d, x, y = (Var(n) for n in "abcdxy")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", Const(1)),
        ("0.25", Const(Fraction(1, 4))),
        ("1e-3", Const(Fraction(1, 1000))),
        ("2.50E+1", Const(25)),
        ("1/3", Const(Fraction(1, 3))),
        ("-5", Const(-5)),
        ("1/0", Apply(Op.DIV, (Const(1), Const(0)))),
        ("true", TRUE),
        ("x + 1 - y", (x + 1) - y),
        ("x + (1 - y)", x + (1 - y)),
        ("-x^2", negate_number(x**2)),
        ("-x * y", negate_number(x) * y),
        ("x * -3", x * -3),
        ("x^y^2", x ** (y**2)),
        ("2^-x", Const(2) ** negate_number(x)),
        ("x / y % 2", (x / y) % 2),
        ("a and b and c or d", disjunction_of((conjunction_of((a, b, c)), d))),
        ("a & (b and c)", conjunction_of((a, b, c))),
        ("a | b => c => d", Apply(Op.IMPLIES, (a | b, Apply(Op.IMPLIES, (c, d))))),
        ("not a = b", ~equal(a, b)),
        ("a != b", ~equal(a, b)),
        ("!a & ~b", conjunction_of((~a, ~b))),
        ("x > y", y < x),
        ("x >= y", y <= x),
        ("x == y", equal(x, y)),
        ("0 <= x < 10", conjunction_of((Const(0) <= x, x < 10))),
        ("10 >= x > y", conjunction_of((x <= 10, y < x))),
        ("true and false", FALSE),
        ("a and true", a),
        ("a[x + 1][0]", a[x + 1][0]),
        ("[1, x][0]", array_term(1, x)[0]),
        ("[]", array_term()),
        ("ite(a, 1, x)", ite(a, 1, x)),
        ("min(x, y, 1)", Apply(Op.MIN, (x, y, Const(1)))),
        ("sum(x, y, 1)", Apply(Op.ADD, (x, y, Const(1)))),
        ("trc(x)", Apply(Op.TRUNC, (x,))),
        ("output[3] < 1", Var("output[3]") < 1),
        ("`output`[3]", Var("output")[3]),
        ("chosen(accelerate)", Var("chosen(accelerate)")),
        ("chosen(`speed up`)", Var("chosen(speed up)")),
        ("at(car, drive)", Var("at(car, drive)")),
        ("stalled or deadlocked", Var("stalled") | Var("deadlocked")),
        (r"`a\`b\\c\u{20}d`", Var("a`b\\c d")),
        ("min", Var("min")),
        (" x\n +\t1 ", x + 1),
    ],
)
def test_reads(text: str, expected: Term) -> None:
    assert parse_term(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: the text ends where a number, a name or `(` is expected; fix: write what is missing"),
        ("x +", "1:4: the text ends where a number, a name or `(` is expected; fix: write what is missing"),
        (
            "x\n+ )",
            "2:3: unexpected `)` where a number, a name or `(` is expected; fix: write what is missing",
        ),
        ("(x", "1:3: the text ends where `)` after the expression is expected; fix: add `)`"),
        ("x > 3 adn y", "1:7: unexpected `adn` where an operator is expected; fix: did you mean `and`?"),
        ("x OR y", "1:3: unexpected `OR` where an operator is expected; fix: did you mean `or`?"),
        ("x && y", "1:3: unexpected `&&` where an operator is expected; fix: did you mean `and`?"),
        ("x || y", "1:3: unexpected `||` where an operator is expected; fix: did you mean `or`?"),
        (
            "x and and y",
            "1:7: unexpected `and` where a number, a name or `(` is expected; fix: write what is missing",
        ),
        ("stalledd", "1:1: unknown name `stalledd`; fix: known names: `x`, `y`, `speed`"),
        (
            "x y",
            "1:3: unexpected `y` where an operator is expected; fix: remove it, or write an operator before it",
        ),
        ("mx(x, y)", "1:1: unknown function `mx`; fix: did you mean `max`?"),
        ("sin(x, y)", "1:1: `sin` takes 1 argument, not 2; fix: leave out the rest"),
        ("ite(x)", "1:1: `ite` takes 3 arguments, not 1; fix: add what is missing"),
        ("min(x)", "1:1: `min` takes at least 2 arguments, not 1; fix: add what is missing"),
        ("speeed > 3", "1:1: unknown name `speeed`; fix: did you mean `speed`?"),
        ("1 + `speeed`", "1:5: unknown name `speeed`; fix: did you mean `speed`?"),
        ("0 < x > 1", "1:7: these comparisons cannot be chained; fix: join them with `and`"),
        ("0 != x != 1", "1:8: these comparisons cannot be chained; fix: join them with `and`"),
        (
            "0 < ite(0 < x < 1, x, y) < 1",
            "1:26: a chain of comparisons inside another one; fix: join them with `and`",
        ),
        ("x + not y", "1:5: `not` needs parentheses here; fix: write `(not …)`"),
        ("x ≤ 3", "1:3: unexpected character `≤`; fix: write `<=`"),
        ("größe", "1:3: unexpected character `ö`; fix: put the name in backquotes"),
        ("x\u202e", "1:2: unexpected character `\\u{202e}`; fix: remove it"),
        ("`x", "1:1: a quoted name is not closed; fix: end it with a backquote"),
        (r"`\n`", r"1:1: unknown escape in a quoted name; fix: the escapes are \`, \\ and \u{hex}"),
        (r"`\u{110000}`", r"1:1: `\u{110000}` is not a character; fix: the last one is \u{10ffff}"),
        ("output[x]", "1:8: the number of an output has to be a whole number; fix: write a number such as 3"),
        ("chosen()", "1:8: unexpected `)` where an action is expected; fix: write its name"),
        ("at(car)", "1:7: unexpected `)` where `,` after the component is expected; fix: add `,`"),
    ],
)
def test_refuses(text: str, message: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        parse_term(text, names=["x", "y", "speed"])
    assert str(caught.value) == message


def test_without_names_any_name_is_read() -> None:
    assert parse_term("whatever") == Var("whatever")


def test_constants_are_replaced_as_if_they_had_been_written() -> None:
    constants = {"N": Const(4), "on": TRUE}
    assert parse_term("x / N + -N and on", names=["x"], constants=constants) == parse_term(
        "x / 4 + -4 and true"
    )
    assert parse_term("1 / N", constants=constants) == Const(Fraction(1, 4))
    assert parse_property("within N x", constants=constants) == Within(x, 4)


def test_a_long_number_is_exact() -> None:
    digits = "7" * 10_000
    value = read_number(digits)
    assert value % 10**4000 == int("7" * 4000)
    assert value // 10**9990 == 7777777777
    assert parse_term("1e10000") == Const(10**10000)
    assert parse_term("1e-10000") == Const(Fraction(1, 10**10000))


@pytest.mark.parametrize(
    "text",
    [
        "(" * 100_000,
        "-" * 100_000 + "x",
        "not " * 100_000 + "x",
        "[" * 100_000,
        "min(" * 100_000,
        "x^" * 100_000 + "x",
        "x=>" * 100_000 + "x",
        "x+" * 100_000 + "x",
        "a[" * 100_000,
        "(" * 150 + "x+" * 150,
        "ite(a, x, " * 201 + "x" + ")" * 201,
    ],
    ids=lambda text: text[:8],
)
def test_deep_nesting_is_refused_at_once(text: str) -> None:
    began = time.monotonic()
    with pytest.raises(InvalidProblem, match="nests more than 200 levels deep"):
        parse_term(text)
    assert time.monotonic() - began < 2


def test_nesting_up_to_the_limit_is_read_and_compared() -> None:
    text = "min(x, " * 198 + "x" + ")" * 198
    assert parse_term(text) == parse_term(text)
    assert isinstance(parse_term("(" * 199 + "x" + ")" * 199), Var)


def test_a_deep_caller_gets_the_same_error_instead_of_a_recursion_error() -> None:
    def deep(levels: int) -> Term:
        return parse_term("(" * 150 + "x" + ")" * 150) if levels == 0 else deep(levels - 1)

    frames = sys.getrecursionlimit() - 300
    with pytest.raises(InvalidProblem, match="nests more than 200 levels deep"):
        deep(frames - len_of_stack())


def len_of_stack() -> int:
    frame, count = sys._getframe(), 0
    while frame is not None:
        frame, count = frame.f_back, count + 1
    return count


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x" * 1_000_001, "1:1: the text has 1000001 characters; fix: at most 1000000 are read"),
        ("1" * 10_001, "1:1: a number of 10001 digits; fix: at most 10000 digits are read"),
        (
            "[" + "1e10000, " * 200 + "1]",
            "1:902: the numbers of this text are too large together; fix: use fewer large exponents",
        ),
        (
            "1e9999 / " * 1000 + "1",
            "1:44: a number of more than 100000 bits; fix: use smaller numbers and exponents",
        ),
    ],
    ids=lambda text: text[:8],
)
def test_size_is_limited_before_anything_is_built(text: str, message: str) -> None:
    began = time.monotonic()
    with pytest.raises(InvalidProblem) as caught:
        parse_term(text)
    assert str(caught.value) == message
    assert time.monotonic() - began < 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("never x > 3", Never(Const(3) < x)),
        ("always x <= 3", Never(~(x <= 3))),
        ("never x for 3 steps", Never(x, 3)),
        ("never x at the start", Never(x, 0)),
        ("never x > 3 before x = 7", NeverBefore(Const(3) < x, equal(x, 7))),
        ("always x <= 3 before x = 7 for 5 steps", NeverBefore(~(x <= 3), equal(x, 7), 5)),
        ("never before before x > 3 at the start", NeverBefore(Var("before"), Const(3) < x, 0)),
        ("always x at the start", Never(~x, 0)),
        ("eventually x", Eventually(x)),
        ("recurs x", Recurs(x)),
        ("within 20 x = 3", Within(equal(x, 3), 20)),
        ("within 20 x after 5", Within(x, 20, 5)),
        ("P=? [ F x ]", Probability(Path("F", x))),
        ("Pmin=? [ X x ]", Probability(Path("X", x), None, "min")),
        (
            "P<=0.01 [ a U<=20 b ]",
            Probability(Path("U", b, a, (Bound(high=Const(20)),)), Threshold("<=", Fraction(1, 100))),
        ),
        ("P>1/3 [ G<5 x ]", Probability(Path("G", x, bounds=(Bound(None, Const(5), None, True),)), Threshold(">", Fraction(1, 3)), over="min")),
        ("P>1/3 [ F x ] over max", Probability(Path("F", x), Threshold(">", Fraction(1, 3)))),
        ("P=? [ F[2, 5){e}>=3 (x) ]", Probability(Path("F", x, bounds=(Bound(Const(2), Const(5), None, True), Bound(Const(3), None, "e"))))),
        ("P=? [ F<=y (x) ]", Probability(Path("F", x, bounds=(Bound(None, y),)))),
        ("P=? [ a W b ] over avg", Probability(Path("W", b, a), over="avg")),
        ("E=? [ steps until x ]", Expected("steps", x)),
        ("Emax>=3 [ (x + 1) until a ] over values of y", Expected(x + 1, a, Threshold(">=", Fraction(3)), "max", "values", y)),
    ],
)  # fmt: skip
def test_reads_a_property(text: str, expected: object) -> None:
    assert parse_property(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: the property is empty; fix: write `never BAD` first"),
        ("nevr x", "1:1: unknown kind of property `nevr`; fix: did you mean `never`?"),
        ("never", "1:6: the text ends where a number, a name or `(` is expected; fix: write what is missing"),
        (
            "never x )",
            "1:9: unexpected `)` where the end of the property is expected; fix: remove it, or write an operator before it",
        ),
        ("never x for 3", "1:14: the text ends where `steps` after the number is expected; fix: add `steps`"),
        (
            "never x for 3 step",
            "1:15: unexpected `step` where `steps` after the number is expected; fix: did you mean `steps`?",
        ),
        (
            "never x fro 3 steps",
            "1:9: unexpected `fro` where the end of the property is expected; fix: did you mean `for`?",
        ),
        ("never x at start", "1:12: unexpected `start` where `the` after `at` is expected; fix: add `the`"),
        ("never stalledd", "1:7: unknown name `stalledd`; fix: did you mean `stalled`?"),
        ("never output > 3", "1:7: unknown name `output`; fix: did you mean `output[0]`?"),
        ("never chosen", "1:7: unknown name `chosen`; fix: did you mean `chosen(ACTION)`?"),
        ("within x x", "1:8: the number of steps has to be a whole number; fix: write a number such as 3"),
        ("within 2.5 x", "1:8: the number of steps has to be a whole number; fix: write a number such as 3"),
        (
            "P [ F x ]",
            "1:3: unexpected `[` where `=?` or a limit such as `<= 0.01` is expected; fix: write `=?` to ask for the value",
        ),
        ("P=? F x", "1:5: unexpected `F` where `[` after `P` and `=?` or a limit is expected; fix: add `[`"),
        (
            "P=? [ x ]",
            "1:9: unexpected `]` where `U`, `W` or `R` (or `X`, `F`, `G` in front) is expected; fix: write `F GOAL` for: the goal is reached",
        ),
        ("P<=1/0 [ F x ]", "1:4: the limit divides by zero; fix: write a number"),
        (
            "E=? [ steps x ]",
            "1:13: unexpected `x` where `until` after what is counted is expected; fix: add `until`",
        ),
        ("P=? [ F x ] over value", "1:18: unknown filter `value`; fix: did you mean `values`?"),
    ],
)
def test_refuses_a_property(text: str, message: str) -> None:
    with pytest.raises(InvalidProblem) as caught:
        parse_property(text, names=["x"])
    assert str(caught.value) == message
