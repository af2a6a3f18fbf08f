"""Linear comparisons and network calls in the form that Marabou takes: bounds, equations and ReLUs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import inf
from typing import TypeAlias

from surefoot.query.bounds import declared_box
from surefoot.query.formula import LinearAtom, Relation
from surefoot.query.network_constraints import Factor, Place, ReluWriter, write_network
from surefoot.query.query import NetworkCall, Query
from surefoot.term.linear import LinearForm, linearise_term

Coefficients: TypeAlias = dict[int, float]


@dataclass(frozen=True, slots=True)
class _LinearForm:
    """A linear expression over numbered variables."""

    terms: Mapping[int, float]
    constant: float = 0.0


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


class _MarabouWriter(ReluWriter[_LinearForm]):
    def __init__(self, made: MarabouProgram) -> None:
        self.made = made

    def affine(self, inputs: Sequence[tuple[float, _LinearForm]], bias: float, place: Place) -> _LinearForm:
        return _LinearForm({self.made.variable_for(self.combine(inputs, bias, place)): 1.0})

    def combine(
        self, parts: Sequence[tuple[Factor, _LinearForm]], constant: Factor, place: Place | None
    ) -> _LinearForm:
        terms: Coefficients = {}
        total = float(constant)
        for factor, form in parts:
            total += float(factor) * form.constant
            for variable, coefficient in form.terms.items():
                terms[variable] = terms.get(variable, 0.0) + float(factor) * coefficient
        return _LinearForm({v: c for v, c in terms.items() if c}, total)

    def relu(self, x: _LinearForm, source: Place | None) -> _LinearForm:
        after = self.made.variable(0.0)
        self.made.relus.append((self.made.variable_for(x), after))
        return _LinearForm({after: 1.0})


def _encode_call(made: MarabouProgram, call: NetworkCall) -> None:
    inputs = [made.variable_for(made.form_of(linearise_term(t))) for t in call.inputs]
    made.inputs += [v for v in inputs if v not in made.inputs]
    outputs = write_network(call.network, [_LinearForm({v: 1.0}) for v in inputs], _MarabouWriter(made))
    slack = call.slack or (Fraction(0),) * len(call.outputs)
    for name, value, extra in zip(call.outputs, outputs, slack, strict=True):
        error = {made.variable(-float(extra), float(extra)): 1.0} if extra else {}
        made.rows.append(({made.names[name]: -1.0, **value.terms, **error}, Relation.EQ, -value.constant))
        made.outputs.append(made.names[name])
