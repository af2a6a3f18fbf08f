import math
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from surefoot.errors import InvalidProblem
from surefoot.network.exact import exact_outputs
from surefoot.problem.network import Network
from surefoot.work.child import Worker, WorkerDied, WorkerTimedOut, borrow_worker


def test_calls_share_one_child() -> None:
    with Worker() as worker:
        assert worker.call(math.sqrt, 9, seconds=10) == 3
        first = worker.call(os.getpid, seconds=10)
        assert first == worker.call(os.getpid, seconds=10) != os.getpid()


def test_a_late_answer_is_no_answer_and_the_child_dies() -> None:
    with Worker() as worker:
        pid = worker.call(os.getpid, seconds=10)
        start = time.monotonic()
        with pytest.raises(WorkerTimedOut):
            worker.call(time.sleep, 60, seconds=0.3)
        assert time.monotonic() - start < 1.5
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)
        assert worker.call(os.getpid, seconds=10) != pid


def test_a_death_is_told_with_its_last_words() -> None:
    with Worker() as worker:
        with pytest.raises(WorkerDied, match="exit code 3") as death:
            worker.call(os._exit, 3, seconds=10)
        assert not death.value.memory
        with pytest.raises(WorkerDied, match="ValueError: math domain error"):
            worker.call(math.sqrt, -1, seconds=10)
        assert worker.call(math.sqrt, 4, seconds=10) == 2


def test_memory_is_limited() -> None:
    with Worker(memory_bytes=2**29) as worker, pytest.raises(WorkerDied) as death:
        worker.call(bytes, 2**31, seconds=10)
    assert death.value.memory


def die_slowly() -> None:
    """As a child does that has much memory to give back: its line is closed, and it is still there."""
    os.write(2, b"MemoryError\n")
    os.closerange(3, 100)
    time.sleep(60)


def test_a_child_that_dies_slowly_is_heard() -> None:
    with Worker() as worker, pytest.raises(WorkerDied, match="MemoryError") as death:
        worker.call(die_slowly, seconds=10)
    assert death.value.memory


def test_our_own_errors_come_back_whole() -> None:
    with Worker() as worker:
        pid = worker.call(os.getpid, seconds=10)
        with pytest.raises(InvalidProblem) as error:
            worker.call(exact_outputs, Network(2, ()), (), seconds=10)
        assert str(error.value) == "the network has 2 inputs, not 0"
        assert worker.call(os.getpid, seconds=10) == pid


def test_interrupting_the_parent_ends_the_call() -> None:
    with Worker() as worker:
        pid = worker.call(os.getpid, seconds=10)
        threading.Timer(0.3, signal.raise_signal, [signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            worker.call(time.sleep, 60, seconds=60)
        assert not worker.alive
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_the_child_itself_ignores_an_interrupt() -> None:
    with Worker() as worker:
        pid = worker.call(os.getpid, seconds=10)
        os.kill(pid, signal.SIGINT)
        assert worker.call(os.getpid, seconds=10) == pid


def test_the_child_ends_when_its_parent_is_killed() -> None:
    program = (
        "import os, time; from surefoot.work.child import Worker; w = Worker();"
        "print(w.call(os.getpid, seconds=10), flush=True); time.sleep(60)"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the child is still there")


def test_a_borrowed_worker_is_kept_warm() -> None:
    with borrow_worker() as worker:
        first = worker.call(os.getpid, seconds=10)
        with borrow_worker() as other:
            assert other.call(os.getpid, seconds=10) != first
    with borrow_worker() as worker:
        assert worker.call(os.getpid, seconds=10) in (first, other.call(os.getpid, seconds=10))


def test_a_worker_is_not_kept_after_trouble() -> None:
    with pytest.raises(KeyError), borrow_worker() as worker:
        raise KeyError
    assert not worker.alive
