"""Values in machine code: whole numbers with their range, quotients of two of them, truth values, arrays.

Ranges are computed along; where a result might not fit into 64 bits it is computed with a check, and a failed
check ends the function. So nothing ever wraps around.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from surefoot.explore.emit.state_packing import CompileObjection
from surefoot.term.number import brief_number
from surefoot.term.value_types import ValueType
from surefoot.work.machine.llvm_ir import IrFunction

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
class StateArray:
    """An array that is part of a state, from slot `first` on."""

    kind: ValueType
    base: str  # the pointer to the unpacked state
    first: Whole
    slot: int  # one of its slots: all elements have the same bounds


@dataclass(frozen=True, slots=True)
class ConstantArray:
    """A rectangular array of constants in memory, from `first` on; `shape` of what is left to select."""

    name: str
    shape: tuple[int, ...]
    first: Whole
    low: int
    high: int
    truth: bool


@dataclass(frozen=True, slots=True)
class ElementList:
    elements: tuple[Value, ...]


Number: TypeAlias = Whole | Ratio
Value: TypeAlias = Truth | Whole | Ratio | StateArray | ConstantArray | ElementList


def integer_literal(number: int) -> Whole:
    if abs(number) > _SAFE:
        raise CompileObjection(f"the constant {brief_number(number)} does not fit into 64 bits")
    return Whole(str(number), number, number)


def require_truth(value: Value) -> Truth:
    if not isinstance(value, Truth):
        raise CompileObjection("a number stands where a truth value is needed")
    return value


def require_number(value: Value) -> Number:
    if not isinstance(value, Whole | Ratio):
        raise CompileObjection("something other than a number stands where a number is needed")
    return value


def number_to_ratio(value: Number) -> Ratio:
    return value if isinstance(value, Ratio) else Ratio(value, integer_literal(1))


def _emit_checked(text_of: str, f: IrFunction, left: Whole, right: Whole, low: int, high: int) -> Whole:
    if low == high and abs(low) <= _SAFE:
        return integer_literal(low)
    if low >= -_SAFE and high <= _SAFE:
        return Whole(f.value(f"{text_of} nsw i64 {left.text}, {right.text}"), low, high)
    checked = f.checked_arithmetic("s" + text_of, left.text, right.text, OVERFLOW)
    return Whole(checked, max(low, -_SAFE - 1), min(high, _SAFE))


def emit_integer_add(f: IrFunction, left: Whole, right: Whole) -> Whole:
    if right.low == right.high == 0:
        return left
    if left.low == left.high == 0:
        return right
    return _emit_checked("add", f, left, right, left.low + right.low, left.high + right.high)


def _emit_integer_subtract(f: IrFunction, left: Whole, right: Whole) -> Whole:
    if right.low == right.high == 0:
        return left
    return _emit_checked("sub", f, left, right, left.low - right.high, left.high - right.low)


def emit_integer_multiply(f: IrFunction, left: Whole, right: Whole) -> Whole:
    for one, other in ((left, right), (right, left)):
        if one.low == one.high == 1:
            return other
    return _emit_checked("mul", f, left, right, *_product_range(left, right))


def _product_range(left: Whole, right: Whole) -> tuple[int, int]:
    corners = [a * b for a in (left.low, left.high) for b in (right.low, right.high)]
    return min(corners), max(corners)


def _fits_range(low: int, high: int) -> bool:
    return low >= -_SAFE and high <= _SAFE


def emit_ratio_multiply(f: IrFunction, left: Ratio, right: Ratio) -> Ratio:
    low, high = _product_range(left.top, right.top)
    most = left.bottom.high * right.bottom.high
    if _fits_range(low, max(high, most)):
        return Ratio(
            emit_integer_multiply(f, left.top, right.top), emit_integer_multiply(f, left.bottom, right.bottom)
        )
    return _emit_reduced(f, "multiply_quotients", left, right, low, high, most)


def emit_ratio_add(f: IrFunction, left: Ratio, right: Ratio) -> Ratio:
    if left.bottom.text == right.bottom.text and _fits_range(
        left.top.low + right.top.low, left.top.high + right.top.high
    ):
        return Ratio(emit_integer_add(f, left.top, right.top), left.bottom)
    mine, theirs = _product_range(left.top, right.bottom), _product_range(right.top, left.bottom)
    low, high = mine[0] + theirs[0], mine[1] + theirs[1]
    most = left.bottom.high * right.bottom.high
    if _fits_range(low, max(high, most)):
        across = emit_integer_add(
            f,
            emit_integer_multiply(f, left.top, right.bottom),
            emit_integer_multiply(f, right.top, left.bottom),
        )
        return Ratio(across, emit_integer_multiply(f, left.bottom, right.bottom))
    return _emit_reduced(f, "add_quotients", left, right, low, high, most)


def _emit_reduced(
    f: IrFunction, function: str, left: Ratio, right: Ratio, low: int, high: int, most: int
) -> Ratio:
    """In lowest terms; ranges are those of the numbers multiplied out, whose signs are kept."""
    top, bottom = f.variable(), f.variable()
    numbers = ", ".join(f"i64 {w.text}" for w in (left.top, left.bottom, right.top, right.bottom))
    f.pass_on(f.value(f"call i64 @{function}({numbers}, ptr {top}, ptr {bottom})"))
    return Ratio(
        Whole(f.get(top), max(min(low, 1), -_SAFE - 1), min(max(high, -1), _SAFE)),
        Whole(f.get(bottom), 1, min(most, _SAFE)),
    )


def emit_ratio_compare(f: IrFunction, how: str, left: Ratio, right: Ratio) -> Truth:
    """Multiplied out, which 128 bits always suffice for."""
    mine, theirs = _product_range(left.top, right.bottom), _product_range(right.top, left.bottom)
    if _fits_range(min(mine[0], theirs[0]), max(mine[1], theirs[1])):
        above = emit_integer_multiply(f, left.top, right.bottom)
        return emit_integer_compare(f, how, above, emit_integer_multiply(f, right.top, left.bottom))
    products = []
    for one, other in ((left.top, right.bottom), (right.top, left.bottom)):
        wide = [f.value(f"sext i64 {w.text} to i128") for w in (one, other)]
        products.append(f.value(f"mul nsw i128 {wide[0]}, {wide[1]}"))
    return Truth(f.value(f"icmp {how} i128 {products[0]}, {products[1]}"))


def emit_integer_select(f: IrFunction, condition: Truth, then: Whole, otherwise: Whole) -> Whole:
    if then.text == otherwise.text:
        return then
    text = f.value(f"select i1 {condition.text}, i64 {then.text}, i64 {otherwise.text}")
    return Whole(text, min(then.low, otherwise.low), max(then.high, otherwise.high))


def emit_integer_compare(f: IrFunction, how: str, left: Whole, right: Whole) -> Truth:
    """`slt`, `sle` or `eq`; decided at once where the ranges decide it."""
    always = {"slt": left.high < right.low, "sle": left.high <= right.low, "eq": False}
    never = {"slt": left.low >= right.high, "sle": left.low > right.high}
    if always[how] or (how == "eq" and left.low == left.high == right.low == right.high):
        return Truth("true")
    if never.get(how, left.high < right.low or right.high < left.low):
        return Truth("false")
    return Truth(f.compare(how, left.text, right.text))


def emit_integer_negate(f: IrFunction, value: Whole) -> Whole:
    return _emit_integer_subtract(f, integer_literal(0), value)


def emit_number_floor(f: IrFunction, value: Number) -> Whole:
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


def emit_number_truncate(f: IrFunction, value: Number) -> Whole:
    """Towards zero."""
    if isinstance(value, Whole):
        return value
    top, bottom = value.top, value.bottom
    corners = [_towards_zero(a, b) for a in (top.low, top.high) for b in (bottom.low, bottom.high)]
    return Whole(f.value(f"sdiv i64 {top.text}, {bottom.text}"), min(corners), max(corners))


def _towards_zero(top: int, bottom: int) -> int:
    return top // bottom if top >= 0 else -(-top // bottom)


def emit_number_to_integer(f: IrFunction, value: Number) -> Whole:
    """The value as a whole number; undefined unless it is one."""
    if isinstance(value, Whole):
        return value
    if value.bottom.low == value.bottom.high == 1:
        return value.top
    rest = f.value(f"srem i64 {value.top.text}, {value.bottom.text}")
    f.fail(f.compare("ne", rest, "0"), UNDEFINED)
    return emit_number_truncate(f, value)


def emit_integer_remainder(f: IrFunction, left: Whole, right: Whole) -> Whole:
    """The Euclidean remainder: `srem` has the sign of the dividend, and a negative one is moved up by |b|."""
    _refuse_zero(f, right)
    if right.low == right.high and abs(right.low) <= 1:
        return integer_literal(0)
    if left.low < -_SAFE:
        f.fail(f.compare("eq", left.text, str(left.low)), OVERFLOW)  # divided by -1 it does not fit
    largest = max(0, abs(right.low) - 1, abs(right.high) - 1)
    rest = f.value(f"srem i64 {left.text}, {right.text}")
    if left.low >= 0:
        return Whole(rest, 0, min(left.high, largest))
    size = right if right.low >= 0 else emit_integer_negate(f, right)
    if right.low < 0 < right.high:
        size = emit_integer_select(f, Truth(f.compare("slt", right.text, "0")), size, right)
    moved = f.value(f"select i1 {f.compare('slt', rest, '0')}, i64 {size.text}, i64 0")
    return Whole(f.add(rest, moved), 0, largest)


def emit_ratio_divide(f: IrFunction, left: Ratio, right: Ratio) -> Ratio:
    """The divisor is turned over; what was its numerator has to be positive then."""
    top, bottom = right.top, right.bottom
    _refuse_zero(f, top)
    if top.low == top.high == 0:
        return Ratio(integer_literal(0), integer_literal(1))  # not reached
    if top.high <= 0:
        top, bottom = emit_integer_negate(f, top), emit_integer_negate(f, bottom)
    elif top.low < 0:
        sign = Truth(f.compare("slt", top.text, "0"))
        bottom = emit_integer_select(f, sign, emit_integer_negate(f, bottom), bottom)
        top = emit_integer_select(f, sign, emit_integer_negate(f, top), top)
    return emit_ratio_multiply(f, left, Ratio(bottom, Whole(top.text, max(1, top.low), top.high)))


def _refuse_zero(f: IrFunction, divisor: Whole) -> None:
    if divisor.low <= 0 <= divisor.high:
        f.fail("true" if divisor.low == divisor.high else f.compare("eq", divisor.text, "0"), UNDEFINED)


def emit_index_check(f: IrFunction, index: Whole, length: int) -> Whole:
    """The index of an array; undefined outside of it."""
    if index.low < 0:
        f.fail(f.compare("slt", index.text, "0"), UNDEFINED)
    if index.high >= length:
        f.fail(f.compare("sge", index.text, str(length)), UNDEFINED)
    return Whole(index.text, max(index.low, 0), max(0, min(index.high, length - 1)))
