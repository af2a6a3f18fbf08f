"""Critical starts: those from which a policy misses a threshold, so that it can be trained again there."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from surefoot.errors import InvalidProblem
from surefoot.problem.property import Threshold
from surefoot.problem.semantics import State
from surefoot.report.heatmap.figure_data import start_state_to_json, start_value_to_json
from surefoot.report.heatmap.start_values import StartValue, Table
from surefoot.term.decimal_literals import show_number
from surefoot.verdict.threshold import place_interval

_THRESHOLD = re.compile(r"\s*(<=|>=|<|>)\s*([0-9.]{1,40}(?:e-?[0-9]{1,3})?(?:/[0-9]{1,40})?)\s*\Z")


@dataclass(frozen=True, slots=True)
class CriticalStart:
    """`certain`: every value between the bounds misses the threshold; otherwise some of them do."""

    start: State
    value: StartValue
    certain: bool


def read_threshold(text: str) -> Threshold:
    """`<= 0.1`, `> 1/2`: what every start should keep."""
    found = _THRESHOLD.match(text)
    try:
        if found is not None:
            return Threshold(found[1], Fraction(found[2]))  # type: ignore[arg-type]
    except (ValueError, ZeroDivisionError):
        pass
    fix = 'write for example "<= 0.1" or "> 0.9"'
    raise InvalidProblem(f"`{text}` is no threshold", fix=fix, where="--threshold")


def find_critical_starts(table: Table, threshold: Threshold) -> tuple[CriticalStart, ...]:
    """Starts that miss the threshold for certain or possibly, the worst first; unknown ones are possible."""
    found = []
    for state, value in table:
        judged = misses_threshold(value, threshold)
        if judged != "no":
            found.append(CriticalStart(state, value, judged == "certain"))
    upward = threshold.relation in ("<", "<=")

    def badness(one: CriticalStart) -> tuple[bool, Fraction]:
        shown = one.value.displayed_value("low")
        far = Fraction(10**9) if shown is None else shown if upward else -shown
        return one.certain, far

    return tuple(sorted(found, key=badness, reverse=True))


def misses_threshold(value: StartValue, threshold: Threshold) -> Literal["certain", "possible", "no"]:
    """Does a value with these bounds miss the threshold?"""
    if value.trouble:
        return "possible"
    placed = place_interval(threshold, value.low, None if value.low is None else value.high)
    return "no" if placed == "met" else "certain" if placed == "missed" else "possible"


def critical_data(found: Sequence[CriticalStart], threshold: Threshold, asked: str) -> dict[str, Any]:
    """The starts as JSON data."""
    limit = {"relation": threshold.relation, "value": show_number(threshold.value)}
    rows = [
        {"start": start_state_to_json(c.start), "certain": c.certain, **start_value_to_json(c.value)}
        for c in found
    ]
    return {"schema": 1, "kind": "critical starts", "property": asked, "threshold": limit, "starts": rows}


def critical_csv(found: Sequence[CriticalStart]) -> str:
    """One line per start: its variables, then the bounds and whether it is certain."""
    stream = io.StringIO()
    names = list(dict.fromkeys(n for c in found for n in _flatten_state(c.start)))
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*names, "low", "high", "confidence", "certain"])
    for one in found:
        told = start_value_to_json(one.value)
        state = _flatten_state(one.start)
        ends = [told.get("low", ""), told.get("high", ""), told.get("confidence") or ""]
        writer.writerow([*(state.get(n, "") for n in names), *ends, str(one.certain).lower()])
    return stream.getvalue()


def _flatten_state(state: State) -> Mapping[str, str]:
    """Arrays element by element."""
    flat: dict[str, str] = {}
    for name, value in state.items():
        if isinstance(value, tuple):
            flat |= _flatten_state({f"{name}[{i}]": v for i, v in enumerate(value)})
        else:
            flat[name] = str(value).lower() if isinstance(value, bool) else str(value)
    return flat
