"""Damage that fits any certificate: numbers, texts and truth values changed, parts dropped, text cut off."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from random import Random
from typing import Any

Place = tuple[Any, Any]  # a list or an object, and an index or a key of it


def damage(certificate: dict[str, Any], draw: Random) -> tuple[str, str]:
    """What was changed, and the text of what came out."""
    way = draw.choice(("leaf", "leaf", "leaf", "leaf", "drop", "twice", "text", "swap"))
    if way == "text":
        return damage_text(json.dumps(certificate), draw)
    data = copy.deepcopy(certificate)
    places = list(_places(data, leaves=way == "leaf"))
    holder, key = draw.choice(places)
    if way == "leaf":
        return f"another value: {_change(holder, key, draw)}", json.dumps(data)
    if way == "swap":
        other, instead = draw.choice(places)
        holder[key], other[instead] = copy.deepcopy(other[instead]), copy.deepcopy(holder[key])
        return "two parts exchanged", json.dumps(data)
    if way == "twice" and isinstance(holder, list):
        holder.insert(key, copy.deepcopy(holder[key]))
        return "a part twice", json.dumps(data)
    del holder[key]
    return "a part dropped", json.dumps(data)


def damage_text(text: str, draw: Random) -> tuple[str, str]:
    """Text that is no certificate of this format any more, or hardly one."""
    ways = {
        "cut off": lambda: text[: draw.randrange(len(text))],
        "another version": lambda: text.replace('"surefoot-certificate": 1', '"surefoot-certificate": 3', 1),
        "a float": lambda: text.replace(" 1,", " 1.0,", 1),
        "a key twice": lambda: '{"arithmetic": "exact", ' + text[1:],
        "an unknown key": lambda: '{"comment": "", ' + text[1:],
        "another kind": lambda: text.replace('"kind": "', '"kind": "another ', 1),
        "a letter": lambda: _change_letter(text, draw),
    }
    what = draw.choice(sorted(ways))
    return what, ways[what]()


def _change_letter(text: str, draw: Random) -> str:
    place = draw.randrange(len(text))
    return text[:place] + draw.choice('0123456789-"[]{},:aZ') + text[place + 1 :]


def _places(data: Any, leaves: bool) -> Iterator[Place]:
    """Where parts stand; of long lists of numbers not all, which would leave no other part a chance."""
    waiting = [data]
    while waiting:
        part = waiting.pop()
        keys: list[Any] = list(part) if isinstance(part, dict) else list(range(len(part)))
        for key in keys[:40]:
            if isinstance(part[key], dict | list):
                waiting.append(part[key])
                if not leaves:
                    yield part, key
            elif leaves:
                yield part, key


def _change(holder: Any, key: Any, draw: Random) -> str:
    before = holder[key]
    if before is None or isinstance(before, bool):
        holder[key] = draw.choice([v for v in (None, True, False, 0) if v is not before])
    elif isinstance(before, int):
        holder[key] = before + draw.choice((-1, 1, 1, 10, -before, 1 << 40))
    else:
        number = f"{before}".lstrip("-0123456789/.ex") == ""
        fit = (f"-{before}", f"{before}1", "1/3", "0") if number else ("", before[:-1], before + "x", "n")
        holder[key] = draw.choice(fit)
    return f"{before!r:.30} by {holder[key]!r:.30}"
