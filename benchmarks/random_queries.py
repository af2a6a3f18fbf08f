"""Small random queries, a function of seed and number alone, with all that is awkward about real ones.

Fixed and very narrow inputs, empty regions, dead and duplicate neurons, ties between outputs, whole numbers
beside reals, disjunctions, strict comparisons and equalities, copies of one network coupled by linear forms
of earlier outputs; ReLU, leaky ReLU, clip, maximum, skip connections, products, tanh and sigmoid. Weights are
multiples of a quarter: on multiples of 1/64 float64 evaluates piecewise-linear networks exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from surefoot.network.directed_rounding import Array
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
    Shape,
    dense_network,
    freeze_float32,
    freeze_indices,
)
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.term.term import Apply, Const, Op, Term, Var, equal
from surefoot.term.value_types import Int, Real

KINDS = ("whole", "real", "mixed", "copies", "chain", "wide", "smooth", "product", "float32")
Generator = np.random.Generator
Linear = Mapping[str, float]  # the constant under the empty name


@dataclass(frozen=True, slots=True)
class Atom:
    """linear relation 0."""

    linear: Linear
    relation: str  # "<=", "<" or "="


@dataclass(frozen=True, slots=True)
class Variable:
    name: str
    low: Fraction
    high: Fraction
    whole: bool
    single: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    network: Network
    inputs: tuple[Linear, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Small:
    """A query as plain data: `free` variables, calls in order, and clauses that must all hold."""

    kind: str
    free: tuple[Variable, ...]
    calls: tuple[Call, ...]
    clauses: tuple[tuple[Atom, ...], ...]

    def query(self) -> Query:
        quantities = [QueryVariable(v.name, _kind(v)) for v in self.free]
        quantities += [QueryVariable(n, Real()) for call in self.calls for n in call.outputs]
        calls = tuple(
            NetworkCall(c.network, tuple(map(_term, c.inputs)), c.outputs, float32=self.kind == "float32")
            for c in self.calls
        )
        return Query(tuple(quantities), tuple(map(_clause, self.clauses)), calls)


def small(seed: int, number: int) -> Small:
    generator = np.random.default_rng([seed, number])
    kind = KINDS[number % len(KINDS)]
    free = _variables(generator, kind)
    calls = _calls(generator, kind, [v.name for v in free])
    names = [v.name for v in free], [n for c in calls for n in c.outputs]
    return Small(kind, free, calls, _clauses(generator, kind, *names))


def _variables(generator: Generator, kind: str) -> tuple[Variable, ...]:
    count = int(generator.integers(9, 15)) if kind == "wide" else int(generator.integers(1, 4))
    found = []
    for i in range(count):
        whole = kind == "whole" or (kind in ("mixed", "copies") and generator.random() < 0.4)
        whole = whole or (kind == "smooth" and generator.random() < 0.25)
        low = (
            Fraction(int(generator.integers(-3, 3)))
            if whole
            else Fraction(int(generator.integers(-12, 9)), 8)
        )
        widths = (0, 0, 1, 2, 3) if whole else (0, Fraction(1, 2**20), Fraction(1, 4), 1, 2, 2)
        width = Fraction(widths[int(generator.integers(len(widths)))])
        if generator.random() < 0.01:
            width = Fraction(-1)  # an empty region
        found.append(Variable(f"x{i}", low, low + width, whole, kind == "float32"))
    return tuple(found)


def _weights(generator: Generator, rows: int, columns: int) -> Array:
    found = generator.integers(-8, 9, (rows, columns)) / 4
    if rows > 1 and generator.random() < 0.3:
        found[1] = found[0]  # duplicate neurons
    if generator.random() < 0.2:
        found[int(generator.integers(rows))] = 0  # a neuron without input
    return found


def network(generator: Generator, kind: str, width: int, outputs: int) -> Network:
    hidden = int(generator.integers(2, 5))
    bias = generator.integers(-6, 7, hidden) / 4
    if generator.random() < 0.2:
        bias[0] = -64  # dead
    last = _weights(generator, outputs, hidden), generator.integers(-4, 5, outputs) / 4
    first = _weights(generator, hidden, width), bias
    if kind == "smooth":
        shape = Shape.TANH if generator.random() < 0.6 else Shape.SIGMOID
        return dense_network([first, last], hidden=shape)
    if kind == "wide" or generator.random() < 0.3:
        middle = _weights(generator, 3, hidden), generator.integers(-4, 5, 3) / 4
        return dense_network([first, middle, (_weights(generator, outputs, 3), last[1])])
    nodes: list[Node] = [Affine(0, freeze_float32(first[0]), freeze_float32(first[1]))]
    shape = (Shape.RELU, Shape.RELU, Shape.LEAKY_RELU, Shape.CLIP)[int(generator.integers(4))]
    nodes.append(Activation(1, shape, {Shape.LEAKY_RELU: (0.25,), Shape.CLIP: (-0.5, 0.75)}.get(shape, ())))
    if kind == "product":
        nodes.append(Pick(1, freeze_indices([*range(1, hidden), 0])))
        nodes.append(Combine(2, 3, Pairing.MULTIPLY))
    extra = int(generator.integers(4))
    if extra == 1:
        nodes.append(Combine(1, len(nodes), Pairing.MAXIMUM))
    elif extra == 2:
        nodes.append(Combine(1, len(nodes), Pairing.ADD))
    elif extra == 3:
        nodes.append(Join((len(nodes), 0)))
        last = np.concatenate([last[0], generator.integers(-4, 5, (outputs, width)) / 4], axis=1), last[1]
    nodes.append(Affine(len(nodes), freeze_float32(last[0]), freeze_float32(last[1])))
    return Network(width, tuple(nodes))


def _calls(generator: Generator, kind: str, names: list[str]) -> tuple[Call, ...]:
    outputs = int(generator.integers(1, 4))
    if kind not in ("copies", "chain"):
        shared = network(generator, kind, len(names), outputs)
        return (Call(shared, tuple({n: 1.0} for n in names), tuple(f"y{i}" for i in range(outputs))),)
    count, width = int(generator.integers(2, 4)), min(2, len(names))
    shared = network(generator, kind, width, outputs)
    calls: list[Call] = []
    known = list(names)
    for t in range(count):
        inputs = [dict.fromkeys([known[(t + i) % len(names)]], 1.0) for i in range(width)]
        if kind == "chain" and calls:
            inputs[0] = {calls[-1].outputs[0]: 0.5, names[0]: float(generator.integers(-1, 2)), "": 0.25}
            inputs[0] = {n: c for n, c in inputs[0].items() if c}
        calls.append(Call(shared, tuple(inputs), tuple(f"y{t}_{i}" for i in range(outputs))))
    return tuple(calls)


def _clauses(
    generator: Generator, kind: str, free: list[str], outputs: list[str]
) -> tuple[tuple[Atom, ...], ...]:
    clauses = []
    for _ in range(int(generator.integers(1, 4))):
        clauses.append(
            tuple(_atom(generator, kind, free, outputs) for _ in range(int(generator.integers(1, 4))))
        )
    if generator.random() < 0.3 and len(outputs) > 1:  # an argmax, ties included or not
        relation = "<" if generator.random() < 0.5 else "<="
        clauses += [(Atom({o: 1.0, outputs[0]: -1.0}, relation),) for o in outputs[1:]]
    return tuple(clauses)


def _atom(generator: Generator, kind: str, free: list[str], outputs: list[str]) -> Atom:
    exact = kind not in ("smooth", "product", "float32")
    linear: dict[str, float] = {}
    for _ in range(int(generator.integers(1, 3))):
        pool = outputs if generator.random() < 0.7 else free
        name = pool[int(generator.integers(len(pool)))]
        linear[name] = linear.get(name, 0.0) + float((-2, -1, 1, 2)[int(generator.integers(4))])
    linear = {n: c for n, c in linear.items() if c} or {outputs[0]: 1.0}
    linear[""] = float(generator.integers(-12, 13)) / 4
    relation = ("<=", "<=", "<=", "<", "=")[int(generator.integers(5 if exact else 3))]
    return Atom(linear, relation)


def _kind(variable: Variable) -> Int | Real:
    if variable.whole:
        return Int(int(variable.low), int(variable.high))
    return Real(variable.low, variable.high, float32=variable.single)


def _term(linear: Linear) -> Term:
    parts: list[Term] = [Var(n) if c == 1 else Const(Fraction(c)) * Var(n) for n, c in linear.items() if n]
    if linear.get(""):
        parts.append(Const(Fraction(linear[""])))
    return parts[0] if len(parts) == 1 else Apply(Op.ADD, tuple(parts))


def _clause(atoms: tuple[Atom, ...]) -> Term:
    terms = []
    for atom in atoms:
        left = _term(atom.linear)
        terms.append(
            {"<=": left <= Const(0), "<": left < Const(0), "=": equal(left, Const(0))}[atom.relation]
        )
    return terms[0] if len(terms) == 1 else Apply(Op.OR, tuple(terms))
