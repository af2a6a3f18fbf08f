"""Conditions as lists of comparisons."""

from __future__ import annotations

from typing import TypeAlias

from surefoot.errors import Unsupported
from surefoot.problem.show import show
from surefoot.problem.term import Apply, Const, Op, Term

Comparison: TypeAlias = tuple[Term, Term]  # the first is at most the second
MOST_CASES = 64


def conjunctions(term: Term, wanted: bool = True) -> list[list[Comparison]]:
    """Lists of comparisons: wherever the term is `wanted` all of one list hold, if `<` is read as `<=`."""
    match term:
        case Const(bool(value)):
            return [[]] if value is wanted else []
        case Apply(Op.NOT, (inner,)):
            return conjunctions(inner, not wanted)
        case Apply(Op.IMPLIES, (left, right)):
            return conjunctions(Apply(Op.OR, (~left, right)), wanted)
        case Apply((Op.AND | Op.OR) as op, parts):
            several = [conjunctions(part, wanted) for part in parts]
            if (op is Op.AND) is not wanted:
                return [case for cases in several for case in cases]
            found: list[list[Comparison]] = [[]]
            for cases in several:
                found = [[*first, *second] for first in found for second in cases]
                if len(found) > MOST_CASES:
                    raise Unsupported(f"the unsafe states have more than {MOST_CASES} cases")
            return found
        case Apply(Op.LT | Op.LE, (left, right)):
            return [[(left, right) if wanted else (right, left)]]
        case Apply(Op.EQ, (left, right)):
            both = [(left, right), (right, left)]
            return [both] if wanted else [[c] for c in both]
        case _:
            raise Unsupported(f"`{show(term)}` is not a comparison, which barriers need")
