"""Terms as text. Parentheses stand exactly where reading would otherwise nest differently.

Not on `fold_term`: how much of a part is shown depends on how deep it stands, not on the part alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from surefoot.term.decimal_literals import show_number
from surefoot.term.operator_syntax import (
    AND,
    AT,
    ATOM,
    CHOSEN,
    COMPARE,
    FUNCTIONS,
    IMPLIES,
    KEYWORDS,
    NOT,
    OR,
    OUTPUT,
    POWER,
    PRODUCT,
    SUM,
    UNARY,
)
from surefoot.term.reserved_names import (
    chosen_action,
    chosen_name,
    location_name,
    location_parts,
    network_output_name,
    output_index,
)
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.visible import is_visible

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_FUNCTION_OF = {op: name for name, (op, _) in FUNCTIONS.items()}
_PAIRS = (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MOD, Op.POW, Op.LT, Op.LE, Op.EQ, Op.IMPLIES, Op.SELECT)
_OPERANDS = {**dict.fromkeys(_PAIRS, 2), Op.NEG: 1, Op.NOT: 1}
_EVERYTHING = 1_000_000


class PrintedTerm(NamedTuple):
    text: str
    level: int  # how tightly it binds


_Layout = Callable[[list[PrintedTerm]], PrintedTerm]


def show_term(term: Term) -> str:
    """The text of a term: `parse_term(show(t)) == t`."""
    return _print_term(term, _EVERYTHING).text


def abbreviate_term(term: Term, depth: int = 4) -> str:
    """The text of a term for a message: what lies deeper than `depth` levels becomes `…`."""
    return _print_term(term, depth).text


def show_name(name: str) -> str:
    """A name as it is, or in backquotes if it is not a plain word."""
    if _PLAIN.match(name) and name not in KEYWORDS:
        return name
    body = "".join(_escape_character(c) for c in name)
    return f"`{body}`"


def _escape_character(character: str) -> str:
    if character in "`\\":
        return "\\" + character
    return character if is_visible(character) else f"\\u{{{ord(character):x}}}"


def _show_variable(name: str) -> str:
    """A name where a term is expected: reserved names keep their parts, `output` is not taken for one."""
    if (index := output_index(name)) is not None and network_output_name(index) == name:
        return name
    if (action := chosen_action(name)) is not None and chosen_name(action) == name:
        return f"{CHOSEN}({show_name(action)})"
    if (parts := location_parts(name)) is not None and location_name(*parts) == name:
        return f"{AT}({show_name(parts[0])}, {show_name(parts[1])})"
    return f"`{name}`" if name == OUTPUT else show_name(name)


def _print_term(whole: Term, most: int) -> PrintedTerm:
    """Bottom up with a stack of its own, so that no term is too deep to be shown."""
    done: list[PrintedTerm] = []
    waiting: list[tuple[Term, int, bool]] = [(whole, most, False)]
    while waiting:
        term, depth, operands_are_done = waiting.pop()
        if not isinstance(term, Apply):
            done.append(_print_leaf(term))
        elif depth <= 0:
            done.append(PrintedTerm("…", ATOM))
        elif operands_are_done:
            layout, operands = _choose_layout(term)
            first = len(done) - len(operands)
            done[first:] = [layout(done[first:])]
        else:
            waiting.append((term, depth, True))
            waiting.extend((a, depth - 1, False) for a in reversed(_choose_layout(term)[1]))
    return done[0]


def _print_leaf(term: Const | Var) -> PrintedTerm:
    match term:
        case Var(name):
            return PrintedTerm(_show_variable(name), ATOM)
        case Const(bool() as value):
            return PrintedTerm("true" if value else "false", ATOM)
        case Const(value):
            text = show_number(value)
            return PrintedTerm(text, PRODUCT if "/" in text else UNARY if value < 0 else ATOM)


def _choose_layout(term: Apply) -> tuple[_Layout, tuple[Term, ...]]:
    match term:
        case Apply(Op.NOT, (Apply(Op.EQ, (left, right)),)):
            return _DIFFERENT, (left, right)
        case Apply(Op.LT | Op.LE as op, (Const() as left, right)) if not isinstance(right, Const):
            return _TURNED[op], (right, left)  # `x > 3` is how one would write `3 < x`
        case Apply(op, args) if len(args) != _OPERANDS.get(op, len(args)):
            return _call_layout(_FUNCTION_OF.get(op, op.value)), args  # sums of many, or a malformed term
        case _:
            return LAYOUT[term.op], term.args


def _parenthesise_operand(piece: PrintedTerm, level: int) -> str:
    """The text of an operand, in parentheses if it binds less tightly than `level`."""
    return piece.text if piece.level >= level else f"({piece.text})"


def _infix_layout(sign: str, level: int, left: int, right: int) -> _Layout:
    return lambda parts: PrintedTerm(
        f"{_parenthesise_operand(parts[0], left)}{sign}{_parenthesise_operand(parts[1], right)}", level
    )


def _nary_layout(word: str, level: int) -> _Layout:
    return lambda parts: PrintedTerm(
        f" {word} ".join([_parenthesise_operand(p, level + 1) for p in parts]), level
    )


def _call_layout(name: str) -> _Layout:
    return lambda parts: PrintedTerm(f"{name}({', '.join([p.text for p in parts])})", ATOM)


_DIFFERENT = _infix_layout(" != ", COMPARE, SUM, SUM)
_TURNED = {Op.LT: _infix_layout(" > ", COMPARE, SUM, SUM), Op.LE: _infix_layout(" >= ", COMPARE, SUM, SUM)}
LAYOUT: dict[Op, _Layout] = {
    **{op: _call_layout(name) for op, name in _FUNCTION_OF.items()},
    Op.ADD: _infix_layout(" + ", SUM, SUM, PRODUCT),
    Op.SUB: _infix_layout(" - ", SUM, SUM, PRODUCT),
    Op.NEG: lambda parts: PrintedTerm(f"-{_parenthesise_operand(parts[0], POWER)}", UNARY),
    Op.MUL: _infix_layout(" * ", PRODUCT, PRODUCT, UNARY),
    Op.DIV: _infix_layout(" / ", PRODUCT, PRODUCT, UNARY),
    Op.MOD: _infix_layout(" % ", PRODUCT, PRODUCT, UNARY),
    Op.POW: _infix_layout("^", POWER, ATOM, POWER),
    Op.LT: _infix_layout(" < ", COMPARE, SUM, SUM),
    Op.LE: _infix_layout(" <= ", COMPARE, SUM, SUM),
    Op.EQ: _infix_layout(" = ", COMPARE, SUM, SUM),
    Op.NOT: lambda parts: PrintedTerm(f"not {_parenthesise_operand(parts[0], NOT)}", NOT),
    Op.AND: _nary_layout("and", AND),
    Op.OR: _nary_layout("or", OR),
    Op.IMPLIES: _infix_layout(" => ", IMPLIES, OR, IMPLIES),
    Op.ARRAY: lambda parts: PrintedTerm(f"[{', '.join([p.text for p in parts])}]", ATOM),
    Op.SELECT: lambda parts: PrintedTerm(f"{_parenthesise_operand(parts[0], ATOM)}[{parts[1].text}]", ATOM),
}
