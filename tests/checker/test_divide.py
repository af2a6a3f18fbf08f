"""Sets of atoms that go separate ways, and one atom for sets that say more: what is accepted, what is not."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.checker.making import claim, verdict
from tests.checker.test_steps import ABSOLUTE, REAL, accepted, judged, refused

from surefoot_checker.kernel.strict_json import BadCertificate

HIGH, HIGHER = ["<=", {"y": -1, "": "1.25"}], ["<=", {"y": -1, "": "1.5"}]  # y >= 1.25, y >= 1.5
LOW = ["<=", {"y": 1, "": "0.25"}]  # y <= -0.25
SEPARATE = [[0], [1]]


def drop(number: int, atom: int) -> list[Any]:
    return ["drop", [number], {"atoms": [[atom, 1]]}]


def test_sets_go_separate_ways() -> None:
    split = ["split", 0, 0, 0]
    accepted([HIGH, LOW], [["divide", [0]], drop(0, 0), drop(1, 1)], sets=SEPARATE)
    accepted([HIGH, LOW], [["divide", [1]], drop(1, 1), split, drop(0, 0), drop(0, 0)], sets=SEPARATE)
    accepted([HIGH, LOW], [["divide", [0, 1]], drop(0, 0), drop(1, 1)], sets=SEPARATE)  # nothing is left


@pytest.mark.parametrize(
    "steps",
    [
        [["divide", [0]], drop(0, 0)],  # the other part is open
        [["divide", [0]], drop(1, 1), drop(0, 0)],  # set 1 does not live in the first part
        [["divide", [0]], drop(1, 1)],
        [["divide", [1]], drop(0, 0)],
    ],
)
def test_no_set_is_forgotten(steps: list[Any]) -> None:
    assert not judged([HIGH, LOW], steps, sets=SEPARATE).accepted


@pytest.mark.parametrize(
    "step", [["divide"], ["divide", []], ["divide", [2]], ["divide", 0], ["divide", [0], [1]]]
)
def test_form_of_a_division(step: list[Any]) -> None:
    with pytest.raises(BadCertificate):
        judged([HIGH, LOW], [step, drop(0, 0), drop(1, 1)], sets=SEPARATE)


def test_a_division_keeps_what_is_known_and_shares_nothing_later() -> None:
    steps = [["cut", [[[0], {"atoms": [[0, 1]]}], [[1], {"atoms": [[1, 1]]}]]], ["divide", [0]]]
    near, far = ["<=", {"x": 1, "": "0.5"}], ["<=", {"x": -1, "": "0.5"}]  # x <= -0.5, x >= 0.5
    inside = ["<=", {"y": 1, "": "-0.4"}]  # y = |x| <= 0.4
    both = [near, far, inside]
    closed = [["forward", 1, 4], ["cut", [[[0], {"atoms": [[0, 1]]}]]], ["forward", 1, 4], drop(0, 2)]
    other = [["cut", [[[1], {"atoms": [[1, 1]]}]]], ["forward", 1, 4], drop(1, 2)]
    accepted(both, [*steps, *closed, *other], sets=[[0, 2], [1, 2]])
    # What shrank the box of the first part says nothing about the second.
    assert not judged(both, [*steps, *closed, ["forward", 1, 4], drop(1, 2)], sets=[[0, 2], [1, 2]]).accepted


def test_one_atom_for_sets_that_say_more() -> None:
    together = ["drop", [0, 1], {"atoms": [[0, 1]]}]
    accepted([HIGH, HIGHER], [together], sets=SEPARATE)
    refused("some has none that implies it", [HIGHER, HIGH], [together], sets=SEPARATE)
    refused("some has none that implies it", [HIGH, LOW], [together], sets=SEPARATE)
    refused("some has none that implies it", [HIGH, ["=", {"y": -1, "": 2}]], [together], sets=SEPARATE)


def test_strictness_is_not_invented() -> None:
    """y < -0 does not follow from y <= -0, so that a bound of 0 does not refute the latter."""
    strict, weak = ["<", {"x": 1, "": 1}], ["<=", {"x": 1, "": 1}]  # x < -1, x <= -1; x = -1 is allowed
    exact = [["exact", [0, 1], {"atoms": [[0, 1]]}]]
    refused("some has none that implies it", [strict, weak], exact, sets=SEPARATE)
    accepted([strict], [["exact", [0], {"atoms": [[0, 1]]}]])


@pytest.mark.parametrize("seed", range(40))
def test_random_divisions_prove_nothing_false(seed: int) -> None:
    """Two thresholds of |x|, one of which is met: whatever the order of steps, the proof is refused."""
    choice = random.Random(seed)
    met = choice.choice([["<=", {"y": 1, "": "-0.5"}], ["<=", {"y": -1, "": "0.5"}]])  # y <= 0.5, y >= 0.5
    atoms = [HIGH, met] if choice.random() < 0.5 else [met, HIGH]
    steps: list[Any] = []
    for _ in range(choice.randrange(1, 7)):
        kinds = [["divide", [choice.randrange(2)]], drop(*choice.choices(range(2), k=2)), ["split", 0, 0, 0]]
        kinds += [["drop", [0, 1], {"atoms": [[choice.randrange(2), 1]]}], ["forward", 1, 4]]
        steps.append(choice.choice(kinds))
    try:
        formula = ["or", *atoms]
        found = verdict(claim(REAL, ABSOLUTE, formula), {"atoms": atoms, "sets": SEPARATE, "steps": steps})
    except BadCertificate:
        return
    assert not found.accepted
