"""Does the network that was read compute what onnxruntime computes? Asked by random inputs.

onnxruntime may sum in another order and has its own tanh, so results differ by rounding. How much they may
differ is bounded for every sample by following both roundings through the network; anything beyond that bound
is a reading error.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.errors import SolverFailure, missing_backend
from surefoot.formats.onnx.protobuf import read_model_bytes, tensor_type_name
from surefoot.formats.onnx.reader import TranslatedGraph, translate_onnx_graph
from surefoot.network.tree_bounds import tree_magnitudes, tree_ranges
from surefoot.problem.meaning.inference import infer_all_values
from surefoot.problem.network import (
    CURVED,
    Activation,
    Affine,
    Array32,
    Combine,
    Constant,
    Elementwise,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
    Shape,
)
from surefoot.problem.tree_ensemble import TreeEnsemble, count_addends

Array64: TypeAlias = NDArray[np.float64]
_CHUNK = 2**16  # numbers in a value at a time: they stay in the cache
_MOST_INDEX = 50  # where any whole number may be given
_UNIT = 2.0**-24  # relative error of one float32 operation
_SMOOTH = 1e-6  # absolute error granted to another library's tanh, exp and their like


@dataclass(frozen=True, slots=True)
class Comparison:
    """Random inputs given to both; a right reading has argmax_differences == near_ties, unexplained == 0."""

    samples: int
    largest_difference: float
    argmax_differences: int  # samples where the largest output is another one
    near_ties: int  # ... because two outputs are closer than rounding can tell
    unexplained: int  # samples where some output differs by more than rounding allows


def compare_with_onnxruntime(
    source: Path | bytes,
    network: Network,
    *,
    samples: int = 10_000,
    seed: int = 0,
    output: str | None = None,
    memory: Mapping[str, str] | None = None,
) -> Comparison:
    """Run both on random inputs in [-1, 1]; `network` was read from `source` with the same `output`."""
    data, folder = (source, None) if isinstance(source, bytes) else (read_model_bytes(source), source.parent)
    reading = translate_onnx_graph(data, network.name, output=output, folder=folder, memory=memory)
    run = _Runner(reading)
    random = np.random.default_rng(seed)
    largest, different, ties, unexplained = 0.0, 0, 0, 0
    chunk = min(1000, 1 + _CHUNK // max(network.widths()[1:], default=1))
    for start in range(0, samples, chunk):
        size = (min(chunk, samples - start), network.width)
        inputs = random.uniform(-1, 1, size).astype(np.float32)
        for index in network.indices:
            inputs[:, index.place] = random.integers(0, min(index.count, _MOST_INDEX), size[0])
        values = infer_all_values(network, inputs)
        ours, theirs = values[-1].astype(np.float64), run(inputs).astype(np.float64)
        if reading.transformed and ours.shape == theirs.shape:
            allowed, ours = _allowed_probabilities(_allowed_difference(network, values), ours)
        else:
            allowed = _allowed_difference(network, values)
        if ours.shape != theirs.shape:
            return Comparison(samples, np.inf, samples, 0, samples)
        gap = _output_gap(ours, theirs)
        largest = max(largest, float(gap.max()))
        unexplained += int((gap > allowed).any(axis=1).sum())
        rows = np.flatnonzero(ours.argmax(axis=1) != theirs.argmax(axis=1))
        mine, other = ours[rows].argmax(axis=1), theirs[rows].argmax(axis=1)
        slack = allowed[rows, mine] + allowed[rows, other]
        different += len(rows)
        with np.errstate(invalid="ignore"):
            near = ours[rows, mine] - ours[rows, other] <= slack
        ties += int((near | np.isinf(slack)).sum())
    return Comparison(samples, largest, different, ties, unexplained)


def _allowed_probabilities(allowed: Array64, scores: Array64) -> tuple[Array64, Array64]:
    """The same after a softmax, which brings no two vectors further apart than twice their largest gap."""
    shifted = np.exp(scores - scores.max(axis=1, keepdims=True))
    wide = 2 * np.broadcast_to(allowed, scores.shape).max(axis=1, keepdims=True) + _SMOOTH
    return np.broadcast_to(wide, scores.shape), shifted / shifted.sum(axis=1, keepdims=True)


def _output_gap(ours: Array64, theirs: Array64) -> Array64:
    """How far apart the outputs are; the same infinity, or NaN in both, is no difference."""
    same = (ours == theirs) | (np.isnan(ours) & np.isnan(theirs))
    with np.errstate(invalid="ignore"):
        return np.where(same, 0.0, np.nan_to_num(np.abs(ours - theirs), nan=np.inf))


class _Runner:
    """Calls onnxruntime on a batch, all rows at once where the graph allows it, else one by one."""

    def __init__(self, reading: TranslatedGraph) -> None:
        self.shapes = reading.inputs
        kinds = reading.graph.input_kinds
        self.kinds = {name: np.dtype(tensor_type_name(kinds[name])) for name in reading.inputs}
        self.single = _open_session(reading, batched=False)
        self.batched = _open_session(reading, batched=True) if _may_batch(reading) else None

    def __call__(self, inputs: Array32) -> Array32:
        if self.batched is not None:
            together = _run_session(self.batched, self._feed(inputs, batched=True))
            few = self._one_by_one(inputs[:2])
            if together is not None and together.size == len(inputs) * few.shape[1]:
                rows = together.reshape(len(inputs), -1)
                with np.errstate(all="ignore"):
                    agrees = np.allclose(rows[:2], few, rtol=1e-3, atol=1e-3, equal_nan=True)
                if agrees:
                    return rows
            self.batched = None  # the graph mixes rows: a batch means something else
        return self._one_by_one(inputs)

    def _one_by_one(self, inputs: Array32) -> Array32:
        results = [_run_session(self.single, self._feed(row[None])) for row in inputs]
        if any(r is None for r in results):
            raise SolverFailure("onnxruntime fails on this network", fix="compare with another runtime")
        return np.array([r.ravel() for r in results if r is not None], np.float32)

    def _feed(self, rows: Array32, *, batched: bool = False) -> dict[str, NDArray[Any]]:
        """The columns of every input, in its shape."""
        found, place = {}, 0
        for name, shape in self.shapes.items():
            size = math.prod(shape)
            own = rows[:, place : place + size].astype(self.kinds[name])
            found[name] = own.reshape(-1, *shape[1:]) if batched else own.reshape(shape)
            place += size
        return found


def _may_batch(reading: TranslatedGraph) -> bool:
    shape, *others = reading.inputs.values()
    return not others and len(shape) > 1 and shape[0] == 1


def _open_session(reading: TranslatedGraph, *, batched: bool) -> Any:
    """A session for the nodes that were read, ending in the scores."""
    try:
        import onnxruntime
        from onnxruntime.capi import onnxruntime_pybind11_state as state
    except ImportError:
        raise missing_backend("onnxruntime", "ort") from None
    from onnx import TensorProto, ValueInfoProto, helper

    model = type(reading.graph.model)()
    model.CopyFrom(reading.graph.model)
    kept = [step.message for step in reading.steps]
    del model.graph.node[:], model.graph.output[:], model.graph.value_info[:]
    model.graph.node.extend(kept)
    for name in (reading.scores, *reading.states):
        plain = ValueInfoProto(name=name)
        plain.type.tensor_type.elem_type = TensorProto.FLOAT
        model.graph.output.append(plain)
    weights = [i for i in model.graph.input if i.name in reading.graph.tensors]
    del model.graph.input[:]
    for name, own in reading.inputs.items():
        shape = ["batch" if batched else 1, *own[1:]] if _may_batch(reading) else [*own]
        kind = reading.graph.input_kinds[name]
        model.graph.input.append(helper.make_tensor_value_info(name, kind, shape))
    model.graph.input.extend(weights)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    try:
        return onnxruntime.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    except (state.Fail, state.InvalidGraph, state.InvalidArgument, state.NotImplemented) as error:
        if batched:
            return None
        raise SolverFailure(f"onnxruntime cannot load it: {str(error).splitlines()[0][:200]}") from None


def _run_session(session: Any, feed: dict[str, NDArray[Any]]) -> Array32 | None:
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    try:
        outputs = [np.asarray(value, np.float32) for value in session.run(None, feed)]
        return outputs[0] if len(outputs) == 1 else np.concatenate([value.ravel() for value in outputs])
    except (state.Fail, state.InvalidArgument, state.RuntimeException):
        return None


def _allowed_difference(network: Network, values: list[Array32]) -> Array64:
    """How far two correct float32 evaluations of the outputs may lie apart, for every sample."""
    apart: list[Array64] = [np.zeros(values[0].shape)]
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for number, node in enumerate(network.nodes):
            apart.append(_node_difference(node, values, apart, np.abs(values[number + 1].astype(np.float64))))
    return np.nan_to_num(apart[-1], nan=np.inf, posinf=np.inf)  # after an overflow anything is possible


def _node_difference(node: Node, values: list[Array32], apart: list[Array64], size: Array64) -> Array64:
    match node:
        case Affine(source, weights, bias):
            strength = np.abs(weights.astype(np.float64)).T
            rounding = 2 * _UNIT * (len(strength) + 2)
            terms = apart[source] + rounding * (np.abs(values[source]) + apart[source])
            return terms @ strength + rounding * np.abs(bias) + 1e-37
        case Elementwise(source, kind, constant):
            moved = apart[source] * _difference_scale(kind, constant)
            # Folded batch normalisation: the constants themselves may be rounded differently.
            return moved + 8 * _UNIT * (size + moved + np.abs(constant)) + 1e-37
        case Activation(source, shape, parameters):
            slope = _steepest_slope(shape, parameters, values[source], apart[source], size)
            extra = _SMOOTH * np.maximum(size, 1.0) if shape in CURVED - {Shape.STEP} else 0.0
            return slope * apart[source] * (1 + 4 * _UNIT) + 2 * _UNIT * size + extra
        case Combine(left, right, pairing):
            return _pair_difference(pairing, (values[left], values[right]), (apart[left], apart[right]), size)
        case Pick(source, indices):
            return apart[source][:, indices]
        case Join(several):
            return np.concatenate([apart[s] for s in several], axis=1)
        case TreeEnsemble(source):
            other_leaf = (apart[source] > 0).any(axis=1, keepdims=True)
            sums = 2 * _UNIT * count_addends(node) * tree_magnitudes(node)
            return np.where(other_leaf, tree_ranges(node), 0.0) + sums


def _steepest_slope(
    shape: Shape, parameters: tuple[float, ...], x: Array32, apart: Array64, size: Array64
) -> Array64 | float:
    """By how much an activation stretches a difference in its input."""
    match shape:
        case Shape.LEAKY_RELU | Shape.ELU:
            return max(1.0, abs(parameters[0]))
        case Shape.STEP:
            return np.where(apart < np.abs(x), 0.0, np.inf)
        case Shape.EXP:
            return np.asarray(size * np.exp(apart))
        case Shape.SQRT:
            return np.where(x > apart, 1.0 / np.sqrt(np.maximum(x - apart, 1e-300)), np.inf)
        case Shape.ERF:
            return 1.13
        case _:
            return 1.0


def _difference_scale(kind: Constant, constant: Array32) -> Array64:
    """By how much the operation stretches a difference in its input."""
    if kind is Constant.ADD:
        return np.ones(constant.shape)
    strength = np.abs(constant.astype(np.float64))
    return strength if kind is Constant.MULTIPLY else 1 / strength


def _pair_difference(
    pairing: Pairing, values: tuple[Array32, Array32], apart: tuple[Array64, Array64], size: Array64
) -> Array64:
    if pairing is Pairing.MAXIMUM:
        return np.maximum(*apart)
    left, right = (np.abs(v.astype(np.float64)) for v in values)
    match pairing:
        case Pairing.ADD:
            moved = apart[0] + apart[1]
        case Pairing.MULTIPLY:
            moved = left * apart[1] + right * apart[0] + apart[0] * apart[1]
        case Pairing.DIVIDE:
            least = right - apart[1]
            moved = np.where(least > 0, (apart[0] + left / right * apart[1]) / least, np.inf)
    return moved + 2 * _UNIT * (size + moved) + 1e-37
