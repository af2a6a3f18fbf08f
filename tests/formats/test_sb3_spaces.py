"""Kinds of observations and actions, by files written byte by byte."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.handmade import actor_critic, saved_model

from surefoot.errors import InvalidProblem
from surefoot.formats.policy_file import load_policy
from surefoot.formats.problem_file import read_problems
from surefoot.formats.sb3 import read_sb3
from surefoot.network.directed_rounding import BoxArray
from surefoot.network.evaluate import evaluate_network_batch
from surefoot.network.float32_error import propagate_rounding_errors
from surefoot.problem.meaning.inference import infer_all_values, infer_outputs
from surefoot.problem.network import IndexInput, Network


def space(kind: str, **fields: Any) -> dict[str, Any]:
    return {":type:": f"<class 'gymnasium.spaces.{kind.lower()}.{kind}'>", ":serialized:": "!"} | fields


def load(folder: Path, inputs: int, outputs: int = 3, **how: Any) -> Network:
    (folder / "policy.zip").write_bytes(saved_model(actor_critic(inputs=inputs, outputs=outputs), **how))
    return read_sb3(folder / "policy.zip").network


def forward(features: np.ndarray, outputs: int = 3) -> np.ndarray:
    """Scores of the same weights, from the inputs of the first layer."""
    weights = actor_critic(inputs=features.shape[1], outputs=outputs)
    x = features.astype(np.float64)
    for name in ("mlp_extractor.policy_net.0", "mlp_extractor.policy_net.2"):
        x = np.tanh(x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"])
    return np.asarray(x @ weights["action_net.weight"].T + weights["action_net.bias"])


def test_discrete_observations_are_one_hot(tmp_path: Path) -> None:
    network = load(tmp_path, 6, observations=space("Discrete", n="6", start="0"))
    assert (network.width, network.indices) == (1, (IndexInput(0, 6),))
    found = infer_outputs(network, np.arange(6, dtype=np.float32)[:, None])
    assert abs(found - forward(np.eye(6))).max() < 1e-6


def test_one_hot_is_exact(tmp_path: Path) -> None:
    """A whole number picks its column and nothing of the others, bit for bit."""
    network = load(tmp_path, 300, observations=space("Discrete", n="300"))
    hot = Network(1, network.nodes[:3])
    found = infer_outputs(hot, np.arange(300, dtype=np.float32)[:, None])
    assert (found == np.eye(300, dtype=np.float32)).all()


def test_a_dictionary_joins_its_keys_in_order(tmp_path: Path) -> None:
    text = (
        "{'a': Box(-1.0, 1.0, (1, 2), float32), 'b c': Discrete(3), 'd': MultiBinary((2, 1)), "
        "'e': MultiDiscrete([2 2]), 'f': Box([-1. -inf], [1. inf], (2,), float64)}"
    )
    network = load(tmp_path, 13, observations=space("Dict", spaces=text))
    assert network.width == 9
    assert [(i.place, i.count) for i in network.indices] == [(2, 3), (5, 2), (6, 2)]
    given = np.float32([[0.3, -0.2, 1, 1, 0, 0, 1, 5, -7]])
    features = np.array([[0.3, -0.2, 0, 1, 0, 1, 0, 1, 0, 0, 1, 5, -7]])
    assert abs(infer_outputs(network, given) - forward(features)).max() < 1e-6
    notes = " ".join(network.notes)
    assert "input 2: `b c`, numbered from 0, one-hot of 3" in notes
    assert "inputs 7 to 8: `f`" in notes


def test_choices_of_groups(tmp_path: Path) -> None:
    """The first of equals wins, as in the library."""
    actions = space("MultiDiscrete", nvec="[3 1 4]")
    network = load(tmp_path, 2, outputs=8, actions=actions)
    x = np.random.default_rng(4).normal(size=(400, 2)).astype(np.float32) * 3
    scores = infer_outputs(Network(2, network.nodes[:5]), x)
    expected = [scores[:, :3].argmax(1), np.zeros(400), scores[:, 4:].argmax(1)]
    assert (infer_outputs(network, x) == np.stack(expected, axis=1)).all()
    assert len({tuple(row) for row in infer_outputs(network, x).tolist()}) > 3
    ties = Network(8, tuple(_behind(network, 5)))
    rows = np.float32([[1, 1, 1, 0, 2, 5, 5, 5], [0, 1, 1, 0, 2, 2, 2, 2], [0, 0, 1, 9, -1, -2, -1, -1]])
    assert infer_outputs(ties, rows).tolist() == [[0, 0, 1], [1, 0, 0], [2, 0, 0]]


def _behind(network: Network, place: int) -> Any:
    from surefoot.problem.network import shift_node_sources

    return (shift_node_sources(node, -place) for node in network.nodes[place:])


def test_bits(tmp_path: Path) -> None:
    network = load(tmp_path, 2, actions=space("MultiBinary", n=3, _shape=[3]))
    x = np.random.default_rng(4).normal(size=(100, 2)).astype(np.float32) * 3
    assert (infer_outputs(network, x) == (forward(x) > 0)).all()


LAKE = """
name = "lake"
initial = "s = 0"
[variables]
s = "{kind}"
[[edges]]
action = "left"
[[edges]]
action = "stay"
[[edges]]
action = "right"
updates = {{ s = "min(s + 1, 5)" }}
[policy]
file = "policy.zip"
observe = ["{observed}"]
actions = ["left", "stay", "right"]
[properties]
end = "never s > 7"
"""


@pytest.mark.parametrize(
    ("kind", "observed"),
    [
        ("int 0..5", "s"),
        ("int 0..9", "min(s, 5)"),
        ("int 0..9", "s % 6"),
        ("int 0..5", "s > 3"),
        ("int 0..5", "5 - s"),
    ],
)
def test_what_may_be_observed_as_an_index(tmp_path: Path, kind: str, observed: str) -> None:
    load(tmp_path, 6, observations=space("Discrete", n="6"))
    (tmp_path / "lake.toml").write_text(LAKE.format(kind=kind, observed=observed))
    assert read_problems(tmp_path / "lake.toml")


@pytest.mark.parametrize(
    ("kind", "observed"),
    [("int 0..9", "s"), ("int", "s"), ("int 0..5", "s - 1"), ("real [0, 5]", "s"), ("int 0..5", "s / 1")],
)
def test_what_may_not(tmp_path: Path, kind: str, observed: str) -> None:
    load(tmp_path, 6, observations=space("Discrete", n="6"))
    (tmp_path / "lake.toml").write_text(LAKE.format(kind=kind, observed=observed))
    with pytest.raises(
        InvalidProblem, match="input 0 of the network is a whole number from 0 to 5, but"
    ) as caught:
        read_problems(tmp_path / "lake.toml")
    assert "limit it: min(max(x, 0), 5)" in str(caught.value)


def test_statistics_are_not_for_numbered_values(tmp_path: Path) -> None:
    from surefoot.formats.normalization import Normalization

    load(tmp_path, 6, observations=space("Discrete", n="6"))
    with pytest.raises(InvalidProblem, match="of which some are numbered values"):
        load_policy(tmp_path / "policy.zip", normalization=Normalization(np.zeros(1), np.ones(1), 1e-8, 10.0))


def test_choices_are_whole_numbers_in_every_order_of_summation(tmp_path: Path) -> None:
    """What the rounding of scores cannot turn is exact; elsewhere the error says so."""
    network = load(tmp_path, 2, outputs=5, actions=space("MultiDiscrete", nvec="[3 2]"))
    x = np.random.default_rng(6).normal(size=(200, 2)).astype(np.float32)
    errors = np.concatenate([evaluate_network_batch(network, row[None]).error for row in x])
    assert (errors == 0).mean() > 0.9
    ties = Network(5, tuple(_behind(network, 5)))
    near = np.float32([[1, 1, 0, 0, 3]])
    found = propagate_rounding_errors(
        ties, [BoxArray(abs(v), abs(v)) for v in infer_all_values(ties, near)], np.full(5, 1e-3), roundings=2
    )
    assert found[-1][0, 0] >= 1
    assert found[-1][0, 1] == 0
