"""How operators are written: functions, symbols with their binding strength, and the words that are taken.

Reader and printer both work from these tables, so that they cannot drift apart.
"""

from __future__ import annotations

from typing import NamedTuple

from surefoot.term.term import Op

# How tightly an operator binds, loosest first.
IMPLIES, OR, AND, NOT, COMPARE, SUM, PRODUCT, UNARY, POWER, ATOM = range(1, 11)


class Arity(NamedTuple):
    least: int
    most: int | None  # None: as many as you like

    def allows(self, count: int) -> bool:
        return self.least <= count and (self.most is None or count <= self.most)

    def __str__(self) -> str:
        if self.most is None:
            return f"at least {self.least} arguments"
        return f"{self.least} argument{'s' if self.least != 1 else ''}"


_ONE, _SEVERAL = Arity(1, 1), Arity(2, None)

FUNCTIONS: dict[str, tuple[Op, Arity]] = {
    "sum": (Op.ADD, _SEVERAL),
    "product": (Op.MUL, _SEVERAL),
    "min": (Op.MIN, _SEVERAL),
    "max": (Op.MAX, _SEVERAL),
    "abs": (Op.ABS, _ONE),
    "sgn": (Op.SIGN, _ONE),
    "floor": (Op.FLOOR, _ONE),
    "ceil": (Op.CEIL, _ONE),
    "trc": (Op.TRUNC, _ONE),
    "ite": (Op.ITE, Arity(3, 3)),
    "sqrt": (Op.SQRT, _ONE),
    "exp": (Op.EXP, _ONE),
    "log": (Op.LOG, _ONE),
    "sin": (Op.SIN, _ONE),
    "cos": (Op.COS, _ONE),
    "tan": (Op.TAN, _ONE),
    "asin": (Op.ASIN, _ONE),
    "acos": (Op.ACOS, _ONE),
    "atan": (Op.ATAN, _ONE),
    "tanh": (Op.TANH, _ONE),
}
OUTPUT, CHOSEN, AT = "output", "chosen", "at"  # `output[3]`, `chosen(brake)`, `at(car, drive)`

_CONNECTIVES = {"=>": IMPLIES, "or": OR, "|": OR, "and": AND, "&": AND}
_COMPARISONS = ("=", "==", "!=", "<", "<=", ">", ">=")
_ARITHMETIC = {"+": SUM, "-": SUM, "*": PRODUCT, "/": PRODUCT, "%": PRODUCT, "^": POWER}
LEVEL = {**_CONNECTIVES, **dict.fromkeys(_COMPARISONS, COMPARE), **_ARITHMETIC}
NEGATIONS = ("not", "~", "!")

CONSTANTS = {"true": True, "false": False}
KEYWORDS = frozenset({"and", "or", "not", *CONSTANTS})

# Words with a meaning where a property expects them; a variable of that name is put in backquotes there.
UNARY_PATHS = ("X", "F", "G")
BINARY_PATHS = ("U", "W", "R")
