"""Steps in exact arithmetic: ties of strict atoms, linear leaves, float32 where the network cancels."""

from __future__ import annotations

from tests.checker.making import wide_slopes
from tests.checker.test_steps import ONE, accepted, judged, refused


def test_exact_decides_ties_of_strict_atoms() -> None:
    third = [["x", "1/3", "1/3", "real"]]
    strict, weak = ["<", {"y": -1, "": "1/3"}], ["<=", {"y": -1, "": "1/3"}]
    accepted([strict], [["exact", [0], ONE]], variables=third)
    refused("no positive", [strict], [["drop", [0], ONE]], variables=third)
    refused("no positive", [weak], [["exact", [0], ONE]], variables=third)
    refused("no positive", [strict], [["exact", [0], {"atoms": [[0, 0]]}]], variables=third)
    refused("float32", [strict], [["exact", [0], ONE]], variables=third, arithmetic="float32")


def test_exact_in_float32_where_the_network_cancels() -> None:
    below, above = ["<", {"y": 1, "x": -1}], ["<=", {"y": -2, "x": 2}]  # y < x and y >= x
    exact = [["exact", [0], {"atoms": [[0, 2], [1, 1]]}]]
    accepted([below, above], exact, arithmetic="float32")
    accepted([["<", {"x": 1, "": 1}]], [["exact", [0], ONE]], arithmetic="float32")
    refused("float32", [below, above], [["exact", [0], {"atoms": [[0, 1], [1, 1]]}]], arithmetic="float32")
    weak = ["<=", {"y": 1, "x": -1}]
    refused("no positive", [weak, above], exact, arithmetic="float32")


def test_the_largest_slope_of_clip_is_one() -> None:
    """Where clip does not cut, y = x exactly: y < x has no solution, and no other slope shows it."""
    nodes, inside = [["clip", 0, "-1", "1"]], [["x", "-1/3", "1/3", "real"]]
    for slope, is_exact in ((65535, True), (65534, False)):
        steps = [["slopes", 2, wide_slopes(slope), wide_slopes(slope)], ["exact", [0], ONE]]
        found = judged([["<", {"y": 1, "x": -1}]], steps, variables=inside, nodes=nodes)
        assert found.accepted == is_exact


def test_exact_with_multipliers_of_bounds() -> None:
    """At a leaf where all signs are known: y = x there, and x < 1/3 with y > 1/3 has no solution."""
    atoms = [["<", {"y": -1, "": "1/3"}], ["<=", {"x": 3, "": -1}]]
    good = {"atoms": [[0, 3], [1, 1]]}
    steps = [
        ["split", 0, 0, 0],
        ["forward", 1, 4],
        ["drop", [0], ONE],
        ["forward", 1, 4],
        ["exact", [0], good],
    ]
    accepted(atoms, steps, variables=[["x", "-0.25", 1, "real"]])
    refused("no positive", atoms, [*steps[:-1], ["drop", [0], good]], variables=[["x", "-0.25", 1, "real"]])
