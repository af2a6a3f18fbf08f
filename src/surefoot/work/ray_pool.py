"""Workers on a Ray cluster: long-lived actors, of which any may vanish with its node at any moment.

An actor takes questions when it has reported that it is prepared, so that none waits for a processor that
the cluster does not have. What a lost actor was asked is asked again elsewhere, before anything new; the
answer is the same, because answers depend on nothing but the question. In its place another actor is asked
for, which reports when the cluster has room for it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import ExitStack, redirect_stdout
from dataclasses import dataclass
from importlib.util import find_spec
from socket import create_connection
from time import monotonic
from typing import Any

from surefoot.errors import SurefootError, Unsupported, missing_backend
from surefoot.work.worker_pool import AT_ONCE, PREPARED, RETRIES, Answers, LostQuestion, Make

_REACHED = 5.0  # seconds until a cluster must take a connection
_LOOK_UP = 0.5  # seconds between two looks for what else could end a wait


@dataclass(slots=True)
class _Asked:
    ticket: int
    args: tuple[object, ...]
    lost: int = 0  # how often its worker has died


class RayPool:
    """One actor per processor of the cluster at an address; `local`: one of its own, `auto`: the running."""

    def __init__(self, address: str, size: int | None, make: Make, *given: object) -> None:
        if find_spec("ray") is None:
            raise missing_backend("ray", "ray")
        import ray

        self._ray, self._own = ray, not ray.is_initialized()
        self._screen = ExitStack()  # Ray prints to stdout that a node has died; that is for the answer
        self._screen.enter_context(redirect_stdout(sys.stderr))
        try:
            if self._own:
                _connect_ray(ray, address, size)
        except BaseException:
            self._screen.close()
            raise
        self.size = size or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._shared = ray.put((make, given))
        # An actor that is lost is replaced here, and not by Ray: only here it is known what it was asked.
        self._actor = ray.remote(num_cpus=1, max_restarts=0)(_RayWorker)
        self._free: list[Any] = []
        self._starting: dict[Any, Any] = {}  # report that it is prepared -> actor
        self._busy: dict[Any, tuple[_Asked, Any]] = {}
        self._again: list[_Asked] = []
        self._deserted: float | None = None  # since when there is nobody who could answer
        try:
            for _ in range(self.size):
                self._begin_actor()
            while not self._free:
                self.answers(_LOOK_UP)
        except BaseException:
            self.dismiss()
            raise

    @property
    def idle(self) -> int:
        return len(self._free)

    def ask(self, ticket: int, *args: object) -> None:
        self._send(_Asked(ticket, args), self._free.pop())

    def _send(self, asked: _Asked, actor: Any) -> None:
        self._busy[actor.work.remote(asked.args)] = (asked, actor)

    def answers(self, seconds: float) -> Answers:
        deadline, found = monotonic() + seconds, list[tuple[int, Any]]()
        while not found and (self._busy or self._again or (self._starting and not self._free)):
            self._refuse_to_wait_longer()
            left = max(0.0, deadline - monotonic())
            lines = [*self._busy, *self._starting]
            ready, _ = self._ray.wait(lines, num_returns=1, timeout=min(left, _LOOK_UP), fetch_local=False)
            for line in ready:
                if line in self._starting:
                    self._end_preparation(line)
                else:
                    found += self._end_question(line)
            if not ready and left <= 0.0:
                break
        return found

    def _end_question(self, line: Any) -> Answers:
        """The answer; none if its worker has died, and then it is asked again."""
        asked, actor = self._busy.pop(line)
        try:
            answer = self._ray.get(line, timeout=AT_ONCE)
        except self._ray.exceptions.RayTaskError as error:
            self._take_back(actor)
            raise _own_error(error) from None
        except self._ray.exceptions.RayError as why:
            self._replace_actor(actor)
            asked.lost += 1
            if asked.lost > RETRIES:
                what = f"{asked.lost} workers were lost: {_first_line(why)}"
                raise LostQuestion(asked.ticket, what) from None
            self._again.append(asked)
            if self._free:
                self._send(self._again.pop(0), self._free.pop())
            return []
        self._take_back(actor)
        return [(asked.ticket, answer)]

    def _take_back(self, actor: Any) -> None:
        """An actor has nothing to do: what was lost elsewhere goes first."""
        if self._again:
            self._send(self._again.pop(0), actor)
        else:
            self._free.append(actor)

    def _begin_actor(self) -> None:
        actor = self._actor.remote(self._shared)
        self._starting[actor.prepare.remote()] = actor

    def _replace_actor(self, lost: Any) -> None:
        self._ray.kill(lost)
        self._begin_actor()

    def _end_preparation(self, line: Any) -> None:
        actor = self._starting.pop(line)
        try:
            self._ray.get(line, timeout=AT_ONCE)
        except self._ray.exceptions.RayTaskError as error:
            self._ray.kill(actor)
            raise _own_error(error) from None
        except self._ray.exceptions.RayError:  # its node has died meanwhile
            self._replace_actor(actor)
        else:
            self._take_back(actor)

    def _refuse_to_wait_longer(self) -> None:
        """Where nobody is at work somebody is waited for, and not for ever."""
        if self._busy or self._free:
            self._deserted = None
            return
        self._deserted = self._deserted or monotonic()
        if monotonic() - self._deserted > PREPARED:
            what = f"no worker of the Ray cluster was ready within {PREPARED:g} s"
            raise Unsupported(what, fix="see `ray status`: has a node a free processor, and surefoot?")

    def dismiss(self) -> None:
        for actor in (*self._free, *self._starting.values(), *(a for _, a in self._busy.values())):
            self._ray.kill(actor)
        self._free, self._starting, self._busy, self._again = [], {}, {}, []
        if self._own:
            self._ray.shutdown()
        self._screen.close()


def _connect_ray(ray: Any, address: str, size: int | None) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address == "local":
            ray.init(address="local", num_cpus=size, include_dashboard=False, **quiet)
            return
        host, _, port = address.removeprefix("ray://").rpartition(":")
        if host and port.isdigit():  # Ray itself would try for ever
            create_connection((host, int(port)), timeout=_REACHED).close()
        ray.init(address=address, **quiet)
    except (OSError, ValueError, RuntimeError) as why:
        raise Unsupported(
            f"no Ray cluster answers at `{address}`: {_first_line(why)}",
            fix="start one with `ray start --head`, or give `--ray local`",
        ) from None


def _own_error(error: Any) -> BaseException:
    """What was raised there, in its own words instead of those of Ray around it."""
    cause = getattr(error, "cause", None)
    return cause if isinstance(cause, SurefootError) else error


def _first_line(why: BaseException) -> str:
    return str(why).strip().splitlines()[0] if str(why).strip() else type(why).__name__


class _RayWorker:
    """What an actor holds."""

    def __init__(self, made: tuple[Make, tuple[object, ...]]) -> None:
        self._made = made
        self._work: Callable[..., Any] | None = None

    def prepare(self) -> bool:
        make, given = self._made
        self._work = make(*given)
        return True

    def work(self, args: tuple[object, ...]) -> Any:
        assert self._work is not None
        return self._work(*args)
