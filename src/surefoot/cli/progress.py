"""While a command has no answer yet: progress on stderr, and the end of its time.

Progress is a live line on a terminal, otherwise a plain line every ten seconds. Engines hand over
what they know at their deadline; what is around them (reading, preparing) is ended soon after `--timeout`,
whatever it is. That ends with the answer: what was found is written, however long that takes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from time import monotonic

import click

from surefoot.cli.output import positive
from surefoot.work.alarm import Alarm, end_alarm, set_alarm

EVERY_SECONDS = 10.0
_set: list[Alarm] = []


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


def limit_command(context: click.Context, option: click.Parameter, seconds: float | None) -> float | None:
    """The callback of `--timeout`: from now on the command has so much time, and a little for its end."""
    if seconds is None:
        return None
    positive(context, option, seconds)
    alarm = Alarm(monotonic() + seconds + max(1.0, 0.05 * seconds))
    _set.append(alarm)
    context.call_on_close(have_answer)
    set_alarm(alarm)
    return seconds


def have_answer() -> None:
    """The command has an answer, or has failed: nothing is ended any more."""
    while _set:
        end_alarm(_set.pop())
