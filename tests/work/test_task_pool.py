"""Tasks on several processes: the order of results, children that die, the end of all of them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from threading import Timer
from typing import Any

import numpy as np
import pytest
from tests.work import task_examples as examples

from surefoot.errors import Unsupported
from surefoot.work.budget import Budget, usable_processors
from surefoot.work.child import WorkerDied
from surefoot.work.shared_pickle import read_shared_value, write_shared_value
from surefoot.work.task_pool import TaskPool

TABLE = np.arange(40.0)


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_results_come_in_the_order_of_the_tasks(workers: int) -> None:
    with TaskPool(workers, examples.make_squares, TABLE, patience=0.1) as pool:
        found = list(pool.run([(n,) for n in range(40)]))
        assert [value for _, value in found] == [n * n for n in range(40)]
        assert pool.seconds > 1.5
        again = list(pool.run([(n,) for n in range(5)]))
        assert [value for _, value in again] == [0, 1, 4, 9, 16]
    assert len({process for process, _ in found} - {os.getpid()}) <= workers


def test_children_begin_when_work_has_cost_something_and_not_before() -> None:
    with TaskPool(2, examples.make_squares, TABLE, patience=100.0) as pool:
        assert {process for process, _ in pool.run([(n,) for n in range(5)])} == {os.getpid()}
    with TaskPool(2, examples.make_squares, TABLE, patience=0.1) as pool:
        rounds = [pool.run([(n,) for n in range(40)]) for _ in range(5)]
        assert any(process != os.getpid() for one in rounds for process, _ in one)


def test_what_must_not_be_done_here_is_done_in_children() -> None:
    with TaskPool(2, examples.make_in_children_only, os.getpid(), patience=None) as pool:
        assert list(pool.run([(n,) for n in range(4)])) == [True] * 4
    with TaskPool(1, examples.make_in_children_only, os.getpid(), patience=None) as pool:
        assert list(pool.run([(0,)])) == [True]


def test_a_child_that_dies_is_replaced_and_its_task_asked_again(tmp_path: Path) -> None:
    with TaskPool(2, examples.make_mortal, str(tmp_path), 1, patience=None) as pool:
        assert list(pool.run([(n,) for n in range(8)])) == list(range(8))
    assert (tmp_path / "death-0").exists()


def test_a_task_that_kills_twice_is_told(tmp_path: Path) -> None:
    with (
        TaskPool(2, examples.make_mortal, str(tmp_path), 9, patience=None) as pool,
        pytest.raises(WorkerDied, match="died"),
    ):
        list(pool.run([(n,) for n in range(8)]))
    assert (tmp_path / "death-1").exists()
    assert not (tmp_path / "death-2").exists()


@pytest.mark.parametrize("patience", [0.0, None])
def test_the_first_refusal_in_order_is_raised(patience: float | None) -> None:
    with TaskPool(3, examples.make_refusing, patience=patience) as pool:
        answers = pool.run([(n,) for n in range(6)])
        assert [next(answers), next(answers)] == [0, 1]
        with pytest.raises(Unsupported, match="task 2 is refused"):
            next(answers)


def test_what_cannot_be_pickled_stays_here() -> None:
    with TaskPool(2, lambda: lambda number: (os.getpid(), number), patience=0.0) as pool:
        assert list(pool.run([(n,) for n in range(4)])) == [(os.getpid(), n) for n in range(4)]


def test_a_deadline_ends_children_at_once(tmp_path: Path) -> None:
    end = time.monotonic() + 4.0
    with TaskPool(2, examples.make_sleeper, str(tmp_path), patience=None) as pool:
        assert list(pool.run([(n,) for n in range(4)], lambda: time.monotonic() > end)) == []
        gone(tmp_path)


def test_whoever_wants_no_more_results_leaves_nobody_at_work(tmp_path: Path) -> None:
    with TaskPool(2, examples.make_mortal, str(tmp_path), 0, patience=None) as pool:
        assert next(iter(pool.run([(n,) for n in range(8)]))) == 0
        assert not pool._busy


def test_an_interrupt_ends_children_at_once(tmp_path: Path) -> None:
    before, begun = signal.signal(signal.SIGINT, signal.default_int_handler), time.monotonic()
    alarm = Timer(4.0, os.kill, (os.getpid(), signal.SIGINT))
    alarm.start()
    try:
        with (
            pytest.raises(KeyboardInterrupt),
            TaskPool(2, examples.make_sleeper, str(tmp_path), patience=None) as pool,
        ):
            list(pool.run([(n,) for n in range(4)]))
    finally:
        alarm.cancel()
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - begun < 30
    gone(tmp_path)


def test_no_child_survives_a_parent_that_is_killed(tmp_path: Path) -> None:
    program = (
        "from surefoot.work.task_pool import TaskPool; from tests.work import task_examples as e;"
        f"list(TaskPool(2, e.make_sleeper, {str(tmp_path)!r}, patience=None).run([(0,), (1,)]))"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": ":".join(sys.path)}
    )
    try:
        wait_for(lambda: len(list(tmp_path.iterdir())) == 2, 60.0)
    finally:
        parent.kill()
        parent.wait()
    gone(tmp_path)


def gone(folder: Path) -> None:
    """No process that was at work here is left."""
    processes = [int(mark.name.removeprefix("process-")) for mark in folder.glob("process-*")]
    wait_for(lambda: not any(Path(f"/proc/{number}/cmdline").exists() for number in processes), 10.0)


def wait_for(condition: object, seconds: float) -> None:
    assert callable(condition)
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_arrays_of_a_shared_value_are_views_of_one_file() -> None:
    more = [np.ones((3, 0)), np.array([1, 2], dtype=np.int8)]
    value: dict[str, Any] = {"weights": np.arange(10_000.0), "name": "net", "more": more}
    with write_shared_value(value) as made:
        found = read_shared_value(made.fileno())
    assert found["name"] == "net"
    assert np.array_equal(found["weights"], value["weights"])
    assert found["more"][0].shape == (3, 0)
    assert found["more"][1].tolist() == [1, 2]
    assert not found["weights"].flags.writeable
    assert not found["weights"].flags.owndata


def test_a_budget_says_how_many_processes() -> None:
    assert Budget().processes == usable_processors()
    assert Budget(workers=3).begin_part(5.0).processes == 3
    assert Budget(workers=3).part(0.5).processes == 3
    with pytest.raises(Exception, match="workers"):
        Budget(workers=0)
