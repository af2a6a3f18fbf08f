"""LSTM, GRU and RNN: each step of their sequence written out as affine nodes, sigmoids, tanhs and products.

The sums of a gate (over what is read and over the state, with both biases) become one affine node, so that a
proof covers every order in which a runtime may add them up. Formulas are those of the ONNX specification, and
of torch.nn where a file holds its weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from surefoot.errors import Unsupported
from surefoot.formats.onnx.network_builder import (
    CarriedState,
    KnownTensor,
    NetworkBuilder,
    NodeArguments,
    TensorSignal,
    Value,
    combine_signals,
    emit_activation,
    emit_elementwise,
    negate_signal,
    row_major_signal,
)
from surefoot.formats.onnx.protobuf import malformed_model
from surefoot.problem.network import (
    Affine,
    Array32,
    Constant,
    IndexArray,
    Join,
    Pairing,
    Remembered,
    Shape,
    freeze_float32,
)

MOST_STEPS = 256  # of a sequence inside one decision
_ONE = np.ones(1, np.float32)


@dataclass(frozen=True, slots=True, eq=False)
class GateWeights:
    """Rows of the gates, one block of as many rows as the state has values after the other."""

    read: Array32  # for what is read
    kept: Array32  # for the state
    read_bias: Array32
    kept_bias: Array32

    @property
    def size(self) -> int:
        return int(self.kept.shape[1])

    def block(self, *gates: int) -> GateWeights:
        rows = np.concatenate([np.arange(g * self.size, (g + 1) * self.size) for g in gates])
        return GateWeights(self.read[rows], self.kept[rows], self.read_bias[rows], self.kept_bias[rows])


def flat_signal(signal: TensorSignal) -> TensorSignal:
    return TensorSignal(signal.source, signal.layout.ravel(), signal.kind)


def zero_state(size: int) -> KnownTensor:
    return KnownTensor(freeze_float32(np.zeros(size)))


def emit_gates(builder: NetworkBuilder, x: TensorSignal, state: Value, weights: GateWeights) -> TensorSignal:
    """read @ x + read_bias + kept @ state + kept_bias, as one sum."""
    parts, columns = [x], [weights.read]
    if isinstance(state, TensorSignal):
        parts.append(state)
        columns.append(weights.kept)
    elif state.array.any():
        parts.append(row_major_signal(builder.constant(state.array.ravel()), (weights.size,)))
        columns.append(weights.kept)
    if weights.kept_bias.any():
        parts.append(row_major_signal(builder.constant(_ONE), (1,)))
        columns.append(weights.kept_bias[:, None])
    return _emit_affine(builder, parts, np.concatenate(columns, axis=1), weights.read_bias)


def _emit_affine(
    builder: NetworkBuilder, parts: Sequence[TensorSignal], matrix: Array32, bias: Array32
) -> TensorSignal:
    rows = int(matrix.shape[0])
    builder.reserve(matrix.size)
    numbers = [builder.flat(part) for part in parts]
    joined = numbers[0]
    if len(numbers) > 1:
        joined = builder.emit(Join(tuple(numbers)), sum(builder.widths[n] for n in numbers))
    node = Affine(joined, freeze_float32(matrix), freeze_float32(bias))
    return row_major_signal(builder.emit(node, rows), (rows,))


def _split_gates(signal: TensorSignal, size: int) -> list[TensorSignal]:
    return [
        TensorSignal(signal.source, signal.layout[start : start + size])
        for start in range(0, signal.layout.size, size)
    ]


def _squash(builder: NetworkBuilder, signal: TensorSignal) -> TensorSignal:
    return emit_activation(builder, signal, Shape.SIGMOID)


def _times(builder: NetworkBuilder, left: TensorSignal, right: Value) -> TensorSignal:
    if isinstance(right, KnownTensor):
        return emit_elementwise(builder, left, Constant.MULTIPLY, right.array)
    return combine_signals(builder, left, right, Pairing.MULTIPLY)


def _is_zero(value: Value) -> bool:
    return isinstance(value, KnownTensor) and not value.array.any()


def emit_lstm(
    builder: NetworkBuilder, x: TensorSignal, state: Value, cell: Value, weights: GateWeights
) -> tuple[TensorSignal, TensorSignal]:
    """State and cell after one step; gates in the order input, forget, cell, output (as torch.nn has them).

    c' = sigmoid(f) * c + sigmoid(i) * tanh(g), h' = sigmoid(o) * tanh(c')
    """
    size = weights.size
    gates = emit_gates(builder, x, state, weights.block(0, 1, 3, 2))
    squashed = _squash(builder, TensorSignal(gates.source, gates.layout[: 3 * size]))
    enters, keeps, leaves = _split_gates(squashed, size)
    fresh = emit_activation(builder, TensorSignal(gates.source, gates.layout[3 * size :]), Shape.TANH)
    after = _times(builder, enters, fresh)
    if not _is_zero(cell):
        after = combine_signals(builder, _times(builder, keeps, cell), after, Pairing.ADD)
    return _times(builder, leaves, emit_activation(builder, after, Shape.TANH)), after


def emit_gru(
    builder: NetworkBuilder,
    x: TensorSignal,
    state: Value,
    weights: GateWeights,
    *,
    reset_after: bool,
    as_torch: bool = False,
) -> TensorSignal:
    """The state after one step; gates in the order reset, update, new (as torch.nn has them).

    n = tanh(Wn x + r * (Rn h)), or tanh(Wn x + Rn (r * h)); h' = (1 - z) * n + z * h, or (h - n) * z + n.
    """
    both = _squash(builder, emit_gates(builder, x, state, weights.block(0, 1)))
    resets, keeps = _split_gates(both, weights.size)
    new = weights.block(2)
    if reset_after:
        kept = _emit_kept(builder, state, new)
        read = _emit_affine(builder, [x], new.read, new.read_bias)
        total = read if kept is None else _add(builder, read, _times(builder, resets, kept))
    else:
        reset: Value = state if _is_zero(state) else _times(builder, resets, state)
        total = emit_gates(builder, x, reset, new)
    fresh = emit_activation(builder, total, Shape.TANH)
    if as_torch:
        gap = negate_signal(builder, fresh)
        if not _is_zero(state):
            gap = _add(builder, gap, state)
        return _add(builder, _times(builder, gap, keeps), fresh)
    gives = emit_elementwise(builder, negate_signal(builder, keeps), Constant.ADD, _ONE)
    mixed = _times(builder, gives, fresh)
    return mixed if _is_zero(state) else _add(builder, mixed, _times(builder, keeps, state))


def _emit_kept(builder: NetworkBuilder, state: Value, weights: GateWeights) -> Value | None:
    """kept @ state + kept_bias; None where that is zero."""
    if isinstance(state, KnownTensor):
        sums = (weights.kept @ state.array.ravel() + weights.kept_bias).astype(np.float32)
        return KnownTensor(sums) if sums.any() else None
    return _emit_affine(builder, [state], weights.kept, weights.kept_bias)


def _add(builder: NetworkBuilder, left: TensorSignal, right: Value) -> TensorSignal:
    if isinstance(right, KnownTensor):
        return emit_elementwise(builder, left, Constant.ADD, right.array)
    return combine_signals(builder, left, right, Pairing.ADD)


def emit_rnn(
    builder: NetworkBuilder, x: TensorSignal, state: Value, weights: GateWeights, shape: Shape
) -> TensorSignal:
    return emit_activation(builder, emit_gates(builder, x, state, weights), shape)


def translate_recurrent(builder: NetworkBuilder, given: NodeArguments) -> list[Value]:
    """All steps of a sequence, forward: what every step leaves, and the state after the last one."""
    _require_plain(given)
    x, weights = given.value(0), _read_weights(given)
    if not isinstance(x, TensorSignal) or x.layout.ndim != 3:
        raise ValueError("a sequence has three axes")
    steps, batch, width = x.shape
    if batch != 1:
        raise Unsupported(f"{given.op} of a batch of {batch}", fix="export with batch size 1")
    if steps > MOST_STEPS:
        raise Unsupported(f"{given.op} of {steps} steps", fix=f"use at most {MOST_STEPS}")
    if width != weights.read.shape[1]:
        raise ValueError("the weights do not fit what is read")
    lengths = given.optional(4)
    if lengths is not None and (
        isinstance(lengths, TensorSignal) or not np.array_equal(lengths.array, [steps])
    ):
        raise Unsupported(f"{given.op} with sequence_lens", fix="export without it")
    first = [_first_state(given, 5 + i, weights.size) for i in range(1 + (given.op == "LSTM"))]
    states, left = list(first), []
    for step in range(steps):
        own = TensorSignal(x.source, x.layout[step, 0])
        states = [*_CELLS[given.op](builder, own, states, weights, given)]
        left.append(states[0])
    assert all(isinstance(state, TensorSignal) for state in left)
    shape = (1, 1, weights.size)
    found: list[Value] = [_join_steps(builder, [s for s in left if isinstance(s, TensorSignal)])]
    for number, (begun, state) in enumerate(zip(first, states, strict=True)):
        assert isinstance(state, TensorSignal)
        kind = Remembered.SUM if number else _state_kind(given)
        builder.carried.append(CarriedState(begun, state, kind))
        found.append(TensorSignal(state.source, state.layout.reshape(shape)))
    how = "1 step" if steps == 1 else f"{steps} steps"
    builder.note(f"{given.op} of {weights.size} values, {how} at each decision")
    return found


def _state_kind(given: NodeArguments) -> Remembered:
    return Remembered.ANY if _activation_names(given) == ["Relu"] else Remembered.UNIT


def _join_steps(builder: NetworkBuilder, left: list[TensorSignal]) -> TensorSignal:
    """[steps, directions, batch, values]"""
    size = left[0].layout.size
    if len(left) == 1:
        return TensorSignal(left[0].source, left[0].layout.reshape(1, 1, 1, size))
    numbers = tuple(builder.flat(state) for state in left)
    return row_major_signal(builder.emit(Join(numbers), size * len(left)), (len(left), 1, 1, size))


def _first_state(given: NodeArguments, place: int, size: int) -> Value:
    value = given.optional(place)
    if value is None:
        return zero_state(size)
    if value.shape != (1, 1, size):
        raise ValueError("the first state does not fit")
    if isinstance(value, KnownTensor):
        return KnownTensor(freeze_float32(value.array.ravel()))
    return flat_signal(value)


def _require_plain(given: NodeArguments) -> None:
    op, fix = given.op, "export a forward layer, time first, with the default activations"
    if given.text("direction", "forward") != "forward":
        raise Unsupported(f"{op} that looks back ({given.text('direction', '')})", fix=fix)
    if given.integer("layout", 0) != 0:
        raise Unsupported(f"{op} with layout = 1", fix=fix)
    if given.integer("input_forget", 0) != 0:
        raise Unsupported(f"{op} with input_forget = 1", fix=fix)
    if op == "LSTM" and given.optional(7) is not None:
        raise Unsupported("LSTM with peepholes", fix=fix)
    names = _activation_names(given)
    allowed = {
        "LSTM": [["Sigmoid", "Tanh", "Tanh"]],
        "GRU": [["Sigmoid", "Tanh"]],
        "RNN": [["Tanh"], ["Relu"]],
    }
    if names not in allowed[op]:
        raise Unsupported(f"{op} with activations {', '.join(names)[:80]}", fix=fix)


def _activation_names(given: NodeArguments) -> list[str]:
    default = {"LSTM": ("Sigmoid", "Tanh", "Tanh"), "GRU": ("Sigmoid", "Tanh"), "RNN": ("Tanh",)}[given.op]
    found = given.attributes.get("activations", default)
    if not isinstance(found, tuple | list):
        raise malformed_model(f"activations of {given.op} must be a list")
    known = {"sigmoid": "Sigmoid", "tanh": "Tanh", "relu": "Relu"}  # any case, as the specification says
    return [known.get(str(name).lower(), str(name)) for name in found]


# Places of a file's gates in the order of torch.nn: i, o, f, c to i, f, c, o; z, r, h to r, z, h.
_ORDER = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2), "RNN": (0,)}


def _read_weights(given: NodeArguments) -> GateWeights:
    read, kept = given.constant_input(1, "the weights"), given.constant_input(2, "the recurrent weights")
    gates = len(_ORDER[given.op])
    if read.ndim != 3 or kept.ndim != 3 or len(read) != 1 or kept.shape[2] * gates != kept.shape[1]:
        raise ValueError("the weights have another shape")
    size = kept.shape[2]
    if given.integer("hidden_size", size) != size or read.shape[1] != gates * size or not size:
        raise ValueError("hidden_size does not fit")
    if given.optional(3) is None:
        biases: IndexArray | Array32 = np.zeros((1, 2 * gates * size), np.float32)
    else:
        biases = given.constant_input(3, "the bias")
    if biases.shape != (1, 2 * gates * size):
        raise ValueError("the bias does not fit")
    own = GateWeights(*map(freeze_float32, (read[0], kept[0], *np.split(biases[0], 2))))
    return own.block(*_ORDER[given.op])


_Cell = Callable[
    [NetworkBuilder, TensorSignal, list[Value], GateWeights, NodeArguments], Sequence[TensorSignal]
]


def _lstm_step(
    builder: NetworkBuilder,
    x: TensorSignal,
    states: list[Value],
    weights: GateWeights,
    given: NodeArguments,
) -> Sequence[TensorSignal]:
    return emit_lstm(builder, x, states[0], states[1], weights)


def _gru_step(
    builder: NetworkBuilder,
    x: TensorSignal,
    states: list[Value],
    weights: GateWeights,
    given: NodeArguments,
) -> Sequence[TensorSignal]:
    after = given.flag("linear_before_reset", False)
    return [emit_gru(builder, x, states[0], weights, reset_after=after)]


def _rnn_step(
    builder: NetworkBuilder,
    x: TensorSignal,
    states: list[Value],
    weights: GateWeights,
    given: NodeArguments,
) -> Sequence[TensorSignal]:
    shape = Shape.RELU if _activation_names(given) == ["Relu"] else Shape.TANH
    return [emit_rnn(builder, x, states[0], weights, shape)]


_CELLS: dict[str, _Cell] = {"LSTM": _lstm_step, "GRU": _gru_step, "RNN": _rnn_step}
RECURRENT = tuple(_CELLS)
