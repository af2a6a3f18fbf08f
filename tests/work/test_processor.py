"""Processor time: that of this process and of its children, and a budget of it."""

from __future__ import annotations

from time import monotonic, process_time, sleep

from surefoot.work.child import borrow_worker
from surefoot.work.processor_time import ProcessorTime, processor_seconds


def busy(seconds: float) -> float:
    end = process_time() + seconds
    while process_time() < end:
        pass
    return seconds


def test_what_a_child_does_is_counted_while_it_lives() -> None:
    with borrow_worker() as worker:
        begun = processor_seconds()
        worker.call(busy, 0.2, seconds=60.0)
        assert processor_seconds() - begun >= 0.15


def test_waiting_is_not_counted() -> None:
    budget = ProcessorTime(0.3, begun=processor_seconds())
    sleep(0.35)
    assert not budget.is_spent()
    assert budget.remaining() > 0.2
    busy(0.35)
    assert budget.is_spent()
    assert budget.remaining() == 0.0


def test_what_remains_is_told_for_a_clock_that_runs_faster() -> None:
    budget = ProcessorTime(3.0, started=monotonic() - 6.0, begun=processor_seconds() - 2.0)
    assert 2.9 < budget.remaining() < 3.3
