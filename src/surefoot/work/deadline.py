"""A deadline for code that does not look at the clock itself: it is interrupted.

Loops that can hand over what they know look at their budget. What is behind them (preparation, translation,
replay, a library) is ended from outside: the system's timer raises `Late` in the middle of it, as ^C would
raise KeyboardInterrupt, and whoever has set the alarm answers instead. Timers exist for the main thread only;
elsewhere, or where somebody else's handler was not written in Python, only budgets limit the work.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from time import monotonic
from types import FrameType
from typing import TypeVar

from surefoot.work.budget import Budget

Result = TypeVar("Result")

_AGAIN = 1.0  # seconds until the next signal, if the first one was lost (in a destructor, in a callback)
_LONGEST = 1e8  # seconds: more the system's timer does not take


class Late(BaseException):
    """The time of an alarm is over; not an `Exception`, so that nobody takes it for a failure."""

    def __init__(self, alarm: Alarm) -> None:
        super().__init__("the time is over")
        self.alarm = alarm


@dataclass(frozen=True, slots=True, eq=False)
class Alarm:
    deadline: float  # of `monotonic`


@dataclass(slots=True)
class _Timer:
    """The system's only timer: our alarms, and whose it was before."""

    alarms: list[Alarm]
    handler: Callable[[int, FrameType | None], object] | int | signal.Handlers | None = None
    deadline: float = inf  # of whoever had it before
    interval: float = 0.0


_timer = _Timer([])


def _grace_period(seconds: float) -> float:
    """How much later than its deadline work is interrupted; until then it may end by itself."""
    return max(0.5, 0.02 * seconds) if seconds > 2 else 0.25 * seconds


def call_in_time(
    budget: Budget, work: Callable[[], Result], late: Callable[[], Result], *, strictly: bool = False
) -> Result:
    """What `work` returns; if it has not returned soon after the deadline, it is ended and `late` answers.

    `strictly`: at the deadline, because somebody else needs the time after it.
    """
    seconds = budget.remaining() + (0.0 if strictly else _grace_period(budget.seconds))
    if not (seconds < _LONGEST and threading.current_thread() is threading.main_thread()):
        return work()
    alarm, done = Alarm(monotonic() + seconds), list[Result]()
    try:
        try:
            set_alarm(alarm)
            done.append(work())
        finally:
            end_alarm(alarm)
    except Late as found:  # also while the alarm was being ended: then there is a result
        end_alarm(alarm)
        if found.alarm is not alarm:
            raise
    return done[0] if done else late()


def set_alarm(alarm: Alarm) -> None:
    """`Late` is raised in the main thread when its time has come, until it is ended."""
    if not _timer.alarms:
        handler = signal.getsignal(signal.SIGALRM)
        if handler is None:  # not ours to replace
            return
        left, _timer.interval = signal.getitimer(signal.ITIMER_REAL)
        _timer.deadline = monotonic() + left if left > 0 else inf
        _timer.handler = handler
        signal.signal(signal.SIGALRM, _handle_alarm)
    _timer.alarms.append(alarm)
    _set_timer()


def end_alarm(alarm: Alarm) -> None:
    """Nothing is raised for this alarm any more; the timer is given back with the last one."""
    if alarm not in _timer.alarms:
        return
    _timer.alarms.remove(alarm)
    if _timer.alarms:
        _set_timer()
        return
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, _timer.handler)
    if _timer.deadline < inf:
        signal.setitimer(signal.ITIMER_REAL, max(1e-3, _timer.deadline - monotonic()), _timer.interval)


@contextmanager
def ending_alarms() -> Iterator[None]:
    """Alarms that are set inside and not ended there are ended here, whatever happens."""
    known = list(_timer.alarms)
    try:
        yield
    finally:
        for alarm in [a for a in _timer.alarms if a not in known]:
            end_alarm(alarm)


def _set_timer() -> None:
    """Set the timer to the first of all deadlines."""
    first = min((a.deadline for a in _timer.alarms), default=inf)
    left = min(first, _timer.deadline) - monotonic()
    signal.setitimer(signal.ITIMER_REAL, max(1e-3, left) if left < inf else 0.0, _AGAIN)


def _handle_alarm(number: int, frame: FrameType | None) -> None:
    now = monotonic()
    if now >= _timer.deadline:
        _timer.deadline = now + _timer.interval if _timer.interval else inf
        if callable(_timer.handler):
            _timer.handler(number, frame)
    over = [a for a in _timer.alarms if now >= a.deadline]
    if over:
        raise Late(over[0])  # the outermost: whoever is inside of it has no time either
    _set_timer()
