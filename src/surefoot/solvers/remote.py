"""Sessions whose solver runs in a child process, so that no answer is later than its deadline."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TypeAlias

from surefoot.errors import SolverFailure
from surefoot.query.query import Answer, Query, Undecided, UndecidedReason
from surefoot.solvers.protocol import Ask
from surefoot.term.term import Term
from surefoot.work.child import WorkerDied, WorkerTimedOut, borrow_worker

Question: TypeAlias = Callable[[tuple[Term, ...], float], Answer]  # more terms, seconds
Prepare: TypeAlias = Callable[..., Question]  # from the base query and the solver's options

GRACE_SECONDS = 0.4  # seconds for a solver that does look at the clock to say so itself

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
