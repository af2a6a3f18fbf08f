"""Workers that each hold one prepared object and call it again and again: here, in processes, or by Ray.

A worker is prepared once by `make(*given)`, which may take long (compile, load a network), and is then called
with small arguments. Who answers first is not determined, so results carry the ticket of their question.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing.connection import wait
from pickle import PicklingError
from socket import create_connection
from typing import Any, Protocol

from surefoot.errors import Unsupported, missing_backend
from surefoot.work.child import Worker, WorkerDied

_Make = Callable[..., Callable[..., Any]]
Answers = list[tuple[int, Any]]
_AT_ONCE = 60.0  # seconds for an answer that is known to be on the line
_REACHED = 5.0  # seconds until a cluster must take a connection
_PREPARED = 600.0  # seconds until a worker must be ready


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

    def __init__(self, size: int, make: _Make, *given: object) -> None:
        self._free = [Worker() for _ in range(size)]
        self._busy: dict[int, Worker] = {}
        self.size = size
        try:
            for worker in self._free:
                worker.send(_prepare_worker, make, given)
            for worker in self._free:
                worker.receive(_PREPARED)
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
        worker = self._free.pop()
        self._busy[ticket] = worker
        worker.send(_perform_call, args)

    def answers(self, seconds: float) -> Answers:
        lines = {worker.line: ticket for ticket, worker in self._busy.items()}
        found: Answers = []
        for line in wait(list(lines), seconds):
            ticket = lines[line]  # type: ignore[index]
            found.append((ticket, self._busy[ticket].receive(_AT_ONCE)))
            self._free.append(self._busy.pop(ticket))
        return found

    def dismiss(self) -> None:
        for worker in (*self._free, *self._busy.values()):
            worker.kill()
        self._free, self._busy = [], {}


_prepared: list[Callable[..., Any]] = []


def _prepare_worker(make: _Make, given: tuple[object, ...]) -> bool:
    """In a child: make the object that answers."""
    _prepared[:] = [make(*given)]
    return True


def _perform_call(args: tuple[object, ...]) -> Any:
    """In a child: one question."""
    return _prepared[0](*args)


class RayPool:
    """Long-lived Ray actors, one per processor of the cluster at an address (`local`: one of its own)."""

    def __init__(self, address: str, size: int | None, make: _Make, *given: object) -> None:
        if find_spec("ray") is None:
            raise missing_backend("ray", "ray")
        import ray

        self._ray, self._own = ray, not ray.is_initialized()
        if self._own:
            _connect_ray(ray, address, size)
        self.size = size or max(1, int(ray.cluster_resources().get("CPU", 1)))
        shared = ray.put((make, given))
        actor = ray.remote(num_cpus=1)(_RayWorker)
        self._free = [actor.remote(shared) for _ in range(self.size)]
        self._busy: dict[Any, tuple[int, Any]] = {}

    @property
    def idle(self) -> int:
        return len(self._free)

    def ask(self, ticket: int, *args: object) -> None:
        worker = self._free.pop()
        self._busy[worker.work.remote(args)] = (ticket, worker)

    def answers(self, seconds: float) -> Answers:
        if not self._busy:
            return []
        ready, _ = self._ray.wait(list(self._busy), num_returns=1, timeout=seconds)
        found: Answers = []
        for reference in ready:
            ticket, worker = self._busy.pop(reference)
            found.append((ticket, self._ray.get(reference)))
            self._free.append(worker)
        return found

    def dismiss(self) -> None:
        for worker in (*self._free, *(w for _, w in self._busy.values())):
            self._ray.kill(worker)
        self._free, self._busy = [], {}
        if self._own:
            self._ray.shutdown()


def _connect_ray(ray: Any, address: str, size: int | None) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address == "local":
            ray.init(num_cpus=size, include_dashboard=False, **quiet)
            return
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if host and port.isdigit():  # Ray itself would try for ever
            create_connection((host, int(port)), timeout=_REACHED).close()
        ray.init(address=address, **quiet)
    except (OSError, ValueError, RuntimeError) as why:
        first = str(why).strip().splitlines()[0] if str(why).strip() else type(why).__name__
        raise Unsupported(
            f"no Ray cluster answers at `{address}`: {first}",
            fix="start one with `ray start --head`, or give `--ray local`",
        ) from None


class _RayWorker:
    """What an actor holds."""

    def __init__(self, made: tuple[_Make, tuple[object, ...]]) -> None:
        make, given = made
        self._work = make(*given)

    def work(self, args: tuple[object, ...]) -> Any:
        return self._work(*args)
