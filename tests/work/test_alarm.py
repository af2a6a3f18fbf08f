"""Work that does not look at the clock is ended, inner and outer alarms apart; timers are given back."""

from __future__ import annotations

import json
import signal
import sys
from collections.abc import Iterator
from threading import Thread
from time import monotonic, sleep

import pytest

from surefoot.cli import run_command_line
from surefoot.work import deadline
from surefoot.work.budget import Budget
from surefoot.work.deadline import call_in_time


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(deadline, "_grace_period", lambda _: 0.05)
    yield
    assert not deadline._timer.alarms


def work_on() -> str:
    ends = monotonic() + 60
    while monotonic() < ends:
        pass
    return "done"


def test_what_ends_in_time_is_not_touched() -> None:
    assert call_in_time(Budget(60.0), lambda: "done", lambda: "late") == "done"
    assert call_in_time(Budget(), lambda: "done", lambda: "late") == "done"


@pytest.mark.parametrize("work", [work_on, lambda: sleep(60)])
def test_what_does_not_look_at_the_clock_is_ended(work: object) -> None:
    began = monotonic()
    assert call_in_time(Budget(0.1), work, lambda: "late") == "late"  # type: ignore[arg-type]
    assert monotonic() - began < 10


def test_an_exception_of_the_work_is_the_work_s() -> None:
    with pytest.raises(ZeroDivisionError):
        call_in_time(Budget(60.0), lambda: 1 // 0, lambda: 0)


def test_except_exception_does_not_keep_it_back() -> None:
    def stubborn() -> str:
        while True:
            try:
                work_on()
            except Exception:  # noqa: BLE001 - what a library may do
                continue

    assert call_in_time(Budget(0.1), stubborn, lambda: "late") == "late"


def test_inner_alarms_end_inner_work_and_outer_ones_all_of_it() -> None:
    def inner(seconds: float) -> str:
        return call_in_time(Budget(seconds), work_on, lambda: "inner")

    assert call_in_time(Budget(60.0), lambda: inner(0.1) + " then", lambda: "outer") == "inner then"
    assert call_in_time(Budget(0.1), lambda: inner(60.0), lambda: "outer") == "outer"


def test_a_signal_that_is_lost_in_a_destructor_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline, "_AGAIN", 0.05)

    class Slow:
        def __del__(self) -> None:
            ends = monotonic() + 0.4
            while monotonic() < ends:
                pass

    def work() -> str:
        made = Slow()
        del made
        return work_on()

    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)  # pytest makes a warning of it
    assert call_in_time(Budget(0.1), work, lambda: "late") == "late"


def test_somebody_else_s_timer_is_kept() -> None:
    rung = []
    handler = signal.signal(signal.SIGALRM, lambda *_: rung.append(1))
    timer = signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        assert call_in_time(Budget(0.05), work_on, lambda: "late") == "late"
        assert not rung
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] < 0.2
        assert call_in_time(Budget(0.5), work_on, lambda: "late") == "late"
        assert rung == [1]
        assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    finally:
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, *timer)


def test_another_thread_works_without_an_alarm() -> None:
    found = []
    thread = Thread(target=lambda: found.append(call_in_time(Budget(0.0), lambda: "done", lambda: "late")))
    thread.start()
    thread.join()
    assert found == ["done"]


def test_no_alarm_is_left_by_a_command_whose_options_are_refused() -> None:
    """click calls back for `--timeout` and then refuses another option: the alarm rang later."""
    assert run_command_line(["check", "none.toml", "--timeout", "0.2", "--no-such-option"]) == 2
    assert not deadline._timer.alarms
    assert run_command_line(["check", "none.toml", "--timeout", "0.2"]) == 2
    assert not deadline._timer.alarms


def test_a_result_that_arrives_with_the_alarm_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal may come while the alarm is being ended: then the work is done."""
    end = deadline.end_alarm

    def rings(one: deadline.Alarm) -> None:
        monkeypatch.setattr(deadline, "end_alarm", end)
        raise deadline.Late(one)

    monkeypatch.setattr(deadline, "end_alarm", rings)
    assert call_in_time(Budget(60.0), lambda: "done", lambda: "late") == "done"
    assert signal.getsignal(signal.SIGALRM) is not deadline._handle_alarm


@pytest.mark.parametrize("form", [("--json", "-"), ("--json=-",)])
def test_a_command_that_is_late_still_answers_in_json(
    form: tuple[str, ...], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_slow(*_: object, **__: object) -> None:
        raise deadline.Late(deadline.Alarm(0.0))

    monkeypatch.setattr("surefoot.cli.commands.check.load_named_model", too_slow)
    assert run_command_line(["check", "any.toml", *form]) == 3
    assert json.loads(capsys.readouterr().out)["verdict"]["kind"] == "unknown"
