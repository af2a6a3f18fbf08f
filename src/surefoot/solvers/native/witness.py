"""From a point of the search to an assignment of all quantities, and whether it satisfies the query."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from surefoot.errors import Unsupported
from surefoot.network.exact import exact_outputs
from surefoot.network.interval import interval_bounds
from surefoot.problem.network import Network
from surefoot.query.bounds import float32_within
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.query import Assignment, NetworkCall, Query
from surefoot.solvers.native.compiled_query import CompiledQuery, is_smooth
from surefoot.solvers.native.variable_definitions import float_box
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.linear import linearise_term
from surefoot.term.value_types import Bool, Int, Real

TOLERANCE = Fraction(1, 10**9)  # how far an output without slack may be from a value that is irrational


def nearest_input_point(problem: CompiledQuery, point: Sequence[float | Fraction]) -> list[Fraction]:
    """The nearest point that the inputs can have: within exact bounds, on whole or float32 numbers."""
    each = zip(point, problem.exact, problem.whole, problem.single, strict=False)
    return [nearest_value(near, bounds, bool(whole), bool(single)) for near, bounds, whole, single in each]


def nearest_value(
    near: float | Fraction, bounds: tuple[Fraction, Fraction], whole: bool, single: bool
) -> Fraction:
    """The nearest number within bounds, a whole or a float32 one where that is said."""
    value, (low, high) = Fraction(near), bounds
    if whole:
        value = Fraction(round(value))
    elif single:
        value = float32_within(value, bounds)
    return min(max(value, low), high)


def column_values(problem: CompiledQuery, point: Sequence[Fraction]) -> dict[str, Fraction]:
    """Inputs and raw outputs by name; exact, or the middle of a tight enclosure. `Undefined` has no value."""
    values = dict(zip(problem.names, point, strict=True))
    for call in problem.calls:
        inputs = [linearise_term(t).at(values) for t in call.inputs]
        values.update(zip(call.outputs, _network_outputs(call.network, inputs), strict=True))
    return values


def _network_outputs(network: Network, inputs: Sequence[Fraction]) -> list[Fraction]:
    try:
        return exact_outputs(network, inputs)
    except Unsupported:
        low, high = _output_enclosure(network, inputs)
        return [(a + b) / 2 for a, b in zip(low, high, strict=True)]


def _output_enclosure(network: Network, inputs: Sequence[Fraction]) -> tuple[list[Fraction], list[Fraction]]:
    box = interval_bounds(network, *float_box([(x, x) for x in inputs]))[-1]
    try:
        return [Fraction(x) for x in box.low.tolist()], [Fraction(x) for x in box.high.tolist()]
    except OverflowError:
        raise Undefined("the network overflows at these inputs") from None


def assignment_from_columns(
    problem: CompiledQuery, values: dict[str, Fraction]
) -> dict[str, bool | int | Fraction]:
    """All quantities, typed."""
    return {q.name: typed_value(q.kind, problem.values[q.name].at(values)) for q in problem.quantities}


def typed_value(kind: Bool | Int | Real, value: Fraction) -> bool | int | Fraction:
    """The number as a value of the type, if it is one."""
    if isinstance(kind, Bool) and value in (0, 1):
        return bool(value)
    return int(value) if isinstance(kind, Int) and value.denominator == 1 else value


def satisfies_within_enclosure(query: Query, assignment: Assignment) -> bool:
    """Exactly; for tanh and sigmoid, outputs within a rigorous enclosure (or its slack) are accepted."""
    smooth = [c for c in query.calls if is_smooth(c.network)]
    if not smooth:
        return assignment_defect(query, assignment) is None
    rest = tuple(c for c in query.calls if not is_smooth(c.network))
    if assignment_defect(Query(query.quantities, query.constraints, rest), assignment) is not None:
        return False
    return all(_is_near_enclosure(call, assignment) for call in smooth)


def _is_near_enclosure(call: NetworkCall, assignment: Assignment) -> bool:
    try:
        inputs = [Fraction(evaluate_term(t, assignment)) for t in call.inputs]
        low, high = _output_enclosure(call.network, inputs)
    except Undefined:
        return False
    slack = call.slack or (Fraction(0),) * len(low)
    for name, least, most, room in zip(call.outputs, low, high, slack, strict=True):
        value = Fraction(assignment[name])
        allowed = max(room, TOLERANCE)
        if value - least > allowed or most - value > allowed:
            return False
    return True
