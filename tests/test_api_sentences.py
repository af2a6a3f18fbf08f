"""What a new user writes first: it works, or one sentence says what to write instead."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import surefoot as sf
from tests.test_api import counter, here

__all__ = ["here"]  # the fixture

X, Y, OPEN = sf.integer("x", 0, 9), sf.integer("y", 0, 9), sf.boolean("open")


def said_by(call: Callable[[], object]) -> str:
    """The sentence, which is one line and says what to do."""
    with pytest.raises(sf.SurefootError) as raised:
        call()
    text = str(raised.value)
    assert "\n" not in text
    assert text.count("; fix: ") == 1, text
    return text


def test_the_property_may_stand_second_where_the_problem_has_a_policy(here: Path) -> None:
    assert sf.check("toy.toml", "below_ten", engine="bmc").data.problem == "toy/below_ten"
    assert sf.check("walk.toml", "never n = 4").violated
    assert sf.check("walk.toml", sf.never("n = 4")).violated
    assert sf.check(sf.load("walk.toml", "ends"), "never n = 4").violated
    assert "did you mean `ends`" in said_by(lambda: sf.check("walk.toml", "ens"))
    for path in ("missing.onnx", "nets/best"):
        assert f"{path}: there is no such file" in said_by(lambda path=path: sf.check("walk.toml", path))


def test_a_file_that_is_called_like_a_property_is_a_policy(here: Path) -> None:
    Path("ends").write_text("no network")
    assert "ends: nothing says what the network observes" in said_by(lambda: sf.check("walk.toml", "ends"))
    assert sf.check("walk.toml", property="ends").violated


def test_a_text_that_is_no_policy_does_not_make_somebody_act() -> None:
    x, env = counter()
    pi = sf.Policy.program([(x >= 0, "up")])
    for asked in ("never x = 5", sf.never(x == 5)):
        told = said_by(lambda asked=asked: sf.check(env, asked))
        assert "policy: nobody acts in the environment" in told
        assert "Problem(name, environment, None, property)" in told
    assert sf.check(sf.Problem("all", env, None, sf.never(x == 5))).violated
    assert "fix: write check(problem, policy, property)" in said_by(
        lambda: sf.check(env, sf.never(x == 5), pi)
    )
    assert "fix: write check(problem, policy, property)" in said_by(lambda: sf.check(env, pi, pi))
    assert "fix: ask about one at a time" in said_by(lambda: sf.check(env, pi, [sf.never(x == 5)]))
    assert "`x = 5` alone is no property; fix: write never" in said_by(lambda: sf.check(env, pi, x == 5))
    assert "Policy.program" in said_by(lambda: sf.check(env, lambda state: "up", "never x = 5"))


def test_a_name_is_told_where_it_belongs(here: Path) -> None:
    told = said_by(lambda: sf.check(sf.load("walk.toml", "ends"), property="high"))
    assert "fix: name it where it is read: load('walk.toml', property=\"high\")" in told


@pytest.mark.parametrize(
    "build",
    [
        lambda: X > 1 & X < 5,
        lambda: (X > 1) & X < 5,
        lambda: X > 1 & (X < 5),  # noqa: SIM300 - as users write it
        lambda: X == 1 | X == 2,
        lambda: X > 1 | X < 5,
        lambda: ~X == 3,
        lambda: X + 1 | OPEN,
        lambda: sf.choose_value(OPEN, X, 3) & OPEN,
        lambda: OPEN.implies(X),
    ],
)
def test_numbers_between_conditions_ask_for_parentheses(build: Callable[[], object]) -> None:
    assert "fix: put parentheses round each comparison: (x > 1) & (x < 5)" in said_by(build)


def test_conditions_are_joined_whatever_they_are_made_of() -> None:
    bits = sf.array("bits", 3, sf.Bool())
    joined = (X > 1) & OPEN & bits[0] & sf.TRUE & "y > 3" & "other" & sf.choose_value(OPEN, bits[1], X == 2)
    assert "other" in str(joined)
    assert str(~OPEN | ~bits[X]) == "not open or not bits[x]"


@pytest.mark.parametrize("build", [lambda: max(X, 3), lambda: min(3, X), lambda: max([X, Y])])
def test_the_maximum_of_python_is_told_of_that_of_expressions(build: Callable[[], object]) -> None:
    assert "maximum(a, b) and minimum(a, b) for max and min" in said_by(build)


def test_a_maximum_is_an_expression_with_its_variables() -> None:
    top = sf.maximum(X, 3, Y)
    assert str(top) == "max(x, 3, y)"
    assert [v.name for v in top.variables] == ["x", "y"]
    assert str(sf.minimum("z", X)) == "min(z, x)"
    env = sf.Environment("up", start=X == 0).edge("go", update={X: sf.minimum(X + 2, 5)})
    pi = sf.Policy.program([(sf.TRUE, "go")])
    assert sf.check(env, pi, sf.never(X > 5), engine="explicit").proved
    assert sf.check(env, pi, sf.never(X == 5), engine="explicit").violated


@pytest.mark.parametrize(
    ("build", "fix"),
    [
        (lambda: 0 <= X <= 9, "(0 <= x) & (x <= 9) for a chain"),
        (lambda: X in [1, 2], "(x == 1) | (x == 2) for `x in [1, 2]`"),
        (lambda: not OPEN, "write &, |, ~ for and, or, not"),
        (lambda: OPEN & True, "write surefoot.TRUE for the constant"),
        (lambda: X // 2, "write math.floor(a / b)"),
        (lambda: 7 // X, "write math.floor(a / b)"),
        (lambda: OPEN ^ OPEN, "a != b for either of two conditions"),
        (lambda: round(X), "write math.floor(x + 0.5)"),
        (lambda: float(X), 'write other functions as text: "sin(x)"'),
        (lambda: math.sin(X), 'write other functions as text: "sin(x)"'),
        (lambda: int(X), "write other functions as text"),
        (lambda: list(X), "put it into a list, [x]"),
        (lambda: sf.integer("z", 0, 9.5), "give an int, or declare real"),
        (lambda: sf.integer("z", 9, 0), "give the lower limit first"),
        (lambda: sf.real("z", 1, "1/2"), "give the lower limit first"),
        (
            lambda: sf.Policy.from_file("net.onnx", observe=X, actions=["up"]),
            "give a tuple or a list, also of one",
        ),
        (
            lambda: sf.Policy.from_file("net.onnx", observe="x", actions=["up"]),
            "give a tuple or a list, also of one",
        ),
        (lambda: sf.load("walk.toml", observe=X), "give a tuple or a list, also of one"),
        (lambda: sf.load("walk.toml", observe=5), "give a tuple or a list, also of one"),
        (lambda: sf.load("walk.toml", actions=5), "give a tuple or a list, also of one"),
        (lambda: sf.Environment("e", start=X == 0, controls=Y), "give a tuple or a list, also of one"),
        (lambda: sf.heatmap("walk.toml", "high", where="n > 1"), "give a tuple or a list, also of one"),
        (lambda: sf.heatmap("walk.toml", "high", where=X > 1), "give a tuple or a list, also of one"),
        (lambda: sf.heatmap("walk.toml", "high", colour="red"), "`x`, `y`, `where`, `sweep`"),
        (lambda: sf.heatmap("walk.toml", "high", swep={}), "did you mean `sweep`"),
        (lambda: sf.check("walk.toml", "ends", engine=[]), "leave `engine` out for all that can"),
        (lambda: sf.check("walk.toml", "ends", budget=5), "did you mean `timeout`"),
        (lambda: sf.check("walk.toml", "ends", engine="explicit", depth=3), "it belongs to bmc, induction"),
    ],
)
def test_what_cannot_be_meant_has_a_sentence(build: Callable[[], object], fix: str, here: Path) -> None:
    assert fix in said_by(build).partition("; fix: ")[2]


def test_functions_of_python_that_have_a_meaning_build_expressions() -> None:
    assert str(math.floor(X / 2)) == "floor(x / 2)"
    assert str(math.ceil(X / 2)) == "ceil(x / 2)"
    assert str(2**X) == "2^x"
    assert str(abs(X)) == "abs(x)"


def test_a_saved_result_is_not_taken_for_a_certificate(here: Path) -> None:
    sf.check("walk.toml", "never n = 4").save("r.json")
    told = said_by(lambda: sf.check_certificate("r.json"))
    assert told.startswith(
        "r.json: this is a saved result, not a certificate; fix: run `surefoot certify r.json`"
    )
    Path("other.json").write_text("[1.5]")
    assert "saved result" not in said_by(lambda: sf.check_certificate("other.json"))


def test_the_package_has_a_version_and_knows_its_names() -> None:
    assert sf.__version__[0].isdigit()  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute `lod`; did you mean `load`"):
        _ = sf.lod  # type: ignore[attr-defined]


def test_options_of_a_heat_map_are_told(here: Path) -> None:
    q = sf.probability("walk.toml", "high")
    assert "no option `colour`; fix: known names: `path`, `x`, `y`, `where`" in said_by(
        lambda: q.heatmap("q.svg", colour="red")
    )
    assert not Path("q.svg").exists()
    assert said_by(lambda: q.heatmap(x="zz")).startswith("x: there is no state variable `zz`")
    assert "where: " in said_by(lambda: q.heatmap(where="n > 1"))
    assert "probability(…) or heatmap(…)" in said_by(sf.check("walk.toml", "never n = 4").heatmap)
    drawn = q.heatmap("m.svg", x="n", where=["n > 1"])
    assert [cell.starts[0]["n"] for cell in drawn.figure.panels[0].map.cells] == [2, 3]


@pytest.mark.parametrize("timeout", [None, 60])
@pytest.mark.parametrize("seed", [0.5, "1", -1, None])
def test_a_wrong_seed_is_named(timeout: Any, seed: Any, here: Path) -> None:
    assert said_by(lambda: sf.check("walk.toml", "ends", timeout=timeout, seed=seed)).startswith("seed: ")


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        ("x > 1 && x < 5", "did you mean `and`?"),
        ("x === 5", "did you mean `=`?"),
        ("x <> 5", "did you mean `!=`?"),
        ("x /= 5", "did you mean `!=`?"),
        ("x =< 5", "did you mean `<=`?"),
        ("x -> open", "did you mean `=>`?"),
        ("x <-> open", "did you mean `=`?"),
        ("x**2 > 5", "did you mean `^`?"),
        ("x // 2 > 5", "did you mean `floor(a / b)`?"),
        ("x is 5", "did you mean `=`?"),
        ("x in [1, 2]", "did you mean `x = 1 or x = 2`?"),
        ("x xor y", "did you mean `!=`?"),
        ("x mod 2 = 0", "did you mean `%`?"),
        ("mod(x, 2) = 0", "write `a % b`"),
        ("pow(x, 2) > 3", "write `a ^ b`"),
        ("clip(x, 0, 1) = 0", "write `max(low, min(x, high))`"),
        ("x > = 3", "write what is missing"),
    ],
)
def test_operators_of_other_languages_are_recognised(text: str, fix: str) -> None:
    assert said_by(lambda: sf.never(text)).endswith(f"; fix: {fix}")


def test_the_usual_spellings_of_a_condition_mean_the_same() -> None:
    meant = sf.never((X > 1) & (X == 5))
    for text in ("x > 1 and x = 5", "x>1 & x==5", "(x > 1) & (x == 5)"):
        assert sf.parse_property(f"never {text}", names=["x"]) == meant
    told = said_by(lambda: sf.check(counter()[1], sf.Policy.program([(X >= 0, "up")]), "x != 5"))
    assert told.endswith("fix: write `never` or `always` before the condition")
    for word, instead in (("G", "always GOOD"), ("F", "eventually GOOD")):
        told = said_by(lambda word=word: sf.parse_property(f"{word} x = 5"))
        assert f"fix: write `{instead}`" in told
    assert "did you mean `true`" in said_by(lambda: sf.parse_property("never x = True", names=["x"]))
