"""Text from files, made visible: what is shown cannot act on a terminal, on a page or on the reader's eye.

Names come from files that somebody else wrote. Control characters move the cursor or change colours, marks of
direction show another order than is there, and characters without width make two names look alike. They
are all written as escapes (`\\x1b`, `\\u202e`, `\\n`) at every door: screen, pages, pictures, source code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from html import escape

# Drawn as nothing although Python calls them printable: joiners, fillers and selectors of variants.
_WITHOUT_WIDTH = frozenset(
    chr(code)
    for first, last in (
        (0x034F, 0x034F),
        (0x115F, 0x1160),
        (0x17B4, 0x17B5),
        (0x180B, 0x180F),
        (0x3164, 0x3164),
        (0xFE00, 0xFE0F),
        (0xFFA0, 0xFFA0),
        (0xE0100, 0xE01EF),
    )
    for code in range(first, last + 1)
)


def is_visible(character: str) -> bool:
    """Not a control character, mark of direction, lone surrogate, or anything else that cannot be seen."""
    return character.isprintable() and character not in _WITHOUT_WIDTH


def make_visible(text: str) -> str:
    """One line: every character that cannot be seen is written as its escape, the end of a line too."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if is_visible(c) else c.encode("unicode_escape").decode("ascii") for c in text)


def join_visible(lines: Iterable[str]) -> str:
    """A text of so many lines: none of them can make another one."""
    return "\n".join(map(make_visible, lines))


def make_lines_visible(text: str) -> str:
    """A text whose lines are its own: everything but their ends is made visible."""
    return join_visible(text.split("\n"))


def escape_html(text: str) -> str:
    """Text in a page or a picture, or the value of an attribute."""
    return escape(make_visible(text))


def make_data_visible(data: object) -> object:
    """JSON data whose texts a page shows."""
    match data:
        case str():
            return make_visible(data)
        case Mapping():
            return {make_visible(str(name)): make_data_visible(value) for name, value in data.items()}
        case list() | tuple():
            return [make_data_visible(value) for value in data]
        case _:
            return data
