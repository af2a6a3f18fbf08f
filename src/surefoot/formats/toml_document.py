"""A TOML file as entries that know their place, so that every error can say where it is.

Numbers are exact: `0.1` is one tenth. Nothing large is built before its size is known.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import NoReturn, TypeVar

from surefoot.errors import InvalidProblem, did_you_mean
from surefoot.formats.untrusted.regular_file import read_input_bytes
from surefoot.term.decimal_literals import read_number
from surefoot.term.parser import parse_term
from surefoot.term.term import Const, Term

MOST_BYTES = 1_000_000
_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)\Z")
_LONG_KEY = re.compile(r"(?<![\w-])(?:[\w\"'-]++[ \t]*+\.[ \t]*+){40}")
_HEADER = re.compile(r"[ \t]*\[{1,2}[ \t]*([^\[\]]*?)[ \t]*\]{1,2}[ \t]*(?:#.*)?\Z")
_SETS_KEY = re.compile(r"[ \t]*([\w-]+|\"[^\"]*\"|'[^']*')[ \t]*=")
_SPECIAL = ("inf", "nan")
_SYNTAX_FIX = 'write lines such as key = "value", below headers such as [variables]'
_SYNTAX_FIXES = {  # by how the message of tomllib begins
    "Invalid value": 'put text in quotes: key = "value"',
    "Expected newline": 'put text in quotes, and each key on a line of its own: key = "value"',
    "Expected ']": "close the header: [variables] or [[edges]]",
    "Unterminated string": "close the quotes",
    "Unclosed array": "close it with `]`",
    "Unclosed inline table": "close it with `}`",
    "Unescaped": "write \\\\ for a backslash, or use single quotes",
    "Escaped character": "write the character itself",
    "Illegal character": "close the quotes on the same line, and write control characters as escapes",
    "Cannot overwrite": "keep one of the two values",
    "Duplicate inline": "keep one of the two values",
    "Cannot declare": "join the two tables, or write [[edges]] for a list of them",
}
Result = TypeVar("Result")


def read_toml_document(path: Path) -> TomlEntry:
    """The top of a TOML file; errors carry line and column but not yet the name of the file."""
    return parse_toml_document(_read_text(path))


def parse_toml_document(text: str) -> TomlEntry:
    """The top of a TOML text."""
    if found := _LONG_KEY.search(text):
        where = _line_and_column(text, found.start())
        raise InvalidProblem("a key of more than 40 parts", fix="use shorter keys", where=where)
    try:
        return TomlEntry(
            tomllib.loads(text, parse_float=lambda literal: _parse_number(literal, text)), "", text
        )
    except tomllib.TOMLDecodeError as error:
        raise _syntax_error(str(error), text) from None
    except RecursionError:
        raise InvalidProblem("values are nested too deeply", fix="nest at most 200 levels") from None
    except ValueError:  # raised by int() for thousands of digits
        raise InvalidProblem("a number has too many digits", fix="write it as text in quotes") from None


def _read_text(path: Path) -> str:
    if (size := _file_size(path)) > MOST_BYTES:
        raise InvalidProblem(f"the file has {size} bytes", fix=f"at most {MOST_BYTES} are read")
    try:
        data = read_input_bytes(path)
    except InvalidProblem as error:
        raise InvalidProblem(error.what, fix=error.fix) from None
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        what = f"byte {error.start} is not part of a UTF-8 text"
        raise InvalidProblem(what, fix="save the file as UTF-8") from None


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size if path.is_file() else 0
    except (OSError, ValueError):
        return 0  # reading it will say what is wrong


def _parse_number(literal: str, text: str) -> Fraction:
    digits = literal.lstrip("+-").replace("_", "")
    try:
        if digits in _SPECIAL:
            raise InvalidProblem(
                f"`{literal}` is not a number", fix="write a finite number, or leave the limit out"
            )
        value = Fraction(read_number(digits))
    except InvalidProblem as error:
        places = list(re.finditer(rf"(?<![\w.+-]){re.escape(literal)}(?![\w.])", text))
        where = _line_and_column(text, places[0].start()) if len(places) == 1 else ""
        raise InvalidProblem(error.what, fix=error.fix, where=where) from None
    return -value if literal.startswith("-") else value


def _syntax_error(message: str, text: str) -> InvalidProblem:
    found = _POSITION.search(message)
    what = message[: found.start()] if found else message
    if found and found[1]:
        where = f"{found[1]}:{found[2]}"
    else:
        where = _line_and_column(text, len(text))
    fix = next((f for start, f in _SYNTAX_FIXES.items() if what.startswith(start)), _SYNTAX_FIX)
    return InvalidProblem(f"not valid TOML: {what[:1].lower()}{what[1:]}", fix=fix, where=where)


def _table_path(header: str, opens: bool, tables: Counter[str]) -> str:
    """The path below a header, such as `edges[1].outcomes[0]`; `opens` begins another table of a list."""
    path, parts = "", header.split(".")
    for number, part in enumerate(parts):
        path += f".{part.strip()}" if path else part.strip()
        tables[path] += opens and number == len(parts) - 1
        path += f"[{tables[path] - 1}]" if tables[path] else ""
    return path


def _line_and_column(text: str, offset: int) -> str:
    return f"{text.count(chr(10), 0, offset) + 1}:{offset - text.rfind(chr(10), 0, offset)}"


@dataclass(frozen=True, slots=True)
class TomlEntry:
    """A value of the file, the keys that lead to it, and the text in which to look for its line."""

    value: object
    path: str
    text: str = field(repr=False)

    def fail(self, what: str, fix: str = "") -> NoReturn:
        raise InvalidProblem(what, fix=fix, where=self.place())

    def place(self) -> str:
        """Line and column if there is no doubt about them, else the key path."""
        start = self._start()
        start = self._line_of_key() if start is None else start
        return self.path if start is None else _line_and_column(self.text, start)

    def _line_of_key(self) -> int | None:
        """Where the last key is set, if that happens once below the header of its table."""
        table, _, key = self.path.rpartition(".")
        section, offset, found = "", 0, []
        tables: Counter[str] = Counter()  # how many tables the lists of tables have so far
        for line in self.text.split("\n"):
            if header := _HEADER.match(line):
                section = _table_path(header[1], line.lstrip().startswith("[["), tables)
            elif section == table and (set_here := _SETS_KEY.match(line)):
                found += [offset + set_here.start(1)] * (set_here[1].strip("\"'") == key)
            offset += len(line) + 1
        return found[0] if len(found) == 1 else None

    def line(self) -> int | None:
        """The number of the line, if there is no doubt about it."""
        number = self.place().partition(":")[0]
        return int(number) if number.isdecimal() else None

    def _start(self) -> int | None:
        """Where a string stands in the text, or after its key: once, and without escapes."""
        if not isinstance(self.value, str) or not self.value:
            return None
        quoted = re.compile(rf"(?<=[\"'\n]){re.escape(self.value)}(?=[\"'])")
        found = [m.start() for m in quoted.finditer(self.text)]
        if len(found) > 1 and (key := self._line_of_key()) is not None:
            end = self.text.find("\n", key)
            found = [start for start in found if key < start < (end if end >= 0 else len(self.text))]
        return found[0] if len(found) == 1 else None

    def inside(self, read: Callable[[str], Result]) -> Result:
        """What `read` makes of this string; its errors are moved from the string to the file."""
        text = self.string()
        try:
            return read(text)
        except InvalidProblem as error:
            start, inner = self._start(), re.fullmatch(r"(\d+):(\d+)", error.where)
            if start is None or inner is None:
                if inner is not None and self.place() != self.path:  # the line of the key is known
                    raise type(error)(error.what, fix=error.fix, where=self.place()) from None
                raise error.at(self.place()) from None
            lines = text.split("\n")[: int(inner[1]) - 1]
            offset = start + sum(len(line) + 1 for line in lines) + int(inner[2]) - 1
            where = _line_and_column(self.text, offset)
            raise type(error)(error.what, fix=error.fix, where=where) from None

    # What the value has to be.

    def table(self, *known: str) -> dict[str, TomlEntry]:
        """The entries of a table; with `known`, no other keys may occur."""
        if not isinstance(self.value, dict):
            self._fail_expected("a table", '{ key = "value" }')
        prefix = f"{self.path}." if self.path else ""
        entries = {k: TomlEntry(v, f"{prefix}{k}", self.text) for k, v in self.value.items()}
        for key, entry in entries.items():
            if known and key not in known:
                entry.fail(f"unknown key `{key}`", did_you_mean(key, known))
        return entries

    def entries(self) -> list[TomlEntry]:
        if not isinstance(self.value, list):
            self._fail_expected("a list", '["x", "y"]')
        return [TomlEntry(v, f"{self.path}[{i}]", self.text) for i, v in enumerate(self.value)]

    def string(self) -> str:
        if not isinstance(self.value, str):
            self._fail_expected("text in quotes", '"…"')
        return self.value

    def strings(self) -> tuple[str, ...]:
        return tuple(e.string() for e in self.entries())

    def integer(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self._fail_expected("a whole number", "3")
        return self.value

    def truth(self) -> bool:
        if not isinstance(self.value, bool):
            self._fail_expected("true or false", "true")
        return self.value

    def number(self) -> int | Fraction:
        if not isinstance(self.value, int | Fraction) or isinstance(self.value, bool):
            self._fail_expected("a number", "0.5")
        return self.value

    def term(self, names: Iterable[str] | None, constants: Mapping[str, Term]) -> Term:
        """A term: text, or a number or truth value as TOML writes it."""
        if isinstance(self.value, bool | int | Fraction):
            return Const(self.value)
        return self.inside(lambda text: parse_term(text, names=names, constants=constants))

    def _fail_expected(self, what: str, example: str) -> NoReturn:
        key = self.path.rpartition(".")[2]
        written = example if "[" in key or not key else f"{key} = {example}"
        self.fail(f"`{key}` has to be {what}" if key else f"the file has to be {what}", f"write {written}")
