"""Terms over states, turned into functions: exact numbers, and an error wherever something is undefined.

A state is a tuple; `slots` says where the names stand in it. A term is a JSON number, true, false, a fraction
as a string, `["name", n]`, or `[operator, argument, …]` (docs/certificates.md, section 11).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import reduce
from operator import add, mul
from typing import Any

from ..number import BadCertificate, Refused, items, number, text

Row = tuple[Any, ...]
Function = Callable[[Row], Any]
LARGEST_EXPONENT = 10_000
DEEPEST = 400
DIGITS = 80


def plain(value: Any) -> Any:
    """Whole numbers are `int`."""
    return value.numerator if type(value) is Fraction and value.denominator == 1 else value


def compiled(data: Any, slots: Mapping[str, int]) -> Function:
    """The function that gives the value of a term in a state."""
    return _compiled(data, slots, 0)[0]


def _compiled(data: Any, slots: Mapping[str, int], depth: int) -> tuple[Function, bool]:
    """Also whether it is the same in all states; then it is computed once."""
    if depth > DEEPEST:
        raise BadCertificate("a term is nested too deeply")
    if type(data) in (bool, int, str):
        value = data if type(data) is bool else plain(number(data, "a number in a term"))
        return lambda row: value, True
    parts = items(data, "a term")
    operator = text(parts[0], "operator") if parts else ""
    if operator == "name":
        slot = slots.get(text(parts[1], "a name")) if len(parts) == 2 else None
        if slot is None:
            raise BadCertificate(f"a term mentions the unknown name {str(parts[1:])[:40]}")
        return lambda row: row[slot], False
    several = [_compiled(p, slots, depth + 1) for p in parts[1:]]
    arguments = [function for function, _ in several]
    if (made := _special(operator, parts[1:], arguments, slots)) is not None:
        return made, False
    made = _combined(operator, arguments)
    if not all(constant for _, constant in several):
        return made, False
    try:
        fixed = made(())
    except Refused:  # undefined: an error only where it is looked at
        return made, False
    return lambda row: fixed, True


def _special(
    operator: str, parts: list[Any], arguments: list[Function], slots: Mapping[str, int]
) -> Function | None:
    """Comparisons of a variable with a whole number are the most common terms."""
    if operator not in ("=", "<", "<=") or len(parts) != 2 or type(parts[1]) is not int:
        return None
    if type(parts[0]) is not list or parts[0][0] != "name":
        return None
    slot, value = slots[parts[0][1]], parts[1]
    if operator == "=":
        return lambda row: row[slot] == value
    if operator == "<":
        return lambda row: row[slot] < value
    return lambda row: row[slot] <= value


def _combined(operator: str, a: list[Function]) -> Function:
    if operator == "and":
        return lambda row: all(f(row) for f in a)
    if operator == "or":
        return lambda row: any(f(row) for f in a)
    if operator in _BINARY and len(a) == 2:
        left, right, two = a[0], a[1], _BINARY[operator]
        return lambda row: two(left(row), right(row))
    if operator in _UNARY and len(a) == 1:
        inner, one = a[0], _UNARY[operator]
        return lambda row: one(inner(row))
    if operator in ("+", "*") and len(a) == 2:
        return _two(add if operator == "+" else mul, a[0], a[1])
    if operator in _SEVERAL and a:
        many = _SEVERAL[operator]
        return lambda row: many([f(row) for f in a])
    if operator == "=>" and len(a) == 2:
        premise, conclusion = a
        return lambda row: not premise(row) or bool(conclusion(row))
    if operator == "ite" and len(a) == 3:
        condition, then, otherwise = a
        return lambda row: then(row) if condition(row) else otherwise(row)
    raise BadCertificate(f"a term with the operator `{operator[:20]}` and {len(a)} arguments is not covered")


def _two(combine: Callable[[Any, Any], Any], left: Function, right: Function) -> Function:
    def combined(row: Row) -> Any:
        value = combine(left(row), right(row))
        return value if type(value) is int else plain(value)

    return combined


def _divide(a: Any, b: Any) -> Any:
    if b == 0:
        raise Refused("a division by zero")
    return plain(Fraction(a) / Fraction(b))


def _modulo(a: Any, b: Any) -> Any:
    if type(a) is not int or type(b) is not int or b == 0:
        raise Refused("`%` of what is not a whole number, or by zero")
    return a - b * (a // b)


def _power(base: Any, exponent: Any) -> Any:
    if base == 0 and exponent < 0:
        raise Refused("a power of zero that is not defined")
    if type(exponent) is not int:
        return _rounded_power(Fraction(base), Fraction(exponent))
    if abs(exponent) > LARGEST_EXPONENT:
        raise Refused("an exponent that is too large")
    return plain(Fraction(base) ** exponent)


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
        return plain(Fraction(float(Fraction(power))))


def _select(array: Any, index: Any) -> Any:
    if type(index) is not int or not 0 <= index < len(array):
        raise Refused("an index outside its array")
    return array[index]


_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "-": lambda a, b: plain(a - b),
    "/": _divide,
    "%": _modulo,
    "^": _power,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
    "select": _select,
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
_SEVERAL: dict[str, Callable[[list[Any]], Any]] = {
    "+": lambda xs: plain(reduce(add, xs)),
    "*": lambda xs: plain(reduce(mul, xs)),
    "min": min,
    "max": max,
    "array": tuple,
}


def names(data: Any) -> set[str]:
    """Every name in a term that was read before."""
    if type(data) is not list:
        return set()
    if data[0] == "name":
        return {data[1]}
    return set().union(*(names(part) for part in data[1:]))
