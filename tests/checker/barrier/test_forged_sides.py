"""A step stays within both ends of every variable: forged proofs of one side are not accepted."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from benchmarks.old_format import judge_both_formats
from tests.checker.barrier.test_forged_convergence import _HALVED_SQUARES, square


def closed_interval(sign: int, offset: str, sides: list[Any]) -> dict[str, Any]:
    """The claim that [-1, 1] is not left by x -> sign x²/2 + offset."""
    certificate = copy.deepcopy(_HALVED_SQUARES)
    del certificate["ranking"], certificate["claim"]["target"]
    certificate["claim"]["kind"] = "barrier"
    x = ["name", "x"]
    certificate["claim"]["system"]["next"] = [["+", ["/", ["*", x, x], 2 * sign], offset]]
    nothing = {"weights": [], "over": 1}
    certificate["sets"][0]["steps"] = [[nothing, *sides]]
    return certificate


def least(low: int, over: int) -> list[Any]:
    """x²/2 + low/over >= 0."""
    return [square([1], [[1]], 2), square([0], [[low]], over)]


ONE_HALF = [square([0], [[1]], 2), square([0], [[1]], 2, of=(0, 1))]  # 1 - x²/2 >= 0


@pytest.mark.parametrize(("sign", "sides"), [(1, [least(1, 1), ONE_HALF]), (-1, [ONE_HALF, least(1, 1)])])
def test_the_interval_is_closed(sign: int, sides: list[Any]) -> None:
    found = judge_both_formats(closed_interval(sign, "0", sides))
    assert found.accepted, found.reason


@pytest.mark.parametrize("forged", [ONE_HALF, [], {"weights": [], "over": 1}, least(1, 4), least(-1, 4)])
@pytest.mark.parametrize(("sign", "offset"), [(1, "3/4"), (-1, "-3/4")])
def test_an_end_that_is_left_has_no_proof(sign: int, offset: str, forged: Any) -> None:
    """From 1 a step leads to 5/4, or to -5/4; the other side has its true proof."""
    true = least(7, 4)
    sides = [true, forged] if sign > 0 else [forged, true]
    assert not judge_both_formats(closed_interval(sign, offset, sides)).accepted
