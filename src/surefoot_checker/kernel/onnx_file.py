"""ONNX files as networks of the checker: section 7 of docs/certificates.md, written from the page alone.

Choose the output, keep the nodes that it depends on in the order of the file, and translate them one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .network import FlatNetwork
from .onnx.model import OnnxFileGraph, OnnxFileNode, decode_onnx_graph, input_shape, read_stored_tensor
from .onnx.operators import emit_operator
from .onnx.signatures import check_signature, tensor_element_type
from .onnx.values import FlatNetworkBuilder, FlatSignal, OnnxOperands, Value
from .untrusted_file import ReadError, quote_for_message


def onnx_to_flat_network(data: bytes, output: str | None = None) -> FlatNetwork:
    """The network in the bytes of an ONNX file, plain or gzipped; `output` names one of its tensors."""
    graph = decode_onnx_graph(data)
    if output is None and len(graph.outputs) != 1:
        raise ReadError(f"the network has {len(graph.outputs)} outputs, and none is named")
    target = graph.outputs[0] if output is None else output
    steps = _needed_nodes(graph, target)
    given = _input_name(graph, steps)
    shape = input_shape(graph.inputs[given])
    builder = FlatNetworkBuilder([math.prod(shape)])
    values: dict[str, Value] = {given: FlatSignal(0, shape, range(math.prod(shape)))}
    for step in steps:
        try:
            inputs = tuple(_lookup_value(graph, values, name) if name else None for name in step.inputs)
            arguments = OnnxOperands(step.op, inputs, step.attributes(), len(step.outputs), graph.opset)
            check_signature(arguments)
            results = emit_operator(builder, arguments)
        except ReadError as error:
            raise ReadError(f"{step.where}: {error}") from None
        for name, value in zip(step.outputs, results, strict=False):
            if isinstance(value, FlatSignal) and not value.layout:
                raise ReadError(f"{step.where}: a result without entries")
            if name in graph.declared and graph.declared[name] != tensor_element_type(value):
                raise ReadError(
                    f"{step.where}: {quote_for_message(name)} is declared as of another type than it is"
                )
            builder.reserve(math.prod(value.shape))
            values[name] = value
    result = values.get(target)
    if not isinstance(result, FlatSignal):
        raise ReadError(f"{quote_for_message(target)} does not depend on the input")
    network = builder.network(builder.flat(result))
    network.widths()
    return network


def output_names(data: bytes) -> tuple[str, ...]:
    """What the outputs of the graph in an ONNX file are called."""
    return decode_onnx_graph(data).outputs


def _needed_nodes(graph: OnnxFileGraph, target: str) -> list[OnnxFileNode]:
    """The nodes that a tensor depends on, in the order of the file, which must be one of evaluation."""
    wanted, kept = {target}, []
    for step in reversed(graph.steps):
        if wanted.intersection(step.outputs) - {""}:
            kept.append(step)
            wanted.update(step.inputs)
    kept.reverse()
    ready = {"", *graph.tensors, *graph.inputs}
    for step in kept:
        if missing := set(step.inputs) - ready:
            raise ReadError(f"{step.where}: reads {quote_for_message(min(missing))} before anything makes it")
        ready.update(step.outputs)
    if not kept or target not in ready:
        raise ReadError(f"no node makes {quote_for_message(target)}")
    return kept


def _input_name(graph: OnnxFileGraph, steps: Sequence[OnnxFileNode]) -> str:
    read = {name for step in steps for name in step.inputs}
    names = [name for name in graph.inputs if name in read]
    if len(names) != 1:
        raise ReadError(f"the output depends on {len(names)} inputs instead of one")
    return names[0]


def _lookup_value(graph: OnnxFileGraph, values: dict[str, Value], name: str) -> Value:
    if name not in values:
        if name not in graph.tensors:
            raise ReadError(
                f"{quote_for_message(name)} is an optional result that is not read by the checker"
            )
        values[name] = read_stored_tensor(graph.tensors[name])
    return values[name]
