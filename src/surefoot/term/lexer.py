"""Words of the text syntax: numbers, names and symbols, each with its place in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from typing import NamedTuple

from surefoot.errors import InvalidProblem

_MOST_CHARACTERS = 1_000_000

_WORD = re.compile(
    r"[ \t\r\n]*(?:"
    r"([A-Za-z_][A-Za-z0-9_.]*)"
    r"|(=>|==|!=|<=|>=|&&|\|\||[=<>+\-*/%^&|~!()\[\]{},?])"
    r"|([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)"
    r"|`((?:[^`\\]|\\.)*)`"
    r")",
    re.DOTALL,
)
_SPACE = re.compile(r"[ \t\r\n]*")
_ESCAPE = re.compile(r"\\(?:u\{([0-9a-fA-F]{1,6})\}|(.))", re.DOTALL)
_LUMP = re.compile(r"[\w.]+")
_ASCII_FOR = {
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "∧": "and",
    "∨": "or",
    "¬": "not",
    "→": "=>",
    "×": "*",
    "−": "-",
}


class TokenKind(Enum):
    NUMBER = "number"
    NAME = "name"  # a plain word, which may be a keyword or the name of a function
    QUOTED = "quoted name"  # between backquotes: never a keyword
    SYMBOL = "symbol"
    END = "end of the text"


class Token(NamedTuple):
    kind: TokenKind
    text: str  # for a quoted name: the name itself
    offset: int
    word: str = ""  # how a symbol or plain word is spelled; empty for anything else


def term_syntax_error(text: str, offset: int, what: str, fix: str = "") -> InvalidProblem:
    """The error that points at a place in the text by line and column, both counted from 1."""
    line = text.count("\n", 0, offset) + 1
    column = offset - text.rfind("\n", 0, offset)
    return InvalidProblem(what, fix=fix, where=f"{line}:{column}")


def iterate_tokens(text: str) -> Iterator[Token]:
    """The words of a text, one after the other; the last one is always `END`."""
    if len(text) > _MOST_CHARACTERS:
        raise term_syntax_error(
            text, 0, f"the text has {len(text)} characters", f"at most {_MOST_CHARACTERS} are read"
        )
    offset = 0
    while found := _WORD.match(text, offset):
        offset = found.end()
        yield _read_token(text, found)
    space = _SPACE.match(text, offset)
    if space and space.end() < len(text):
        raise _unexpected_character(text, space.end())
    yield Token(TokenKind.END, "", len(text))


def _read_token(text: str, found: re.Match[str]) -> Token:
    group = found.lastindex or 0
    word, start = found[group], found.start(group)
    if group == 1:
        return Token(TokenKind.NAME, word, start, word)
    if group == 2:
        return Token(TokenKind.SYMBOL, word, start, word)
    if group == 3:
        if lump := _LUMP.match(text, found.end()):
            shown = shorten_text(word + lump[0])
            raise term_syntax_error(
                text, start, f"`{shown}` is not a number", "write numbers like 12, 0.25 or 1e-3"
            )
        return Token(TokenKind.NUMBER, word, start)
    return Token(TokenKind.QUOTED, _unescape_name(text, start - 1, word), start - 1)


def _unescape_name(text: str, offset: int, body: str) -> str:
    def plain(found: re.Match[str]) -> str:
        if found[1]:
            if (code := int(found[1], 16)) > 0x10FFFF:
                what = f"`\\u{{{found[1]}}}` is not a character"
                raise term_syntax_error(text, offset, what, "the last one is \\u{10ffff}")
            return chr(code)
        if found[2] in "`\\":
            return str(found[2])
        raise term_syntax_error(
            text, offset, "unknown escape in a quoted name", "the escapes are \\`, \\\\ and \\u{hex}"
        )

    return _ESCAPE.sub(plain, body)


def _unexpected_character(text: str, offset: int) -> InvalidProblem:
    character = text[offset]
    if character == "`":
        return term_syntax_error(text, offset, "a quoted name is not closed", "end it with a backquote")
    if character in _ASCII_FOR:
        return term_syntax_error(
            text, offset, f"unexpected character `{character}`", f"write `{_ASCII_FOR[character]}`"
        )
    if character.isnumeric():
        return term_syntax_error(
            text, offset, f"`{character}` is not one of the digits 0 to 9", "write ASCII digits"
        )
    if character.isalpha():
        return term_syntax_error(
            text, offset, f"unexpected character `{character}`", "put the name in backquotes"
        )
    shown = character if character.isprintable() else f"\\u{{{ord(character):x}}}"
    return term_syntax_error(text, offset, f"unexpected character `{shown}`", "remove it")


def shorten_text(text: str, most: int = 40) -> str:
    """A text that fits into a message."""
    return text if len(text) <= most else text[: most - 1] + "…"
