"""Conditions over sets: where they surely hold and where they surely fail, cell by cell."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.engines.reach.elementary_range import Array, Range
from surefoot.engines.reach.term_levels import Comparison, Connective, ListedCondition
from surefoot.term.term import Op

Mask: TypeAlias = NDArray[np.bool_]
Truths: TypeAlias = tuple[Mask, Mask]  # surely true, surely false


def decide_condition(condition: ListedCondition, bounds: Callable[[int], Range], cells: int) -> Truths:
    """Where a condition surely holds and where it surely fails, given bounds of what is compared."""
    match condition:
        case Comparison(node, sign):
            low, high = bounds(node)
            match sign:
                case Op.LT:
                    return high < 0, low >= 0
                case Op.LE:
                    return high <= 0, low > 0
                case _:
                    return (low == 0) & (high == 0), (low > 0) | (high < 0)
        case Connective("not", (part,)):
            holds, fails = decide_condition(part, bounds, cells)
            return fails, holds
        case Connective(word, parts):
            holds, fails = np.full(cells, word == "and"), np.full(cells, word == "or")
            for part in parts:
                yes, no = decide_condition(part, bounds, cells)
                if word == "and":
                    holds, fails = holds & yes, fails | no
                else:
                    holds, fails = holds | yes, fails & no
            return holds, fails


def list_assumed_forms(condition: ListedCondition, wanted: bool, forms: Array) -> list[Array]:
    """Forms, of those by node, that are at most 0 wherever a condition is `wanted`."""
    match condition:
        case Comparison(node, Op.LT | Op.LE):
            return [forms[node] if wanted else negate_forms(forms[node])]
        case Comparison(node, _):
            return [forms[node], negate_forms(forms[node])] if wanted else []
        case Connective("not", (part,)):
            return list_assumed_forms(part, not wanted, forms)
        case Connective(word, parts) if word == ("and" if wanted else "or"):
            return [form for part in parts for form in list_assumed_forms(part, wanted, forms)]
    return []


def negate_forms(forms: Array) -> Array:
    found = -forms
    found[..., -1] = forms[..., -1]
    return found
