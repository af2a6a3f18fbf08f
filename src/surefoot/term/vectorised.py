"""Terms over columns of doubles: each operation of the listing that source code is written from, once.

An operation on arrays rounds every entry as the operation on one number does, so that a row of the result has
the bits of `term/evaluate.py`. What overflows there raises; here it becomes an infinity or a NaN,
with which no comparison `<=` holds that a set is tested by.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from surefoot.term.operation_listing import (
    ListedComparison,
    ListedCondition,
    ListedConnective,
    ListedNode,
    OperationListing,
)
from surefoot.term.term import Term

Floats: TypeAlias = NDArray[np.float64]
Truths: TypeAlias = NDArray[np.bool_]
_OPERATIONS: dict[str, Callable[..., Any]] = {
    "+": np.add,
    "-": np.subtract,
    "*": np.multiply,
    "/": np.true_divide,
    "max": lambda left, right: np.where(right > left, right, left),
}
_COMPARISONS: dict[str, Callable[..., Any]] = {"<": np.less, "<=": np.less_equal, "==": np.equal}


@dataclass(frozen=True, slots=True)
class VectorisedTerms:
    """Values and conditions that share their operations."""

    nodes: tuple[ListedNode, ...]
    last: tuple[int, ...]  # the node after which nobody needs this one
    places: tuple[int, ...]
    conditions: tuple[ListedCondition, ...]

    def __call__(self, names: Mapping[str, Floats], count: int) -> tuple[list[Floats], list[Truths]]:
        """Of `count` rows; a column for each name."""
        values: list[Any] = [None] * len(self.nodes)
        with np.errstate(all="ignore"):
            for place, node in enumerate(self.nodes):
                match node:
                    case (sign, (inner,)):
                        values[place] = np.negative(values[inner])
                    case (sign, (left, right)):
                        values[place] = _OPERATIONS[sign](values[left], values[right])
                        for used in (left, right):
                            if self.last[used] == place:
                                values[used] = None
                    case str(name):
                        values[place] = names[name]
                    case int(number) | float(number):
                        values[place] = float(number)
        return (
            [np.broadcast_to(np.asarray(values[p], dtype=np.float64), (count,)) for p in self.places],
            [np.broadcast_to(_evaluate_condition(c, values), (count,)) for c in self.conditions],
        )


def vectorise_terms(values: Sequence[Term], conditions: Sequence[Term] = ()) -> VectorisedTerms:
    """`Unsupported` where a term is no polynomial, or a condition no comparison of them."""
    listing = OperationListing(str, str)
    places = tuple(listing.use_term(term) for term in values)
    found = tuple(listing.condition(term) for term in conditions)
    last = list(range(len(listing.nodes)))
    for place, node in enumerate(listing.nodes):
        if isinstance(node, tuple):
            for used in node[1]:
                last[used] = place
    for place in (*places, *(p for c in found for p in _compared_places(c))):
        last[place] = len(listing.nodes)
    return VectorisedTerms(tuple(listing.nodes), tuple(last), places, found)


def _compared_places(condition: ListedCondition) -> list[int]:
    if isinstance(condition, ListedComparison):
        return [condition.left, condition.right]
    return [place for part in condition.parts for place in _compared_places(part)]


def _evaluate_condition(condition: ListedCondition, values: Sequence[Any]) -> Any:
    match condition:
        case ListedComparison(sign, left, right):
            return _COMPARISONS[sign](values[left], values[right])
        case ListedConnective("true" | "false" as word, ()):
            return np.bool_(word == "true")
        case ListedConnective("not", (inner,)):
            return np.logical_not(_evaluate_condition(inner, values))
        case ListedConnective(word, parts):
            joined = np.logical_and if word == "and" else np.logical_or
            total = np.bool_(word == "and")
            for part in parts:
                total = joined(total, _evaluate_condition(part, values))
            return total
