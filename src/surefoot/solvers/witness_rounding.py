"""From a point that nearly satisfies a query to one that does.

Whole numbers are rounded, real ones moved into their bounds. Outputs of networks are computed exactly; within
their slack they go where the comparisons want them: to the low end if every comparison wants less of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from surefoot.errors import Unsupported
from surefoot.network.exact import exact_outputs
from surefoot.query.bounds import declared_box, float32_within
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.formula import LinearAtom, Relation
from surefoot.query.query import Assignment, Query
from surefoot.term.evaluate import Undefined
from surefoot.term.linear import linearise_term
from surefoot.term.value_types import Bool, Int, Real


@dataclass(frozen=True, slots=True)
class RoundedPoint:
    """`exact`: the assignment satisfies the query; otherwise it is only near one that may."""

    assignment: Assignment
    exact: bool


def round_to_witness(
    query: Query, near: Mapping[str, float | int | Fraction], atoms: Sequence[LinearAtom]
) -> RoundedPoint:
    """`atoms`: comparisons that should hold, to decide where outputs go."""
    box = declared_box(query.quantities)
    values: dict[str, bool | int | Fraction] = {}
    for quantity in query.quantities:
        low, high = box[quantity.name]
        value = Fraction(near[quantity.name])
        match quantity.kind:
            case Bool():
                values[quantity.name] = value >= Fraction(1, 2)
            case Int():
                values[quantity.name] = round(value)
            case Real(float32=True):
                values[quantity.name] = float32_within(value, box[quantity.name])
            case Real():
                value = value if low is None else max(value, low)
                values[quantity.name] = value if high is None else min(value, high)
    try:
        for call in query.calls:
            exact = exact_outputs(call.network, [linearise_term(t).at(values) for t in call.inputs])
            slack = call.slack or (Fraction(0),) * len(exact)
            for name, value, extra in zip(call.outputs, exact, slack, strict=True):
                direction = _preferred_direction(name, atoms)
                close = min(max(Fraction(near[name]), value - extra), value + extra)
                values[name] = close if direction is None else value + direction * extra
    except (Undefined, Unsupported):
        return RoundedPoint(values, False)
    return RoundedPoint(values, assignment_defect(query, values) is None)


def _preferred_direction(name: str, atoms: Sequence[LinearAtom]) -> int | None:
    """-1: all comparisons want less of it, 1: more; None: some want it one way and some the other."""
    signs = set()
    for atom in atoms:
        for other, coefficient in atom.linear.coefficients:
            if other == name:
                signs |= {1, -1} if atom.relation is Relation.EQ else {1 if coefficient > 0 else -1}
    return -signs.pop() if len(signs) == 1 else None
