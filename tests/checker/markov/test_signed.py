"""Sums of rewards of both signs: what is claimed too high, too low, or without an end is refused."""

from __future__ import annotations

from typing import Any

import pytest
from tests.checker.markov.claims import X, edge, environment, is_accepted

PAYS = [["paid", -2]]
GOAL = ["=", X, 2]


def claim(world: Any, end: int, numbers: list[int] | None, **asked: Any) -> Any:
    """The expected reward until x = 2 is this number; `numbers`: what bounds the values of 0, 1, 2."""
    wanted = {
        "kind": "expected",
        "optimise": "max",
        "reward": "paid",
        "until": GOAL,
        "steps": None,
        "over": "max",
        "starts": None,
        **asked,
    }
    problem = {"name": "p", "environment": world, "policy": None, "property": wanted}
    places = list(range(len(numbers or [])))
    table = [hex(n) for n in numbers or []]
    shown = {"states": len(places), "scale": "0x1", "numbers": table, "low": places, "high": places}
    return {
        "surefoot-certificate": 1,
        "claim": {"kind": "process", "problem": problem, "low": end, "high": end},
        "arithmetic": "exact",
        "values": [shown if numbers else None],
    }


def walking(*others: Any) -> Any:
    """From 0 to 2, each step pays -2."""
    step = edge([["x", ["+", X, 1]]], ["<", X, 2], rewards=PAYS)
    return environment([["x", ["integer", 0, 2]]], ["=", X, 0], [step, *others])


@pytest.mark.parametrize("optimise", ["min", "max"])
def test_a_sum_below_0(optimise: str) -> None:
    assert is_accepted(claim(walking(), -4, [-4, -2, 0], optimise=optimise))
    for end, numbers in (
        (-5, [-5, -2, 0]),
        (-3, [-3, -2, 0]),
        (-4, [-4, -3, 0]),
        (0, [0, 0, 0]),
        (4, [4, 2, 0]),
    ):
        assert not is_accepted(claim(walking(), end, numbers, optimise=optimise)), numbers


@pytest.mark.parametrize("optimise", ["min", "max"])
@pytest.mark.parametrize("paid", [[], [["paid", 1]], PAYS])
def test_whoever_may_wait_for_ever_has_no_sum(optimise: str, paid: Any) -> None:
    """Whether waiting costs, pays or is free: a claim of any end is refused."""
    waiting = edge([], ["<", X, 2], rewards=paid)
    for end in (-4, -40, 0, 400):
        numbers = [end, end // 2, 0]
        assert not is_accepted(claim(walking(waiting), end, numbers, optimise=optimise))


def test_what_costs_as_much_as_it_pays() -> None:
    """On average a step pays 0, yet runs need not end: that the average is not below 0 does not help."""
    step = edge([], ["<", X, 2])
    share = {"updates": [], "target": "here"}
    step["outcomes"] = [
        {**share, "probability": "1/2", "rewards": [["paid", -1]]},
        {**share, "probability": "1/2", "rewards": [["paid", 1]]},
    ]
    world = environment([["x", ["integer", 0, 2]]], ["=", X, 1], [step])
    for optimise in ("min", "max"):
        for end in (0, 5):
            assert not is_accepted(claim(world, end, [end], optimise=optimise))


def test_so_many_steps() -> None:
    """With a number of steps runs may wait; the reader computes the sum itself."""
    waiting = edge([], ["<", X, 2])
    assert is_accepted(claim(walking(waiting), -4, None, optimise="min", steps=5))
    assert not is_accepted(claim(walking(waiting), -6, None, optimise="min", steps=5))
    assert is_accepted(claim(walking(waiting), 0, None, optimise="max", steps=5))
    dear = edge([], ["<", X, 2], rewards=PAYS)
    assert is_accepted(claim(walking(dear), -10, None, optimise="min", steps=5))


def test_a_bound_on_what_may_fall_is_refused() -> None:
    bound = {"reward": "paid", "low": None, "high": 3, "strict": False}
    wanted = {"kind": "probability", "operator": "F", "left": True, "right": GOAL, "bounds": [bound]}
    certificate = claim(walking(), 1, [1, 1, 1])
    asked = {"optimise": "max", "over": "max", "starts": None, **wanted}
    certificate["claim"]["problem"]["property"] = asked
    assert not is_accepted(certificate)
