"""A computed interval as a certificate: the problem, the ends, and bounds of every state."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from surefoot.certify.execution.terms import exact
from surefoot.certify.process.canonical import canonical
from surefoot.problem.problem import Problem
from surefoot.verdict.verdict import Certificate, Exact, PerStart

DIGITS = 3000  # a claim with longer numbers is made a little wider
_GRID = 1 << 4096


def about_values(problem: Problem, verdict: Exact | PerStart) -> Certificate | None:
    """The certificate for a verdict; None if the verdict has no values to show."""
    found = verdict.certificate
    if found is None:
        return None
    low: Any
    if isinstance(verdict, Exact):
        low, high = _end(verdict.low, up=False), _end(verdict.high, up=True)
    else:
        parts = [v for _, v in verdict.table if isinstance(v, Exact)]
        low, high = [[_end(p.low, up=False), _end(p.high, up=True)] for p in parts], None
    content: Mapping[str, Any] = {
        "surefoot-certificate": 1,
        "claim": {"kind": "process", "problem": canonical(problem), "low": low, "high": high},
        "arithmetic": "exact",
        "values": found.content["values"],
    }
    return Certificate("process", content)


def _end(value: Fraction | None, *, up: bool) -> int | str | None:
    if value is None:
        return None
    written = exact(value)
    if isinstance(written, int) or len(written) <= DIGITS:
        return written
    scaled = value * _GRID
    whole = -((-scaled.numerator) // scaled.denominator) if up else scaled.numerator // scaled.denominator
    sign = "-" if whole < 0 else ""
    return f"{sign}0x{abs(whole):x}p-4096"
