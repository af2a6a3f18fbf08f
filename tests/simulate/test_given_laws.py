"""Laws of start values: drawn by simulation, given the initial condition, and invisible elsewhere."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.laws.start_conditions import start_environment

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.jani.export.model import write_jani
from surefoot.formats.problem_file import read_problem_file
from surefoot.problem.environment import Environment, Law
from surefoot.problem.semantics import is_initial
from surefoot.problem.validate.environment import check_environment
from surefoot.simulate.starts import StartSamples, draw_starts
from surefoot.term.parser import parse_term
from surefoot.term.value_types import Arithmetic, Array, Bool, Int, Real, ValueType
from surefoot.work.fingerprint import content_fingerprint

COUNT = 20_000
WIDE = Real(Fraction(-10), Fraction(10))


def environment_with(
    kinds: dict[str, ValueType],
    initial: str,
    laws: dict[str, Law],
    arithmetic: Arithmetic = Arithmetic.EXACT,
) -> Environment:
    return replace(start_environment(kinds, parse_term(initial), arithmetic), start_laws=laws)


def draw(environment: Environment, count: int = COUNT) -> StartSamples:
    check_environment(environment)
    found = draw_starts(environment, count, np.random.default_rng(6))
    assert all(is_initial(environment, s) for s in found.states(environment, range(0, count, 97)))
    return found


@pytest.mark.parametrize("arithmetic", list(Arithmetic))
def test_values_follow_their_laws(arithmetic: Arithmetic) -> None:
    kinds = {"x": WIDE, "y": WIDE, "n": Int(0, 9), "b": Bool(), "m": Int(3, 3)}
    laws = {
        "x": Law("uniform", (Fraction(0), Fraction(1, 3))),
        "y": Law("normal", (Fraction(1), Fraction(1, 2))),
        "n": Law("integer", (Fraction(2), Fraction(5))),
        "b": Law("uniform", (Fraction(0), Fraction(1))),
    }
    found = draw(environment_with(kinds, "true", laws, arithmetic))
    assert (found.law, found.failed) == ("given", 0)
    assert found.how == "by the laws of `x`; by the laws of `y`; by the laws of `n`; by the laws of `b`"
    x, y, n = (found.columns[c] for c in "xyn")
    assert x.min() >= 0
    assert x.max() <= 1 / 3
    assert abs(x.mean() - 1 / 6) < 0.003
    assert abs(y.mean() - 1) < 0.015
    assert abs(y.std() - 0.5) < 0.01
    assert set(n) == {2, 3, 4, 5}
    assert abs(n.mean() - 3.5) < 0.04
    assert abs(found.columns["b"].mean() - 0.5) < 0.015


def test_laws_are_conditioned_on_the_condition_and_on_the_kinds() -> None:
    """Two uniform numbers below a diagonal, a normal number of which half is cut off, two dice."""
    unit = Law("uniform", (Fraction(0), Fraction(1)))
    die = Law("integer", (Fraction(1), Fraction(6)))
    kinds = {"x": WIDE, "y": WIDE, "z": Real(Fraction(0), None), "n": Int(1, 6), "m": Int(1, 6)}
    laws = {"x": unit, "y": unit, "z": Law("normal", (Fraction(0), Fraction(1))), "n": die, "m": die}
    found = draw(environment_with(kinds, "x + y <= 1 & n + m >= 10", laws))
    assert found.law == "given"
    x, y, z = (found.columns[c] for c in "xyz")
    assert abs((x + y <= 0.5).mean() - 0.25) < 0.015
    assert abs(z.mean() - np.sqrt(2 / np.pi)) < 0.02
    sums = found.columns["n"] + found.columns["m"]
    assert [round(float((sums == s).mean()), 1) for s in (10, 11, 12)] == [0.5, 0.3, 0.2]


def test_variables_without_a_law_follow_equations_or_are_uniform() -> None:
    kinds = {"x": WIDE, "y": Real(), "z": Real(Fraction(0), Fraction(3)), "k": Int(0, 9)}
    laws = {"x": Law("uniform", (Fraction(0), Fraction(1)))}
    environment = environment_with(kinds, "y = x / 3 & z >= x & k = 4", laws)
    found = draw(environment, 2000)
    assert (found.law, found.how) == ("given", "by the laws of `x`")
    assert all(3 * s["y"] == s["x"] for s in found.states(environment))
    assert found.columns["z"].max() > 2.9
    assert (found.columns["z"] >= found.columns["x"]).all()
    with pytest.raises(Unsupported, match="`y` is tied to start values with laws"):
        draw(environment_with(kinds, "y > x", laws), 5)


def test_laws_that_never_meet_the_condition_are_refused() -> None:
    laws = {"x": Law("uniform", (Fraction(0), Fraction(1)))}
    with pytest.raises(Unsupported, match="hardly ever meet the initial condition: 0 of"):
        draw(environment_with({"x": WIDE}, "x > 1.5", laws), 5)


def test_searches_do_not_look_at_laws() -> None:
    environment = environment_with({"x": WIDE}, "x > 0", {"x": Law("uniform", (Fraction(0), Fraction(1)))})
    found = draw_starts(environment, 200, np.random.default_rng(1), corners=True)
    assert found.law == "spread"
    assert found.columns["x"].max() == 10


@pytest.mark.parametrize(
    ("laws", "what"),
    [
        ({"z": Law("uniform", (0, 1))}, "there is no variable `z`"),
        ({"x": Law("unifrm", (0, 1))}, "unknown law `unifrm`"),
        ({"x": Law("integer", (0, 1))}, "law `integer` does not fit the kind of `x`"),
        ({"a": Law("integer", (0, 1))}, "`a` is an array"),
        ((("x", Law("uniform", (0, 1))), ("x", Law("uniform", (0, 2)))), "the law of `x` is declared twice"),
        ((("x", Law("normal", (0, -1))),), "the deviation of `x` is negative"),
    ],
)
def test_laws_are_checked(laws: object, what: str) -> None:
    plain = start_environment({"x": WIDE, "a": Array(Int(0, 1), 2)}, parse_term("true"))
    with pytest.raises(InvalidProblem) as refused:
        check_environment(replace(plain, start_laws=laws))
    assert what in str(refused.value)
    assert "environment.start_laws[" in str(refused.value)


TEXT = """
initial = "x >= 0 and n > 1"
[constants]
W = 3
[variables]
x = "real"
n = "int 0..9"
[starts]
x = "normal(0, W / 2)"
n = "integer(0, W)"
[[edges]]
updates = {{ x = "x + {step}" }}
[properties]
safe = "never x > 100"
"""


def test_laws_stand_in_problem_files(tmp_path: Path) -> None:
    path = tmp_path / "laws.toml"
    path.write_text(TEXT.format(step=1), encoding="utf-8")
    environment = read_problem_file(path).environment
    assert environment.start_laws == (
        ("x", Law("normal", (Fraction(0), Fraction(3, 2)))),
        ("n", Law("integer", (Fraction(0), Fraction(3)))),
    )
    found = draw_starts(environment, 500, np.random.default_rng(2))
    assert found.law == "given"
    assert set(found.columns["n"]) == {2, 3}
    with pytest.raises(Unsupported, match="JANI has no laws of start values"):
        write_jani(environment)
    path.write_text(TEXT.format(step=1).replace("integer(0, W)", "integer(W, 0)"), encoding="utf-8")
    with pytest.raises(InvalidProblem, match=r"laws\.toml:10:6: the lower limit 3 of `n` is above"):
        read_problem_file(path)


def test_without_laws_nothing_is_different() -> None:
    """The fingerprint names recorded runs: one more field must not change it."""
    before = "6f3148638693af520506336c50b040618688acccee52528f85af22bb201fdb57"
    plain = start_environment({"x": WIDE}, parse_term("x > 0"))
    assert content_fingerprint(plain) == before
    assert content_fingerprint(replace(plain, start_laws={"x": Law("uniform", (0, 1))})) != before
