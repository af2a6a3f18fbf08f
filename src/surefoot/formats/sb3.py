"""Read a Stable-Baselines3 policy (PPO, A2C, DQN, SAC, TD3 with a multi-layer perceptron) without torch.

The zip holds `policy.pth`, whose tensors are read as data, and `data`, a JSON text in which everything beyond
plain JSON is a base64 pickle beside a printed copy of its fields. Only the printed copies are read. The
network computes what `model.predict(observation, deterministic=True)` returns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported, locate_errors
from surefoot.formats.loaded_policy import LoadedPolicy
from surefoot.formats.normalization import NOT_NORMALISED, Normalization, clip_nodes, prepend_normalization
from surefoot.formats.untrusted.regular_file import read_input_bytes
from surefoot.formats.untrusted.sb3_settings import ActionBox, Sb3Settings, read_sb3_settings
from surefoot.formats.untrusted.torch_file import read_state_dict
from surefoot.formats.untrusted.zip_archive import Archive, open_archive, read_member
from surefoot.problem.network import (
    Activation,
    Affine,
    Array32,
    Constant,
    Elementwise,
    Network,
    Node,
    Shape,
    freeze_float32,
)

ACTIVATIONS = {
    "tanh": Shape.TANH,
    "relu": Shape.RELU,
    "leaky_relu": Shape.LEAKY_RELU,
    "sigmoid": Shape.SIGMOID,
}
_LEAK = float(np.float32(0.01))  # torch's default slope
_GSDE_CLIP = 2.0  # the library's default `clip_mean` with state-dependent exploration
_CLEAR_NAMES = {
    f"<class 'torch.nn.modules.activation.{name}'>": shape
    for name, shape in (
        ("Tanh", Shape.TANH),
        ("ReLU", Shape.RELU),
        ("LeakyReLU", Shape.LEAKY_RELU),
        ("Sigmoid", Shape.SIGMOID),
    )
}
_SUPPORTED = "PPO, A2C, DQN, SAC and TD3 with MlpPolicy are read"


@dataclass(frozen=True, slots=True)
class _Kind:
    """Where an algorithm keeps its policy: hidden layers under `trunk`, then `head` if that is separate."""

    trunk: str
    head: str
    hidden: Shape
    actions: str  # the action space it needs; empty: Discrete or Box


_KINDS = {
    "PPO": _Kind("mlp_extractor.policy_net.", "action_net", Shape.TANH, ""),
    "A2C": _Kind("mlp_extractor.policy_net.", "action_net", Shape.TANH, ""),
    "DQN": _Kind("q_net.q_net.", "", Shape.RELU, "Discrete"),
    "SAC": _Kind("actor.latent_pi.", "actor.mu", Shape.RELU, "Box"),
    "TD3": _Kind("actor.mu.", "", Shape.RELU, "Box"),
}


def is_sb3_archive(archive: Archive) -> bool:
    return "policy.pth" in archive.sizes and "data" in archive.sizes


def read_sb3(
    path: Path, *, normalization: Normalization | None = None, activation: str | None = None
) -> LoadedPolicy:
    """The deterministic policy of a saved model; `activation` is needed only where the file hides it."""
    where = str(path)
    archive = open_archive(read_input_bytes(path), where)
    settings = read_sb3_settings(read_member(archive, "data"), f"{where}:data")
    weights = read_state_dict(read_member(archive, "policy.pth"), f"{where}:policy.pth")
    name = _detect_algorithm(weights, settings, where)
    kind = _KINDS[name]
    if kind.actions and kind.actions != settings.actions.kind:
        raise InvalidProblem(f"{name} with a {settings.actions.kind} action space", where=f"{where}:data")
    hidden = _hidden_activation(kind, settings, activation, where)
    nodes = list(_iterate_layers(weights, kind, hidden, settings, where))
    squashed = name in ("SAC", "TD3") or settings.squash_output
    if squashed:
        nodes.append(Activation(len(nodes), Shape.TANH))
    network = _assemble_network(nodes, weights, settings, where)
    network, low, high = _bound_actions(network, settings.actions, squashed, where)
    network = replace(network, name=path.stem, notes=settings.notes)
    network = prepend_normalization(network, normalization) if normalization else network
    notes = network.notes if normalization else (*network.notes, NOT_NORMALISED)
    if low is None:
        return LoadedPolicy(network, "argmax", f"sb3 {name}", notes=notes)
    return LoadedPolicy(network, "value", f"sb3 {name}", low, high, notes=notes)


def _detect_algorithm(weights: dict[str, Array32], settings: Sb3Settings, where: str) -> str:
    """Which algorithm wrote these weights, or what kind of policy it is that is not read."""
    for part, kind in (
        ("lstm", "recurrent (LSTM) policy"),
        ("features_extractor.cnn.", "CNN policy"),
        ("features_extractor.extractors.", "MultiInput policy"),
        ("features_extractor.", "policy with its own features extractor"),
        ("mlp_extractor.shared_net.", "policy with shared layers (before version 1.8)"),
        ("quantile_net.", "QR-DQN policy"),
    ):
        if any(part in name for name in weights):
            raise Unsupported(f"this is a {kind}", fix=_SUPPORTED, where=where)
    if "action_net.weight" in weights:
        return "PPO" if settings.has_clip_range else "A2C"
    if any(name.startswith("q_net.q_net.") for name in weights):
        return "DQN"
    if any(name.startswith(("actor.latent_pi.", "actor.log_std")) for name in weights):
        return "SAC"
    if any(name.startswith("actor.mu.") for name in weights):
        return "TD3"
    raise Unsupported("no known algorithm has these weights", fix=_SUPPORTED, where=f"{where}:policy.pth")


def _hidden_activation(kind: _Kind, settings: Sb3Settings, asked: str | None, where: str) -> Shape:
    """The hidden activation: as printed in the file, else the library's default, else as the caller says."""
    if asked is not None and asked not in ACTIVATIONS:
        raise InvalidProblem(f"unknown activation `{asked}`", fix=f"one of {', '.join(ACTIVATIONS)}")
    wanted = ACTIVATIONS[asked] if asked is not None else None
    if not settings.options_are_clear:
        if wanted is None:
            raise InvalidProblem(
                "policy_kwargs is only there as a pickle, so the activation is unknown",
                fix="--activation tanh|relu",
                where=f"{where}:data",
            )
        return wanted
    printed = settings.activation
    if printed is not None and printed not in _CLEAR_NAMES:
        raise Unsupported(
            f"activation {printed}", fix="Tanh, ReLU, LeakyReLU or Sigmoid of torch.nn", where=f"{where}:data"
        )
    found = kind.hidden if printed is None else _CLEAR_NAMES[printed]
    if wanted not in (None, found):
        raise InvalidProblem(
            f"the file says that its activation is {found.value}, not {asked}",
            fix="leave --activation out",
            where=f"{where}:data",
        )
    return found


def _iterate_layers(
    weights: dict[str, Array32], kind: _Kind, hidden: Shape, settings: Sb3Settings, where: str
) -> Iterator[Node]:
    """Linear layers and activations from the observation to the raw output."""
    count = 0
    names = _linear_layer_names(weights, kind.trunk, where)
    for number, name in enumerate(names):
        yield _linear_layer(weights, name, count, where)
        count += 1
        if kind.head or number < len(names) - 1:
            yield Activation(count, hidden, (_LEAK,) if hidden is Shape.LEAKY_RELU else ())
            count += 1
    if kind.head:
        with_clip = f"{kind.head}.0.weight" in weights  # SAC with state-dependent exploration clips the mean
        yield _linear_layer(weights, f"{kind.head}.0" if with_clip else kind.head, count, where)
        if with_clip:
            limit = float(np.float32(_GSDE_CLIP if settings.clip_mean is None else settings.clip_mean))
            yield Activation(count + 1, Shape.CLIP, (-limit, limit))


def _linear_layer_names(weights: dict[str, Array32], trunk: str, where: str) -> list[str]:
    """The linear layers under `trunk`: modules 0, 2, 4, … because the activations between have no weights."""
    found = {name.removeprefix(trunk) for name in weights if name.startswith(trunk)}
    count = len(found) // 2
    expected = {f"{2 * i}.{part}" for i in range(count) for part in ("weight", "bias")}
    if strange := sorted(found - expected):
        raise Unsupported(
            f"`{trunk}{strange[0]}` belongs to no chain of linear layers",
            fix=_SUPPORTED,
            where=f"{where}:policy.pth",
        )
    return [f"{trunk}{2 * i}" for i in range(count)]


def _linear_layer(weights: dict[str, Array32], name: str, source: int, where: str) -> Affine:
    matrix, bias = weights.get(f"{name}.weight"), weights.get(f"{name}.bias")
    if matrix is None or bias is None or matrix.ndim != 2 or bias.shape != matrix.shape[:1]:
        raise InvalidProblem(f"`{name}` is not a linear layer", where=f"{where}:policy.pth")
    return Affine(source, matrix, bias)


def _assemble_network(
    nodes: list[Node], weights: dict[str, Array32], settings: Sb3Settings, where: str
) -> Network:
    first = nodes[0]
    assert isinstance(first, Affine)
    if first.weights.shape[1] != settings.observations:
        raise InvalidProblem(
            f"{first.weights.shape[1]} inputs of the first layer, {settings.observations} observations",
            where=where,
        )
    with locate_errors(where, InvalidProblem):
        network = Network(settings.observations, tuple(nodes))
    if network.outputs != settings.actions.width:
        raise InvalidProblem(
            f"the last layer has {network.outputs} outputs, the action space {settings.actions.width}",
            where=where,
        )
    return network


def _bound_actions(
    network: Network, actions: ActionBox, squashed: bool, where: str
) -> tuple[Network, tuple[float, ...] | None, tuple[float, ...] | None]:
    """The outputs as actions of the box: clipped, or (behind a tanh) scaled as the library does."""
    if actions.low is None or actions.high is None:
        return network, None, None
    low, high = freeze_float32(actions.low), freeze_float32(actions.high)
    nodes = list(network.nodes)
    if squashed:
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise InvalidProblem("a tanh policy with an unbounded action space", where=f"{where}:data")
        # low + 0.5 * (scaled + 1) * (high - low), in this order and in float32
        for kind, constant in (
            (Constant.ADD, np.ones_like(low)),
            (Constant.MULTIPLY, np.full_like(low, 0.5)),
            (Constant.MULTIPLY, high - low),
            (Constant.ADD, low),
        ):
            nodes.append(Elementwise(len(nodes), kind, freeze_float32(constant)))
    else:
        nodes += clip_nodes(len(nodes), low, high)
    bounded = replace(network, nodes=tuple(nodes))
    return bounded, tuple(map(float, low)), tuple(map(float, high))
