"""VNN-LIB 1 files: the conjunction of all assertions, in linear comparisons with exact numbers.

Words and lists are read in one pass with a stack of open lists: a list is turned into what it means as soon
as it is closed, so nesting needs no recursion. Section 7 of docs/certificates.md has the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from .file import ReadError, shown, unpacked
from .query import Formula, Linear

MOST_NESTING = 100
MOST_VARIABLES = 10**7
MOST_BITS = 2**16  # of a numerator or denominator
MOST_CHARACTERS = 4000  # of a number

# A parenthesis, a comment, a string or quoted symbol (read as one word), or a word.
_TOKEN = re.compile(r'[()]|;[^\r\n]*|"[^"]*"|\|[^|]*\||[^\s();"|]+|["|]', re.ASCII)
_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE]([+-]?[0-9]{1,4}))?", re.ASCII)
_VARIABLE = re.compile(r"[XY]_(0|[1-9][0-9]{0,6})", re.ASCII)
_IGNORED = ("set-logic", "set-info", "set-option", "check-sat", "get-model")

TRUE: Formula = ("and",)
FALSE: Formula = ("or",)


@dataclass(frozen=True, slots=True)
class Property:
    """What the file says of inputs `X_0` … and outputs `Y_0` …: the points that satisfy all assertions."""

    inputs: int
    outputs: int
    formula: Formula


@dataclass(frozen=True, slots=True)
class _Sum:
    """A linear term, as opposed to a word or a formula."""

    linear: dict[str, Fraction]  # the constant under the empty name, no zeros


# A word, a linear term, a formula, or None for an empty list.
_Item = str | _Sum | Formula | None


def read_vnnlib(data: bytes) -> Property:
    """The property in the bytes of a VNN-LIB 1 file, plain or gzipped."""
    try:
        text = unpacked(data).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ReadError("this is not a text file") from None
    declared: set[str] = set()
    assertions: list[Formula] = []
    outer: list[list[_Item]] = []
    items: list[_Item] = []
    for found in _TOKEN.finditer(text):
        token = found[0]
        try:
            if token == "(":
                if len(outer) == MOST_NESTING:
                    raise ReadError(f"more than {MOST_NESTING} nested lists")
                outer.append(items)
                items = []
            elif token == ")":
                if not outer:
                    raise ReadError("`)` closes nothing")
                closed, items = items, outer.pop()
                if outer:
                    items.append(_meaning(closed, declared))
                else:
                    _command(closed, declared, assertions)
            elif token[0] != ";":
                if not outer:
                    raise ReadError(f"{shown(token)} stands outside any list")
                items.append(token)
        except ReadError as error:
            raise ReadError(f"line {text.count(chr(10), 0, found.start()) + 1}: {error}") from None
    if outer:
        raise ReadError("a `(` is not closed")
    return Property(_count(declared, "X"), _count(declared, "Y"), conjunction(assertions))


def conjunction(parts: Iterable[Formula]) -> Formula:
    """All of these: conjunctions inside are flattened, a false part is all, a single part stands alone."""
    kept: list[object] = []
    for part in parts:
        if part == FALSE:
            return FALSE
        kept.extend(part[1:] if part[0] == "and" else (part,))
    return kept[0] if len(kept) == 1 and isinstance(kept[0], tuple) else ("and", *kept)


def disjunction(parts: Iterable[Formula]) -> Formula:
    """At least one of these, likewise."""
    kept: list[object] = []
    for part in parts:
        if part == TRUE:
            return TRUE
        kept.extend(part[1:] if part[0] == "or" else (part,))
    return kept[0] if len(kept) == 1 and isinstance(kept[0], tuple) else ("or", *kept)


def _command(items: list[_Item], declared: set[str], assertions: list[Formula]) -> None:
    match items:
        case ["assert", tuple() as formula]:
            assertions.append(formula)
        case ["declare-const", str(name), "Real"] | ["declare-fun", str(name), None, "Real"]:
            if not _VARIABLE.fullmatch(name) or name in declared:
                raise ReadError(f"{shown(name)} is declared twice, or is neither an input nor an output")
            declared.add(name)
            if len(declared) > MOST_VARIABLES:
                raise ReadError(f"more than {MOST_VARIABLES} variables")
        case [str(word), *_] if word in _IGNORED:
            return
        case [str(word), *_]:
            raise ReadError(
                f"{shown(word)} is no command that is read by the checker, or not written like this"
            )
        case _:
            raise ReadError("a command begins with a word")


def _meaning(items: list[_Item], declared: set[str]) -> _Item:
    """What a list inside a command stands for."""
    if not items:
        return None
    word, rest = items[0], items[1:]
    if not isinstance(word, str) or not rest:
        raise ReadError("a list begins with a word and is followed by something")
    if word in ("and", "or"):
        parts = [part for part in rest if isinstance(part, tuple)]
        if len(parts) != len(rest):
            raise ReadError(f"`{word}` joins formulas")
        return conjunction(parts) if word == "and" else disjunction(parts)
    terms = [_sum(item, declared) for item in rest]
    if word in ("<=", ">=", "<", ">", "="):
        if len(terms) != 2:
            raise ReadError(f"`{word}` compares two terms, here are {len(terms)}")
        left, right = reversed(terms) if word[0] == ">" else terms
        return _comparison(word.replace(">", "<"), _plus(left, right, Fraction(-1)))
    if word == "*":
        return _product(terms)
    if word in ("+", "-"):
        if word == "-" and len(terms) == 1:
            return _plus(_Sum({}), terms[0], Fraction(-1))
        total = terms[0]
        for term in terms[1:]:
            total = _plus(total, term, Fraction(1 if word == "+" else -1))
        return total
    raise ReadError(f"{shown(word)} is not read by the checker")


def _comparison(relation: str, difference: _Sum) -> Formula:
    """`difference relation 0`; without variables it is true or false."""
    linear: Linear = difference.linear
    if linear.keys() - {""}:
        return (relation, linear)
    constant = linear.get("", Fraction(0))
    holds = {"<=": constant <= 0, "<": constant < 0, "=": constant == 0}[relation]
    return TRUE if holds else FALSE


def _sum(item: _Item, declared: set[str]) -> _Sum:
    if isinstance(item, _Sum):
        return item
    if not isinstance(item, str):
        raise ReadError("a formula stands where a term should be")
    if item in declared:
        return _Sum({item: Fraction(1)})
    number = _NUMBER.fullmatch(item)
    if number is None or len(item) > MOST_CHARACTERS:
        raise ReadError(f"{shown(item)} is neither a declared variable nor a number")
    value = Fraction(item)
    return _Sum({"": value} if value else {})


def _plus(left: _Sum, right: _Sum, factor: Fraction) -> _Sum:
    """left + factor * right"""
    total = dict(left.linear)
    for name, coefficient in right.linear.items():
        total[name] = _moderate(total.get(name, Fraction(0)) + factor * coefficient)
        if not total[name]:
            del total[name]
    return _Sum(total)


def _product(terms: list[_Sum]) -> _Sum:
    total = terms[0]
    for term in terms[1:]:
        varying, constant = (total, term) if total.linear.keys() - {""} else (term, total)
        if constant.linear.keys() - {""}:
            raise ReadError("a product of two variables is not read by the checker")
        factor = constant.linear.get("", Fraction(0))
        scaled = {name: _moderate(c * factor) for name, c in varying.linear.items()}
        total = _Sum(scaled if factor else {})
    return total


def _moderate(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
        raise ReadError(f"a number of more than {MOST_BITS} bits")
    return value


def _count(declared: set[str], letter: str) -> int:
    """How many inputs or outputs are declared; their numbers have no gap."""
    count = sum(1 for name in declared if name[0] == letter)
    if not count or any(f"{letter}_{n}" not in declared for n in range(count)):
        raise ReadError(f"variables {letter}_0, {letter}_1, … are not declared one after the other")
    return count
