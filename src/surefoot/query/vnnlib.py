"""Queries as VNN-LIB 1, where they have that form: one network, constraints on its inputs and outputs."""

from __future__ import annotations

from fractions import Fraction

from surefoot.errors import Unsupported
from surefoot.query.formula import All, Formula, LinearAtom, Relation, formula_atoms, negation_normal_form
from surefoot.query.query import NetworkCall, Query
from surefoot.term.printer import show_term
from surefoot.term.term import Var
from surefoot.term.value_types import Real


def to_vnnlib(query: Query, call: NetworkCall | None = None) -> str:
    """X_i are the inputs, Y_i the outputs of the call (None: the only one); `Unsupported` says why not.

    Strict comparisons become non-strict and slack is left out, as the format has neither; a comment says so.
    """
    if len(query.calls) != 1 or call not in (None, *query.calls):
        raise Unsupported(f"VNN-LIB knows one network call, this query has {len(query.calls)}")
    names = _vnnlib_names(query, query.calls[0])
    formulas = [negation_normal_form(c) for c in query.constraints]
    lines = []
    if any(query.calls[0].slack):
        lines.append("; outputs in real arithmetic; the original allows for rounding on each")
    if any(a.relation is Relation.LT for f in formulas for a in formula_atoms(f)):
        lines.append("; strict comparisons are written as non-strict ones")
    lines.extend(f"(declare-const {symbol} Real)" for symbol in names.values())
    for quantity in query.quantities:
        kind, symbol = quantity.kind, names[quantity.name]
        assert isinstance(kind, Real)
        if kind.low is not None:
            lines.append(f"(assert (>= {symbol} {_vnnlib_decimal(Fraction(kind.low))}))")
        if kind.high is not None:
            lines.append(f"(assert (<= {symbol} {_vnnlib_decimal(Fraction(kind.high))}))")
    for formula in formulas:
        parts = formula.parts if isinstance(formula, All) else (formula,)
        lines.extend(f"(assert {_vnnlib_formula(p, names)})" for p in parts)
    return "\n".join([*lines, ""])


def _vnnlib_names(query: Query, call: NetworkCall) -> dict[str, str]:
    names: dict[str, str] = {}
    for i, term in enumerate(call.inputs):
        if not isinstance(term, Var) or term.name in names:
            raise Unsupported(f"input {i} of the network is `{show_term(term)}`, not a quantity of its own")
        names[term.name] = f"X_{i}"
    names |= {name: f"Y_{i}" for i, name in enumerate(call.outputs)}
    for quantity in query.quantities:
        if quantity.name not in names:
            raise Unsupported(f"`{quantity.name}` is neither an input nor an output of the network")
        if not isinstance(quantity.kind, Real):
            raise Unsupported(f"`{quantity.name}` is not a real number")
    return names


def _vnnlib_formula(formula: Formula, names: dict[str, str]) -> str:
    if isinstance(formula, LinearAtom):
        return _vnnlib_atom(formula, names)
    if not formula.parts:
        raise Unsupported("VNN-LIB has no constant `false` or `true`")
    word = "and" if isinstance(formula, All) else "or"
    return f"({word} {' '.join(_vnnlib_formula(p, names) for p in formula.parts)})"


def _vnnlib_atom(atom: LinearAtom, names: dict[str, str]) -> str:
    if atom.relation is Relation.EQ:
        return f"(and {_vnnlib_comparison(atom, names, '<=')} {_vnnlib_comparison(atom, names, '>=')})"
    return _vnnlib_comparison(atom, names, "<=")


def _vnnlib_comparison(atom: LinearAtom, names: dict[str, str], sign: str) -> str:
    """`X_0 <= c` and `Y_0 <= Y_1` in the form that every tool reads, anything else as a sum."""
    coefficients, constant = atom.linear.coefficients, atom.linear.constant
    flipped = {"<=": ">=", ">=": "<="}
    if len(coefficients) == 1:
        name, factor = coefficients[0]
        return (
            f"({sign if factor > 0 else flipped[sign]} {names[name]} {_vnnlib_decimal(-constant / factor)})"
        )
    if len(coefficients) == 2 and not constant and coefficients[0][1] == -coefficients[1][1]:
        (left, factor), (right, _) = coefficients
        return f"({sign if factor > 0 else flipped[sign]} {names[left]} {names[right]})"
    parts = [names[n] if c == 1 else f"(* {_vnnlib_decimal(c)} {names[n]})" for n, c in coefficients]
    return f"({sign} (+ {' '.join(parts)}) {_vnnlib_decimal(-constant)})"


def _vnnlib_decimal(value: Fraction) -> str:
    """A finite decimal, exactly."""
    twos, fives, rest = 0, 0, value.denominator
    while rest % 2 == 0:
        rest, twos = rest // 2, twos + 1
    while rest % 5 == 0:
        rest, fives = rest // 5, fives + 1
    if rest != 1:
        raise Unsupported(f"{value} is not a finite decimal number")
    places = max(twos, fives, 1)
    digits = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
    return f"{'-' if value < 0 else ''}{digits[:-places]}.{digits[-places:]}"
