"""Kinds of values as text: `bool`, `int 0..10`, `real [-1, 1]`, `float32 >= 0`, `array 5 of int 0..3`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Array, Bool, Int, Kind, Law, Real
from surefoot.problem.meaning.evaluate import evaluate
from surefoot.problem.number import LongNumber
from surefoot.problem.parse.lexer import Kind as Word
from surefoot.problem.parse.lexer import Token
from surefoot.problem.parse.terms import Reader
from surefoot.problem.term import Const

KINDS = "write bool, int 0..10, real [0, 1], real >= 0, float32 [0, 1] or array 5 of int 0..3"
_MOST_ARRAYS = 8
_SPECIAL = re.compile(r"(?i)(?:inf|infinity|nan)\Z")


def parse_kind(text: str, constants: Mapping[str, Const]) -> Kind:
    """The kind that a text stands for; its limits may mention constants."""
    # `0..10` becomes `0 ,10`: as long as before, so columns stay right, and made of ordinary words.
    reader = Reader(text.replace("..", " ,"), names=(), constants=constants)
    result = _kind(reader, 0)
    reader.finish("the end of the kind")
    return result


def parse_limits(text: str, constants: Mapping[str, Const]) -> tuple[Fraction | None, Fraction | None]:
    """The limits of a real number alone: `[-1, 1]`, `>= 0`, `<= 1`, or nothing."""
    reader = Reader(text, names=(), constants=constants)
    low, high = _limits(reader, whole=False)
    reader.finish("the end of the limits")
    return low, high


def parse_law(text: str, constants: Mapping[str, Const]) -> Law:
    """How simulation draws a value: `uniform(0, 1)`, `normal(0, 0.1)` or `integer(1, 6)`."""
    reader = Reader(text, names=(), constants=constants)
    name = reader.name("the name of a law")
    reader.expect("(", "after the name of the law")
    parameters = [_number(reader)]
    while reader.takes(","):
        parameters.append(_number(reader))
    reader.expect(")", "after the numbers of the law")
    reader.finish("the end of the law")
    return Law(name, tuple(parameters))


def _kind(reader: Reader, arrays: int) -> Kind:
    first = reader.token
    if reader.takes("bool"):
        return Bool()
    if reader.takes("int"):
        low, high = _limits(reader, whole=True)
        return Int(_whole(low, first, reader), _whole(high, first, reader))
    if reader.takes("real"):
        return Real(*_limits(reader, whole=False))
    if reader.takes("float32"):
        return Real(*_limits(reader, whole=False), float32=True)
    if not reader.takes("array") or arrays >= _MOST_ARRAYS:
        reader.fail(first, "this is not a kind of value", KINDS)
    length = _whole(_number(reader), first, reader)
    reader.expect("of", "after the length of the array")
    return Array(_kind(reader, arrays + 1), length or 0)


def _limits(reader: Reader, whole: bool) -> tuple[Fraction | None, Fraction | None]:
    if reader.token.kind is Word.END:
        return None, None
    if reader.takes(">="):
        return _number(reader), None
    if reader.takes("<="):
        return None, _number(reader)
    if whole:
        low = _number(reader)
        reader.expect(",", "(or `..`) between the limits")
        return low, _number(reader)
    reader.expect("[", "in front of the limits")
    low = _number(reader)
    reader.expect(",", "between the limits")
    high = _number(reader)
    reader.expect("]", "after the limits")
    return low, high


def _number(reader: Reader) -> Fraction:
    """A term over constants alone, as the number that it is."""
    first = reader.token
    if _SPECIAL.match(first.word):
        reader.fail(
            first, f"`{first.word}` is not a limit", "leave the limit out: `real`, `real >= 0`, `real <= 1`"
        )
    term = reader.term()
    try:
        value = evaluate(term, {})
    except (InvalidProblem, LongNumber) as error:
        reader.fail(first, error.what, error.fix)
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        reader.fail(first, "a limit has to be an exact number", "write a rational number")
    return Fraction(value)


def _whole(value: Fraction | None, place: Token, reader: Reader) -> int | None:
    if value is not None and value.denominator != 1:
        reader.fail(place, "an integer has a limit that is not a whole number", "round it")
    return None if value is None else value.numerator
