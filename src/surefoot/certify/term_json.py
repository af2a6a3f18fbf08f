"""Terms and numbers written out for a certificate (docs/certificates.md, section 9), for all claims alike."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from surefoot.errors import Unsupported
from surefoot.reductions.expand import TreeScope, expand_scalar, undefined_condition
from surefoot.term.interval import Kinds
from surefoot.term.printer import show_term
from surefoot.term.reserved_names import DEADLOCKED, STALLED, chosen_action, location_parts, output_index
from surefoot.term.term import FALSE, Apply, Const, Op, Term, Var, free_names
from surefoot.term.traverse import Leaf, fold_term
from surefoot.term.types import ELEMENTARY, TRUTHS

LINEAR_CASES = frozenset(  # of which numbers that are linear in cases are made
    {Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.MIN, Op.MAX, Op.ABS, Op.ITE, *TRUTHS}
)
POLYNOMIAL = frozenset({Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.MAX, *TRUTHS})
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
    return term_to_json(term, LINEAR_CASES, "is not linear in cases, which certificates need")


def process_term_to_json(term: Term) -> Any:
    """A term of a finite system."""
    if any(output_index(name) is not None for name in free_names(term)):
        raise Unsupported("outputs of the network in a condition, which certificates do not cover")
    return term_to_json(term, EXACT, "is a function, which certificates of probabilities do not cover")


def polynomial_to_json(term: Term) -> Any:
    """A term of polynomials and comparisons; powers are products, as they are computed."""
    return term_to_json(term, POLYNOMIAL, "is not a polynomial", powers=True)


def term_to_json(whole: Term, covered: frozenset[Op], refusal: str, *, powers: bool = False) -> Any:
    """A term as nested lists; `covered`: its operators, others are refused. `powers`: written as products."""

    def leaf(part: Leaf) -> Any:
        if isinstance(part, Var):
            return _name_to_json(part.name)
        return part.value if isinstance(part.value, bool) else exact_to_json(part.value)

    def arguments(part: Apply, _: list[Any]) -> Iterator[Term]:
        if part.op in covered:
            return iter(part.args)
        match part:
            case Apply(Op.POW, (base, Const(int(exponent)))) if powers and exponent > 0:
                return iter((base,) * exponent)
        raise Unsupported(f"`{show_term(part)}` {refusal}")

    def apply_operator(part: Apply, args: list[Any]) -> Any:
        return [(part.op if part.op in covered else Op.MUL).value, *args]

    return fold_term(whole, leaf, apply_operator, arguments)


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
