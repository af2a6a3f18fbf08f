"""Does a witness really satisfy its specification? Decided without surefoot, and with zero tolerance.

The specification is read by a few lines of its own, outputs come from onnxruntime (graph optimisations off,
one thread), and every comparison is done in exact fractions of the float32 values.
"""

from __future__ import annotations

import gzip
import operator
import re
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

_COMPARE = {"<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt, "=": operator.eq}
_FOLD = {"+": operator.add, "*": operator.mul, "-": operator.sub}
_PAIR = re.compile(r"\(\s*([XY])_([0-9]+)\s+([^\s()]+)\s*\)")
_TOKEN = re.compile(r"[()]|[^\s()]+")


def replay(network: Path, specification: Path, witness: str) -> str:
    """`ok`, or the reason why the witness shows nothing."""
    values = {(kind, int(index)): value for kind, index, value in _PAIR.findall(witness)}
    inputs = [float(np.float32(values["X", i])) for i in range(sum(1 for kind, _ in values if kind == "X"))]
    outputs = run(network, inputs)
    if not all(np.isfinite(outputs)):
        return "the network's output is not finite"
    point = {f"X_{i}": Fraction(v) for i, v in enumerate(inputs)}
    point |= {f"Y_{i}": Fraction(v) for i, v in enumerate(outputs)}
    for tree in assertions(content(specification).decode()):
        if not value(tree, point):
            return f"not satisfied: {shown(tree)}"
    return "ok"


def content(path: Path) -> bytes:
    data = path.read_bytes()
    return gzip.decompress(data) if path.suffix == ".gz" else data


def run(network: Path, inputs: list[float]) -> list[float]:
    """What onnxruntime computes in float32."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(content(network), options, providers=["CPUExecutionProvider"])
    (argument,) = session.get_inputs()
    shape = [d if isinstance(d, int) else 1 for d in argument.shape]
    batch = np.array(inputs, np.float32).reshape(shape)
    return [float(v) for v in session.run(None, {argument.name: batch})[0].reshape(-1)]


def assertions(text: str) -> list[Any]:
    """The asserted formulas as nested lists of words."""
    stack: list[list[Any]] = [[]]
    for token in _TOKEN.findall(re.sub(r";[^\n]*", "", text)):
        if token == "(":
            stack.append([])
        elif token == ")":
            done = stack.pop()
            stack[-1].append(done)
        else:
            stack[-1].append(token)
    return [command[1] for command in stack[0] if command[0] == "assert"]


def value(tree: Any, point: dict[str, Fraction]) -> Any:
    """The truth or the number that a formula or term has at a point."""
    if isinstance(tree, str):
        return point[tree] if tree in point else Fraction(tree)
    head, arguments = tree[0], [value(t, point) for t in tree[1:]]
    if head in _COMPARE:
        return _COMPARE[head](*arguments)
    if head in ("and", "or"):
        return all(arguments) if head == "and" else any(arguments)
    if head == "-" and len(arguments) == 1:
        return -arguments[0]
    return reduce(_FOLD[head], arguments)


def shown(tree: Any) -> str:
    text = tree if isinstance(tree, str) else f"({' '.join(shown(t) for t in tree)})"
    return text if len(text) < 80 else text[:79] + "…"
