"""Differential equations: executed by steps, or meant as they are with controls that are held."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from surefoot.term.arguments import check_fields, exact_number, take_bool, take_optional, take_text
from surefoot.term.term import Term, Var, take_named, term_from_python


@dataclass(frozen=True, slots=True)
class Flow:
    """d(name)/dt = derivative for each pair; a variable without one stays as it is.

    The policy sees the state every `control_period`, and what it decides is held until the next time.

    By steps: `method` (euler, rk4) and `step` name the discrete map, and what the environment chooses is held
    for a step. The control period is a whole multiple of the step.
    `continuous`: the system is the differential equation itself, at all times, and what the environment
    chooses may change at any time. `method` (euler, taylor) is then the polynomial that proofs and shields
    predict the state one control period later with.

    >>> from surefoot import Environment, Flow, real
    >>> x, u = real("x"), real("u", -1, 1)
    >>> flow = Flow({x: u - x**3}, step=0.1, continuous=True)
    >>> tank = Environment("tank", start=(x >= 0) & (x <= 1), controls=[u], flow=flow)
    >>> tank.flow.control_period
    Fraction(1, 10)
    """

    derivatives: tuple[tuple[str, Term], ...]
    step: Fraction
    method: str = "euler"
    continuous: bool = False
    period: Fraction | None = field(default=None, metadata={"unless_empty": True})  # None: that of a step

    def __post_init__(self) -> None:
        check_fields(
            self,
            derivatives=_take_derivatives,
            step=exact_number,
            method=take_text,
            continuous=take_bool,
            period=take_optional(exact_number),
        )

    @property
    def control_period(self) -> Fraction:
        """For how long what the policy decides is held."""
        return self.step if self.period is None else self.period


def _take_derivatives(given: object) -> object:
    """Pairs of a name and a term, also written as {x: v} with variables."""
    if not isinstance(given, Mapping):
        return take_named(given)
    return take_named({_name_of(variable): rate for variable, rate in given.items()})


def _name_of(given: object) -> object:
    """Of a variable; anything else stays what it is."""
    if isinstance(given, str):
        return given
    term = term_from_python(given)  # type: ignore[arg-type]
    return term.name if isinstance(term, Var) else given
