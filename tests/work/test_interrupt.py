"""What a process does that is interrupted where Python does not look, or twice, or by somebody else."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time

import pytest

from surefoot.work.interrupt import LATE, handle_interrupts, stop_if_interrupted

BEGIN = """
import sys, time
from surefoot.work.interrupt import exit_process, handle_interrupts, stop_if_interrupted
def stubborn(work):
    while True:
        try:
            work()
        except KeyboardInterrupt:
            print("caught", flush=True)
def spin():
    for _ in range(10**10):
        pass
with handle_interrupts() as heard:
    try:
        print("ready", flush=True)
        {work}
    except KeyboardInterrupt:
        print("partial result")
        exit_process(heard.code or 1)
"""
NATIVE = "import hashlib; hashlib.pbkdf2_hmac('sha512', b'', b'', 2 * 10**9)"  # without the lock, for hours
LOST = """
        class Ends:
            def __del__(self):
                for _ in range(10**8): pass
        while True: Ends()
"""

SLOW = """
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            time.sleep(0.5)
            raise
"""


def ended(work: str, *signals: int, pause: float = 0.3, between: float = 0.2) -> tuple[int, str, str, float]:
    """Exit code, both streams, and seconds from the first signal."""
    process = subprocess.Popen(
        [sys.executable, "-c", BEGIN.format(work=work)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(pause)
    began = time.monotonic()
    for number in signals:
        os.kill(process.pid, number)
        time.sleep(between)
    out, err = process.communicate(timeout=60)
    return process.returncode, out, err, time.monotonic() - began


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_the_first_signal_asks_for_what_is_known(number: int, code: int) -> None:
    found, out, err, _ = ended("time.sleep(60)", number)
    assert (found, out, err) == (code, "partial result\n", "")


@pytest.mark.parametrize("work", [NATIVE, "stubborn(spin)", LOST])
def test_who_does_not_end_is_ended(work: str) -> None:
    code, _, err, seconds = ended(work, signal.SIGINT)
    assert code == 130
    assert err.endswith(f"{LATE}\n")
    assert seconds < 20  # 1.5 of the processor


def test_the_second_signal_ends_at_once() -> None:
    code, out, err, _ = ended("stubborn(lambda: time.sleep(60))", signal.SIGINT, signal.SIGINT)
    assert (code, err) == (130, "")
    assert out.count("caught") == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_two_signals_at_once_are_one(number: int) -> None:
    """`timeout` sends its signal to the process and to its group."""
    code, out, err, _ = ended(SLOW, number, number, between=0.0)
    assert (code, out, err) == (143 if number == signal.SIGTERM else 130, "partial result\n", "")


def test_signals_that_are_ignored_stay_so() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with handle_interrupts() as heard:
            signal.raise_signal(signal.SIGINT)
            assert heard.code is None
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_nothing_new_is_begun_afterwards() -> None:
    before = signal.getsignal(signal.SIGTERM)
    stop_if_interrupted()
    with handle_interrupts() as heard:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert heard.code == 130
        for _ in range(2):
            with pytest.raises(KeyboardInterrupt):
                stop_if_interrupted()
    stop_if_interrupted()
    assert signal.getsignal(signal.SIGTERM) == before


def test_an_interrupt_in_a_destructor_is_heard_without_a_traceback() -> None:
    code = """
    import os, signal, sys
    sys.path[:] = sys.argv[1:]
    from surefoot.work.interrupt import handle_interrupts, stop_if_interrupted

    class Thing:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGINT)
            sum(range(1000))

    class Wrong:
        def __del__(self):
            raise ValueError("told")

    with handle_interrupts() as heard:
        thing = Thing()
        del thing
        wrong = Wrong()
        del wrong
        try:
            stop_if_interrupted()
        except KeyboardInterrupt:
            print("heard", heard.code)
    """
    done = subprocess.run(
        [sys.executable, "-P", "-c", textwrap.dedent(code), *sys.path],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "heard 130\n"
    assert "KeyboardInterrupt" not in done.stderr
    assert "ValueError: told" in done.stderr
