"""Values in machine code: whole numbers with their range, quotients of two of them, truth values, arrays.

Ranges are computed along; where a result might not fit into 64 bits it is computed with a check, and a failed
check ends the function. So nothing ever wraps around.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from surefoot.compile.emit.packing import Objection
from surefoot.problem.environment import Kind
from surefoot.problem.number import brief_number
from surefoot.work.machine.text import Function

UNDEFINED, OVERFLOW = 1, 2  # statuses
_SAFE = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Truth:
    text: str


@dataclass(frozen=True, slots=True)
class Whole:
    text: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Ratio:
    top: Whole
    bottom: Whole  # positive


@dataclass(frozen=True, slots=True)
class InState:
    """An array that is part of a state, from slot `first` on."""

    kind: Kind
    base: str  # the pointer to the unpacked state
    first: Whole
    slot: int  # one of its slots: all elements have the same bounds


@dataclass(frozen=True, slots=True)
class Constants:
    """A rectangular array of constants in memory, from `first` on; `shape` of what is left to select."""

    name: str
    shape: tuple[int, ...]
    first: Whole
    low: int
    high: int
    truth: bool


@dataclass(frozen=True, slots=True)
class Listed:
    elements: tuple[Value, ...]


Number: TypeAlias = Whole | Ratio
Value: TypeAlias = Truth | Whole | Ratio | InState | Constants | Listed


def literal(number: int) -> Whole:
    if abs(number) > _SAFE:
        raise Objection(f"the constant {brief_number(number)} does not fit into 64 bits")
    return Whole(str(number), number, number)


def truth(value: Value) -> Truth:
    if not isinstance(value, Truth):
        raise Objection("a number stands where a truth value is needed")
    return value


def number(value: Value) -> Number:
    if not isinstance(value, Whole | Ratio):
        raise Objection("something other than a number stands where a number is needed")
    return value


def ratio(value: Number) -> Ratio:
    return value if isinstance(value, Ratio) else Ratio(value, literal(1))


def _fit(text_of: str, f: Function, left: Whole, right: Whole, low: int, high: int) -> Whole:
    if low == high and abs(low) <= _SAFE:
        return literal(low)
    if low >= -_SAFE and high <= _SAFE:
        return Whole(f.value(f"{text_of} nsw i64 {left.text}, {right.text}"), low, high)
    checked = f.checked("s" + text_of, left.text, right.text, OVERFLOW)
    return Whole(checked, max(low, -_SAFE - 1), min(high, _SAFE))


def add(f: Function, left: Whole, right: Whole) -> Whole:
    if right.low == right.high == 0:
        return left
    if left.low == left.high == 0:
        return right
    return _fit("add", f, left, right, left.low + right.low, left.high + right.high)


def subtract(f: Function, left: Whole, right: Whole) -> Whole:
    if right.low == right.high == 0:
        return left
    return _fit("sub", f, left, right, left.low - right.high, left.high - right.low)


def multiply(f: Function, left: Whole, right: Whole) -> Whole:
    for one, other in ((left, right), (right, left)):
        if one.low == one.high == 1:
            return other
    corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    return _fit("mul", f, left, right, min(corners), max(corners))


def select(f: Function, condition: Truth, then: Whole, otherwise: Whole) -> Whole:
    if then.text == otherwise.text:
        return then
    text = f.value(f"select i1 {condition.text}, i64 {then.text}, i64 {otherwise.text}")
    return Whole(text, min(then.low, otherwise.low), max(then.high, otherwise.high))


def compare(f: Function, how: str, left: Whole, right: Whole) -> Truth:
    """`slt`, `sle` or `eq`; decided at once where the ranges decide it."""
    always = {"slt": left.high < right.low, "sle": left.high <= right.low, "eq": False}
    never = {"slt": left.low >= right.high, "sle": left.low > right.high}
    if always[how] or (how == "eq" and left.low == left.high == right.low == right.high):
        return Truth("true")
    if never.get(how, left.high < right.low or right.high < left.low):
        return Truth("false")
    return Truth(f.compare(how, left.text, right.text))


def negative(f: Function, value: Whole) -> Whole:
    return subtract(f, literal(0), value)


def floor(f: Function, value: Number) -> Whole:
    """Towards minus infinity."""
    if isinstance(value, Whole):
        return value
    top, bottom = value.top, value.bottom
    quotient = f.value(f"sdiv i64 {top.text}, {bottom.text}")
    corners = [a // b for a in (top.low, top.high) for b in (bottom.low, bottom.high)]
    if top.low < 0:
        rest = f.value(f"srem i64 {top.text}, {bottom.text}")
        below = f.value(f"zext i1 {f.compare('slt', rest, '0')} to i64")
        quotient = f.sub(quotient, below)
    return Whole(quotient, min(corners), max(corners))


def truncate(f: Function, value: Number) -> Whole:
    """Towards zero."""
    if isinstance(value, Whole):
        return value
    top, bottom = value.top, value.bottom
    corners = [_towards_zero(a, b) for a in (top.low, top.high) for b in (bottom.low, bottom.high)]
    return Whole(f.value(f"sdiv i64 {top.text}, {bottom.text}"), min(corners), max(corners))


def _towards_zero(top: int, bottom: int) -> int:
    return top // bottom if top >= 0 else -(-top // bottom)


def whole(f: Function, value: Number) -> Whole:
    """The value as a whole number; undefined unless it is one."""
    if isinstance(value, Whole):
        return value
    if value.bottom.low == value.bottom.high == 1:
        return value.top
    rest = f.value(f"srem i64 {value.top.text}, {value.bottom.text}")
    f.fail(f.compare("ne", rest, "0"), UNDEFINED)
    return truncate(f, value)


def modulo(f: Function, left: Whole, right: Whole) -> Whole:
    """The Euclidean remainder: `srem` has the sign of the dividend, and a negative one is moved up by |b|."""
    _refuse_zero(f, right)
    if right.low == right.high and abs(right.low) <= 1:
        return literal(0)
    if left.low < -_SAFE:
        f.fail(f.compare("eq", left.text, str(left.low)), OVERFLOW)  # divided by -1 it does not fit
    largest = max(0, abs(right.low) - 1, abs(right.high) - 1)
    rest = f.value(f"srem i64 {left.text}, {right.text}")
    if left.low >= 0:
        return Whole(rest, 0, min(left.high, largest))
    size = right if right.low >= 0 else negative(f, right)
    if right.low < 0 < right.high:
        size = select(f, Truth(f.compare("slt", right.text, "0")), size, right)
    moved = f.value(f"select i1 {f.compare('slt', rest, '0')}, i64 {size.text}, i64 0")
    return Whole(f.add(rest, moved), 0, largest)


def divide(f: Function, left: Ratio, right: Ratio) -> Ratio:
    top = right.top
    _refuse_zero(f, top)
    if top.low == top.high == 0:
        return Ratio(literal(0), literal(1))  # not reached
    above, below = multiply(f, left.top, right.bottom), multiply(f, left.bottom, top)
    if top.low >= 0:
        return Ratio(above, Whole(below.text, max(1, below.low), below.high))
    if top.high <= 0:
        below = negative(f, below)
        return Ratio(negative(f, above), Whole(below.text, max(1, below.low), below.high))
    sign = Truth(f.compare("slt", top.text, "0"))
    above = select(f, sign, negative(f, above), above)
    below = select(f, sign, negative(f, below), below)
    return Ratio(above, Whole(below.text, 1, below.high))


def _refuse_zero(f: Function, divisor: Whole) -> None:
    if divisor.low <= 0 <= divisor.high:
        f.fail("true" if divisor.low == divisor.high else f.compare("eq", divisor.text, "0"), UNDEFINED)


def inside(f: Function, index: Whole, length: int) -> Whole:
    """The index of an array; undefined outside of it."""
    if index.low < 0:
        f.fail(f.compare("slt", index.text, "0"), UNDEFINED)
    if index.high >= length:
        f.fail(f.compare("sge", index.text, str(length)), UNDEFINED)
    return Whole(index.text, max(index.low, 0), max(0, min(index.high, length - 1)))
