"""A specification as VNN-LIB 1 text: reading it gives the same specification."""

from __future__ import annotations

from fractions import Fraction

from surefoot.errors import Unsupported
from surefoot.formats.vnnlib.specification import Specification, vnnlib_input_name, vnnlib_output_name
from surefoot.term.decimal_literals import show_number
from surefoot.term.term import Apply, Op, Term, Var, split_conjunction
from surefoot.term.traverse import Leaf, fold_term

_WORDS = {
    Op.ADD: "+",
    Op.SUB: "-",
    Op.NEG: "-",
    Op.MUL: "*",
    Op.LE: "<=",
    Op.LT: "<",
    Op.EQ: "=",
    Op.AND: "and",
    Op.OR: "or",
}


def write_vnnlib(specification: Specification) -> str:
    """Declarations, then one assertion for each part of the constraint."""
    names = [vnnlib_input_name(i) for i in range(specification.inputs)]
    names += [vnnlib_output_name(i) for i in range(specification.outputs)]
    constraint = specification.constraint
    lines = [f"(declare-const {name} Real)" for name in names]
    lines += [f"(assert {_render_term(part)})" for part in split_conjunction(constraint) or (constraint,)]
    return "\n".join(lines) + "\n"


def _render_term(term: Term) -> str:
    return fold_term(term, _render_leaf, _render_operator)


def _render_leaf(leaf: Leaf) -> str:
    if isinstance(leaf, Var):
        return leaf.name
    if isinstance(leaf.value, bool):
        raise Unsupported("VNN-LIB 1 has no truth values")
    return _render_decimal(Fraction(leaf.value))


def _render_operator(term: Apply, args: list[str]) -> str:
    if term.op not in _WORDS:
        raise Unsupported(f"VNN-LIB 1 has no `{term.op.value}`")
    return f"({_WORDS[term.op]} {' '.join(args)})"


def _render_decimal(value: Fraction) -> str:
    text = show_number(value)
    if "/" in text:
        raise Unsupported(f"{text} is not a decimal", fix="use numbers with finitely many decimals")
    return text
