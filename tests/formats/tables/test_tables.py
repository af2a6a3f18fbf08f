"""Tables as environments: variables, names, properties by name, notes, policies in files."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from surefoot import Policy, check, from_table, from_transitions, probability
from surefoot.api import TRUE, Expected, InvalidProblem, Within
from surefoot.problem.property import Probability
from surefoot.term.value_types import Int
from surefoot.verdict.verdict import Unknown


class Signal(Enum):
    RED = 1
    GREEN = 2


@dataclass(frozen=True)
class Road:
    lane: int
    signal: Signal
    names: tuple[str, int]


def bounds(environment: Any) -> dict[str, tuple[Any, Any]]:
    kinds = {v.name: v.kind for v in environment.variables}
    return {name: (kind.low, kind.high) for name, kind in kinds.items() if isinstance(kind, Int)}


def holds(found: Any, value: Fraction | int) -> bool:
    """Is the value within what was found, which is not wider than asked for?"""
    low, high = found.verdict.low, found.verdict.high
    return bool(low <= value <= high and high - low < Fraction(1, 10**5))


def test_entries_of_records_are_variables() -> None:
    def drive(state: Road, action: str) -> list[Any]:
        signal = Signal.GREEN if state.signal is Signal.RED else Signal.RED
        return [(1, Road((state.lane + 1) % 3, signal, ("car", 5)))]

    environment = from_transitions(Road(0, Signal.RED, ("car", 5)), ["on"], drive)
    assert bounds(environment) == {"lane": (0, 2), "signal": (0, 1), "names_0": (2, 2), "names_1": (5, 5)}
    assert set(dict(environment.definitions)) == {"RED", "GREEN", "car"}
    assert len(environment.table.states) == 6
    act = Policy.program([(TRUE, "on")])
    assert check(environment, act, "never lane = 1 and signal = RED for 2 steps").proved
    assert check(environment, act, "never lane = 1 and signal = RED").violated


def test_spread_states_have_a_number_of_their_own() -> None:
    environment = from_transitions(1, [0], lambda s, a: [(1, min(s * 10, 10**9))])
    assert bounds(environment) == {"state": (0, 9), "value": (1, 10**9)}
    assert check(environment, Policy.program([(TRUE, "a0")]), "eventually value = 1000000").proved


def test_what_is_no_variable_is_numbered() -> None:
    environment = from_transitions(
        frozenset({1}), [0], lambda s, a: [(1, s | {len(s) + 1} if len(s) < 4 else s)], labels={"size": len}
    )
    assert bounds(environment) == {"state": (0, 3)}
    assert check(environment, Policy.program([(TRUE, "a0")]), "eventually size = 4").proved


def test_starts_that_are_not_equally_likely_are_held_by_lots() -> None:
    environment = from_transitions(
        {"a": Fraction(1, 4), "b": Fraction(3, 4)},
        ["end"],
        lambda s, a: [(1, s, int(s == "a"), True)],
        max_steps=1,
    )
    assert holds(probability(environment, "Pmax goal"), Fraction(1, 4))
    act = Policy.program([(TRUE, "end")])
    assert holds(check(environment, act, "steps"), 1)
    assert isinstance(environment.properties["goal"], Within)
    assert environment.properties["goal"].steps == 1
    assert bounds(environment)["lot"] == (0, 3)
    assert holds(check(environment, act, "P=? [ F state = a ] over avg"), Fraction(1, 4))


def test_the_result_says_how_far_from_1_probabilities_were() -> None:
    third = 1 / 3
    environment = from_table(
        {0: {0: [(third, 0, 0, True)] * 2 + [(third, 1, 1, True)], 1: [(1, 0, 0, True)]}, 1: {}}
    )
    found = probability(environment, "Pmax goal")
    assert holds(found, Fraction(1, 3))
    assert "of 2 steps in the table, 1 had probabilities whose sum was up to 1e-16 from 1" in str(found)
    assert environment.normalised == ("main.a0",)


def test_fractions_stay_as_they_are() -> None:
    environment = from_transitions(0, [0], lambda s, a: [(Fraction(1, 7), 1, 1, True), (Fraction(6, 7), 0)])
    assert environment.normalised == ()
    assert [o.probability for o in environment.table.rows[0][0] or ()] == [Fraction(1, 7), Fraction(6, 7)]


def test_a_state_may_end_an_episode_or_not() -> None:
    """`terminated` belongs to the step, not to the state that it leads to."""
    environment = from_table({0: {0: [("1/2", 0, 0, False), ("1/2", 0, 1, True)]}})
    act = Policy.program([(TRUE, "a0")])
    assert holds(check(environment, act, "P=? [ F<=2 terminated ]"), Fraction(3, 4))
    assert probability(environment, "Pmax goal").verdict.low == 1


def test_no_goal_is_guessed_where_rewards_contradict() -> None:
    environment = from_table({0: {0: [("1/2", 1, 0, True), ("1/2", 1, 1, True)]}, 1: {}})
    with pytest.raises(InvalidProblem, match="in the same state with a positive reward and without"):
        check(environment, None, "Pmax goal")


def test_returns_with_negative_rewards() -> None:
    environment = from_table({0: {0: [(1, 1, -2, False)]}, 1: {0: [(1, 2, 5, True)]}, 2: {}})
    act = Policy.program([(TRUE, "a0")])
    assert holds(check(environment, act, "gain"), 5)
    assert holds(check(environment, act, "loss"), 2)
    found = check(environment, act, "return")
    assert holds(found, 3)
    assert found.certified


def test_a_return_with_negative_rewards_needs_an_end() -> None:
    environment = from_table({0: {0: [(1, 0, -1, False)], 1: [(1, 1, 0, True)]}, 1: {}})
    found = check(environment, Policy.program([(TRUE, "a0")]), "return")
    assert isinstance(found.verdict, Unknown)
    assert "the goal may be missed" in found.verdict.detail
    limited = from_table({0: {0: [(1, 0, -1, False)], 1: [(1, 1, 0, True)]}, 1: {}}, max_steps=7)
    found = check(limited, Policy.program([(TRUE, "a0")]), "return")
    assert holds(found, -7)
    assert found.certified


def test_properties_by_name() -> None:
    environment = from_table({0: {0: [(1, 1, 1, True)], 1: [(1, 0, 0, False)]}, 1: {}}, max_steps=9)
    kinds = {name: type(asked) for name, asked in environment.properties.items()}
    assert environment.absent["safe"] == "no episode ends without a positive reward"
    assert kinds["P goal"] is Probability
    assert kinds["return"] is kinds["steps"] is Expected


def test_actions_with_very_different_numbers_of_outcomes_are_divided() -> None:
    """A teleport to any of 300 places beside single steps: arrays stay short."""

    def move(state: int, action: int) -> list[Any]:
        if state == 0:
            return [(Fraction(1, 300), n) for n in range(300)]
        return [(1, state - 1, int(state == 5), state == 5)]

    environment = from_transitions(0, [0], move)
    assert len(environment.components[0].edges) == 2
    assert probability(environment, "Pmax goal").verdict.low == 1


def test_an_action_that_is_nowhere_possible_is_known() -> None:
    environment = from_table({0: {0: [], 1: [(1, 0, 0, True)]}})
    assert environment.model.actions == ("a0", "a1")
    assert check(environment, Policy.program([(TRUE, "a1")]), "eventually terminated").proved
    assert check(environment, Policy.program([(TRUE, "a0")]), "eventually terminated").violated


class Grid(NamedTuple):
    row: int
    column: int


def make_grid() -> Any:
    def move(state: Grid, action: str) -> list[Any]:
        row = state.row + (action == "down")
        column = state.column + (action == "right")
        after = Grid(min(row, 2), min(column, 2))
        return [(1, after, int(after == (2, 2)), after == (2, 2))]

    return from_transitions(Grid(0, 0), ["down", "right"], move)


TABLES: dict[str, Any] = {
    "labels": [["right", "right", "down"], ["down"] * 3, [1, 1, 1]],
    "json": {"observe": ["column", "row"], "table": [[1, 0, 1], [1, 0, 1], [0, 0, None]]},
    "first": {
        "observe": ["row", "column"],
        "first": [0, 0],
        "actions": ["right", "down"],
        "table": [[0, 0, 1]] * 3,
    },
    "array": np.array([[1, 1, 0], [0, 0, 0], [1, 1, 1]]),
    "values": np.array([[[0.1, 0.5], [0, 1], [2, 1]], [[1, 1], [1, 1], [1, 1]], [[0, 9], [0, 9], [0, 9]]]),
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_actions(name: str, tmp_path: Path) -> None:
    grid = make_grid()
    policy = Policy.from_table(TABLES[name], grid)
    assert check(grid, policy, "eventually terminated").proved
    assert check(grid, policy, "never row = 1 and column = 0").proved
    if isinstance(TABLES[name], np.ndarray):
        np.save(tmp_path / "table.npy", TABLES[name])
        assert Policy.from_table(tmp_path / "table.npy", grid) == policy


def test_a_table_decides_nothing_outside() -> None:
    grid = make_grid()
    policy = Policy.from_table([["down"], ["down"]], grid)
    found = check(grid, policy, "eventually terminated")
    assert found.violated
    assert found.trace is not None
    assert [s["row"] for s in found.trace.states] == [0, 1, 2]


def test_the_first_of_equal_values_counts() -> None:
    grid = make_grid()
    assert check(grid, Policy.from_table(np.zeros((3, 3, 2)), grid), "never column > 0").proved


@pytest.mark.train
def test_networks_over_one_hot_observations(tmp_path: Path) -> None:
    """Equal decisions in every state: DQN and PPO of Stable-Baselines3 on FrozenLake."""
    gymnasium = pytest.importorskip("gymnasium")
    sb3 = pytest.importorskip("stable_baselines3")
    library = gymnasium.make("FrozenLake-v1", is_slippery=False)
    environment = from_table(library.unwrapped.P, library.unwrapped.initial_state_distrib)
    for kind, options in ((sb3.DQN, {"learning_starts": 10}), (sb3.PPO, {"n_steps": 64})):
        model = kind("MlpPolicy", library, seed=1, **options).learn(128)
        path = tmp_path / f"{kind.__name__}.zip"
        model.save(path)
        policy: Any = environment.wire(path)
        for state in range(16):
            wanted = int(model.predict(state, deterministic=True)[0])
            asked = check(
                environment, policy, f"never state = {state} and not chosen(a{wanted}) and not terminated"
            )
            assert not asked.violated
        assert check(environment, path, "P goal").certified
