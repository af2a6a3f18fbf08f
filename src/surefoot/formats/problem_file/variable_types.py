"""Kinds of values as text: `bool`, `int 0..10`, `real [-1, 1]`, `float32 >= 0`, `array 5 of int 0..3`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

from surefoot.errors import InvalidProblem
from surefoot.problem.environment import Law
from surefoot.term.evaluate import evaluate_term
from surefoot.term.lexer import Token
from surefoot.term.lexer import TokenKind as Word
from surefoot.term.number import LongNumber
from surefoot.term.parser import TermReader
from surefoot.term.term import Const
from surefoot.term.value_types import Array, Bool, Int, Real, ValueType

KINDS = "write bool, int 0..10, real [0, 1], real >= 0, float32 [0, 1] or array 5 of int 0..3"
_MOST_ARRAYS = 8
_SPECIAL = re.compile(r"(?i)(?:inf|infinity|nan)\Z")


def parse_variable_type(text: str, constants: Mapping[str, Const]) -> ValueType:
    """The kind that a text stands for; its limits may mention constants."""
    # `0..10` becomes `0 ,10`: as long as before, so columns stay right, and made of ordinary words.
    reader = TermReader(text.replace("..", " ,"), names=(), constants=constants)
    result = _read_type(reader, 0)
    reader.finish("the end of the kind")
    return result


def parse_limits(text: str, constants: Mapping[str, Const]) -> tuple[Fraction | None, Fraction | None]:
    """The limits of a real number alone: `[-1, 1]`, `>= 0`, `<= 1`, or nothing."""
    reader = TermReader(text, names=(), constants=constants)
    low, high = _read_limits(reader, whole=False)
    reader.finish("the end of the limits")
    return low, high


def parse_law(text: str, constants: Mapping[str, Const]) -> Law:
    """How simulation draws a value: `uniform(0, 1)`, `normal(0, 0.1)` or `integer(1, 6)`."""
    reader = TermReader(text, names=(), constants=constants)
    name = reader.name("the name of a law")
    reader.expect("(", "after the name of the law")
    parameters = [_read_number(reader)]
    while reader.takes(","):
        parameters.append(_read_number(reader))
    reader.expect(")", "after the numbers of the law")
    reader.finish("the end of the law")
    return Law(name, tuple(parameters))


def _read_type(reader: TermReader, arrays: int) -> ValueType:
    first = reader.token
    if reader.takes("bool"):
        return Bool()
    if reader.takes("int"):
        low, high = _read_limits(reader, whole=True)
        return Int(_whole_number(low, first, reader), _whole_number(high, first, reader))
    if reader.takes("real"):
        return Real(*_read_limits(reader, whole=False))
    if reader.takes("float32"):
        return Real(*_read_limits(reader, whole=False), float32=True)
    if not reader.takes("array") or arrays >= _MOST_ARRAYS:
        reader.fail(first, "this is not a kind of value", KINDS)
    length = _whole_number(_read_number(reader), first, reader)
    reader.expect("of", "after the length of the array")
    return Array(_read_type(reader, arrays + 1), length or 0)


def _read_limits(reader: TermReader, whole: bool) -> tuple[Fraction | None, Fraction | None]:
    if reader.token.kind is Word.END:
        return None, None
    if reader.takes(">="):
        return _read_number(reader), None
    if reader.takes("<="):
        return None, _read_number(reader)
    if whole:
        low = _read_number(reader)
        reader.expect(",", "(or `..`) between the limits")
        return low, _read_number(reader)
    reader.expect("[", "in front of the limits")
    low = _read_number(reader)
    reader.expect(",", "between the limits")
    high = _read_number(reader)
    reader.expect("]", "after the limits")
    return low, high


def _read_number(reader: TermReader) -> Fraction:
    """A term over constants alone, as the number that it is."""
    first = reader.token
    if _SPECIAL.match(first.word):
        reader.fail(
            first, f"`{first.word}` is not a limit", "leave the limit out: `real`, `real >= 0`, `real <= 1`"
        )
    term = reader.term()
    try:
        value = evaluate_term(term, {})
    except (InvalidProblem, LongNumber) as error:
        reader.fail(first, error.what, error.fix)
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        reader.fail(first, "a limit has to be an exact number", "write a rational number")
    return Fraction(value)


def _whole_number(value: Fraction | None, place: Token, reader: TermReader) -> int | None:
    if value is not None and value.denominator != 1:
        reader.fail(place, "an integer has a limit that is not a whole number", "round it")
    return None if value is None else value.numerator
