"""Terms and numbers written out for a certificate (docs/certificates.md, section 9)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from surefoot.encode.expand import Scope, expand_scalar, undefined
from surefoot.encode.interval import Kinds
from surefoot.errors import Unsupported
from surefoot.problem.show import show
from surefoot.problem.term import FALSE, Apply, Const, Op, Term, Var

_OPERATORS = {
    op: op.value
    for op in (
        *(Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.MIN, Op.MAX, Op.ABS),
        *(Op.LT, Op.LE, Op.EQ, Op.NOT, Op.AND, Op.OR, Op.IMPLIES, Op.ITE),
    )
}


def end(value: Fraction | int | None) -> int | str | None:
    return None if value is None else exact(value)


def exact(value: Fraction | int) -> int | str:
    """A whole number as it is, any other as a fraction."""
    number = Fraction(value)
    return number.numerator if number.denominator == 1 else str(number)


def written(term: Term, scope: Scope, kinds: Kinds) -> Any:
    """A term over scalars that has a value in every state."""
    if undefined(term, scope, kinds) != FALSE:
        raise Unsupported(f"`{show(term)}` may have no value, which certificates do not cover")
    return tree(expand_scalar(term, scope))


def tree(term: Term) -> Any:
    match term:
        case Const(bool(value)):
            return value
        case Const(value):
            return exact(value)
        case Var(name):
            return ["name", name]
        case Apply(op, args) if op in _OPERATORS:
            return [_OPERATORS[op], *map(tree, args)]
        case _:
            raise Unsupported(f"`{show(term)}` is not linear in cases, which certificates need")
