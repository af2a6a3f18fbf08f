"""The questions of `bench-solve`: congestion-control-like copies, integer argmax cells, VNN-LIB files.

A question has a name such as `aurora 48:2:0.5`, `argmax 16x16:6x4:0` or `acasxu 1_1 prop_3`.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks import aurora_like
from surefoot.formats.policy_file import load_policy
from surefoot.formats.vnnlib import read_vnnlib
from surefoot.network.outward import Array
from surefoot.problem.environment import Int, Real
from surefoot.problem.network import Network, dense
from surefoot.problem.term import Const, Term, Var
from surefoot.query.query import NetworkCall, Quantity, Query

AURORA = (
    *("48:1:1.0", "48:1:0.5", "48:1:0.25", "48:1:-0.2"),
    *("48:2:1.0", "48:2:0.5", "48:2:0.25", "48:3:1.0", "48:3:0.5", "48:3:0.25"),
    *("48:4:1.0", "48:5:1.0", "48:5:0.5", "48:5:-0.2", "48:6:1.0", "48:7:1.0", "48:8:1.0"),
    *("16x16:1:1.0", "16x16:1:0.5", "16x16:3:1.0", "32x16:1:0.5", "32x16:3:1.0"),
    *("64x64:1:1.5", "64x64:1:-0.2"),
)
CELLS = tuple(
    f"{net}:{cell}:{number}"
    for net in ("16x16", "32x32", "64x64")
    for cell in ("3x2", "6x4", "15x6")
    for number in range(3)
)
SETS = ("acasxu", "sat_relu", "cersyve", "planted_needles", "nn4sys_pensieve")
MOVES = tuple((x, y) for x in (-1, 0, 1) for y in (-1, 0, 1))
TRACK = 30  # positions 0 to 30, velocities -5 to 5


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
    network = dense(list(zip(weights, biases, strict=True)), name=hidden)
    features, history = aurora_like.FEATURES, aurora_like.HISTORY
    names = [f"x{i}" for i in range(features * (history + count - 1))]
    kinds = [
        Real(Fraction(float(a)), Fraction(float(b)))
        for a, b in zip(aurora_like.LOW, aurora_like.HIGH, strict=True)
    ]
    inputs = [Quantity(n, kinds[i % features]) for i, n in enumerate(names)]
    outputs = [Quantity(f"y{t}", Real()) for t in range(count)]
    calls = tuple(
        NetworkCall(
            network, tuple(Var(n) for n in names[features * t : features * (t + history)]), (f"y{t}",)
        )
        for t in range(count)
    )
    return Query((*inputs, *outputs), tuple(Var(q.name) >= Const(least) for q in outputs), calls)


@cache
def driver(width: int, seed: int = 5) -> Network:
    """A policy for a race track with six obstacles: from position and velocity to nine action values."""
    generator = np.random.default_rng(seed)
    count = 20000
    states = np.stack(
        [generator.integers(0, TRACK + 1, count) for _ in range(2)]
        + [generator.integers(-5, 6, count) for _ in range(2)],
        1,
    )
    states = states.astype(float)
    goal, obstacles = np.array([TRACK * 0.8, TRACK * 0.7]), generator.uniform(5, 25, (6, 2))
    columns: list[Array] = []
    for move in MOVES:
        velocity = states[:, 2:] + np.array(move)
        position = states[:, :2] + 1.5 * velocity
        value = -np.linalg.norm(position - goal, axis=1) / TRACK
        for obstacle in obstacles:
            value = value - 0.6 * np.exp(-((position - obstacle) ** 2).sum(1) / 8)
        columns.append(value - 0.5 * ((position < 0) | (position > TRACK)).any(1))
    values = np.stack(columns, 1)
    target = (values - values.mean(1, keepdims=True)) * 6
    weights, biases = aurora_like.trained((4, width, width, 9), states, target, seed, steps=4000)
    return dense(list(zip(weights, biases, strict=True)), name=f"{width}x{width}")


def argmax(name: str) -> Query:
    """Is there a state of a cell in which the policy prefers an acceleration that leads to another cell?"""
    hidden, cell, number = name.split(":")
    places, speeds = (int(n) for n in cell.split("x"))
    network = driver(int(hidden.split("x")[0]))
    generator = np.random.default_rng([places, int(number), network.width, int(hidden.split("x")[0])])
    low = [
        int(v)
        for v in (*generator.integers(0, TRACK - places + 2, 2), *generator.integers(-5, 7 - speeds, 2))
    ]
    high = [v + w - 1 for v, w in zip(low, (places, places, speeds, speeds), strict=True)]
    member = [int(generator.integers(a, b + 1)) for a, b in zip(low, high, strict=True)]
    chosen = int(best(network, member)) if generator.random() < 0.5 else int(generator.integers(9))
    reached = [member[i] + member[i + 2] + MOVES[chosen][i] for i in range(2)]
    corner = [(r // places) * places for r in reached]
    if generator.random() < 0.3:  # perhaps the cell beside it
        corner = [beside(generator, low, high, i, corner[i], MOVES[chosen][i], places) for i in range(2)]
    states, scores = ("x", "y", "vx", "vy"), tuple(f"q{i}" for i in range(9))
    quantities = [Quantity(n, Int(a, b)) for n, a, b in zip(states, low, high, strict=True)]
    quantities += [Quantity(n, Real()) for n in scores]
    constraints: list[Term] = [Var(s) <= Var(scores[chosen]) for i, s in enumerate(scores) if i != chosen]
    for i in range(2):
        after = Var(states[i]) + Var(states[i + 2]) + Const(MOVES[chosen][i])
        constraints += [after >= Const(corner[i]), after <= Const(corner[i] + places - 1)]
    call = NetworkCall(network, tuple(Var(n) for n in states), scores)
    return Query(tuple(quantities), tuple(constraints), (call,))


def beside(
    generator: np.random.Generator,
    low: list[int],
    high: list[int],
    axis: int,
    corner: int,
    move: int,
    width: int,
) -> int:
    """The same or the next interval of positions, as long as some state of the cell reaches it."""
    other = corner + width * int(generator.integers(-1, 2))
    least, most = low[axis] + low[axis + 2] + move, high[axis] + high[axis + 2] + move
    return other if least <= other + width - 1 and other <= most else corner


def best(network: Network, state: Sequence[int]) -> int:
    from surefoot.network.exact import exact_outputs

    scores = exact_outputs(network, [Fraction(v) for v in state])
    return scores.index(max(scores))


def from_files(network: Path, specification: Path) -> Query:
    loaded, asked = load_policy(network).network, read_vnnlib(specification)
    inputs = tuple(f"X_{i}" for i in range(asked.inputs))
    outputs = tuple(f"Y_{i}" for i in range(asked.outputs))
    bounds = zip(inputs, asked.low, asked.high, strict=True)
    quantities = [Quantity(n, Real(low, high, float32=True)) for n, low, high in bounds]
    quantities += [Quantity(n, Real()) for n in outputs]
    call = NetworkCall(loaded, tuple(Var(n) for n in inputs), outputs)
    return Query(tuple(quantities), (asked.constraint,), (call,))
