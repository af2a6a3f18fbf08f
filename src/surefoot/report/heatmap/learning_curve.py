"""A learning curve: how a number developed while a policy was trained, read from CSV, JSON or a recipe."""

from __future__ import annotations

import csv
import io
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any

from surefoot.errors import InvalidProblem
from surefoot.formats.untrusted.regular_file import require_file

MOST_POINTS = 100_000
FIX = "give two columns, such as step and return, or a recipe of `surefoot_studies.training`"


@dataclass(frozen=True, slots=True)
class Curve:
    """Points (x, y) in the order of training; `marks`: where a checkpoint was saved, and its name."""

    x: str
    y: str
    points: tuple[tuple[float, float], ...]
    marks: tuple[tuple[float, str], ...] = ()


def read_curve(path: Path) -> Curve:
    """The first column against the second one of a CSV or JSON file, or the curve of a recipe (.toml)."""
    require_file(path)
    try:
        text = path.read_text("utf-8")
        match path.suffix:
            case ".csv" | ".tsv":
                names, rows = _parse_csv(text, "\t" if path.suffix == ".tsv" else ",")
            case ".json":
                names, rows = _parse_json(json.loads(text))
            case ".toml":
                names, rows = _parse_recipe(tomllib.loads(text))
            case _:
                raise InvalidProblem("a learning curve is a .csv, .json or .toml file", where=str(path))
        points = [(float(x), float(y)) for x, y in rows]
    except InvalidProblem:
        raise
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        raise InvalidProblem("this is not a learning curve", fix=FIX, where=str(path)) from None
    points = [p for p in points if isfinite(p[0]) and isfinite(p[1])]
    if not 1 <= len(points) <= MOST_POINTS:
        what = f"a learning curve has between 1 and {MOST_POINTS} points; here are {len(points)}"
        raise InvalidProblem(what, fix=FIX, where=str(path))
    return Curve(*names, tuple(sorted(points)))


def _parse_csv(text: str, separator: str) -> tuple[tuple[str, str], list[tuple[str, str]]]:
    """Lines that begin with # are comments; a first row of words names the columns."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=separator))
    named = not _is_number(rows[0][1])
    names = (rows[0][0], rows[0][1]) if named else ("step", "return")
    return names, [(row[0], row[1]) for row in rows[named:]]


def _parse_json(data: Any) -> tuple[tuple[str, str], list[tuple[Any, Any]]]:
    """A list of pairs or of objects, or an object of lists; the first two entries count."""
    if isinstance(data, list) and isinstance(data[0], Mapping):
        first, second = list(data[0])[:2]
        return (first, second), [(row[first], row[second]) for row in data]
    if isinstance(data, list):
        return ("step", "return"), [(row[0], row[1]) for row in data]
    first, second = list(data)[:2]
    return (first, second), list(zip(data[first], data[second], strict=True))


def _parse_recipe(data: Mapping[str, Any]) -> tuple[tuple[str, str], list[tuple[Any, Any]]]:
    """The curve of the first seed of a recipe."""
    seed = data["seeds"][0]
    return ("decisions", "return"), list(zip(seed["curve_decisions"], seed["curve_returns"], strict=True))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
