"""No constant part of a term may be a number that is too long to compute."""

from __future__ import annotations

from surefoot.errors import InvalidProblem
from surefoot.term.evaluate import constant_value
from surefoot.term.number import MOST_BITS, LongNumber
from surefoot.term.term import Apply, Term
from surefoot.term.traverse import fold_term


def check_constant_length(whole: Term, where: str) -> None:
    """Evaluates what does not depend on the state, once; what has no value is somebody else's matter."""

    def apply_operator(part: Apply, found: list[Term]) -> Term:
        value = constant_value(part.op, found)
        return part if value is None else value

    try:
        fold_term(whole, lambda leaf: leaf, apply_operator)
    except LongNumber:
        what, fix = f"a constant of more than {MOST_BITS} bits", "use smaller numbers and exponents"
        raise InvalidProblem(what, fix=fix, where=where) from None
