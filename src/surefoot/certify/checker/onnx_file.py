"""ONNX files as networks of the checker: section 7 of docs/certificates.md, written from the page alone.

Choose the output, keep the nodes that it depends on in the order of the file, and translate them one by one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from .file import ReadError, shown
from .network import Network
from .onnx.model import Graph, Step, input_shape, parse, tensor
from .onnx.operators import translate
from .onnx.signatures import check_signature, kind_of
from .onnx.values import Arguments, Builder, Signal, Value


def read_onnx(data: bytes, output: str | None = None) -> Network:
    """The network in the bytes of an ONNX file, plain or gzipped; `output` names one of its tensors."""
    graph = parse(data)
    if output is None and len(graph.outputs) != 1:
        raise ReadError(f"the network has {len(graph.outputs)} outputs, and none is named")
    target = graph.outputs[0] if output is None else output
    steps = _needed(graph, target)
    given = _input(graph, steps)
    shape = input_shape(graph.inputs[given])
    builder = Builder([math.prod(shape)])
    values: dict[str, Value] = {given: Signal(0, shape, range(math.prod(shape)))}
    for step in steps:
        try:
            inputs = tuple(_value(graph, values, name) if name else None for name in step.inputs)
            arguments = Arguments(step.op, inputs, step.attributes(), len(step.outputs), graph.opset)
            check_signature(arguments)
            results = translate(builder, arguments)
        except ReadError as error:
            raise ReadError(f"{step.where}: {error}") from None
        for name, value in zip(step.outputs, results, strict=False):
            if isinstance(value, Signal) and not value.layout:
                raise ReadError(f"{step.where}: a result without entries")
            if name in graph.declared and graph.declared[name] != kind_of(value):
                raise ReadError(f"{step.where}: {shown(name)} is declared as of another type than it is")
            builder.reserve(math.prod(value.shape))
            values[name] = value
    result = values.get(target)
    if not isinstance(result, Signal):
        raise ReadError(f"{shown(target)} does not depend on the input")
    network = builder.network(builder.flat(result))
    network.widths()
    return network


def output_names(data: bytes) -> tuple[str, ...]:
    """What the outputs of the graph in an ONNX file are called."""
    return parse(data).outputs


def _needed(graph: Graph, target: str) -> list[Step]:
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
            raise ReadError(f"{step.where}: reads {shown(min(missing))} before anything makes it")
        ready.update(step.outputs)
    if not kept or target not in ready:
        raise ReadError(f"no node makes {shown(target)}")
    return kept


def _input(graph: Graph, steps: Sequence[Step]) -> str:
    read = {name for step in steps for name in step.inputs}
    names = [name for name in graph.inputs if name in read]
    if len(names) != 1:
        raise ReadError(f"the output depends on {len(names)} inputs instead of one")
    return names[0]


def _value(graph: Graph, values: dict[str, Value], name: str) -> Value:
    if name not in values:
        if name not in graph.tensors:
            raise ReadError(f"{shown(name)} is an optional result that is not read by the checker")
        values[name] = tensor(graph.tensors[name])
    return values[name]
