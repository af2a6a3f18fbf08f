"""What a shield permits: each part of the margin counts, down to the last double."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from typing import Any

import pytest
from benchmarks.old_format import judge_both_formats, read_flat_system

from surefoot_checker.claims.barrier.claim import _required_margins
from surefoot_checker.claims.barrier.rounding_error import RoundedValue, bound_rounding
from surefoot_checker.claims.barrier.system import ClaimedSystem, bound_max_change, box_magnitudes

_X: list[Any] = ["name", "x"]
_NOTHING: dict[str, Any] = {"weights": [], "over": 1}
_BARRIER: list[Any] = ["-", ["*", _X, _X], "3/4"]


def rational(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def least_double(value: Fraction) -> Fraction:
    """The smallest double that is not below."""
    near = float(value)
    return Fraction(near if Fraction(near) >= value else math.nextafter(near, math.inf))


def number(value: Fraction, of: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"of": list(of), "basis": [[0]], "gram": [[value.numerator]], "over": value.denominator}


def claimed() -> dict[str, Any]:
    """x becomes x/2 + u in doubles; the program says 0, and the set is that of x² <= 3/4."""
    return {
        "kind": "barrier",
        "system": {
            "name": "halves",
            "variables": ["x"],
            "initial": [["-1/2", "1/2"]],
            "controls": [["u", "-1/8", "1/8"]],
            "disturbances": [],
            "next": [["+", ["/", _X, 2], ["name", "u"]]],
            "unsafe": ["<=", 2, _X],
            "rules": [
                {
                    "set": {"domain": [[-1, 1]], "barrier": _BARRIER, "tested": True, "margin": "1/1048576"},
                    "then": [0],
                }
            ],
            "shield": [{"inside": [["-3/4", "3/4"]], "margin": 0}],
        },
    }


def certificate(claim: dict[str, Any], room: Fraction, step: Fraction, barrier: Fraction) -> dict[str, Any]:
    rest = Fraction(9, 16) - room - barrier
    side = {"weights": [[0, 1 << 60]], "over": 1 << 61}
    return {
        "surefoot-certificate": 1,
        "arithmetic": "float64",
        "claim": claim,
        "sets": [
            {
                "scale": [[0, 1]],
                "margins": {"room": rational(room), "step": [rational(step)], "barrier": rational(barrier)},
                "covers": [[["-1/2", "1/2"]]],
                "start": [[number(Fraction(1), (0, 1)), number(Fraction(1, 2) - room)]],
                "unsafe": [{"slack": [0], "proof": {"weights": [[1, 1], [3, 1]], "over": 1}}],
                "saturation": [[_NOTHING, _NOTHING]],
                "steps": [
                    [
                        [number(Fraction(1, 4), (2,)), number(rest)],
                        side,
                        {**side, "weights": [[1, 1 << 60]]},
                    ]
                ],
            }
        ],
    }


@pytest.fixture(scope="module")
def parts() -> tuple[dict[str, Any], Fraction, Fraction, Fraction]:
    """A certificate whose permit has no margin yet, and what the margin is made of."""
    claim = claimed()
    unproved = [{} for _ in claim["system"]["rules"]]
    system = read_flat_system({"claim": claim, "arithmetic": "float64", "sets": unproved})
    (rule,) = system.rules
    room, (step,) = _required_margins(system, rule, ())
    data = certificate(claim, room, step, bound_max_change(system, rule.set.rows, rule.set.domain, [step]))
    (size,) = box_magnitudes(rule.set.domain)
    error = bound_rounding(rule.set.barrier, {"x": RoundedValue(size)}).error
    return data, room, error, bound_max_change(system, rule.set.rows, rule.set.domain, [_prediction(system)])


def _prediction(system: ClaimedSystem) -> Fraction:
    """Without disturbances prediction and plant differ by the rounding of both."""
    values = {"x": RoundedValue(Fraction(1)), "u": RoundedValue(Fraction(1, 8))}
    return 2 * bound_rounding(system.next[0], values).error


def with_margin(data: dict[str, Any], margin: Fraction) -> bool:
    changed = copy.deepcopy(data)
    changed["claim"]["system"]["shield"][0]["margin"] = rational(margin)
    # The starts are covered by (x + 1/2)(1/2 - x), whose constraints are those of the box that is covered.
    return bool(judge_both_formats(changed).accepted)


def test_the_whole_margin_is_enough(parts: tuple[dict[str, Any], Fraction, Fraction, Fraction]) -> None:
    data, room, error, moved = parts
    assert with_margin(data, least_double(room + error + moved))


def test_no_part_of_a_margin_may_be_missing(
    parts: tuple[dict[str, Any], Fraction, Fraction, Fraction],
) -> None:
    """The rounding of the barrier is as large as a few units of the last place, and counts."""
    data, room, error, moved = parts
    whole = room + error + moved
    for missing in (room, error, moved, Fraction(1, 1 << 60)):
        margin = least_double(whole - missing)
        if margin < whole:
            assert not with_margin(data, margin), missing
    assert least_double(room + moved) < whole
    assert least_double(room + error) < whole
