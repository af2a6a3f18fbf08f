"""^C and TERM: the first asks for what is known so far, the second ends the process at once.

The first raises `KeyboardInterrupt` where the main thread is, so that whoever has something to tell can tell
it. A call into native code does not return for that, and an exception can be lost in a destructor. So a
thread listens to the signal itself (`signal.set_wakeup_fd`: the byte is written in the C handler, whatever
the main thread does) and ends the process when what is left to do takes too long. Time is counted in seconds
of the processor, so that a busy machine does not take from anybody what was found. Two signals at once are
one: `timeout` sends its signal to the process and to its group. Child processes end with their parent
(`work/child.py`).
"""

from __future__ import annotations

import os
import select
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from threading import Thread
from time import monotonic, process_time
from types import FrameType
from typing import NoReturn

_CODES = {signal.SIGINT: 130, signal.SIGTERM: 143}  # 128 + the number, as shells say it
_GRACE = 1.5  # seconds of the processor between the first signal and the end
_LONGEST = 15.0  # seconds in any case: somebody waits for a disk, or for a processor
_LOOK_UP = 0.05  # seconds
_AT_ONCE = 0.1  # seconds between two signals that are one
LATE = "interrupted: it did not end in time; results that were not written yet are lost"


@dataclass(slots=True)
class ReceivedSignal:
    """The exit code that follows from the first signal; None as long as there was none."""

    code: int | None = None
    since: float = 0.0


_heard: list[
    ReceivedSignal
] = []  # of the command that is running, if one is: signals are the whole process's


def stop_if_interrupted() -> None:
    """Before anything new is begun: whoever caught an interrupt may have told nobody."""
    if any(heard.code is not None for heard in _heard):
        raise KeyboardInterrupt


@contextmanager
def handle_interrupts() -> Iterator[ReceivedSignal]:
    """Signals are heard as above from here on until the end; for the main thread of a command.

    A signal that is ignored (`nohup`, a job in the background of a script) stays ignored.
    """
    heard = ReceivedSignal()
    ours, theirs = os.pipe()
    os.set_blocking(theirs, False)

    def handle(number: int, _: FrameType | None) -> None:
        if heard.code is not None:
            if monotonic() - heard.since > _AT_ONCE:
                exit_process(heard.code)
            return
        heard.code, heard.since = _CODES[signal.Signals(number)], monotonic()
        raise KeyboardInterrupt

    def report_lost(lost: sys.UnraisableHookArgs) -> None:
        if heard.code is None or not issubclass(lost.exc_type, KeyboardInterrupt):
            tell_lost(lost)  # an interrupt in a destructor is heard: `stop_if_interrupted`, and the thread

    heeded = [number for number in _CODES if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handle) for number in heeded}
    wakeup = signal.set_wakeup_fd(theirs, warn_on_full_buffer=False)
    Thread(target=_watch_signals, args=(ours,), daemon=True).start()
    _heard.append(heard)
    tell_lost, sys.unraisablehook = sys.unraisablehook, report_lost
    try:
        yield heard
    finally:
        _heard.remove(heard)
        sys.unraisablehook = tell_lost
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(theirs)


def _watch_signals(line: int) -> None:
    """Until the other end is closed, or it is time to end the process."""
    code: int | None = None
    since = used = 0.0
    while True:
        ready, _, _ = select.select([line], [], [], None if code is None else _LOOK_UP)
        if ready:
            if not (data := os.read(line, 64)):
                os.close(line)
                return
            numbers = [signal.Signals(n) for n in data if n in _CODES]
            if numbers and code is not None and monotonic() - since > _AT_ONCE:
                exit_process(code, flush=False)
            if numbers and code is None:
                code, since, used = _CODES[numbers[0]], monotonic(), process_time()
        elif code is not None and (process_time() - used > _GRACE or monotonic() - since > _LONGEST):
            with suppress(OSError):  # not `print`: the main thread may hold its lock
                os.write(2, f"{LATE}\n".encode())
            exit_process(code, flush=False)


def exit_process(code: int, flush: bool = True) -> NoReturn:
    """End this process with this code, whatever is still at work in it.

    `flush` is for the main thread alone: another one could wait for a lock that it holds.
    """
    if flush:
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
    os._exit(code)
