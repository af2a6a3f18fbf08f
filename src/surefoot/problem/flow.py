"""Differential equations: data from which the discrete map that is executed is derived."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from surefoot.problem.term import Term


@dataclass(frozen=True, slots=True)
class Flow:
    """d(name)/dt = derivative for each pair; `method` (euler, rk4) and `step` name the discrete map."""

    derivatives: tuple[tuple[str, Term], ...]
    step: Fraction
    method: str = "euler"
