"""While a command has no answer yet: progress on stderr, and the end of its time.

Progress is a live line on a terminal, otherwise a plain line every ten seconds. Engines hand over
what they know at their deadline; what is around them (reading, preparing) is ended soon after `--timeout`,
whatever it is. That ends with the answer: what was found is written, however long that takes.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from threading import Event, Thread
from time import monotonic

import click

from surefoot import api
from surefoot.cli.output import check_positive_seconds
from surefoot.cli.terminal import Screen, print_line, rich_console

EVERY_SECONDS = 10.0
_running_alarms: list[api.Alarm] = []


@dataclass(slots=True)
class _Clock:
    begun: float  # of the command at work
    workers: int | None = None  # that it may use, where it was said


_clock = _Clock(monotonic())


@contextmanager
def report_progress(quiet: bool) -> Iterator[Callable[[str], None]]:
    """A function that takes one short line about what is going on; after that there is an answer."""
    try:
        with _progress_line(quiet) as tell:
            yield tell
    finally:
        _disarm_time_limit()


@contextmanager
def _progress_line(quiet: bool) -> Iterator[Callable[[str], None]]:
    if quiet:
        yield lambda _: None
    elif sys.stderr.isatty():
        with _live_line() as tell:
            yield tell
    else:
        with _periodic_lines() as tell:
            yield tell


@contextmanager
def _live_line() -> Iterator[Callable[[str], None]]:
    """A line at the bottom of the terminal; what is printed meanwhile goes where it would go without it."""
    from rich.live import Live
    from rich.spinner import Spinner
    from rich.text import Text

    console = rich_console(sys.stderr)

    def render_text(text: str) -> Text:
        return Text(api.make_visible(text), no_wrap=True, overflow="ellipsis")

    def make_room() -> None:
        console.file.write("\r\x1b[2K")
        console.file.flush()

    spinner = Spinner("dots" if console.encoding.startswith("utf") else "line", render_text("starting"))
    screens = [stream for stream in (sys.stdout, sys.stderr) if isinstance(stream, Screen)]
    with Live(spinner, console=console, transient=True, redirect_stdout=False, redirect_stderr=False):
        for screen in screens:
            screen.make_room = make_room
        try:
            yield lambda text: spinner.update(text=render_text(text))
        finally:
            for screen in screens:
                screen.make_room = None


@contextmanager
def _periodic_lines() -> Iterator[Callable[[str], None]]:
    latest, done, started = ["starting"], Event(), monotonic()

    def speak() -> None:
        while not done.wait(EVERY_SECONDS):
            print_line(f"[{monotonic() - started:.0f} s] {latest[0]}", error=True)

    speaker = Thread(target=speak, daemon=True)
    speaker.start()

    def tell(text: str) -> None:
        latest[0] = text

    try:
        yield tell
    finally:
        done.set()


def begin_command(begun: float) -> None:
    """The time of the command that begins counts from this moment of `monotonic`."""
    _clock.begun, _clock.workers = begun, None


def begin_budget(seconds: float, seed: int = 0, tell: Callable[[str], None] | None = None) -> api.Budget:
    """What the command may cost, counted from its beginning: reading and imports are part of it."""
    budget = api.Budget(seconds, seed, started=_clock.begun, workers=_clock.workers)
    return budget if tell is None else replace(budget, progress=tell)


def limit_workers(_: click.Context, __: click.Parameter, count: int | None) -> None:
    """The callback of `--workers`: the budgets of the command have so many processes."""
    _clock.workers = count


def limit_command(context: click.Context, option: click.Parameter, seconds: float | None) -> float | None:
    """The callback of `--timeout`: the command has so much time, and a little for its end."""
    if seconds is None:
        return None
    check_positive_seconds(context, option, seconds)
    context.call_on_close(_disarm_time_limit)
    alarm = api.Alarm(_clock.begun + seconds + max(1.0, 0.05 * seconds))
    _running_alarms.append(alarm)
    api.set_alarm(alarm)
    return seconds


def _disarm_time_limit() -> None:
    """The command has an answer, or has failed: nothing is ended any more."""
    while _running_alarms:
        api.end_alarm(_running_alarms.pop())
