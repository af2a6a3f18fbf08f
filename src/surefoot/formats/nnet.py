"""The .nnet text format (ACAS Xu, Marabou, predicate abstraction): dense ReLU networks with a header.

Lines after the `//` comments: counts, layer sizes, an unused flag, input minima, input maxima, means, ranges
(the last mean and range belong to the outputs), then for each layer its weight rows and one bias per line.
Every line is a list of decimal numbers, with or without a comma at its end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from surefoot.errors import InvalidProblem, Unsupported, locate_errors
from surefoot.formats.normalization import clip_nodes
from surefoot.formats.untrusted.regular_file import read_input_bytes
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
from surefoot.visible import make_visible

MOST_BYTES = 128 << 20
MOST_LAYERS = 1000
MOST_WIDTH = 1 << 20
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?", re.ASCII)
_COUNT = re.compile(r"\d{1,7}", re.ASCII)
_LARGEST = np.finfo(np.float32).max


@dataclass(frozen=True, slots=True)
class _Header:
    sizes: tuple[int, ...]
    low: Array32
    high: Array32
    means: Array32
    ranges: Array32


def read_nnet(path: Path, *, clip: bool | None = None) -> Network:
    """The network of a .nnet file, with the normalisation of its header unless that is the identity.

    The format's reference evaluation clips inputs to the header's bounds before it normalises. Files for
    planning models have no normalisation and list the bounds of the state variables there: those are not made
    into layers unless `clip` is true. In both cases a note says what was done.
    """
    where = str(path)
    data = read_input_bytes(path)
    if len(data) > MOST_BYTES:
        raise InvalidProblem(f"the file has {len(data)} bytes, more than {MOST_BYTES}", where=where)
    try:
        text = data.decode("ascii")
    except UnicodeDecodeError as problem:
        raise InvalidProblem("the file is not plain text", where=where) from problem
    lines = _iterate_lines(text)
    with locate_errors(where):
        header = _read_header(lines)
        layers = [_read_layer(lines, n, m) for n, m in zip(header.sizes, header.sizes[1:], strict=False)]
        if (left := next(lines, None)) is not None:
            raise InvalidProblem("there is more than the header announces", where=str(left[0]))
    normalises = bool(header.means.any() or (header.ranges != 1).any())
    return _build_network(header, layers, path.stem, normalises, normalises if clip is None else clip)


def write_nnet(
    network: Network, path: Path, *, low: Array32 | None = None, high: Array32 | None = None
) -> None:
    """Write a plain dense ReLU network; `low` and `high` are the input bounds of the header."""
    layers = _dense_layers(network)
    sizes = [network.width, *(layer.weights.shape[0] for layer in layers)]
    bounds = [
        np.full(network.width, value, np.float32) if given is None else freeze_float32(given)
        for given, value in ((low, -_LARGEST), (high, _LARGEST))
    ]
    rows: list[object] = [
        [len(layers), sizes[0], sizes[-1], max(sizes)],
        sizes,
        [0],
        *bounds,
        [0] * (sizes[0] + 1),
        [1] * (sizes[0] + 1),
    ]
    for layer in layers:
        rows += [*layer.weights, *([entry] for entry in layer.bias)]
    body = "".join("".join(f"{value:.9g}," for value in np.asarray(row)) + "\n" for row in rows)
    name = make_visible(network.name[:80]).encode("ascii", "backslashreplace").decode("ascii")
    path.write_text(f"// Neural network in NNet format: {name}\n{body}", encoding="ascii")


def _iterate_lines(text: str) -> Iterator[tuple[int, list[str]]]:
    """Line number and entries of every line after the comments; blank lines only at the end."""
    lines = text.splitlines()
    start = next((i for i, line in enumerate(lines) if not line.startswith("//")), len(lines))
    while lines and not lines[-1].strip():
        lines.pop()
    for number, line in enumerate(lines[start:], start=start + 1):
        entries = line.strip().removesuffix(",").split(",")
        yield number, [entry.strip() for entry in entries]


def _read_row(lines: Iterator[tuple[int, list[str]]], count: int, what: str) -> Array32:
    """The next line as exactly `count` finite float32 numbers."""
    number, entries = next(lines, (0, None))
    if entries is None:
        raise InvalidProblem(f"the file ends before {what}")
    if entries == [""]:
        raise InvalidProblem(f"blank line, {count} numbers expected ({what})", where=str(number))
    if len(entries) != count:
        raise InvalidProblem(f"{len(entries)} numbers, {count} expected ({what})", where=str(number))
    for entry in entries:
        if not _NUMBER.fullmatch(entry):
            raise InvalidProblem(f"`{entry[:40]}` is not a finite decimal number ({what})", where=str(number))
    with np.errstate(over="ignore"):
        values = freeze_float32([float(entry) for entry in entries])
    if not np.isfinite(values).all():
        raise InvalidProblem(f"a number is beyond float32 ({what})", where=str(number))
    return values


def _read_counts(lines: Iterator[tuple[int, list[str]]], what: str) -> tuple[int, list[int]]:
    number, entries = next(lines, (0, None))
    if entries is None:
        raise InvalidProblem(f"the file ends before {what}")
    if not all(_COUNT.fullmatch(entry) and 0 < int(entry) <= MOST_WIDTH for entry in entries):
        raise InvalidProblem(f"{what} expected, all positive whole numbers", where=str(number))
    return number, [int(entry) for entry in entries]


def _read_header(lines: Iterator[tuple[int, list[str]]]) -> _Header:
    number, counts = _read_counts(lines, "number of layers, inputs, outputs and largest layer")
    if len(counts) != 4:
        raise InvalidProblem(
            f"{len(counts)} counts, 4 expected (layers, inputs, outputs, largest)", where=str(number)
        )
    layers, inputs, outputs, _ = counts
    if layers > MOST_LAYERS:
        raise InvalidProblem(f"{layers} layers, more than {MOST_LAYERS}", where=str(number))
    number, sizes = _read_counts(lines, "layer sizes")
    if len(sizes) != layers + 1:
        raise InvalidProblem(f"{len(sizes)} layer sizes, {layers + 1} expected", where=str(number))
    if sizes[0] != inputs or sizes[-1] != outputs:
        raise InvalidProblem(
            f"layers go from {sizes[0]} to {sizes[-1]}, the first line says from {inputs} to {outputs}",
            where=str(number),
        )
    number, _ = next(lines, (number, []))  # a flag that no program uses
    low, high = _read_row(lines, inputs, "input minima"), _read_row(lines, inputs, "input maxima")
    means, ranges = _read_row(lines, inputs + 1, "means"), _read_row(lines, inputs + 1, "ranges")
    if (low > high).any():
        index = int(np.argmax(low > high))
        raise InvalidProblem(f"minimum above maximum for input {index}", where=str(number + 1))
    if not ranges.all():
        raise InvalidProblem(f"range 0 at position {int(np.argmin(ranges != 0))}", where=str(number + 4))
    return _Header(tuple(sizes), low, high, means, ranges)


def _read_layer(lines: Iterator[tuple[int, list[str]]], inputs: int, outputs: int) -> tuple[Array32, Array32]:
    weights = [_read_row(lines, inputs, "weights") for _ in range(outputs)]
    bias = [_read_row(lines, 1, "bias")[0] for _ in range(outputs)]
    return freeze_float32(weights), freeze_float32(bias)


def _build_network(
    header: _Header, layers: list[tuple[Array32, Array32]], name: str, normalises: bool, clip: bool
) -> Network:
    inputs = header.sizes[0]
    nodes: list[Node] = clip_nodes(0, header.low, header.high) if clip else []
    notes = [
        "inputs are clipped to the bounds of the header"
        if clip
        else "inputs are not clipped to the header's bounds"
    ]
    if normalises:
        nodes.append(Elementwise(len(nodes), Constant.ADD, freeze_float32(-header.means[:inputs])))
        nodes.append(Elementwise(len(nodes), Constant.DIVIDE, freeze_float32(header.ranges[:inputs])))
        notes.append("inputs and outputs are normalised as the header says (folded around the layers)")
    for number, (weights, bias) in enumerate(layers):
        if number:
            nodes.append(Activation(len(nodes), Shape.RELU))
        nodes.append(Affine(len(nodes), weights, bias))
    if normalises:
        outputs = header.sizes[-1]
        nodes.append(
            Elementwise(len(nodes), Constant.MULTIPLY, freeze_float32([header.ranges[-1]] * outputs))
        )
        nodes.append(Elementwise(len(nodes), Constant.ADD, freeze_float32([header.means[-1]] * outputs)))
    return Network(inputs, tuple(nodes), name, tuple(notes))


def _dense_layers(network: Network) -> list[Affine]:
    """The layers of a network that is affine, ReLU, affine, …, affine in one chain."""
    layers: list[Affine] = []
    for number, node in enumerate(network.nodes):
        match node:
            case Affine(source, _, _) if number % 2 == 0 and source == number:
                layers.append(node)
            case Activation(source, Shape.RELU, _) if number % 2 == 1 and source == number:
                pass
            case _:
                raise Unsupported(
                    f"node {number} ({type(node).__name__}) has no place in .nnet", fix=_WRITABLE
                )
    if len(network.nodes) % 2 == 0:
        raise Unsupported("the network does not end in an affine layer", fix=_WRITABLE)
    return layers


_WRITABLE = "write ONNX instead; .nnet holds affine layers with ReLU between them"
