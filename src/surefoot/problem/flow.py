"""Differential equations: executed by steps, or meant as they are with controls that are held."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from surefoot.term.arguments import check_fields, exact_number, take_bool, take_text
from surefoot.term.term import Term, take_named


@dataclass(frozen=True, slots=True)
class Flow:
    """d(name)/dt = derivative for each pair; `method` (euler, rk4) and `step` name the discrete map.

    `continuous`: the system is the differential equation itself, at all times. The policy sees the state
    every `step`, its controls are held until the next time, and what the environment chooses may change at
    any time.
    `method` (euler, taylor) is then the polynomial that proofs and shields predict the next state with.
    """

    derivatives: tuple[tuple[str, Term], ...]
    step: Fraction
    method: str = "euler"
    continuous: bool = False

    def __post_init__(self) -> None:
        check_fields(self, derivatives=take_named, step=exact_number, method=take_text, continuous=take_bool)
