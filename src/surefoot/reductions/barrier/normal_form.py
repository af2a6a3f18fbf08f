"""Conditions as lists of comparisons."""

from __future__ import annotations

from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.term.printer import show_term
from surefoot.term.term import Apply, Const, Op, Term

_Comparison: TypeAlias = tuple[Term, Term]  # the first is at most the second
_MOST_CASES = 64


def relaxed_dnf(term: Term, wanted: bool = True) -> list[list[_Comparison]]:
    """Lists of comparisons: wherever the term is `wanted` all of one list hold, if `<` is read as `<=`."""
    match term:
        case Const(bool(value)):
            return [[]] if value is wanted else []
        case Apply(Op.NOT, (inner,)):
            return relaxed_dnf(inner, not wanted)
        case Apply(Op.IMPLIES, (left, right)):
            return relaxed_dnf(Apply(Op.OR, (~left, right)), wanted)
        case Apply((Op.AND | Op.OR) as op, parts):
            several = [relaxed_dnf(part, wanted) for part in parts]
            if (op is Op.AND) is not wanted:
                return [case for cases in several for case in cases]
            found: list[list[_Comparison]] = [[]]
            for cases in several:
                found = [[*first, *second] for first in found for second in cases]
                if len(found) > _MOST_CASES:
                    raise Unsupported(f"the unsafe states have more than {_MOST_CASES} cases")
            return found
        case Apply(Op.LT | Op.LE, (left, right)):
            return [[(left, right) if wanted else (right, left)]]
        case Apply(Op.EQ, (left, right)):
            both = [(left, right), (right, left)]
            return [both] if wanted else [[c] for c in both]
        case _:
            raise Unsupported(f"`{show_term(term)}` is not a comparison, which barriers need")
