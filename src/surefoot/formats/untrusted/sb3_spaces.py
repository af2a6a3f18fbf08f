"""Spaces of a Stable-Baselines3 file, from the text that stands beside their pickles.

A space is stored as a pickle (`:serialized:`, never decoded) beside its fields, printed with `str`: a box of
actions has `"low": "[-1. -2.]"`, a dictionary `"spaces": "{'a': Box(-1.0, 1.0, (2,), float32), …}"`. numpy
prints 8 digits after the point, so a bound that uses all of them may have been rounded; a note says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import prod
from typing import Any

from surefoot.errors import InvalidProblem, Unsupported

MOST_CHOICES = 1 << 16  # of all one-hot numbers together
_SPACE = re.compile(r"<class '(?:gymnasium|gym)\.spaces\.\w+\.(\w+)'>", re.ASCII)
_NUMBER = re.compile(r"[-+]?(?:inf|(?:\d+\.?\d*|\.\d+)(?:e[-+]?\d{1,3})?)", re.ASCII)
_FULL_PRECISION = re.compile(r"\.\d{8}", re.ASCII)
_ENTRY = re.compile(
    r"'(?P<key>[^'\\]*)': (?:"
    r"Box\([-+\d.einf\s\[\]]*, [-+\d.einf\s\[\]]*, \((?P<shape>[\d, ]*)\), (?P<dtype>\w+)\)"
    r"|Discrete\((?P<n>\d+)(?:, start=-?\d+)?\)"
    r"|MultiBinary\((?P<bits>\d+|\([\d, ]+\))\)"
    r"|MultiDiscrete\((?P<counts>[\d\s\[\]]+)(?:, start=[-\d\s\[\]]+)?\))",
    re.ASCII,
)
_COUNT = re.compile(r"[1-9]\d{0,8}", re.ASCII)
_ARRAY = "observe a Box, Discrete, MultiDiscrete, MultiBinary or a Dict of these"


@dataclass(frozen=True, slots=True)
class ObservedPart:
    """Numbers of an observation that are encoded together; `counts`: one-hot, entry by entry."""

    width: int
    counts: tuple[int, ...] = ()  # of the values of each entry; empty: the numbers themselves
    divisor: int = 1
    key: str = ""  # of a dictionary

    @property
    def features(self) -> int:
        return sum(self.counts) if self.counts else self.width


@dataclass(frozen=True, slots=True)
class ActionSpace:
    """`Discrete` with `width` choices, `Box` with `width` numbers and their bounds, `MultiDiscrete` with
    `width` scores for `counts` choices each, or `MultiBinary` with `width` bits.
    """

    kind: str
    width: int
    low: tuple[float, ...] | None = None
    high: tuple[float, ...] | None = None
    counts: tuple[int, ...] = ()


def read_observation_space(
    fields: dict[str, Any], where: str, *, divides_images: bool
) -> tuple[ObservedPart, ...]:
    """The parts of an observation in the order in which the library joins them."""
    kind, entry = _read_space(fields, "observation_space", where)
    match kind:
        case "Discrete":
            return (ObservedPart(1, (_read_count(entry.get("n"), where),)),)
        case "MultiDiscrete":
            counts = _read_counts(entry.get("nvec"), where)
            return (ObservedPart(len(counts), counts),)
        case "MultiBinary":
            return (ObservedPart(prod(_read_shape(entry, where))),)
        case "Box":
            shape = _read_shape(entry, where)
            return (ObservedPart(prod(shape), divisor=_image_divisor(entry, shape, divides_images, where)),)
        case "Dict":
            return _read_dictionary(entry.get("spaces"), where)
        case _:
            raise Unsupported(f"{kind} observations", fix=_ARRAY, where=where)


def read_action_space(fields: dict[str, Any], where: str) -> tuple[ActionSpace, tuple[str, ...]]:
    """The action space, and notes on what was read."""
    kind, entry = _read_space(fields, "action_space", where)
    match kind:
        case "Discrete":
            count, start = str(entry.get("n")), str(entry.get("start", 0))
            if not re.fullmatch(r"[1-9]\d{0,5}", count, re.ASCII):
                raise InvalidProblem("the number of actions is not readable", where=where)
            shifted = f"action i is output i: the library ignores the space's start ({start[:20]})"
            return ActionSpace(kind, int(count)), (shifted,) if start != "0" else ()
        case "MultiDiscrete":
            counts = _read_counts(entry.get("nvec"), where)
            return ActionSpace(kind, sum(counts), counts=counts), ()
        case "MultiBinary":
            return ActionSpace(kind, prod(_read_shape(entry, where))), ()
        case "Box":
            return _read_action_box(entry, where)
        case _:
            fix = "Discrete, MultiDiscrete, MultiBinary and Box actions are read"
            raise Unsupported(f"{kind} actions", fix=fix, where=where)


def _read_action_box(entry: dict[str, Any], where: str) -> tuple[ActionSpace, tuple[str, ...]]:
    width = prod(_read_shape(entry, where))
    low, high = (_parse_bounds(entry, name, width, where) for name in ("low", "high"))
    if any(a > b for a, b in zip(low, high, strict=True)):
        raise InvalidProblem("an action bound has low above high", where=where)
    rounded = any(_FULL_PRECISION.search(str(entry[name])) for name in ("low", "high"))
    note = "action bounds are printed in the file with 8 digits after the point; they may have been rounded"
    return ActionSpace("Box", width, low, high), (note,) if rounded else ()


def _read_space(fields: dict[str, Any], name: str, where: str) -> tuple[str, dict[str, Any]]:
    entry = fields.get(name)
    if not isinstance(entry, dict):
        raise InvalidProblem(f"`data` has no {name}", where=where)
    found = _SPACE.fullmatch(str(entry.get(":type:")))
    if not found:
        raise Unsupported(f"{name} of type {str(entry.get(':type:'))[:120]}", where=where)
    return found[1], entry


def _read_dictionary(text: object, where: str) -> tuple[ObservedPart, ...]:
    """The spaces of a dictionary, printed one after the other; images go through convolutions: refused."""
    refusal = Unsupported("the spaces of the dictionary are not readable", fix=_ARRAY, where=where)
    if not isinstance(text, str) or len(text) > 1 << 20:
        raise refusal
    parts: list[ObservedPart] = []
    inner = re.sub(r"\A(?:OrderedDict|Dict)\((.*)\)\Z", r"\1", text, flags=re.DOTALL)
    if not (inner.startswith("{") and inner.endswith("}")):
        raise refusal
    place, end = 1, len(inner) - 1
    while place < end:
        found = _ENTRY.match(inner, place, end)
        if not found or not (found.end() == end or inner.startswith(", ", found.end())):
            raise refusal
        parts.append(_dictionary_part(found, where))
        place = found.end() + 2
    if not parts or len({part.key for part in parts}) < len(parts):
        raise refusal
    return tuple(parts)


def _dictionary_part(found: re.Match[str], where: str) -> ObservedPart:
    key = found["key"]
    if found["n"] is not None:
        return ObservedPart(1, (_read_count(found["n"], where),), key=key)
    if found["counts"] is not None:
        counts = _read_counts(found["counts"], where)
        return ObservedPart(len(counts), counts, key=key)
    text = found["shape"] if found["bits"] is None else found["bits"].strip("()")
    words = [w.strip() for w in text.split(",") if w.strip()]
    shape = _check_shape([int(w) if len(w) < 9 else 0 for w in words], where)
    if found["dtype"] == "uint8" and len(shape) == 3:
        what = f"the image `{key}` goes through convolutions (CNN)"
        raise Unsupported(what, fix="observe a Box of floats", where=where)
    return ObservedPart(prod(shape), key=key)


def _image_divisor(entry: dict[str, Any], shape: tuple[int, ...], divides: bool, where: str) -> int:
    """255 where the library takes a box for an image: three axes of bytes from 0 to 255."""
    if not divides or entry.get("dtype") != "uint8" or len(shape) != 3:
        return 1
    ends = (str(entry.get(name)).replace("[", " ").replace("]", " ").split() for name in ("low", "high"))
    if [set(words) for words in ends] == [{"0"}, {"255"}]:  # what is abbreviated might hide others
        return 255
    raise Unsupported("image observations (CNN policy)", fix="observe a Box of floats", where=where)


def _read_count(value: object, where: str) -> int:
    if not _COUNT.fullmatch(str(value)) or int(str(value)) > MOST_CHOICES:
        raise InvalidProblem("the number of values is not readable, or too large", where=where)
    return int(str(value))


def _read_counts(text: object, where: str) -> tuple[int, ...]:
    """Numbers of values, as numpy prints a vector of them."""
    words = str(text).replace("[", " ").replace("]", " ").split()
    if str(text).count("[") > 1:
        raise Unsupported("MultiDiscrete with several axes", fix="use one axis", where=where)
    counts = tuple(_read_count(word, where) for word in words)
    if not counts or sum(counts) > MOST_CHOICES:
        raise InvalidProblem("the numbers of values are not readable, or too large", where=where)
    return counts


def _read_shape(entry: dict[str, Any], where: str) -> tuple[int, ...]:
    return _check_shape(entry.get("_shape"), where)


def _check_shape(shape: object, where: str) -> tuple[int, ...]:
    if not isinstance(shape, list) or not shape or len(shape) > 8:
        raise InvalidProblem("the shape is not readable", where=where)
    if not all(type(n) is int and 0 < n < 1 << 24 for n in shape) or prod(shape) > 1 << 24:
        raise InvalidProblem("the shape is not readable", where=where)
    return tuple(shape)


def _parse_bounds(entry: dict[str, Any], name: str, width: int, where: str) -> tuple[float, ...]:
    """Bounds from the text that numpy prints for an array of any shape."""
    text = entry.get(name)
    if not isinstance(text, str):
        raise Unsupported(f"the bound `{name}` is only there as a pickle", where=where)
    if "..." in text:
        raise Unsupported(f"the bound `{name}` is abbreviated in the file", where=where)
    words = text.replace("[", " ").replace("]", " ").split()
    if len(words) != width or not all(_NUMBER.fullmatch(word) for word in words):
        raise InvalidProblem(f"the bound `{name}` is not a list of {width} numbers", where=where)
    return tuple(float(word) for word in words)
