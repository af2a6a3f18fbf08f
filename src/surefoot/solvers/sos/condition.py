"""What the coefficients of a template have to satisfy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from surefoot.query.polynomial import Polynomial


@dataclass(frozen=True, slots=True)
class TemplateCondition:
    """fixed + sum of coefficient k times linear[k] >= 0 wherever the constraints are."""

    fixed: Polynomial
    linear: Mapping[int, Polynomial]
    constraints: tuple[Polynomial, ...]
    products: tuple[tuple[int, ...], ...]
    variables: tuple[int, ...]
