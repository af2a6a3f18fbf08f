"""How a library environment is named where a model is expected: `gym:CartPole-v1?gravity=9.81`."""

from __future__ import annotations

from pathlib import PurePath

from surefoot.errors import InvalidProblem

PREFIX = "gym:"


def names_gym_model(model: str | PurePath) -> bool:
    """Is this `gym:NAME`, and not a file?"""
    return str(model).startswith(PREFIX)


def split_gym_name(text: str) -> tuple[str, dict[str, str]]:
    """The registered name and the arguments behind `?`."""
    name, _, asked = text.removeprefix(PREFIX).partition("?")
    given: dict[str, str] = {}
    for part in asked.split("&") if asked else ():
        key, equals, value = part.partition("=")
        if not key or not equals or not value:
            fix = f"write {PREFIX}{name or 'NAME'}?{key or 'g'}=9.81"
            raise InvalidProblem(f"`{part}` does not give an argument its value", fix=fix, where=text)
        if key in given:
            raise InvalidProblem(f"`{key}` is given twice", fix="keep one of them", where=text)
        given[key] = value
    return name, given
