"""A JSON file as nodes that know their place, so that every error can say where it is.

Numbers are exact: `0.1` is one tenth. Keys that occur twice, NaN, halves of surrogate pairs and numbers of
absurd size are refused before anything is made of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from surefoot.errors import InvalidProblem, Unsupported, did_you_mean
from surefoot.formats.untrusted.regular_file import read_input_bytes
from surefoot.term.decimal_literals import read_number
from surefoot.term.lexer import shorten_text

MOST_BYTES = 64 << 20
_DEEP = "values are nested too deeply"


class JsonNode(NamedTuple):
    """A value of the file, and the keys that lead to it."""

    value: Any
    parent: JsonNode | None = None
    key: str | int = ""

    def place(self) -> str:
        """The path of the value, such as `/automata/0/edges/3/guard`."""
        parts: list[str] = []
        node: JsonNode | None = self
        while node is not None and node.parent is not None:
            parts.append(str(node.key).replace("~", "~0").replace("/", "~1"))
            node = node.parent
        return "".join(f"/{part}" for part in reversed(parts))

    def fail(self, what: str, fix: str = "") -> NoReturn:
        """The file is wrong here."""
        raise InvalidProblem(what, fix=fix, where=self.place())

    def refuse(self, what: str, fix: str = "") -> NoReturn:
        """The file may be right, but this is not supported."""
        raise Unsupported(what, fix=fix, where=self.place())

    def table(self, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()) -> dict[str, JsonNode]:
        """The entries of an object. `x-…` keys, `comment` and `metadata` tell nothing and are passed over."""
        if not isinstance(self.value, dict):
            self.fail("an object is needed here", "write { … }")
        for key in required:
            if key not in self.value:
                self.fail(f"`{key}` is missing", "add it")
        found: dict[str, JsonNode] = {}
        for key, value in self.value.items():
            if key in required or key in optional:
                found[key] = JsonNode(value, self, key)
            elif key not in ("comment", "metadata") and not key.startswith("x-"):
                node = JsonNode(value, self, key)
                node.refuse(f"unknown key `{shorten_text(key)}`", did_you_mean(key, (*required, *optional)))
        return found

    def entries(self) -> list[JsonNode]:
        if not isinstance(self.value, list):
            self.fail("a list is needed here", "write [ … ]")
        return [JsonNode(value, self, number) for number, value in enumerate(self.value)]

    def string(self) -> str:
        if not isinstance(self.value, str):
            self.fail("a text is needed here", 'write "…"')
        return self.value

    def name(self) -> str:
        if not (text := self.string()):
            self.fail("a name is empty", "give it a name")
        return text

    def integer(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.fail("a whole number is needed here", "write a number such as 3")
        return self.value

    def truth(self) -> bool:
        if not isinstance(self.value, bool):
            self.fail("true or false is needed here", "write true or false")
        return self.value

    def declared_name(self, known: Mapping[str, Any], what: str) -> str:
        """A name that has been declared."""
        name = self.name()
        if name not in known:
            self.fail(f"{what} `{shorten_text(name)}` is not declared", did_you_mean(name, known))
        return name


class _Repeated(dict[str, Any]):
    """An object in which a key occurs twice."""


class _NotFinite(str):
    """NaN or an infinity, which JSON does not have but Python reads."""


class _Unreadable(str):
    """A number that is too large to be read."""


def read_json_document(path: Path) -> JsonNode:
    """The top of a JSON file; errors carry the path of the value but not yet the name of the file."""
    text = _read_text(path)
    try:
        top = json.loads(
            text,
            object_pairs_hook=_parse_object,
            parse_float=_parse_number,
            parse_int=_parse_number,
            parse_constant=_NotFinite,
        )
    except json.JSONDecodeError as error:
        what = f"not JSON: {error.msg[:1].lower()}{error.msg[1:]}"
        raise InvalidProblem(what, fix="correct the syntax", where=f"{error.lineno}:{error.colno}") from None
    except RecursionError:
        raise InvalidProblem(_DEEP, fix="nest at most some hundred levels") from None
    for node in _walk_nodes(JsonNode(top)):
        _refuse_odd(node)
    return JsonNode(top)


def _read_text(path: Path) -> str:
    try:
        data = read_input_bytes(path)
    except InvalidProblem as error:
        raise InvalidProblem(error.what, fix=error.fix) from None
    if len(data) > MOST_BYTES:
        raise InvalidProblem(f"the file has {len(data)} bytes", fix=f"at most {MOST_BYTES} are read")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"byte {error.start} is not part of a UTF-8 text"
        raise InvalidProblem(what, fix="save the file as UTF-8") from None


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    return fields if len(fields) == len(pairs) else _Repeated(fields)


def _parse_number(literal: str) -> int | Fraction | _Unreadable:
    negative = literal.startswith("-")
    try:
        value = read_number(literal.removeprefix("-"))
    except InvalidProblem as error:
        return _Unreadable(error.what)
    return -value if negative else value


def _walk_nodes(top: JsonNode) -> Iterator[JsonNode]:
    waiting = [top]
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node.value, dict):
            waiting.extend(JsonNode(value, node, key) for key, value in node.value.items())
        elif isinstance(node.value, list):
            waiting.extend(JsonNode(value, node, number) for number, value in enumerate(node.value))


def _refuse_odd(node: JsonNode) -> None:
    match node.value:
        case _Repeated():
            node.fail("a key occurs twice in this object", "keep one of them")
        case _NotFinite() as literal:
            node.fail(f"`{literal}` is not a number", "write a finite number")
        case _Unreadable() as what:
            node.fail(str(what), "write a smaller number")
        case str() as text if _is_broken(text):
            node.fail("a text contains half of a surrogate pair", "write the whole character")
        case dict() as fields if any(_is_broken(key) for key in fields):
            node.fail("a key contains half of a surrogate pair", "write the whole character")


def _is_broken(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= c <= "\udfff" for c in text)
