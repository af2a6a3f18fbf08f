"""A specification as VNN-LIB 1 text: reading it gives the same specification."""

from __future__ import annotations

from fractions import Fraction

from surefoot.errors import Unsupported
from surefoot.formats.vnnlib.specification import Specification, vnnlib_input_name, vnnlib_output_name
from surefoot.term.decimal_literals import show_number
from surefoot.term.term import Apply, Const, Op, Term, Var, split_conjunction

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
    lines = [f"(declare-const {name} Real)" for name in names]
    lines += [f"(assert {_render_term(part)})" for part in split_conjunction(specification.constraint)]
    return "\n".join(lines) + "\n"


def _render_term(term: Term) -> str:
    match term:
        case Var(name):
            return name
        case Const(bool()):
            raise Unsupported("VNN-LIB 1 has no truth values")
        case Const(value):
            return _render_decimal(Fraction(value))
        case Apply(op, args) if op in _WORDS:
            return f"({_WORDS[op]} {' '.join(_render_term(a) for a in args)})"
        case Apply(op, _):
            raise Unsupported(f"VNN-LIB 1 has no `{op.value}`")


def _render_decimal(value: Fraction) -> str:
    text = show_number(value)
    if "/" in text:
        raise Unsupported(f"{text} is not a decimal", fix="use numbers with finitely many decimals")
    return text
