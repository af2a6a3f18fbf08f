"""Terms as PRISM expressions, with as few brackets as its precedences need."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import NamedTuple

from surefoot.errors import Unsupported
from surefoot.formats.prism.tokens import KEYWORDS
from surefoot.term.decimal_literals import show_number
from surefoot.term.term import Apply, Const, Op, Term, Var
from surefoot.term.traverse import Leaf, fold_term

_INFIX = {  # operator: its sign, and how strongly it binds
    Op.IMPLIES: ("=>", 1),
    Op.OR: ("|", 3),
    Op.AND: ("&", 4),
    Op.EQ: ("=", 6),
    Op.LT: ("<", 7),
    Op.LE: ("<=", 7),
    Op.ADD: ("+", 8),
    Op.SUB: ("-", 8),
    Op.MUL: ("*", 9),
    Op.DIV: ("/", 9),
}
_CALLS = {Op.MIN: "min", Op.MAX: "max", Op.FLOOR: "floor", Op.CEIL: "ceil", Op.POW: "pow"}
_TIGHT = 11
MOST_CHARACTERS = 2_000_000  # of one expression


class PrismText(NamedTuple):
    text: str
    strength: int  # of the operator that binds least

    def within(self, least: int) -> str:
        return self.text if self.strength >= least else f"({self.text})"


def prism_expression(term: Term, names: Mapping[str, str], where: str) -> PrismText:
    """The expression of a term; `names` are those of PRISM, or conditions in brackets."""

    def leaf(part: Leaf) -> PrismText:
        if isinstance(part, Var):
            if part.name not in names:
                raise Unsupported(
                    f"`{part.name}` has no counterpart in PRISM", fix="leave it out", where=where
                )
            return PrismText(names[part.name], _TIGHT)
        return _constant_text(part.value)

    def join(part: Apply, values: list[PrismText]) -> PrismText:
        made = _operation_text(part, values, where)
        if len(made.text) > MOST_CHARACTERS:
            raise Unsupported("an expression is too long", fix="write it with fewer cases", where=where)
        return made

    return fold_term(term, leaf, join)


def _constant_text(value: bool | int | Fraction) -> PrismText:
    if isinstance(value, bool):
        return PrismText(str(value).lower(), _TIGHT)
    if isinstance(value, int):
        return PrismText(str(value), _TIGHT if value >= 0 else 8)
    shown = show_number(value)
    if re.fullmatch(r"[0-9.]+", shown):
        return PrismText(shown, _TIGHT)
    return PrismText(f"{value.numerator}/{value.denominator}", 9 if value >= 0 else 8)


def _operation_text(part: Apply, values: list[PrismText], where: str) -> PrismText:
    op = part.op
    if op in _INFIX:
        sign, own = _INFIX[op]
        first, *others = values
        rest = [f"({v.text})" if v.text.startswith("-") else v.within(own + 1) for v in others]  # no `<-`
        return PrismText(sign.join([first.within(own), *rest]), own)
    if op in _CALLS:
        return PrismText(f"{_CALLS[op]}({', '.join(v.text for v in values)})", _TIGHT)
    if op in _REWRITTEN:
        return _REWRITTEN[op](values)
    if op is Op.MOD and isinstance(part.args[1], Const) and part.args[1].value > 0:
        return PrismText(f"mod({values[0].text}, {values[1].text})", _TIGHT)
    if op is Op.SELECT and isinstance(part.args[0], Apply) and part.args[0].op is Op.ARRAY:
        return _element_text(values)
    if op is Op.ARRAY:  # its elements, each closed, for the operator above
        return PrismText("\n".join(v.within(_TIGHT) for v in values), _TIGHT)
    raise Unsupported(f"PRISM has no operator `{op.value}`", fix="write it in other words", where=where)


def _element_text(values: list[PrismText]) -> PrismText:
    elements, index = values[0].text.split("\n"), values[1].within(7)
    text = elements[-1]
    for number in range(len(elements) - 2, -1, -1):
        text = f"({index}={number}?{elements[number]}:{text})"
    return PrismText(text, _TIGHT)


def _sign_text(values: list[PrismText]) -> PrismText:
    inner = values[0].within(8)
    return PrismText(f"({inner}>0?1:({inner}<0?-1:0))", _TIGHT)


def _truncated_text(values: list[PrismText]) -> PrismText:
    inner = values[0]
    return PrismText(f"({inner.within(8)}>=0?floor({inner.text}):ceil({inner.text}))", _TIGHT)


_REWRITTEN: dict[Op, Callable[[list[PrismText]], PrismText]] = {
    Op.NOT: lambda v: PrismText(f"!({v[0].text})", 5),
    Op.NEG: lambda v: PrismText(f"-{v[0].within(10)}", 8),
    Op.ITE: lambda v: PrismText(f"({v[0].within(1)}?{v[1].within(1)}:{v[2].text})", _TIGHT),
    Op.ABS: lambda v: PrismText(f"max({v[0].text}, -{v[0].within(_TIGHT)})", _TIGHT),
    Op.SIGN: _sign_text,
    Op.TRUNC: _truncated_text,
}


def prism_names(wanted: Iterable[str], taken: set[str]) -> dict[str, str]:
    """Names that PRISM allows, none of them twice; they are added to `taken`."""
    found: dict[str, str] = {}
    for name in wanted:
        plain = re.sub(r"[^A-Za-z0-9_]", "_", name)
        if not re.match(r"[A-Za-z_]", plain):
            plain = f"_{plain}"
        while plain in taken or plain in KEYWORDS or plain in ("dtmc", "mdp", "ma", "multi"):
            plain += "_"
        taken.add(plain)
        found[name] = plain
    return found
