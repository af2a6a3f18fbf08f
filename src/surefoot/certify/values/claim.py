"""A computed interval as a certificate: the problem, the ends, and bounds of every state."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

from surefoot.certify.term_json import exact_to_json, process_term_to_json
from surefoot.certify.values.canonical import process_problem_to_json
from surefoot.errors import Unsupported
from surefoot.problem.environment import Environment
from surefoot.problem.problem import Problem
from surefoot.problem.semantics import State
from surefoot.term.reserved_names import location_key
from surefoot.verdict.verdict import AbstractInvariant, Certificate, Exact, PerStart
from surefoot_checker.kernel.strict_json import BadCertificate, expect_ratio

DIGITS = 3000  # a claim with longer numbers is made a little wider
_GRID = 1 << 4096


def build_process_certificate(
    problem: Problem, verdict: Exact | PerStart, inputs: Mapping[str, str] | None = None
) -> Certificate | None:
    """The certificate for a verdict; None if the verdict has no values to show."""
    found = verdict.certificate
    if found is None:
        return None
    low: Any
    starts: dict[str, Any] = {}
    if isinstance(verdict, Exact):
        low, high = _end_to_json(verdict.low, up=False), _end_to_json(verdict.high, up=True)
    else:
        parts = [v for _, v in verdict.table if isinstance(v, Exact)]
        low, high = [[_end_to_json(p.low, up=False), _end_to_json(p.high, up=True)] for p in parts], None
        starts = {"starts": [_write_start(problem.environment, state) for state, _ in verdict.table]}
    written = process_problem_to_json(problem, inputs)
    content: Mapping[str, Any] = {
        "surefoot-certificate": 2,
        "claim": {"kind": "process", "problem": written, "low": low, "high": high, **starts},
        "arithmetic": "reference" if _has_network(written) else "exact",
        "values": found.content["values"],
        **({"outcomes": found.content["outcomes"]} if "outcomes" in found.content else {}),
    }
    return Certificate("process", content)


def _write_start(environment: Environment, state: State) -> list[Any]:
    """The values of the variables in order, then the places of components that have several."""
    several = [location_key(c.name) for c in environment.components if len(c.locations) > 1]
    names = [*(v.name for v in environment.variables), *several]
    return [_write_value(state[name]) for name in names] if set(names) == set(state) else []


def _write_value(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_write_value(v) for v in value]
    return value if isinstance(value, bool) else exact_to_json(value)


def build_graph_certificate(
    problem: Problem, inputs: Mapping[str, str] | None = None, states: AbstractInvariant | None = None
) -> Certificate | str:
    """The certificate that all runs of a finite system keep a property, or why not.

    It is the problem alone, which has the checker visit all reachable states; or the problem and a closed set
    of states, which it goes through instead.
    """
    try:
        written = process_problem_to_json(problem, inputs)
        closed = {} if states is None else {"closed": _closed_set_to_json(states)}
    except Unsupported as why:
        return str(why)
    claim = {"kind": "graph", "problem": written}
    arithmetic = "float32" if _has_network(written) else "exact"
    content = {"surefoot-certificate": 2, "claim": claim, "arithmetic": arithmetic, **closed}
    return Certificate("graph", content)


def _closed_set_to_json(states: AbstractInvariant) -> dict[str, Any]:
    return {
        "predicates": [process_term_to_json(p) for p in states.predicates],
        "states": [
            [list(places), "".join("01"[value] for value in values)] for places, values in states.states
        ],
        "boxes": [[list(ends) for ends in box] for box in states.boxes],
    }


def _has_network(written: Mapping[str, Any]) -> bool:
    """Does a network decide in the problem?"""
    return written["policy"] is not None and written["policy"]["network"] is not None


def matches_graph_claim(content: Mapping[str, Any], problem: Problem, inputs: Mapping[str, str]) -> bool:
    """Is this a certificate about the runs of exactly this problem?"""
    wanted = build_graph_certificate(problem, inputs)
    said = {key: value for key, value in content.items() if key != "closed"}  # evidence, whatever it says
    return isinstance(wanted, Certificate) and json.loads(json.dumps(wanted.content)) == said


def _end_to_json(value: Fraction | None, *, up: bool) -> int | str | None:
    if value is None:
        return None
    written = exact_to_json(value)
    if isinstance(written, int) or len(written) <= DIGITS:
        return written
    scaled = value * _GRID
    whole = -((-scaled.numerator) // scaled.denominator) if up else scaled.numerator // scaled.denominator
    sign = "-" if whole < 0 else ""
    return f"{sign}0x{abs(whole):x}p-4096"


def matches_process_claim(verdict: Exact | PerStart, problem: Problem, inputs: Mapping[str, str]) -> bool:
    """Is its certificate about exactly this problem, and does it claim no less than the verdict says?"""
    assert verdict.certificate is not None
    claim = verdict.certificate.content.get("claim")
    wanted = build_process_certificate(
        problem, replace(verdict, certificate=Certificate("process", {"values": None})), inputs
    )
    assert wanted is not None
    meant = json.loads(json.dumps(wanted.content["claim"]))
    if not isinstance(claim, dict) or claim.get("problem") != meant["problem"]:
        return False
    if isinstance(verdict, PerStart):
        same = all(json.dumps(claim.get(key)) == json.dumps(meant[key]) for key in ("low", "starts"))
        return same and claim.get("high") is None
    return _is_within(claim.get("low"), claim.get("high"), verdict)


def _is_within(low: object, high: object, verdict: Exact) -> bool:
    """A stored interval may have been rounded outward, never inward."""
    try:
        ends = [None if e is None else Fraction(*expect_ratio(e, "end")) for e in (low, high)]
    except BadCertificate:
        return False
    below = verdict.low is None or ends[0] is None or verdict.low <= ends[0]
    above = verdict.high is None or (ends[1] is not None and ends[1] <= verdict.high)
    return below and above and (verdict.low is not None or ends[0] is None)
