"""Claims about finite systems that are false, or have no meaning: none is accepted."""

from __future__ import annotations

from typing import Any

import pytest
from tests.checker.markov.claims import X, edge, environment, greatest, is_accepted, never, values

from surefoot_checker.check import judge_certificate

TRUE_FOR_EVER = ["and", ["name", "flag"], ["not", ["deadlocked"]]]


def renamed(data: Any, new: Any) -> Any:
    """With another name of the flag."""
    if type(data) is list:
        return [renamed(part, new) for part in data]
    return new if data == "flag" else data


@pytest.mark.parametrize("name", ["flag", "\x000", "\x001", "\x00"])
def test_no_variable_is_taken_for_what_a_condition_asks_besides(name: str) -> None:
    """The reader has names of its own for locations, deadlocks and picks."""
    world = environment([[name, "boolean"]], ["name", name], [edge()])
    assert not is_accepted(never(world, renamed(TRUE_FOR_EVER, name)))
    assert is_accepted(never(world, ["deadlocked"])) is (name == "flag")


@pytest.mark.parametrize("name", [0, "\x000", "other"])
def test_conditions_mention_variables_only(name: object) -> None:
    world = environment([["flag", "boolean"]], ["name", "flag"], [edge()])
    assert not is_accepted(never(world, renamed(TRUE_FOR_EVER, name)))


def counting() -> Any:
    """From 0 to 5, one by one."""
    return environment([["x", ["integer", 0, 5]]], ["=", X, 0], [edge([["x", ["+", X, 1]]], ["<", X, 5])])


@pytest.mark.parametrize(
    ("low", "high", "strict", "value"),
    [(2, 2, False, 1), (2, 3, True, 1), (3, 3, False, 0), (3, 3, True, 1), (3, 2, False, 1), (3, 3, True, 0)],
)
def test_a_bound_on_steps_that_nothing_can_meet(low: int, high: int, strict: bool, value: int) -> None:
    """State number 2 alone is the goal; without any number of steps between the limits nothing is claimed."""
    bound = {"reward": None, "low": low, "high": high, "strict": strict}
    certificate = greatest(counting(), ["=", X, 2], value, None, bounds=[bound])
    assert is_accepted(certificate) is (low < high + (not strict))


@pytest.mark.parametrize(("start", "most", "accepted"), [(None, 5, True), (None, 10, False), (1, 5, False)])
def test_rewards_are_counted_from_the_start(start: int | None, most: int, accepted: bool) -> None:
    """Two steps that pay 5 each: not more than 5 are paid from 1 on, though every run has paid before."""
    step = edge([["x", ["+", X, 1]]], ["<", X, 2], rewards=[["paid", 5]])
    world = environment([["x", ["integer", 0, 2]]], ["=", X, 0], [step])
    bound = {"reward": "paid", "low": None, "high": most, "strict": False}
    starts = None if start is None else ["=", X, start]
    certificate = greatest(world, ["=", X, 2], 0, values(0, 0, 0), bounds=[bound], starts=starts)
    assert is_accepted(certificate) is accepted


@pytest.mark.parametrize(("low", "value", "accepted"), [(0, 1, True), (1, 0, True), ("1/2", 1, False)])
def test_whole_numbers_lie_between_whole_numbers(low: Any, value: int, accepted: bool) -> None:
    """What is chosen is 0 only if that is in its range."""
    step = edge([["x", ["name", "new"]]], ["=", X, 5], chosen=[["new", ["integer", low, 1]]])
    world = environment([["x", ["integer", 0, 5]]], ["=", X, 5], [step])
    shown = values(0, value) if low == 1 else values(value, 0, value)
    assert is_accepted(greatest(world, ["=", X, 0], value, shown)) is accepted


@pytest.mark.parametrize(("first", "second", "accepted"), [(1, 1, True), (5, 1, False), (1, 5, False)])
def test_what_edges_choose_together_has_one_kind(first: int, second: int, accepted: bool) -> None:
    """Both get the same value."""
    choosing = [
        edge([[name, ["name", "new"]]], action="go", chosen=[["new", ["integer", 0, most]]])
        for name, most in (("x", first), ("y", second))
    ]
    start = ["and", ["=", X, 0], ["=", ["name", "y"], 0]]
    variables = [["x", ["integer", 0, 5]], ["y", ["integer", 0, 5]]]
    world = environment(variables, start, *([e] for e in choosing), together=[[["go", "go"], "go"]])
    assert is_accepted(never(world, ["or", ["<", 1, X], ["<", X, ["name", "y"]]])) is accepted


FLAG = ["name", "flag"]


@pytest.mark.parametrize(
    "initial",
    [
        ["and", X, FLAG],
        ["and", ["not", X]],
        ["=", FLAG, 1],
        ["=", 0, FLAG],
        ["=", X, True],
        ["ite", FLAG, 1, 0],
    ],
)
def test_numbers_are_no_truth_values(initial: Any) -> None:
    """Such a condition would be true of states that are not looked at: there seems to be no start."""
    world = environment([["x", ["integer", 0, 3]], ["flag", "boolean"]], initial, [edge()])
    assert not is_accepted(never(world, True))
    assert not is_accepted(never(world, False))


@pytest.mark.parametrize(
    "initial", [FLAG, ["=", FLAG, True], ["and", ["=", X, 1], ["not", FLAG]], ["<", 1, X]]
)
def test_conditions_on_starts(initial: Any) -> None:
    world = environment([["x", ["integer", 0, 3]], ["flag", "boolean"]], initial, [edge()])
    assert not is_accepted(never(world, True))
    assert is_accepted(never(world, ["not", initial]))


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (1, 1, "[1.0, 1.0]"),
        ("0.3", "1.7", "[0.3, 1.7]"),
        (f"{10**30 - 1}/{10**30}", f"{10**30 + 1}/{10**30}", "[0.9999999999999999, 1.0000000000000002]"),
        ("-1e301", "1e301", "[-2^1000, 2^1000]"),
    ],
)
def test_an_interval_is_not_printed_as_a_smaller_one(low: Any, high: Any, words: str) -> None:
    """A claim of at least 1 - 10^-30 was printed as one of 1."""
    certificate = greatest(counting(), ["=", X, 2], 1, values(1, 1, 1))
    certificate["claim"] |= {"low": low, "high": high}
    found = judge_certificate(certificate)
    assert found.accepted
    assert found.claim.endswith(words)


@pytest.mark.parametrize(
    ("shares", "accepted"),
    [(("1/4", "3/4"), True), (("1/4", "1/4"), False), (("3/4", "1/2"), False), ((0, "1/2"), False)],
)
def test_probabilities_sum_to_one(shares: tuple[Any, ...], accepted: bool) -> None:
    """Where mass is lost or made, nothing is a probability: not even that of what is never reached."""
    step = edge(guard=["=", X, 0])
    targets = [{**step["outcomes"][0], "updates": [[X, n, 0]]} for n in (1, 2)]
    step["outcomes"] = [{**t, "probability": p} for t, p in zip(targets, shares, strict=True)]
    world = environment([["x", ["integer", 0, 3]]], ["=", X, 0], [step])
    certificate = greatest(world, ["=", X, 3], 0, values(0, 0, 0))
    assert is_accepted(certificate) is accepted
    assert is_accepted(never(world, ["=", X, 3])) is accepted
