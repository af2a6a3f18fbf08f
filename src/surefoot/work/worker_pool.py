"""Workers that each hold one prepared object and call it again and again: here, in processes, or by Ray.

A worker is prepared once by `make(*given)`, which may take long (compile, load a network), and is then called
with small arguments. Who answers first is not determined, so results carry the ticket of their question. A
worker that dies is replaced, and its question asked again, a few times: somebody may have ended the process
for want of memory. `work/ray_pool.py` has the workers of a cluster.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.connection import wait
from pickle import PicklingError
from time import monotonic
from typing import Any, Protocol, TypeAlias

from surefoot.errors import Unsupported
from surefoot.work.child import Worker, WorkerDied

Make: TypeAlias = Callable[..., Callable[..., Any]]
Answers: TypeAlias = list[tuple[int, Any]]
AT_ONCE = 60.0  # seconds for an answer that is known to be on the line
PREPARED = 600.0  # seconds until a worker must be ready
RETRIES = 2  # of a question whose worker has died


class LostQuestion(WorkerDied):
    """Every worker that was asked this has died; the others are still there."""

    def __init__(self, ticket: int, what: str, memory: bool = False) -> None:
        super().__init__(what, memory)
        self.ticket = ticket


class WorkerPool(Protocol):
    """Somebody who answers questions; tickets are numbers of the asker."""

    @property
    def size(self) -> int: ...

    @property
    def idle(self) -> int:
        """So many questions more are taken at the moment."""
        ...

    def ask(self, ticket: int, *args: object) -> None: ...

    def answers(self, seconds: float) -> Answers:
        """What has been answered since; waits for the first answer, but not longer than this."""
        ...

    def dismiss(self) -> None: ...


class SerialPool:
    """This process, one question at a time; it works while answers are asked for."""

    size = 1

    def __init__(self, work: Callable[..., Any]) -> None:
        self._work = work
        self._asked: list[tuple[int, tuple[object, ...]]] = []

    @property
    def idle(self) -> int:
        return 1 - len(self._asked)

    def ask(self, ticket: int, *args: object) -> None:
        self._asked.append((ticket, args))

    def answers(self, seconds: float) -> Answers:
        asked, self._asked = self._asked, []
        return [(ticket, self._work(*args)) for ticket, args in asked]

    def dismiss(self) -> None:
        self._asked = []


class ProcessPool:
    """Child processes: fresh interpreters, never forks."""

    def __init__(self, size: int, make: Make, *given: object) -> None:
        self._made = (make, given)
        self._free = [Worker() for _ in range(size)]
        self._busy: dict[int, Worker] = {}
        self._asked: dict[int, tuple[tuple[object, ...], int]] = {}  # and how often its worker has died
        self._found: Answers = []
        self.size = size
        try:
            for worker in self._free:
                worker.send(_prepare_worker, make, given)
            for worker in self._free:
                worker.receive(PREPARED)
        except (PicklingError, AttributeError, TypeError, WorkerDied) as why:
            self.dismiss()
            raise Unsupported(
                f"this problem cannot be given to other processes: {why}",
                fix="define the oracle in a module that can be imported, or use --workers 1",
            ) from None
        except BaseException:
            self.dismiss()
            raise

    @property
    def idle(self) -> int:
        return len(self._free)

    def ask(self, ticket: int, *args: object) -> None:
        self._send(ticket, args, 0)

    def _send(self, ticket: int, args: tuple[object, ...], lost: int) -> None:
        worker = self._free.pop()
        self._busy[ticket], self._asked[ticket] = worker, (args, lost)
        worker.send(_perform_call, args)

    def answers(self, seconds: float) -> Answers:
        deadline = monotonic() + seconds
        while self._busy and not self._found:
            lines = {worker.line: ticket for ticket, worker in self._busy.items()}
            ready = wait(list(lines), max(0.0, deadline - monotonic()))
            for line in ready:
                self._found += self._take_answer(lines[line])  # type: ignore[index]
            if not ready:
                break
        found, self._found = self._found, []
        return found

    def _take_answer(self, ticket: int) -> Answers:
        """What a worker has said; if it has died, another one is asked the same.

        Whatever is raised, other answers are not lost: they are given out the next time.
        """
        worker = self._busy.pop(ticket)
        args, lost = self._asked.pop(ticket)
        self._free.append(worker)
        try:
            return [(ticket, worker.receive(AT_ONCE))]
        except WorkerDied as why:
            worker.send(_prepare_worker, *self._made)  # another process begins
            worker.receive(PREPARED)
            if lost >= RETRIES:
                raise LostQuestion(ticket, str(why), why.memory) from None
            self._send(ticket, args, lost + 1)
            return []

    def dismiss(self) -> None:
        for worker in (*self._free, *self._busy.values()):
            worker.kill()
        self._free, self._busy, self._asked = [], {}, {}


_prepared: list[Callable[..., Any]] = []


def _prepare_worker(make: Make, given: tuple[object, ...]) -> bool:
    """In a child: make the object that answers."""
    _prepared[:] = [make(*given)]
    return True


def _perform_call(args: tuple[object, ...]) -> Any:
    """In a child: one question."""
    return _prepared[0](*args)
