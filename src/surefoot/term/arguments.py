"""What the data of a problem takes from Python: each field is checked, and made exact, when it is made.

A constructor lists its fields with what they take: `settle(self, name=text, steps=whole_number)`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AnySet
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from numbers import Integral, Rational, Real
from typing import Any, TypeAlias, TypeGuard, TypeVar

from surefoot.errors import WrongType, did_you_mean, locate_errors

_Number: TypeAlias = int | Fraction
_Take: TypeAlias = Callable[[Any], object]
T = TypeVar("T")


def check_fields(data: object, **takes: _Take) -> None:
    """Replace each field by what is taken from it; an error names the field."""
    for field, take in takes.items():
        value = getattr(data, field)
        try:
            taken = take(value)
        except WrongType as problem:
            raise problem.at(f"{type(data).__name__}.{field}") from None
        if taken is not value:
            object.__setattr__(data, field, taken)


def exact_number(value: object) -> _Number:
    """The number that is meant: a float is the decimal that Python prints for it, so 0.1 is 1/10.

    Truth values are refused: they come from `==`, `and`, `not`, which do not build terms.
    """
    if type(value) is int or type(value) is Fraction:
        return value
    if isinstance(value, bool):
        what = f"`{value}` is Python's truth value, not a term"
        fix = "write equal(a, b) for `a = b`, &, |, ~ for and, or, not, and TRUE or FALSE for the constants"
        raise WrongType(what, fix=fix)
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Rational):
        return Fraction(int(value.numerator), int(value.denominator))
    if isinstance(value, Real | Decimal):
        try:
            return Fraction(value if isinstance(value, Decimal) else str(value))
        except (ValueError, OverflowError):
            raise WrongType(f"{value} is not a finite number", fix="give a finite number") from None
    raise WrongType(f"{describe_value(value)} is not a number", fix="give an int, Fraction, Decimal or float")


def exact_fraction(value: object) -> Fraction:
    """The same as a fraction; a text such as "1/20" is read too."""
    if isinstance(value, str):
        try:
            return Fraction(value)
        except (ValueError, ZeroDivisionError):
            raise WrongType(f"{describe_value(value)} is not a number", fix='give 0.05 or "1/20"') from None
    return Fraction(exact_number(value))


def take_limit(value: object) -> _Number | None:
    """A limit of values, or None for no limit."""
    if isinstance(value, float) and value in (float("inf"), float("-inf")):
        raise WrongType(f"{value} is not a limit", fix="leave it out: without a limit there is none")
    return None if value is None else exact_number(value)


def whole_number(value: object) -> int:
    if type(value) is int:
        return value
    if isinstance(value, bool) or not isinstance(value, Rational) or value.denominator != 1:
        raise WrongType(f"{describe_value(value)} is not a whole number", fix="give an int")
    return int(value.numerator)


def take_in_range(take: _Take, low: int, high: int | None = None, *, inside: bool = False) -> _Take:
    """A number from `low` to `high`; `inside`: and neither of them."""

    def take_number(value: object) -> object:
        number: Any = take(value)
        too_low = number <= low if inside else number < low
        too_high = high is not None and (number >= high if inside else number > high)
        if too_low or too_high:
            above = f"above {low}" if inside else f"from {low}"
            below = "" if high is None else f" and below {high}" if inside else f" to {high}"
            raise WrongType(f"{value} is out of range", fix=f"give a number {above}{below}")
        return number

    return take_number


def take_text(value: object) -> str:
    if not isinstance(value, str):
        raise WrongType(f"{describe_value(value)} is not a name", fix="give a str")
    return value


def take_bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise WrongType(f"{describe_value(value)} is not a truth value", fix="give True or False")
    return value


def take_optional(take: _Take) -> _Take:
    """None, or what `take` takes."""
    return lambda value: None if value is None else take(value)


def take_instance(*kinds: type[T], fix: str = "", **fixes: str) -> Callable[[object], T]:
    """A value of one of these types; `fixes` says what to do about another one, by the name of its type."""
    names = " or ".join(f"`{kind.__name__}`" for kind in kinds)

    def take(value: object) -> T:
        if isinstance(value, kinds):
            return value
        remedy = fixes.get(type(value).__name__, fix)
        if isinstance(value, type) and issubclass(value, kinds):
            remedy = f"make a value of it: {value.__name__}(…)"
        raise WrongType(f"{describe_value(value)} is not {names}", fix=remedy or f"give {names}")

    return take


def take_tuple(take: _Take, what: str) -> _Take:
    """A tuple of what `take` takes, from a tuple, list or any other ordered iterable."""

    def take_all(values: object) -> tuple[object, ...]:
        if isinstance(values, str | bytes | Mapping | AnySet) or not _is_iterable(values):
            raise WrongType(
                f"{describe_value(values)} is not a series of {what}",
                fix="give a tuple or a list, also of one",
            )
        items = values if type(values) is tuple else tuple(values)
        taken = tuple(_take_item(take, item, number) for number, item in enumerate(items))
        return items if all(a is b for a, b in zip(items, taken, strict=True)) else taken

    return take_all


def take_named_tuple(name: str, values: object, take: Callable[[Any], T]) -> tuple[T, ...]:
    """The argument of that name as a tuple; an error says which one it is."""
    with locate_errors(name, WrongType):
        taken: Any = take_tuple(take, "values")(values)
    found: tuple[T, ...] = taken
    return found


def _is_iterable(values: object) -> TypeGuard[Iterable[object]]:
    """Terms can be asked for an iterator, and say that they have none."""
    try:
        return isinstance(values, Iterable) and iter(values) is not None
    except WrongType:
        return False


def _take_item(take: _Take, item: object, number: int) -> object:
    try:
        return take(item)
    except WrongType as problem:
        raise problem.at(f"[{number}]") from None


def take_enum(kind: type[Enum]) -> _Take:
    """A member of an enumeration, or its value: `"argmax"`."""

    def take(value: object) -> Enum:
        if isinstance(value, kind):
            return value
        known = {m.value: m for m in kind}
        if not isinstance(value, str) or value not in known:
            fix = did_you_mean(value if isinstance(value, str) else "", known)
            raise WrongType(f"{describe_value(value)} is not `{kind.__name__}`", fix=fix)
        return known[value]

    return take


def take_word(*known: str) -> _Take:
    """One of these words."""

    def take(value: object) -> str:
        if not isinstance(value, str) or value not in known:
            fix = did_you_mean(value if isinstance(value, str) else "", known)
            raise WrongType(f"{describe_value(value)} cannot stand here", fix=fix)
        return value

    return take


def take_callable(value: object) -> Callable[..., Any]:
    if not callable(value):
        raise WrongType(f"{describe_value(value)} cannot be called", fix="give a function")
    return value


def describe_value(value: object) -> str:
    """A Python value in a message: itself if it is short and plain, its type otherwise."""
    if isinstance(value, type):
        return f"the class `{value.__name__}`"
    if isinstance(value, str):
        return f"the text {quote_text(value)}"
    if value is None or isinstance(value, bool | int | float):
        return f"`{value!r}`"
    if isinstance(value, Fraction | Decimal):
        return f"`{value}`"
    return f"a value of type `{type(value).__name__}`"


def quote_text(value: str, most: int = 40) -> str:
    return repr(value if len(value) <= most else value[: most - 1] + "…")
