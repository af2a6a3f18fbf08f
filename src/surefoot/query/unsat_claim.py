"""A lowered query written out for a certificate (docs/certificates.md, sections 2 and 3)."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from surefoot.errors import Unsupported
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Join,
    Network,
    Node,
    Pairing,
    Pick,
    Shape,
    freeze_float32,
    freeze_indices,
)
from surefoot.problem.tree_ensemble import TreeEnsemble
from surefoot.query.bounds import declared_box
from surefoot.query.formula import All, AnyOf, Formula, LinearAtom
from surefoot.query.query import Json, Proof, Query
from surefoot.term.linear import LinearForm, linearise_term
from surefoot.term.value_types import Bool, Int, Real
from surefoot_checker.kernel.network import (
    ActivationNode,
    AffineNode,
    CombineNode,
    ElementwiseNode,
    FlatNetwork,
    JoinNode,
    PickNode,
)
from surefoot_checker.kernel.trees import TreesNode

_PAIRING = {
    Pairing.ADD: "sum",
    Pairing.MULTIPLY: "product",
    Pairing.MAXIMUM: "maximum",
    Pairing.DIVIDE: "quotient",
}


_ProofText: TypeAlias = tuple[Json, tuple[Json, ...]]  # claim and cases


class LazyProof(Proof):
    """A proof whose text is written when somebody first reads it; what is pickled is the text."""

    __slots__ = ("_text", "_write")
    _text: _ProofText | None
    _write: Callable[[], _ProofText]

    def __init__(self, arithmetic: str, write: Callable[[], _ProofText]) -> None:
        for name, value in (("arithmetic", arithmetic), ("_write", write), ("_text", None)):
            object.__setattr__(self, name, value)

    def _proof_text(self) -> _ProofText:
        found = self._text
        if found is None:
            found = self._write()
            object.__setattr__(self, "_text", found)
            object.__setattr__(self, "_write", None)  # and what it is written from
        return found

    @property
    def claim(self) -> Json:
        return self._proof_text()[0]

    @property
    def cases(self) -> tuple[Json, ...]:
        return self._proof_text()[1]

    def __reduce__(self) -> tuple[type[Proof], tuple[Json, str, tuple[Json, ...]]]:
        return Proof, (self.claim, self.arithmetic, self.cases)


def write_unsat_claim(query: Query, formulas: Sequence[Formula]) -> Json:
    """That nothing satisfies a lowered query; `formulas` are its constraints in normal form."""
    networks: dict[int, tuple[int, Network]] = {}
    calls = []
    for call in query.calls:
        number, _ = networks.setdefault(id(call.network), (len(networks), call.network))
        calls.append(
            [number, [linear_form_to_json(linearise_term(t)) for t in call.inputs], list(call.outputs)]
        )
    bounds = declared_box(query.quantities)
    variables = [
        [q.name, *map(_bound_to_json, bounds[q.name]), _type_to_json(q.kind)] for q in query.quantities
    ]
    return {
        "kind": "query",
        "variables": variables,
        "networks": [network_to_json(n) for _, n in networks.values()],
        "calls": calls,
        "formula": ["and", *map(formula_to_json, formulas)],
    }


def _bound_to_json(value: Fraction | None) -> str | None:
    return None if value is None else str(value)


def _type_to_json(kind: Bool | Int | Real) -> str:
    match kind:
        case Real(_, _, float32):
            return "float32" if float32 else "real"
        case _:
            return "integer"


def linear_form_to_json(linear: LinearForm) -> dict[str, str]:
    """A linear form as an object from names to coefficients, the constant under the empty name."""
    found = {name: str(coefficient) for name, coefficient in linear.coefficients}
    return found | {"": str(linear.constant)} if linear.constant else found


def formula_to_json(formula: Formula) -> list[object]:
    match formula:
        case All(parts):
            return ["and", *map(formula_to_json, parts)]
        case AnyOf(parts):
            return ["or", *map(formula_to_json, parts)]
        case LinearAtom(linear, relation):
            return [relation.value, linear_form_to_json(linear)]


def network_to_json(network: Network) -> Json:
    return {"width": network.width, "nodes": [_node_to_json(n) for n in network.nodes]}


def network_from_claim(flat: FlatNetwork) -> Network:
    """The network that a claim writes out."""
    return Network(flat.width, tuple(map(_node_from_claim, flat.nodes)))


def _node_from_claim(node: object) -> Node:
    match node:
        case AffineNode(source, columns, weights, bias):
            rows = np.array(weights, dtype=np.float32).reshape(len(bias), columns)
            return Affine(source, freeze_float32(rows), freeze_float32(bias))
        case ElementwiseNode(source, kind, constant):
            return Elementwise(source, Constant(kind), freeze_float32(constant))
        case ActivationNode(source, kind, parameters):
            return Activation(source, Shape(kind), tuple(parameters))
        case CombineNode(left, right, kind):
            return Combine(left, right, {word: pairing for pairing, word in _PAIRING.items()}[kind])
        case PickNode(source, indices):
            return Pick(source, freeze_indices(indices))
        case JoinNode(several):
            return Join(several)
        case TreesNode():
            leaves = np.array(node.leaves, dtype=np.float32).reshape(-1, len(node.start))
            return TreeEnsemble(
                node.source,
                freeze_indices(node.features),
                freeze_float32(node.thresholds),
                freeze_indices(node.lower),
                freeze_indices(node.upper),
                freeze_indices(node.roots),
                freeze_float32(leaves),
                freeze_float32(node.start),
            )
        case _:
            raise Unsupported("a node of a network that is not known")


def _node_to_json(node: Node) -> list[object]:
    match node:
        case Affine(source, weights, bias):
            return ["affine", source, *weights.shape, _weights_to_base64(weights), _weights_to_base64(bias)]
        case Elementwise(source, kind, constant):
            return [kind.value, source, _weights_to_base64(constant)]
        case Activation(source, shape, parameters):
            return [shape.value, source, *(float(p).hex() for p in parameters)]
        case Combine(left, right, pairing):
            return [_PAIRING[pairing], left, right]
        case Pick(source, indices):
            return ["pick", source, indices.tolist()]
        case Join(several):
            return ["join", list(several)]
        case TreeEnsemble(source):
            tests = [node.features.tolist(), _weights_to_base64(node.thresholds)]
            children = [node.lower.tolist(), node.upper.tolist()]
            leaves = [_weights_to_base64(node.leaves), _weights_to_base64(node.start)]
            return ["trees", source, *tests, *children, node.roots.tolist(), *leaves]


def _weights_to_base64(values: object) -> str:
    return b64encode(np.asarray(values, dtype="<f4").tobytes()).decode()
