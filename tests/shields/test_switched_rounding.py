"""What rounding, limits and foreign numbers do to shields of actions: nothing false is claimed."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import surefoot as sf
from surefoot.cli import run_command_line
from surefoot.errors import SurefootError, Unsupported
from surefoot.problem.problem import Problem
from surefoot.search.switched_shield import make_switched_synthesis
from surefoot.shields.switched.rounded_condition import loosen_condition
from surefoot.shields.switched.sliding_set import SlidingSet
from surefoot.shields.switched.switched_shield import make_switched_shield
from surefoot.shields.switched.switched_system import read_switched_system
from surefoot.term.parser import parse_term
from surefoot.term.value_types import Real
from surefoot.work.budget import Budget

CART = """
arithmetic = "{arithmetic}"
initial = "-0.2 <= x <= 0.2 and -0.1 <= v <= 0.1"
[variables]
x = "{kind}"
v = "real"
[[edges]]
action = "left"
{left}
updates = {{ x = "x + 0.05 * v", v = "v - 0.05" }}
[[edges]]
action = "right"
updates = {{ x = "x + 0.05 * v", v = "v + 0.05" }}
[properties]
p = "{property}"
"""


def cart(folder: Path, property: str, **parts: str) -> Path:
    given = {"arithmetic": "float64", "kind": "real", "left": "", "property": property, **parts}
    model = folder / "cart.toml"
    model.write_text(CART.format(**given))
    return model


def test_bad_is_what_may_be_computed_to_be(tmp_path: Path) -> None:
    """With 6e15 added, what is left of x is a whole number: 0.6 is computed to be 1."""
    asked = "never (x + 6000000000000000.0) - 6000000000000000.0 > 0.9 or x > 1 or x < -1"
    found = None
    with contextlib.suppress(Unsupported):
        found = make_switched_synthesis(sf.load(cart(tmp_path, asked), no_policy=True), Budget(10))
    assert found is None or not found.is_accepted or found.shield.obligation.hull[0][1] < Fraction(1, 2)


@pytest.mark.parametrize(
    ("text", "may", "expected"),
    [
        ("x > 1", True, "x > 1"),
        ("not x <= 1 or x = 1", True, "not x <= 1 or x = 1"),
        ("true", True, "true"),
        ("x * x = 1", False, "false"),
    ],
)
def test_what_is_not_rounded_stays(text: str, may: bool, expected: str) -> None:
    kinds = {"x": Real(Fraction(-2), Fraction(2))}
    assert loosen_condition(parse_term(text), kinds, may) == parse_term(expected)


def test_what_is_rounded_is_loosened_outwards() -> None:
    from surefoot.term.evaluate import evaluate_term as evaluate

    kinds = {"x": Real(Fraction(-2), Fraction(2))}
    edge = {"x": Fraction(1) - Fraction(1, 2**54)}  # whose square in float64 is 1
    for text, exact in (("x * x >= 1", False), ("not x * x < 1", False), ("x * x = 1", False)):
        assert evaluate(parse_term(text), edge) is exact
        assert evaluate(loosen_condition(parse_term(text), kinds), edge) is True
    assert evaluate(loosen_condition(parse_term("x * x < 1 => false"), kinds), edge) is True
    with pytest.raises(Unsupported, match="no comparisons of numbers"):
        loosen_condition(parse_term("ite(x > 0, x > 1, x < -1)"), kinds)


def test_limits_are_kept(tmp_path: Path) -> None:
    """A run that leaves the limits of a variable has no answer, so nothing may lead there."""
    model = cart(tmp_path, "never x > 1 or x < -1", kind="real [-0.6, 0.6]")
    found = make_switched_synthesis(sf.load(model, no_policy=True), Budget(60))
    assert found.is_accepted
    assert found.covered == 1
    low, high = found.shield.obligation.hull[0]
    assert Fraction(-6, 10) <= low < high <= Fraction(6, 10)


def test_a_plane_that_float64_cannot_see() -> None:
    """Far from the origin the rounding of a height is more than the proof leaves open."""
    x, v = sf.real("x"), sf.real("v")
    far = 10**11
    start = (x >= far) & (x <= far + 1) & (v >= 0) & (v <= 1)
    env = sf.Environment("far", start=start, arithmetic="float64")
    env = env.edge("l", update={x: x + 0.05 * v, v: v - 0.05})
    env = env.edge("r", update={x: x + 0.05 * v, v: v + 0.05})
    problem = Problem("far", env, None, sf.never((x > far + 9) | (x < far - 9)))
    rows = ((Fraction(1, 2), Fraction(1)), (Fraction(1), Fraction(0)))
    candidate = SlidingSet(rows, (Fraction(far), Fraction(0)), (Fraction(1, 10), Fraction(1)), "l", "r")
    with pytest.raises(Unsupported, match="too coarse"):
        make_switched_shield(problem, read_switched_system(problem), candidate)


def test_numbers_of_float32_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SurefootError, match="holds float32 numbers only"):
        sf.shield(sf.load(cart(tmp_path, "never x > 1 or x < -1", kind="float32 [-9, 9]"), no_policy=True))


def outcome(capsys: Any, *words: str) -> tuple[int, str]:
    code = run_command_line(["shield", *words])
    return code, capsys.readouterr().err


def test_exact_numbers_are_no_source_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = cart(tmp_path, "never x > 1 or x < -1", arithmetic="exact")
    for option, path in (("--python", "guard.py"), ("--c", "guard")):
        code, error = outcome(capsys, str(model), option, str(tmp_path / path))
        assert code == 2
        assert f"error: {option}: source code computes in float64, this environment in exact numbers" in error
    found = make_switched_synthesis(sf.load(model, no_policy=True), Budget(60))
    assert found.is_accepted
    with pytest.raises(Unsupported, match="source code computes in float64"):
        found.python()


def test_an_action_whose_rounding_has_no_bound(tmp_path: Path) -> None:
    """It is permitted where the model does it, but source code of it could be far away."""
    model = cart(tmp_path, "never x > 1 or x < -1")
    text = model.read_text().replace(
        "[properties]", '[[edges]]\naction = "brake"\nupdates = { v = "V" }\n[properties]'
    )
    model.write_text(text.replace('"V"', '"ite(v > 0.1, v - 0.1, v)"'))
    found = make_switched_synthesis(sf.load(model, no_policy=True), Budget(60))
    assert found.is_accepted
    for write in (found.python, lambda: found.c("guard")):
        with pytest.raises(Unsupported, match="source code might do other steps"):
            write()


def test_source_code_leaves_room_for_steps_that_are_rounded_otherwise(tmp_path: Path) -> None:
    """C may add products at once: where that makes a difference, limits are narrower than the set."""
    model = cart(tmp_path, "never x > 1 or x < -1")
    text = model.read_text()
    for sign in "-+":
        text = text.replace(f'"v {sign} 0.05"', f'"v * 3000000 - 2999999 * v {sign} 0.05"')
    model.write_text(text)
    shield = make_switched_synthesis(sf.load(model, no_policy=True), Budget(60)).shield
    worst = max(shield.obligation.errors)
    assert worst > Fraction(1, 10**11)
    middle = sum(w * c for w, c in zip(shield.found.rows[0], shield.found.centre, strict=True))
    weight = abs(shield.found.rows[0][1])
    assert shield.limits[0][1] <= middle + shield.found.radii[0] - weight * worst


def test_the_command_says_what_does_not_fit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = cart(tmp_path, "never x > 1 or x < -1", left='guard = "x > -0.5"')
    code, error = outcome(capsys, str(model), "--python", str(tmp_path / "guard.py"))
    assert code == 2
    assert "the action `left` is not always possible" in error


PUSHED = """
arithmetic = "float64"
initial = "-0.1 <= th <= 0.1 and -0.1 <= om <= 0.1 and push = 0"
[variables]
th = "real"
om = "real"
push = "real"
[flow]
step = 0.02
method = "{method}"
derivatives = {{ th = "om", om = "9.81 * sin(th) + push - 0.1 * om" }}
[[edges]]
action = "l"
updates = {{ push = "-6" }}
[[edges]]
action = "r"
updates = {{ push = "6" }}
[properties]
p = "never th > 0.5 or th < -0.5"
"""


@pytest.mark.parametrize("method", ["euler", "rk4"])
def test_a_push_that_acts_a_step_later(method: str, tmp_path: Path) -> None:
    """What is held for a step has no motion of its own: no set is found yet, and nothing breaks."""
    model = tmp_path / "pushed.toml"
    model.write_text(PUSHED.format(method=method))
    with pytest.raises(Unsupported, match="no set was found"):
        make_switched_synthesis(sf.load(model, no_policy=True), Budget(20))


@pytest.mark.parametrize(
    "scale", [Fraction(1, 10**9), Fraction(10**9), Fraction(1, 10**200), Fraction(10**200)]
)
def test_units_do_not_matter(scale: Fraction) -> None:
    x, v = sf.real("x"), sf.real("v")
    start = (x >= -scale / 5) & (x <= scale / 5) & (v >= -scale / 10) & (v <= scale / 10)
    env = sf.Environment("cart", start=start, arithmetic="float64")
    for action, push in (("left", -scale / 20), ("right", scale / 20)):
        env = env.edge(action, update={x: x + 0.05 * v, v: v + push})
    problem = Problem("cart", env, None, sf.never((x > scale) | (x < -scale)))
    if Fraction(1, 10**30) < scale < 10**30:
        found = make_switched_synthesis(problem, Budget(60))
        assert found.is_accepted
        assert found.covered == 1
    else:
        with pytest.raises(Unsupported):
            make_switched_synthesis(problem, Budget(20))
