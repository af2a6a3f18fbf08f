"""Places, distances and the choice of what is drawn."""

from __future__ import annotations

from random import Random

import pytest

from surefoot.report.abstraction.layered_layout import (
    adjacent_states,
    distances_to_goals,
    nearest_states,
    place_states,
)

CHAIN = [(0, "a", 1), (1, "a", 2), (2, "b", 3), (3, "b", 2), (1, "b", 1), (1, "c", 2)]


def test_steps_to_the_nearest_goal() -> None:
    assert distances_to_goals([2], CHAIN) == {2: 0, 1: 1, 3: 1, 0: 2}
    assert distances_to_goals([0], CHAIN) == {0: 0}
    assert distances_to_goals([], CHAIN) == {}


def test_neighbours_are_told_once() -> None:
    assert adjacent_states(CHAIN)[1] == [2, 1]
    assert adjacent_states(CHAIN, backwards=True)[2] == [1, 3]


def test_what_is_near_a_start_or_an_unsafe_state_is_drawn() -> None:
    from_start = [0, 1, 2, 3, 4, 5]
    assert nearest_states(from_start, {5: 0, 4: 1}, 4) == [0, 1, 4, 5]
    assert nearest_states(from_start, {}, 10) == list(range(6))


@pytest.mark.parametrize("seed", range(5))
def test_no_two_states_in_one_place_and_layers_below_each_other(seed: int) -> None:
    draw = Random(seed)
    layers = [0, *(draw.randrange(6) for _ in range(draw.randrange(1, 300)))]
    edges = [(draw.randrange(len(layers)), "a", draw.randrange(len(layers))) for _ in layers]
    found = place_states(layers, edges)
    assert len(set(found)) == len(layers)
    for one, (_, y) in zip(layers, found, strict=True):
        for other, (_, below) in zip(layers, found, strict=True):
            assert one >= other or y < below


def test_nothing_has_no_place() -> None:
    assert place_states([], []) == []
