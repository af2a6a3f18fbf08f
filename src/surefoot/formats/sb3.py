"""Read a Stable-Baselines3 policy with a multi-layer perceptron, of any of its algorithms, without torch.

The zip holds `policy.pth`, whose tensors are read as data, and `data`, a JSON text in which everything beyond
plain JSON is a base64 pickle beside a printed copy of its fields. Only the printed copies are read. The
network computes what `model.predict(observation, deterministic=True)` returns; its inputs are the numbers of
an observation, flattened in the library's order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported, locate_errors
from surefoot.formats.loaded_policy import LoadedPolicy
from surefoot.formats.normalization import NOT_NORMALISED, Normalization, clip_nodes, prepend_normalization
from surefoot.formats.observation_encoding import describe_inputs, encode_observation
from surefoot.formats.onnx.activation_functions import TORCH_ACTIVATIONS
from surefoot.formats.onnx.network_builder import (
    NetworkBuilder,
    TensorSignal,
    divide_signal,
    emit_activation,
    row_major_signal,
)
from surefoot.formats.recurrent_layers import (
    LayerMemory,
    count_states,
    emit_recurrent,
    network_with_memory,
    read_gate_weights,
)
from surefoot.formats.untrusted.regular_file import read_input_bytes
from surefoot.formats.untrusted.sb3_settings import READ, Sb3Settings, read_sb3_settings
from surefoot.formats.untrusted.torch_file import read_state_dict
from surefoot.formats.untrusted.zip_archive import Archive, open_archive, read_member
from surefoot.problem.network import (
    Affine,
    Array32,
    Constant,
    Elementwise,
    Shape,
    freeze_float32,
)

_GSDE_CLIP = 2.0  # the library's default `clip_mean` with state-dependent exploration
_CLEAR_NAMES = {
    f"<class 'torch.nn.modules.{'linear' if name == 'identity' else 'activation'}.{torch_name}'>": name
    for name, (torch_name, _) in TORCH_ACTIVATIONS.items()
}
_LSTM = "lstm_actor"
_MOST_PAIRS = 1 << 14  # of choices that are compared


@dataclass(frozen=True, slots=True)
class _Kind:
    """Where an algorithm keeps its policy: hidden layers under `trunk`, then `head` if that is separate."""

    trunk: str
    head: str
    hidden: str
    actions: str  # the action space it needs; empty: any


_ACTOR_CRITIC = _Kind("mlp_extractor.policy_net.", "action_net", "tanh", "")
_ACTOR = _Kind("actor.mu.", "", "relu", "Box")
_SOFT_ACTOR = _Kind("actor.latent_pi.", "actor.mu", "relu", "Box")
_KINDS = {
    **dict.fromkeys(("PPO", "A2C", "TRPO", "MaskablePPO", "RecurrentPPO"), _ACTOR_CRITIC),
    "DQN": _Kind("q_net.q_net.", "", "relu", "Discrete"),
    "QRDQN": _Kind("quantile_net.quantile_net.", "", "relu", "Discrete"),
    **dict.fromkeys(("SAC", "TQC"), _SOFT_ACTOR),
    **dict.fromkeys(("TD3", "DDPG"), _ACTOR),
    "ARS": _Kind("action_net.", "", "relu", ""),
}
_ALWAYS_SQUASHED = ("SAC", "TQC", "TD3", "DDPG")


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
    with locate_errors(where):
        recurrent = read_gate_weights(weights, _LSTM, "lstm") if name == "RecurrentPPO" else []
    memory = LayerMemory(settings.observations)
    builder = NetworkBuilder([settings.observations + count_states(recurrent, "lstm")])
    with locate_errors(where):
        features = encode_observation(builder, settings.parts)
        if recurrent:
            features = emit_recurrent(builder, features, recurrent, "lstm", memory)
        scores = _emit_layers(builder, features, weights, name, hidden, settings)
        squashed = _is_squashed(name, settings)
        if squashed:
            scores = emit_activation(builder, scores, Shape.TANH)
        result, low, high = _emit_actions(builder, scores, settings, squashed)
        network = replace(
            network_with_memory(builder, result, memory, path.stem),
            notes=(*settings.notes, *describe_inputs(settings.parts), *builder.notes),
        )
    network = prepend_normalization(network, normalization) if normalization else network
    notes = network.notes if normalization else (*network.notes, NOT_NORMALISED)
    if low is None:
        return LoadedPolicy(network, "argmax", f"sb3 {name}", notes=notes)
    return LoadedPolicy(network, "value", f"sb3 {name}", low, high, notes=notes)


def _detect_algorithm(weights: dict[str, Array32], settings: Sb3Settings, where: str) -> str:
    """Which algorithm wrote these weights, or what kind of policy it is that is not read."""
    for part, kind in (
        ("features_extractor.cnn.", "CNN policy"),
        ("features_extractor.extractors.", "policy that reads images by convolutions (CNN)"),
        ("features_extractor.", "policy with its own features extractor"),
        ("mlp_extractor.shared_net.", "policy with shared layers (before version 1.8)"),
    ):
        if any(part in name for name in weights):
            raise Unsupported(f"this is a {kind}", fix=READ, where=where)
    named = settings.algorithm
    if f"{_LSTM}.weight_ih_l0" in weights and "action_net.weight" in weights:
        return "RecurrentPPO"
    if "action_net.weight" in weights and named in ("PPO", "A2C", "TRPO", "MaskablePPO"):
        return named
    for algorithm, start in (
        ("DQN", ("q_net.q_net.",)),
        ("QRDQN", ("quantile_net.quantile_net.",)),
        ("ARS", ("action_net.0.",)),
        ("SAC", ("actor.latent_pi.", "actor.log_std")),
        ("TD3", ("actor.mu.",)),
    ):
        if any(name.startswith(start) for name in weights):
            return named if _KINDS.get(named) is _KINDS[algorithm] else algorithm
    raise Unsupported("no known algorithm has these weights", fix=READ, where=f"{where}:policy.pth")


def _hidden_activation(kind: _Kind, settings: Sb3Settings, asked: str | None, where: str) -> str:
    """The hidden activation: as printed in the file, else the library's default, else as the caller says."""
    if asked is not None and asked not in TORCH_ACTIVATIONS:
        known = ", ".join(TORCH_ACTIVATIONS)
        raise InvalidProblem(f"unknown activation `{asked}`", fix=f"one of {known}", where="--activation")
    if not settings.options_are_clear:
        if asked is None:
            raise InvalidProblem(
                "policy_kwargs is only there as a pickle, so the activation is unknown",
                fix="--activation tanh|relu",
                where=f"{where}:data",
            )
        return asked
    printed = settings.activation
    if printed is not None and printed not in _CLEAR_NAMES:
        known = ", ".join(torch_name for torch_name, _ in TORCH_ACTIVATIONS.values())
        raise Unsupported(f"activation {printed}", fix=f"one of torch.nn: {known}", where=f"{where}:data")
    found = kind.hidden if printed is None else _CLEAR_NAMES[printed]
    if asked not in (None, found):
        raise InvalidProblem(
            f"the file says that its activation is {found}, not {asked}",
            fix="leave --activation out",
            where=f"{where}:data",
        )
    return found


def _is_squashed(name: str, settings: Sb3Settings) -> bool:
    if name in _ALWAYS_SQUASHED:
        return True
    if name == "ARS":
        default = not settings.linear
        given = default if settings.squash_output is None else settings.squash_output
        return given and settings.actions.kind == "Box"
    return bool(settings.squash_output)


def _emit_layers(
    builder: NetworkBuilder,
    x: TensorSignal,
    weights: dict[str, Array32],
    name: str,
    hidden: str,
    settings: Sb3Settings,
) -> TensorSignal:
    """Linear layers and activations from the features of an observation to the raw output."""
    kind, activate = _KINDS[name], TORCH_ACTIVATIONS[hidden][1]
    layers = _linear_layer_names(weights, kind.trunk)
    for number, layer in enumerate(layers):
        x = _emit_linear(builder, x, weights, layer)
        if kind.head or number < len(layers) - 1:
            x = activate(builder, x)
    if kind.head:
        with_clip = f"{kind.head}.0.weight" in weights  # SAC with state-dependent exploration clips the mean
        x = _emit_linear(builder, x, weights, f"{kind.head}.0" if with_clip else kind.head)
        if with_clip:
            limit = _GSDE_CLIP if settings.clip_mean is None else settings.clip_mean
            x = emit_activation(builder, x, Shape.CLIP, -limit, limit)
    if name == "QRDQN":
        x = _emit_quantile_means(builder, x, settings.actions.width)
    if x.layout.size != settings.actions.width:
        raise InvalidProblem(
            f"the last layer has {x.layout.size} outputs, the action space {settings.actions.width}"
        )
    return x


def _emit_quantile_means(builder: NetworkBuilder, x: TensorSignal, actions: int) -> TensorSignal:
    """The mean over the quantiles of each action; those of one quantile stand side by side."""
    quantiles = x.layout.size // actions
    if quantiles < 1 or x.layout.size % actions:
        raise InvalidProblem(f"{x.layout.size} quantiles for {actions} actions")
    sums = np.tile(np.eye(actions, dtype=np.float32), (1, quantiles))
    total = builder.emit(
        Affine(builder.flat(x), freeze_float32(sums), freeze_float32(np.zeros(actions))), actions
    )
    return divide_signal(builder, row_major_signal(total, (actions,)), quantiles)


def _linear_layer_names(weights: dict[str, Array32], trunk: str) -> list[str]:
    """The linear layers under `trunk`: modules 0, 2, 4, … because the activations between have no weights."""
    found = {name.removeprefix(trunk) for name in weights if name.startswith(trunk)}
    count = sum(name.endswith(".weight") for name in found)
    expected = {f"{2 * i}.{part}" for i in range(count) for part in ("weight", "bias")}
    if strange := sorted(found - expected):
        raise Unsupported(
            f"`{trunk}{strange[0]}` belongs to no chain of linear layers",
            fix=READ,
            where="policy.pth",
        )
    return [f"{trunk}{2 * i}" for i in range(count)]


def _emit_linear(
    builder: NetworkBuilder, x: TensorSignal, weights: dict[str, Array32], name: str
) -> TensorSignal:
    matrix, bias = weights.get(f"{name}.weight"), weights.get(f"{name}.bias")
    if matrix is not None and bias is None and name.startswith("action_net.") and matrix.ndim == 2:
        bias = freeze_float32(np.zeros(matrix.shape[0]))  # ARS may have none
    if matrix is None or bias is None or matrix.ndim != 2 or bias.shape != matrix.shape[:1]:
        raise InvalidProblem(f"`{name}` is not a linear layer", where="policy.pth")
    if matrix.shape[1] != x.layout.size:
        raise InvalidProblem(f"`{name}` has {matrix.shape[1]} inputs, but it reads {x.layout.size} numbers")
    number = builder.emit(Affine(builder.flat(x), matrix, bias), matrix.shape[0])
    return row_major_signal(number, (matrix.shape[0],))


_Bounds = tuple[float, ...] | None


def _emit_actions(
    builder: NetworkBuilder, scores: TensorSignal, settings: Sb3Settings, squashed: bool
) -> tuple[TensorSignal, _Bounds, _Bounds]:
    """The outputs as actions, with their bounds: scores of Discrete actions stay scores."""
    actions = settings.actions
    match actions.kind:
        case "Discrete":
            return scores, None, None
        case "MultiDiscrete":
            picked = _emit_choices(builder, scores, actions.counts)
            return picked, (0.0,) * len(actions.counts), tuple(float(n - 1) for n in actions.counts)
        case "MultiBinary":  # the more likely value of each bit: where sigmoid(score) > 1/2, as it is rounded
            chance = emit_activation(builder, scores, Shape.SIGMOID)
            half = freeze_float32(np.full(actions.width, -0.5))
            number = builder.emit(Elementwise(builder.flat(chance), Constant.ADD, half), actions.width)
            bits = emit_activation(builder, row_major_signal(number, (actions.width,)), Shape.STEP)
            return bits, (0.0,) * actions.width, (1.0,) * actions.width
    assert actions.low is not None
    assert actions.high is not None
    low, high = freeze_float32(actions.low), freeze_float32(actions.high)
    number = builder.flat(scores)
    if squashed:
        if not (np.isfinite(low).all() and np.isfinite(high).all()):
            raise InvalidProblem("a tanh policy with an unbounded action space", where="data")
        # low + 0.5 * (scaled + 1) * (high - low), in this order and in float32
        for kind, constant in (
            (Constant.ADD, np.ones_like(low)),
            (Constant.MULTIPLY, np.full_like(low, 0.5)),
            (Constant.MULTIPLY, high - low),
            (Constant.ADD, low),
        ):
            number = builder.emit(Elementwise(number, kind, freeze_float32(constant)), low.size)
    else:
        for node in clip_nodes(len(builder.nodes), low, high):
            number = builder.emit_any(node)
    return row_major_signal(number, (low.size,)), tuple(map(float, low)), tuple(map(float, high))


def _emit_choices(builder: NetworkBuilder, scores: TensorSignal, counts: tuple[int, ...]) -> TensorSignal:
    """For each group of scores the number of the largest, the first of equals, in exact whole numbers.

    A score wins against one after it if that is not larger, against one before it if it is larger; it is the
    largest if it wins against all others.
    """
    pairs = [
        (start + i, start + j)
        for start, n in zip(np.cumsum([0, *counts[:-1]]).tolist(), counts, strict=True)
        for i in range(n)
        for j in range(i + 1, n)
    ]
    if len(pairs) > _MOST_PAIRS:
        raise Unsupported(f"MultiDiscrete actions with {sum(counts)} choices", fix="use fewer")
    width, rows = scores.layout.size, np.arange(len(pairs))
    first, second = (np.array([p[k] for p in pairs], dtype=np.int64) for k in (0, 1))
    differences = np.zeros((len(pairs), width), np.float32)
    differences[rows, second], differences[rows, first] = 1, -1
    wins, others = np.zeros((width, len(pairs)), np.float32), np.repeat(counts, counts) - 1
    wins[first, rows], wins[second, rows] = -1, 1
    earlier = np.bincount(second, minlength=width)  # what it has to win against a score before it
    numbers, group = np.concatenate([np.arange(n) for n in counts]), np.repeat(np.arange(len(counts)), counts)
    values = np.zeros((len(counts), width), np.float32)
    values[group, np.arange(width)] = numbers
    number = builder.flat(scores)
    if pairs:
        number = builder.emit(
            Affine(number, freeze_float32(differences), freeze_float32(np.zeros(len(pairs)))), len(pairs)
        )
        number = builder.flat(emit_activation(builder, row_major_signal(number, (len(pairs),)), Shape.STEP))
        # Won: later ones, less those that are larger, and earlier ones that are smaller; all, or fewer.
        bias = (others - earlier) - (others - 1)
        number = builder.emit(Affine(number, freeze_float32(wins), freeze_float32(bias)), width)
        largest = emit_activation(builder, row_major_signal(number, (width,)), Shape.RELU)
        number = builder.flat(largest)
    result = builder.emit(
        Affine(number, freeze_float32(values), freeze_float32(np.zeros(len(counts)))), len(counts)
    )
    return row_major_signal(result, (len(counts),))
