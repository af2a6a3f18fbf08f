"""Weights of a torch or safetensors file, with a list of layers that says how they are connected.

A state dict names its tensors, but not what happens between them: activations have no weights. The list does,
one text for each layer, in `policy.wiring.toml` beside `policy.pt`:

    layers = ["linear actor.0", "tanh", "linear actor.2", "tanh", "linear actor.4"]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean, locate_errors
from surefoot.formats.onnx.activation_functions import (
    TORCH_ACTIVATIONS,
    emit_celu,
    emit_prelu,
)
from surefoot.formats.onnx.network_builder import (
    NetworkBuilder,
    TensorSignal,
    emit_activation,
    emit_elementwise,
    row_major_signal,
)
from surefoot.formats.onnx.normalization_operators import emit_layer_norm
from surefoot.formats.onnx.one_hot import emit_one_hot
from surefoot.formats.recurrent_layers import (
    GATES,
    LayerMemory,
    count_states,
    emit_recurrent,
    network_with_memory,
    read_gate_weights,
)
from surefoot.formats.toml_document import read_toml_document
from surefoot.formats.untrusted.safetensors import read_safetensors, require_float32
from surefoot.formats.untrusted.torch_file import read_named_tensors
from surefoot.formats.wiring import FILE_KEYS, KEYS, LAYERS, wiring_path
from surefoot.problem.network import Affine, Array32, Constant, Network, Shape, freeze_float32

MOST_LAYERS = 1000
_MOST_ROWS = 1 << 16  # of an embedding
_EXAMPLE = 'layers = ["linear actor.0", "tanh", "linear actor.2"]'


@dataclass(slots=True)
class _Reading:
    """The network so far, and the tensors of the file."""

    tensors: Mapping[str, Array32 | str]
    builder: NetworkBuilder
    signal: TensorSignal
    memory: LayerMemory

    @property
    def width(self) -> int:
        return self.signal.layout.size


def read_layered_network(data: bytes, path: Path, kind: str, layers: Sequence[str] | None) -> Network:
    """The network of a file of weights, by these layers or those that stand beside the file."""
    where = str(path)
    tensors = (read_safetensors if kind == "safetensors" else read_named_tensors)(data, where)
    place = "layers"
    if layers is None:
        beside = wiring_path(path)
        layers = _layers_beside(beside) if beside.is_file() else None
        place = str(beside)
        if layers is None:
            raise _missing_layers(tensors, path)
    with locate_errors(place if place != "layers" else where):
        return connect_layers(tensors, tuple(layers), path.stem)


def _layers_beside(path: Path) -> tuple[str, ...] | None:
    with locate_errors(str(path), InvalidProblem):
        fields = read_toml_document(path).table(*KEYS, *FILE_KEYS)
        return fields[LAYERS].strings() if LAYERS in fields else None


def _missing_layers(tensors: Mapping[str, object], path: Path) -> InvalidProblem:
    """A guess of the linear layers, with the activations left to the user."""
    names = list(tensors)
    shown = ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
    linear = [n.removesuffix(".weight") for n in names if n.endswith(".weight")][:8]
    chain = '", "tanh", "'.join(f"linear {name}" for name in linear)
    example = f'layers = ["{chain}"]' if linear else _EXAMPLE
    what = f"a file of weights names them ({shown}), not how they are connected"
    return InvalidProblem(what, fix=f"say it in {wiring_path(path).name}: {example}", where=str(path))


def connect_layers(tensors: Mapping[str, Array32 | str], layers: tuple[str, ...], name: str) -> Network:
    """The network that the layers describe, from first to last."""
    if not layers or len(layers) > MOST_LAYERS:
        raise InvalidProblem("the list of layers is empty, or too long", fix=_EXAMPLE, where="layers")
    reading: _Reading | None = None
    states = _count_memory(tensors, layers)
    for number, text in enumerate(layers):
        with locate_errors(f"layers[{number}]"):
            if not isinstance(text, str) or not text.split():
                raise InvalidProblem("a layer is no text", fix=_EXAMPLE)
            kind, *arguments = text.split()
            if reading is None:
                reading = _begin(tensors, kind, arguments, states)
            reading.signal = _apply_layer(reading, kind, arguments)
    assert reading is not None
    if not reading.builder.nodes:
        raise InvalidProblem("the layers change nothing", fix=_EXAMPLE, where="layers")
    return network_with_memory(reading.builder, reading.signal, reading.memory, name)


def _count_memory(tensors: Mapping[str, Array32 | str], layers: Sequence[str]) -> int:
    """How many values the recurrent layers remember."""
    total = 0
    for number, text in enumerate(layers):
        kind, *arguments = text.split() if isinstance(text, str) and text.split() else [""]
        if kind in GATES and arguments:
            with locate_errors(f"layers[{number}]"):
                total += count_states(read_gate_weights(tensors, arguments[0], kind), kind)
    return total


def _begin(tensors: Mapping[str, Array32 | str], kind: str, arguments: list[str], memory: int) -> _Reading:
    """The first layer says how many inputs there are."""
    match kind, arguments:
        case "linear", [name]:
            width = _matrix(tensors, name).shape[1]
        case "lstm" | "gru" | "rnn", [name, *_]:
            width = int(read_gate_weights(tensors, name, kind)[0].read.shape[1])
        case "layer_norm", [name, *_]:
            width = _vector(tensors, f"{name}.weight").size
        case "batch_norm", [name, *_]:
            width = _vector(tensors, f"{name}.running_mean").size
        case "one_hot", [_, *_]:
            width = len(arguments)
        case "embedding", [_]:
            width = 1
        case "inputs", [number]:
            width = _whole_number(number)
        case _:
            fix = 'begin with "linear NAME", "lstm NAME", "embedding NAME", "one_hot N" or "inputs N"'
            raise InvalidProblem(
                f"the first layer, `{kind[:40]}`, does not say how many inputs there are", fix=fix
            )
    builder = NetworkBuilder([width + memory])
    return _Reading(tensors, builder, row_major_signal(0, (width,)), LayerMemory(width))


def _apply_layer(reading: _Reading, kind: str, arguments: list[str]) -> TensorSignal:
    if kind in LAYER_KINDS:
        least, most, apply = LAYER_KINDS[kind]
        if not least <= len(arguments) <= most:
            raise InvalidProblem(
                f"`{kind}` with {len(arguments)} arguments", fix="docs/reference/policies.md lists the layers"
            )
        return apply(reading, arguments)
    if kind in TORCH_ACTIVATIONS and not arguments:
        return TORCH_ACTIVATIONS[kind][1](reading.builder, reading.signal)
    known = [*LAYER_KINDS, *TORCH_ACTIVATIONS]
    if kind in TORCH_ACTIVATIONS:
        raise InvalidProblem(f"`{kind}` has no arguments here", fix="leave them out, or export to ONNX")
    raise InvalidProblem(f"unknown layer `{kind[:40]}`", fix=did_you_mean(kind, known))


def _linear(reading: _Reading, arguments: list[str]) -> TensorSignal:
    name = arguments[0]
    matrix = _matrix(reading.tensors, name)
    bias = _tensor(reading.tensors, f"{name}.bias") if f"{name}.bias" in reading.tensors else None
    if bias is None:
        bias = freeze_float32(np.zeros(matrix.shape[0]))
    if bias.shape != matrix.shape[:1] or matrix.shape[1] != reading.width:
        what = f"`{name}` has {matrix.shape[1]} inputs, but it reads {reading.width} numbers"
        raise InvalidProblem(what, fix="list the layers in their order")
    builder = reading.builder
    builder.reserve(matrix.size)
    number = builder.emit(Affine(builder.flat(reading.signal), matrix, bias), matrix.shape[0])
    return row_major_signal(number, (matrix.shape[0],))


def _leaky_relu(reading: _Reading, arguments: list[str]) -> TensorSignal:
    slope = _number(arguments[0]) if arguments else 0.01
    return emit_activation(reading.builder, reading.signal, Shape.LEAKY_RELU, slope)


def _elu(reading: _Reading, arguments: list[str]) -> TensorSignal:
    alpha = _number(arguments[0]) if arguments else 1.0
    if np.float32(alpha) <= 0:
        raise InvalidProblem(f"`elu` with {alpha:g}", fix="use a positive number")
    return emit_activation(reading.builder, reading.signal, Shape.ELU, alpha)


def _celu(reading: _Reading, arguments: list[str]) -> TensorSignal:
    alpha = _number(arguments[0]) if arguments else 1.0
    if np.float32(alpha) <= 0:
        raise InvalidProblem(f"`celu` with {alpha:g}", fix="use a positive number")
    return emit_celu(reading.builder, reading.signal, alpha)


def _prelu(reading: _Reading, arguments: list[str]) -> TensorSignal:
    slopes = _vector(reading.tensors, f"{arguments[0]}.weight")
    if slopes.size not in (1, reading.width):
        raise InvalidProblem(f"{slopes.size} slopes for {reading.width} numbers", fix="name another layer")
    return emit_prelu(reading.builder, reading.signal, np.broadcast_to(slopes, (reading.width,)))


def _clip(reading: _Reading, arguments: list[str]) -> TensorSignal:
    low, high = _number(arguments[0]), _number(arguments[1])
    if low > high:
        raise InvalidProblem("the lower bound is above the upper", fix="swap them")
    return emit_activation(reading.builder, reading.signal, Shape.CLIP, low, high)


def _elementwise(kind: Constant) -> Callable[[_Reading, list[str]], TensorSignal]:
    """A number, or a tensor of the file such as `action_scale`."""

    def apply(reading: _Reading, arguments: list[str]) -> TensorSignal:
        text = arguments[0]
        if text in reading.tensors:
            values = _tensor(reading.tensors, text).ravel()
        else:
            values = freeze_float32([_number(text)])
        if values.size not in (1, reading.width) or (kind is Constant.DIVIDE and not values.all()):
            what = f"`{text[:40]}` has {values.size} numbers for {reading.width}, or is zero"
            raise InvalidProblem(what, fix="name another tensor, or one number")
        return emit_elementwise(
            reading.builder, reading.signal, kind, np.broadcast_to(values, (reading.width,))
        )

    return apply


def _layer_norm(reading: _Reading, arguments: list[str]) -> TensorSignal:
    name, epsilon = arguments[0], _number(arguments[1]) if len(arguments) > 1 else 1e-5
    scale, bias = (_vector(reading.tensors, f"{name}.{part}") for part in ("weight", "bias"))
    _require_width(reading, name, scale, bias)
    found = emit_layer_norm(reading.builder, reading.signal, 0, epsilon)
    found = emit_elementwise(reading.builder, found, Constant.MULTIPLY, scale)
    return emit_elementwise(reading.builder, found, Constant.ADD, bias)


def _batch_norm(reading: _Reading, arguments: list[str]) -> TensorSignal:
    """(x - mean) / sqrt(variance + epsilon) * weight + bias, with the running statistics."""
    name, epsilon = arguments[0], _number(arguments[1]) if len(arguments) > 1 else 1e-5
    parts = ("running_mean", "running_var", "weight", "bias")
    mean, variance, scale, bias = (_vector(reading.tensors, f"{name}.{part}") for part in parts)
    _require_width(reading, name, mean, variance, scale, bias)
    spread = variance + np.float32(epsilon)
    if not (spread > 0).all():
        raise InvalidProblem("variance + epsilon is not positive", fix="repair the variance")
    factor = scale / np.sqrt(spread)
    found = emit_elementwise(reading.builder, reading.signal, Constant.MULTIPLY, factor)
    return emit_elementwise(reading.builder, found, Constant.ADD, bias - mean * factor)


def _one_hot(reading: _Reading, arguments: list[str]) -> TensorSignal:
    """Inputs that are numbered values: `one_hot 16` of one, `one_hot 3 5` of two."""
    counts = tuple(_whole_number(a) for a in arguments)
    if reading.builder.nodes or sum(counts) > _MOST_ROWS:
        raise InvalidProblem("`one_hot` in the middle, or too wide", fix="put it first")
    for place, count in enumerate(counts):
        reading.builder.read_index(place, count)
    number = reading.builder.flat(reading.signal)
    return row_major_signal(emit_one_hot(reading.builder, number, counts), (sum(counts),))


def _embedding(reading: _Reading, arguments: list[str]) -> TensorSignal:
    table = _matrix(reading.tensors, arguments[0])
    if reading.builder.nodes or table.shape[0] > _MOST_ROWS:
        raise InvalidProblem("`embedding` in the middle, or too many rows", fix="put it first")
    reading.builder.read_index(0, table.shape[0])
    hot = emit_one_hot(reading.builder, reading.builder.flat(reading.signal), (table.shape[0],))
    bias = freeze_float32(np.zeros(table.shape[1]))
    number = reading.builder.emit(Affine(hot, freeze_float32(table.T), bias), table.shape[1])
    return row_major_signal(number, (table.shape[1],))


def _recurrent(kind: str) -> Callable[[_Reading, list[str]], TensorSignal]:
    """A module of torch.nn, whose state the network remembers."""

    def apply(reading: _Reading, arguments: list[str]) -> TensorSignal:
        shape = Shape.TANH
        if len(arguments) > 1:
            if arguments[1] not in ("tanh", "relu"):
                raise InvalidProblem(f"`rnn` with `{arguments[1][:40]}`", fix="say tanh or relu")
            shape = Shape.RELU if arguments[1] == "relu" else Shape.TANH
        weights = read_gate_weights(reading.tensors, arguments[0], kind)
        return emit_recurrent(reading.builder, reading.signal, weights, kind, reading.memory, shape)

    return apply


def _keep(reading: _Reading, arguments: list[str]) -> TensorSignal:
    if arguments and _whole_number(arguments[0]) != reading.width:
        raise InvalidProblem(f"there are {reading.width} numbers here", fix="name the right number")
    return reading.signal


# Least and most arguments, and what is done.
LAYER_KINDS: dict[str, tuple[int, int, Callable[[_Reading, list[str]], TensorSignal]]] = {
    "linear": (1, 1, _linear),
    "leaky_relu": (0, 1, _leaky_relu),
    "elu": (0, 1, _elu),
    "celu": (0, 1, _celu),
    "prelu": (1, 1, _prelu),
    "clip": (2, 2, _clip),
    "add": (1, 1, _elementwise(Constant.ADD)),
    "multiply": (1, 1, _elementwise(Constant.MULTIPLY)),
    "divide": (1, 1, _elementwise(Constant.DIVIDE)),
    "layer_norm": (1, 2, _layer_norm),
    "batch_norm": (1, 2, _batch_norm),
    "lstm": (1, 1, _recurrent("lstm")),
    "gru": (1, 1, _recurrent("gru")),
    "rnn": (1, 2, _recurrent("rnn")),
    "one_hot": (1, 64, _one_hot),
    "embedding": (1, 1, _embedding),
    "inputs": (1, 1, _keep),
    "flatten": (0, 0, _keep),
    "dropout": (0, 1, lambda reading, _: reading.signal),
}


def _require_width(reading: _Reading, name: str, *parts: Array32) -> None:
    if any(part.size != reading.width for part in parts):
        what = f"`{name}` is of {parts[0].size} numbers, but it reads {reading.width}"
        raise InvalidProblem(what, fix="list the layers in their order")


def _tensor(tensors: Mapping[str, Array32 | str], name: str) -> Array32:
    if name not in tensors:
        raise InvalidProblem(f"there is no tensor `{name[:80]}`", fix=did_you_mean(name, tensors))
    return require_float32(dict(tensors), name, "")


def _matrix(tensors: Mapping[str, Array32 | str], name: str) -> Array32:
    found = _tensor(tensors, f"{name}.weight")
    if found.ndim != 2:
        raise Unsupported(f"`{name}` is of shape {list(found.shape)}, not a matrix", fix="export to ONNX")
    return found


def _vector(tensors: Mapping[str, Array32 | str], name: str) -> Array32:
    found = _tensor(tensors, name)
    if found.ndim != 1:
        raise Unsupported(f"`{name}` is of shape {list(found.shape)}, not a vector", fix="export to ONNX")
    return found


def _number(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not abs(found) <= float(np.finfo(np.float32).max):
        raise InvalidProblem(f"`{text[:40]}` is no number, and no tensor of the file", fix="write a number")
    return found


def _whole_number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text[:9]) <= _MOST_ROWS and len(text) < 9):
        raise InvalidProblem(f"`{text[:40]}` is no whole number from 1 to {_MOST_ROWS}", fix="write one")
    return int(text)
