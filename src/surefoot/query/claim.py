"""A lowered query written out for a certificate (docs/certificates.md, sections 2 and 3)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from surefoot.problem.environment import Bool, Int, Real
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Elementwise,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
)
from surefoot.query.bounds import declared
from surefoot.query.formula import All, AnyOf, Atom, Formula
from surefoot.query.linear import Linear, linearise
from surefoot.query.query import Json, Proof, Query

_PAIRING = {
    Pairing.ADD: "sum",
    Pairing.MULTIPLY: "product",
    Pairing.MAXIMUM: "maximum",
    Pairing.DIVIDE: "quotient",
}


Text: TypeAlias = tuple[Json, tuple[Json, ...]]  # claim and cases


class WrittenLater(Proof):
    """A proof whose text is written when somebody first reads it; what is pickled is the text."""

    __slots__ = ("_text", "_write")
    _text: Text | None
    _write: Callable[[], Text]

    def __init__(self, arithmetic: str, write: Callable[[], Text]) -> None:
        for name, value in (("arithmetic", arithmetic), ("_write", write), ("_text", None)):
            object.__setattr__(self, name, value)

    def _read(self) -> Text:
        found = self._text
        if found is None:
            found = self._write()
            object.__setattr__(self, "_text", found)
            object.__setattr__(self, "_write", None)  # and what it is written from
        return found

    @property
    def claim(self) -> Json:
        return self._read()[0]

    @property
    def cases(self) -> tuple[Json, ...]:
        return self._read()[1]

    def __reduce__(self) -> tuple[type[Proof], tuple[Json, str, tuple[Json, ...]]]:
        return Proof, (self.claim, self.arithmetic, self.cases)


def claim(query: Query, formulas: Sequence[Formula]) -> Json:
    """That nothing satisfies a lowered query; `formulas` are its constraints in normal form."""
    networks: dict[int, tuple[int, Network]] = {}
    calls = []
    for call in query.calls:
        number, _ = networks.setdefault(id(call.network), (len(networks), call.network))
        calls.append([number, [written(linearise(t)) for t in call.inputs], list(call.outputs)])
    bounds = declared(query.quantities)
    variables = [[q.name, *map(_end, bounds[q.name]), _kind(q.kind)] for q in query.quantities]
    return {
        "kind": "query",
        "variables": variables,
        "networks": [network_written(n) for _, n in networks.values()],
        "calls": calls,
        "formula": ["and", *map(formula_written, formulas)],
    }


def _end(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _kind(kind: Bool | Int | Real) -> str:
    match kind:
        case Real(_, _, float32):
            return "float32" if float32 else "real"
        case _:
            return "integer"


def written(linear: Linear) -> dict[str, str]:
    """A linear form as an object from names to coefficients, the constant under the empty name."""
    found = {name: str(coefficient) for name, coefficient in linear.coefficients}
    return found | {"": str(linear.constant)} if linear.constant else found


def formula_written(formula: Formula) -> list[object]:
    match formula:
        case All(parts):
            return ["and", *map(formula_written, parts)]
        case AnyOf(parts):
            return ["or", *map(formula_written, parts)]
        case Atom(linear, relation):
            return [relation.value, written(linear)]


def network_written(network: Network) -> Json:
    return {"width": network.width, "nodes": [_node(n) for n in network.nodes]}


def _node(node: Node) -> list[object]:
    match node:
        case Affine(source, weights, bias):
            return ["affine", source, *weights.shape, _numbers(weights), _numbers(bias)]
        case Elementwise(source, kind, constant):
            return [kind.value, source, _numbers(constant)]
        case Activation(source, shape, parameters):
            return [shape.value, source, *(float(p).hex() for p in parameters)]
        case Combine(left, right, pairing):
            return [_PAIRING[pairing], left, right]
        case Pick(source, indices):
            return ["pick", source, indices.tolist()]
        case Join(several):
            return ["join", list(several)]


def _numbers(values: object) -> str:
    return b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()
