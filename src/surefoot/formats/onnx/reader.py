"""Reads an ONNX file into a network: choose the output, prune, and translate node by node."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean, locate_errors
from surefoot.formats.onnx.choice_operators import WHOLE_FLOAT32
from surefoot.formats.onnx.network_builder import (
    KnownTensor,
    NetworkBuilder,
    NodeArguments,
    TensorSignal,
    Value,
    row_major_signal,
)
from surefoot.formats.onnx.operator_schemas import check_declared_type, check_input_types, check_node_form
from surefoot.formats.onnx.operators import OPERATIONS, translate_onnx_node
from surefoot.formats.onnx.output_head import (
    Head,
    check_head,
    find_classifier_scores,
    find_head,
    makes_probabilities,
    skip_zip_map,
)
from surefoot.formats.onnx.protobuf import (
    MOST_ENTRIES,
    TREES_DOMAIN,
    OnnxGraph,
    OnnxNode,
    decode_stored_tensor,
    malformed_model,
    parse_onnx_graph,
    quote_onnx_name,
    read_model_bytes,
    tensor_type_name,
)
from surefoot.formats.onnx.recurrent_state import find_state_pairs, read_memory, several_inputs
from surefoot.formats.onnx.tree_operators import TREE_OPERATORS, translate_tree_node
from surefoot.problem.network import Join, Network
from surefoot.verdict.sentences import count_noun

_INPUTS = ("float32", "int32", "int64")


@dataclass(frozen=True, slots=True, eq=False)
class TranslatedGraph:
    """A network with the part of the graph it stands for."""

    network: Network
    graph: OnnxGraph
    steps: tuple[OnnxNode, ...]  # the nodes that were translated
    inputs: Mapping[str, tuple[int, ...]]  # their shapes, the batch taken as one; the first is observed
    scores: str  # the tensor that is the network's output
    transformed: bool = False  # whether that tensor is the softmax of it: its node makes both
    states: tuple[str, ...] = ()  # the tensors that become the other inputs


def read_onnx_network(
    path: Path, *, output: str | None = None, memory: Mapping[str, str] | None = None
) -> Network:
    """The network in a .onnx or .onnx.gz file; `output` names an output or any tensor before it.

    `memory` says which output becomes which input in the next decision, where the graph does not show it.
    """
    with locate_errors(str(path)):
        return read_onnx_bytes(
            read_model_bytes(path),
            path.name.split(".")[0],
            output=output,
            folder=path.parent,
            memory=memory,
        )


def read_onnx_bytes(
    data: bytes,
    name: str = "network",
    *,
    output: str | None = None,
    folder: Path | None = None,
    memory: Mapping[str, str] | None = None,
) -> Network:
    """The network in the bytes of an ONNX file; `folder`: where files with its weights may be."""
    return translate_onnx_graph(data, name, output=output, folder=folder, memory=memory).network


def translate_onnx_graph(
    data: bytes,
    name: str,
    *,
    output: str | None = None,
    folder: Path | None = None,
    memory: Mapping[str, str] | None = None,
) -> TranslatedGraph:
    graph = parse_onnx_graph(data, folder)
    pairs = find_state_pairs(graph, memory) if memory is not None or len(graph.inputs) > 1 else ()
    states = tuple(after for _, after in pairs)
    target = skip_zip_map(graph, _choose_output(graph, output, states, name))
    head = find_head(graph, target)
    steps = _needed_nodes(graph, (head.scores, *states))
    inputs = _network_inputs(graph, steps, (head.scores, *states), tuple(before for before, _ in pairs), name)
    given = next(iter(inputs))
    builder = NetworkBuilder([sum(map(math.prod, inputs.values()))])
    builder.notes.extend(head.notes)
    values = _input_signals(builder, graph, inputs)
    for step in steps:
        _translate_node(builder, graph, step, values, head)
    result = _output_signal(head, values)
    check_head(head, result.shape)
    declared = graph.inputs[given]
    _check_batch(builder, given, declared, result.shape)
    if pairs:
        builder.memory = tuple(read_memory(builder, pairs, values, memory is not None, name))
        result = _join_states(builder, result, [values[after] for after in states])
        listed = ", ".join(f"{quote_onnx_name(after)} becomes {quote_onnx_name(b)}" for b, after in pairs)
        builder.note(f"memory of {count_noun(len(builder.memory), 'value')}, zeros at first: {listed}")
    if left_out := _count_left_out(graph, target, states):
        nodes = "1 node that does" if left_out == 1 else f"{left_out} nodes that do"
        builder.note(f"pruned {nodes} not reach output {quote_onnx_name(target)}")
    # Scores that no node produces are the input itself, which cannot be asked for as an output.
    # And what a classifier of trees makes of its scores is in the same node.
    transformed = any(makes_probabilities(step, head) for step in steps)
    scores = head.scores if head.kind and steps and not transformed else ""
    network = replace(builder.network(builder.flat(result), name), head=head.kind, scores=scores)
    return TranslatedGraph(network, graph, steps, inputs, head.scores, transformed, states)


def _join_states(builder: NetworkBuilder, result: TensorSignal, states: list[Value]) -> TensorSignal:
    """The outputs, and behind them the states."""
    numbers = [builder.flat(one) for one in (result, *states) if isinstance(one, TensorSignal)]
    width = sum(builder.widths[number] for number in numbers)
    return row_major_signal(builder.emit(Join(tuple(numbers)), width), (width,))


def _count_left_out(graph: OnnxGraph, target: str, states: tuple[str, ...]) -> int:
    """Nodes that the output does not need; what renames the label of a classifier of trees does not count."""
    needed = _needed_nodes(graph, (target, *states))
    renames = ("Cast", "Identity", "ZipMap") if graph.trees_opset is not None else ()
    return sum(step not in needed and step.op not in renames for step in graph.steps)


def _choose_output(graph: OnnxGraph, wanted: str | None, states: tuple[str, ...], name: str) -> str:
    outputs = tuple(o for o in graph.outputs if o not in states)
    listed = ", ".join(quote_onnx_name(o) for o in outputs[:12])
    if wanted is not None:
        known = {*graph.outputs, *(o for step in graph.steps for o in step.outputs if o)}
        if wanted not in known:
            hint = did_you_mean(wanted, graph.outputs)
            raise InvalidProblem(f"there is no output {quote_onnx_name(wanted)}", where="outputs", fix=hint)
        return wanted
    if not graph.outputs:
        raise malformed_model("the graph has no outputs", where="outputs")
    if not outputs:
        raise InvalidProblem(
            "every output is a state", fix="name the one that decides: --output", where="memory"
        )
    if len(outputs) > 1 and (scores := find_classifier_scores(graph)) is not None:
        return scores
    if len(outputs) > 1 and len(graph.inputs) > 1 and not states:
        raise several_inputs(graph, list(graph.inputs), name)
    if len(outputs) > 1:
        raise InvalidProblem(
            f"there are {len(outputs)} outputs: {listed}", where="outputs", fix="--output NAME"
        )
    return outputs[0]


def _needed_nodes(graph: OnnxGraph, targets: tuple[str, ...]) -> tuple[OnnxNode, ...]:
    """The nodes that the targets depend on, in file order, which must be an order of evaluation."""
    wanted, kept = set(targets), []
    for step in reversed(graph.steps):
        if wanted.intersection(filter(None, step.outputs)):
            kept.append(step)
            wanted.update(filter(None, step.inputs))
    kept.reverse()
    ready = {*graph.tensors, *graph.inputs}
    later = {name for step in graph.steps for name in step.outputs}
    for step in kept:
        for name in filter(None, step.inputs):
            if name not in ready:
                fault = (
                    "before it is produced: the graph has a cycle"
                    if name in later
                    else "that nothing produces"
                )
                raise malformed_model(f"reads {quote_onnx_name(name)} {fault}", where=step.where)
        ready.update(step.outputs)
    for target in targets:
        if target not in ready:
            raise malformed_model(f"nothing produces {quote_onnx_name(target)}", where="outputs")
    return tuple(kept)


def _network_inputs(
    graph: OnnxGraph,
    steps: tuple[OnnxNode, ...],
    targets: tuple[str, ...],
    states: tuple[str, ...],
    name: str,
) -> dict[str, tuple[int, ...]]:
    """The one input that is observed and the states, with their shapes, a symbolic batch taken as one."""
    read = {name for step in steps for name in step.inputs} | set(targets)
    names = [name for name in graph.inputs if name in read and name not in states]
    if not names:
        raise InvalidProblem(
            f"output {quote_onnx_name(targets[0])} does not depend on any input",
            where="inputs",
            fix="choose another output",
        )
    if len(names) > 1:
        raise several_inputs(graph, names, name)
    shapes: dict[str, tuple[int, ...]] = {}
    for own in (*names, *states):
        with locate_errors(f"input {quote_onnx_name(own)}"):
            shapes[own] = _input_shape(graph, own)
            if own in states and tensor_type_name(graph.input_kinds[own]) != "float32":
                raise Unsupported("a state that is not float32", fix="export the network in float32")
    return shapes


def _input_shape(graph: OnnxGraph, name: str) -> tuple[int, ...]:
    kind, declared = graph.input_kinds[name], graph.inputs[name]
    if tensor_type_name(kind) not in _INPUTS:
        raise Unsupported(f"{tensor_type_name(kind)} input", fix="export the network in float32")
    fix = "export with fixed dimensions (only the first may be symbolic, for the batch)"
    if declared is None:
        raise Unsupported("no shape is given", fix=fix)
    if None in declared[1:] or declared == (None,):
        text = ", ".join("?" if d is None else str(d) for d in declared)
        raise Unsupported(f"shape [{text}] has an unknown dimension", fix=fix)
    shape = tuple(1 if d is None else d for d in declared)
    if any(d < 1 for d in shape):
        raise malformed_model(f"shape {list(shape)} has no entries")
    if math.prod(shape) > MOST_ENTRIES:
        raise Unsupported(
            f"shape {list(shape)} has more than {MOST_ENTRIES} entries", fix="use a smaller input"
        )
    return shape


def _input_signals(
    builder: NetworkBuilder, graph: OnnxGraph, inputs: Mapping[str, tuple[int, ...]]
) -> dict[str, Value]:
    """The inputs, one after the other; whole numbers are read as such, and float32 must have them."""
    found: dict[str, Value] = {}
    place = 0
    for name, shape in inputs.items():
        kind, size = tensor_type_name(graph.input_kinds[name]), math.prod(shape)
        if kind != "float32":
            for own in range(place, place + size):
                builder.read_index(own, WHOLE_FLOAT32)
            builder.note(f"input {quote_onnx_name(name)} is of whole numbers ({kind})")
        layout = np.arange(place, place + size, dtype=np.int64).reshape(shape)
        found[name] = TensorSignal(0, layout, kind)
        place += size
    return found


def _translate_node(
    builder: NetworkBuilder, graph: OnnxGraph, step: OnnxNode, values: dict[str, Value], head: Head
) -> None:
    """Read one node; its results are added to `values`."""
    with locate_errors(step.where):
        given = _node_arguments(graph, step, values)
        try:
            with np.errstate(all="ignore"):  # a constant that overflows is refused when it is used
                if step.domain:
                    dropped = bool(head.kind) and head.scores in step.outputs
                    results = translate_tree_node(builder, given, dropped=dropped)
                else:
                    results = translate_onnx_node(builder, given)
        except (ValueError, IndexError, OverflowError):
            shapes = " and ".join(str(list(v.shape)) for v in given.values if v is not None)
            raise malformed_model(f"{step.op} does not fit its inputs of shape {shapes}") from None
        for name, value in zip(step.outputs, results, strict=False):
            if value is None:
                continue
            if isinstance(value, TensorSignal) and not value.layout.size:
                raise malformed_model(f"{quote_onnx_name(name)} of shape {list(value.shape)} has no entries")
            builder.reserve(math.prod(value.shape))
            check_declared_type(name, value, graph.declared)
            values[name] = value


def _node_arguments(graph: OnnxGraph, step: OnnxNode, values: dict[str, Value]) -> NodeArguments:
    _check_operation(step)
    opset = graph.trees_opset if step.domain else graph.opset
    assert opset is not None
    check_node_form(step, opset)
    inputs, outputs = _input_values(graph, step, values), len(step.outputs)
    given = NodeArguments(step.op, inputs, step.attributes(), outputs, opset)
    check_input_types(step, given.values, opset)
    known = given.attributes.keys() if step.domain else OPERATIONS[step.op].attributes
    for name in sorted(given.attributes.keys() - known):
        raise Unsupported(
            f"attribute {quote_onnx_name(name)} of {step.op} is not supported", fix="export without it"
        )
    for value in given.values:
        # Integers may be empty: the shape of a scalar is.
        if isinstance(value, KnownTensor) and value.array.dtype == np.float32 and not value.array.size:
            raise malformed_model(f"a weight of shape {list(value.shape)} has no entries")
    return given


def _check_operation(step: OnnxNode) -> None:
    if step.domain == TREES_DOMAIN and step.op in TREE_OPERATORS:
        return
    if step.domain:
        raise Unsupported(
            f"{quote_onnx_name(step.op)} is of the custom domain {quote_onnx_name(step.domain)}",
            fix="export plain ONNX",
        )
    if step.op in OPERATIONS:
        return
    if step.op in ("If", "Loop", "Scan"):
        raise Unsupported(
            f"control flow ({step.op}) is not supported", fix="export a network without branches"
        )
    if "Quantize" in step.op or "QLinear" in step.op or step.op.endswith("Integer"):
        raise Unsupported(
            f"quantised networks ({step.op}) are not supported", fix="export the network in float32"
        )
    if step.op in ("ArgMax", "Softmax", "LogSoftmax"):
        raise Unsupported(
            f"{step.op} is supported only at the end", fix="choose an output before it (--output)"
        )
    fix = "write it with others, such as Gemm, Add, Mul, Relu, Tanh (docs/reference/policies.md lists all)"
    raise Unsupported(f"operation {quote_onnx_name(step.op)} is not supported", fix=fix)


def _input_values(graph: OnnxGraph, step: OnnxNode, values: dict[str, Value]) -> tuple[Value | None, ...]:
    found: list[Value | None] = []
    for name in step.inputs:
        if name and name not in values:
            if name not in graph.tensors:
                raise Unsupported(
                    f"{quote_onnx_name(name)} is an optional output that is not supported",
                    fix="export without it",
                )
            values[name] = KnownTensor(decode_stored_tensor(graph.tensors[name], name))
        found.append(values[name] if name else None)
    return tuple(found)


def _output_signal(head: Head, values: Mapping[str, Value]) -> TensorSignal:
    result = values.get(head.scores)
    if isinstance(result, TensorSignal):
        return result
    raise InvalidProblem(
        f"{quote_onnx_name(head.scores)} is constant: it does not depend on the input",
        where="outputs",
        fix="choose another",
    )


def _check_batch(
    builder: NetworkBuilder, name: str, declared: tuple[int | None, ...] | None, result: tuple[int, ...]
) -> None:
    """A first dimension above one is part of one input if the graph mixes its rows, else a batch: refused."""
    if declared is None or len(declared) < 2:
        return
    first, sizes = declared[0], [d for d in declared if d is not None]
    if first is not None and first > 1:
        if result and result[0] == first:
            raise Unsupported(
                f"batch size is fixed to {first}",
                where=f"input {quote_onnx_name(name)}",
                fix="export with batch size 1 or a symbolic one",
            )
        builder.note(
            f"input {quote_onnx_name(name)} of shape {sizes} is read as one input, not as a batch of {first}"
        )
    if len([d for d in sizes if d > 1]) > 1:
        builder.note(
            f"input {quote_onnx_name(name)} of shape {sizes} is flattened row by row to "
            f"{np.prod(sizes)} numbers"
        )
