"""Terms as nested tuples: their value, their text in surefoot's syntax and in JANI.

A term is a number, a truth value, `("var", name)`, or `(operator, term, …)`.
"""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

Term = Any
Value = Any


class UndefinedError(Exception):
    """A term has no value here: a division by zero, an index outside of an array."""

    beside: tuple[Any, ...] = ()  # what has a meaning all the same


def number(value: Value) -> Value:
    """Whole numbers as `int`, all others as `Fraction`."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return int(value)
    return value


def divide(a: Value, b: Value) -> Value:
    if b == 0:
        raise UndefinedError("division by zero")
    return number(Fraction(a) / Fraction(b))


def remainder(a: Value, b: Value) -> Value:
    """Euclidean, as JANI has it: the result is at least 0 and less than |b|."""
    if b == 0:
        raise UndefinedError("remainder by zero")
    size = abs(Fraction(b))
    return number(Fraction(a) - size * math.floor(Fraction(a) / size))


def power(a: Value, b: Value) -> Value:
    if Fraction(b).denominator != 1:
        raise UndefinedError("a fractional power")
    if b < 0 and a == 0:
        raise UndefinedError("a negative power of zero")
    return number(Fraction(a) ** int(b))


STRICT = {
    "+": lambda a, b: number(a + b),
    "-": lambda a, b: number(a - b),
    "*": lambda a, b: number(a * b),
    "/": divide,
    "%": remainder,
    "^": power,
    "neg": lambda a: -a,
    "min": min,
    "max": max,
    "abs": abs,
    "sgn": lambda a: (a > 0) - (a < 0),
    "floor": math.floor,
    "ceil": math.ceil,
    "trc": math.trunc,
    "=": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "not": lambda a: not a,
    "array": lambda *items: items,
    "sum": lambda *items: number(sum(items)),
    "product": lambda *items: number(math.prod(items)),
}


def value_of(term: Term, names: Mapping[str, Value]) -> Value:
    """The exact value; later arguments of `and`, `or`, `=>` and `ite` are looked at only if they matter."""
    if not isinstance(term, tuple):
        return number(term)
    op = term[0]
    if op == "var":
        return names[term[1]]
    if op in ("at", "chosen", "output"):
        return names[special_name(term)]
    if op == "and":
        return all(value_of(part, names) for part in term[1:])
    if op == "or":
        return any(value_of(part, names) for part in term[1:])
    if op == "=>":
        return not value_of(term[1], names) or value_of(term[2], names)
    if op == "ite":
        return value_of(term[2] if value_of(term[1], names) else term[3], names)
    if op == "chain":
        return value_of(unchain(term), names)
    if op == "call":  # ("call", function, parameters, body, argument, …)
        given = [value_of(part, names) for part in term[4:]]
        return value_of(term[3], dict(zip(term[2], given, strict=True)))
    arguments = [value_of(part, names) for part in term[1:]]
    if op == "select":
        array, index = arguments
        if not 0 <= index < len(array):
            raise UndefinedError("an index outside of the array")
        return array[index]
    return STRICT[op](*arguments)


def special_name(term: Term) -> str:
    """Under which name the value of `at(c, l)`, `chosen(a)` and `output[i]` is kept."""
    return {"at": "@{}={}", "chosen": "?{}", "output": "output{}"}[term[0]].format(*term[1:])


def unchain(term: Term) -> Term:
    """`("chain", a, "<=", b, "<", c)` as a conjunction."""
    items = term[1:]
    pairs = [(items[i + 1], items[i], items[i + 2]) for i in range(0, len(items) - 2, 2)]
    return ("and", *pairs)


def names_in(term: Term) -> set[str]:
    if not isinstance(term, tuple):
        return set()
    if term[0] == "var":
        return {term[1]}
    if term[0] in ("at", "chosen", "output"):
        return {special_name(term)}
    return {name for part in term[4 if term[0] == "call" else 1 :] for name in names_in(part)}


def functions_in(term: Term) -> dict[str, tuple[tuple[str, ...], Term]]:
    """The functions that a term calls: name, parameters, body."""
    if not isinstance(term, tuple) or term[0] == "var":
        return {}
    found = {term[1]: (term[2], term[3])} if term[0] == "call" else {}
    for part in term[4 if term[0] == "call" else 1 :]:
        found |= functions_in(part)
    return found


# Text in surefoot's syntax, with the parentheses that its table of operators asks for

LEVELS = {"=>": 1, "or": 2, "and": 3, "not": 4, "chain": 5, "neg": 8, "^": 9}
LEVELS |= dict.fromkeys(("=", "!=", "<", "<=", ">", ">="), 5) | {"+": 6, "-": 6, "*": 7, "/": 7, "%": 7}


def text_of(term: Term) -> str:
    return print_term(term)[0]


def print_term(term: Term) -> tuple[str, int]:
    """The text, and how tightly its outermost operator binds."""
    if isinstance(term, bool):
        return ("true" if term else "false"), 10
    if isinstance(term, int):
        return str(term), 10 if term >= 0 else 8
    if isinstance(term, Fraction):
        return print_fraction(term)
    op, *arguments = term
    if op == "var":
        return arguments[0], 10
    if op == "at":
        return f"at({arguments[0]}, {arguments[1]})", 10
    if op == "chosen":
        return f"chosen({arguments[0]})", 10
    if op == "output":
        return f"output[{arguments[0]}]", 10
    if op == "array":
        return "[" + ", ".join(map(text_of, arguments)) + "]", 10
    if op == "select":
        return f"{wrap(arguments[0], 10)}[{text_of(arguments[1])}]", 10
    if op == "chain":
        return " ".join(a if i % 2 else wrap(a, 6) for i, a in enumerate(arguments)), 5
    if op not in LEVELS:
        return f"{op}(" + ", ".join(map(text_of, arguments)) + ")", 10
    level = LEVELS[op]
    if op == "not":
        return f"not {wrap(arguments[0], 4)}", 4
    if op == "neg":
        return f"-{wrap(arguments[0], 9)}", 8
    if op in ("and", "or"):
        return f" {op} ".join(wrap(a, level + 1) for a in arguments), level
    right_grouping = op in ("=>", "^")
    left = wrap(arguments[0], level + (right_grouping or level == 5))
    right = wrap(arguments[1], level + (not right_grouping))
    return f"{left} {op} {right}", level


def print_fraction(value: Fraction) -> tuple[str, int]:
    if value.denominator == 1:
        return print_term(int(value))
    if value.denominator in (2, 4, 5, 8, 10):
        return str(float(value)), 10 if value > 0 else 8
    return f"{value.numerator}/{value.denominator}", 7


def wrap(term: Term, least: int) -> str:
    text, level = print_term(term)
    return text if level >= least else f"({text})"


# JANI

SYMBOLS = {
    "and": "∧",
    "or": "∨",
    "not": "¬",
    "=>": "⇒",
    "!=": "≠",
    "<=": "≤",
    ">=": "≥",
    "^": "pow",
    "sum": "+",
    "product": "*",
}


def jani_of(term: Term) -> Any:
    if isinstance(term, bool | int):
        return term
    if isinstance(term, Fraction):
        if term.denominator in (1, 2, 4, 5, 8, 10):
            return int(term) if term.denominator == 1 else float(term)
        return {"op": "/", "left": term.numerator, "right": term.denominator}
    op, *arguments = term
    if op == "var":
        return arguments[0]
    if op == "chain":
        return jani_of(unchain(term))
    if op == "neg":
        return {"op": "-", "left": 0, "right": jani_of(arguments[0])}
    if op == "array":
        return {"op": "av", "elements": [jani_of(a) for a in arguments]}
    if op == "call":
        return {"op": "call", "function": arguments[0], "args": [jani_of(a) for a in arguments[3:]]}
    parts = [jani_of(a) for a in arguments]
    if op == "select":
        return {"op": "aa", "exp": parts[0], "index": parts[1]}
    if op == "ite":
        return {"op": "ite", "if": parts[0], "then": parts[1], "else": parts[2]}
    symbol = SYMBOLS.get(op, op)
    if len(parts) == 1:
        return {"op": symbol, "exp": parts[0]}
    result = parts[0]
    for part in parts[1:]:
        result = {"op": symbol, "left": result, "right": part}
    return result
