"""The types of values, and the two arithmetics in which an environment may compute them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import TypeAlias

from surefoot.term.arguments import (
    check_fields,
    take_bool,
    take_instance,
    take_limit,
    take_optional,
    whole_number,
)


@dataclass(frozen=True, slots=True)
class Bool:
    """Truth values."""


@dataclass(frozen=True, slots=True)
class Int:
    """Integers; None = no bound on that side."""

    low: int | None = None
    high: int | None = None

    def __post_init__(self) -> None:
        check_fields(self, low=take_optional(whole_number), high=take_optional(whole_number))


@dataclass(frozen=True, slots=True)
class Real:
    """Real numbers; None = no bound on that side. `float32`: only the float32 numbers among them."""

    low: Fraction | None = None
    high: Fraction | None = None
    float32: bool = False

    def __post_init__(self) -> None:
        check_fields(self, low=take_limit, high=take_limit, float32=take_bool)


@dataclass(frozen=True, slots=True)
class Array:
    """A fixed number of values of one kind (which may be an array)."""

    element: ValueType
    length: int

    def __post_init__(self) -> None:
        check_fields(self, element=take_value_type, length=whole_number)


ValueType: TypeAlias = Bool | Int | Real | Array
take_value_type = take_instance(
    Bool, Int, Real, Array, fix="give Bool(), Int(low, high), Real(low, high) or Array(kind, length)"
)


class Arithmetic(Enum):
    EXACT = "exact"  # rationals
    FLOAT64 = "float64"  # IEEE double, operations in the order written: `term/number.py` has the rule
