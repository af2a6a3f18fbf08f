"""Errors that name options of the command line, told to who has called a function with arguments."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from surefoot.errors import SurefootError

_Given = ParamSpec("_Given")
_Answer = TypeVar("_Answer")
_OPTION = re.compile(r"(?<![\w`-])--([a-z][a-z-]*)")
_ARGUMENTS = {"const": "constants"}  # the others are called as the option


def tell_arguments(function: Callable[_Given, _Answer]) -> Callable[_Given, _Answer]:
    """The function, whose errors name its arguments instead of options: `property`, not `--property`."""

    @wraps(function)
    def ask(*given: _Given.args, **named: _Given.kwargs) -> _Answer:
        try:
            return function(*given, **named)
        except SurefootError as error:
            told = [_name_arguments(text, "`") for text in (error.what, error.fix)]
            where = _name_arguments(error.where, "")
            if (told[0], told[1], where) == (error.what, error.fix, error.where):
                raise
            raise type(error)(told[0], fix=told[1], where=where) from None

    return ask


def _name_arguments(text: str, quote: str) -> str:
    def name(found: re.Match[str]) -> str:
        option = found.group(1)
        return f"{quote}{_ARGUMENTS.get(option, option.replace('-', '_'))}{quote}"

    return _OPTION.sub(name, text)
