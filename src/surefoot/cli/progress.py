"""Progress on stderr: a live line on a terminal, otherwise a plain line every ten seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

from surefoot.cli.deadline import have_answer

EVERY_SECONDS = 10.0


@contextmanager
def progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """A function that takes one short line about what is going on; after that there is an answer."""
    try:
        with _teller(quiet) as tell:
            yield tell
    finally:
        have_answer()


@contextmanager
def _teller(quiet: bool) -> Iterator[Callable[[str], None]]:
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        from rich.console import Console

        with Console(stderr=True).status("starting") as status:
            yield lambda text: status.update(_escaped(text))
    else:
        with _plain() as tell:
            yield tell


def _escaped(text: str) -> str:
    from rich.markup import escape

    return escape(text)


@contextmanager
def _plain() -> Iterator[Callable[[str], None]]:
    latest, done, started = ["starting"], Event(), monotonic()

    def speak() -> None:
        while not done.wait(EVERY_SECONDS):
            print(f"[{monotonic() - started:.0f} s] {latest[0]}", file=sys.stderr, flush=True)

    speaker = Thread(target=speak, daemon=True)
    speaker.start()

    def tell(text: str) -> None:
        latest[0] = text

    try:
        yield tell
    finally:
        done.set()
