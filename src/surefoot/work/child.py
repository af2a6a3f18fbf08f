"""A child process that can be killed: for calls into solvers that do not look at the clock.

The child is a fresh interpreter (never a fork, so no lock of the parent is inherited; the parent's main
module is not run again) and stays warm between calls. Functions and arguments travel over a private socket
and must be importable, picklable things of ours. The child ignores ^C, which is the parent's business, and
ends when the parent does, however that happens.
"""

from __future__ import annotations

import atexit
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection, Pipe
from time import monotonic
from types import TracebackType
from typing import Any, TypeVar

from surefoot.errors import SurefootError

Result = TypeVar("Result")

_START = (
    "import sys; sys.path[:] = sys.argv[3:]; from surefoot.work.child import serve; serve(*sys.argv[1:3])"
)
_LOOK_UP = 0.2  # seconds; ^C may have been delivered to another thread, which does not end a wait
_GRACE = 0.5  # seconds in which a finished child must have died
_MEMORY_SIGNS = ("MemoryError", "bad_alloc", "out of memory", "Cannot allocate")


class WorkerTimedOut(Exception):
    """The call took longer than it was given; the child is dead."""


class WorkerDied(Exception):
    """The child ended without an answer. `memory`: it looks as if memory ran out."""

    def __init__(self, what: str, memory: bool = False) -> None:
        super().__init__(what)
        self.memory = memory


class Worker:
    """A child process and the line to it; started by the first call, and again after it died."""

    def __init__(self, memory_bytes: int | None = None, inherited: tuple[int, ...] = ()) -> None:
        """`inherited`: numbers of open files that the child has too."""
        self._memory_bytes, self._inherited = memory_bytes, inherited
        self._process: subprocess.Popen[bytes] | None = None
        self._line: Connection | None = None
        self._errors: Any = None

    def __enter__(self) -> Worker:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        """Start the child unless there is one; does not wait until it is ready."""
        if self.alive:
            return
        self.kill()
        ours, theirs = Pipe()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - open as long as the child
        number = theirs.fileno()
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _START, str(number), str(self._memory_bytes or 0), *sys.path],
            stdin=subprocess.PIPE,  # never written to: its end tells the child that the parent is gone
            stdout=subprocess.DEVNULL,  # solvers print
            stderr=self._errors,
            pass_fds=(number, *self._inherited),
            start_new_session=True,
        )
        theirs.close()
        self._line = ours

    @property
    def line(self) -> Connection:
        """For `multiprocessing.connection.wait`: it can be read when the child has answered or died."""
        assert self._line is not None
        return self._line

    def send(self, function: Callable[..., object], *args: object) -> None:
        """Ask for function(*args) without waiting; one question at a time."""
        self.start()
        try:
            self.line.send((function, args))
        except (EOFError, ConnectionError):
            raise self._death() from None

    def receive(self, seconds: float) -> Any:
        """The answer to what was sent, within `seconds` or not at all."""
        answered = False
        try:
            deadline = monotonic() + seconds
            while not self.line.poll(min(max(0.0, deadline - monotonic()), _LOOK_UP)):
                if monotonic() >= deadline:
                    raise WorkerTimedOut(f"no answer within {seconds:g} s")
            worked, result = self.line.recv()
            answered = True
        except (EOFError, ConnectionError):
            raise self._death() from None
        finally:
            if not answered:  # also when ^C arrives: nothing may go on computing
                self.kill()
        if not worked:
            raise result
        return result

    def call(self, function: Callable[..., Result], *args: object, seconds: float) -> Result:
        """function(*args), computed by the child within `seconds` or not at all."""
        try:
            self.send(function, *args)
        except BaseException:  # half a question may be on the line
            self.kill()
            raise
        return self.receive(seconds)  # type: ignore[no-any-return]

    def _death(self) -> WorkerDied:
        assert self._process is not None
        code = None  # it may take long to give back its memory; what it said is there
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(_GRACE)
        self._errors.seek(0)
        lines = self._errors.read()[-4000:].decode(errors="replace").strip().splitlines()
        last = lines[-1] if lines else "it closed its line" if code is None else f"exit code {code}"
        memory = any(sign in line for sign in _MEMORY_SIGNS for line in lines) or code == -signal.SIGKILL
        return WorkerDied(f"the solver process died: {last}", memory)

    def kill(self) -> None:
        """End the child at once; the next call starts a new one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            assert self._process.stdin is not None
            self._process.stdin.close()
        if self._line is not None:
            self._line.close()
            self._errors.close()
        self._process = self._line = self._errors = None


_idle: list[Worker] = []  # warm children, so that opening a session does not import a solver again


@contextmanager
def borrow_worker() -> Iterator[Worker]:
    """A warm worker if there is one, else a new one; it is kept for the next borrower unless it died."""
    worker = _idle.pop() if _idle else Worker()
    worker.start()
    try:
        yield worker
    except BaseException:
        worker.kill()
        raise
    if worker.alive:
        _idle.append(worker)


@atexit.register
def _kill_idle_workers() -> None:
    while _idle:
        _idle.pop().kill()


def processor_time() -> float:
    """Seconds of this process and of its children; warm ones are ended, for only then they are counted."""
    _kill_idle_workers()
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def serve(line_number: str, memory_bytes: str) -> None:
    """The child's whole life: answer calls until the line closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if int(memory_bytes):
        resource.setrlimit(resource.RLIMIT_AS, (int(memory_bytes), int(memory_bytes)))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    line = Connection(int(line_number))
    while True:
        try:
            function, args = line.recv()
        except EOFError:
            return
        try:
            answer: tuple[bool, object] = (True, function(*args))
        except SurefootError as error:
            answer = (False, error)
        line.send(answer)


def _end_with_parent() -> None:
    os.read(0, 1)
    os._exit(1)
