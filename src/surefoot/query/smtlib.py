"""Queries as text for other tools: SMT-LIB here, with the networks unrolled; VNN-LIB in its own module."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from surefoot.query.formula import All, AnyOf, Formula, LinearAtom, Relation, negation_normal_form
from surefoot.query.lower import lower_query
from surefoot.query.network_constraints import ChoiceWriter, Factor, Place, exact_weight, write_network
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


class _SmtWriter(ChoiceWriter[str]):
    """One definition for every entry of every value."""

    def __init__(self, number: int) -> None:
        self.call, self.lines = number, list[str]()

    def affine(self, inputs: Sequence[tuple[float, str]], bias: float, place: Place) -> str:
        return self.combine(inputs, bias, place)

    def combine(self, parts: Sequence[tuple[Factor, str]], constant: Factor, place: Place | None) -> str:
        texts = [x if factor == 1 else f"(* {_smt_weight(factor)} {x})" for factor, x in parts]
        return _smt_sum([*texts, _smt_weight(constant)] if constant or not texts else texts)

    def choose(self, x: str, relation: str, y: str, then: str, otherwise: str) -> str:
        return f"(ite ({relation} {x} {y}) {then} {otherwise})"

    def define(self, x: str, place: Place) -> str:
        name = f"call{self.call}_value{place[0]}_{place[1]}"
        self.lines.append(f"(define-fun {name} () Real {x})")
        return name


def _smt_weight(value: Factor) -> str:
    return _smt_number(exact_weight(value))


def _define_call(call: NetworkCall, number: int, whole: set[str]) -> Iterator[str]:
    """The values of the network, then the outputs within their slack."""
    writer = _SmtWriter(number)
    texts = [_smt_linear_form(linearise_term(t), whole) for t in call.inputs]
    inputs = [writer.define(text, (0, i)) for i, text in enumerate(texts)]
    outputs = write_network(call.network, inputs, writer)
    yield from writer.lines
    slack = call.slack or (Fraction(0),) * len(call.outputs)
    for output, value, extra in zip(call.outputs, outputs, slack, strict=True):
        name = _smt_symbol(output)
        if extra:
            yield f"(assert (<= (- {name} {value}) {_smt_number(extra)}))"
            yield f"(assert (<= (- {value} {name}) {_smt_number(extra)}))"
        else:
            yield f"(assert (= {name} {value}))"
