"""A query written out for engines in another environment: cases without disjunctions, and free bounds.

Every case has a box, linear rows, and for every network call bounds of all its values by backward
substitution. Other engines need not find these: the time for them is not counted, in their favour.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from typing import Any

import numpy as np

from surefoot.errors import Unsupported
from surefoot.network.back_substitution import linear_bounds
from surefoot.network.exact import exact_outputs
from surefoot.query.bounds import Interval, declared_box, integer_variable_names, linear_range, tighten_box
from surefoot.query.check_assignment import assignment_defect
from surefoot.query.formula import All, AnyOf, Formula, LinearAtom, negation_normal_form
from surefoot.query.query import Query, QueryVariable
from surefoot.query.unsat_claim import network_to_json
from surefoot.term.float32 import round_to_float32
from surefoot.term.linear import linearise_term
from surefoot.term.value_types import Bool, Int, Real

MOST_CASES = 2000


def document(query: Query) -> dict[str, Any]:
    """Plain JSON data; `Unsupported` if the query has too many cases."""
    formulas = [negation_normal_form(c) for c in query.constraints]
    outputs = {name for call in query.calls for name in call.outputs}
    networks: dict[int, int] = {}
    calls = []
    for call in query.calls:
        number = networks.setdefault(id(call.network), len(networks))
        calls.append([number, [written(linearise_term(t)) for t in call.inputs], list(call.outputs)])
    cases = list(islice(conjunctions(formulas), MOST_CASES + 1))
    if len(cases) > MOST_CASES:
        raise Unsupported(f"more than {MOST_CASES} cases")
    written_networks = {id(call.network): network_to_json(call.network) for call in query.calls}
    whole = integer_variable_names(query.quantities)
    boxes = [(case, tighten_box(declared_box(query.quantities), case, whole)) for case in cases]
    return {
        "variables": [[q.name, isinstance(q.kind, Int | Bool)] for q in query.quantities],
        "networks": [written_networks[key] for key in networks],
        "calls": calls,
        "cases": [_case(query, case, box, outputs) for case, box in boxes if box is not None],
    }


def conjunctions(formulas: Sequence[Formula]) -> Iterator[list[LinearAtom]]:
    """The disjunctive normal form."""
    if not formulas:
        yield []
        return
    first, rest = formulas[0], formulas[1:]
    match first:
        case LinearAtom():
            yield from ([first, *more] for more in conjunctions(rest))
        case All(parts):
            yield from conjunctions((*parts, *rest))
        case AnyOf(parts):
            for part in parts:
                yield from conjunctions((part, *rest))


def _case(
    query: Query, case: list[LinearAtom], box: Mapping[str, Interval], outputs: set[str]
) -> dict[str, Any]:
    given = declared_box(query.quantities)
    names = [q.name for q in query.quantities]
    bounds = []
    for call in query.calls:
        ends = [linear_range(linearise_term(t), box) for t in call.inputs]
        low, high = ([float(e[side] or 0) for e in ends] for side in (0, 1))
        values = linear_bounds(call.network, np.array(low), np.array(high))
        bounds.append([[_numbers(v.low), _numbers(v.high)] for v in values])
    return {
        "box": [[_end(e) for e in (given if n in outputs else box)[n]] for n in names],
        "rows": [[atom.relation.value, written(atom.linear)] for atom in case],
        "bounds": bounds,
    }


def _end(value: Fraction | None) -> float | None:
    return None if value is None else float(value)


def _numbers(values: object) -> str:
    return b64encode(np.asarray(values, dtype="<f8").tobytes()).decode()


def written(linear: Any) -> dict[str, float]:
    found = {name: float(coefficient) for name, coefficient in linear.coefficients}
    return found | {"": float(linear.constant)} if linear.constant else found


def replayed(query: Query, point: Mapping[str, float]) -> str:
    """`ok`, or why the point of another engine is no solution: nothing is tolerated.

    Values of float32 variables are rounded to the nearest such number, whole ones to the nearest integer.
    """
    values = {q.name: _exact(q, point[q.name]) for q in query.quantities if q.name in point}
    for call in query.calls:
        inputs = [linearise_term(t).at(values) for t in call.inputs]
        values |= zip(call.outputs, exact_outputs(call.network, inputs), strict=True)
    return assignment_defect(query, values) or "ok"


def _exact(quantity: QueryVariable, value: float) -> int | Fraction:
    if isinstance(quantity.kind, Int | Bool):
        return round(value)
    if isinstance(quantity.kind, Real) and quantity.kind.float32:
        return Fraction(float(round_to_float32(Fraction(value))))
    return Fraction(value)
