"""Solvers in a child process, so that no answer is later than its deadline.

A session costs a message for every question; where there are thousands of small separate ones, that is most
of it: `answer_many` sends several in a message and gets one back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import monotonic, process_time
from typing import Protocol, TypeAlias, runtime_checkable

from surefoot.errors import SolverFailure
from surefoot.query.query import Answer, Query, Undecided, UndecidedReason
from surefoot.solvers.protocol import Ask, Solver
from surefoot.term.term import Term
from surefoot.work.child import Worker, WorkerDied, WorkerTimedOut, borrow_worker

Question: TypeAlias = Callable[[tuple[Term, ...], float], Answer]  # more terms, seconds
Prepare: TypeAlias = Callable[..., Question]  # from the base query and the solver's options

GRACE_SECONDS = 0.4  # seconds for a solver that does look at the clock to say so itself
BATCH_SIZE = 32  # questions in a message

_prepared: dict[str, Question] = {}  # in the child: the session that its parent has open


@contextmanager
def remote_session(prepare: Prepare, base: Query, *options: object, seconds: float) -> Iterator[Ask]:
    """`prepare(base, *options)` once in a child; its answers until `seconds` from now."""
    deadline = monotonic() + seconds
    with borrow_worker() as worker:
        is_open = False

        def ask(*more: Term) -> Answer:
            nonlocal is_open
            if deadline <= monotonic():
                return timeout_answer(seconds)
            was_open, is_open = is_open, False
            try:
                if not was_open:
                    worker.call(
                        _open_session, prepare, base, options, seconds=deadline - monotonic() + GRACE_SECONDS
                    )
                left = max(0.0, deadline - monotonic())
                answer = worker.call(_ask_session, more, left, seconds=left + GRACE_SECONDS)
            except WorkerTimedOut:
                return timeout_answer(seconds)
            except WorkerDied as death:
                if death.memory:
                    return Undecided(UndecidedReason.MEMORY, str(death))
                raise SolverFailure(str(death), fix="report this with the query (--dump-queries)") from death
            is_open = True
            return answer

        yield ask


def timeout_answer(seconds: float) -> Undecided:
    return Undecided(UndecidedReason.TIMEOUT, f"no answer within {seconds:g} s")


def _open_session(prepare: Prepare, base: Query, options: tuple[object, ...]) -> None:
    _prepared["session"] = prepare(base, *options)


def _ask_session(more: tuple[Term, ...], seconds: float) -> Answer:
    return _prepared["session"](more, seconds)


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
