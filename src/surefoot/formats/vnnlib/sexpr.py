"""S-expressions with their places: words and lists, read without recursion, one top-level list at a time."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from surefoot.errors import InvalidProblem

# Whoever walks the result may recurse: no list is nested deeper than this.
MOST_NESTING = 100

# A parenthesis, a comment, a string or quoted symbol (read as one word), or a word.
_TOKEN = re.compile(r'[()]|;[^\r\n]*|"[^"]*"|\|[^|]*\||[^\s();"|]+|["|]', re.ASCII)


class SExpression(NamedTuple):
    """A word, or a list of nodes; `offset` is where it starts in the text."""

    content: str | tuple[SExpression, ...]
    offset: int


def error_at_offset(text: str, offset: int, what: str, fix: str = "") -> InvalidProblem:
    """The error that points at a place in the text by line and column, both counted from 1."""
    return InvalidProblem(what, fix=fix, where=line_and_column(text, offset))


def line_and_column(text: str, offset: int) -> str:
    """`line:column` of an offset, both counted from 1."""
    return f"{text.count(chr(10), 0, offset) + 1}:{offset - text.rfind(chr(10), 0, offset)}"


def quote_vnnlib_word(word: str, most: int = 40) -> str:
    """A piece of the text, quoted for a one-line message: no control characters, not too long."""
    short = word if len(word) <= most else word[: most - 1] + "…"
    return "`" + "".join(c if c.isprintable() else ascii(c)[1:-1] for c in short) + "`"


def top_level_lists(text: str, heads: Collection[str]) -> Iterator[SExpression]:
    """Each list of the text that is not inside another one; comments run from `;` to the end of the line.

    `heads` are the words that begin a top-level list and nothing else. Found deeper down, they show where a
    parenthesis was forgotten; without them it would be noticed only at the end of the text.
    """
    outer: list[
        tuple[list[SExpression], int]
    ] = []  # the open lists around the current one, and where it began
    items: list[SExpression] = []
    start = 0
    for found in _TOKEN.finditer(text):
        token, offset = found[0], found.start()
        if token == "(":
            if len(outer) == MOST_NESTING:
                raise error_at_offset(
                    text, offset, f"more than {MOST_NESTING} nested lists", "flatten the formula"
                )
            outer.append((items, start))
            items, start = [], offset
        elif token == ")":
            if not outer:
                raise error_at_offset(
                    text, offset, "`)` closes nothing", "remove it, or add the `(` that it closes"
                )
            node = SExpression(tuple(items), start)
            items, start = outer.pop()
            if outer:
                items.append(node)
            else:
                yield node
        elif token[0] != ";":
            if not outer:
                raise error_at_offset(
                    text,
                    offset,
                    f"{quote_vnnlib_word(token)} stands outside any list",
                    "put it in parentheses",
                )
            if not items and len(outer) > 1 and token in heads:
                raise _not_closed(text, outer[1][1])
            items.append(SExpression(token, offset))
    if outer:
        raise _not_closed(text, outer[1][1] if len(outer) > 1 else start)


def _not_closed(text: str, offset: int) -> InvalidProblem:
    return error_at_offset(text, offset, "this `(` is not closed", "add the missing `)`")
