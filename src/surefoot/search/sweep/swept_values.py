"""Values that a parameter takes one after the other: `N=5,10,15` or `noise=0.1:0.5:0.1`."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from surefoot.errors import InvalidProblem
from surefoot.term.decimal_literals import show_number
from surefoot.term.parser import parse_term
from surefoot.term.term import Const

MOST_VALUES = 64


@dataclass(frozen=True, slots=True)
class SweptValues:
    """A parameter, and the values that it takes."""

    name: str
    values: tuple[str, ...]


def read_swept_values(text: str, option: str, most: int = MOST_VALUES) -> SweptValues:
    """`noise=0.1:0.5:0.1` (first, last, step) or `noise=0.1,0.2,0.5`; `option`: who said so."""
    name, equals, said = (part.strip() for part in text.partition("="))
    if not equals or not name or not said:
        fix = f"write {option} noise=0.1:0.5:0.1 or {option} noise=0.1,0.2,0.5"
        raise InvalidProblem(f"`{text}` does not say which values a parameter takes", fix=fix, where=option)
    return SweptValues(name, expand_values(name, said, option, most))


def expand_values(name: str, said: str, option: str, most: int = MOST_VALUES) -> tuple[str, ...]:
    """The values alone."""
    if ":" not in said:
        values = tuple(part.strip() for part in said.split(","))
        if len(values) > most or not all(values):
            raise InvalidProblem(f"between 1 and {most} values can be swept", where=option)
        return values
    parts = said.split(":")
    if len(parts) != 3:
        raise InvalidProblem(
            f"`{said}` is not FIRST:LAST:STEP", fix=f"write {name}=0.1:0.5:0.1", where=option
        )
    first, last, step = (_parse_number(part, option) for part in parts)
    if step <= 0 or last < first:
        what = f"`{said}` contains no value"
        raise InvalidProblem(
            what, fix="the step is positive, the last value not below the first", where=option
        )
    count = int((last - first) / step) + 1
    if count > most:
        raise InvalidProblem(f"{count} values are too many", fix=f"at most {most}", where=option)
    return tuple(show_number(first + n * step) for n in range(count))


def _parse_number(text: str, option: str) -> Fraction:
    term = parse_term(text)
    if not isinstance(term, Const) or isinstance(term.value, bool):
        raise InvalidProblem(f"`{text}` is not a number", where=option)
    return Fraction(term.value)
