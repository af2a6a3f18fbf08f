"""Saved models are read from their text and their tensors, and compute what the library computes."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.formats.handmade import actor_critic, box, linear, saved_model

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.formats.loaded_policy import LoadedPolicy
from surefoot.formats.normalization import Normalization
from surefoot.formats.sb3 import read_sb3
from surefoot.problem.meaning.inference import infer_outputs

OBSERVATIONS = np.random.default_rng(5).normal(size=(50, 2)).astype(np.float32) * 2
UNEQUAL = box("[-1.  -2.   0.1]", "[3.  0.5 inf]", [3])
EQUAL = box("[-1. -1. -1.]", "[1. 1. 1.]", [3])


def load(tmp_path: Path, data: bytes, **how: Any) -> LoadedPolicy:
    (tmp_path / "model.zip").write_bytes(data)
    return read_sb3(tmp_path / "model.zip", **how)


def chain(weights: dict[str, np.ndarray], names: list[str], act: Any, x: np.ndarray) -> np.ndarray:
    """The layers in float64, `act` between them."""
    x = x.astype(np.float64)
    for i, name in enumerate(names):
        x = (act(x) if i else x) @ weights[f"{name}.weight"].T.astype(np.float64) + weights[f"{name}.bias"]
    return x


POLICY = ["mlp_extractor.policy_net.0", "mlp_extractor.policy_net.2", "action_net"]


def relu(x: np.ndarray) -> np.ndarray:
    return np.maximum(x, 0)


def test_ppo_with_discrete_actions(tmp_path: Path) -> None:
    weights = actor_critic()
    policy = load(tmp_path, saved_model(weights))
    assert (policy.kind, policy.head, policy.low) == ("sb3 PPO", "argmax", None)
    assert policy.network.name == "model"
    assert policy.notes == ("observations are not normalised",)
    expected = chain(weights, POLICY, np.tanh, OBSERVATIONS)
    assert abs(infer_outputs(policy.network, OBSERVATIONS) - expected).max() < 1e-5


def test_ppo_with_a_box_of_unequal_bounds(tmp_path: Path) -> None:
    weights = actor_critic(1)
    policy = load(tmp_path, saved_model(weights, actions=UNEQUAL))
    low, high = np.float32([-1, -2, 0.1]), np.float32([3, 0.5, np.inf])
    assert (policy.head, policy.low, policy.high) == (
        "value",
        tuple(map(float, low)),
        tuple(map(float, high)),
    )
    raw = chain(weights, POLICY, np.tanh, OBSERVATIONS)
    assert ((raw < low).any(axis=0) | (raw > high).any(axis=0)).all()  # otherwise this shows nothing
    actions = infer_outputs(policy.network, OBSERVATIONS)
    assert abs(actions - np.clip(raw, low, high)).max() < 1e-5
    assert (low <= actions).all()
    assert (actions <= high).all()


def test_equal_bounds_are_one_clip(tmp_path: Path) -> None:
    assert len(load(tmp_path, saved_model(actor_critic(), actions=EQUAL)).network.nodes) == 6


def test_a2c_is_told_from_ppo(tmp_path: Path) -> None:
    assert load(tmp_path, saved_model(actor_critic(), without=("clip_range",))).kind == "sb3 A2C"


def q_network() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(2)
    names = ("q_net.q_net", "q_net_target.q_net")
    return {
        k: v
        for n in names
        for i, (a, b) in enumerate([(2, 4), (4, 3)])
        for k, v in linear(rng, f"{n}.{2 * i}", a, b).items()
    }


def test_dqn(tmp_path: Path) -> None:
    weights = q_network()
    policy = load(tmp_path, saved_model(weights, module="stable_baselines3.dqn.policies"))
    expected = chain(weights, ["q_net.q_net.0", "q_net.q_net.2"], relu, OBSERVATIONS)
    assert (policy.kind, policy.head) == ("sb3 DQN", "argmax")
    assert abs(infer_outputs(policy.network, OBSERVATIONS) - expected).max() < 1e-5


def unscaled(squashed: np.ndarray, low: list[float], high: list[float]) -> np.ndarray:
    bottom, top = np.float32(low), np.float32(high)
    return bottom + 0.5 * (squashed + 1.0) * (top - bottom)


BOUNDED = box("[-1.  -2.   0.1]", "[3.  0.5 7. ]", [3])


def soft_actor(gsde: bool) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(3)
    mean = "actor.mu.0" if gsde else "actor.mu"
    return (
        linear(rng, "actor.latent_pi.0", 2, 4) | linear(rng, mean, 4, 3) | linear(rng, "actor.log_std", 4, 3)
    )


@pytest.mark.parametrize(("options", "clip"), [({}, 2.0), ({"clip_mean": 0.5}, 0.5)])
@pytest.mark.parametrize("gsde", [False, True])
def test_sac(tmp_path: Path, gsde: bool, options: dict[str, float], clip: float) -> None:
    weights = soft_actor(gsde)
    made = saved_model(weights, actions=BOUNDED, module="stable_baselines3.sac.policies", options=options)
    policy = load(tmp_path, made)
    mean = chain(weights, ["actor.latent_pi.0", "actor.mu.0" if gsde else "actor.mu"], relu, OBSERVATIONS)
    mean = np.clip(mean, -clip, clip) if gsde else mean
    assert (policy.kind, policy.head) == ("sb3 SAC", "value")
    expected = unscaled(np.tanh(mean), [-1, -2, 0.1], [3, 0.5, 7])
    assert abs(infer_outputs(policy.network, OBSERVATIONS) - expected).max() < 1e-5


def test_td3(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    weights = (
        linear(rng, "actor.mu.0", 2, 4) | linear(rng, "actor.mu.2", 4, 3) | linear(rng, "critic.qf0.0", 5, 1)
    )
    policy = load(tmp_path, saved_model(weights, actions=BOUNDED, module="stable_baselines3.td3.policies"))
    squashed = np.tanh(chain(weights, ["actor.mu.0", "actor.mu.2"], relu, OBSERVATIONS))
    assert policy.kind == "sb3 TD3"
    assert (
        abs(
            infer_outputs(policy.network, OBSERVATIONS) - unscaled(squashed, [-1, -2, 0.1], [3, 0.5, 7])
        ).max()
        < 1e-5
    )


def named(activation: str) -> dict[str, str]:
    return {":type:": "<class 'dict'>", ":serialized:": "!", "activation_fn": activation}


TORCH = "<class 'torch.nn.modules.activation.{}'>"
HIDDEN = {":type:": "<class 'dict'>", ":serialized:": "!"}


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("Tanh", np.tanh),
        ("ReLU", relu),
        ("LeakyReLU", lambda x: np.where(x < 0, 0.01 * x, x)),
        ("Sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    ],
)
def test_activations_by_their_printed_name(tmp_path: Path, name: str, function: Any) -> None:
    weights = actor_critic()
    policy = load(tmp_path, saved_model(weights, options=named(TORCH.format(name))))
    assert (
        abs(
            infer_outputs(policy.network, OBSERVATIONS) - chain(weights, POLICY, function, OBSERVATIONS)
        ).max()
        < 1e-5
    )


def test_an_activation_kept_as_a_pickle_must_be_given(tmp_path: Path) -> None:
    weights = actor_critic()
    policy = load(tmp_path, saved_model(weights, options=HIDDEN), activation="relu")
    assert (
        abs(infer_outputs(policy.network, OBSERVATIONS) - chain(weights, POLICY, relu, OBSERVATIONS)).max()
        < 1e-5
    )


def test_statistics_are_folded_in_front(tmp_path: Path) -> None:
    weights = actor_critic()
    statistics = Normalization(np.array([0.3, 1000.1]), np.array([4.0, 1e-4]), 1e-8, 1.5, "stats.pkl")
    policy = load(tmp_path, saved_model(weights), normalization=statistics)
    observations = (np.array([0.3, 1000.1]) + OBSERVATIONS * [2, 0.01]).astype(np.float32)
    scaled = (observations - statistics.mean) / np.sqrt(statistics.variance + 1e-8)
    expected = chain(weights, POLICY, np.tanh, np.clip(scaled, -1.5, 1.5))
    assert abs(infer_outputs(policy.network, observations) - expected).max() < 1e-4
    assert policy.notes == (
        "observations are normalised with stats.pkl (folded in front of the first layer)",
    )
    assert policy.network.notes == policy.notes


@pytest.mark.parametrize("bounds", ["[-0.03333333 -1. -1.]", "[-3.33333330e-02 -1. -1.]"])
def test_bounds_that_may_have_been_rounded_are_noted(tmp_path: Path, bounds: str) -> None:
    policy = load(tmp_path, saved_model(actor_critic(), actions=box(bounds, "[1. 1. 1.]", [3])))
    assert "may have been rounded" in policy.notes[0]


def test_a_start_other_than_zero_is_noted(tmp_path: Path) -> None:
    actions = {":type:": "<class 'gymnasium.spaces.discrete.Discrete'>", "n": "3", "start": "2"}
    assert (
        "ignores the space's start (2)"
        in load(tmp_path, saved_model(actor_critic(), actions=actions)).notes[0]
    )


def space(kind: str, **fields: Any) -> dict[str, Any]:
    return {":type:": f"<class 'gymnasium.spaces.{kind.lower()}.{kind}'>", ":serialized:": "!"} | fields


CNN = {"features_extractor.cnn.0.weight": np.zeros((1, 1, 3, 3), np.float32)}
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"actions": space("MultiDiscrete", nvec="[3 2]")}, ": the last layer has 3 outputs, the action space 5"),
    (
        {"actions": space("MultiDiscrete", nvec="[[3 2]\n [1 2]]")},
        "data.action_space: MultiDiscrete with several axes",
    ),
    (
        {"actions": space("MultiDiscrete", nvec="[1 ... 2]")},
        "data.action_space: the number of values is not readable",
    ),
    ({"actions": space("MultiBinary")}, "data.action_space: the shape is not readable"),
    ({"actions": space("Custom")}, "data.action_space: Custom actions"),
    (
        {"actions": {":type:": "<class 'mine.Box'>"}},
        "data.action_space: action_space of type <class 'mine.Box'>",
    ),
    ({"actions": space("Discrete", n="4")}, ": the last layer has 3 outputs, the action space 4"),
    ({"actions": space("Discrete", n="٣")}, "data.action_space: the number of actions is not readable"),
    (
        {"actions": box("[0. 0. ... 0.]", "[1. 1. 1.]", [3])},
        "data.action_space: the bound `low` is abbreviated",
    ),
    (
        {"actions": box("[0. 0.]", "[1. 1. 1.]", [3])},
        "data.action_space: the bound `low` is not a list of 3 numbers",
    ),
    (
        {"actions": box("[0. nan 0.]", "[1. 1. 1.]", [3])},
        "data.action_space: the bound `low` is not a list of 3",
    ),
    (
        {"actions": box("[0. 2. 0.]", "[1. 1. 1.]", [3])},
        "data.action_space: an action bound has low above high",
    ),
    ({"actions": space("Box", _shape=[3])}, "data.action_space: the bound `low` is only there as a pickle"),
    (
        {"observations": space("Discrete", n="0")},
        "data.observation_space: the number of values is not readable",
    ),
    (
        {"observations": space("Discrete", n="3")},
        ": `mlp_extractor.policy_net.0` has 2 inputs, but it reads 3 numbers",
    ),
    (
        {"observations": space("Dict")},
        "data.observation_space: the spaces of the dictionary are not readable",
    ),
    (
        {"observations": space("Dict", spaces="{'a': Discrete(2), 'a': Discrete(2)}")},
        "data.observation_space: the spaces of the dictionary are not readable",
    ),
    (
        {"observations": space("Dict", spaces="{'a': Box(0, 255, (3, 36, 36), uint8)}")},
        "data.observation_space: the image `a` goes through convolutions (CNN)",
    ),
    (
        {"observations": space("Dict", spaces="{'a': Tuple(Discrete(2))}")},
        "data.observation_space: the spaces of the dictionary are not readable",
    ),
    ({"observations": space("Text")}, "data.observation_space: Text observations"),
    ({"observations": space("MultiBinary")}, "data.observation_space: the shape is not readable"),
    (
        {"observations": box("", "", [3, 8, 8], "uint8")},
        "data.observation_space: image observations (CNN policy)",
    ),
    (
        {"observations": box("", "", [5])},
        ": `mlp_extractor.policy_net.0` has 2 inputs, but it reads 5 numbers",
    ),
    ({"observations": box("", "", [-1])}, "data.observation_space: the shape is not readable"),
    (
        {"module": "sb3_contrib.ppo_recurrent.policies"},
        "data.policy_class: policy class from `sb3_contrib.ppo_recurrent",
    ),
    ({"module": "my.policies"}, "data.policy_class: policy class from `my.policies`"),
    (
        {"more": {"policy_class": None}},
        "data.policy_class: the file does not say which policy class it holds",
    ),
    (
        {"options": {"features_extractor_class": "<class 'mine.Scale'>"}},
        "data.policy_kwargs: features extractor <class",
    ),
    ({"options": named("<class 'mine.ReLU'>")}, "data: activation <class 'mine.ReLU'>"),
    ({"options": named(TORCH.format("GLU"))}, "data: activation <class 'torch.nn.modules.activation.GLU'>"),
    (
        {"options": HIDDEN},
        "data: policy_kwargs is only there as a pickle, so the activation is unknown; fix: --activation",
    ),
    (
        {"options": "text"},
        "data: policy_kwargs is only there as a pickle, so the activation is unknown; fix: --activation",
    ),
    ({"extra": CNN}, ": this is a CNN policy"),
    (
        {"extra": {"lstm_actor.weight_ih_l0": np.zeros(1, np.float32)}},
        ": `lstm_actor` has not the weights of a recurrent layer",
    ),
    (
        {"extra": {"features_extractor.extractors.a.b": np.zeros(1, np.float32)}},
        ": this is a policy that reads images by convolutions (CNN)",
    ),
    (
        {"extra": {"features_extractor.0.weight": np.zeros(1, np.float32)}},
        ": this is a policy with its own features",
    ),
    (
        {"extra": {"mlp_extractor.policy_net.1.weight": np.zeros(4, np.float32)}},
        "policy.pth: `mlp_extractor.policy_net.1.weight` belongs to no chain",
    ),
]


@pytest.mark.parametrize(("change", "message"), REFUSED)
def test_refusals_name_what_it_is(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    weights = actor_critic() | change.get("extra", {})
    how = {key: value for key, value in change.items() if key != "extra"}
    place = "model.zip" if message.startswith(":") else "model.zip:"
    with pytest.raises((InvalidProblem, Unsupported), match=re.escape(place + message)):
        load(tmp_path, saved_model(weights, **how))


def test_dqn_needs_discrete_actions(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match="DQN with a Box action space"):
        load(tmp_path, saved_model(q_network(), module="stable_baselines3.dqn.policies", actions=EQUAL))


def test_a_tanh_policy_needs_bounds(tmp_path: Path) -> None:
    with pytest.raises(InvalidProblem, match="a tanh policy with an unbounded action space"):
        load(
            tmp_path, saved_model(soft_actor(False), module="stable_baselines3.sac.policies", actions=UNEQUAL)
        )


def test_no_known_weights(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="no known algorithm has these weights"):
        load(tmp_path, saved_model({"x": np.zeros(1, np.float32)}))


@pytest.mark.parametrize(
    ("asked", "message"),
    [("relu", "the file says that its activation is tanh, not relu"), ("glu", "unknown activation `glu`")],
)
def test_an_activation_against_the_file(tmp_path: Path, asked: str, message: str) -> None:
    with pytest.raises(InvalidProblem, match=message):
        load(tmp_path, saved_model(actor_critic()), activation=asked)
