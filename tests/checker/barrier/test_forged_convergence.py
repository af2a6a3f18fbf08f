"""Certificates of convergence written by hand: a true one, and false ones that differ in one place."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from benchmarks.old_format import judge_both_formats

_X: list[Any] = ["name", "x"]
_NOTHING: dict[str, Any] = {"weights": [], "over": 1}
_SQUARE: list[Any] = ["*", _X, _X]


def square(basis: list[int], gram: list[list[int]], over: int, of: tuple[int, ...] = ()) -> dict[str, Any]:
    return {"of": list(of), "basis": [[e] for e in basis], "gram": gram, "over": over}


def falls(sign: int) -> dict[str, Any]:
    """x² - x⁴/4 >= 3/64 where 1/4 <= sign x <= 1.

    The difference is 3/4 (x - sign/4)² + 3/8 (sign x - 1/4) + x² (1 - x²) / 4.
    """
    return {
        "slack": [0],
        "proof": [
            square([0, 1], [[3], [-12 * sign, 48]], 64),
            square([0], [[3]], 8, of=(3,)),
            square([1], [[1]], 4, of=(0, 1)),
        ],
    }


# x becomes x²/2: from within 1 it comes to 0, from 10 it grows for ever.
_HALVED_SQUARES: dict[str, Any] = {
    "surefoot-certificate": 1,
    "arithmetic": "exact",
    "claim": {
        "kind": "convergence",
        "system": {
            "name": "halved squares",
            "variables": ["x"],
            "initial": [[-1, 1]],
            "controls": [],
            "disturbances": [],
            "next": [["/", _SQUARE, 2]],
            "unsafe": False,
            "rules": [
                {"set": {"domain": [[-1, 1]], "barrier": -1, "tested": False, "margin": 0}, "then": []}
            ],
            "shield": None,
        },
        "target": ["and", ["<", "-1/4", _X], ["<", _X, "1/4"]],
    },
    "sets": [
        {
            "scale": [[0, 1]],
            "margins": {"room": 0, "step": [0], "barrier": 0},
            "covers": [[[-1, 1]]],
            "start": [_NOTHING],
            "unsafe": [],
            "saturation": [],
            "steps": [
                [
                    _NOTHING,
                    [square([1], [[1]], 2), square([0], [[1]], 1)],
                    [square([0], [[1]], 2), square([0], [[1]], 2, of=(0, 1))],
                ]
            ],
        }
    ],
    "ranking": {"function": _SQUARE, "least": "3/64", "drift": 0, "cases": [[falls(-1), falls(1)]]},
}


@pytest.fixture
def halved() -> dict[str, Any]:
    found = judge_both_formats(_HALVED_SQUARES)
    assert found.accepted, found.reason
    return copy.deepcopy(_HALVED_SQUARES)


def test_every_start_is_covered(halved: dict[str, Any]) -> None:
    """From 10 the run never comes back; nothing is shown about it."""
    halved["claim"]["system"]["initial"] = [[-1, 10]]
    found = judge_both_formats(halved)
    assert not found.accepted
    assert "not covered" in found.reason
    halved["claim"]["system"]["parts"] = [[[-1, 1]]]
    assert judge_both_formats(halved).accepted
    halved["claim"]["system"]["parts"] = [[[-1, 1]], [[2, 3]]]
    assert not judge_both_formats(halved).accepted


@pytest.mark.parametrize("least", [0, -1, "-1/1000000"])
def test_a_ranking_falls(halved: dict[str, Any], least: int | str) -> None:
    """A system that stays where it is never comes to its target; V = 0 falls by less than nothing."""
    system = halved["claim"]["system"]
    system["next"] = [_X]
    halved["claim"]["target"] = ["<=", 5, _X]
    halved["sets"][0]["steps"] = [
        [_NOTHING, {"weights": [[0, 1]], "over": 1}, {"weights": [[1, 1]], "over": 1}]
    ]
    one = {"slack": [0], "proof": _NOTHING}
    halved["ranking"] = {"function": 0, "least": least, "drift": 0, "cases": [[one]]}
    found = judge_both_formats(halved)
    assert not found.accepted
    assert "need not fall" in found.reason


def test_a_ranking_falls_by_so_much(halved: dict[str, Any]) -> None:
    halved["ranking"]["least"] = "4/64"
    assert not judge_both_formats(halved).accepted


def test_a_smaller_target_needs_another_proof(halved: dict[str, Any]) -> None:
    halved["claim"]["target"] = ["and", ["<", "-1/8", _X], ["<", _X, "1/8"]]
    assert not judge_both_formats(halved).accepted
