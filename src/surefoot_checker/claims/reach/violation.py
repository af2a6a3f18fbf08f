"""One run in continuous time, from a point, with given disturbances, that surely violates the property."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from ...kernel.strict_json import BadCertificate, Refused, expect_integer, expect_list, expect_number
from ...kernel.term import evaluate
from .cell import Cell, WalkOptions, cell_of_box, cell_terms, reduce_cell, settle_radii
from .decision import decide_controls
from .loop_system import ClosedLoop, finest_sets
from .period import make_sub_step

MOST_PERIODS = 1_000_000


@dataclass(frozen=True, slots=True)
class FoundViolation:
    kind: str
    periods: int
    time: Fraction

    def __str__(self) -> str:
        if self.kind == "never":
            return f"it is in a bad state at time {self.time}"
        return f"it is in no good state up to time {self.time}"


def check_violation(
    loop: ClosedLoop, walk: Mapping[str, Any], options: WalkOptions, bits: int
) -> FoundViolation:
    try:
        return _follow_violation(loop, walk, options, bits)
    except Refused:
        with finest_sets(loop):
            return _follow_violation(loop, walk, options, bits)


def _follow_violation(
    loop: ClosedLoop, walk: Mapping[str, Any], options: WalkOptions, bits: int
) -> FoundViolation:
    assert loop.time is not None
    asked, timed = loop.property, loop.time
    start = {name: _read_start(walk["start"], name) for name in loop.reals}
    if type(walk["start"]) is not dict or len(walk["start"]) != len(start):
        raise BadCertificate("start: it does not say one number for every variable")
    if evaluate(loop.initial, lambda atom: start[atom[1]]) is not True:
        raise Refused("the start is not one of the problem")
    for variable in loop.variables:
        low, high = variable.low, variable.high
        if (low is not None and start[variable.name] < low) or (
            high is not None and start[variable.name] > high
        ):
            raise Refused("the start is outside of the range that a variable is declared with")
    chosen = _read_chosen(walk["chosen"], loop)
    at = expect_list(walk["at"], "at", 2, "at: not a pair")
    periods = expect_integer(at[0], 0, MOST_PERIODS, "at")
    pieces = expect_integer(at[1], 0, options.pieces - 1, "at")
    length = timed.period / options.pieces
    moment = periods * timed.period + pieces * length
    if asked.kind == "never":
        if moment < asked.since or (asked.until is not None and moment > asked.until):
            raise Refused("the moment of the violation does not count")
    elif asked.until is None or moment < asked.until:
        raise Refused("the run is not followed up to the last moment that counts")
    cell = cell_of_box(loop, {name: (value, value) for name, value in start.items()}, bits)
    if _ask_point(loop, cell, Fraction(0), moment, bits):
        return FoundViolation(asked.kind, periods, moment)
    for period in range(periods + 1):
        if loop.edges[0].chosen and period >= len(chosen):
            raise Refused("no values are chosen for a period")
        held = tuple((w, w) for w in chosen[period]) if loop.edges[0].chosen else ()
        flow = replace(timed.flow, chosen=held)
        decisions = decide_controls(loop, cell, bits, options.halvings)
        if len(decisions) != 1:
            raise Refused("it is not sure which rule decides")
        cell, controls = decisions[0].cell, decisions[0].controls
        for piece in range(options.pieces):
            time = period * timed.period + piece * length
            step = make_sub_step(loop, flow, bits, cell.reals, controls, length, options.taylor)
            if asked.kind != "never":
                first, last = max(asked.since - time, Fraction(0)), min((asked.until or time) - time, length)
                if first <= last and step.decide(timed.condition, first, last) is not False:
                    raise Refused(f"a good state may be reached after time {time}")
            elif timed.before is not None and step.decide(timed.before, Fraction(0), length) is not False:
                raise Refused(f"the run may have ended after time {time}")
            cell = replace(cell, reals=tuple(settle_radii(step.end)))
            if _ask_point(loop, cell, time + length, moment, bits):
                return FoundViolation(asked.kind, periods, moment)
        cell = reduce_cell(cell, options.order * len(loop.variables))
    raise Refused("the property is not surely violated at the stated moment")


def _ask_point(loop: ClosedLoop, cell: Cell, time: Fraction, moment: Fraction, bits: int) -> bool:
    """Is the violation complete at this time?"""
    asked, terms = loop.property, cell_terms(loop, cell, bits)
    if asked.kind == "never":
        if asked.before is not None and time < moment and terms.truth(asked.before) is not False:
            raise Refused(f"the run may have ended at time {time}")
        return time == moment and terms.truth(asked.condition) is True
    until = asked.until
    assert until is not None
    if asked.since <= time <= until and terms.truth(asked.condition) is not False:
        raise Refused(f"a good state may be reached at time {time}")
    return time >= until


def _read_start(data: object, name: str) -> Fraction:
    if type(data) is not dict or name not in data:
        raise BadCertificate("start: it does not say one number for every variable")
    return expect_number(data[name], "start")


def _read_chosen(data: object, loop: ClosedLoop) -> list[list[Fraction]]:
    assert loop.time is not None
    ranges = loop.time.flow.chosen
    found = []
    for entry in expect_list(data, "chosen"):
        values = [expect_number(v, "chosen") for v in expect_list(entry, "chosen")]
        if len(values) != len(ranges):
            raise BadCertificate("chosen: not one value for each that is chosen")
        if any(not low <= value <= high for value, (low, high) in zip(values, ranges, strict=True)):
            raise Refused("a chosen value is outside of its range")
        found.append(values)
    return found
