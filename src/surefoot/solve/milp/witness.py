"""From a float solution to an exact assignment that keeps equalities and networks exact.

Whole numbers are rounded. The equalities that hold at the solution are solved exactly for as many quantities
as there are equalities, latest declared first; the others keep their float value, moved into their bounds.
Network outputs are recomputed exactly; with slack they stay where the solution has them, if they may.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

from surefoot.network.exact import exact_outputs
from surefoot.problem.environment import Bool, Int, Real
from surefoot.query.bounds import Interval, declared, float32_within
from surefoot.query.linear import Linear, linearise, plus, scaled
from surefoot.query.query import NetworkCall, Quantity, Query

Values = dict[str, Fraction]


def exact_assignment(
    query: Query,
    floats: Mapping[str, float],
    equalities: Sequence[Linear],
    nearest: Callable[[float], Fraction],
) -> dict[str, bool | int | Fraction]:
    """An exact assignment close to `floats`; `nearest` turns a free real value into a fraction."""
    outputs = {name for call in query.calls for name in call.outputs}
    box = declared(query.quantities)
    values: Values = {}
    for quantity in query.quantities:
        if isinstance(quantity.kind, Bool | Int):
            values[quantity.name] = Fraction(round(floats[quantity.name]))
    rank = {q.name: (q.name not in outputs, i) for i, q in enumerate(query.quantities)}
    solved = solve_for_latest(equalities, rank, set(values))
    for quantity in query.quantities:
        if quantity.name not in values and quantity.name not in solved and quantity.name not in outputs:
            values[quantity.name] = _into(quantity, box[quantity.name], nearest(floats[quantity.name]))
    _complete(query, values, solved, floats)
    return {q.name: _typed(q, values[q.name]) for q in query.quantities}


def solve_for_latest(
    equalities: Sequence[Linear], rank: Mapping[str, tuple[bool, int]], known: set[str]
) -> dict[str, Linear]:
    """Solve `linear = 0` for all: each result is a name and its value in terms of names not solved for."""
    solved: dict[str, Linear] = {}
    for equality in equalities:
        row = _substitute(equality, solved)
        free = [(n, c) for n, c in row.coefficients if n not in known]
        if not free:
            continue  # a consequence of the others, or decided by whole numbers alone
        pivot, coefficient = max(free, key=lambda entry: rank[entry[0]])
        rest = Linear(tuple((n, c) for n, c in row.coefficients if n != pivot), row.constant)
        value = scaled(rest, -1 / coefficient)
        for name, earlier in solved.items():
            solved[name] = _substitute(earlier, {pivot: value})
        solved[pivot] = value
    return solved


def _substitute(linear: Linear, values: Mapping[str, Linear]) -> Linear:
    if not any(n in values for n, _ in linear.coefficients):
        return linear
    total = Linear((), linear.constant)
    for name, coefficient in linear.coefficients:
        total = plus(total, scaled(values.get(name, Linear(((name, Fraction(1)),))), coefficient))
    return total


def _complete(
    query: Query, values: Values, solved: Mapping[str, Linear], floats: Mapping[str, float]
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
            if all(n in values for t in call.inputs for n, _ in linearise(t).coefficients):
                _outputs(call, values, set(solved), floats)
                waiting.remove(call)
                progress = True
    for quantity in query.quantities:
        values.setdefault(quantity.name, Fraction(floats[quantity.name]))


def _outputs(call: NetworkCall, values: Values, solved: set[str], floats: Mapping[str, float]) -> None:
    exact = exact_outputs(call.network, [linearise(t).at(values) for t in call.inputs])
    slack = call.slack or (Fraction(0),) * len(exact)
    for name, value, extra in zip(call.outputs, exact, slack, strict=True):
        if name not in solved and name not in values:
            near = Fraction(floats[name])
            values[name] = min(max(near, value - extra), value + extra)


def _into(quantity: Quantity, bounds: Interval, value: Fraction) -> Fraction:
    """A value of this quantity's kind, moved into its bounds."""
    if isinstance(quantity.kind, Real) and quantity.kind.float32:
        return float32_within(value, bounds)
    low, high = bounds
    value = value if low is None else max(value, low)
    return value if high is None else min(value, high)


def _typed(quantity: Quantity, value: Fraction) -> bool | int | Fraction:
    if isinstance(quantity.kind, Bool):
        return bool(value)
    return int(value) if isinstance(quantity.kind, Int) else value
