"""Certificates of systems of one variable, written by hand; every proof is a weighted sum of constraints."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import lcm
from typing import Any

from benchmarks.old_format import judge_both_formats

from surefoot_checker.kernel.strict_json import BadCertificate

X: list[Any] = ["name", "x"]
NOTHING: dict[str, Any] = {"weights": [], "over": 1}
Number = int | str | Fraction


def rational(value: Number) -> int | str:
    number = Fraction(value)
    return number.numerator if number.denominator == 1 else f"{number.numerator}/{number.denominator}"


def weigh(slopes: Mapping[int, Number]) -> dict[str, Any]:
    """Of a sum: by which slope it goes with the quantity of which constraint i is the lower end and i + 1 the
    upper one. Where it grows it is least at the lower end, elsewhere at the upper one."""
    found = {i: Fraction(s) for i, s in slopes.items()}
    over = lcm(*(s.denominator for s in found.values()), 1)
    return {"weights": [[i + (s < 0), int(abs(s) * over)] for i, s in found.items() if s], "over": over}


def times(factor: Number, slopes: Mapping[int, Number]) -> dict[int, Fraction]:
    return {i: Fraction(factor) * Fraction(s) for i, s in slopes.items()}


def step_of(slopes: Mapping[int, Number], grows: Number = 0) -> list[Any]:
    """One case of the controls: the barrier (which grows so much with x), the lower end, the upper end."""
    return [weigh(times(-Fraction(grows), slopes)), weigh(slopes), weigh(times(-1, slopes))]


def closed_interval(
    following: Any,
    slopes: Mapping[int, Number],
    *,
    domain: Sequence[Number] = (-1, 1),
    barrier: Any = -1,
    grows: Number = 0,
    arithmetic: str = "exact",
) -> dict[str, Any]:
    """x becomes `following`, whose slopes are given as for `weigh`: constraints 0 and 1 are the sides of the
    domain, 2 is the barrier. Nothing is unsafe, nothing controls, margins are 0."""
    box = [[rational(end) for end in domain]]
    return {
        "surefoot-certificate": 1,
        "arithmetic": arithmetic,
        "claim": {
            "kind": "barrier",
            "system": {
                "name": "interval",
                "variables": ["x"],
                "initial": box,
                "controls": [],
                "disturbances": [],
                "next": [following],
                "unsafe": False,
                "rules": [
                    {"set": {"domain": box, "barrier": barrier, "tested": False, "margin": 0}, "then": []}
                ],
                "shield": None,
            },
        },
        "sets": [
            {
                "scale": [[0, 1]],
                "margins": {"room": 0, "step": [0], "barrier": 0},
                "covers": [box],
                "start": [weigh({0: -Fraction(grows)})],
                "unsafe": [],
                "saturation": [],
                "steps": [step_of(slopes, grows)],
            }
        ],
    }


Change = tuple[tuple[str | int, ...], Any]


def changed(data: Mapping[str, Any], *changes: Change) -> dict[str, Any]:
    """A copy with other values at some places."""
    found = copy.deepcopy(dict(data))
    for path, value in changes:
        inner: Any = found
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = rational(value) if isinstance(value, Fraction) else copy.deepcopy(value)
    return found


def is_accepted(data: Mapping[str, Any]) -> bool:
    try:
        return bool(judge_both_formats(data).accepted)
    except BadCertificate:
        return False


SYSTEM = ("claim", "system")
RULE = (*SYSTEM, "rules", 0)
SET = (*RULE, "set")
PROOF = ("sets", 0)
