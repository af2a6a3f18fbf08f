"""Claims about files: a small ONNX network and a VNN-LIB property; mutants of both, digests renewed.

What a mutated pair of files claims is read by the readers of the package, not by those of the checker.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from benchmarks.mutation.claims import Claim, read_claim
from benchmarks.mutation.producer import produce
from surefoot.formats.onnx import read_onnx_bytes
from surefoot.formats.vnnlib import parse_vnnlib
from surefoot.query.formula import negation_normal_form
from surefoot.query.unsat_claim import formula_to_json, network_to_json

NETWORK, PROPERTY = "network.onnx", "property.vnnlib"


def write_question(folder: Path, seed: int, margin: float) -> None:
    """A network of one hidden layer, and thresholds that no point of the box reaches, by a margin."""
    random = np.random.default_rng(seed)
    width, hidden = int(random.integers(1, 3)), int(random.integers(2, 5))
    tensors = {
        "w": random.normal(size=(width, hidden)),
        "b": random.normal(size=hidden) / 4,
        "v": random.normal(size=(hidden, 2)),
        "c": random.normal(size=2) / 4,
    }
    activation = str(random.choice(["Relu", "Relu", "Tanh"]))
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "w"], ["m"]),
            helper.make_node("Add", ["m", "b"], ["a"]),
            helper.make_node(activation, ["a"], ["r"]),
            helper.make_node("Gemm", ["r", "v", "c"], ["y"]),
        ],
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, width])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(t.astype(np.float32), n) for n, t in tensors.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (folder / NETWORK).write_bytes(model.SerializeToString())
    points = random.uniform(-1, 1, size=(4096, width))
    inner = points @ tensors["w"] + tensors["b"]
    made = (np.tanh(inner) if activation == "Tanh" else np.maximum(inner, 0)) @ tensors["v"] + tensors["c"]
    lines = [f"(declare-const X_{i} Real)" for i in range(width)]
    lines += ["(declare-const Y_0 Real)", "(declare-const Y_1 Real)"]
    for i in range(width):
        lines += [f"(assert (>= X_{i} -1.0))", f"(assert (<= X_{i} 1.0))"]
    highest = [float(made[:, j].max() + margin * np.ptp(made[:, j])) for j in range(2)]
    difference = made[:, 0] - made[:, 1]
    lowest = float(difference.min() - margin * np.ptp(difference))
    lines.append(f"(assert (or (>= Y_0 {highest[0]:.6f}) (and (>= Y_1 {highest[1]:.6f}) (<= X_0 0.5))))")
    if random.random() < 0.5:
        lines[-1] = f"(assert (<= (- Y_0 Y_1) {lowest:.6f}))"
    (folder / PROPERTY).write_text("\n".join(lines) + "\n")


def claimed(folder: Path, arithmetic: str, inputs: str) -> tuple[dict[str, Any], Claim]:
    """What the two files claim, written out; raises if the package cannot read them."""
    network = read_onnx_bytes((folder / NETWORK).read_bytes())
    specification = parse_vnnlib((folder / PROPERTY).read_text())
    names = [f"X_{i}" for i in range(specification.inputs)]
    outputs = [f"Y_{i}" for i in range(specification.outputs)]
    if (network.width, network.outputs) != (len(names), len(outputs)):
        raise ValueError("network and property do not fit together")
    bounds = zip(names, specification.low, specification.high, strict=True)
    written = {
        "kind": "query",
        "variables": [[n, str(low), str(high), inputs] for n, low, high in bounds]
        + [[n, None, None, "real"] for n in outputs],
        "networks": [network_to_json(network)],
        "calls": [[0, [{n: "1"} for n in names], outputs]],
        "formula": formula_to_json(negation_normal_form(specification.constraint)),
    }
    return written, read_claim(written, arithmetic)


def certificate(folder: Path, arithmetic: str, inputs: str, seed: int) -> dict[str, Any]:
    """A certificate whose claim names the two files."""
    written, _ = claimed(folder, arithmetic, inputs)
    return about_files(produce(written, arithmetic, seed), folder, inputs)


def about_files(proof: Mapping[str, Any], folder: Path, inputs: str) -> dict[str, Any]:
    claim = {
        "kind": "vnnlib",
        "network": {"file": NETWORK, "sha256": _digest(folder / NETWORK)},
        "property": {"file": PROPERTY, "sha256": _digest(folder / PROPERTY)},
        "output": None,
        "inputs": inputs,
    }
    return {**json.loads(json.dumps(dict(proof))), "claim": claim}


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def mutate_files(folder: Path, certificate: dict[str, Any], source: random.Random) -> str:
    """Change the network or the property where they are, the atoms of the proof too if they can follow."""
    if source.random() < 0.4:
        what = _mutate_network(folder, source)
    else:
        what = _mutate_property(folder, certificate, source)
    certificate.update(about_files(certificate, folder, certificate["claim"]["inputs"]))
    return what


def _mutate_network(folder: Path, source: random.Random) -> str:
    model = ModelProto.FromString((folder / NETWORK).read_bytes())
    if source.random() < 0.2:
        step = source.choice(model.graph.node)
        step.op_type = source.choice(["Relu", "Tanh", "Sub", "Identity", "Neg"])
        what = f"an operator changed into {step.op_type}"
    else:
        tensor = source.choice(model.graph.initializer)
        numbers = numpy_helper.to_array(tensor).copy()
        place = tuple(source.randrange(d) for d in numbers.shape)
        numbers[place] += np.float32(source.choice([1e-6, 0.01, -0.01, 0.5, -0.5, 3, -3]))
        tensor.CopyFrom(numpy_helper.from_array(numbers, tensor.name))
        what = "a weight of the file changed"
    (folder / NETWORK).write_bytes(model.SerializeToString())
    return what


def _mutate_property(folder: Path, certificate: dict[str, Any], source: random.Random) -> str:
    lines = (folder / PROPERTY).read_text().splitlines()
    asserted = [i for i, line in enumerate(lines) if line.startswith("(assert")]
    place = source.choice(asserted)
    match source.randrange(5):
        case 0:
            del lines[place]
            what = "an assertion left out"
        case 1:
            lines.insert(
                place, source.choice([lines[place], "(assert (or (<= Y_0 -100.0) (>= Y_0 -100.0)))"])
            )
            what = "an assertion added"
        case 2:
            lines[place] = lines[place].replace("<=", "?").replace(">=", "<=").replace("?", ">=")
            what = "the relations of an assertion turned around"
        case 3:
            lines[place] = (
                lines[place].replace("(or ", "(? ").replace("(and ", "(or ").replace("(? ", "(and ")
            )
            what = "and and or exchanged"
        case _:
            found = list(re.finditer(r"-?[0-9]+\.[0-9]+", lines[place]))
            number = source.choice(found)
            changed = float(number[0]) + source.choice([1e-6, -1e-6, 0.01, -0.01, 0.5, -0.5, 2.0, -2.0])
            text = f"{changed:.6f}"
            lines[place] = lines[place][: number.start()] + text + lines[place][number.end() :]
            _follow(certificate, Fraction(number[0]), Fraction(text))
            what = "a number of the property changed"
    (folder / PROPERTY).write_text("\n".join(lines) + "\n")
    return what


def _follow(certificate: dict[str, Any], before: Fraction, after: Fraction) -> None:
    """The same number in the atoms of the proof."""
    for case in certificate["cases"]:
        for _, form in case["atoms"]:
            constant = Fraction(form.get("", 0))
            if abs(constant) == abs(before) and constant:
                form[""] = str(after * constant / before)
