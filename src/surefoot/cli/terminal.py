"""The screen: stdout and stderr of a command. Everything that a command says goes through here.

Characters that cannot be seen are written as escapes, and those that a stream cannot encode are spelt in
ASCII. A stream that cannot be written (its reader is gone, the disk is full) ends no command: files are still
written, and the exit code is still that of the answer.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from errno import EBADF
from typing import IO, TYPE_CHECKING, TextIO, cast

from surefoot import api

if TYPE_CHECKING:
    from rich.console import Console

ASCII_SPELLINGS = {
    "…": "...", "≈": "~", "×": "x", "·": ".", "±": "+-", "²": "^2", "∞": "inf", "−": "-", "–": "-", "—": "-",
    "≤": "<=", "≥": ">=", "≠": "!=", "→": "->", "⇒": "=>", "∧": "and", "∨": "or", "¬": "not ",
    "∀": "for all ", "∃": "there is ", "‘": "'", "’": "'", "“": '"', "”": '"',
    **dict(zip("▁▂▃▄▅▆▇█", "_.-:=+*#", strict=True)),
}  # fmt: skip


def spell_in_encoding(text: str, encoding: str) -> str:
    """The text in characters that an encoding has; our own signs in ASCII, other ones as escapes."""
    try:
        text.encode(encoding)
        return text
    except (UnicodeEncodeError, LookupError):
        return "".join(_spell_character(character, encoding) for character in text)


def _spell_character(character: str, encoding: str) -> str:
    try:
        character.encode(encoding)
        return character
    except (UnicodeEncodeError, LookupError):
        return ASCII_SPELLINGS.get(character) or character.encode("ascii", "backslashreplace").decode("ascii")


class _EncodingStream(io.TextIOBase):
    """A stream that encodes whatever it is given, and remembers that it could not be written.

    Only for what escapes the text itself, as pictures in colour do.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream
        self.lost: OSError | None = None if stream is not None else OSError(EBADF, "it is closed")

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self._stream, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def fileno(self) -> int:
        if self._stream is None:
            raise io.UnsupportedOperation("fileno")
        return self._stream.fileno()

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        if self.lost is None and self._stream is not None:
            try:
                self._stream.write(spell_in_encoding(text, self.encoding))
            except OSError as error:
                self.lost = error
        return len(text)

    def flush(self) -> None:
        if self.lost is None and self._stream is not None:
            try:
                self._stream.flush()
            except OSError as error:
                self.lost = error

    def release(self) -> None:
        """Point a lost stream of this process to nowhere: Python would flush it once more, and complain."""
        if self.lost is not None and self._stream in (sys.__stdout__, sys.__stderr__):
            with suppress(OSError, ValueError):
                nowhere = os.open(os.devnull, os.O_WRONLY)
                os.dup2(nowhere, self.fileno())
                os.close(nowhere)


class Screen(_EncodingStream):
    """A stream on which names from files are read and do nothing else."""

    def __init__(self, stream: TextIO | None) -> None:
        super().__init__(stream)
        self.unescaped = _EncodingStream(stream)
        self.make_room: Callable[[], None] | None = None  # for a line, where a live one stands
        self._begins = True

    def write(self, text: str) -> int:
        if self._begins and text and self.make_room is not None:
            self.make_room()
        self._begins = text.endswith("\n") if text else self._begins
        super().write(api.make_lines_visible(text))
        return len(text)


@contextmanager
def open_screens() -> Iterator[tuple[Screen, Screen]]:
    """stdout and stderr as screens while a command runs; one inside another has the same."""
    if isinstance(sys.stdout, Screen) and isinstance(sys.stderr, Screen):
        yield sys.stdout, sys.stderr
        return
    before = sys.stdout, sys.stderr
    out, err = Screen(sys.stdout), Screen(sys.stderr)
    sys.stdout, sys.stderr = out, err
    try:
        yield out, err
    finally:
        for screen in (out, err):
            screen.flush()
            screen.unescaped.flush()
            screen.lost = screen.lost or screen.unescaped.lost
            screen.release()
        sys.stdout, sys.stderr = before


def reopen_closed_streams() -> None:
    """Open what was closed by the caller: a file would take its number, and print into itself."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


def print_line(line: str, *, error: bool = False) -> None:
    """One line: what stands in it cannot begin another one."""
    print(api.make_visible(line), file=sys.stderr if error else sys.stdout, flush=error)


def print_error(text: str) -> None:
    """`error: …`, in one line on stderr."""
    print_line(f"error: {text}", error=True)


def rich_console(stream: TextIO) -> Console:
    """For colours and live lines. Who prints on it makes its text visible first, and gives it no markup."""
    from rich.console import Console

    file = stream.unescaped if isinstance(stream, Screen) else stream
    return Console(file=cast(IO[str], file), highlight=False, markup=False, emoji=False, soft_wrap=True)
