"""The problem files of this study as problems: `FILE/PROPERTY`, for each property of each file."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from functools import partial
from importlib.resources import as_file, files

from surefoot import api

_FOLDER = files("surefoot_studies.closed_loop")


def file_properties(name: str) -> dict[str, str]:
    """The properties of `problems/NAME.toml`."""
    found: dict[str, str] = tomllib.loads(_FOLDER.joinpath("problems", f"{name}.toml").read_text("utf-8"))[
        "properties"
    ]
    return found


def file_problem(name: str, wanted: str) -> api.Problem:
    """One property of `problems/NAME.toml`, with its policy."""
    with as_file(_FOLDER) as folder:
        found: api.Problem = api.load(folder / "problems" / f"{name}.toml", wanted)
    return found


FILES = tuple(
    sorted(
        f.name.removesuffix(".toml")
        for f in _FOLDER.joinpath("problems").iterdir()
        if f.name.endswith(".toml")
    )
)
PROBLEMS: dict[str, Callable[[], api.Problem]] = {
    f"{name}/{wanted}": partial(file_problem, name, wanted)
    for name in FILES
    for wanted in file_properties(name)
}
