"""The TOML file of a sweep: the axes of `SweepPlan`, and what the command line says in their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

from surefoot.errors import locate_errors
from surefoot.formats.toml_document import TomlEntry, read_toml_document
from surefoot.search.sweep.sweep_plan import MOST_UNITS, SweepPlan
from surefoot.search.sweep.swept_values import SweptValues, expand_values, read_swept_values
from surefoot.term.decimal_literals import show_number

LISTS = ("models", "policies", "properties", "where", "engines")
TABLES = ("constants", "values", "options")
FILES = ("models", "policies")
SETTINGS = (
    *("observe", "actions", "choose", "output", "normalize", "property_file"),
    *("normalise", "no_policy", "ignore_goal"),
)


def plan_sweep(
    file: Path | None, said: Mapping[str, Any], swept: Mapping[str, tuple[str, Sequence[str]]]
) -> SweepPlan:
    """The plan of a file, of which what is said beside it replaces whole axes, and single settings.

    `swept`: of constants, values and options the flag, and texts such as `N=5,10`.
    """
    found = {} if file is None else read_sweep_file(file)
    for name, (option, texts) in swept.items():
        if texts:
            found[name] = tuple(read_swept_values(text, option, MOST_UNITS) for text in texts)
    settings = {**found.get("settings", {}), **said.get("settings", {})}
    given = {name: one for name, one in said.items() if one is not None and one != ()}
    return replace(SweepPlan(()), **{**found, **given, "settings": settings})


def read_sweep_file(path: Path) -> dict[str, Any]:
    """The fields of a `SweepPlan` that the file sets. Names of files are relative to its folder."""
    with locate_errors(str(path)):
        top = read_toml_document(path).table(*LISTS, *TABLES, "settings", "timeout", "seed")
        found: dict[str, Any] = {name: top[name].strings() for name in LISTS if name in top}
        for name in FILES:
            if name in found:
                found[name] = tuple(_relative_to(path.parent, text) for text in found[name])
        for name in TABLES:
            if name in top:
                found[name] = tuple(_read_values(n, one) for n, one in top[name].table().items())
        if "settings" in top:
            found["settings"] = _read_settings(top["settings"], path.parent)
        if "timeout" in top:
            seconds = top["timeout"].number()
            if seconds <= 0:
                top["timeout"].fail("the time is not positive", "write timeout = 60")
            found["seconds"] = float(seconds)
        if "seed" in top:
            found["seed"] = top["seed"].integer()
    return found


def _relative_to(folder: Path, text: str) -> str:
    """A study's problem or a library's environment is no file."""
    there = folder / text
    is_name = ":" in text or ("." not in text and not there.exists() and "*" not in text)
    return text if is_name or Path(text).is_absolute() else str(there)


def _read_values(name: str, entry: TomlEntry) -> SweptValues:
    """A list, one value, or a text like the command line has: `"0.1:0.5:0.1"`."""
    if isinstance(entry.value, str):
        with locate_errors(entry.place()):
            return SweptValues(name, expand_values(name, entry.value, "", MOST_UNITS))
    several = entry.entries() if isinstance(entry.value, list) else [entry]
    if not several:
        entry.fail(f"`{name}` takes no value", f"write {name} = [5, 10]")
    return SweptValues(name, tuple(_value_text(one) for one in several))


def _value_text(entry: TomlEntry) -> str:
    match entry.value:
        case bool() as truth:
            return str(truth).lower()
        case int() | Fraction() as number:
            return show_number(number)
        case _:
            return entry.string()


def _read_settings(entry: TomlEntry, folder: Path) -> Mapping[str, str | bool]:
    found: dict[str, str | bool] = {}
    for name, one in entry.table(*SETTINGS).items():
        found[name] = one.truth() if name in ("normalise", "no_policy", "ignore_goal") else one.string()
    for name in ("normalize", "property_file"):
        if isinstance(text := found.get(name), str):
            found[name] = str(folder / text)
    return found
