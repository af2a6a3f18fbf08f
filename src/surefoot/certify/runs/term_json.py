"""Terms and numbers written out for a certificate (docs/certificates.md, section 9)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from surefoot.errors import Unsupported
from surefoot.reductions.expand import TreeScope, expand_scalar, undefined_condition
from surefoot.term.interval import Kinds
from surefoot.term.printer import show_term
from surefoot.term.term import FALSE, Apply, Const, Op, Term, Var

_OPERATORS = {
    op: op.value
    for op in (
        *(Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.MIN, Op.MAX, Op.ABS),
        *(Op.LT, Op.LE, Op.EQ, Op.NOT, Op.AND, Op.OR, Op.IMPLIES, Op.ITE),
    )
}


def end_to_json(value: Fraction | int | None) -> int | str | None:
    return None if value is None else exact_to_json(value)


def exact_to_json(value: Fraction | int) -> int | str:
    """A whole number as it is, any other as a fraction."""
    number = Fraction(value)
    return number.numerator if number.denominator == 1 else str(number)


def defined_term_to_json(term: Term, scope: TreeScope, kinds: Kinds) -> Any:
    """A term over scalars that has a value in every state."""
    if undefined_condition(term, scope, kinds) != FALSE:
        raise Unsupported(f"`{show_term(term)}` may have no value, which certificates do not cover")
    return run_term_to_json(expand_scalar(term, scope))


def run_term_to_json(term: Term) -> Any:
    match term:
        case Const(bool(value)):
            return value
        case Const(value):
            return exact_to_json(value)
        case Var(name):
            return ["name", name]
        case Apply(op, args) if op in _OPERATORS:
            return [_OPERATORS[op], *map(run_term_to_json, args)]
        case _:
            raise Unsupported(f"`{show_term(term)}` is not linear in cases, which certificates need")
