"""Linear comparisons and network calls in the form that Marabou takes: bounds, equations and ReLUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import TypeAlias

from surefoot.errors import Unsupported
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
from surefoot.query.bounds import declared_box
from surefoot.query.formula import LinearAtom, Relation
from surefoot.query.query import NetworkCall, Query
from surefoot.term.linear import LinearForm, linearise_term

Coefficients: TypeAlias = dict[int, float]


@dataclass(frozen=True, slots=True)
class _LinearForm:
    """A linear expression over numbered variables."""

    terms: Mapping[int, float]
    constant: float = 0.0

    def plus(self, other: _LinearForm, factor: float = 1.0) -> _LinearForm:
        total = dict(self.terms)
        for variable, coefficient in other.terms.items():
            total[variable] = total.get(variable, 0.0) + factor * coefficient
        return _LinearForm({v: c for v, c in total.items() if c}, self.constant + factor * other.constant)

    def times(self, factor: float) -> _LinearForm:
        return _LinearForm({}).plus(self, factor)


@dataclass(slots=True)
class MarabouProgram:
    """Variables with bounds, rows `terms relation value`, ReLUs (before, after), and who is who."""

    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    rows: list[tuple[Coefficients, Relation, float]] = field(default_factory=list)
    relus: list[tuple[int, int]] = field(default_factory=list)
    names: dict[str, int] = field(default_factory=dict)
    inputs: list[int] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)

    def variable(self, low: float = -inf, high: float = inf) -> int:
        self.low.append(low)
        self.high.append(high)
        return len(self.low) - 1

    def variable_for(self, form: _LinearForm) -> int:
        """A variable that has the value of an expression."""
        if not form.constant and list(form.terms.values()) == [1.0]:
            return next(iter(form.terms))
        made = self.variable()
        self.rows.append(({made: -1.0, **form.terms}, Relation.EQ, -form.constant))
        return made

    def relu(self, form: _LinearForm) -> _LinearForm:
        after = self.variable(0.0)
        self.relus.append((self.variable_for(form), after))
        return _LinearForm({after: 1.0})

    def form_of(self, linear: LinearForm) -> _LinearForm:
        terms = {self.names[n]: float(c) for n, c in linear.coefficients}
        return _LinearForm(terms, float(linear.constant))


def encode_marabou(query: Query, atoms: Sequence[LinearAtom]) -> MarabouProgram:
    """The query's quantities and calls, with these comparisons for its constraints.

    A strict comparison is taken as one that is not: what is impossible then is impossible.
    """
    made = MarabouProgram()
    for name, (low, high) in declared_box(query.quantities).items():
        made.names[name] = made.variable(*_bounds_to_floats(low, high))
    for call in query.calls:
        _encode_call(made, call)
    for atom in atoms:
        form = made.form_of(atom.linear)
        relation = Relation.EQ if atom.relation is Relation.EQ else Relation.LE
        _encode_atom(made, form, relation)
    return made


def _bounds_to_floats(low: Fraction | None, high: Fraction | None) -> tuple[float, float]:
    return -inf if low is None else float(low), inf if high is None else float(high)


def _encode_atom(made: MarabouProgram, form: _LinearForm, relation: Relation) -> None:
    """Comparisons of one variable are bounds, which Marabou makes more of."""
    if relation is Relation.LE and len(form.terms) == 1:
        ((variable, factor),) = form.terms.items()
        end = -form.constant / factor
        if factor > 0:
            made.high[variable] = min(made.high[variable], end)
        else:
            made.low[variable] = max(made.low[variable], end)
    else:
        made.rows.append((dict(form.terms), relation, -form.constant))


def _encode_call(made: MarabouProgram, call: NetworkCall) -> None:
    inputs = [made.variable_for(made.form_of(linearise_term(t))) for t in call.inputs]
    made.inputs += [v for v in inputs if v not in made.inputs]
    values: list[list[_LinearForm]] = [[_LinearForm({v: 1.0}) for v in inputs]]
    for node in call.network.nodes:
        values.append(_encode_node(made, node, values))
    slack = call.slack or (Fraction(0),) * len(call.outputs)
    for name, value, extra in zip(call.outputs, values[-1], slack, strict=True):
        if extra:
            error = made.variable(-float(extra), float(extra))
            value = value.plus(_LinearForm({error: 1.0}))
        made.rows.append(({made.names[name]: -1.0, **value.terms}, Relation.EQ, -value.constant))
        made.outputs.append(made.names[name])


def _encode_node(
    made: MarabouProgram, node: Node, values: Sequence[Sequence[_LinearForm]]
) -> list[_LinearForm]:
    match node:
        case Affine(source, weights, bias):
            return [
                _LinearForm({made.variable_for(_weighted_sum(row, values[source], offset)): 1.0})
                for row, offset in zip(weights.tolist(), bias.tolist(), strict=True)
            ]
        case Elementwise(source, kind, constant):
            return [
                _apply_constant(f, kind, c) for f, c in zip(values[source], constant.tolist(), strict=True)
            ]
        case Activation(source, shape, parameters):
            return [_encode_activation(made, f, shape, parameters) for f in values[source]]
        case Combine(left, right, Pairing.ADD):
            return [x.plus(y) for x, y in zip(values[left], values[right], strict=True)]
        case Combine(left, right, Pairing.MAXIMUM):
            return [
                y.plus(made.relu(x.plus(y, -1.0))) for x, y in zip(values[left], values[right], strict=True)
            ]
        case Pick(source, indices):
            return [values[source][int(i)] for i in indices]
        case Join(several):
            return [form for source in several for form in values[source]]
        case _:
            raise Unsupported("Marabou takes no products or quotients of variables")


def _weighted_sum(row: Sequence[float], inputs: Sequence[_LinearForm], offset: float) -> _LinearForm:
    total: Coefficients = {}
    constant = offset
    for weight, form in zip(row, inputs, strict=True):
        constant += weight * form.constant
        for variable, coefficient in form.terms.items():
            total[variable] = total.get(variable, 0.0) + weight * coefficient
    return _LinearForm({v: c for v, c in total.items() if c}, constant)


def _apply_constant(form: _LinearForm, kind: Constant, constant: float) -> _LinearForm:
    match kind:
        case Constant.ADD:
            return _LinearForm(form.terms, form.constant + constant)
        case Constant.MULTIPLY:
            return form.times(constant)
        case Constant.DIVIDE:
            return form.times(1.0 / constant)


def _encode_activation(
    made: MarabouProgram, form: _LinearForm, shape: Shape, parameters: tuple[float, ...]
) -> _LinearForm:
    match shape:
        case Shape.RELU:
            return made.relu(form)
        case Shape.LEAKY_RELU:
            slope = parameters[0]
            return form.times(slope).plus(made.relu(form), 1.0 - slope)
        case Shape.CLIP:
            low, high = parameters
            up, over = (
                made.relu(form.plus(_LinearForm({}, -low))),
                made.relu(form.plus(_LinearForm({}, -high))),
            )
            return up.plus(over, -1.0).plus(_LinearForm({}, low))
        case _:
            raise Unsupported(f"Marabou takes no {shape.value} here")
