"""From a float solution to an exact assignment that keeps equalities and networks exact.

Whole numbers are rounded. The equalities that hold at the solution are solved exactly for as many quantities
as there are equalities, latest declared first; the others keep their float value, moved into their bounds.
Network outputs are recomputed exactly; with slack they stay where the solution has them, if they may.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from surefoot.network.exact import exact_outputs
from surefoot.query.bounds import Interval, declared_box, float32_within
from surefoot.query.query import NetworkCall, Query, QueryVariable
from surefoot.term.linear import LinearForm, add_forms, linearise_term, scale_form
from surefoot.term.value_types import Bool, Int, Real

Values = dict[str, Fraction]


def exact_assignment(
    query: Query,
    floats: Mapping[str, float],
    equalities: Sequence[LinearForm],
    nearest: Callable[[float], Fraction],
) -> dict[str, bool | int | Fraction]:
    """An exact assignment close to `floats`; `nearest` turns a free real value into a fraction."""
    outputs = {name for call in query.calls for name in call.outputs}
    box = declared_box(query.quantities)
    values: Values = {}
    for quantity in query.quantities:
        if isinstance(quantity.kind, Bool | Int):
            values[quantity.name] = Fraction(round(floats[quantity.name]))
    rank = {q.name: (q.name not in outputs, i) for i, q in enumerate(query.quantities)}
    solved = _solve_equalities(equalities, rank, set(values))
    for quantity in query.quantities:
        if quantity.name not in values and quantity.name not in solved and quantity.name not in outputs:
            values[quantity.name] = _clamp_value(quantity, box[quantity.name], nearest(floats[quantity.name]))
    _complete_values(query, values, solved, floats)
    return {q.name: _value_of_kind(q, values[q.name]) for q in query.quantities}


def _solve_equalities(
    equalities: Sequence[LinearForm], rank: Mapping[str, tuple[bool, int]], known: set[str]
) -> dict[str, LinearForm]:
    """Solve `linear = 0` for all: each result is a name and its value in terms of names not solved for."""
    solved: dict[str, LinearForm] = {}
    for equality in equalities:
        row = _substitute_values(equality, solved)
        free = [(n, c) for n, c in row.coefficients if n not in known]
        if not free:
            continue  # a consequence of the others, or decided by whole numbers alone
        pivot, coefficient = max(free, key=lambda entry: rank[entry[0]])
        rest = LinearForm(tuple((n, c) for n, c in row.coefficients if n != pivot), row.constant)
        value = scale_form(rest, -1 / coefficient)
        for name, earlier in solved.items():
            solved[name] = _substitute_values(earlier, {pivot: value})
        solved[pivot] = value
    return solved


def _substitute_values(linear: LinearForm, values: Mapping[str, LinearForm]) -> LinearForm:
    if not any(n in values for n, _ in linear.coefficients):
        return linear
    total = LinearForm((), linear.constant)
    for name, coefficient in linear.coefficients:
        total = add_forms(
            total, scale_form(values.get(name, LinearForm(((name, Fraction(1)),))), coefficient)
        )
    return total


def _complete_values(
    query: Query, values: Values, solved: Mapping[str, LinearForm], floats: Mapping[str, float]
) -> None:
    """Compute what follows from what is known until nothing new does; the rest keeps its float value."""
    waiting = [*query.calls]
    unsolved = dict(solved)
    progress = True
    while progress:
        progress = False
        for name, linear in list(unsolved.items()):
            if all(n in values for n, _ in linear.coefficients):
                values[name] = unsolved.pop(name).at(values)
                progress = True
        for call in list(waiting):
            if all(n in values for t in call.inputs for n, _ in linearise_term(t).coefficients):
                _set_outputs(call, values, set(solved), floats)
                waiting.remove(call)
                progress = True
    for quantity in query.quantities:
        values.setdefault(quantity.name, Fraction(floats[quantity.name]))


def _set_outputs(call: NetworkCall, values: Values, solved: set[str], floats: Mapping[str, float]) -> None:
    exact = exact_outputs(call.network, [linearise_term(t).at(values) for t in call.inputs])
    slack = call.slack or (Fraction(0),) * len(exact)
    for name, value, extra in zip(call.outputs, exact, slack, strict=True):
        if name not in solved and name not in values:
            near = Fraction(floats[name])
            values[name] = min(max(near, value - extra), value + extra)


def _clamp_value(quantity: QueryVariable, bounds: Interval, value: Fraction) -> Fraction:
    """A value of this quantity's kind, moved into its bounds."""
    if isinstance(quantity.kind, Real) and quantity.kind.float32:
        return float32_within(value, bounds)
    low, high = bounds
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


def _value_of_kind(quantity: QueryVariable, value: Fraction) -> bool | int | Fraction:
    if isinstance(quantity.kind, Bool):
        return bool(value)
    return int(value) if isinstance(quantity.kind, Int) else value
