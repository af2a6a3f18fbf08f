"""Tables and lists as the text of a TOML file: what `parse_toml_document` reads back as the same values.

Values are texts, whole numbers, doubles, truth values, lists and tables. Exact fractions are given as texts,
because a TOML number with decimals is a double for everybody else.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Any

from surefoot.errors import Unsupported
from surefoot.visible import is_visible

LONGEST_LINE = 110
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+\Z")
_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def write_toml_document(top: Mapping[str, Any], repeated: Collection[str]) -> str:
    """The text of a file; lists under the keys `repeated` have a header, as `[[edges]]`, for each table."""
    return "\n".join(_table_lines(top, "", repeated)).strip("\n") + "\n"


def show_toml_key(key: str) -> str:
    return key if _BARE_KEY.match(key) else show_toml_text(key)


def show_toml_text(text: str) -> str:
    """A text in quotes; what cannot be seen is written as its escape."""
    return f'"{"".join(map(_escape_character, text))}"'


def _escape_character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if (character.isascii() and character.isprintable()) or is_visible(character):
        return character
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        what = "half of a character (a lone surrogate) cannot stand in a TOML file"
        raise Unsupported(what, fix="rename what has it in its name")
    return f"\\u{code:04X}" if code <= 0xFFFF else f"\\U{code:08X}"


def _table_lines(table: Mapping[str, Any], path: str, repeated: Collection[str]) -> list[str]:
    """What fits on a line of its own first, because a header takes all lines below it."""
    lines: list[str] = []
    later: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, Mapping):
            line = f"{show_toml_key(key)} = {_inline_value(value)}"
            if path and len(line) <= LONGEST_LINE:
                lines.append(line)
            else:
                later.append((key, value))
        elif key in repeated and value:
            later.append((key, value))
        else:
            lines += _value_lines(show_toml_key(key), value)
    for key, value in later:
        inner = f"{path}.{show_toml_key(key)}" if path else show_toml_key(key)
        if isinstance(value, Mapping):
            lines += ["", f"[{inner}]", *_table_lines(value, inner, repeated)]
        else:
            for one in value:
                lines += ["", f"[[{inner}]]", *_table_lines(one, inner, repeated)]
    return lines


def _value_lines(key: str, value: Any) -> list[str]:
    line = f"{key} = {_inline_value(value)}"
    if isinstance(value, list) and value and len(line) > LONGEST_LINE:
        return [f"{key} = [", *(f"  {_inline_value(one)}," for one in value), "]"]
    return [line]


def _inline_value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value)  # the shortest decimal that means this double
        case str():
            return show_toml_text(value)
        case list():
            return f"[{', '.join(map(_inline_value, value))}]"
        case _:
            inside = ", ".join(f"{show_toml_key(k)} = {_inline_value(v)}" for k, v in value.items())
            return f"{{ {inside} }}" if inside else "{}"
