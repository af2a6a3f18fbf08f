"""Terms and numbers written out for a certificate (docs/certificates.md, section 9), for all claims alike."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from surefoot.errors import Unsupported
from surefoot.problem.printer import show_term
from surefoot.problem.reserved_names import DEADLOCKED, STALLED, chosen_action, location_parts, output_index
from surefoot.problem.term import FALSE, Apply, Const, Op, Term, Var, free_names
from surefoot.reductions.expand import TreeScope, expand_scalar, undefined_condition
from surefoot.reductions.interval import Kinds

_LOGIC = (Op.LT, Op.LE, Op.EQ, Op.NOT, Op.AND, Op.OR, Op.IMPLIES)
LINEAR_CASES = frozenset(
    {Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.MIN, Op.MAX, Op.ABS, Op.ITE, *_LOGIC}
)  # of which numbers that are linear in cases are made
POLYNOMIAL = frozenset({Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.MAX, *_LOGIC})
ELEMENTARY = frozenset({Op.SQRT, Op.EXP, Op.LOG, Op.SIN, Op.COS, Op.TAN, Op.ASIN, Op.ACOS, Op.ATAN, Op.TANH})
EXACT = frozenset(Op) - ELEMENTARY  # whose values are rational


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
    """A number that is linear in cases, or a truth value made of such."""
    return term_to_json(
        term, LINEAR_CASES, lambda t: f"`{show_term(t)}` is not linear in cases, which certificates need"
    )


def process_term_to_json(term: Term) -> Any:
    """A term of a finite system."""
    if any(output_index(name) is not None for name in free_names(term)):
        raise Unsupported("outputs of the network in a condition, which certificates do not cover")
    return term_to_json(
        term, EXACT, lambda t: f"`{show_term(t)}`, whose function certificates of probabilities do not cover"
    )


def polynomial_to_json(term: Term) -> Any:
    """A term of polynomials and comparisons; powers are products, as they are computed."""
    if isinstance(term, Apply) and term.op is Op.POW:
        match term.args:
            case (base, Const(int(exponent))) if exponent > 0:
                return ["*", *([polynomial_to_json(base)] * exponent)]
    return term_to_json(
        term, POLYNOMIAL, lambda t: f"`{show_term(t)}` is not a polynomial", polynomial_to_json
    )


def term_to_json(
    term: Term,
    covered: frozenset[Op],
    complaint: Callable[[Term], str],
    inner: Callable[[Term], Any] | None = None,
) -> Any:
    """A term as nested lists; `covered`: its operators, others are refused with the complaint."""
    match term:
        case Const(bool(value)):
            return value
        case Const(value):
            return exact_to_json(value)
        case Var(name):
            return _name_to_json(name)
        case Apply(op, args) if op in covered:
            return [op.value, *((inner(a) if inner else term_to_json(a, covered, complaint)) for a in args)]
    raise Unsupported(complaint(term))


def _name_to_json(name: str) -> list[Any]:
    """Reserved names of conditions are atoms of their own."""
    if (place := location_parts(name)) is not None:
        return ["at", *place]
    if name in (DEADLOCKED, STALLED):
        return [name]
    if (action := chosen_action(name)) is not None:
        return ["chosen", action]
    if (index := output_index(name)) is not None:
        return ["output", index]
    return ["name", name]
