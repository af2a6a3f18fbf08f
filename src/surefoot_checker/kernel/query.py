"""What is claimed to have no solution: variables, network calls and a formula, in exact numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from .network import FlatNetwork

Linear = Mapping[str, Fraction]  # name to coefficient, "" is the constant; no zero coefficients
# ("and" | "or", part, ...) or ("<=" | "<" | "=", linear): compared with 0. ("and",) is true, ("or",) false.
Formula = tuple[object, ...]


def comparison_form(comparison: Formula) -> Linear:
    """What a comparison compares with 0."""
    return cast("Linear", comparison[1])


def formula_parts(whole: Formula) -> tuple[Formula, ...]:
    """The parts of a conjunction or disjunction."""
    return cast("tuple[Formula, ...]", whole[1:])


def holds_with_zero(relation: str, number: Fraction) -> bool:
    """Whether a number is in this relation to 0."""
    return {"<=": number <= 0, "<": number < 0, "=": number == 0}[relation]


def add_scaled_form(left: Linear, factor: Fraction, right: Linear) -> dict[str, Fraction]:
    """left + factor * right"""
    total = dict(left)
    for name, coefficient in right.items():
        total[name] = total.get(name, Fraction(0)) + factor * coefficient
        if not total[name]:
            del total[name]
    return total


Ends = tuple[Fraction | None, Fraction | None]  # None: nothing is known on that side


def comparison_bounds(comparison: Formula) -> dict[str, Ends]:
    """The bound that a comparison of one variable gives, by its name."""
    said = comparison_form(comparison)
    names = said.keys() - {""}
    if len(names) != 1:
        return {}
    (name,) = names
    end = -said.get("", Fraction(0)) / said[name]
    if comparison[0] == "=":
        return {name: (end, end)}
    return {name: (None, end) if said[name] > 0 else (end, None)}


def intersect_ends(first: Ends, second: Ends) -> Ends:
    lows = [x for x in (first[0], second[0]) if x is not None]
    highs = [x for x in (first[1], second[1]) if x is not None]
    return max(lows, default=None), min(highs, default=None)


@dataclass(frozen=True, slots=True)
class ClaimedVariable:
    """A quantity with its bounds; outputs of calls may have none."""

    name: str
    low: Fraction | None
    high: Fraction | None
    kind: str  # "real", "float32" (a real number that float32 represents) or "integer"


@dataclass(frozen=True, slots=True, eq=False)
class FlatNetworkCall:
    """The outputs are what the network computes from the values of the inputs."""

    network: FlatNetwork
    inputs: tuple[Linear, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class ClaimedQuery:
    variables: tuple[ClaimedVariable, ...]
    calls: tuple[FlatNetworkCall, ...]
    formula: Formula
    origin: str  # what it was read from, in words
    uncertified: tuple[str, ...] = ()  # what this does not say, in words
