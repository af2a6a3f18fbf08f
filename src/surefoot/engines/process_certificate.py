"""Bounds of all states of a decision process as the checker reads them (docs/certificates.md, 11)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from surefoot.explore.explored_model import ExploredModel
from surefoot.verdict.verdict import Certificate

MOST_NAMED = 3  # near ties that are told


def process_certificate(explored: ExploredModel, values: Sequence[dict[str, Any] | None]) -> Certificate:
    """`values`: what `encode_bounds` makes, of each side of the question; None: the checker needs none."""
    near = np.flatnonzero(explored.near_tie)[:MOST_NAMED]
    told = [explored.valuation(int(state)) for state in near]
    delayed = {"outcomes": "delayed"} if explored.tier == "delayed" else {}
    return Certificate("process", {"values": list(values), "near ties": told, **delayed})


def encode_bounds(low: Sequence[Any], high: Sequence[Any], scale: int = 1) -> dict[str, Any]:
    """The bounds of every state, sorted by what it is; numbers that occur often are written once."""
    table: dict[Any, int] = {}
    sides = [[table.setdefault(v, len(table)) for v in side] for side in (low, high)]
    numbers = [_number_to_hex(v) for v in table]
    return {"states": len(low), "scale": hex(scale), "numbers": numbers, "low": sides[0], "high": sides[1]}


def _number_to_hex(value: int | Fraction) -> str | list[str]:
    if isinstance(value, Fraction) and value.denominator != 1:
        return [hex(value.numerator), hex(value.denominator)]
    return hex(int(value))
