"""The questions of `bench-solve`: congestion-control-like copies, integer argmax cells, VNN-LIB files.

A question has a name such as `aurora 48:2:0.5`, `argmax 16x16:6x4:0` or `acasxu 1_1 prop_3`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from benchmarks import aurora_like
from benchmarks.race_track import argmax
from surefoot.formats.policy_file import load_policy
from surefoot.formats.vnnlib import read_vnnlib_file
from surefoot.problem.network import dense_network
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.term.term import Const, Var
from surefoot.term.value_types import Real

AURORA = (
    *(f"{net}:{k}:{m}" for net in ("48", "16x16", "32x16") for k in range(1, 9) for m in ("1.0", "0.5")),
    *(f"48:{k}:0.25" for k in range(1, 5)),
    *("48:1:-0.2", "48:5:-0.2", "16x16:1:-0.2", "32x16:1:-0.2", "64x64:1:-0.2", "64x64:1:1.5"),
)
CELLS = tuple(
    f"{net}:{cell}:{number}"
    for net in ("16x16", "32x32", "64x64")
    for cell in ("3x2", "6x4", "15x6")
    for number in range(3)
)
SETS = ("acasxu", "sat_relu", "cersyve", "planted_needles", "nn4sys_pensieve")


@dataclass(frozen=True, slots=True)
class Question:
    family: str
    name: str
    expected: str = ""  # sat, unsat, or empty where nobody knows
    network: Path | None = None
    specification: Path | None = None

    @property
    def title(self) -> str:
        return f"{self.family} {self.name}"


def questions(data: Path | None) -> Iterator[Question]:
    """All that can be asked; those of VNN-LIB files only where the folder of data is there."""
    for name in AURORA:
        yield Question("aurora", name, "sat" if "-" in name else "")
    for name in CELLS:
        yield Question("argmax", name)
    for family in SETS if data is not None else ():
        assert data is not None
        yield from listed(data / family, family)


def listed(folder: Path, family: str) -> Iterator[Question]:
    """The rows of a set, with the answer that is known for sure."""
    table = folder / "answers.csv"
    if not table.exists():
        yield from pensieve(folder, family)
        return
    with table.open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            network, specification = existing(folder / row["onnx"]), existing(folder / row["vnnlib"])
            answer = row.get("answer") or row.get("truth") or ""
            yield Question(
                family, title(row), answer if answer in ("sat", "unsat") else "", network, specification
            )


def pensieve(folder: Path, family: str) -> Iterator[Question]:
    """This set has no table: `simple` and `parallel` properties belong to the network of that name."""
    for specification in sorted((folder / "vnnlib").iterdir()):
        kind = "parallel" if "parallel" in specification.name else "simple"
        name = f"pensieve_small_{kind} {specification.name.partition('.')[0]}"
        yield Question(family, name, "unsat", existing(folder / f"pensieve_small_{kind}.onnx"), specification)


def title(row: dict[str, str]) -> str:
    network, specification = (Path(row[key]).name.partition(".")[0] for key in ("onnx", "vnnlib"))
    network = network.removeprefix("ACASXU_run2a_").removesuffix("_batch_2000")
    return network if network == specification else f"{network} {specification}"


def existing(path: Path) -> Path:
    """The file itself, or its gzipped form: the table names neither suffix."""
    packed = path.with_name(path.name + ".gz")
    return packed if not path.exists() and packed.exists() else path


def query(question: Question) -> Query:
    """In real arithmetic; how a file is asked about float32 inference is the native solver's own affair."""
    match question.family:
        case "aurora":
            return aurora(question.name)
        case "argmax":
            return argmax(question.name)
        case _:
            assert question.network is not None
            assert question.specification is not None
            return from_files(question.network, question.specification)


def aurora(name: str) -> Query:
    """Can all k outputs be at least M_k + margin?"""
    hidden, copies, margin = name.split(":")
    widths = tuple(int(w) for w in hidden.split("x"))
    count = int(copies)
    least = Fraction(aurora_like.attained(widths, count) + float(margin))
    weights, biases = aurora_like.network(widths)
    network = dense_network(list(zip(weights, biases, strict=True)), name=hidden)
    features, history = aurora_like.FEATURES, aurora_like.HISTORY
    names = [f"x{i}" for i in range(features * (history + count - 1))]
    kinds = [
        Real(Fraction(float(a)), Fraction(float(b)))
        for a, b in zip(aurora_like.LOW, aurora_like.HIGH, strict=True)
    ]
    inputs = [QueryVariable(n, kinds[i % features]) for i, n in enumerate(names)]
    outputs = [QueryVariable(f"y{t}", Real()) for t in range(count)]
    calls = tuple(
        NetworkCall(
            network, tuple(Var(n) for n in names[features * t : features * (t + history)]), (f"y{t}",)
        )
        for t in range(count)
    )
    return Query((*inputs, *outputs), tuple(Var(q.name) >= Const(least) for q in outputs), calls)


def from_files(network: Path, specification: Path) -> Query:
    loaded, asked = load_policy(network).network, read_vnnlib_file(specification)
    inputs = tuple(f"X_{i}" for i in range(asked.inputs))
    outputs = tuple(f"Y_{i}" for i in range(asked.outputs))
    bounds = zip(inputs, asked.low, asked.high, strict=True)
    quantities = [QueryVariable(n, Real(low, high, float32=True)) for n, low, high in bounds]
    quantities += [QueryVariable(n, Real()) for n in outputs]
    call = NetworkCall(loaded, tuple(Var(n) for n in inputs), outputs)
    return Query(tuple(quantities), (asked.constraint,), (call,))
