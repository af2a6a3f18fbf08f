"""Policies over numbered observations in the toy text, by name and alive, against the library's own table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.laws.oracle.model import Layer
from tests.laws.oracle.network import write_network

import surefoot as sf
from surefoot.cli import run_command_line
from surefoot.errors import InvalidProblem, Unsupported

LIMIT = 100


def goal_probability(table: Any, starts: Any, chosen: Any) -> float:
    """Of the rewarded end within the limit, by the library's table, backwards in time."""
    value = np.zeros(len(table))
    for _ in range(LIMIT):
        value = np.array(
            [
                sum(p * (float(r > 0) if ends else value[after]) for p, after, r, ends in table[s][chosen[s]])
                for s in range(len(table))
            ]
        )
    return float(starts @ value)


@pytest.mark.train
@pytest.mark.parametrize("algorithm", ["DQN", "A2C"])
def test_a_policy_of_sb3_reads_the_number_of_the_state(algorithm: str, tmp_path: Path) -> None:
    gymnasium, library = pytest.importorskip("gymnasium"), pytest.importorskip("stable_baselines3")
    lake = gymnasium.make("FrozenLake-v1")
    model = getattr(library, algorithm)("MlpPolicy", lake, seed=3, policy_kwargs={"net_arch": [8]})
    model.save(tmp_path / "policy.zip")
    chosen = [int(model.predict(np.array(s), deterministic=True)[0]) for s in range(16)]
    expected = goal_probability(lake.unwrapped.P, lake.unwrapped.initial_state_distrib, chosen)
    for model_of in ("gym:FrozenLake-v1", sf.gym("FrozenLake-v1"), sf.gym(lake)):
        found = sf.probability(model_of, "P goal", policy=tmp_path / "policy.zip")
        assert found.low is not None
        assert float(found.low) - 1e-9 <= expected <= float(found.high) + 1e-9
    model_text = "gym:FrozenLake-v1?is_slippery=false"
    asked = ["check", model_text, "--policy", str(tmp_path / "policy.zip"), "--property", "steps", "--quiet"]
    assert run_command_line(asked) == 0


def test_a_network_reads_one_hot_states_too(tmp_path: Path) -> None:
    rows = tuple(tuple(int(a == (2 if s % 4 < 3 else 1)) for s in range(16)) for a in range(4))
    write_network([Layer(rows, (0,) * 4)], tmp_path / "hot.onnx", batch=False)
    env = sf.gym("FrozenLake-v1", desc=["SFFF", "HHHF", "HHHF", "HHHG"], is_slippery=False)
    assert sf.check(env, tmp_path / "hot.onnx", "goal").proved
    write_network([Layer(((1,) * 5,) * 4, (0,) * 4)], tmp_path / "five.onnx", batch=False)
    with pytest.raises(InvalidProblem, match=r"shows 1 \(state\), or 16 one-hot"):
        sf.check(env, tmp_path / "five.onnx", "goal")


def test_questions_that_are_no_names() -> None:
    env = sf.gym("FrozenLake-v1")
    assert sf.show_property(env.problem(None, "never terminated").property) == "never terminated"
    assert "hole" not in sf.show_property(env.problem(None, "never hole").property)
    with pytest.raises(InvalidProblem, match="no property `Goal`"):
        env.problem(None, "Goal")
    with pytest.raises(InvalidProblem, match="no property `Pmax gaol`"):
        env.problem(None, "Pmax gaol")


def test_what_is_bad_is_said_by_the_entry_that_decides() -> None:
    assert sf.show_property(sf.gym("CliffWalking-v1").properties["safe"]) == "never fallen = 1"
    assert sf.show_property(sf.gym("CliffWalking-v1").properties["goal"]) == "eventually state = 47"
    assert "result" in sf.show_property(sf.gym("Blackjack-v1").properties["P safe"])


def test_a_shield_keeps_what_is_asked_within_a_limit() -> None:
    env = sf.gym("FrozenLake-v1")
    always_right = sf.Policy.from_table([2] * 16, env)
    found = sf.shield(env.problem(always_right, "safe"))
    assert found.accepted
    assert found.covered == 1
    assert str(sf.check(found.problem)).startswith("holds")


@pytest.mark.parametrize(
    ("name", "attribute", "value", "why"),
    [
        ("FrozenLake-v1", "initial_state_distrib", np.eye(16)[3], "law of starts was changed"),
        ("Taxi-v4", "initial_state_distrib", np.eye(500)[3], "law of starts was changed"),
        ("CliffWalking-v1", "initial_state_distrib", np.eye(48)[0], "law of starts was changed"),
        ("CartPole-v1", "gravity", np.float32(9.5), "is a float32"),
    ],
)
def test_changes_of_a_live_environment_are_not_overlooked(
    name: str, attribute: str, value: Any, why: str
) -> None:
    gymnasium = pytest.importorskip("gymnasium")
    library = gymnasium.make(name)
    setattr(library.unwrapped, attribute, value)
    with pytest.raises(Unsupported, match=why):
        sf.gym(library)


def test_shifted_actions_are_refused_and_a_fickle_passenger_is_read() -> None:
    gymnasium = pytest.importorskip("gymnasium")
    cart = gymnasium.make("CartPole-v1")
    cart.unwrapped.action_space = gymnasium.spaces.Discrete(2, start=1)
    with pytest.raises(Unsupported, match="begin with 1"):
        sf.gym(cart)
    fickle = sf.gym(gymnasium.make("Taxi-v4", fickle_passenger=True))
    assert fickle.text == "gym:Taxi-v4?fickle_passenger=true"


def test_lists_are_arguments_as_in_the_library() -> None:
    made = sf.gym("FrozenLake-v1", desc=["SF", "HG"], reward_schedule=(2, -1, 0))
    assert made.text == "gym:FrozenLake-v1?desc=SF/HG&reward_schedule=2,-1,0"
    with pytest.raises(InvalidProblem, match="more than one value"):
        sf.gym("CartPole-v1", kinematics_integrator="euler&gravity=3")


def test_a_shield_around_cart_pole_takes_the_ready_question() -> None:
    found = sf.shield(
        "gym:CartPole-v1", "safe", policy=sf.Policy.program([("theta > 0", "right"), (sf.TRUE, "left")])
    )
    assert found.accepted
    assert found.covered > 0.7
    assert found.cost is not None


@pytest.mark.train
def test_weights_with_a_list_of_layers_are_wired_by_themselves(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    torch.save(torch.nn.Sequential(torch.nn.Linear(4, 2)).state_dict(), tmp_path / "push.pt")
    (tmp_path / "push.wiring.toml").write_text('layers = ["linear 0"]')
    asked = sf.load("gym:CartPole-v1", "safe", policy=tmp_path / "push.pt")
    assert isinstance(asked.policy, sf.NeuralPolicy)
    assert [sf.show_term(term) for term in asked.policy.observe] == ["x", "x_dot", "theta", "theta_dot"]


@pytest.mark.train
def test_a_policy_of_another_map_is_refused(tmp_path: Path) -> None:
    pytest.importorskip("gymnasium")
    library = pytest.importorskip("stable_baselines3")
    library.DQN("MlpPolicy", "FrozenLake8x8-v1", policy_kwargs={"net_arch": [4]}).save(tmp_path / "big.zip")
    with pytest.raises(InvalidProblem, match="knows 64 values of what it reads, and FrozenLake-v1 shows 16"):
        sf.load("gym:FrozenLake-v1", "P goal", policy=tmp_path / "big.zip")
