"""Recurrent layers of torch.nn (LSTM, GRU, RNN and their cells) in files of weights.

Their state stands behind the inputs and outputs of the network, layer by layer as torch keeps it: the states
of an LSTM, then its cells. It is 0 at first, as where nothing is given to the module.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean
from surefoot.formats.onnx.network_builder import NetworkBuilder, TensorSignal, row_major_signal
from surefoot.formats.onnx.recurrent_operators import GateWeights, emit_gru, emit_lstm, emit_rnn
from surefoot.formats.untrusted.safetensors import require_float32
from surefoot.problem.network import Array32, Join, Network, Remembered, Shape, freeze_float32

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
_REMEDY = "export to ONNX (docs/reference/policies.md)"


@dataclass(slots=True)
class LayerMemory:
    """Which inputs are the state, and what it becomes, as far as the layers have been read."""

    place: int  # of the first value of the state that no layer has taken yet
    last: list[TensorSignal] = field(default_factory=list)
    kinds: list[Remembered] = field(default_factory=list)

    def take(self, size: int) -> TensorSignal:
        """The next inputs that are a state."""
        self.place += size
        return TensorSignal(0, np.arange(self.place - size, self.place, dtype=np.int64))

    def keep(self, signal: TensorSignal, kind: Remembered) -> None:
        self.last.append(signal)
        self.kinds += [kind] * signal.layout.size


def read_gate_weights(tensors: Mapping[str, Array32 | str], name: str, kind: str) -> list[GateWeights]:
    """The weights of a module, layer by layer."""
    start = f"{name}." if name else ""
    found = {key.removeprefix(start): key for key in tensors if key.startswith(start)}
    for word in ("reverse", "weight_hr"):
        if any(word in key for key in found):
            what = "looks back" if word == "reverse" else "has a projection"
            raise Unsupported(f"`{name}` {what}", fix="use a plain forward layer")
    layers = sorted(int(m[1]) for key in found if (m := re.fullmatch(r"weight_ih_l(\d{1,3})", key)))
    ends = [f"_l{number}" for number in layers] or ([""] if "weight_ih" in found else [])
    if not ends or layers != list(range(len(layers))):
        modules = [key.rpartition(".")[0] for key in tensors if "weight_ih" in key]
        fix = did_you_mean(name, modules) if modules else 'name one, as in "lstm memory"'
        raise InvalidProblem(f"there is no recurrent layer `{name[:80]}`", fix=fix)
    return [_read_layer(tensors, f"{start}{{}}{end}", name, kind) for end in ends]


def _read_layer(tensors: Mapping[str, Array32 | str], form: str, name: str, kind: str) -> GateWeights:
    def tensor(part: str) -> Array32 | None:
        key = form.format(part)
        return require_float32(dict(tensors), key, "") if key in tensors else None

    read, kept = tensor("weight_ih"), tensor("weight_hh")
    if read is None or kept is None or read.ndim != 2 or kept.ndim != 2 or len(read) != len(kept):
        raise InvalidProblem(f"`{name}` has not the weights of a recurrent layer", fix=_REMEDY)
    rows = len(read)
    if not kept.shape[1] or rows != GATES[kind] * kept.shape[1]:
        words = {1: "rnn", 3: "gru", 4: "lstm"}
        right = words.get(rows // max(kept.shape[1], 1), "another layer")
        raise InvalidProblem(
            f"`{name}` is no {kind}: {rows} rows of {kept.shape[1]} values", fix=f"say {right}"
        )
    biases = [tensor(part) for part in ("bias_ih", "bias_hh")]
    zeros = freeze_float32(np.zeros(rows))
    given = [zeros if bias is None else bias for bias in biases]
    if any(bias.shape != (rows,) for bias in given):
        raise InvalidProblem(f"a bias of `{name}` does not fit", fix=_REMEDY)
    return GateWeights(read, kept, *given)


def count_states(layers: list[GateWeights], kind: str) -> int:
    return sum(layer.size for layer in layers) * (2 if kind == "lstm" else 1)


def emit_recurrent(
    builder: NetworkBuilder,
    x: TensorSignal,
    layers: list[GateWeights],
    kind: str,
    memory: LayerMemory,
    shape: Shape = Shape.TANH,
) -> TensorSignal:
    """One step of all layers: what the last one returns; the memory learns what the states become."""
    builder.reserve(sum(layer.read.size + layer.kept.size for layer in layers))
    states = [memory.take(layer.size) for layer in layers]
    cells = [memory.take(layer.size) for layer in layers] if kind == "lstm" else []
    last, last_cells = [], []
    for number, (layer, state) in enumerate(zip(layers, states, strict=True)):
        if x.layout.size != layer.read.shape[1]:
            what = f"a recurrent layer has {layer.read.shape[1]} inputs, but it reads {x.layout.size} numbers"
            raise InvalidProblem(what, fix="list the layers in their order")
        match kind:
            case "lstm":
                x, cell = emit_lstm(builder, x, state, cells[number], layer)
                last_cells.append(cell)
            case "gru":
                x = emit_gru(builder, x, state, layer, reset_after=True, as_torch=True)
            case _:
                x = emit_rnn(builder, x, state, layer, shape)
        last.append(x)
    for signal in last:
        memory.keep(signal, Remembered.ANY if shape is Shape.RELU else Remembered.UNIT)
    for signal in last_cells:
        memory.keep(signal, Remembered.SUM)
    return x


def network_with_memory(
    builder: NetworkBuilder, result: TensorSignal, memory: LayerMemory, name: str
) -> Network:
    """The network whose last outputs are what the states become."""
    if not memory.kinds:
        return builder.network(builder.flat(result), name)
    numbers = [builder.flat(signal) for signal in (result, *memory.last)]
    width = sum(builder.widths[number] for number in numbers)
    whole = row_major_signal(builder.emit(Join(tuple(numbers)), width), (width,))
    builder.note(f"memory of {len(memory.kinds)} values, zeros at first")
    builder.memory = tuple(memory.kinds)
    return builder.network(builder.flat(whole), name)
