"""What a trace cannot follow: the reason, the line of the user's code, and what to write instead."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

_BOUNDARY = str(Path(__file__).resolve().with_name("trace_function"))  # beyond it is who asked for the trace
_FOLLOWED: ContextVar[frozenset[str]] = ContextVar("followed", default=frozenset())
_OWN = str(Path(__file__).resolve().parents[2])


class Refusal(BaseException):
    """Raised below the user's code. No `except Exception` in there may swallow it."""

    def __init__(self, what: str, fix: str, where: str = "") -> None:
        super().__init__(what)
        self.what, self.fix, self.where = what, fix, where or find_user_line()


def find_user_line() -> str:
    """`step.py:12`: the innermost line of the step that is being run; nothing where none is."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.startswith(_BOUNDARY):
        if is_user_file(frame.f_code.co_filename):
            return _show_line(frame.f_code.co_filename, frame.f_lineno)
        frame = frame.f_back
    return ""


def is_inside_try() -> bool:
    """Is the step at a place from which an exception may be caught by its own code?"""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.startswith(_BOUNDARY):
        if is_user_file(frame.f_code.co_filename) and frame.f_code.co_exceptiontable:
            return True
        frame = frame.f_back
    return False


def traceback_line(traceback: TracebackType | None) -> str:
    """The innermost line of the user's code from which an exception came."""
    found = ""
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if is_user_file(name):
            found = _show_line(name, traceback.tb_lineno)
        traceback = traceback.tb_next
    return found


@contextmanager
def follow_files(names: Iterable[str]) -> Iterator[None]:
    """Inside, these files count as the user's: those of the step, also of one in an installed package."""
    token = _FOLLOWED.set(frozenset(names))
    try:
        yield
    finally:
        _FOLLOWED.reset(token)


def is_user_file(name: str) -> bool:
    """Neither surefoot's own code nor that of an installed package or of Python, unless the step is there."""
    if name in _FOLLOWED.get():
        return True
    if name.startswith(_OWN) or name.startswith(sys.base_prefix) or name.startswith("<frozen"):
        return False
    return "site-packages" not in name and not name.startswith("<__array_function__")


def _show_line(name: str, line: int) -> str:
    return f"{Path(name).name}:{line}"


@contextmanager
def limit_lines(most: int) -> Iterator[None]:
    """A function of the user's that does not end is refused after so many lines."""
    count = 0

    def note_line(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if event == "line" and is_user_file(frame.f_code.co_filename):
            count += 1
            if count > most:
                where = _show_line(frame.f_code.co_filename, frame.f_lineno)
                raise Refusal("the step does not end", "write a loop with a fixed number of turns", where)
        return note_line

    before = sys.gettrace()
    sys.settrace(note_line)
    try:
        yield
    finally:
        sys.settrace(before)
