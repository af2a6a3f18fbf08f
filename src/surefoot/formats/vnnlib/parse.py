"""From a VNN-LIB 1 file, plain or gzipped, to a `Specification`; every error says its line and column."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import reduce
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeAlias

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean, locate_errors
from surefoot.formats.untrusted.regular_file import read_model_file
from surefoot.formats.vnnlib.sexpr import (
    SExpression,
    error_at_offset,
    line_and_column,
    quote_vnnlib_word,
    top_level_lists,
)
from surefoot.formats.vnnlib.specification import (
    Specification,
    input_bound,
    is_input,
    shorten_number,
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

MOST_BYTES = 256 * 2**20
MOST_RATIO = 200  # of unpacked to packed size beyond the first megabyte; real queries stay below 40
_GZIP = b"\x1f\x8b"
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


class _StatedBound(NamedTuple):
    value: Fraction
    offset: int  # where it was stated


class _StatedInterval(NamedTuple):
    low: _StatedBound | None
    high: _StatedBound | None


_Box: TypeAlias = dict[str, _StatedInterval]  # an input that is missing has no bound


class _Claim(NamedTuple):
    term: Term
    bounds: _Box  # that it puts on inputs: intersection for `and`, hull for `or`


def read_vnnlib_file(path: Path) -> Specification:
    """The specification in a VNN-LIB 1 file, plain or gzipped. Errors name file, line and column."""
    with locate_errors(str(path)):
        data = read_model_file(path, ".vnnlib", MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise InvalidProblem(f"larger than {MOST_BYTES // 2**20} MB", fix="split the query")
        if data.startswith(_GZIP):
            data = _unpack_gzip(data)
        try:
            text = data.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise InvalidProblem("this is not a text file", fix="give a .vnnlib or .vnnlib.gz file") from None
        return parse_vnnlib(text)


def _unpack_gzip(data: bytes) -> bytes:
    """The content of gzipped data; a bomb is refused before it is unpacked."""
    most = min(MOST_BYTES, max(2**20, MOST_RATIO * len(data)))
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
            content = file.read(most + 1)
    except (EOFError, gzip.BadGzipFile, zlib.error):
        raise InvalidProblem("the gzip file is damaged or cut off", fix="fetch it again") from None
    if len(content) > most:
        much = f"{MOST_BYTES // 2**20} MB" if most == MOST_BYTES else f"{MOST_RATIO} times its size"
        raise InvalidProblem(f"the gzip file unpacks to more than {much}", fix="give the unpacked file")
    return content


def parse_vnnlib(text: str) -> Specification:
    """The specification in a VNN-LIB 1 text: the conjunction of all its assertions."""
    return _Reader(text).specification()


@dataclass(frozen=True, slots=True)
class _Reader:
    text: str
    declared: dict[str, int] = field(default_factory=dict)  # inputs and outputs, and where they are declared

    def _fail(self, offset: int, what: str, fix: str = "") -> NoReturn:
        raise error_at_offset(self.text, offset, what, fix)

    def specification(self) -> Specification:
        claims: list[_Claim] = []
        for command in top_level_lists(self.text, _COMMANDS):
            head, rest = self._split_list(command)
            if head.content == "assert":
                if len(rest) != 1:
                    self._fail(head.offset, f"`assert` takes one formula, here are {len(rest)}")
                claims.append(self._formula(rest[0]))
            elif head.content in ("declare-const", "declare-fun"):
                self._declare(head, rest)
            elif head.content not in _IGNORED:
                self._refuse_command(str(head.content), head.offset)
        return self._build_specification(claims)

    def _split_list(self, node: SExpression) -> tuple[SExpression, tuple[SExpression, ...]]:
        """The word at the head of a list, and what follows it."""
        items = node.content
        if isinstance(items, tuple) and items and isinstance(items[0].content, str):
            return items[0], items[1:]
        self._fail(node.offset, "a list must begin with a word", "write (assert …) or (<= X_0 1.0)")

    def _refuse_command(self, word: str, offset: int) -> NoReturn:
        if word in _VERSION_2:
            where, fix = line_and_column(self.text, offset), "write it in version 1: declare-const, X_i, Y_i"
            raise Unsupported("this is VNN-LIB 2, which is not read yet", fix=fix, where=where)
        self._fail(offset, f"unknown command {quote_vnnlib_word(word)}", did_you_mean(word, _COMMANDS[:3]))

    def _declare(self, head: SExpression, rest: tuple[SExpression, ...]) -> None:
        """(declare-const X_0 Real), or the same as a function without arguments."""
        shape = [n.content for n in rest]
        if head.content == "declare-fun" and len(shape) == 3 and shape[1] == ():
            del shape[1]
        if len(shape) != 2 or not all(isinstance(s, str) for s in shape):
            self._fail(head.offset, "cannot read this declaration", "write (declare-const X_0 Real)")
        name, kind = str(shape[0]), str(shape[1])
        if kind != "Real":
            what = f"{quote_vnnlib_word(name)} is declared as {quote_vnnlib_word(kind)}"
            self._fail(rest[-1].offset, what, "declare it as Real")
        match, offset = _VARIABLE.match(name), rest[0].offset
        if match is None:
            self._fail(offset, f"{quote_vnnlib_word(name)} is neither an input nor an output", _NAMES)
        if int(match[2]) >= MOST_VARIABLES:
            self._fail(offset, f"{name} is beyond the limit of {MOST_VARIABLES} variables")
        if name in self.declared:
            fix = f"remove this one; the first is at {line_and_column(self.text, self.declared[name])}"
            self._fail(offset, f"{name} is declared twice", fix)
        self.declared[name] = offset

    def _formula(self, node: SExpression) -> _Claim:
        """A claim from (and …), (or …) or a comparison, and the bounds that it puts on inputs."""
        if isinstance(node.content, str):
            self._fail(
                node.offset, f"{quote_vnnlib_word(node.content)} is not a formula", "write (<= X_0 1.0)"
            )
        head, rest = self._split_list(node)
        word = str(head.content)
        if word in ("and", "or"):
            if not rest:
                self._fail(node.offset, f"`({word})` is empty", "add a formula or remove it")
            claims = [self._formula(n) for n in rest]
            terms = tuple(c.term for c in claims)
            if word == "and":
                return _Claim(conjunction_of(terms), self._intersect_boxes([c.bounds for c in claims]))
            return _Claim(disjunction_of(terms), _hull_of_boxes([c.bounds for c in claims]))
        if word not in _COMPARISONS:
            known = "formulas are built from and, or, <=, >=, <, >, ="
            self._fail(head.offset, f"{quote_vnnlib_word(word)} is not supported as a formula", known)
        if len(rest) != 2:
            fix = "write one comparison for each pair"
            self._fail(head.offset, f"`{word}` compares two terms, here are {len(rest)}", fix)
        comparison = _COMPARISONS[word](self._term(rest[0]), self._term(rest[1]))
        return _Claim(comparison, _box_from_comparison(comparison, node.offset))

    def _term(self, node: SExpression) -> Term:
        if isinstance(node.content, str):
            return (
                Var(node.content)
                if node.content in self.declared
                else self._number(node.content, node.offset)
            )
        head, rest = self._split_list(node)
        word = str(head.content)
        if word not in _ARITHMETIC:
            known = "terms are built from numbers, X_i, Y_i, + - *"
            self._fail(head.offset, f"{quote_vnnlib_word(word)} is not supported as a term", known)
        if not rest:
            self._fail(node.offset, f"`({word})` is empty", "add a term or remove it")
        args = [self._term(n) for n in rest]
        if word == "-":
            if len(args) == 1:
                return negate_number(args[0])
            return reduce(lambda left, right: _fold_arithmetic(Op.SUB, (left, right)), args)
        return args[0] if len(args) == 1 else _fold_arithmetic(Op.ADD if word == "+" else Op.MUL, tuple(args))

    def _number(self, word: str, offset: int) -> Term:
        if _VARIABLE.match(word):
            self._refuse_undeclared(word, offset)
        if word.lstrip("+-").lower() in _NOT_FINITE:
            self._fail(offset, f"{quote_vnnlib_word(word)} is not a finite number", "write a finite bound")
        if not _NUMBER.match(word):
            if word[0] in "+-." or word[0].isnumeric():
                fix = "write ASCII digits like 12, -0.25 or 1e-3"
                self._fail(offset, f"{quote_vnnlib_word(word)} is not a number", fix)
            self._fail(offset, f"unknown name {quote_vnnlib_word(word)}", _NAMES)
        try:
            value = read_number(word.lstrip("-"))
        except InvalidProblem as error:  # its place is looked for only now: files have millions of numbers
            raise error.at(line_and_column(self.text, offset)) from None
        if value > LARGEST_FLOAT32:
            fix = "the largest float32 number is about 3.4e38"
            self._fail(offset, f"{quote_vnnlib_word(word)} is out of the range of float32", fix)
        return Const(-value if word.startswith("-") else value)

    def _refuse_undeclared(self, name: str, offset: int) -> NoReturn:
        same = sum(1 for d in self.declared if d[0] == name[0])
        known = f"{name[0]}_0 to {name[0]}_{same - 1} are declared" if same else "none is"
        kind = "input" if is_input(name) else "output"
        self._fail(offset, f"{kind} {name} is not declared", f"add (declare-const {name} Real); {known}")

    def _intersect_boxes(self, boxes: Sequence[_Box]) -> _Box:
        """What all boxes allow; an input whose lower bound is above its upper bound is an error."""
        if len(boxes) == 1:
            return boxes[0]
        result: _Box = {}
        for box in boxes:
            for name, (low, high) in box.items():
                if name in result:
                    known = result[name]
                    low = max((s for s in (known.low, low) if s), key=lambda s: s.value, default=None)
                    high = min((s for s in (known.high, high) if s), key=lambda s: s.value, default=None)
                if low and high and low.value > high.value:
                    self._fail(
                        max(low.offset, high.offset),
                        f"input {name} has lower bound {shorten_number(low.value)} "
                        f"above upper bound {shorten_number(high.value)}",
                        "swap or correct the bounds",
                    )
                result[name] = _StatedInterval(low, high)
        return result

    def _build_specification(self, claims: list[_Claim]) -> Specification:
        inputs = self._count_variables(vnnlib_input_name, "input")
        outputs = self._count_variables(vnnlib_output_name, "output")
        constraint = conjunction_of(tuple(c.term for c in claims))
        if all(is_input(name) for name in free_names(constraint)):
            where, fix = self.declared[vnnlib_output_name(0)], "add for example (assert (<= Y_0 0))"
            self._fail(where, "no assertion mentions an output", fix)
        bounds = self._intersect_boxes([c.bounds for c in claims])
        low, high = [], []
        for index in range(inputs):
            name = vnnlib_input_name(index)
            below, above = bounds.get(name, (None, None))
            if below is None or above is None:
                side, sign = ("lower", ">=") if below is None else ("upper", "<=")
                fix = f"add (assert ({sign} {name} …))"
                self._fail(self.declared[name], f"input {name} has no {side} bound", fix)
            low.append(below.value)
            high.append(above.value)
        return Specification(inputs, outputs, tuple(low), tuple(high), constraint)

    def _count_variables(self, name: Callable[[int], str], kind: str) -> int:
        """How many inputs or outputs are declared; their numbers must have no gap."""
        places = [offset for declared, offset in self.declared.items() if declared[0] == name(0)[0]]
        if not places:
            self._fail(0, f"no {kind} is declared", f"add (declare-const {name(0)} Real)")
        for index in range(len(places)):
            if name(index) not in self.declared:
                fix = f"number the {kind}s from 0 without gaps"
                self._fail(max(places), f"{len(places)} {kind}s are declared, but not {name(index)}", fix)
        return len(places)


def _box_from_comparison(comparison: Term, offset: int) -> _Box:
    """The bound that a single comparison puts on an input, if it does."""
    bound = input_bound(comparison)
    if bound is None:
        return {}
    name, *ends = bound
    low, high = (None if end is None else _StatedBound(end, offset) for end in ends)
    return {name: _StatedInterval(low, high)}


def _hull_of_boxes(boxes: Sequence[_Box]) -> _Box:
    """What at least one box allows."""
    result = dict(boxes[0])
    for box in boxes[1:]:
        for name, (low, high) in list(result.items()):
            if name not in box:
                del result[name]
                continue
            other = box[name]
            result[name] = _StatedInterval(
                min(low, other.low) if low and other.low else None,
                max(high, other.high) if high and other.high else None,
            )
    return result


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
