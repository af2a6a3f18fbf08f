"""Many separate questions to one solver in a child process: a message there with several, and one back.

A session costs a message for every question; where there are thousands of small ones, that is most of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic, process_time
from typing import Protocol, runtime_checkable

from surefoot.query.query import Answer, Query, Undecided, UndecidedReason
from surefoot.solvers.protocol import Solver
from surefoot.solvers.remote import GRACE_SECONDS, Question, timeout_answer
from surefoot.work.child import Worker, WorkerDied, WorkerTimedOut, borrow_worker

BATCH_SIZE = 32  # questions in a message


@runtime_checkable
class LocalSolver(Solver, Protocol):
    """A solver that can also answer in this process; it may look at the clock too late, or crash."""

    def question(self, base: Query) -> Question: ...


def answer_many(
    solver: LocalSolver, queries: Sequence[Query], *, seconds: float
) -> tuple[list[Answer], float]:
    """The answers in order, and how long the child computed; one at which it dies is left undecided."""
    deadline = monotonic() + seconds
    found: list[Answer] = []
    spent = 0.0
    with borrow_worker() as worker:
        for first in range(0, len(queries), BATCH_SIZE):
            answers, took = _answer_batch(worker, solver, queries[first : first + BATCH_SIZE], deadline)
            found += answers
            spent += took
    return found, spent


def _answer_batch(
    worker: Worker, solver: LocalSolver, queries: Sequence[Query], deadline: float
) -> tuple[list[Answer], float]:
    begun = monotonic()
    left = deadline - begun
    if left <= 0:
        return [timeout_answer(0.0) for _ in queries], 0.0
    try:
        return worker.call(_answer_locally, solver, tuple(queries), left, seconds=left + GRACE_SECONDS)
    except WorkerTimedOut:
        return [timeout_answer(left) for _ in queries], left
    except WorkerDied as death:
        if len(queries) == 1:
            why = UndecidedReason.MEMORY if death.memory else UndecidedReason.INCOMPLETE
            return [Undecided(why, str(death))], monotonic() - begun
        parts = [_answer_batch(worker, solver, (query,), deadline) for query in queries]
        return [a for answers, _ in parts for a in answers], sum(took for _, took in parts)


def _answer_locally(
    solver: LocalSolver, queries: tuple[Query, ...], seconds: float
) -> tuple[list[Answer], float]:
    begun, deadline = process_time(), monotonic() + seconds
    answers = [solver.question(query)((), max(0.0, deadline - monotonic())) for query in queries]
    return answers, process_time() - begun
