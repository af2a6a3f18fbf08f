"""Terms and numbers written out for a certificate (docs/certificates.md, section 9)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from fractions import Fraction
from typing import Any

from surefoot.errors import Unsupported
from surefoot.reductions.expand import TreeScope, expand_scalar, undefined_condition
from surefoot.term.interval import Kinds
from surefoot.term.printer import show_term
from surefoot.term.term import FALSE, Apply, Const, Op, Term, Var
from surefoot.term.traverse import Leaf, fold_term
from surefoot.term.types import TRUTHS

_OPERATORS = frozenset({Op.ADD, Op.SUB, Op.NEG, Op.MUL, Op.DIV, Op.MIN, Op.MAX, Op.ABS, Op.ITE, *TRUTHS})


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
    """A term over scalars that is linear in cases."""
    return term_to_json(term, _OPERATORS, "is not linear in cases, which certificates need")


def term_to_json(
    whole: Term,
    operators: Set[Op],
    refusal: str,
    *,
    name: Callable[[str], Any] = lambda name: ["name", name],
    powers: bool = False,
) -> Any:
    """A term as nested lists, an operator and its arguments; `powers`: written as products."""

    def leaf(part: Leaf) -> Any:
        if isinstance(part, Var):
            return name(part.name)
        return part.value if isinstance(part.value, bool) else exact_to_json(part.value)

    def arguments(part: Apply, _: list[Any]) -> Iterator[Term]:
        if part.op in operators:
            return iter(part.args)
        match part:
            case Apply(Op.POW, (base, Const(int(exponent)))) if powers and exponent > 0:
                return iter((base,) * exponent)
        raise Unsupported(f"`{show_term(part)}` {refusal}")

    def apply(part: Apply, args: list[Any]) -> Any:
        return [(part.op if part.op in operators else Op.MUL).value, *args]

    return fold_term(whole, leaf, apply, arguments)
