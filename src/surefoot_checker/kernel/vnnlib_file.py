"""VNN-LIB 1 files: the conjunction of all assertions, in linear comparisons with exact numbers.

Words and lists are read in one pass with a stack of open lists: a list is turned into what it means as soon
as it is closed, so nesting needs no recursion. Section 7 of docs/certificates.md has the grammar.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from .query import Formula, Linear, add_scaled_form, holds_with_zero
from .untrusted_file import ReadError, decompress_gzip, quote_for_message

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
class VnnlibClaim:
    """What the file says of inputs `X_0` … and outputs `Y_0` …: the points that satisfy all assertions."""

    inputs: int
    outputs: int
    formula: Formula


_LinearTerm = dict[str, Fraction]  # the constant under the empty name, no zeros
_Item = str | _LinearTerm | Formula | None  # None: an empty list


def read_vnnlib_claim(data: bytes) -> VnnlibClaim:
    """The property in the bytes of a VNN-LIB 1 file, plain or gzipped."""
    try:
        text = decompress_gzip(data).decode("utf-8-sig")
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
                    items.append(_interpret_list(closed, declared))
                else:
                    _interpret_command(closed, declared, assertions)
            elif token[0] != ";":
                if not outer:
                    raise ReadError(f"{quote_for_message(token)} stands outside any list")
                items.append(token)
        except ReadError as error:
            raise ReadError(f"line {text.count(chr(10), 0, found.start()) + 1}: {error}") from None
    if outer:
        raise ReadError("a `(` is not closed")
    return VnnlibClaim(
        _count_declared(declared, "X"), _count_declared(declared, "Y"), _join_parts("and", assertions)
    )


def _join_parts(word: str, parts: Iterable[Formula]) -> Formula:
    """Parts of the same kind are flattened, one that decides all is all, a single part stands alone."""
    decisive = FALSE if word == "and" else TRUE
    kept: list[object] = []
    for part in parts:
        if part == decisive:
            return decisive
        kept.extend(part[1:] if part[0] == word else (part,))
    return kept[0] if len(kept) == 1 and isinstance(kept[0], tuple) else (word, *kept)


def _interpret_command(items: list[_Item], declared: set[str], assertions: list[Formula]) -> None:
    match items:
        case ["assert", tuple() as formula]:
            assertions.append(formula)
        case ["declare-const", str(name), "Real"] | ["declare-fun", str(name), None, "Real"]:
            if not _VARIABLE.fullmatch(name) or name in declared:
                raise ReadError(
                    f"{quote_for_message(name)} is declared twice, or is neither an input nor an output"
                )
            declared.add(name)
            if len(declared) > MOST_VARIABLES:
                raise ReadError(f"more than {MOST_VARIABLES} variables")
        case [str(word), *_] if word in _IGNORED:
            return
        case [str(word), *_]:
            raise ReadError(
                f"{quote_for_message(word)} is no command that is read by the checker, or not "
                "written like this"
            )
        case _:
            raise ReadError("a command begins with a word")


def _interpret_list(items: list[_Item], declared: set[str]) -> _Item:
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
        return _join_parts(word, parts)
    terms = [_read_linear_term(item, declared) for item in rest]
    if word in ("<=", ">=", "<", ">", "="):
        if len(terms) != 2:
            raise ReadError(f"`{word}` compares two terms, here are {len(terms)}")
        left, right = reversed(terms) if word[0] == ">" else terms
        return _compare_with_zero(word.replace(">", "<"), _add_limited(left, Fraction(-1), right))
    if word == "*":
        return _multiply_terms(terms)
    if word in ("+", "-"):
        if word == "-" and len(terms) == 1:
            return _add_limited({}, Fraction(-1), terms[0])
        total = terms[0]
        for term in terms[1:]:
            total = _add_limited(total, Fraction(1 if word == "+" else -1), term)
        return total
    raise ReadError(f"{quote_for_message(word)} is not read by the checker")


def _compare_with_zero(relation: str, linear: Linear) -> Formula:
    """`linear relation 0`; without variables it is true or false."""
    if linear.keys() - {""}:
        return (relation, linear)
    return TRUE if holds_with_zero(relation, linear.get("", Fraction(0))) else FALSE


def _read_linear_term(item: _Item, declared: set[str]) -> _LinearTerm:
    if isinstance(item, dict):
        return item
    if not isinstance(item, str):
        raise ReadError("a formula stands where a term should be")
    if item in declared:
        return {item: Fraction(1)}
    number = _NUMBER.fullmatch(item)
    if number is None or len(item) > MOST_CHARACTERS:
        raise ReadError(f"{quote_for_message(item)} is neither a declared variable nor a number")
    value = Fraction(item)
    return {"": value} if value else {}


def _add_limited(left: _LinearTerm, factor: Fraction, right: _LinearTerm) -> _LinearTerm:
    """left + factor * right, refused if a number in it becomes too long."""
    total = add_scaled_form(left, factor, right)
    for value in (total[name] for name in right.keys() & total.keys()):
        if max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
            raise ReadError(f"a number of more than {MOST_BITS} bits")
    return total


def _multiply_terms(terms: list[_LinearTerm]) -> _LinearTerm:
    total = terms[0]
    for term in terms[1:]:
        varying, constant = (total, term) if total.keys() - {""} else (term, total)
        if constant.keys() - {""}:
            raise ReadError("a product of two variables is not read by the checker")
        total = _add_limited({}, constant.get("", Fraction(0)), varying)
    return total


def _count_declared(declared: set[str], letter: str) -> int:
    """How many inputs or outputs are declared; their numbers have no gap."""
    count = sum(1 for name in declared if name[0] == letter)
    if not count or any(f"{letter}_{n}" not in declared for n in range(count)):
        raise ReadError(f"variables {letter}_0, {letter}_1, … are not declared one after the other")
    return count
