"""Terms over states, turned into functions: exact numbers, and an error wherever something is undefined.

A state is a tuple; `slots` says where the names stand in it. A term is a JSON number, true, false, a fraction
as a string, `["name", n]`, or `[operator, argument, …]` (docs/certificates.md, section 11). A term becomes a
syntax tree of ours (`code`): places in the state, numbers and the operators of this file, nothing else. No
text of a certificate is ever part of what is run.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import reduce
from typing import Any

from ...kernel.strict_json import (
    BadCertificate,
    Refused,
    expect_list,
    expect_number,
    expect_text,
    limit_bits,
    limited_power,
)
from .term_code import (
    BOOLEAN,
    INTEGER,
    ExpressionCompiler,
    TermSyntax,
    choice_syntax,
    constant_syntax,
    slot_syntax,
)

Row = tuple[Any, ...]
Function = Callable[[Row], Any]
Kind = tuple[Any, ...]  # ("boolean",), ("integer", low, high), ("real", low, high), ("array", length, kind)
LARGEST_EXPONENT = 10_000
DEEPEST = 400
DIGITS = 80
_FEW = 20  # arguments of a sum that is written out
_SMALL = 1 << 64


def integer_if_whole(value: Any) -> Any:
    """Whole numbers are `int`."""
    return value.numerator if type(value) is Fraction and value.denominator == 1 else value


def compile_row_function(
    data: Any, slots: Mapping[str, int], kinds: Mapping[int, Kind] | None = None
) -> Function:
    """The function from a state to the value of a term; `kinds`: of slots that are sure to have them."""
    code = ExpressionCompiler()
    made = term_to_syntax(data, slots, kinds or {}, code)
    return code.function(made.node)


def term_to_syntax(
    data: Any, slots: Mapping[str, int], kinds: Mapping[int, Kind], code: ExpressionCompiler, depth: int = 0
) -> TermSyntax:
    """A term as a syntax tree."""
    if depth > DEEPEST:
        raise BadCertificate("a term is nested too deeply")
    if type(data) in (bool, int, str):
        return constant_syntax(
            data if type(data) is bool else integer_if_whole(expect_number(data, "a number in a term")), code
        )
    parts = expect_list(data, "a term")
    operator = expect_text(parts[0], "operator") if parts else ""
    if operator == "name":
        slot = slots.get(expect_text(parts[1], "a name")) if len(parts) == 2 else None
        if slot is None:
            raise BadCertificate(f"a term mentions the unknown name {str(parts[1:])[:40]}")
        kind = kinds.get(slot, ("",))
        return TermSyntax(
            slot_syntax(slot), kind[0], length=kind[1] if kind[0] == "array" else None, kind=kind
        )
    arguments = [term_to_syntax(p, slots, kinds, code, depth + 1) for p in parts[1:]]
    evaluate = _operator_meaning(operator, len(arguments))
    if all(a.constant for a in arguments):
        try:
            return constant_syntax(evaluate(*(a.value for a in arguments)), code)
        except Refused:  # undefined: an error only where it is looked at
            pass
    return _operator_syntax(operator, arguments, evaluate, code)


def _operator_meaning(operator: str, count: int) -> Callable[..., Any]:
    """What an operator does to values; connectives look at all of theirs here."""
    if operator in _BINARY and count == 2:
        return _BINARY[operator]
    if operator in _UNARY and count == 1:
        return _UNARY[operator]
    if operator in _SEVERAL and count:
        return _SEVERAL[operator]
    if operator in ("and", "or"):
        return (lambda *xs: all(xs)) if operator == "and" else (lambda *xs: any(xs))
    if operator == "=>" and count == 2:
        return lambda premise, conclusion: not premise or bool(conclusion)
    if operator == "ite" and count == 3:
        return lambda condition, then, otherwise: then if condition else otherwise
    raise BadCertificate(f"a term with the operator `{operator[:20]}` and {count} arguments is not covered")


def _operator_syntax(
    operator: str, a: list[TermSyntax], evaluate: Callable[..., Any], code: ExpressionCompiler
) -> TermSyntax:
    """The operator as Python: written out where that means the same, otherwise a call of its meaning."""
    nodes = [m.node for m in a]
    whole = all(m.sort == INTEGER for m in a)
    if operator in ("and", "or"):
        return _connective_syntax(ast.And() if operator == "and" else ast.Or(), a)
    if operator == "=>":
        return TermSyntax(
            ast.BoolOp(ast.Or(), [ast.UnaryOp(ast.Not(), nodes[0]), _truth_syntax(a[1])]), BOOLEAN
        )
    if operator == "ite":
        sort = a[1].sort if a[1].sort == a[2].sort and a[1].sort in (INTEGER, BOOLEAN) else ""
        return TermSyntax(ast.IfExp(nodes[0], nodes[1], nodes[2]), sort)
    if operator == "not":
        return TermSyntax(ast.UnaryOp(ast.Not(), nodes[0]), BOOLEAN)
    if operator in _COMPARED:
        return TermSyntax(ast.Compare(nodes[0], [_COMPARED[operator]()], [nodes[1]]), BOOLEAN)
    if whole and operator in _WHOLE and len(nodes) <= _FEW and (operator != "*" or all(map(_is_small, a))):
        found = nodes[0]
        for other in nodes[1:]:
            found = ast.BinOp(found, _WHOLE[operator](), other)
        return TermSyntax(found, INTEGER)
    if whole and operator == "%" and a[1].constant and a[1].value > 0:
        return TermSyntax(ast.BinOp(nodes[0], ast.Mod(), nodes[1]), INTEGER)
    if whole and operator in ("min", "max") and len(nodes) == 2:
        better: ast.cmpop = ast.LtE() if operator == "min" else ast.GtE()
        return TermSyntax(choice_syntax(nodes[0], better, nodes[1], code), INTEGER)
    if whole and operator in ("floor", "ceil", "trc"):
        return a[0]
    if whole and operator == "negate":
        return TermSyntax(ast.UnaryOp(ast.USub(), nodes[0]), INTEGER)
    if operator == "select" and a[1].sort == INTEGER and a[0].length is not None:
        return _element_syntax(a[0], a[1], code)
    sort = INTEGER if whole and operator in ("abs", "sgn", "min", "max", "+", "*", "-") else ""
    return TermSyntax(code.call(evaluate, nodes), sort)


def _is_small(made: TermSyntax) -> bool:
    """Is it a constant or a variable of at most 64 bits, so that products stay short?"""
    if made.constant:
        return bool(abs(made.value) < _SMALL)
    ends = made.kind[1:] if made.kind[0] == "integer" else (None,)
    return all(end is not None and abs(end) < _SMALL for end in ends)


def _truth_syntax(made: TermSyntax) -> ast.expr:
    """True or false, also of what is neither."""
    if made.sort == BOOLEAN:
        return made.node
    return ast.UnaryOp(ast.Not(), ast.UnaryOp(ast.Not(), made.node))


def _connective_syntax(connective: ast.boolop, a: list[TermSyntax]) -> TermSyntax:
    if not a:
        return TermSyntax(ast.Constant(isinstance(connective, ast.And)), BOOLEAN)
    if len(a) == 1:
        return TermSyntax(_truth_syntax(a[0]), BOOLEAN)
    return TermSyntax(ast.BoolOp(connective, [_truth_syntax(m) for m in a]), BOOLEAN)


def _element_syntax(array: TermSyntax, index: TermSyntax, code: ExpressionCompiler) -> TermSyntax:
    """An element, with the limits of the array looked at."""
    here = code.temporary()
    inside = ast.Compare(
        ast.Constant(0), [ast.LtE(), ast.Lt()], [here.bound_to(index.node), ast.Constant(array.length)]
    )
    element = ast.Subscript(array.node, here.load_node(), ast.Load())
    found = ast.IfExp(inside, element, code.call(_refuse_index, []))
    kind: Kind = array.kind[2] if array.kind[0] == "array" else ("",)
    return TermSyntax(found, kind[0], length=kind[1] if kind[0] == "array" else None, kind=kind)


def _refuse_index() -> Any:
    raise Refused("an index outside its array")


def _divide_exactly(a: Any, b: Any) -> Any:
    if b == 0:
        raise Refused("a division by zero")
    return integer_if_whole(limit_bits(Fraction(a) / Fraction(b)))


def _modulo_integers(a: Any, b: Any) -> Any:
    if type(a) is not int or type(b) is not int or b == 0:
        raise Refused("`%` of what is not a whole number, or by zero")
    return a % abs(b)


def _raise_power(base: Any, exponent: Any) -> Any:
    if base == 0 and exponent < 0:
        raise Refused("a power of zero that is not defined")
    if type(exponent) is not int:
        return _rounded_power(Fraction(base), Fraction(exponent))
    if abs(exponent) > LARGEST_EXPONENT:
        raise Refused("an exponent that is too large")
    return integer_if_whole(limited_power(base, exponent))


def _rounded_power(base: Fraction, exponent: Fraction) -> Any:
    """Powers that are not rational are, by definition, the nearest float64."""
    if base < 0:
        raise Refused("a fractional power of a negative number")
    if base == 0:
        return 0
    with localcontext(Context(prec=DIGITS)):
        low, high = (Decimal(x.numerator) / Decimal(x.denominator) for x in (base, exponent))
        power = (high * low.ln()).exp()
        if not -300 < power.adjusted() < 300:
            raise Refused("a power that is too large or too small")
        return integer_if_whole(Fraction(float(Fraction(power))))


def _select_element(array: Any, index: Any) -> Any:
    if type(index) is not int or not 0 <= index < len(array):
        raise Refused("an index outside its array")
    return array[index]


_COMPARED = {"<": ast.Lt, "<=": ast.LtE, "=": ast.Eq}
_WHOLE = {"+": ast.Add, "*": ast.Mult, "-": ast.Sub}
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "-": lambda a, b: integer_if_whole(limit_bits(a - b)),
    "/": _divide_exactly,
    "%": _modulo_integers,
    "^": _raise_power,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
    "select": _select_element,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "negate": lambda x: -x,
    "abs": abs,
    "sgn": lambda x: (x > 0) - (x < 0),
    "floor": math.floor,
    "ceil": math.ceil,
    "trc": math.trunc,
    "not": lambda x: not x,
}
_SEVERAL: dict[str, Callable[..., Any]] = {
    "+": lambda *xs: integer_if_whole(reduce(lambda a, b: limit_bits(a + b), xs)),
    "*": lambda *xs: integer_if_whole(reduce(lambda a, b: limit_bits(a * b), xs)),
    "min": lambda *xs: min(xs),
    "max": lambda *xs: max(xs),
    "array": lambda *xs: xs,
}


def json_term_names(data: Any) -> set[str]:
    """Every name in a term that was read before."""
    if type(data) is not list:
        return set()
    if data[0] == "name":
        return {data[1]}
    return set().union(*(json_term_names(part) for part in data[1:]))
