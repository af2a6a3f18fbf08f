"""Many separate questions to one solver in a child process: a message there with several, and one back.

A session costs a message for every question; where there are thousands of small ones, that is most of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Protocol, runtime_checkable

from surefoot.query.query import Answer, Query, Undecided, Why
from surefoot.solve.protocol import Solver
from surefoot.solve.remote import GRACE, Question, late
from surefoot.work.child import Died, TimedOut, Worker, borrowed

TOGETHER = 32  # questions in a message


@runtime_checkable
class Local(Solver, Protocol):
    """A solver that can also answer in this process; it may look at the clock too late, or crash."""

    def question(self, base: Query) -> Question: ...


def answer_many(solver: Local, queries: Sequence[Query], *, seconds: float) -> Iterator[list[Answer]]:
    """The answers in order, some at a time; a question at which the child dies is left undecided."""
    deadline = monotonic() + seconds
    with borrowed() as worker:
        for some in _parts(queries):
            yield _answers(worker, solver, some, deadline)


def _parts(queries: Sequence[Query]) -> Iterator[Sequence[Query]]:
    for first in range(0, len(queries), TOGETHER):
        yield queries[first : first + TOGETHER]


def _answers(worker: Worker, solver: Local, queries: Sequence[Query], deadline: float) -> list[Answer]:
    left = deadline - monotonic()
    if left <= 0:
        return [late(0.0) for _ in queries]
    try:
        return worker.call(_all, solver, tuple(queries), left, seconds=left + GRACE)
    except TimedOut:
        return [late(left) for _ in queries]
    except Died as death:
        if len(queries) > 1:
            return [a for query in queries for a in _answers(worker, solver, (query,), deadline)]
        return [Undecided(Why.MEMORY if death.memory else Why.INCOMPLETE, str(death))]


def _all(solver: Local, queries: tuple[Query, ...], seconds: float) -> list[Answer]:
    deadline = monotonic() + seconds
    return [solver.question(query)((), max(0.0, deadline - monotonic())) for query in queries]
