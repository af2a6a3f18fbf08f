"""Queries as text for other tools: SMT-LIB here, with the networks unrolled; VNN-LIB in its own module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from surefoot.errors import InvalidProblem, Unsupported
from surefoot.problem.network import (
    Activation,
    Affine,
    Combine,
    Constant,
    Elementwise,
    Join,
    Node,
    Pairing,
    Pick,
    Shape,
)
from surefoot.query.formula import All, AnyOf, Formula, LinearAtom, Relation, negation_normal_form
from surefoot.query.lower import lower_query
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.query.vnnlib import to_vnnlib
from surefoot.term.linear import LinearForm, linearise_term
from surefoot.term.value_types import Bool, Int, Real
from surefoot.visible import is_visible

__all__ = ["to_smtlib", "to_vnnlib"]


def to_smtlib(query: Query) -> str:
    """A script in QF_LIRA, satisfiable exactly if the query is; `Unsupported` for non-linear terms."""
    lowered = lower_query(query).query
    truths = {q.name for q in lowered.quantities if isinstance(q.kind, Bool)}
    whole = {q.name for q in lowered.quantities if isinstance(q.kind, Int)}
    lines = ["(set-logic QF_LIRA)"]
    for quantity in lowered.quantities:
        lines.extend(_declare_variable(quantity))
    for number, call in enumerate(lowered.calls):
        lines.extend(_define_call(call, number, whole))
    for constraint in lowered.constraints:
        lines.append(f"(assert {_smt_formula(negation_normal_form(constraint), truths, whole)})")
    return "\n".join([*lines, "(check-sat)", "(get-model)", ""])


def _smt_symbol(name: str) -> str:
    """Different names are different symbols, and none of them ends one or acts on a terminal."""
    return "|" + "".join(c if is_visible(c) and c not in "\\|%" else f"%{ord(c):x};" for c in name) + "|"


def _smt_number(value: Fraction) -> str:
    """A real literal."""
    digits = f"{abs(value.numerator)}.0"
    size = digits if value.denominator == 1 else f"(/ {digits} {value.denominator}.0)"
    return f"(- {size})" if value < 0 else size


def _declare_variable(quantity: QueryVariable) -> Iterator[str]:
    kind, name = quantity.kind, _smt_symbol(quantity.name)
    match kind:
        case Bool():
            yield f"(declare-const {name} Bool)"
        case Int(low, high) | Real(low, high):
            yield f"(declare-const {name} {'Int' if isinstance(kind, Int) else 'Real'})"
            real = f"(to_real {name})" if isinstance(kind, Int) else name
            if low is not None:
                yield f"(assert (<= {_smt_number(Fraction(low))} {real}))"
            if high is not None:
                yield f"(assert (<= {real} {_smt_number(Fraction(high))}))"


def _smt_linear_form(linear: LinearForm, whole: set[str]) -> str:
    parts = []
    for name, coefficient in linear.coefficients:
        real = f"(to_real {_smt_symbol(name)})" if name in whole else _smt_symbol(name)
        parts.append(real if coefficient == 1 else f"(* {_smt_number(coefficient)} {real})")
    return _smt_sum([*parts, _smt_number(linear.constant)] if linear.constant or not parts else parts)


def _smt_sum(parts: Sequence[str]) -> str:
    return parts[0] if len(parts) == 1 else f"(+ {' '.join(parts)})"


def _smt_formula(formula: Formula, truths: set[str], whole: set[str]) -> str:
    match formula:
        case LinearAtom(LinearForm(((name, coefficient),), constant), Relation.EQ) if name in truths:
            return _smt_symbol(name) if -constant / coefficient == 1 else f"(not {_smt_symbol(name)})"
        case LinearAtom(linear, relation):
            return f"({relation.value} {_smt_linear_form(linear, whole)} 0.0)"
        case All(parts):
            return f"(and {' '.join(_smt_formula(p, truths, whole) for p in parts)})" if parts else "true"
        case AnyOf(parts):
            return f"(or {' '.join(_smt_formula(p, truths, whole) for p in parts)})" if parts else "false"


def _define_call(call: NetworkCall, number: int, whole: set[str]) -> Iterator[str]:
    """One definition per entry of every value, then the outputs within their slack."""
    values: list[list[str]] = []
    for position, node in enumerate((None, *call.network.nodes)):
        if node is None:
            texts = [_smt_linear_form(linearise_term(t), whole) for t in call.inputs]
        else:
            texts = _define_node(node, values)
        names = [f"call{number}_value{position}_{i}" for i in range(len(texts))]
        yield from (f"(define-fun {n} () Real {text})" for n, text in zip(names, texts, strict=True))
        values.append(names)
    slack = call.slack or (Fraction(0),) * len(call.outputs)
    for output, value, extra in zip(call.outputs, values[-1], slack, strict=True):
        name = _smt_symbol(output)
        if extra:
            yield f"(assert (<= (- {name} {value}) {_smt_number(extra)}))"
            yield f"(assert (<= (- {value} {name}) {_smt_number(extra)}))"
        else:
            yield f"(assert (= {name} {value}))"


def _define_node(node: Node, values: list[list[str]]) -> list[str]:
    match node:
        case Affine(source, weights, bias):
            rows = zip(weights.tolist(), bias.tolist(), strict=True)
            return [_smt_affine_row(values[source], row, b) for row, b in rows]
        case Elementwise(source, kind, constant):
            sign = {Constant.ADD: "+", Constant.MULTIPLY: "*", Constant.DIVIDE: "/"}[kind]
            pairs = zip(values[source], constant.tolist(), strict=True)
            return [f"({sign} {x} {_smt_float(c)})" for x, c in pairs]
        case Activation(source, shape, parameters):
            return [_smt_activation(x, shape, parameters) for x in values[source]]
        case Combine(left, right, Pairing.ADD):
            return [f"(+ {x} {y})" for x, y in zip(values[left], values[right], strict=True)]
        case Combine(left, right, Pairing.MAXIMUM):
            return [f"(ite (>= {x} {y}) {x} {y})" for x, y in zip(values[left], values[right], strict=True)]
        case Combine():
            raise Unsupported("a product or quotient of two network values is not linear")
        case Pick(source, indices):
            return [values[source][int(i)] for i in indices]
        case Join(several):
            return [x for s in several for x in values[s]]


def _smt_affine_row(inputs: list[str], weights: list[float], bias: float) -> str:
    products = [f"(* {_smt_float(w)} {x})" for w, x in zip(weights, inputs, strict=True) if w]
    return _smt_sum([*products, _smt_float(bias)])


def _smt_float(value: float) -> str:
    try:
        return _smt_number(Fraction(value))
    except (ValueError, OverflowError):
        raise InvalidProblem("the network has a weight that is not a finite number") from None


def _smt_activation(x: str, shape: Shape, parameters: tuple[float, ...]) -> str:
    match shape:
        case Shape.RELU:
            return f"(ite (> {x} 0.0) {x} 0.0)"
        case Shape.LEAKY_RELU:
            return f"(ite (< {x} 0.0) (* {_smt_float(parameters[0])} {x}) {x})"
        case Shape.CLIP:
            low, high = (_smt_float(p) for p in parameters)
            if parameters[0] > parameters[1]:
                return high
            return f"(ite (< {x} {low}) {low} (ite (> {x} {high}) {high} {x}))"
        case Shape.TANH | Shape.SIGMOID:
            raise Unsupported(
                f"{shape.value} is not piecewise linear", fix="export a piecewise-linear network"
            )
