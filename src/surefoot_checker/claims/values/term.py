"""Terms over states, compiled into functions: what `evaluate` of the kernel computes, for millions of states.

A state is a tuple; `slots` says where the names stand in it. A term becomes a Python syntax tree of ours
(`term_code`): places in the state, numbers, and the operators of the kernel, written out where Python's mean
the same. No text of a certificate is ever part of what is run. Tests compare this with `evaluate`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from ...kernel.strict_json import BadCertificate, Refused
from ...kernel.term import OPERATORS, Kind, Term, atom_key, fold_term
from .term_code import (
    BOOLEAN,
    INTEGER,
    TRUTH_VALUE,
    WHOLE_NUMBER,
    ExpressionCompiler,
    TermSyntax,
    choice_syntax,
    constant_syntax,
    slot_syntax,
)

Row = tuple[Any, ...]
Function = Callable[[Row], Any]
Slots = Mapping[Any, int]  # by `atom_key`
_FEW = 20  # arguments of a sum that is written out
_SMALL = 1 << 64
_COMPARED = {"<": ast.Lt, "<=": ast.LtE, "=": ast.Eq}
_WHOLE = {"+": ast.Add, "*": ast.Mult, "-": ast.Sub}


def compile_row_function(term: Term, slots: Slots, kinds: Mapping[int, Kind] | None = None) -> Function:
    """The function from a state to the value of a term; `kinds`: of slots that are sure to have them."""
    code = ExpressionCompiler()
    return code.function(term_to_syntax(term, slots, kinds or {}, code).node)


def term_to_syntax(
    term: Term, slots: Slots, kinds: Mapping[int, Kind], code: ExpressionCompiler
) -> TermSyntax:
    """A term as a syntax tree; what does not depend on the state is computed at once."""

    def of_leaf(leaf: Term) -> TermSyntax:
        if type(leaf) is not tuple:
            return constant_syntax(leaf, code)
        if (slot := slots.get(atom_key(leaf))) is None:
            raise BadCertificate(f"a term mentions what is not known here: {str(leaf)[:60]}")
        return TermSyntax(slot_syntax(slot), kinds.get(slot, ("",)))

    def of_operator(t: Term, parts: list[TermSyntax]) -> TermSyntax:
        meaning = OPERATORS[t[0]]
        if all(part.constant for part in parts):
            try:
                return constant_syntax(meaning(*(part.value for part in parts)), code)
            except Refused:  # undefined: an error only where it is looked at
                pass
        return _operator_syntax(t[0], parts, meaning, code)

    return fold_term(term, of_leaf, of_operator)


def _operator_syntax(
    operator: str, a: list[TermSyntax], evaluate: Callable[..., Any], code: ExpressionCompiler
) -> TermSyntax:
    """The operator as Python: written out where that means the same, otherwise a call of its meaning."""
    nodes = [m.node for m in a]
    whole = all(m.kind[0] == INTEGER for m in a)
    if operator in ("and", "or"):
        return _connective_syntax(ast.And() if operator == "and" else ast.Or(), a)
    if operator == "=>":
        either = [ast.UnaryOp(ast.Not(), nodes[0]), _truth_syntax(a[1])]
        return TermSyntax(ast.BoolOp(ast.Or(), either), TRUTH_VALUE)
    if operator == "ite":
        sorts = {a[1].kind[0], a[2].kind[0]}
        kind = WHOLE_NUMBER if sorts == {INTEGER} else TRUTH_VALUE if sorts == {BOOLEAN} else ("",)
        return TermSyntax(ast.IfExp(nodes[0], nodes[1], nodes[2]), kind)
    if operator == "not":
        return TermSyntax(ast.UnaryOp(ast.Not(), nodes[0]), TRUTH_VALUE)
    if operator in _COMPARED:
        return TermSyntax(ast.Compare(nodes[0], [_COMPARED[operator]()], [nodes[1]]), TRUTH_VALUE)
    if whole and operator in _WHOLE and len(nodes) <= _FEW and (operator != "*" or all(map(_is_small, a))):
        found = nodes[0]
        for other in nodes[1:]:
            found = ast.BinOp(found, _WHOLE[operator](), other)
        return TermSyntax(found, WHOLE_NUMBER)
    if whole and operator == "%" and a[1].constant and a[1].value > 0:
        return TermSyntax(ast.BinOp(nodes[0], ast.Mod(), nodes[1]), WHOLE_NUMBER)
    if whole and operator in ("min", "max") and len(nodes) == 2:
        better: ast.cmpop = ast.LtE() if operator == "min" else ast.GtE()
        return TermSyntax(choice_syntax(nodes[0], better, nodes[1], code), WHOLE_NUMBER)
    if whole and operator in ("floor", "ceil", "trc"):
        return a[0]
    if whole and operator == "negate":
        return TermSyntax(ast.UnaryOp(ast.USub(), nodes[0]), WHOLE_NUMBER)
    if operator == "select" and a[1].kind[0] == INTEGER and a[0].kind[0] == "array":
        return _element_syntax(a[0], a[1], code)
    known = whole and operator in ("abs", "sgn", "min", "max", "+", "*", "-")
    return TermSyntax(code.call(evaluate, nodes), WHOLE_NUMBER if known else ("",))


def _is_small(made: TermSyntax) -> bool:
    """Is it a constant or a variable of at most 64 bits, so that products stay short?"""
    if made.constant:
        return bool(abs(made.value) < _SMALL)
    ends = made.kind[1:] if made.kind[0] == "integer" else (None,)
    return all(end is not None and abs(end) < _SMALL for end in ends)


def _truth_syntax(made: TermSyntax) -> ast.expr:
    """True or false, also of what is neither."""
    if made.kind[0] == BOOLEAN:
        return made.node
    return ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), made.node))


def _connective_syntax(connective: ast.boolop, a: list[TermSyntax]) -> TermSyntax:
    if not a:
        return TermSyntax(ast.Constant(isinstance(connective, ast.And)), TRUTH_VALUE)
    if len(a) == 1:
        return TermSyntax(_truth_syntax(a[0]), TRUTH_VALUE)
    return TermSyntax(ast.BoolOp(connective, [_truth_syntax(m) for m in a]), TRUTH_VALUE)


def _element_syntax(array: TermSyntax, index: TermSyntax, code: ExpressionCompiler) -> TermSyntax:
    """An element, with the limits of the array looked at."""
    here = code.temporary()
    inside = ast.Compare(
        ast.Constant(0), [ast.LtE(), ast.Lt()], [here.bound_to(index.node), ast.Constant(array.kind[1])]
    )
    element = ast.Subscript(array.node, here.load_node(), ast.Load())
    return TermSyntax(ast.IfExp(inside, element, code.call(_refuse_index, [])), array.kind[2])


def _refuse_index() -> Any:
    raise Refused("an index outside its array")
