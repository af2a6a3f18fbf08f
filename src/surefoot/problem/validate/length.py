"""No constant part of a term may be a number that is too long to compute."""

from __future__ import annotations

from surefoot.errors import InvalidProblem
from surefoot.term.evaluate import Undefined, evaluate_term
from surefoot.term.number import MOST_BITS, LongNumber
from surefoot.term.term import Apply, Const, Term


def check_constant_length(whole: Term, where: str) -> None:
    """Evaluates what does not depend on the state, once; what has no value is somebody else's matter."""
    done: dict[int, Const | None] = {}  # by identity: large terms share their parts
    waiting = [whole]
    while waiting:
        term = waiting[-1]
        if isinstance(term, Apply):
            missing = [a for a in term.args if id(a) not in done]
            if missing:
                waiting.extend(missing)
                continue
            done[id(term)] = _fold_constant(term, [done[id(a)] for a in term.args], where)
        else:
            done[id(term)] = term if isinstance(term, Const) else None
        waiting.pop()


def _fold_constant(term: Apply, parts: list[Const | None], where: str) -> Const | None:
    known = tuple(part for part in parts if part is not None)
    if len(known) < len(parts):
        return None
    try:
        value = evaluate_term(Apply(term.op, known), {})
    except Undefined:
        return None
    except LongNumber:
        what, fix = f"a constant of more than {MOST_BITS} bits", "use smaller numbers and exponents"
        raise InvalidProblem(what, fix=fix, where=where) from None
    return None if isinstance(value, tuple) else Const(value)
