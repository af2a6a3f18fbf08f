"""From the text of a VNN-LIB 1 file to a `Specification`; every error says its line and column."""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import NamedTuple

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean
from surefoot.formats.vnnlib import box
from surefoot.formats.vnnlib.sexpr import (
    SExpression,
    error_at_offset,
    line_and_column,
    quote_vnnlib_word,
    top_level_lists,
)
from surefoot.formats.vnnlib.specification import (
    Specification,
    is_input,
    vnnlib_input_name,
    vnnlib_output_name,
)
from surefoot.term.decimal_literals import read_number
from surefoot.term.term import (
    Apply,
    Const,
    Op,
    Term,
    Var,
    conjunction_of,
    disjunction_of,
    free_names,
    negate_number,
)

LARGEST_FLOAT32 = (2**24 - 1) * 2**104
MOST_VARIABLES = 10**7
MOST_FOLDED_BITS = 8192  # an exact product of constants larger than this stays a product

_NUMBER = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")
_VARIABLE = re.compile(r"([XY])_(0|[1-9][0-9]{0,7})\Z")
_NOT_FINITE = {"nan", "inf", "infinity"}
_COMPARISONS: dict[str, Callable[[Term, Term], Apply]] = {
    "<=": lambda a, b: Apply(Op.LE, (a, b)),
    ">=": lambda a, b: Apply(Op.LE, (b, a)),
    "<": lambda a, b: Apply(Op.LT, (a, b)),
    ">": lambda a, b: Apply(Op.LT, (b, a)),
    "=": lambda a, b: Apply(Op.EQ, (a, b)),
}
_NAMES = "inputs are X_0, X_1, … and outputs Y_0, Y_1, …"
_ARITHMETIC = ("+", "-", "*")
_IGNORED = ("set-logic", "set-info", "set-option", "check-sat", "get-model")
_COMMANDS = ("assert", "declare-const", "declare-fun", *_IGNORED)
_VERSION_2 = ("vnnlib-version", "declare-network", "declare-input", "declare-output", "declare-hidden")


class _Claim(NamedTuple):
    term: Term
    bounds: box.Box


def parse_vnnlib(text: str) -> Specification:
    """The specification in a VNN-LIB 1 text: the conjunction of all its assertions."""
    declared: dict[str, int] = {}
    claims: list[_Claim] = []
    for command in top_level_lists(text, _COMMANDS):
        head, rest = _split_list(text, command)
        if head.content == "assert":
            if len(rest) != 1:
                raise error_at_offset(text, head.offset, f"`assert` takes one formula, here are {len(rest)}")
            claims.append(_parse_formula(text, rest[0], declared))
        elif head.content in ("declare-const", "declare-fun"):
            _declare_variable(text, head, rest, declared)
        elif head.content not in _IGNORED:
            raise _unknown_command(text, head)
    return _build_specification(text, declared, claims)


def _split_list(text: str, node: SExpression) -> tuple[SExpression, tuple[SExpression, ...]]:
    """The word at the head of a list, and what follows it."""
    items = node.content
    if isinstance(items, tuple) and items and isinstance(items[0].content, str):
        return items[0], items[1:]
    raise error_at_offset(
        text, node.offset, "a list must begin with a word", "write (assert …) or (<= X_0 1.0)"
    )


def _unknown_command(text: str, head: SExpression) -> InvalidProblem | Unsupported:
    word = str(head.content)
    if word in _VERSION_2:
        where, fix = line_and_column(text, head.offset), "write it in version 1: declare-const, X_i, Y_i"
        return Unsupported("this is VNN-LIB 2, which is not read yet", fix=fix, where=where)
    return error_at_offset(
        text, head.offset, f"unknown command {quote_vnnlib_word(word)}", did_you_mean(word, _COMMANDS[:3])
    )


def _declare_variable(
    text: str, head: SExpression, rest: tuple[SExpression, ...], declared: dict[str, int]
) -> None:
    """(declare-const X_0 Real), or the same as a function without arguments."""
    shape = [n.content for n in rest]
    if head.content == "declare-fun" and len(shape) == 3 and shape[1] == ():
        del shape[1]
    if len(shape) != 2 or not all(isinstance(s, str) for s in shape):
        raise error_at_offset(
            text, head.offset, "cannot read this declaration", "write (declare-const X_0 Real)"
        )
    name, kind = str(shape[0]), str(shape[1])
    if kind != "Real":
        what = f"{quote_vnnlib_word(name)} is declared as {quote_vnnlib_word(kind)}"
        raise error_at_offset(text, rest[-1].offset, what, "declare it as Real")
    match = _VARIABLE.match(name)
    if match is None:
        raise error_at_offset(
            text, rest[0].offset, f"{quote_vnnlib_word(name)} is neither an input nor an output", _NAMES
        )
    if int(match[2]) >= MOST_VARIABLES:
        raise error_at_offset(
            text, rest[0].offset, f"{name} is beyond the limit of {MOST_VARIABLES} variables"
        )
    if name in declared:
        fix = f"remove this one; the first is at {line_and_column(text, declared[name])}"
        raise error_at_offset(text, rest[0].offset, f"{name} is declared twice", fix)
    declared[name] = rest[0].offset


def _parse_formula(text: str, node: SExpression, declared: dict[str, int]) -> _Claim:
    """A claim from (and …), (or …) or a comparison, and the bounds that it puts on inputs."""
    if isinstance(node.content, str):
        raise error_at_offset(
            text, node.offset, f"{quote_vnnlib_word(node.content)} is not a formula", "write (<= X_0 1.0)"
        )
    head, rest = _split_list(text, node)
    word = str(head.content)
    if word in ("and", "or"):
        if not rest:
            raise error_at_offset(text, node.offset, f"`({word})` is empty", "add a formula or remove it")
        claims = [_parse_formula(text, n, declared) for n in rest]
        terms = tuple(c.term for c in claims)
        if word == "and":
            return _Claim(conjunction_of(terms), box.intersect_boxes([c.bounds for c in claims], text))
        return _Claim(disjunction_of(terms), box.hull_of_boxes([c.bounds for c in claims]))
    if word not in _COMPARISONS:
        known = "formulas are built from and, or, <=, >=, <, >, ="
        raise error_at_offset(
            text, head.offset, f"{quote_vnnlib_word(word)} is not supported as a formula", known
        )
    if len(rest) != 2:
        fix = "write one comparison for each pair"
        raise error_at_offset(text, head.offset, f"`{word}` compares two terms, here are {len(rest)}", fix)
    comparison = _COMPARISONS[word](
        _parse_term(text, rest[0], declared), _parse_term(text, rest[1], declared)
    )
    return _Claim(comparison, box.box_from_comparison(comparison, node.offset))


def _parse_term(text: str, node: SExpression, declared: dict[str, int]) -> Term:
    if isinstance(node.content, str):
        if node.content in declared:
            return Var(node.content)
        return _parse_number(text, node.content, node.offset, declared)
    head, rest = _split_list(text, node)
    word = str(head.content)
    if word not in _ARITHMETIC:
        known = "terms are built from numbers, X_i, Y_i, + - *"
        raise error_at_offset(
            text, head.offset, f"{quote_vnnlib_word(word)} is not supported as a term", known
        )
    if not rest:
        raise error_at_offset(text, node.offset, f"`({word})` is empty", "add a term or remove it")
    args = [_parse_term(text, n, declared) for n in rest]
    if word == "-":
        if len(args) == 1:
            return negate_number(args[0])
        result = args[0]
        for arg in args[1:]:
            result = _fold_arithmetic(Op.SUB, (result, arg))
        return result
    return args[0] if len(args) == 1 else _fold_arithmetic(Op.ADD if word == "+" else Op.MUL, tuple(args))


def _fold_arithmetic(op: Op, args: tuple[Term, ...]) -> Term:
    """The operation, done at once between numbers of moderate size, so that 2 * 0.5 can be a bound."""
    numbers = [Fraction(a.value) for a in args if isinstance(a, Const)]
    if len(numbers) < len(args) or not all(_is_moderate(n) for n in numbers):
        return Apply(op, args)
    result = numbers[0]
    for number in numbers[1:]:
        result = result + number if op is Op.ADD else result - number if op is Op.SUB else result * number
        if not _is_moderate(result):
            return Apply(op, args)
    return Const(result)


def _is_moderate(value: Fraction) -> bool:
    bits = max(value.numerator.bit_length(), value.denominator.bit_length())
    return bits <= MOST_FOLDED_BITS and abs(value) <= LARGEST_FLOAT32


def _parse_number(text: str, word: str, offset: int, declared: dict[str, int]) -> Term:
    if _VARIABLE.match(word):
        raise _not_declared(text, word, offset, declared)
    if word.lstrip("+-").lower() in _NOT_FINITE:
        raise error_at_offset(
            text, offset, f"{quote_vnnlib_word(word)} is not a finite number", "write a finite bound"
        )
    if not _NUMBER.match(word):
        if word[0] in "+-." or word[0].isnumeric():
            fix = "write ASCII digits like 12, -0.25 or 1e-3"
            raise error_at_offset(text, offset, f"{quote_vnnlib_word(word)} is not a number", fix)
        raise error_at_offset(text, offset, f"unknown name {quote_vnnlib_word(word)}", _NAMES)
    negative = word.startswith("-")
    try:
        value = read_number(word.lstrip("-"))
    except InvalidProblem as error:
        raise error.at(line_and_column(text, offset)) from None
    if value > LARGEST_FLOAT32:
        fix = "the largest float32 number is about 3.4e38"
        raise error_at_offset(text, offset, f"{quote_vnnlib_word(word)} is out of the range of float32", fix)
    return Const(-value if negative else value)


def _not_declared(text: str, name: str, offset: int, declared: dict[str, int]) -> InvalidProblem:
    same = sum(1 for d in declared if d[0] == name[0])
    known = f"{name[0]}_0 to {name[0]}_{same - 1} are declared" if same else "none is"
    kind = "input" if is_input(name) else "output"
    return error_at_offset(
        text, offset, f"{kind} {name} is not declared", f"add (declare-const {name} Real); {known}"
    )


def _build_specification(text: str, declared: dict[str, int], claims: list[_Claim]) -> Specification:
    inputs = _count_variables(text, declared, vnnlib_input_name, "input")
    outputs = _count_variables(text, declared, vnnlib_output_name, "output")
    constraint = conjunction_of(tuple(c.term for c in claims))
    if all(is_input(name) for name in free_names(constraint)):
        where, fix = declared[vnnlib_output_name(0)], "add for example (assert (<= Y_0 0))"
        raise error_at_offset(text, where, "no assertion mentions an output", fix)
    bounds = box.intersect_boxes([c.bounds for c in claims], text)
    low, high = [], []
    for index in range(inputs):
        name = vnnlib_input_name(index)
        below, above = bounds.get(name, (None, None))
        if below is None or above is None:
            side, sign = ("lower", ">=") if below is None else ("upper", "<=")
            fix = f"add (assert ({sign} {name} …))"
            raise error_at_offset(text, declared[name], f"input {name} has no {side} bound", fix)
        low.append(below.value)
        high.append(above.value)
    return Specification(inputs, outputs, tuple(low), tuple(high), constraint)


def _count_variables(text: str, declared: dict[str, int], name: Callable[[int], str], kind: str) -> int:
    """How many inputs or outputs are declared; their numbers must have no gap."""
    letter = name(0)[0]
    count = sum(1 for d in declared if d[0] == letter)
    if not count:
        fix = f"add (declare-const {name(0)} Real)"
        raise error_at_offset(text, 0, f"no {kind} is declared", fix)
    for index in range(count):
        if name(index) not in declared:
            fix = f"number the {kind}s from 0 without gaps"
            where = max(offset for d, offset in declared.items() if d[0] == letter)
            raise error_at_offset(text, where, f"{count} {kind}s are declared, but not {name(index)}", fix)
    return count
