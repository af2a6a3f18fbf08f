"""Tasks on several processes, and their results in the order of the tasks: the one way to use all processors.

A task is a small argument of a function that was prepared once (`make(*given)`) in every process. Who asks
divides its work by what it knows, never by how many processes there are, and takes the results in order: so
an answer, its witness and its certificate are the same for any number of workers.

Children are fresh interpreters, which take a second to begin (`work/child.py`). So the first tasks are done
here, and children are started when these have cost some time and there are more; what was prepared here is
read by all of them from the same pages (`work/shared_pickle.py`). A child that dies is replaced, and its task
is asked again; if that kills the next one too, `WorkerDied` says so. What cannot be pickled stays here. A
deadline, ^C and the end of a `with` end all children at once, whatever they are doing.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import wait
from time import process_time
from types import TracebackType
from typing import IO, Any

from surefoot.errors import SurefootError
from surefoot.work.child import Worker, WorkerDied
from surefoot.work.shared_pickle import read_shared_value, write_shared_value

Task = tuple[Any, ...]
PATIENCE = 1.0  # seconds of the processor in tasks before children are started
_LOOK_UP = 0.1  # seconds between two looks at the clock
_AT_ONCE = 600.0  # seconds for an answer that has begun to arrive
_ATTEMPTS = 2  # at a task, by children that die


class TaskPool:
    """`with TaskPool(workers, make, *given) as pool`; `here`: what `make(*given)` is in this process."""

    def __init__(
        self,
        workers: int,
        make: Callable[..., Callable[..., Any]],
        *given: object,
        here: Callable[..., Any] | None = None,
        patience: float | None = PATIENCE,
    ) -> None:
        """`patience`: see above; None: nothing is done in this process."""
        self.workers, self.patience = workers, patience
        self.seconds = 0.0  # of the processor, in all tasks so far
        self._made = (make, given)
        self._here = here
        self._shared: IO[bytes] | None = None
        self._preparing: list[Worker] = []
        self._free: list[Worker] = []
        self._busy: dict[int, Worker] = {}

    def __enter__(self) -> TaskPool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.dismiss()

    def dismiss(self) -> None:
        """End all children, whatever they are doing."""
        for worker in (*self._preparing, *self._free, *self._busy.values()):
            worker.kill()
        self._preparing, self._free, self._busy = [], [], {}
        if self._shared is not None:
            self._shared.close()
            self._shared = None

    def run(self, tasks: Sequence[Task], stop: Callable[[], bool] = lambda: False) -> Iterator[Any]:
        """The results in order; fewer than tasks if `stop` says so, which is asked between answers."""
        try:
            yield from self._answer_in_order(tasks, stop)
        finally:  # also where nobody wants the rest
            self._give_up()

    def _answer_in_order(self, tasks: Sequence[Task], stop: Callable[[], bool]) -> Iterator[Any]:
        waiting, found, attempts = deque(range(len(tasks))), dict[int, Any](), dict[int, int]()
        for number in range(len(tasks)):
            while number not in found:
                if stop():
                    return
                self._begin_children(len(waiting))
                self._welcome_children()
                if waiting and not self._free and not self._busy and self.patience is not None:
                    found[waiting[0]] = self._perform_here(tasks[waiting[0]])
                    waiting.popleft()
                    continue
                while waiting and self._free:
                    self._send(waiting.popleft(), tasks, waiting, attempts)
                for ticket, answer in self._receive(waiting, attempts):
                    found[ticket] = answer
            answer = found.pop(number)
            if isinstance(answer, SurefootError):
                raise answer
            yield answer

    def _perform_here(self, task: Task) -> Any:
        if self._here is None:
            make, given = self._made
            self._here = make(*given)
        begun = process_time()
        try:
            return self._here(*task)
        except SurefootError as error:
            return error
        finally:
            self.seconds += process_time() - begun

    def _begin_children(self, waiting: int) -> None:
        """Where it pays: they begin while this process goes on."""
        there = len(self._preparing) + len(self._free) + len(self._busy)
        missing = min(self.workers, there + waiting) - there
        alone = self.workers < 2 or there + waiting < 2 or self.seconds < (self.patience or 0.0)
        if missing < 1 or (alone and self.patience is not None):
            return
        try:
            self._shared = self._shared or write_shared_value(self._made)
        except (pickle.PicklingError, AttributeError, TypeError):
            if self.patience is None:
                raise
            self.workers = 1
            return
        self._preparing += [self._begin_child() for _ in range(missing)]

    def _begin_child(self) -> Worker:
        assert self._shared is not None
        worker = Worker(inherited=(self._shared.fileno(),))
        worker.send(_prepare_tasks, self._shared.fileno())
        return worker

    def _welcome_children(self) -> None:
        """Those that are ready now; who cannot prepare itself is not replaced."""
        for worker in list(self._preparing):
            if worker.line.poll():
                self._preparing.remove(worker)
                try:
                    worker.receive(_AT_ONCE)
                    self._free.append(worker)
                except (WorkerDied, SurefootError):
                    worker.kill()
                    self.workers -= 1
                    if self.patience is None and not self.workers:
                        raise

    def _send(
        self, ticket: int, tasks: Sequence[Task], waiting: deque[int], attempts: dict[int, int]
    ) -> None:
        worker = self._free.pop()
        self._busy[ticket] = worker
        try:
            worker.send(_perform_task, *tasks[ticket])
        except WorkerDied as death:
            self._replace(ticket, death, waiting, attempts)

    def _receive(self, waiting: deque[int], attempts: dict[int, int]) -> Iterator[tuple[int, Any]]:
        """What has been answered; waits a moment for somebody."""
        lines = {worker.line: ticket for ticket, worker in self._busy.items()}
        for line in wait([*lines, *(worker.line for worker in self._preparing)], _LOOK_UP):
            ticket = lines.get(line)  # type: ignore[call-overload]
            if ticket is None:
                continue
            try:
                answer, seconds = self._busy[ticket].receive(_AT_ONCE)
            except WorkerDied as death:
                self._replace(ticket, death, waiting, attempts)
                continue
            self.seconds += seconds
            self._free.append(self._busy.pop(ticket))
            yield ticket, answer

    def _replace(self, ticket: int, death: WorkerDied, waiting: deque[int], attempts: dict[int, int]) -> None:
        """Another child instead of one that died, and its task once more."""
        self._busy.pop(ticket).kill()
        attempts[ticket] = attempts.get(ticket, 0) + 1
        if attempts[ticket] >= _ATTEMPTS:
            raise death
        waiting.appendleft(ticket)
        self._preparing.append(self._begin_child())

    def _give_up(self) -> None:
        """Whoever is at work ends at once; the others stay."""
        for worker in self._busy.values():
            worker.kill()
        self._busy = {}


_prepared: list[Callable[..., Any]] = []  # in a child


def _prepare_tasks(number: int) -> None:
    make, given = read_shared_value(number)
    _prepared[:] = [make(*given)]


def _perform_task(*task: object) -> tuple[Any, float]:
    """The answer or why there is none, and the seconds of the processor that it took."""
    begun = process_time()
    try:
        answer = _prepared[0](*task)
    except SurefootError as error:
        answer = error
    return answer, process_time() - begun
