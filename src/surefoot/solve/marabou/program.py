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
from surefoot.query.bounds import declared
from surefoot.query.formula import Atom, Relation
from surefoot.query.linear import Linear, linearise
from surefoot.query.query import NetworkCall, Query

Coefficients: TypeAlias = dict[int, float]


@dataclass(frozen=True, slots=True)
class Form:
    """A linear expression over numbered variables."""

    terms: Mapping[int, float]
    constant: float = 0.0

    def plus(self, other: Form, factor: float = 1.0) -> Form:
        total = dict(self.terms)
        for variable, coefficient in other.terms.items():
            total[variable] = total.get(variable, 0.0) + factor * coefficient
        return Form({v: c for v, c in total.items() if c}, self.constant + factor * other.constant)

    def times(self, factor: float) -> Form:
        return Form({}).plus(self, factor)


@dataclass(slots=True)
class Program:
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

    def named(self, form: Form) -> int:
        """A variable that has the value of an expression."""
        if not form.constant and list(form.terms.values()) == [1.0]:
            return next(iter(form.terms))
        made = self.variable()
        self.rows.append(({made: -1.0, **form.terms}, Relation.EQ, -form.constant))
        return made

    def relu(self, form: Form) -> Form:
        after = self.variable(0.0)
        self.relus.append((self.named(form), after))
        return Form({after: 1.0})

    def of(self, linear: Linear) -> Form:
        terms = {self.names[n]: float(c) for n, c in linear.coefficients}
        return Form(terms, float(linear.constant))


def program(query: Query, atoms: Sequence[Atom]) -> Program:
    """The query's quantities and calls, with these comparisons for its constraints.

    A strict comparison is taken as one that is not: what is impossible then is impossible.
    """
    made = Program()
    for name, (low, high) in declared(query.quantities).items():
        made.names[name] = made.variable(*_floats(low, high))
    for call in query.calls:
        _call(made, call)
    for atom in atoms:
        form = made.of(atom.linear)
        relation = Relation.EQ if atom.relation is Relation.EQ else Relation.LE
        _compare(made, form, relation)
    return made


def _floats(low: Fraction | None, high: Fraction | None) -> tuple[float, float]:
    return -inf if low is None else float(low), inf if high is None else float(high)


def _compare(made: Program, form: Form, relation: Relation) -> None:
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


def _call(made: Program, call: NetworkCall) -> None:
    inputs = [made.named(made.of(linearise(t))) for t in call.inputs]
    made.inputs += [v for v in inputs if v not in made.inputs]
    values: list[list[Form]] = [[Form({v: 1.0}) for v in inputs]]
    for node in call.network.nodes:
        values.append(_node(made, node, values))
    slack = call.slack or (Fraction(0),) * len(call.outputs)
    for name, value, extra in zip(call.outputs, values[-1], slack, strict=True):
        if extra:
            error = made.variable(-float(extra), float(extra))
            value = value.plus(Form({error: 1.0}))
        made.rows.append(({made.names[name]: -1.0, **value.terms}, Relation.EQ, -value.constant))
        made.outputs.append(made.names[name])


def _node(made: Program, node: Node, values: Sequence[Sequence[Form]]) -> list[Form]:
    match node:
        case Affine(source, weights, bias):
            return [
                Form({made.named(_sum(row, values[source], offset)): 1.0})
                for row, offset in zip(weights.tolist(), bias.tolist(), strict=True)
            ]
        case Elementwise(source, kind, constant):
            return [_changed(f, kind, c) for f, c in zip(values[source], constant.tolist(), strict=True)]
        case Activation(source, shape, parameters):
            return [_activation(made, f, shape, parameters) for f in values[source]]
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


def _sum(row: Sequence[float], inputs: Sequence[Form], offset: float) -> Form:
    total: Coefficients = {}
    constant = offset
    for weight, form in zip(row, inputs, strict=True):
        constant += weight * form.constant
        for variable, coefficient in form.terms.items():
            total[variable] = total.get(variable, 0.0) + weight * coefficient
    return Form({v: c for v, c in total.items() if c}, constant)


def _changed(form: Form, kind: Constant, constant: float) -> Form:
    match kind:
        case Constant.ADD:
            return Form(form.terms, form.constant + constant)
        case Constant.MULTIPLY:
            return form.times(constant)
        case Constant.DIVIDE:
            return form.times(1.0 / constant)


def _activation(made: Program, form: Form, shape: Shape, parameters: tuple[float, ...]) -> Form:
    match shape:
        case Shape.RELU:
            return made.relu(form)
        case Shape.LEAKY_RELU:
            slope = parameters[0]
            return form.times(slope).plus(made.relu(form), 1.0 - slope)
        case Shape.CLIP:
            low, high = parameters
            up, over = made.relu(form.plus(Form({}, -low))), made.relu(form.plus(Form({}, -high)))
            return up.plus(over, -1.0).plus(Form({}, low))
        case _:
            raise Unsupported(f"Marabou takes no {shape.value} here")
