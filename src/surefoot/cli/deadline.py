"""`--timeout` of a whole command: what reads, prepares or searches is ended soon after it, whatever it is.

Engines and searches hand over what they know at their deadline. This is for all that is around them. It ends
with the answer: what was found is written, however long that takes.
"""

from __future__ import annotations

from time import monotonic

import click

from surefoot.cli.output import positive
from surefoot.work.alarm import Alarm, end_alarm, set_alarm

_set: list[Alarm] = []


def limited(context: click.Context, option: click.Parameter, seconds: float | None) -> float | None:
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
