"""A closed set of states: every start is in it, no step leads out of it, no state of it is bad.

The set is that of an abstraction: the states of some boxes whose places and truth values of predicates are
among those listed. It is gone through state by state, and nothing is taken on trust: which states there are,
what the policy may pick in each and where that leads is worked out here (docs/certificates.md, section 11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import prod
from typing import Any

from ...kernel.problem import resolve_locations
from ...kernel.strict_json import (
    BadCertificate,
    Refused,
    expect_integer,
    expect_list,
    expect_object,
    expect_text,
)
from ...kernel.term import Kind, read_term
from ..values.initial_rows import enumerate_initial_rows
from ..values.model import AutomataModel
from ..values.pctl_question import compile_condition
from ..values.term import Row
from ..values.transitions import JointTransitions, ModelStep, probabilities_to_weights
from .summation_order import AnyOrderPolicy

_CLOSED = frozenset({"predicates", "states", "boxes"})
MOST_STATES = 5_000_000
_FAR = 1 << 62


def check_closed_set(
    data: object, moves: JointTransitions, any_order: AnyOrderPolicy | None, is_bad: Callable[[Row], object]
) -> tuple[int, int]:
    """Raises `Refused` unless the set is closed and has no bad state; how many states and steps it has."""
    members = _member_states(data, moves)
    for start in enumerate_initial_rows(moves.model):
        if start not in members:
            raise Refused(f"a start outside of the closed set: {_describe_row(moves.model, start)}")
    steps = 0
    for row in members:
        if is_bad(row):
            raise Refused(f"a bad state in the closed set: {_describe_row(moves.model, row)}")
        taken = moves.enabled_steps(row)
        if any_order is not None:
            taken = any_order.permitted_steps(row, taken)
        for step in taken:
            for target in _successor_rows(moves, row, step):
                steps += 1
                if target not in members:
                    raise Refused(f"a step leaves the closed set: {_describe_row(moves.model, row)}")
    return len(members), steps


def _describe_row(model: AutomataModel, row: Row) -> str:
    names = {slot: name for name, slot in model.slots.items()}
    return ", ".join(f"{names[i][:40]} = {value}" for i, value in enumerate(row))[:300]


def _successor_rows(moves: JointTransitions, row: Row, step: ModelStep) -> Iterator[Row]:
    """The states that may come next: outcomes of positive probability, for any admissible values."""
    moves.prepare(step)
    if step.simple:
        for ending in step.endings:
            yield ending.after(row)
        return
    for extended in moves.enumerate_extended_rows(step, row):
        shares = moves.shares(step, extended)
        probabilities_to_weights(shares)
        for ending, share in zip(step.endings, shares, strict=True):
            if share:
                yield ending.after(extended)


def _member_states(data: object, moves: JointTransitions) -> set[Row]:
    """The states of the boxes that belong to a listed abstract state."""
    entry = expect_object(data, _CLOSED, "closed")
    model = moves.model
    locations = {c.name: c.locations for c in model.problem.components}
    predicates = [
        resolve_locations(read_term(p, condition=True), locations)
        for p in expect_list(entry["predicates"], "predicates")
    ]
    wanted = {_read_abstract_state(s, len(predicates), model) for s in expect_list(entry["states"], "states")}
    signature = compile_condition(("array", *predicates), moves, None) if predicates else (lambda row: ())
    width = len(model.kinds)
    boxes = [_box_values(b, model) for b in expect_list(entry["boxes"], "boxes")]
    if sum(prod(map(len, box)) for box in boxes) > MOST_STATES:
        raise Refused("too many states to be looked at")
    return {row for box in boxes for row in product(*box) if (row[width:], signature(row)) in wanted}


def _read_abstract_state(data: object, count: int, model: AutomataModel) -> tuple[Row, Row]:
    """Places, and truth values as zeros and ones."""
    form = "an abstract state that is not [places, values]"
    pair = expect_list(data, "an abstract state", 2, form)
    places, values = expect_list(pair[0], "places"), expect_text(pair[1], "values", _FAR)
    if len(values) != count or not set(values) <= {"0", "1"}:
        raise BadCertificate("an abstract state without a zero or a one for each predicate")
    if len(places) != model.width - len(model.kinds):
        raise BadCertificate("an abstract state without a place for each component with several")
    found = tuple(expect_integer(p, 0, _FAR, "place") for p in places)
    return found, tuple(value == "1" for value in values)


def _box_values(data: object, model: AutomataModel) -> list[Any]:
    """The values of every entry of a state in a box: a range for every scalar, arrays element by element."""
    ends = iter([_read_ends(pair) for pair in expect_list(data, "a box")])
    try:
        found = [_values_in_range(model.sure[slot], ends) for slot in range(model.width)]
    except StopIteration:
        raise BadCertificate("a box with too few ranges") from None
    if next(ends, None) is not None:
        raise BadCertificate("a box with too many ranges")
    return found


def _read_ends(data: object) -> tuple[int, int]:
    pair = expect_list(data, "a range", 2, "a range that is not [low, high]")
    low, high = (expect_integer(end, -_FAR, _FAR, "end of a range") for end in pair)
    return low, high


def _values_in_range(kind: Kind, ends: Iterator[tuple[int, int]]) -> Any:
    """Only values of the kind: what else is in the box is no state."""
    if kind[0] == "array":
        several = [_values_in_range(kind[2], ends) for _ in range(kind[1])]
        if prod(map(len, several)) > MOST_STATES:
            raise Refused("too many states to be looked at")
        return tuple(product(*several))
    low, high = next(ends)
    if kind[0] == "boolean":
        return tuple(value for value in (False, True) if low <= value <= high)
    if kind[0] != "integer":
        raise Refused("a closed set of states with a real variable")
    least, most = (None if end is None else int(end) for end in kind[1:])
    return range(low if least is None else max(low, least), (high if most is None else min(high, most)) + 1)
