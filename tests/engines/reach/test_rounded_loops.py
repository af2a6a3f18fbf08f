"""What float64 does to starts, constants, powers, whole numbers and policies: nothing false is proved, and
the checker accepts no certificate of it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from surefoot.certify.reach.claim import build_reach_certificate
from surefoot.engines.reach import Reach
from surefoot.engines.reach.start_regions import enumerate_start_regions
from surefoot.interface.questions import load
from surefoot.problem.problem import Problem
from surefoot.reductions.closed_loop import read_closed_loop
from surefoot.verdict.verdict import Proved
from surefoot.work.budget import Budget
from surefoot_checker.check import CheckerVerdict, judge_certificate

STEPS = """
arithmetic = "float64"
initial = "{initial}"
[variables]
x = "real"
n = "int 0..9007199254740999"
[[edges]]
action = "go"
updates = {{ x = "{update}" }}
[policy.program]
branches = [{{ action = "go" }}]
[properties]
asked = "{asked}"
"""
TIMED = """
arithmetic = "{arithmetic}"
initial = "x = {start}"
[variables]
x = "real [-9, 9]"
[controls]
u = "[-10, 10]"
[flow]
period = 1
time = "continuous"
derivatives = {{ x = "{rate}" }}
[[edges]]
[policy.program]
branches = [{{ controls = ["{control}"] }}]
[properties]
asked = "{asked}"
"""
LARGE = 2**53  # the next whole number is no double


def problem_of(path: Path, text: str) -> Problem:
    file = path / "loop.toml"
    file.write_text(text, "utf-8")
    found: Problem = load(file)
    return found


def steps(
    path: Path, *, initial: str = "x = 0 and n = 0", update: str = "x", asked: str = "never x > 1"
) -> Problem:
    asked = f"{asked} for 2 steps"
    return problem_of(path, STEPS.format(initial=initial, update=update, asked=asked))


def timed(
    path: Path, rate: str, control: str, asked: str, start: str = "0", in_float64: bool = True
) -> Problem:
    arithmetic = "float64" if in_float64 else "exact"
    return problem_of(
        path, TIMED.format(arithmetic=arithmetic, start=start, rate=rate, control=control, asked=asked)
    )


def is_proved(problem: Problem) -> bool:
    return isinstance(Reach(order=10, taylor=4, pieces=4).check(problem, Budget(1.0)), Proved)


def judge(problem: Problem, shown: Mapping[str, Any], kind: str = "reach") -> CheckerVerdict:
    walk = {"bits": 96, "order": 10, "taylor": 4, "pieces": 1, **shown}
    return judge_certificate(build_reach_certificate(problem, walk, {}, kind).content)


def follow_point(problem: Problem, x: object, *whole: int) -> CheckerVerdict:
    boxes = [{"x": [str(x), str(x)], "n": n} for n in whole]
    tree = ["run", 2, ["done"]]
    return judge(problem, {"regions": [{"start": True, "box": box, "tree": tree} for box in boxes]})


def test_starts_between_two_numbers_that_mean_one_double(tmp_path: Path) -> None:
    """As written nothing is between the bounds; the double 0.1 is."""
    initial = "n = 0 and (x >= 0.1 and x <= 0.09999999999999999999999 or x = 5)"
    problem = steps(tmp_path, initial=initial, asked="never x < 1")
    assert not is_proved(problem)
    assert not follow_point(problem, 5, 0).accepted
    boxes = [region.box["x"] for region in enumerate_start_regions(read_closed_loop(problem))]
    assert (Fraction("0.1"), Fraction(0.1)) in boxes


def test_whole_starts_below_a_number_that_means_a_whole_one(tmp_path: Path) -> None:
    problem = steps(tmp_path, initial="x = 0 and n <= 0.99999999999999999999", asked="never n = 1")
    assert not is_proved(problem)
    assert "not covered" in follow_point(problem, 0, 0).reason


@pytest.mark.parametrize(
    ("update", "value"),
    [
        ("(0.1 + 0.2 - 0.3) * 10^17", 5.551115123125783),
        ("ite(0.1 <= 0.09999999999999999999999, 2, 0)", 2),
        ("ite(0.1 = 0.09999999999999999999999, 2, 0)", 2),
    ],
)
def test_constants_are_computed_in_doubles(update: str, value: float, tmp_path: Path) -> None:
    assert is_proved(steps(tmp_path, update=update, asked=f"never x > {value + 0.001}"))
    assert not is_proved(steps(tmp_path, update=update, asked=f"never x > {value - 0.001}"))


def test_constants_of_a_differential_equation_are_real(tmp_path: Path) -> None:
    """sin(1) is 0.841470984807896506652…; the double nearest to it is smaller by 1.78e-18."""
    rate = "(sin(1) - 0.8414709848078965) * 10^17 + u"
    assert not is_proved(timed(tmp_path, rate, "0", "never x > 0.6 for 1 seconds", in_float64=False))


def test_powers_are_products(tmp_path: Path) -> None:
    """Sixty products are off by more than ten times 2^-53."""
    x = 1.7743190661478598
    product = x
    for _ in range(59):
        product *= x
    between = (Fraction(product) + Fraction(x) ** 60) / 2
    assert Fraction(product) > between > Fraction(x) ** 60 * (1 + Fraction(5, 2**53))
    start = Fraction(x)
    problem = steps(
        tmp_path,
        initial=f"n = 0 and x = {start.numerator}/{start.denominator}",
        update="ite(x < 2, x^60, x)",
        asked=f"never x > {between.numerator}/{between.denominator}",
    )
    assert "a bad state may be reached" in follow_point(problem, start, 0).reason


@pytest.mark.parametrize(
    "update", [f"ite(n <= x + {LARGE}, 2, 0)", f"ite(n - {LARGE + 1} = 0, 2, 0)", f"n + x - {LARGE + 1}"]
)
def test_whole_numbers_beyond_all_doubles(update: str, tmp_path: Path) -> None:
    """They stay exact until they meet a real number; the checker has no rule for that."""
    problem = steps(tmp_path, initial=f"x = 0 and n = {LARGE + 1}", update=update)
    assert not is_proved(problem)
    assert "a whole number that no double holds" in follow_point(problem, 0, LARGE + 1, LARGE).reason


def test_a_policy_in_float64_controls_a_plant_in_real_numbers(tmp_path: Path) -> None:
    """In doubles 0.875 + 10^16 is 10^16, so that the state stays."""
    for control, asked, true in (
        ("x + 10^16 - 10^16", "never x < 1 from 1 to 2 seconds", False),
        ("(0.1 + 0.2 - 0.3) * 10^17", "never x > 1 for 1 seconds", False),
        ("x + 1 - 1", "never x < 1 from 1 to 2 seconds", True),
    ):
        assert is_proved(timed(tmp_path, "u", control, asked, start="0.875")) is true


def test_a_policy_reads_doubles(tmp_path: Path) -> None:
    """The state is 1/3 from the start on; what is read of it is a double, which is not."""
    control = "ite(x < 0.3333333333333333333333, 1, 0)"
    asked = "never x > 0.5 for 1 seconds"
    assert not is_proved(timed(tmp_path, "u", control, asked, start="0.3333333333333333333333"))
    assert is_proved(timed(tmp_path, "u", control, asked, start="0.334"))
    exactly = timed(tmp_path, "u", control, asked, start="0.3333333333333333333334", in_float64=False)
    found = judge(
        exactly,
        {
            "regions": [
                {
                    "start": True,
                    "box": {"x": ["0.3333333333333333333334", "0.3333333333333333333334"]},
                    "tree": ["run", 1, ["done"]],
                }
            ]
        },
    )
    assert found.accepted, found.reason


def test_a_violation_from_outside_of_the_declared_range(tmp_path: Path) -> None:
    """x is within [-9, 9]: 10 is no state, whatever the initial condition says."""
    text = TIMED.format(
        arithmetic="exact", start="0", rate="u - x", control="0", asked="never x > 8 for 1 seconds"
    )
    problem = problem_of(tmp_path, text.replace("x = 0", "x > -100"))
    for start, accepted in ((10, False), (9, True)):
        shown = {"start": {"x": start}, "chosen": [], "at": [0, 0]}
        assert judge(problem, shown, "reach-violation").accepted is accepted
