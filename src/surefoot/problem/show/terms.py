"""Terms as text. Parentheses stand exactly where reading would otherwise nest differently."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from surefoot.problem.names import (
    chosen_action,
    chosen_name,
    location_name,
    location_parts,
    output_index,
    output_name,
)
from surefoot.problem.parse.number import show_number
from surefoot.problem.parse.spelling import (
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
from surefoot.problem.term import Apply, Const, Op, Term, Var
from surefoot.visible import is_visible

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*\Z")
_FUNCTION_OF = {op: name for name, (op, _) in FUNCTIONS.items()}
_PAIRS = (Op.ADD, Op.SUB, Op.MUL, Op.DIV, Op.MOD, Op.POW, Op.LT, Op.LE, Op.EQ, Op.IMPLIES, Op.SELECT)
_OPERANDS = {**dict.fromkeys(_PAIRS, 2), Op.NEG: 1, Op.NOT: 1}
_EVERYTHING = 1_000_000


class Piece(NamedTuple):
    text: str
    level: int  # how tightly it binds


Layout = Callable[[list[Piece]], Piece]


def show(term: Term) -> str:
    """The text of a term: `parse_term(show(t)) == t`."""
    return _laid_out(term, _EVERYTHING).text


def brief(term: Term, depth: int = 4) -> str:
    """The text of a term for a message: what lies deeper than `depth` levels becomes `…`."""
    return _laid_out(term, depth).text


def show_name(name: str) -> str:
    """A name as it is, or in backquotes if it is not a plain word."""
    if _PLAIN.match(name) and name not in KEYWORDS:
        return name
    body = "".join(_escaped(c) for c in name)
    return f"`{body}`"


def _escaped(character: str) -> str:
    if character in "`\\":
        return "\\" + character
    return character if is_visible(character) else f"\\u{{{ord(character):x}}}"


def show_variable(name: str) -> str:
    """A name where a term is expected: reserved names keep their parts, `output` is not taken for one."""
    if (index := output_index(name)) is not None and output_name(index) == name:
        return name
    if (action := chosen_action(name)) is not None and chosen_name(action) == name:
        return f"{CHOSEN}({show_name(action)})"
    if (parts := location_parts(name)) is not None and location_name(*parts) == name:
        return f"{AT}({show_name(parts[0])}, {show_name(parts[1])})"
    return f"`{name}`" if name == OUTPUT else show_name(name)


def _laid_out(whole: Term, most: int) -> Piece:
    """Bottom up with a stack of its own, so that no term is too deep to be shown."""
    done: list[Piece] = []
    waiting: list[tuple[Term, int, bool]] = [(whole, most, False)]
    while waiting:
        term, depth, operands_are_done = waiting.pop()
        if not isinstance(term, Apply):
            done.append(_leaf(term))
        elif depth <= 0:
            done.append(Piece("…", ATOM))
        elif operands_are_done:
            layout, operands = _layout(term)
            first = len(done) - len(operands)
            done[first:] = [layout(done[first:])]
        else:
            waiting.append((term, depth, True))
            waiting.extend((a, depth - 1, False) for a in reversed(_layout(term)[1]))
    return done[0]


def _leaf(term: Const | Var) -> Piece:
    match term:
        case Var(name):
            return Piece(show_variable(name), ATOM)
        case Const(bool() as value):
            return Piece("true" if value else "false", ATOM)
        case Const(value):
            text = show_number(value)
            return Piece(text, PRODUCT if "/" in text else UNARY if value < 0 else ATOM)


def _layout(term: Apply) -> tuple[Layout, tuple[Term, ...]]:
    match term:
        case Apply(Op.NOT, (Apply(Op.EQ, (left, right)),)):
            return _DIFFERENT, (left, right)
        case Apply(Op.LT | Op.LE as op, (Const() as left, right)) if not isinstance(right, Const):
            return _TURNED[op], (right, left)  # `x > 3` is how one would write `3 < x`
        case Apply(op, args) if len(args) != _OPERANDS.get(op, len(args)):
            return _call(_FUNCTION_OF.get(op, op.value)), args  # sums of many, or a malformed term
        case _:
            return LAYOUT[term.op], term.args


def _inside(piece: Piece, level: int) -> str:
    """The text of an operand, in parentheses if it binds less tightly than `level`."""
    return piece.text if piece.level >= level else f"({piece.text})"


def _infix(sign: str, level: int, left: int, right: int) -> Layout:
    return lambda parts: Piece(f"{_inside(parts[0], left)}{sign}{_inside(parts[1], right)}", level)


def _joined(word: str, level: int) -> Layout:
    return lambda parts: Piece(f" {word} ".join([_inside(p, level + 1) for p in parts]), level)


def _call(name: str) -> Layout:
    return lambda parts: Piece(f"{name}({', '.join([p.text for p in parts])})", ATOM)


_DIFFERENT = _infix(" != ", COMPARE, SUM, SUM)
_TURNED = {Op.LT: _infix(" > ", COMPARE, SUM, SUM), Op.LE: _infix(" >= ", COMPARE, SUM, SUM)}
LAYOUT: dict[Op, Layout] = {
    **{op: _call(name) for op, name in _FUNCTION_OF.items()},
    Op.ADD: _infix(" + ", SUM, SUM, PRODUCT),
    Op.SUB: _infix(" - ", SUM, SUM, PRODUCT),
    Op.NEG: lambda parts: Piece(f"-{_inside(parts[0], POWER)}", UNARY),
    Op.MUL: _infix(" * ", PRODUCT, PRODUCT, UNARY),
    Op.DIV: _infix(" / ", PRODUCT, PRODUCT, UNARY),
    Op.MOD: _infix(" % ", PRODUCT, PRODUCT, UNARY),
    Op.POW: _infix("^", POWER, ATOM, POWER),
    Op.LT: _infix(" < ", COMPARE, SUM, SUM),
    Op.LE: _infix(" <= ", COMPARE, SUM, SUM),
    Op.EQ: _infix(" = ", COMPARE, SUM, SUM),
    Op.NOT: lambda parts: Piece(f"not {_inside(parts[0], NOT)}", NOT),
    Op.AND: _joined("and", AND),
    Op.OR: _joined("or", OR),
    Op.IMPLIES: _infix(" => ", IMPLIES, OR, IMPLIES),
    Op.ARRAY: lambda parts: Piece(f"[{', '.join([p.text for p in parts])}]", ATOM),
    Op.SELECT: lambda parts: Piece(f"{_inside(parts[0], ATOM)}[{parts[1].text}]", ATOM),
}
