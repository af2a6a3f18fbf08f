"""Conditions as lists of comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.term.normal_form import fold_condition
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Op, Term

_Comparison: TypeAlias = tuple[Term, Term]  # the first is at most the second
_MOST_CASES = 64


def relaxed_dnf(term: Term, wanted: bool = True) -> list[list[_Comparison]]:
    """Lists of comparisons: wherever the term is `wanted` all of one list hold, if `<` is read as `<=`."""
    return fold_condition(
        term,
        wanted,
        _literal_cases,
        _multiply_cases,
        lambda several: [case for cases in several for case in cases],
    )


def _literal_cases(term: Term, wanted: bool) -> list[list[_Comparison]]:
    match term:
        case Apply(Op.LT | Op.LE, (left, right)):
            return [[(left, right) if wanted else (right, left)]]
        case Apply(Op.EQ, (left, right)):
            both = [(left, right), (right, left)]
            return [both] if wanted else [[c] for c in both]
        case _:
            raise Unsupported(f"`{show_term(term)}` is not a comparison, which barriers need")


def _multiply_cases(several: Sequence[list[list[_Comparison]]]) -> list[list[_Comparison]]:
    found: list[list[_Comparison]] = [[]]
    for cases in several:
        found = [[*first, *second] for first in found for second in cases]
        if len(found) > _MOST_CASES:
            raise Unsupported(f"the unsafe states have more than {_MOST_CASES} cases")
    return found
